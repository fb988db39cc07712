"""Sharing counts out to folds."""

import numpy as np

from kinlearn._kernels._grouping import deal_cells
from kinlearn.utils._typing import ArrayLike

__all__ = ["deal_to_folds"]


def deal_to_folds(
    rows: ArrayLike, columns: ArrayLike, counts: ArrayLike, n_folds: int
) -> np.ndarray:
    """Share the cells of a two-way table out to folds, evenly in all directions.

    Parameters
    ----------
    rows, columns : int arrays of shape (n_cells,)
        Place of each cell in the table, from 0. Cells are dealt in this order.
    counts : int array of shape (n_cells,)
        Things in each cell.
    n_folds : int
        Number of folds.

    Returns
    -------
    intp array of shape (n_cells, n_folds)
        Things of each cell in each fold. The folds of a cell, and of a row of
        the table, differ by one at the most; those of a column, and of the
        whole table, by little more.

    Examples
    --------
    Three rows with one thing in each of two columns:

    >>> from kinlearn.utils import deal_to_folds
    >>> deal_to_folds([0, 0, 1, 1, 2, 2], [0, 1, 0, 1, 0, 1], [1] * 6, 3)
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 0, 1],
           [1, 0, 0],
           [0, 1, 0],
           [0, 0, 1]])
    """
    rows = np.ascontiguousarray(rows, dtype=np.int32)
    columns = np.ascontiguousarray(columns, dtype=np.int32)
    counts = np.ascontiguousarray(counts, dtype=np.intp)
    if not rows.shape == columns.shape == counts.shape:
        raise ValueError("rows, columns and counts must have one length.")
    for name, places in (("rows", rows), ("columns", columns), ("counts", counts)):
        if places.size and places.min() < 0:
            raise ValueError(f"{name} must not be negative; found {places.min()}.")
    out = np.empty((len(rows), n_folds), dtype=np.intp)
    deal_cells(
        rows,
        columns,
        counts,
        np.zeros((rows.max(initial=-1) + 1, n_folds), dtype=np.int32),
        np.zeros((columns.max(initial=-1) + 1, n_folds), dtype=np.int32),
        np.zeros(n_folds, dtype=np.intp),
        out,
    )
    return out
