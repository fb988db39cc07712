"""Rows by group, numbers for rows, and counts dealt to folds."""

from collections.abc import Iterable

import numpy as np

from kinlearn._kernels._grouping import deal_cells, group_by_code
from kinlearn.utils._typing import ArrayLike

__all__ = ["deal_to_folds", "group_rows", "mix_bits", "row_groups", "row_hashes"]


def group_rows(codes: ArrayLike, n_groups: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of every group, as boundaries and one permutation (``indptr, order``).

    Group g has the rows ``order[indptr[g]:indptr[g + 1]]``, ascending; codes lie in ``0
    .. n_groups - 1``, and groups may be empty.
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


def mix_bits(h: np.ndarray) -> np.ndarray:
    """The last steps of SplitMix64: every bit of a uint64 depends on all."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def row_hashes(columns: Iterable[np.ndarray], y: np.ndarray) -> np.ndarray:
    """A uint64 for each row that depends on its values alone; X is given by columns.

    So neither the order of the rows nor repeated rows (or weights instead of them)
    change who is held out together with whom.
    """
    h = mix_bits((y.astype(np.float64) + 0.0).view(np.uint64))
    for column in columns:
        # + 0 makes -0 and 0 alike; all NaN are one missing value.
        plain = np.where(np.isnan(column), np.float32(np.nan), column + np.float32(0))
        h = mix_bits(h + np.uint64(0x9E3779B97F4A7C15) + plain.view(np.uint32))
    return h


def row_groups(columns: Iterable[np.ndarray], y: np.ndarray) -> np.ndarray:
    """Number the distinct rows in the order of their hashes."""
    return np.unique(row_hashes(columns, y), return_inverse=True)[1]


def deal_to_folds(
    rows: ArrayLike, columns: ArrayLike, counts: ArrayLike, n_folds: int
) -> np.ndarray:
    """Deal the cells of a two-way table out to folds, evenly in all directions.

    `rows` and `columns` are the cells' places in the table; cells are dealt in their
    order. Returns the counts of each cell in each fold. The folds of a cell, and of a
    row of the table, differ by one at the most; those of a column, and of the whole
    table, by little more.

    >>> from kinlearn.utils import deal_to_folds
    >>> deal_to_folds([0, 0, 1, 1], [0, 1, 0, 1], [1] * 4, 2)
    array([[1, 0],
           [0, 1],
           [0, 1],
           [1, 0]])
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
