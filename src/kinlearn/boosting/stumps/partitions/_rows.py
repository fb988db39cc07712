"""Rows of a partition in rounds: as in memory, but their sums are sent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn._binning import Bins, in_units
from kinlearn._kernels.boosting.stumps._search_binary import N_LANES, fill_lanes
from kinlearn._kernels.boosting.stumps._stumps import BLOCK, Cells, sum_cells
from kinlearn._partitions import Coded, Common, Partition, Weighed
from kinlearn.boosting.stumps._rows import LogWeights, RoundRows, Scale, Sums
from kinlearn.boosting.stumps._table import sort_cells
from kinlearn.boosting.stumps.partitions._table import CellSums, merge_counts
from kinlearn.utils import group_rows

__all__ = ["BinnedRows", "PartitionRows", "Start", "WeighedRows"]


@dataclass(frozen=True, eq=False)
class Start:
    """What partitions need to know to begin."""

    bins: Bins  # edges of the bins
    # (n_tasks,) number of each task among those that are boosted; -1 for others
    code: np.ndarray
    # (n_tasks, n_classes) number of each class among those of the task
    label: np.ndarray
    n_labels: np.ndarray  # (n boosted tasks,) labels of each boosted task
    binary: bool  # whether predictions are signs
    # (n_tasks, n_classes) weight of the rows that have one weight in common to begin
    # with, in the place of each row's class and task
    mass: np.ndarray
    n_alike: float  # how many such sets of rows there are
    whole: bool  # whether weights are whole numbers, and count rows


@dataclass(frozen=True, eq=False)
class WeighedRows(Weighed):
    """Coded rows of a partition, with weights as whole numbers for bins."""

    rows: Coded
    whole: np.ndarray | None

    @classmethod
    def of(cls, partition: Partition, common: Common, unit: float) -> Self:
        """Code the rows as all partitions do."""
        rows = partition.coded(common)
        return cls(rows, in_units(rows.weight, unit))

    def feature(self, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Values of a feature, and their weights, of rows that count."""
        if self.whole is None:
            return self.rows.columns[number], None
        there = self.whole > 0
        return self.rows.columns[number, there], self.whole[there]

    def mass(self, n_tasks: int, n_classes: int) -> np.ndarray:
        """Weight of each class in each task."""
        cell = self.rows.task.astype(np.int64) * n_classes + self.rows.y
        mass = np.bincount(cell, self.rows.weight, minlength=n_tasks * n_classes)
        return mass.reshape(n_tasks, n_classes).astype(np.float64)


@dataclass(frozen=True, eq=False)
class BinnedRows(Weighed):
    """Rows of a partition as bins, task by task."""

    codes: np.ndarray  # (n, n_features) bins, column-major
    indptr: np.ndarray  # (n boosted tasks + 1,) boundaries of the tasks
    label: np.ndarray  # (n,) labels, counted within the task
    start: np.ndarray  # (n,) weights to begin with
    unit: np.ndarray | None  # (n,) how many rows each stands for; None is one

    @classmethod
    def of(cls, weighed: WeighedRows, start: Start) -> Self:
        """Those of the tasks that are boosted."""
        rows = weighed.rows
        task, y, weight = rows.task, rows.y, rows.weight
        weight = np.ones(len(task)) if weight is None else weight
        kept = np.flatnonzero((weight > 0) & (start.code[task] >= 0))
        indptr, order = group_rows(start.code[task[kept]], len(start.n_labels))
        kept = kept[order]
        task, y, weight = task[kept], y[kept], weight[kept]
        return cls(
            codes=start.bins.assign(rows.columns[:, kept].T),
            indptr=indptr,
            label=start.label[task, y],
            start=weight / start.mass[task, y] / start.n_alike,
            unit=weight if start.whole else None,
        )

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Rows by task, feature and bin: keys of those that occur, and how many."""
        n_tasks, n_features = len(self.indptr) - 1, self.codes.shape[1]
        of_task = np.repeat(np.arange(n_tasks), np.diff(self.indptr)) * 256
        found = []
        for f, column in enumerate(self.codes.T):
            count = np.bincount(of_task + column, minlength=n_tasks * 256)
            at = np.flatnonzero(count)
            task, code = at // 256, at % 256
            found.append(((task * n_features + f) * 256 + code, count[at]))
        return merge_counts(found)


@dataclass(eq=False, kw_only=True)
class PartitionRows(RoundRows):
    """Rows of a partition in rounds."""

    # as `sort_cells` gives them
    entry: np.ndarray
    bins: np.ndarray
    group_task: np.ndarray
    group_feature: np.ndarray
    group_common: np.ndarray
    part_end: np.ndarray
    feature_common: np.ndarray
    n_bins: np.ndarray  # (n_features,) bins of each feature
    cell_end: np.ndarray  # (n,) where the entries of each cell end
    cell: np.ndarray  # (n,) its number in the table of all partitions
    n_cells: int  # of that table

    @classmethod
    def of(cls, rows: BinnedRows, start: Start, table: CellSums) -> Self:
        """Sort the cells; those that are common in all partitions are not stored."""
        n, n_features = rows.codes.shape
        blocks = (rows.codes[:, f : f + BLOCK] for f in range(0, n_features, BLOCK))
        order = np.arange(n, dtype=np.int32)
        common = table.common, table.feature_common
        arrays = sort_cells(blocks, order, rows.indptr, n * n_features, common)
        end, group_end = np.flatnonzero(arrays["entry"] & 1) + 1, arrays["part_end"]
        lost = group_end[:, 1] < group_end[:, 2]  # they have no mark at their end
        end = np.sort(np.concatenate([end, group_end[lost, 2]]))
        group = np.searchsorted(group_end[:, 2], end, side="left")
        pair = arrays["group_task"][group].astype(np.int64) * n_features
        key = (pair + arrays["group_feature"][group]) * 256 + arrays["bins"][end - 1]
        fields = cls.fields_of(
            indptr=rows.indptr,
            label=rows.label,
            n_labels=start.n_labels,
            binary=start.binary,
            start=rows.start,
            unit=rows.unit,
        )
        return cls(
            **fields,
            **arrays,
            n_bins=start.bins.n_bins,
            cell_end=end,
            cell=table.numbers(key),
            n_cells=len(table.keys),
        )

    @property
    def cells(self) -> Cells:
        names = ("entry", "bins", "group_task", "group_feature", "group_common")
        arrays = {name: getattr(self, name) for name in names}
        return Cells(
            self.indptr,
            **arrays,
            part_end=self.part_end,
            feature_common=self.feature_common,
            n_bins=self.n_bins,
        )

    def _by_cell(self, values: np.ndarray) -> np.ndarray:
        out = np.zeros((self.n_cells, values.shape[1]), dtype=values.dtype)
        sum_cells(self.entry, self.cell_end, self.cell, values, out)
        return out

    def _for_and_against(self, whole: np.ndarray) -> np.ndarray:
        """Weights of each row for all labels and against them, and a 1 to count it."""
        most, n_rows = int(self.n_labels.max()), np.diff(self.indptr)
        of_row = np.repeat(self.n_labels, n_rows)
        row = np.repeat(np.arange(len(of_row)), of_row)
        place = np.arange(len(row)) - (np.cumsum(of_row) - of_row)[row]
        out = np.zeros((len(of_row), 2 * most + 1))
        out[row, np.where(self.own, place, most + place)] = whole
        out[:, -1] = 1.0
        return out

    def cell_sums(self, weights: LogWeights, scale: Scale) -> Sums:
        whole = self._whole(weights, scale)
        if self.binary:
            values = np.column_stack([whole, np.abs(whole)])
            (cells, size), (tasks, task_size) = (
                np.ascontiguousarray(sums.T)
                for sums in (self._by_cell(values), self._by_task(values))
            )
            return Sums(cells, tasks, size, task_size)
        values = self._for_and_against(whole)
        cells, tasks = self._by_cell(values), self._by_task(values)[:, :-1]
        sizes = cells[:, :-1].sum(axis=1), tasks.sum(axis=1)
        return Sums(cells, np.ascontiguousarray(tasks), *sizes)

    def left_sums(self, weights: LogWeights, scale: Scale, roots: np.ndarray) -> Sums:
        whole = self._whole(weights, scale)
        found = self._lanes(whole, roots) if self.binary else self._sides(whole, roots)
        cells, tasks = zip(*found, strict=True)
        return Sums(np.stack(cells), np.stack(tasks))

    def _lanes(self, whole: np.ndarray, roots: np.ndarray) -> Sequence[Any]:
        found = []
        lanes = np.empty((len(whole), N_LANES), dtype=np.int32)
        for first in range(0, len(roots), N_LANES):
            some = roots[first : first + N_LANES]
            tasks = np.empty((len(self.n_labels), N_LANES), dtype=np.int32)
            fill_lanes(self.cells, some, whole, lanes, tasks)
            found.append((self._by_cell(lanes), tasks))
        return found

    def _sides(self, whole: np.ndarray, roots: np.ndarray) -> Sequence[Any]:
        values, found = self._for_and_against(whole), []
        for root in roots:
            left = values * self._left(root)[:, None]
            found.append((self._by_cell(left), self._by_task(left)[:, :-1]))
        return found
