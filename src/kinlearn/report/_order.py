"""The order in which similar tasks are neighbours."""

from typing import Any

import numpy as np

from kinlearn.relatedness import TaskDistances

__all__ = ["as_matrix", "cluster_order"]


def as_matrix(matrix: Any) -> np.ndarray:
    """A result's matrix as an array; what is not known there (None) is NaN."""
    return np.array(matrix, dtype=np.float64).reshape(len(matrix), -1)


def cluster_order(values: np.ndarray, *, affinity: bool) -> np.ndarray:
    """Order of an average-linkage clustering.

    Parameters
    ----------
    values : ndarray of shape (n_tasks, n_tasks)
        Affinities or distances; need not be symmetric, may hold NaN.
    affinity : bool
        Whether greater means more alike.

    Returns
    -------
    intp array of shape (n_tasks,)
        Positions, similar tasks side by side.
    """
    apart = -values if affinity else values
    apart = (apart + apart.T) / 2
    between = ~np.eye(len(apart), dtype=bool)
    known = apart[between & np.isfinite(apart)]
    if not known.size:
        return np.arange(len(apart))
    # what is not known is neither near nor far
    apart = np.where(np.isfinite(apart), apart, known.mean()) - known.min()
    np.fill_diagonal(apart, 0.0)
    names = np.arange(len(apart))
    return TaskDistances(np.maximum(apart, 0.0), names, method="order").order()
