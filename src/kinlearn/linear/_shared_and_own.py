r"""Ridge regression with a part that tasks share and a part of each task's own.

With :math:`z = (1, x)`, the sums :math:`G_t = \sum z z^\top` and
:math:`r_t = \sum z y` over the rows of a task, and own parts of weight :math:`c`, the
minimum of

.. math::

    \sum_t \sum_i (y_i - z_i^\top (\theta + c\,u_t))^2
    + \alpha \|w\|^2 + \alpha \sum_t \|u_t\|^2, \qquad \theta = (b, w),

has :math:`u_t = c\,(c^2 G_t + \alpha I)^{-1} (r_t - G_t \theta)`. Put into the
equations of :math:`\theta`, that leaves one small system:

.. math::

    \Big(\sum_t M_t G_t + \mathrm{diag}(0, 1, \dots, 1)\Big) \theta = \sum_t M_t r_t,
    \qquad M_t = (c^2 G_t + \alpha I)^{-1} .

So a fit needs the sums of each task, and no table with columns for every task.
"""

from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import Ridge

from kinlearn.linear._task_lines import has_line
from kinlearn.utils import group_rows

__all__ = ["add_own_parts", "fit_shared_and_own"]

_FEW_SUMS = 2**20  # numbers in the sums of all tasks that are no matter of memory
_ROWS_AT_ONCE = 4096


def fit_shared_and_own(
    estimator: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray | None,
    task: np.ndarray,
    n_tasks: int,
    own_weight: float,
) -> Ridge | None:
    """A ridge regression over features that stand there twice, without that table.

    Its coefficients are those of the shared part, and then, by task, of its level and
    its features, times which `own_weight` they count. None is a case for the estimator
    itself: not a plain ridge regression, or not a table of few dense features.
    """
    if not isinstance(estimator, Ridge) or not has_line(estimator, X):
        return None
    n, d = X.shape
    sums = n_tasks * (d + 1) ** 2
    if not estimator.alpha > 0 or sums > max(n * (2 * d + 1), _FEW_SUMS):
        return None
    if np.ndim(y) != 1 or np.asarray(y).dtype.kind not in "fiub":
        return None
    G, r = _sums(X, np.asarray(y, dtype=np.float64), weight, task, n_tasks)
    inverse = own_weight**2 * G
    inverse[:, range(d + 1), range(d + 1)] += estimator.alpha
    try:
        solved = np.linalg.solve(inverse, np.concatenate([G, r], axis=2))
        del inverse
        A, b = solved[:, :, :-1].sum(axis=0), solved[:, :, -1].sum(axis=0)
        A[range(1, d + 1), range(1, d + 1)] += 1.0
        shared = np.linalg.solve(A, b)
    except np.linalg.LinAlgError:
        return None
    own = own_weight * (solved[:, :, -1] - solved[:, :, :-1] @ shared)
    coef = np.concatenate([shared[1:], own.ravel()])
    if not np.isfinite(coef).all() or not np.isfinite(shared[0]):
        return None
    model = clone(estimator)
    model.coef_, model.intercept_ = coef.astype(X.dtype), float(shared[0])
    model.n_features_in_, model.n_iter_ = len(coef), None
    model.solver_ = "cholesky"
    return model


def _sums(
    X: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    task: np.ndarray,
    n_tasks: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Of products of a task's rows, with a one in front, and with the targets."""
    size = X.shape[1] + 1
    G, r = np.zeros((n_tasks, size, size)), np.zeros((n_tasks, size, 1))
    indptr, order = group_rows(task, n_tasks)
    for t in np.flatnonzero(np.diff(indptr)):
        rows = order[indptr[t] : indptr[t + 1]]
        for first in range(0, len(rows), _ROWS_AT_ONCE):
            some = rows[first : first + _ROWS_AT_ONCE]
            Z = np.ones((len(some), size))
            Z[:, 1:] = X[some]
            weighted = Z if weight is None else weight[some, None] * Z
            G[t] += weighted.T @ Z
            r[t, :, 0] += weighted.T @ y[some]
    return G, r


def add_own_parts(
    out: np.ndarray, X: np.ndarray, task: np.ndarray, own: np.ndarray
) -> None:
    """Add what the tasks' own parts, a level and coefficients each, predict of rows.

    Unknown tasks, -1, have none.
    """
    for first in range(0, len(task), _ROWS_AT_ONCE):
        some = slice(first, first + _ROWS_AT_ONCE)
        of_row = own[task[some]]
        part = of_row[:, 0] + np.einsum("ij,ij->i", X[some], of_row[:, 1:])
        out[some] += np.where(task[some] >= 0, part, 0.0)
