"""Features whose values are codes of categories."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.tables.internal import AnyTable, find_column
from kinlearn.tasks._columns import TaskColumns

__all__ = ["N_CODES", "drop_new_codes", "find_categorical", "known_codes"]

N_CODES = 254  # of a feature; kernels that have them as bytes need the other two


def find_categorical(
    chosen: Any, table: AnyTable, columns: TaskColumns
) -> np.ndarray | None:
    """Which features a user names as categories, as a mask; None if there are none.

    `chosen` are names or positions of columns of X, or a mask of them.
    """
    chosen = np.asarray([] if chosen is None else chosen)
    if chosen.ndim != 1:
        raise ValueError(
            "categorical_features must be a list of columns or a mask of them; got an "
            f"array of shape {chosen.shape}."
        )
    if chosen.dtype == bool:
        if len(chosen) != table.n_columns:
            raise ValueError(
                f"categorical_features is a mask of {len(chosen)} columns, but X has "
                f"{table.n_columns}, the task column included."
            )
        chosen = np.flatnonzero(chosen)
    found = [find_column(key, table, "Categorical") for key in chosen.tolist()]
    features = columns.features
    for position in found:
        if position not in features:
            role = "task" if position == columns.task else "privileged"
            raise ValueError(
                f"Column {columns.all_names[position]!r} is the {role} column, which "
                "is no feature. Leave it out of categorical_features."
            )
    mask = np.isin(features, found)
    return mask if mask.any() else None


def known_codes(
    X: Any,
    categorical: np.ndarray,
    names: np.ndarray,
    estimator: str,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """Which codes the categories of training rows have, (n_categorical, 254).

    A row of weight 0 is none. The names are those of all features, for messages.
    """
    if sp.issparse(X):
        raise TypeError(
            f"{estimator} takes categories from arrays and frames, but X is sparse. "
            "Pass X.toarray(), or set categorical_features=None."
        )
    which = np.flatnonzero(categorical)
    known = np.zeros((len(which), N_CODES), dtype=bool)
    for found, feature in zip(known, which, strict=True):
        x = X[:, feature]
        bad = ~((x >= 0) & (x < N_CODES) & (x == np.floor(x)) | np.isnan(x))
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"Categorical column {names[feature]!r} holds {x[row]:g} in row {row}; "
                f"categories must be integers from 0 to {N_CODES - 1}, or NaN for a "
                "missing one. Number them (sklearn.preprocessing.OrdinalEncoder with "
                f"max_categories={N_CODES} does), or leave the column out of "
                "categorical_features."
            )
        here = ~np.isnan(x) if weight is None else ~np.isnan(x) & (weight > 0)
        found[x[here].astype(np.intp)] = True
    return known


def drop_new_codes(X: Any, categorical: np.ndarray, known: np.ndarray) -> Any:
    """Rows in which categories that fit did not see are missing values.

    X itself where there are none. `known` is what :func:`known_codes` found in fit.
    """
    copied = False
    for seen, feature in zip(known, np.flatnonzero(categorical), strict=True):
        new = ~np.isin(X[:, feature], np.flatnonzero(seen)) & ~np.isnan(X[:, feature])
        if new.any():
            X, copied = X if copied else X.copy(order="K"), True
            X[new, feature] = np.nan
    return X
