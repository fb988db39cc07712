"""Importance by permutation, for every kind of X."""

from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.inspection import permutation_importance
from sklearn.metrics import check_scoring
from sklearn.utils import Bunch, check_random_state

from kinlearn.utils._typing import ArrayLike, RandomState, Table

__all__ = ["importance_of_columns"]


def importance_of_columns(
    estimator: Any,
    X: Table,
    y: ArrayLike,
    *,
    n_repeats: int,
    scoring: str | Callable[..., float] | None,
    weight: ArrayLike | None,
    random_state: RandomState,
) -> Any:
    """How much the score falls when a column is shuffled.

    scikit-learn shuffles arrays and pandas frames; the others are shuffled here.

    Parameters
    ----------
    estimator : estimator
        Fitted.
    X, y : as in fit
        Rows to score.
    n_repeats : int
        Shuffles of each column.
    scoring : str, callable or None
        A scorer of scikit-learn's; None is ``score``.
    weight : array-like of shape (n_samples,) or None
        Weights of the rows.
    random_state : int, RandomState instance or None
        Decides the shuffles.

    Returns
    -------
    Bunch
        As :func:`sklearn.inspection.permutation_importance` gives it.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    other = isinstance(frame, nw.DataFrame) and not frame.implementation.is_pandas()
    if not (other or sp.issparse(X)):
        return permutation_importance(
            estimator,
            X,
            y,
            scoring=scoring,
            n_repeats=n_repeats,
            n_jobs=estimator.n_jobs,
            random_state=random_state,
            sample_weight=weight,
        )
    scorer = check_scoring(estimator, scoring=scoring)
    options = {} if weight is None else {"sample_weight": weight}
    rng = check_random_state(random_state)
    shuffle = _shuffled_frame if other else _shuffled_sparse
    whole = scorer(estimator, X, y, **options)
    n_rows, n_columns = X.shape
    fall = np.empty((n_columns, n_repeats))
    for j in range(n_columns):
        for r in range(n_repeats):
            mixed = shuffle(X, j, rng.permutation(n_rows))
            fall[j, r] = whole - scorer(estimator, mixed, y, **options)
    return Bunch(
        importances_mean=fall.mean(axis=1),
        importances_std=fall.std(axis=1),
        importances=fall,
    )


def _shuffled_frame(X: Any, j: int, order: np.ndarray) -> Any:
    frame = nw.from_native(X, eager_only=True)
    column = frame[:, j]
    return frame.with_columns(column[order.tolist()].alias(column.name)).to_native()


def _shuffled_sparse(X: Any, j: int, order: np.ndarray) -> Any:
    table = sp.csc_array(X)
    column = table[:, [j]].tocsr()[order].tocsc()
    return sp.hstack([table[:, :j], column, table[:, j + 1 :]], format="csr")
