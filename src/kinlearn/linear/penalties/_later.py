"""Coefficients of tasks that come after fit, from what fit learned of all tasks.

A new task has a ridge whose centre and metric are those of the fitted coefficients W:
for the penalties of blocks and of singular values it is the quadratic bound of the
penalty at W, so that the objective with the other tasks held falls at least as much.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from kinlearn.linear.penalties._design import Layout
from kinlearn.linear.penalties._losses import Loss

__all__ = [
    "TaskPrior",
    "fit_later_classes",
    "fit_later_numbers",
    "one_task",
    "prior_of",
]

_LEAST_LENGTH = 1e-8  # of a block or direction, against the longest, to count


@dataclass(frozen=True, eq=False)
class TaskPrior:
    """Where new coefficients may lie: centre + basis u, with |u|^2 / 2 as the penalty.

    Attributes
    ----------
    centres : float64 array of shape (n_centres, n_labels, n_features)
        Centres; the one that suits the new rows best is taken.
    features : intp array of shape (n_kept,)
        Features that the basis is for.
    basis : float64 array of shape (n_kept, n_directions) or (n_kept,)
        Directions, or one factor for each feature.
    """

    centres: np.ndarray
    features: np.ndarray
    basis: np.ndarray

    def project(self, Z: Any) -> Any:
        """Rows in the coordinates of the basis."""
        Z = Z[:, self.features]
        if self.basis.ndim == 2:
            return np.asarray(Z @ self.basis)
        return Z.multiply(self.basis).tocsr() if hasattr(Z, "tocsr") else Z * self.basis

    def coefficients(self, u: np.ndarray, centre: np.ndarray) -> np.ndarray:
        """Coefficients of coordinates, of shape (n_labels, n_features)."""
        out = centre.copy()
        moved = u @ self.basis.T if self.basis.ndim == 2 else u * self.basis
        out[:, self.features] += moved
        return out


def prior_of(
    penalty: str,
    W: np.ndarray,
    shared: np.ndarray,
    alpha: float,
    *,
    centres: np.ndarray,
    ridge: float,
    pull: float,
) -> TaskPrior:
    """The prior of new tasks.

    Parameters
    ----------
    penalty : str
        Name of the penalty.
    W, shared : float64 arrays of shape (n_features, n_outputs)
        Coefficients, and their shared part.
    alpha : float
        Factor of the penalty.
    centres : float64 array of shape (n_centres, n_labels, n_features)
        Means of the tasks or of clusters, for penalties that have such.
    ridge : float
        As given to the estimator.
    pull : float
        Price of departures from a centre, for penalties that have such.
    """
    n = len(W)
    zero = np.zeros((1, *centres.shape[1:]))
    if penalty in ("l21", "shared_sparse"):
        length = np.sqrt((shared**2).sum(axis=1))
        kept = np.flatnonzero(length > _LEAST_LENGTH * length.max(initial=0.0))
        return TaskPrior(zero, kept, np.sqrt(length[kept] / alpha))
    if penalty in ("trace", "covariance"):
        left, values, _ = np.linalg.svd(W, full_matrices=False)
        kept = values > _LEAST_LENGTH * values.max(initial=0.0)
        price = 1 / values[kept]
        if penalty == "covariance":
            price = price * values.sum() + ridge
        basis = left[:, kept] / np.sqrt(alpha * price)
        return TaskPrior(zero, np.arange(n), basis)
    return TaskPrior(centres, np.arange(n), np.full(n, 1 / np.sqrt(alpha * pull)))


def fit_later_numbers(
    prior: TaskPrior, Z: Any, y: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, float]:
    """Coefficients and intercept of one new task."""
    A, total = prior.project(Z), float(weight.sum())
    found = []
    for centre in prior.centres:
        rest = y - Z @ centre[0]
        u, moved = np.zeros(A.shape[1]), np.zeros(len(y))
        if A.shape[1]:
            ridge = Ridge(alpha=total, tol=1e-10).fit(A, rest, sample_weight=weight)
            u, moved = ridge.coef_, A @ ridge.coef_
        intercept = float(weight @ (rest - moved)) / total
        error = weight @ (rest - moved - intercept) ** 2 / total
        found.append((error + u @ u, prior.coefficients(u[None], centre)[0], intercept))
    _, coef, intercept = min(found, key=lambda each: each[0])
    return coef, intercept


def fit_later_classes(
    prior: TaskPrior, Z: Any, loss: Loss, labels: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Coefficients and intercepts of the outputs of one new task.

    Parameters
    ----------
    prior : TaskPrior
        Of new tasks.
    Z : array or sparse matrix of shape (n_samples, n_features)
        Scaled rows of the task.
    loss : Loss
        Of its outputs.
    labels : int array of shape (n_outputs,)
        Places of the outputs' classes in the prior's centres.
    """
    A, where = prior.project(Z), loss.layout
    n, k = where.n_outputs, A.shape[1]
    start = np.concatenate([np.zeros(n * k), np.zeros(n)])

    def objective(x: np.ndarray, offset: np.ndarray) -> tuple[float, np.ndarray]:
        u, b = x[: n * k].reshape(n, k), x[n * k :]
        scores = offset + (A @ u.T).T.ravel() + b[where.pair_output]
        point = loss.dual_point(scores)
        slope = u - point.reshape(n, -1) @ A
        value = loss.value(scores) + 0.5 * float((u**2).sum())
        return value, np.concatenate([slope.ravel(), -where.sums(point)])

    found = []
    for centre in prior.centres:
        offset = (Z @ centre[labels].T).T.ravel()
        result = minimize(
            objective, start, (offset,), method="L-BFGS-B", jac=True,
            options={"maxiter": 1000, "gtol": 1e-8, "ftol": 1e-14},
        )  # fmt: skip
        u = result.x[: n * k].reshape(n, k)
        coef = prior.coefficients(u, centre[labels])
        found.append((result.fun, coef, result.x[n * k :]))
    _, coef, intercept = min(found, key=lambda each: each[0])
    return coef, intercept


def one_task(n_rows: int, labels: np.ndarray) -> Layout:
    """The layout of one task."""
    task = np.zeros(n_rows, dtype=np.intp)
    return Layout.of(task, np.array([len(labels)]), labels)
