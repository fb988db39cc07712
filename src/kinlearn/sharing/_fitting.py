"""Estimators that know nothing of kinlearn, fitted to tables: who reads what.

An estimator that reads columns as they come gets them so. For the others a table that
holds more than numbers is encoded first; categories stay categories where an estimator
splits them natively.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import FrameTable, comes_from, encoding_for, open_table
from kinlearn.tasks import TaskMixin
from kinlearn.utils._sklearn import safe_indexing
from kinlearn.utils._values import name_largest

__all__ = [
    "CategoriesError",
    "NotFiniteError",
    "TrainingRows",
    "category_codes",
    "checked_predictions",
    "encode_rows",
    "fit_clone",
    "needs_text",
    "plain_numbers",
    "splits_categories",
    "takes_codes",
]

_ROUNDING = 1e-6  # of probabilities
_INNER = ("estimator", "regressor", "classifier", "base_estimator")
_BOOSTERS = ("lightgbm", "xgboost", "catboost")
_CHOSEN = ("categorical_features", "categorical_feature", "cat_features")


class NotFiniteError(ValueError):
    """An estimator predicted NaN or infinity."""


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Rows to fit on, the task column apart.

    Attributes
    ----------
    rest : ndarray, sparse matrix or data frame
        All columns but the task, as they came.
    task : int32 array of shape (n_samples,)
        Task codes.
    y : ndarray of shape (n_samples,)
        Targets as they came; class labels, not codes.
    sample_weight : float64 array of shape (n_samples,), or None
        Weights.
    """

    rest: Any
    task: np.ndarray
    y: np.ndarray
    sample_weight: np.ndarray | None

    def take(self, index: np.ndarray) -> "TrainingRows":
        """Some of the rows."""
        weight = self.sample_weight
        return TrainingRows(
            safe_indexing(self.rest, index),
            self.task[index],
            self.y[index],
            None if weight is None else weight[index],
        )


class CategoriesError(ValueError):
    """An estimator failed on columns that are no numbers."""


def splits_categories(estimator: Any) -> bool:
    """Whether an estimator splits a column of categories natively.

    scikit-learn's histogram boosting, LightGBM, XGBoost and CatBoost do.
    """
    params = estimator.get_params(deep=False)
    return "categorical_features" in params or comes_from(estimator, *_BOOSTERS)


def takes_codes(estimator: Any) -> bool:
    """Whether categories go to an estimator as codes, with their positions."""
    return comes_from(estimator, *_BOOSTERS)


def needs_text(estimator: Any) -> bool:
    """Whether an estimator takes categories as text only, missing ones too."""
    return comes_from(estimator, "catboost")


def _reads_tables(estimator: Any) -> bool:
    """Whether columns are passed to an estimator as they come."""
    if isinstance(estimator, Pipeline | TaskMixin):
        return True
    if hasattr(estimator, "estimators") and isinstance(estimator.estimators, list):
        return all(_reads_tables(each[-1]) for each in estimator.estimators)
    for name in _INNER:
        inner = getattr(estimator, name, None)
        if hasattr(inner, "fit"):
            return _reads_tables(inner)
    chosen = (estimator.get_params(deep=False).get(name) for name in _CHOSEN)
    if any(value is not None and not isinstance(value, str) for value in chosen):
        return True  # by a user who knows the columns
    if comes_from(estimator, *_BOOSTERS):
        return False
    tags = get_tags(estimator)
    if tags.no_validation or tags.input_tags.string or tags.input_tags.categorical:
        return True
    return not comes_from(estimator, "sklearn")


def _not_numbers(X: Any) -> dict[str, Any]:
    """Types, by name, of the columns of a table that are no numbers."""
    table = open_table(X)
    names = table.names or [f"x{i}" for i in range(table.n_columns)]
    return {
        name: table.frame[:, i].dtype if isinstance(table, FrameTable) else "object"
        for i, name in enumerate(names)
        if not table.is_numeric([i])
    }


def encode_rows(
    estimator: Any, rows: TrainingRows
) -> tuple[TableEncoder | None, TrainingRows]:
    """Training rows as numbers, if they are more and the estimator takes no others.

    The encoder is None if the rows are as they came.
    """
    table = open_table(rows.rest)
    if table.is_numeric(range(table.n_columns)) or _reads_tables(estimator):
        return None, rows
    encoder = TableEncoder(
        **encoding_for(estimator),
        target_type="classes" if is_classifier(estimator) else "numbers",
    )
    return encoder, replace(rows, rest=encoder._fit_table(table, rows.y))


def _natively(
    estimator: Any, X: Any, positions: list[int]
) -> tuple[Any, dict[str, Any]]:
    """A clone that knows which columns are categories, and parameters for its fit.

    X has codes at these positions of an array, the library's own type of category (or
    text, see :func:`needs_text`) in a frame. They are categories besides those that the
    estimator knows already.
    """
    table = open_table(X)
    names = table.names
    if comes_from(estimator, "lightgbm"):
        # of a frame it reads the types
        return estimator, {} if names else {"categorical_feature": positions}
    if comes_from(estimator, "xgboost"):
        kinds = ["c" if j in positions else "q" for j in range(table.n_columns)]
        types = {} if names else {"feature_types": kinds}
        return clone(estimator).set_params(enable_categorical=True, **types), {}
    keys: list[Any] = positions if names is None else [names[j] for j in positions]
    parameter = "cat_features" if needs_text(estimator) else "categorical_features"
    before = estimator.get_params(deep=False).get(parameter)
    if isinstance(before, str) and names is not None:
        return estimator, {}  # "from_dtype": the columns' types are enough
    if before is None or isinstance(before, str):
        after = keys
    elif np.asarray(before).dtype == bool:
        after = [
            *before,
            *(j in positions for j in range(len(before), table.n_columns)),
        ]
    elif isinstance(before[0], str):
        after = [*before, *([names[j] for j in positions] if names else [])]
    else:
        after = [*before, *positions]
    return clone(estimator).set_params(**{parameter: after}), {}


def fit_clone(
    estimator: Any,
    rows: TrainingRows,
    some: bool = False,
    encode: bool = False,
    categorical: Sequence[int] = (),
) -> Any:
    """Fit a clone; if they are `some` of all rows, one class needs no estimator.

    To `encode` a table of more than numbers makes a pipeline of an estimator that does
    not read it. `categorical` are columns of X that hold categories.
    """
    y, weight = rows.y, rows.sample_weight
    if is_classifier(estimator) and some and (y == y[0]).all():
        estimator = DummyClassifier(strategy="prior")
    encoder, rows = encode_rows(estimator, rows) if encode else (None, rows)
    if encoder is not None:
        categorical = category_codes(encoder, estimator)
    params = {} if weight is None else {"sample_weight": weight}
    missing_allowed = get_tags(estimator).input_tags.allow_nan
    X = _with_values(rows.rest) if missing_allowed else rows.rest
    model, more = _native_categories(clone(estimator), X, categorical)
    try:
        model.fit(X, y, **params, **more)
    except (TypeError, ValueError) as error:
        odd = _not_numbers(X)
        if not odd or isinstance(estimator, TaskMixin):
            raise
        raise _unread(estimator, odd, error) from error
    if encoder is None:
        return model
    return Pipeline([("table", encoder), ("model", model)])


def plain_numbers(rest: Any) -> tuple[Any, np.ndarray | None]:
    """A frame of numbers as a matrix, with its names; all else as it is."""
    table = open_table(rest)
    columns = range(table.n_columns)
    if not isinstance(table, FrameTable) or not table.is_numeric(columns):
        return rest, None
    names = None if table.names is None else np.array(table.names, dtype=object)
    return table.matrix(columns, order="C"), names


def category_codes(encoder: TableEncoder | None, estimator: Any) -> list[int]:
    """Columns of encoded rows that are categories to an estimator."""
    if encoder is None or needs_text(estimator):
        return []
    return np.flatnonzero(encoder.categorical_).tolist()


def _native_categories(
    estimator: Any, X: Any, categorical: Sequence[int]
) -> tuple[Any, dict[str, Any]]:
    if not len(categorical) or not splits_categories(estimator):
        return estimator, {}
    if isinstance(X, np.ndarray):  # codes beyond the bins are left as numbers
        most = estimator.get_params().get("max_bins") or np.inf
        if comes_from(estimator, "sklearn"):
            categorical = [j for j in categorical if not np.nanmax(X[:, j]) >= most]
    return _natively(estimator, X, list(categorical))


def _unread(estimator: Any, odd: dict[str, Any], error: Exception) -> CategoriesError:
    name = type(estimator).__name__
    shown = ", ".join(f"{column!r} ({dtype})" for column, dtype in odd.items())
    return CategoriesError(
        f"{name} failed on a table with {len(odd)} column(s) that are no numbers, "
        f"{shown}: {error} Put an encoder in front of it: "
        f'make_pipeline(kinlearn.TableEncoder(categories="indicators", fill=True, '
        f"scale=True), {name}(...))."
    )


def _with_values(X: Any) -> Any:
    """X with zeros in columns of numbers without any value.

    Some tasks never measure a column, and scikit-learn's boosters fail on such.
    """
    if isinstance(X, np.ndarray):
        if X.dtype.kind != "f":
            return X
        empty = np.isnan(X).all(axis=0)
        return np.where(empty, X.dtype.type(0), X) if empty.any() else X
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return X
    unknown = [
        column
        for column in frame.iter_columns()
        if column.dtype.is_float() and (column.is_null() | column.is_nan()).all()
    ]
    if not unknown:
        return X
    # False is 0; the name may be any, not only a string
    zeros = [(each.is_null() & False).cast(nw.Float64) for each in unknown]
    return frame.with_columns(*zeros).to_native()


def checked_predictions(
    found: Any,
    model: Any,
    method: str,
    n_rows: int,
    n_classes: int | None = None,
    X: Any = None,
) -> Any:
    """What an estimator predicted, refused if it has another shape than it must.

    If X is given, it must be finite too.
    """
    name = type(model).__name__
    shape = np.shape(found)
    if shape[:1] != (n_rows,):
        raise ValueError(
            f"{name}.{method} returned an array of shape {shape} for {n_rows} rows. "
            "It must return a prediction for each row."
        )
    values = np.asarray(found)
    if X is not None and values.dtype.kind == "f" and not np.isfinite(values).all():
        row = np.argwhere(~np.isfinite(values))[0][0]
        raise NotFiniteError(
            f"{name}.{method} returned {values[row].ravel()[0]:g} for row {row}. "
            f"{name_largest(X)}".rstrip()
        )
    if method != "predict_proba" or n_classes is None:
        return found
    if shape[1:] != (n_classes,):
        raise ValueError(
            f"{name}.predict_proba returned an array of shape {shape}, while fit was "
            f"given {n_classes} classes. It must return a column for each, in their "
            "order."
        )
    if found.size and (found.min() < -_ROUNDING or found.max() > 1 + _ROUNDING):
        raise ValueError(
            f"{name}.predict_proba returned values from {found.min():.3g} to "
            f"{found.max():.3g}. Probabilities lie between 0 and 1."
        )
    return found
