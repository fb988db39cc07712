"""A table of mixed columns as numbers, and which encoding suits which estimator."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any, Literal, Self

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import get_tags
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from kinlearn.tables._categories import CategoryColumn
from kinlearn.tables._cells import read_cells, to_levels
from kinlearn.tables._containers import (
    AnyTable,
    FrameTable,
    SparseTable,
    append_column,
    find_column,
    open_table,
)
from kinlearn.tables._meanings import column_parts, read_meanings, remarks_on
from kinlearn.utils import AllOrNothing
from kinlearn.utils._sklearn import StrOptions, check_feature_names_in
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["CODES", "NUMBERS", "TableEncoder", "comes_from", "encoding_for"]

# Parameters of a TableEncoder: for trees, which cut codes and have no scale, and for
# all others.
CODES: dict[str, Any] = {"categories": "codes"}
NUMBERS: dict[str, Any] = {"categories": "target", "scale": True}
_TREES = ("sklearn.tree", "sklearn.ensemble", "lightgbm", "xgboost", "catboost")
_MOST_CLASSES = 20  # whole numbers with more different values are no classes


class TableEncoder(AllOrNothing, TransformerMixin, BaseEstimator):
    """Turn a table as people have them into numbers, and leave the task alone.

    Columns are read by what they mean: numbers, also as text with a decimal comma,
    thousands or a percent sign; yes and no; dates and times, as text or typed, which
    become their parts; durations, in days; everything else is categories. Columns
    without information (empty, constant, another text in every row) and cells that no
    model reads (lists, bytes) are left out, with a remark.

    Every estimator of kinlearn fits one by itself on a table that holds more than
    numbers, so this class is for pipelines of one's own, and for whoever wants to
    decide or to look.

    Parameters
    ----------
    task : str, int or None, default=None
        Name or position of the task column, which passes through as it is, last.
    categories : {"codes", "indicators", "target", "category"}, default="codes"
        What categories become. "codes": 0, 1, 2... for trees, which may split them
        natively (see ``categorical_``); of more than 254 values the rarest share the
        last one. "indicators": a column of zeros and ones for each value, for linear
        models; rare values, and those beyond thirty, share one. "target": the same for
        up to thirty values; a column with more becomes the mean target of its values,
        cross-fitted in `fit_transform` by scikit-learn's `TargetEncoder`. "category":
        left as they are, in a column of the frame's own type for categories (text in
        arrays), for estimators that read such.
    fill : bool, default=False
        Whether no NaN may come out: medians stand for missing numbers, beside an
        indicator where some were missing in fit, and missing or new categories share a
        code. Otherwise NaN means missing.
    scale : bool, default=False
        Whether numbers get mean zero and unit variance; indicators and codes do not.
    drop : sequence of str or int, default=()
        Columns to leave out.
    keep : sequence of str or int, default=()
        Columns to use although they look like names of the rows.
    categorical : sequence of str or int, default=()
        Columns that hold categories, whatever they look like, such as numbers that are
        codes.
    target_type : {"auto", "classes", "numbers"}, default="auto"
        What y is, which matters for ``categories="target"`` alone. "auto" takes
        fractions, and more than twenty different whole numbers, for numbers.

    Attributes
    ----------
    meanings_ : list of dict
        What each column but the task was taken for: plain values, which JSON can hold.
    remarks_ : list of str
        What was left out or might have been read otherwise, as sentences.
    categorical_ : bool array of shape (n_features_out,)
        Which of the columns that come out are codes of categories; the task is not
        counted.
    origin_ : int array of shape (n_features_out,)
        Position in X of the column that each of them comes from.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    kinlearn.keep_task : Any transformer, such as skrub's `TableVectorizer`, that leaves
        the task alone.

    Notes
    -----
    A date becomes its year, month, day of the week (0 is Monday), the days since the
    earliest date of fit and its hour: those of them that vary in fit. Times with a zone
    are read in UTC.

    A value that fit did not see is missing: NaN among codes, the shared value where
    there is one, zeros in all indicators, the mean target.

    With a task, a frame comes out as a frame of the same library. Without one, an array
    comes out, as of scikit-learn's transformers (see `set_output`).

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn import TableEncoder
    >>> X = pd.DataFrame({
    ...     "price": ["1,50", "2,25", "1,75", "n/a"],
    ...     "day": ["2024-02-28", "2024-02-29", "2024-03-01", None],
    ...     "colour": ["red", "blue", "red", "red"],
    ...     "shop": ["a", "a", "b", "b"],
    ... })
    >>> encoder = TableEncoder(task="shop")
    >>> encoder.fit_transform(X)
       price  day: month  day: weekday  day: days  colour shop
    0   1.50         2.0           2.0        0.0     1.0    a
    1   2.25         2.0           3.0        1.0     0.0    a
    2   1.75         3.0           4.0        2.0     1.0    b
    3    NaN         NaN           NaN        NaN     1.0    b
    >>> encoder.remarks_
    ["Column 'price': 1 cells are no numbers ('n/a'): missing."]
    """

    _parameter_constraints: dict = {
        "task": [str, Integral, None],
        "categories": [StrOptions({"codes", "indicators", "target", "category"})],
        "fill": ["boolean"],
        "scale": ["boolean"],
        "drop": [list, tuple],
        "keep": [list, tuple],
        "categorical": [list, tuple],
        "target_type": [StrOptions({"auto", "classes", "numbers"})],
    }

    def __init__(
        self,
        task: TaskColumn = None,
        *,
        categories: Literal["codes", "indicators", "target", "category"] = "codes",
        fill: bool = False,
        scale: bool = False,
        drop: Sequence[str | int] = (),
        keep: Sequence[str | int] = (),
        categorical: Sequence[str | int] = (),
        target_type: Literal["auto", "classes", "numbers"] = "auto",
    ) -> None:
        self.task = task
        self.categories = categories
        self.fill = fill
        self.scale = scale
        self.drop = drop
        self.keep = keep
        self.categorical = categorical
        self.target_type = target_type

    def fit(self, X: Table, y: ArrayLike | None = None) -> Self:
        """Find out what the columns mean, and what of them comes out.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            The table, with the task column if `task` names one.
        y : array-like of shape (n_samples,), default=None
            Target; read for ``categories="target"`` alone.

        Returns
        -------
        TableEncoder
            The fitted encoder.
        """
        self._fit_opened(self._open(X, reset=True), y)
        return self

    def fit_transform(self, X: Table, y: ArrayLike | None = None) -> Table:
        """Fit, and encode the same table; target codes are cross-fitted.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            The table.
        y : array-like of shape (n_samples,), default=None
            Target; read for ``categories="target"`` alone.

        Returns
        -------
        ndarray or data frame
            Numbers, and the task column last.
        """
        table = self._open(X, reset=True)
        return self._container(self._fit_opened(table, y), table)

    def _open(self, X: Table, *, reset: bool) -> AnyTable:
        if reset:
            self._validate_params()
        else:
            check_is_fitted(self)
        table = open_table(X)
        if isinstance(table, SparseTable):
            check_array(X, accept_sparse=False)  # raises, in scikit-learn's words
        if table.n_rows == 0:
            raise ValueError(
                f"Found array with 0 sample(s) (shape=(0, {table.n_columns})) while a "
                "minimum of 1 is required."
            )
        if not reset:
            table = self._without_others(table)
        validate_data(self, X=table.native, skip_check_array=True, reset=reset)
        if reset:
            task = self.task
            self._task = None if task is None else find_column(task, table, "Task")
            for name in (*self.drop, *self.keep, *self.categorical):
                find_column(name, table, "This")
        return table

    def _without_others(self, table: AnyTable) -> AnyTable:
        """A frame without columns that fit did not see, if it has all that it saw."""
        known = getattr(self, "feature_names_in_", None)
        if known is None or table.names is None or table.n_columns <= len(known):
            return table
        place = {name: i for i, name in enumerate(table.names)}
        if not all(name in place for name in known):
            return table
        return table.take([place[name] for name in known])

    def _fit_opened(self, table: AnyTable, y: ArrayLike | None) -> np.ndarray:
        """Fit on an opened table, and encode it; the task is not in what comes out."""
        if table.n_columns == (self._task is not None):
            raise ValueError(
                f"Found array with 0 feature(s) (shape=({table.n_rows}, 0)) while a "
                "minimum of 1 is required."
            )
        self.meanings_ = read_meanings(
            table,
            self._task,
            self.drop,
            self.keep,
            self.categorical,
            constants=True,
        )
        self.remarks_ = remarks_on(self.meanings_)
        if all(meaning["kind"] == "dropped" for meaning in self.meanings_):
            raise ValueError(
                "No column of X is left to learn from. " + " ".join(self.remarks_)
            )
        targets = self._targets(y) if self.categories == "target" else None
        self._category_columns: dict[str, CategoryColumn] = {}
        blocks = self._blocks(table, targets, fitting=True)
        self._endings = [
            (place, ending) for place, endings, _ in blocks for ending in endings
        ]
        is_category = [
            self._meaning_at(place)["kind"] == "category" for place, _ in self._endings
        ]
        codes = self.categories in ("codes", "category")
        self._is_number = ~np.array(is_category)
        if self.categories == "target":
            self._is_number |= [": target" in end for _, end in self._endings]
        X = np.hstack([values for _, _, values in blocks])
        self._fit_numbers(X)
        X = self._finish(X)
        self.categorical_ = np.zeros(X.shape[1], dtype=bool)
        self.categorical_[: len(is_category)] = is_category if codes else False
        self.origin_ = np.array([place for place, _ in self._endings])
        return X

    def _meaning_at(self, position: int) -> dict[str, Any]:
        after = self._task is not None and position > self._task
        return self.meanings_[position - after]

    def _targets(self, y: ArrayLike | None) -> np.ndarray:
        """Columns whose means stand for categories: y, or one for each class."""
        if y is None:
            raise ValueError(
                'TableEncoder(categories="target") requires y to be passed, but the '
                'target y is None. Pass y, or set categories="indicators".'
            )
        target = np.asarray(y)
        values = np.unique(target)
        kind = self.target_type
        if kind == "auto":
            whole = target.dtype.kind != "f" or (values == np.floor(values)).all()
            few = whole and len(values) <= _MOST_CLASSES
            number = target.dtype.kind in "fiu" and not few
            kind = "numbers" if number else "classes"
        if kind == "numbers":
            return target.astype(np.float64).reshape(-1, 1)
        classes = values[1:] if len(values) == 2 else values
        return (target.reshape(-1, 1) == classes).astype(np.float64)

    def transform(self, X: Table) -> Table:
        """Encode a table as fit decided.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            The same columns as in fit; cells that cannot be read are missing. Other
            columns of a frame are left alone.

        Returns
        -------
        ndarray or data frame
            Numbers, and the task column last.
        """
        table = self._open(X, reset=False)
        return self._container(self._encode(table), table)

    def _encode(self, table: AnyTable) -> np.ndarray:
        """Encode an opened table; the task is not in what comes out."""
        blocks = self._blocks(table)
        return self._finish(np.hstack([values for _, _, values in blocks]))

    def _blocks(
        self, table: AnyTable, targets: np.ndarray | None = None, fitting: bool = False
    ) -> list[tuple[int, list[str], np.ndarray]]:
        """By column: its position, endings of names, and values, as they were read."""
        blocks: list[tuple[int, list[str], np.ndarray]] = []
        for position in range(table.n_columns):
            if position == self._task:
                continue
            meaning = self._meaning_at(position)
            if meaning["kind"] == "dropped":
                continue
            cells = read_cells(table, position)
            if meaning["kind"] != "category":
                endings, values = zip(*column_parts(cells, meaning), strict=True)
                blocks.append((position, list(endings), np.column_stack(values)))
                continue
            levels, codes = to_levels(cells)
            if self.categories == "category":  # texts are put in at the end
                blocks.append((position, [""], np.zeros((table.n_rows, 1))))
                continue
            if fitting:
                self._category_columns[meaning["name"]] = CategoryColumn.find(
                    self.categories,
                    levels,
                    codes,
                    ordered=cells.ordered,
                    fill=self.fill,
                )
            column = self._category_columns[meaning["name"]]
            block = column.encode(levels, codes, targets, fill=self.fill)
            blocks.append((position, column.endings(), block))
        return blocks

    def _fit_numbers(self, X: np.ndarray) -> None:
        """Medians, means and deviations of the numbers that come out."""
        numbers = X[:, self._is_number]
        missing = np.isnan(numbers)
        self._medians = np.zeros(numbers.shape[1])
        self._indicated = np.zeros(numbers.shape[1], dtype=bool)
        if self.fill:
            self._medians = np.nanmedian(numbers, axis=0)
            self._indicated = missing.any(axis=0)
            numbers = np.where(missing, self._medians, numbers)
            places = np.flatnonzero(self._is_number)[self._indicated]
            self._endings += [
                (self._endings[j][0], f"{self._endings[j][1]}=(missing)")
                for j in places
            ]
        self._means = np.zeros(numbers.shape[1])
        self._deviations = np.ones(numbers.shape[1])
        if self.scale:
            self._means = np.nanmean(numbers, axis=0)
            deviation = np.nanstd(numbers, axis=0)
            # what is left of a constant by rounding is no scale
            rounding = 10 * np.finfo(np.float64).eps * np.abs(self._means)
            self._deviations = np.where(deviation > rounding, deviation, 1.0)

    def _finish(self, X: np.ndarray) -> np.ndarray:
        """Fill and scale the numbers, in place; indicators of missing ones are last."""
        if not (self.fill or self.scale):
            return X
        numbers = X[:, self._is_number]
        missing = np.isnan(numbers)
        if self.fill:
            numbers = np.where(missing, self._medians, numbers)
        X[:, self._is_number] = (numbers - self._means) / self._deviations
        if self._indicated.any():
            X = np.hstack([X, missing[:, self._indicated]])
        return X

    def _fit_table(self, table: AnyTable, y: ArrayLike | None) -> np.ndarray:
        """Fit on a table that an estimator opened and checked, and encode it.

        With :meth:`_encode` the door for estimators: an array comes out, whatever
        `set_output` and scikit-learn's configuration want.
        """
        self._task = None
        self.n_features_in_ = table.n_columns
        if table.names is not None:
            self.feature_names_in_ = np.asarray(table.names, dtype=object)
        return self._fit_opened(table, y)

    def _category_names(self, feature: int) -> list[str]:
        """What the codes of a column that comes out stand for."""
        meaning = self._meaning_at(int(self.origin_[feature]))
        return self._category_columns[meaning["name"]].names()

    def get_feature_names_out(
        self, input_features: ArrayLike | None = None
    ) -> np.ndarray:
        """Names of the columns that come out, the task last.

        Parameters
        ----------
        input_features : array-like of str, default=None
            Names of the columns of X, if X had none.

        Returns
        -------
        ndarray of str
            ``colour`` for a number, codes and yes/no, ``day: month`` for a part of a
            date, ``colour=red`` for an indicator, ``town: target`` for a mean target.
        """
        check_is_fitted(self)
        given = check_feature_names_in(self, input_features)
        names: dict[str, None] = {}
        for position, ending in self._endings:
            name = f"{given[position]}{ending}"
            while name in names:  # "a=b" may be a column of its own
                name += "'"
            names[name] = None
        if self._task is not None:
            names[str(given[self._task])] = None
        return np.asarray(list(names), dtype=object)

    def _container(self, X: np.ndarray, table: AnyTable) -> Table:
        """What comes out, in its container, with the task."""
        texts = {}
        if self.categories == "category":
            for place in np.flatnonzero(self.categorical_).tolist():
                levels, codes = to_levels(read_cells(table, int(self.origin_[place])))
                texts[place] = np.array([*levels, None], dtype=object)[codes]
        if isinstance(table, FrameTable) and (self._task is not None or texts):
            return self._frame(X, texts, table)
        if texts:
            out = X.astype(object)
            for j, values in texts.items():
                out[:, j] = values
        else:
            out = X
        if self._task is None:
            return out
        task = table.column(self._task)
        if out.dtype != object and task.dtype.kind not in "iub":
            if task.dtype.kind == "f":
                return np.hstack([out, task.reshape(-1, 1)])
            out = out.astype(object)
        return append_column(open_table(out), task, "task")

    def _frame(
        self, X: np.ndarray, texts: dict[int, np.ndarray], table: FrameTable
    ) -> Any:
        """A frame of the library of the table, with its index if it has one."""
        backend = table.frame.implementation
        names = self.get_feature_names_out().tolist()
        columns = {names[j]: X[:, j] for j in range(X.shape[1])}
        series = [
            nw.new_series(names[j], cells.tolist(), nw.String, backend=backend)
            for j, cells in texts.items()
        ]
        categories = [one.cast(nw.Categorical) for one in series]
        if self._task is not None:  # it keeps its type, such as category
            categories.append(table.frame[:, self._task].alias(names[-1]))
        frame = nw.from_native(table.like(columns))
        return frame.with_columns(*categories).to_native()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = self.categories == "target"
        tags.requires_fit = True
        return tags


def comes_from(estimator: Any, *packages: str) -> bool:
    """Whether an estimator's class, or one that it extends, is of a package.

    The bases and mixins that scikit-learn has for everyone do not count.
    """
    modules = [f"{kind.__module__}." for kind in type(estimator).__mro__]
    return any(
        module.startswith(tuple(f"{package}." for package in packages))
        and not module.startswith(("sklearn.base.", "sklearn.utils."))
        for module in modules
    )


def encoding_for(estimator: Any) -> dict[str, Any]:
    """Parameters of the encoder that suits an estimator."""
    inner = estimator
    while hasattr(getattr(inner, "estimator", None), "fit"):
        inner = inner.estimator
    encoding = CODES if comes_from(inner, *_TREES) else NUMBERS
    return {**encoding, "fill": not get_tags(estimator).input_tags.allow_nan}
