"""New rows, by their affinity to the rows of a fit."""

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from kinlearn.cluster._affinity import CHUNK, halves, task_groups

__all__ = ["cross_product", "cross_product_by_task", "fold_in"]


def cross_product(
    X_new: Any, X: Any, kind: str, gamma: float, U: np.ndarray
) -> np.ndarray:
    """Product of the affinity of new rows to old ones with U.

    Parameters
    ----------
    X_new, X : arrays or CSR arrays
        Features, or for ``kind="precomputed"`` the affinity itself, as `X_new`.
    kind : str
        The affinity.
    gamma : float
        Of the RBF kernel.
    U : array of shape (n_old, k)
        What to multiply by.

    Returns
    -------
    ndarray of shape (n_new, k)
        The product.
    """
    if kind == "precomputed":
        return np.asarray(X_new @ U)
    if kind == "rbf":
        step = max(1, CHUNK // len(U))
        parts = [
            rbf_kernel(X_new[i : i + step], X, gamma=gamma) @ U
            for i in range(0, X_new.shape[0], step)
        ]
        return np.concatenate(parts)
    (P_new, Q_new), (P, Q) = halves(X_new, kind), halves(X, kind)
    return np.asarray(P_new @ (Q.T @ U) + Q_new @ (P.T @ U))


def cross_product_by_task(
    X_new: Any,
    X: Any,
    kind: str,
    gamma: float,
    U: np.ndarray,
    *,
    new_task: np.ndarray,
    task: np.ndarray,
    lambdas: np.ndarray,
) -> np.ndarray:
    """`cross_product` with the affinity times weights by the tasks of both rows.

    Parameters
    ----------
    X_new, X, kind, gamma, U
        See `cross_product`; X is None for ``kind="precomputed"``.
    new_task, task : int arrays of shape (n_new,) and (n_old,)
        Task codes.
    lambdas : array of shape (n_tasks, n_tasks)
        The weights.

    Returns
    -------
    ndarray of shape (n_new, k)
        The product.
    """
    out = np.zeros((len(new_task), U.shape[1]))
    for read, write in zip(*(factor.T for factor in task_groups(lambdas)), strict=True):
        new = np.flatnonzero(read[new_task])
        old = np.flatnonzero(write[task])
        if not len(new):
            continue
        factor = write[task[old]][:, None]
        some, rows = X_new[new], None if X is None else X[old]
        if X is None and len(old) < len(task):
            some = some[:, old]
        product = cross_product(some, rows, kind, gamma, factor * U[old])
        out[new] += read[new_task[new]][:, None] * product
    return out


def fold_in(gram: np.ndarray, pull: np.ndarray) -> np.ndarray:
    """Minimise ``v'Gv - 2 v'b`` over v >= 0 for every row b, by coordinates.

    Parameters
    ----------
    gram : array of shape (k, k)
        G.
    pull : array of shape (n_new, k)
        The rows b.

    Returns
    -------
    ndarray of shape (n_new, k)
        The rows v.
    """
    V = np.zeros_like(pull)
    for _ in range(200):
        before = V.copy()
        for j in range(len(gram)):
            if gram[j, j] > 0:
                rest = pull[:, j] - V @ gram[j] + V[:, j] * gram[j, j]
                V[:, j] = np.maximum(rest / gram[j, j], 0.0)
        if np.abs(V - before).max(initial=0.0) <= 1e-10 * np.abs(V).max(initial=0.0):
            break
    return V
