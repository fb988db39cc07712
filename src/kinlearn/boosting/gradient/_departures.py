"""How far tasks depart from what all have in common, by empirical Bayes."""

import numpy as np

__all__ = ["departure_penalty", "shrunken"]


def departure_penalty(g: np.ndarray, h: np.ndarray, noise: float) -> float:
    r"""The penalty on tasks' departures from the values of their leaves.

    Parameters
    ----------
    g, h : float64 arrays of shape (n_leaves, n_tasks)
        Sums of gradients and curvatures; zero where a task has no rows.
    noise : float
        Variance of gradients, in units of the curvature.

    Returns
    -------
    float
        The ratio of the noise to the variance of departures, by the method of moments;
        infinite if tasks differ by no more than the noise.
    """
    if not np.isfinite(noise):
        return np.inf
    total = h.sum(axis=1)
    there = total > 0
    g, h, total = g[there], h[there], total[there]
    left = g - h * (g.sum(axis=1) / total)[:, None]
    has = h > 0
    spread = float((left[has] ** 2 / h[has]).sum())
    excess = spread - (np.count_nonzero(has) - len(total)) * noise
    free = float((total - (h**2).sum(axis=1) / total).sum())
    if not (excess > 0 and free > 0):
        return np.inf
    return noise * free / excess


def shrunken(g: np.ndarray, h: np.ndarray, penalty: float) -> np.ndarray:
    """Departures of the tasks in each leaf, of shape (n_leaves, n_tasks)."""
    if not np.isfinite(penalty):
        return np.zeros_like(g)
    total = h.sum(axis=1, keepdims=True)
    mean = np.divide(
        g.sum(axis=1, keepdims=True), total, out=np.zeros_like(total), where=total > 0
    )
    below = h + penalty
    return np.divide(h * mean - g, below, out=np.zeros_like(g), where=below > 0)
