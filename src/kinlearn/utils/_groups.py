"""Rows by group, without a scan for each group."""

import numpy as np

from kinlearn._kernels._grouping import group_by_code
from kinlearn.utils._typing import ArrayLike

__all__ = ["group_rows"]


def group_rows(codes: ArrayLike, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of every group, as one permutation and its boundaries.

    Parameters
    ----------
    codes : array of int of shape (n,)
        Group of each row, in ``0 .. n_groups - 1``.
    n_groups : int
        Number of groups; some may be empty.

    Returns
    -------
    indptr : intp array of shape (n_groups + 1,)
        Group g has the rows ``order[indptr[g]:indptr[g + 1]]``.
    order : intp array of shape (n,)
        Row numbers, group by group, ascending within each.

    Examples
    --------
    >>> from kinlearn.utils import group_rows
    >>> indptr, order = group_rows([1, 0, 1], 2)
    >>> order[indptr[1]:indptr[2]]
    array([0, 2])
    """
    codes = np.ascontiguousarray(codes, dtype=np.int32)
    if codes.size and not (codes.min() >= 0 and codes.max() < n_groups):
        raise ValueError(
            f"Group codes must lie in 0..{n_groups - 1}; found "
            f"{codes.min()}..{codes.max()}."
        )
    indptr = np.empty(n_groups + 1, dtype=np.intp)
    order = np.empty(codes.shape[0], dtype=np.intp)
    group_by_code(codes, indptr, order)
    return indptr, order
