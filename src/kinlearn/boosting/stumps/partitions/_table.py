"""Cells of all partitions, in the form in which the kernels of one table search them.

A row of the kernels is here a cell: a bin of a feature within a task, that has the sum
of its rows. Groups and their entries are those of `sort_entries`, in the same order.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kinlearn._binning import Bins
from kinlearn._kernels.boosting.stumps._search_multiclass import LabelWeights
from kinlearn._kernels.boosting.stumps._stumps import BLOCK, MISSING_BIN, Cells
from kinlearn.boosting.stumps._rows import Sums
from kinlearn.boosting.stumps._table import SortedCells

__all__ = ["CellSums", "SummedLabels", "merge_counts", "table_of_sums"]


def merge_counts(
    counts: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Counts by key, ascending."""
    keys, numbers = (np.concatenate(each) for each in zip(*counts, strict=True))
    keys, place = np.unique(keys, return_inverse=True)
    total = np.bincount(place, numbers, minlength=len(keys))
    return keys, total.astype(np.int64)


@dataclass(frozen=True, eq=False)
class CellSums:
    """Which cells there are in all partitions, and their numbers."""

    keys: np.ndarray  # (n_cells,) (task, feature, bin) as one number, ascending
    number: np.ndarray  # (n_cells,) number of each in the table
    common: np.ndarray  # (n_tasks, n_features) the bin of most rows
    feature_common: np.ndarray  # (n_features,) the same over all tasks

    @classmethod
    def of(
        cls, keys: np.ndarray, counts: np.ndarray, n_tasks: int, bins: Bins
    ) -> tuple[Self, dict[str, np.ndarray]]:
        """From the numbers of rows by key; and the table's cells as arrays."""
        n_features = len(bins.n_bins)
        pair, code = keys // 256, keys % 256
        task, feature = pair // n_features, pair % n_features
        there = code != MISSING_BIN
        of_bin = np.bincount(
            (feature * 256 + code)[there], counts[there], minlength=n_features * 256
        )
        feature_common = of_bin.reshape(-1, 256).argmax(axis=1)
        # the first of the most frequent bins of each pair
        order = np.lexsort((code, -counts, ~there, pair))
        pairs, first = np.unique(pair[order], return_index=True)
        common = np.zeros(n_tasks * n_features, dtype=np.uint8)
        best = order[first]
        common[pairs[there[best]]] = code[best][there[best]]
        differs = common != np.tile(feature_common, n_tasks)
        stored = np.flatnonzero(code != common[pair])
        # blocks of features, then tasks, then features
        rank = (feature // BLOCK * n_tasks + task) * BLOCK + feature % BLOCK
        part = np.where(code < common[pair], 0, np.where(there, 1, 2))
        along = np.where(part == 1, -code, code)
        order = stored[np.lexsort((along[stored], part[stored], rank[stored]))]
        kept = np.isin(pair[best], pair[stored]) | differs[pair[best]]
        best = best[kept][np.argsort(rank[best[kept]])]
        group = np.searchsorted(rank[best], rank[order])
        sizes = np.bincount(3 * group + part[order], minlength=3 * len(best))
        number = np.empty(len(keys), dtype=np.int32)
        number[order] = np.arange(len(order))
        found = cls(
            keys[stored],
            number[stored],
            common.reshape(n_tasks, n_features),
            feature_common.astype(np.uint8),
        )
        return found, {
            "entry": _entries(code[order], 1),
            "bins": code[order].astype(np.uint8),
            "group_task": task[best].astype(np.int32),
            "group_feature": feature[best].astype(np.int32),
            "group_common": common[pair[best]],
            "part_end": np.cumsum(sizes).reshape(-1, 3),
            "feature_common": found.feature_common,
        }

    def numbers(self, keys: np.ndarray) -> np.ndarray:
        """Numbers of some cells."""
        return self.number[np.searchsorted(self.keys, keys)]


def table_of_sums(
    bins: Bins, n_tasks: int, arrays: dict[str, np.ndarray]
) -> SortedCells:
    """The table that is searched."""
    indptr = np.append(np.zeros(n_tasks, np.intp), len(arrays["entry"]))
    return SortedCells.from_arrays(bins, indptr, arrays)


def _entries(code: np.ndarray, n_rows: int) -> np.ndarray:
    """Entries of several rows for each cell, the last of which ends its bin.

    None follows missing values.
    """
    row = np.arange(len(code) * n_rows)
    last = (row % n_rows == n_rows - 1) & (np.repeat(code, n_rows) != MISSING_BIN)
    return (2 * row + last).astype(np.int32)


class SummedLabels:
    """Sums in the place of rows: of each cell, and of its sides of a root.

    All tasks have as many labels as the one with the most; the weights of those that a
    task lacks are 0, which changes nothing.
    """

    def __init__(
        self, bins: Bins, n_labels: np.ndarray, arrays: dict[str, np.ndarray]
    ) -> None:
        n_tasks, self._n_cells = len(n_labels), len(arrays["entry"])
        self._n_labels = np.full(n_tasks, n_labels.max(), dtype=np.int32)
        self._first = np.zeros(n_tasks + 1, dtype=np.intp)
        two = arrays | {
            "entry": _entries(arrays["bins"], 2),
            "bins": np.repeat(arrays["bins"], 2),
            "part_end": 2 * arrays["part_end"],
        }
        indptr = np.append(np.zeros(n_tasks, np.intp), 2 * self._n_cells)
        self._cells = Cells(indptr, **two, n_bins=bins.n_bins)

    def weights(self, sums: Sums) -> LabelWeights:
        """Of all rows."""
        return self._weights(sums.cells[:, :-1])

    def divided(
        self, sums: Sums, left: np.ndarray
    ) -> tuple[Cells, LabelWeights, np.ndarray]:
        """A table, its weights, and which of its rows are on the left of a root.

        A cell has two rows, the left one first. A side without rows has none here
        either: its sums, which are 0, are given to the other one, as the kernel looks
        for sides that have changed.
        """
        both = np.stack([left, sums.cells - left], axis=1)
        side = np.broadcast_to([True, False], (self._n_cells, 2)).copy()
        side[both[:, 0, -1] == 0] = False
        side[both[:, 1, -1] == 0] = True
        return self._cells, self._weights(both[..., :-1]), side.astype(np.uint8).ravel()

    def _weights(self, sums: np.ndarray) -> LabelWeights:
        flat = np.ascontiguousarray(sums).ravel()
        return LabelWeights(self._first, self._n_labels, None, flat)
