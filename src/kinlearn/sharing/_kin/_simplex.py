"""Many small quadratic programs over the simplex, solved together."""

import numpy as np

__all__ = ["minimise_on_simplex"]

_TOLERANCE = 1e-12  # of multipliers, as a share of the largest number of the problem


def minimise_on_simplex(
    quadratic: np.ndarray, linear: np.ndarray, start: np.ndarray
) -> np.ndarray:
    r"""Minimise :math:`\frac12 w^\top B w - c^\top w` over convex combinations.

    A primal active-set method. All problems take their steps at the same time, so
    thousands of tasks cost little more than one.

    Parameters
    ----------
    quadratic : float64 array of shape (n_problems, n, n)
        The matrices B, symmetric and positive definite.
    linear : float64 array of shape (n_problems, n)
        The vectors c.
    start : float64 array of shape (n_problems, n)
        Convex combinations to begin with; the solution does not depend on them.

    Returns
    -------
    float64 array of shape (n_problems, n)
        The minima: no weight is negative, and they sum to 1.
    """
    w = np.array(start, dtype=np.float64)
    free = np.ones(w.shape, dtype=bool)
    open_ = np.arange(len(w))
    size = np.abs(quadratic).max(axis=(1, 2)) + np.abs(linear).max(axis=1)
    for _ in range(20 * w.shape[1]):
        if not len(open_):
            break
        B, c, mask = quadratic[open_], linear[open_], free[open_]
        target, level = _on_free_weights(B, c, mask)
        here = w[open_]
        # as far towards the target as no weight becomes negative
        falls = mask & (target < 0)
        ratio = np.where(falls, here, np.inf) / np.where(falls, here - target, 1.0)
        blocking = ratio.argmin(axis=1)
        rows = np.arange(len(open_))
        blocked = ratio[rows, blocking] < 1
        step = np.where(blocked, ratio[rows, blocking], 1.0)[:, None]
        here = here + step * (target - here)
        here[rows[blocked], blocking[blocked]] = 0.0
        w[open_] = here
        free[open_[blocked], blocking[blocked]] = False
        # at the target: free the weight that gains most, or be done
        gain = np.einsum("tij,tj->ti", B, here) - c + level[:, None]
        gain = np.where(mask, 0.0, gain)
        best = gain.argmin(axis=1)
        wants = ~blocked & (gain[rows, best] < -_TOLERANCE * size[open_])
        free[open_[wants], best[wants]] = True
        open_ = open_[blocked | wants]
    w = np.maximum(w, 0.0)
    return w / w.sum(axis=1, keepdims=True)


def _on_free_weights(
    B: np.ndarray, c: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Minima where the other weights are zero, and the multipliers of the sum."""
    n = B.shape[1]
    kkt = np.zeros((len(B), n + 1, n + 1))
    kkt[:, :n, :n] = B * (free[:, :, None] & free[:, None, :])
    kkt[:, range(n), range(n)] += ~free
    kkt[:, :n, n] = kkt[:, n, :n] = free
    right = np.concatenate([c * free, np.ones((len(B), 1))], axis=1)
    solution = np.linalg.solve(kkt, right[..., None])[..., 0]
    return solution[:, :n], solution[:, n]
