"""An intercept for each task, drawn towards zero as far as chance explains it."""

import numpy as np

from kinlearn.trees._growth import exact_integers

__all__ = ["add_offsets", "shrunken_offsets"]


def shrunken_offsets(
    residual: np.ndarray,
    task: np.ndarray,
    n_tasks: int,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    r"""Task means of residuals, shrunken by empirical Bayes.

    The model is one of random effects, ``residual = b[task] + noise``. Both variances
    are estimated by the analysis of variance (between tasks and within), and

    .. math::

        \hat b_t = \frac{n_t}{n_t + \sigma^2 / \tau^2} (\bar r_t - \bar r).

    Parameters
    ----------
    residual : float array of shape (n,)
        What a forest left unexplained of rows that it was not grown on.
    task : int array of shape (n,)
        Task codes.
    n_tasks : int
        Number of tasks.
    weight : float array of shape (n,), default=None
        Weights of the rows; a weight of 2 is the same as two rows.

    Returns
    -------
    float64 array of shape (n_tasks,)
        Offsets; 0 for tasks without rows, and for all tasks if they do not differ
        by more than chance.
    """
    weight = np.ones(len(task)) if weight is None else weight
    n = _sums(weight, task, n_tasks)
    total, present = n.sum(), int((n > 0).sum())
    free = total - present
    if present < 2 or not free > 0:
        return np.zeros(n_tasks)
    sums = _sums(weight * residual, task, n_tasks)
    centre = sums.sum() / total
    mean = np.divide(sums, n, out=np.zeros(n_tasks), where=n > 0)
    within = _total(weight * (residual - mean[task]) ** 2) / free
    between = _total(n * (mean - centre) ** 2) / (present - 1)
    typical_rows = (total - (n**2).sum() / total) / (present - 1)
    spread = (between - within) / typical_rows
    if not spread > 0:
        return np.zeros(n_tasks)
    offsets = n * spread * (mean - centre) / (n * spread + within)
    # Rounded, so that the order of the sums above decides nothing.
    return offsets.astype(np.float32).astype(np.float64)


def add_offsets(
    offsets: np.ndarray,
    is_new: np.ndarray,
    residual: np.ndarray,
    task: np.ndarray,
    weight: np.ndarray,
) -> None:
    """Fill in the offsets of new tasks, shrunken as those of the others suggest.

    Parameters
    ----------
    offsets : float64 array of shape (n_tasks,)
        Of the old tasks; 0 for the new ones, to be filled.
    is_new : bool array of shape (n_tasks,)
        Which are new.
    residual, task, weight : arrays of shape (n,)
        What trees leave unexplained of later rows, their tasks and weights.
    """
    spread = np.var(offsets[~is_new])
    for t in np.flatnonzero(is_new):
        own = task == t
        n = weight[own].sum()
        if not n > 0:
            continue
        mean = np.average(residual[own], weights=weight[own])
        within = np.average((residual[own] - mean) ** 2, weights=weight[own])
        if n > 1:
            within *= n / (n - 1)
        total = n * spread + max(within, spread)
        offsets[t] = n * spread * mean / total if total > 0 else 0.0


def _sums(values: np.ndarray, task: np.ndarray, n_tasks: int) -> np.ndarray:
    """Sums by task that do not depend on the order of the rows."""
    integers, unit = exact_integers(values)
    return np.bincount(task, weights=integers, minlength=n_tasks) * unit


def _total(values: np.ndarray) -> float:
    integers, unit = exact_integers(values)
    return float(integers.sum()) * unit
