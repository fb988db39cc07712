"""Tables for estimators that know nothing of kinlearn: who reads what.

An estimator that reads columns as they come gets them so. For the others a table that
holds more than numbers is encoded first; categories stay categories where an estimator
splits them natively.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from kinlearn.sharing._base import TrainingRows
from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import FrameTable, comes_from, encoding_for, open_table
from kinlearn.tasks import TaskMixin

__all__ = [
    "CategoriesError",
    "encode_rows",
    "natively",
    "needs_text",
    "not_numbers",
    "splits_categories",
    "takes_codes",
]

_INNER = ("estimator", "regressor", "classifier", "base_estimator")
_BOOSTERS = ("lightgbm", "xgboost", "catboost")
_CHOSEN = ("categorical_features", "categorical_feature", "cat_features")


class CategoriesError(ValueError):
    """An estimator failed on columns that are no numbers."""


def splits_categories(estimator: Any) -> bool:
    """Whether an estimator splits a column of categories natively.

    Parameters
    ----------
    estimator : estimator
        Any; scikit-learn's histogram boosting, LightGBM, XGBoost and CatBoost do.

    Returns
    -------
    bool
        True if it does.
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


def not_numbers(X: Any) -> dict[str, Any]:
    """Columns of a frame, or of an array of objects, that are no numbers.

    Parameters
    ----------
    X : array, sparse matrix or data frame
        Without the task.

    Returns
    -------
    dict of str to object
        Types by name.
    """
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

    Parameters
    ----------
    estimator : estimator
        To be fitted to them.
    rows : TrainingRows
        As they came.

    Returns
    -------
    encoder : TableEncoder or None
        Fitted; None if the rows are as they came.
    rows : TrainingRows
        The rows to fit on.
    """
    table = open_table(rows.rest)
    if table.is_numeric(range(table.n_columns)) or _reads_tables(estimator):
        return None, rows
    encoder = TableEncoder(
        **encoding_for(estimator),
        target_type="classes" if is_classifier(estimator) else "numbers",
    )
    return encoder, replace(rows, rest=encoder._fit_table(table, rows.y))


def natively(
    estimator: Any, X: Any, positions: list[int]
) -> tuple[Any, dict[str, Any]]:
    """A clone that knows which columns are categories, and parameters for its fit.

    Parameters
    ----------
    estimator : estimator
        One that :func:`splits_categories`.
    X : ndarray or data frame
        Codes at these positions of an array, the library's own type of category (or
        text, see :func:`needs_text`) in a frame.
    positions : list of int
        Columns of categories, besides those that the estimator knows already.

    Returns
    -------
    estimator : estimator
        Not fitted.
    fit_params : dict
        For its `fit`.
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
