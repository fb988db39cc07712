"""Empirical distribution functions of many groups, made once and compared in pairs."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from joblib import Parallel, delayed

from kinlearn._kernels._ecdf import add_ks, fill_wasserstein

__all__ = ["GroupEcdfs", "add_ks_statistics", "stack_ecdfs", "wasserstein_distances"]

# Steps of a merge in one call: about a tenth of a second, between which Ctrl-C
# is heard and threads share the work.
_STEPS_PER_CALL = 20_000_000
_GRID_SAMPLE = 4096


@dataclass(frozen=True, eq=False)
class GroupEcdfs:
    """One distribution function per group, in the form that the kernels take.

    `values` are the distinct numbers of each group, ascending, and then infinity;
    `below`, how many numbers of the group are smaller than each. Group g has the places
    ``indptr[g]:indptr[g + 1]`` of both.
    """

    values: np.ndarray
    below: np.ndarray
    indptr: np.ndarray

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return len(self.indptr) - 1

    @property
    def n_values(self) -> np.ndarray:
        """How many numbers each group has, those that are equal counted apart."""
        return self.below[self.indptr[1:] - 1]


def stack_ecdfs(column: np.ndarray, indptr: np.ndarray) -> GroupEcdfs:
    """Distribution functions of the groups in one column; NaN is left out.

    Group g has ``column[indptr[g]:indptr[g + 1]]``.
    """
    n_groups = len(indptr) - 1
    column = column.copy()
    for start, stop in pairwise(indptr):
        column[start:stop].sort()  # NaN goes to the end
    group = np.repeat(np.arange(n_groups), np.diff(indptr))
    present = ~np.isnan(column)
    leads = present.copy()
    leads[1:] &= (column[1:] != column[:-1]) | (group[1:] != group[:-1])
    rows = np.flatnonzero(leads)

    sizes = np.bincount(group[rows], minlength=n_groups) + 1
    ends = np.concatenate([[0], np.cumsum(sizes)])
    values = np.full(ends[-1], np.inf, dtype=column.dtype)
    below = np.empty(ends[-1], dtype=np.int64)
    places = np.arange(len(rows)) + group[rows]  # every earlier group has an infinity
    values[places] = column[rows]
    below[places] = rows - indptr[group[rows]]
    below[ends[1:] - 1] = np.bincount(group[present], minlength=n_groups)
    return GroupEcdfs(values=values, below=below, indptr=ends)


def _by_rows(
    fill: Callable[[int, int], None], ecdfs: GroupEcdfs, n_jobs: int | None
) -> None:
    """Call ``fill(first, last)`` for blocks of rows of the matrix."""
    n_groups = ecdfs.n_groups
    rows = max(1, _STEPS_PER_CALL // (2 * len(ecdfs.values)))
    Parallel(n_jobs=n_jobs, prefer="threads", require="sharedmem")(
        delayed(fill)(first, min(first + rows, n_groups))
        for first in range(0, n_groups, rows)
    )


def _cut_by_grid(ecdfs: GroupEcdfs) -> np.ndarray:
    """Places where every group passes the points of a common grid.

    The grid decides the speed and nothing else. About four cells per square root
    of a group's rows were best at 10, 100 and 1,000 rows per group.
    """
    values, indptr = ecdfs.values, ecdfs.indptr
    sample = values[:: max(1, len(values) // _GRID_SAMPLE)]
    sample = np.sort(sample[np.isfinite(sample)])
    n_cells = int(np.clip(4 * np.sqrt(np.median(ecdfs.n_values)), 1, 256))
    inner = np.linspace(0, max(len(sample) - 1, 0), n_cells + 1)[1:-1]
    grid = np.unique(sample[inner.astype(np.intp)]) if len(sample) else sample
    cuts = np.empty((ecdfs.n_groups, len(grid) + 2), dtype=np.intp)
    cuts[:, 0] = indptr[:-1]
    cuts[:, -1] = indptr[1:] - 1
    for g, (start, stop) in enumerate(zip(cuts[:, 0], cuts[:, -1], strict=True)):
        cuts[g, 1:-1] = start + np.searchsorted(values[start:stop], grid)
    return cuts


def add_ks_statistics(
    ecdfs: GroupEcdfs,
    out: np.ndarray,
    *,
    take_max: bool = False,
    n_jobs: int | None = None,
) -> None:
    """Add all pairs' Kolmogorov-Smirnov statistics to a matrix, above its diagonal.

    `take_max` keeps the larger of the old and the new number instead of their sum.
    Pairs with an empty group are left alone.
    """
    cuts = _cut_by_grid(ecdfs)
    passed = ecdfs.below[cuts]

    def fill(first: int, last: int) -> None:
        add_ks(ecdfs.values, ecdfs.below, cuts, passed, first, last, take_max, out)

    _by_rows(fill, ecdfs, n_jobs)


def wasserstein_distances(
    ecdfs: GroupEcdfs, *, n_jobs: int | None = None
) -> np.ndarray:
    """Wasserstein distances of order 1 of all pairs, as a symmetric matrix.

    The functions are in float64, and none may be empty.
    """
    out = np.zeros((ecdfs.n_groups, ecdfs.n_groups))

    def fill(first: int, last: int) -> None:
        fill_wasserstein(ecdfs.values, ecdfs.below, ecdfs.indptr, first, last, out)

    _by_rows(fill, ecdfs, n_jobs)
    return out + out.T
