"""One interface to the three kinds of X: array, sparse matrix and data frame.

A table knows its size and column names, gives one column as it is, and a block
of columns as a numeric matrix with at most one copy. Columns are found by name or
position, and appended. Nothing here knows what a task is.
"""

import numbers
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from kinlearn.utils._typing import Table
from kinlearn.utils._values import show_values

__all__ = [
    "AnyTable",
    "ArrayTable",
    "FrameTable",
    "SparseTable",
    "append_column",
    "append_rows",
    "find_column",
    "open_table",
]


def _float_dtype(*dtypes: np.dtype) -> np.dtype:
    """float32 if nothing needs more, else float64."""
    narrow = dtypes and all(d in (np.dtype("f4"), np.dtype("f2")) for d in dtypes)
    return np.dtype(np.float32 if narrow else np.float64)


def _runs(positions: Sequence[int]) -> list[slice]:
    """Split ascending positions into runs of neighbours, as slices."""
    places = np.asarray(positions, dtype=np.intp)
    cuts = np.flatnonzero(np.diff(places) != 1) + 1
    return [slice(int(run[0]), int(run[-1]) + 1) for run in np.split(places, cuts)]


def _check_cells(name: Any, values: Any) -> None:
    """Refuse the first cell that is no number, by column and row."""
    for row, value in enumerate(values):
        try:
            float(value)
        except (TypeError, ValueError, OverflowError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"Column {name!r} holds {value!r} in row {row}, which is not a number "
                f"({error}). Encode or drop the column."
            ) from error


class ArrayTable:
    """A NumPy array of two dimensions."""

    names = None

    def __init__(self, values: np.ndarray) -> None:
        self.native = values
        self.n_rows, self.n_columns = values.shape

    def column(self, position: int) -> np.ndarray:
        """One column as it is."""
        return self.native[:, position]

    def distinct(self, position: int) -> None:
        """No short cut to the distinct values."""
        return None

    def is_numeric(self, positions: Sequence[int]) -> bool:
        """Whether :meth:`matrix` can read these columns; text arrays are left to it."""
        if self.native.dtype != object:
            return self.native.dtype.kind in "fiubSU"
        try:
            self.native[:, list(positions)].astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return False
        return True

    def take(self, positions: Sequence[int]) -> "ArrayTable":
        """Some of the columns."""
        return ArrayTable(self.native[:, list(positions)])

    def without(self, position: int) -> np.ndarray:
        """The array without one column (a view where it can be one)."""
        if position in (0, self.n_columns - 1):
            return self.native[:, 1:] if position == 0 else self.native[:, :position]
        return np.delete(self.native, position, axis=1)

    def matrix(
        self, positions: Sequence[int], *, order: Literal["C", "F"] | None, **_: Any
    ) -> np.ndarray:
        """The columns as floats; a copy only where type or order need one."""
        values = self.native
        if values.dtype.kind in "SU":
            # the same words as scikit-learn's
            raise ValueError(
                "dtype='numeric' is not compatible with arrays of bytes/strings. "
                "Convert your data to numeric values explicitly instead."
            )
        if values.dtype.kind not in "fiubO":
            raise TypeError(
                f"X has dtype {values.dtype}, which is not numeric. Convert its "
                "columns to numbers."
            )
        dtype = _float_dtype(values.dtype)
        runs = _runs(positions)
        try:
            if len(runs) == 1:
                return np.asarray(values[:, runs[0]], dtype=dtype, order=order)
            out = np.empty((self.n_rows, len(positions)), dtype=dtype, order=order)
            start = 0
            for run in runs:
                width = run.stop - run.start
                out[:, start : start + width] = values[:, run]
                start += width
            return out
        except (TypeError, ValueError, OverflowError):
            for position in positions:
                _check_cells(f"x{position}", values[:, position])
            raise


class SparseTable:
    """A SciPy sparse matrix or array of two dimensions."""

    names = None

    def __init__(self, values: Any) -> None:
        # the other formats cannot be sliced
        self.native = values if values.format in ("csr", "csc") else values.tocsr()
        self.n_rows, self.n_columns = values.shape

    def column(self, position: int) -> np.ndarray:
        """One column, dense."""
        return self.native[:, [position]].toarray().ravel()

    def distinct(self, position: int) -> None:
        """No short cut to the distinct values."""
        return None

    def is_numeric(self, positions: Sequence[int]) -> bool:
        """Always."""
        return True

    def take(self, positions: Sequence[int]) -> "SparseTable":
        """Some of the columns."""
        return SparseTable(self.native[:, list(positions)])

    def without(self, position: int) -> Any:
        """The matrix without one column."""
        keep = np.delete(np.arange(self.n_columns), position)
        return self.native[:, keep]

    def matrix(
        self,
        positions: Sequence[int],
        *,
        accept_sparse: Any,
        **_: Any,
    ) -> Any:
        """The columns as a CSR or CSC matrix of floats in canonical form."""
        if accept_sparse is False:
            check_array(self.native, accept_sparse=False)  # raises, as elsewhere
        formats = ("csr", "csc") if accept_sparse is True else accept_sparse
        formats = (formats,) if isinstance(formats, str) else tuple(formats)
        values = self.native
        if values.dtype.kind not in "fiub":
            check_array(values, accept_sparse=True)  # complex
            raise TypeError(f"X has dtype {values.dtype}, which is not numeric.")
        if len(positions) < self.n_columns:
            values = values[:, list(positions)]
        if values.format not in formats:
            values = values.asformat(formats[0])
        values = values.astype(_float_dtype(values.dtype), copy=False)
        if not values.has_canonical_format:
            if values is self.native:
                values = values.copy()
            values.sum_duplicates()
        return values


def _is_plain_number(series: Any) -> bool:
    """Whether its type is one of numbers that every estimator reads."""
    if series.dtype == nw.Decimal:  # it has no NaN
        return not series.null_count()
    return series.dtype.is_numeric() or series.dtype == nw.Boolean


def _holds_numbers(series: Any) -> bool:
    """Whether a column of no numeric type can be read as numbers all the same."""
    if series.dtype == nw.Unknown:  # such as pandas' sparse columns
        values = np.asarray(series.to_native())
        return values.ndim == 1 and values.dtype.kind in "fiub"
    if series.dtype != nw.Object:
        return False
    try:
        series.to_numpy().astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _check_numeric(columns: Mapping[str, Any]) -> None:
    """Refuse columns of types that are no numbers, all of them at once."""
    odd = {
        name: series.dtype
        for name, series in columns.items()
        if not series.dtype.is_numeric()
        and series.dtype not in (nw.Boolean, nw.Object)
        and not _holds_numbers(series)
    }
    if odd:
        shown = ", ".join(f"{name!r} ({dtype})" for name, dtype in odd.items())
        raise TypeError(
            f"X holds {len(odd)} column(s) that are no numbers: {shown}. Turn them "
            "into numbers first, in fit and in predict alike, by a "
            "kinlearn.TableEncoder in front: make_pipeline(TableEncoder(task=...), "
            "...); or drop them."
        )


class FrameTable:
    """A data frame: pandas, polars, or another that narwhals reads eagerly."""

    def __init__(self, frame: nw.DataFrame[Any], names: tuple[str, ...] | None) -> None:
        self.frame = frame
        self.native = frame.to_native()
        self.n_rows, self.n_columns = frame.shape
        self.names = names

    def _series(self, position: int) -> nw.Series[Any]:
        return self.frame[:, position]

    def column(self, position: int) -> np.ndarray:
        """One column as a NumPy array; missing values are None or NaN."""
        series = self._series(position)
        # the last two have no NumPy type
        if series.dtype in (nw.Categorical, nw.Enum, nw.String, nw.Int128, nw.UInt128):
            out = np.empty(len(series), dtype=object)
            out[:] = series.to_list()
            return out
        if series.dtype.is_integer() and series.null_count():
            series = series.cast(nw.Float64)
        return series.to_numpy()

    def distinct(self, position: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Distinct strings of a column and the place of each row among them.

        The library's own hashing is ten times as fast as Python's on a million
        rows. None if the column is not one of strings, or has missing values.
        """
        series = self._series(position)
        if series.dtype != nw.String or series.null_count():
            return None
        if series.implementation.is_pandas():
            places, found = series.to_native().factorize()
            found = list(found)
        else:
            found = series.unique().to_list()
            places = series.replace_strict(
                found, list(range(len(found))), return_dtype=nw.Int32
            ).to_numpy()
        values = np.empty(len(found), dtype=object)
        values[:] = found
        return values, places

    def is_numeric(self, positions: Sequence[int]) -> bool:
        """Whether these columns are numbers to estimators of others too."""
        wanted = set(positions)
        odd = [
            column
            for position, column in enumerate(self.frame.iter_columns())
            if position in wanted and not _is_plain_number(column)
        ]
        return all(map(_holds_numbers, odd))

    def take(self, positions: Sequence[int]) -> "FrameTable":
        """Some of the columns."""
        names = self.names and tuple(self.names[i] for i in positions)
        return FrameTable(self.frame[:, list(positions)], names)

    def without(self, position: int) -> Any:
        """The frame without one column, in its own library."""
        keep = [i for i in range(self.n_columns) if i != position]
        return self.frame[:, keep].to_native()

    def like(self, columns: Mapping[str, np.ndarray]) -> Any:
        """A frame of other columns in the same library, with the index of pandas."""
        backend = self.frame.implementation
        frame = nw.from_dict(columns, backend=backend).to_native()
        if backend.is_pandas():
            frame.index = self.native.index
        return frame

    def matrix(
        self, positions: Sequence[int], *, order: Literal["C", "F"] | None, **_: Any
    ) -> np.ndarray:
        """The columns as floats, filled column by column: one copy."""
        # one by one, each would take as long as the frame is wide
        every, labels = list(self.frame.iter_columns()), self.frame.columns
        columns = [every[i] for i in positions]
        _check_numeric({labels[i]: every[i] for i in positions})
        kinds: dict[Any, np.dtype] = {nw.Float32: np.dtype("f4")}
        dtype = _float_dtype(*(kinds.get(s.dtype, np.dtype("f8")) for s in columns))
        out = np.empty((self.n_rows, len(columns)), dtype=dtype, order=order or "F")
        for j, (position, series) in enumerate(zip(positions, columns, strict=True)):
            out[:, j] = self._numbers(series, labels[position])
        return out

    def _numbers(self, series: Any, name: str) -> np.ndarray:
        if series.dtype.is_float():
            return series.to_numpy()
        if series.dtype.is_numeric() or series.dtype == nw.Boolean:
            return series.cast(nw.Float64).to_numpy()
        if series.dtype == nw.Unknown:  # such as pandas' sparse columns
            values = np.asarray(series.to_native())
            if values.dtype.kind in "fiub":
                return values
        values = series.to_numpy()
        try:
            return values.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            _check_cells(name, values)
            raise


AnyTable: TypeAlias = ArrayTable | SparseTable | FrameTable


def _frame_names(columns: Sequence[Any]) -> tuple[str, ...] | None:
    repeated = [name for name, count in Counter(columns).items() if count > 1]
    if repeated:
        raise ValueError(
            f"X has more than one column named {repeated[0]!r}. Column names must be "
            "unique: rename or drop the repeated ones."
        )
    text = [isinstance(c, str) for c in columns]
    if all(text):
        return tuple(columns)
    if any(text):
        kinds = sorted({type(c).__name__ for c in columns})
        raise TypeError(
            "Feature names are only supported if all input features have string "
            f"names, but your input has {kinds} as feature name / column name types. "
            "Convert them all to strings: X.columns = X.columns.astype(str)."
        )
    return None


def _read_array(X: Any) -> np.ndarray:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise ValueError(
            "X is a masked array with masked cells. Fill them first: "
            "X.filled(numpy.nan)."
        )
    if isinstance(X, np.matrix):
        check_array(X)  # raises, in scikit-learn's words
    try:
        values = np.asarray(X)
    except (ValueError, TypeError) as error:
        raise ValueError(f"X cannot be read as a table: {error}") from error
    if values.dtype.kind == "c":
        raise ValueError(
            f"Complex data not supported: X has dtype {values.dtype}. Split it into "
            "real columns."
        )
    if values.ndim != 2:
        # scikit-learn's own messages for scalars, vectors and cubes
        check_array(values, dtype=None, ensure_all_finite=False, ensure_min_samples=0)
    return values


def _check_places(X: Any) -> None:
    """Refuse a sparse matrix whose numbers lie outside of it: SciPy would crash."""
    try:
        if X.format in ("csr", "csc", "bsr"):
            X.check_format(full_check=True)
            return
    except ValueError as error:
        raise ValueError(
            f"X is a damaged sparse matrix ({error}): its indices and its shape "
            f"{X.shape} do not go together. Build it anew, for example from its "
            "entries by scipy.sparse.coo_array."
        ) from error
    if X.format != "coo" or not X.nnz:
        return
    for place, length, what in ((X.row, X.shape[0], "row"), (X.col, X.shape[1], "col")):
        if place.min() < 0 or place.max() >= length:
            bad = place.min() if place.min() < 0 else place.max()
            raise ValueError(
                f"X is a damaged sparse matrix: it has an entry in {what} {bad} of "
                f"{length}. Build it anew with a shape that holds all entries."
            )


def open_table(X: Any) -> AnyTable:
    """Wrap X in the table of its kind."""
    if type(X) is np.ndarray:  # first: predictions of many models open many
        return ArrayTable(_read_array(X))
    if sp.issparse(X):
        if X.ndim != 2:
            raise ValueError(
                f"Expected a 2D sparse matrix, got {X.ndim} dimension(s). Reshape it."
            )
        if X.dtype.kind == "c":
            raise ValueError(f"Complex data not supported: X has dtype {X.dtype}.")
        _check_places(X)
        return SparseTable(X)
    if nw.dependencies.is_pandas_dataframe(X):
        _frame_names(list(X.columns))  # narwhals would call repeated names an error
    frame = nw.from_native(X, pass_through=True)
    if isinstance(frame, nw.DataFrame):
        return FrameTable(frame, _frame_names(frame.columns))
    if isinstance(frame, nw.LazyFrame):
        raise TypeError(
            "X is a lazy frame, whose rows are not there yet. Call .collect() first "
            "(or .compute(); for rows on a cluster see kinlearn.dask)."
        )
    return ArrayTable(_read_array(X))


def find_column(key: str | int, table: AnyTable, role: str) -> int:
    """Position, from 0, of the column that a user names, or numbers also from the end.

    `role` is what messages call the column: ``"Task"`` or ``"Privileged"``.
    """
    if isinstance(key, str):
        if table.names is None:
            what, remedy = "X has no column names", "Pass a data frame"
            if isinstance(table, FrameTable):
                first = table.frame.columns[0]
                what = f"the column names of X are no text (first: {first!r})"
                remedy = "Set X.columns to texts"
            raise ValueError(
                f"{role} column {key!r} is given by name, but {what}. {remedy}, or "
                "pass the position of the column (-1 is the last)."
            )
        if key not in table.names:
            raise ValueError(
                f"{role} column {key!r} is not in X. X has the columns "
                f"{show_values(table.names, 10)}."
            )
        return table.names.index(key)
    if isinstance(key, numbers.Integral) and not isinstance(key, bool | np.bool_):
        if not -table.n_columns <= key < table.n_columns:
            raise ValueError(
                f"{role} column {key} is out of range: X has {table.n_columns} "
                f"columns, so positions go from {-table.n_columns} to "
                f"{table.n_columns - 1}."
            )
        return int(key) % table.n_columns
    raise TypeError(
        f"{role} column must be a column name, a position or None; got {key!r} of "
        f"type {type(key).__name__}."
    )


def append_rows(X: Table, more: Table) -> Table:
    """Two tables of the same kind and columns as one."""
    one, two = open_table(X), open_table(more)
    if one.n_columns != two.n_columns or one.names != two.names:
        names = [
            f" ({show_values(table.names, 10)})" if table.names else ""
            for table in (one, two)
        ]
        raise ValueError(
            f"X has {one.n_columns} columns{names[0]}, the other rows have "
            f"{two.n_columns}{names[1]}. Give both the same columns in the same order."
        )
    if isinstance(one, FrameTable) and isinstance(two, FrameTable):
        kinds = [table.frame.implementation for table in (one, two)]
        if kinds[0] != kinds[1]:
            raise TypeError(
                f"X is a table of {kinds[0].value}, the other rows are one of "
                f"{kinds[1].value}. Give both as the same kind of table."
            )
        return nw.concat([one.frame, two.frame]).to_native()
    natives: Any = [one.native, two.native]
    if sp.issparse(one.native) or sp.issparse(two.native):
        return sp.vstack(natives, format="csr")
    return np.concatenate(natives)


def _exact_dtype(values: np.ndarray, dtype: np.dtype) -> np.dtype:
    """The narrowest type that holds the features of `dtype` and the task values."""
    if len(values) == 0:
        return dtype
    if dtype.kind not in "fiub":
        return np.dtype(object)
    low, high = int(values.min()), int(values.max())
    if dtype.kind != "f":
        ends = np.min_scalar_type(low), np.min_scalar_type(high)
        both = np.result_type(np.int8 if dtype.kind == "b" else dtype, *ends)
        if both.kind == "f":
            raise ValueError(
                f"No integer type holds both {dtype} features and the tasks {low} to "
                f"{high}. Number the tasks from 0, or use a data frame."
            )
        return both
    largest = max(abs(low), abs(high))
    for wide in (dtype, np.dtype("f4"), np.dtype("f8")):
        exact = largest <= 2 ** (np.finfo(wide).nmant + 1)
        if exact and wide.itemsize >= dtype.itemsize:
            return wide
    raise ValueError(
        f"The task value {largest} is not exact in a floating-point column. Number "
        "the tasks from 0, or use a data frame."
    )


def append_column(table: AnyTable, values: Any, name: str) -> Table:
    """The table's X with a column of task values behind it.

    Strings go into frames and object arrays only; the name is used in frames.
    """
    if isinstance(table, FrameTable):
        if name in table.frame.columns:
            raise ValueError(
                f"X has a column named {name!r} already. Choose another name for the "
                "task column."
            )
        if not all(isinstance(c, str) for c in table.frame.columns):
            raise ValueError(
                "The columns of X have no string names, so none can be given to the "
                "task. Name them: X.columns = X.columns.astype(str)."
            )
        if not isinstance(values, nw.Series):
            values = nw.new_series(
                name, values.tolist(), backend=table.frame.implementation
            )
        return table.frame.with_columns(values.alias(name)).to_native()
    native: Any = table.native
    if values.dtype == object and native.dtype != object:
        raise TypeError(
            "The tasks are strings, which a numeric array cannot hold. Use a data "
            "frame, or number them: numpy.unique(task, return_inverse=True)[1]."
        )
    dtype = _exact_dtype(values, native.dtype)
    column = values.reshape(-1, 1)
    if isinstance(table, SparseTable):
        column = sp.csr_array(column.astype(dtype))
        return sp.hstack([native, column], format=native.format, dtype=dtype)
    out = np.empty((table.n_rows, table.n_columns + 1), dtype=dtype)
    out[:, :-1] = native
    out[:, -1:] = column
    return out
