"""One partition of the rows of a multi-task random forest, and its sums.

The features are bins here, one byte each. A partition counts the cells, pairs of a task
and a label, in the bins of a feature at a node; a split is chosen by the sums of all
partitions. It also gives away the rows of nodes that have become small, so that the
rest of their trees is grown in one place.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from kinlearn._binning import find_bins, in_units, is_whole, weight_unit
from kinlearn._kernels.trees.decision._partitions import count_cells, move_bins
from kinlearn._partitions import (
    Common,
    Partition,
    Statistics,
    Weighed,
    agree,
    summarize,
)
from kinlearn.tasks import LabelSets
from kinlearn.trees.decision._growth import (
    ClassWeight,
    Rows,
    Sampler,
    Scheme,
    Settings,
    cell_factors,
    check_tasks_weigh,
    weighed_by_class,
)
from kinlearn.utils._typing import LabelRule

__all__ = [
    "Branches",
    "CellRequest",
    "NodeRows",
    "Plan",
    "Roots",
    "grow_branches",
    "prepare_binned",
]

N_BINS = 256


@dataclass(frozen=True, eq=False)
class Roots(Weighed):
    """Trees that begin: their seeds, and whether each has a bootstrap sample."""

    seeds: list
    bootstrap: bool


@dataclass(frozen=True, eq=False)
class CellRequest(Weighed):
    """Sums by bin and cell of features at open nodes."""

    nodes: np.ndarray  # int (n_nodes,): which of the open nodes this is about
    tree: np.ndarray  # int32 (n_nodes,): their trees
    start: np.ndarray  # int64 (n_nodes + 1,): where each node's requests begin
    feature: np.ndarray  # int32 array: requested features; -1 is all rows in one bin


@dataclass(frozen=True, eq=False)
class Plan(Weighed):
    """The splits of all open nodes; see the kernel `move_bins`."""

    tree: np.ndarray
    feature: np.ndarray
    sides: np.ndarray
    child: np.ndarray
    gone_start: np.ndarray
    gone: np.ndarray

    @property
    def n_opened(self) -> int:
        """Open nodes of the next level."""
        return len(self.gone_start) - 1


@dataclass(frozen=True, eq=False)
class Places(Weighed):
    """Where the rows of a partition are in some trees."""

    # int32 (n_trees, n_rows): rows, those of an open node next to each other and
    # ascending
    order: np.ndarray
    opened: np.ndarray  # int32 (2, n_open): start and end of each open node's stretch
    # int32 (n_trees, n_rows), or None: how often each row is in the tree's sample; None
    # is once
    counts: np.ndarray | None


@dataclass(frozen=True, eq=False)
class NodeRows(Weighed):
    """Rows of some nodes, node by node."""

    start: np.ndarray  # int64 (n_nodes + 1,): where each node's rows begin
    lines: np.ndarray  # uint8 (n, n_features): their bins
    cells: np.ndarray  # int32 (n,): their cells
    weight: np.ndarray  # int64 (n,): their weights in the tree


@dataclass(frozen=True, eq=False)
class BinnedPartition(Rows):
    """The rows of one partition."""

    # int64 (n_tasks_here,): how many rows that count are in the partitions before this
    # one, of the tasks that have such rows here
    before: np.ndarray = field(kw_only=True)

    def lay_out(self, by_rows: bool) -> None:
        """Nothing: bins are small."""

    def begin(self, roots: Roots) -> Places:
        """The rows at the roots of some trees."""
        n, n_trees = len(self.cells), len(roots.seeds)
        counts = None
        if roots.bootstrap:
            scheme = self.scheme
            task = scheme.cell_task[self.cells]
            sampler = Sampler(task, self.weight, scheme.task_rows, self.before)
            counts = np.empty((n_trees, n), dtype=np.int32)
            for i, seed in enumerate(roots.seeds):
                counts[i] = sampler.counts(seed)
        order = np.zeros((n_trees, n), dtype=np.int32)
        opened = np.zeros((2, n_trees), dtype=np.int32)
        for i in range(n_trees):
            there = np.ones(n, dtype=bool) if counts is None else counts[i] > 0
            if self.weight is not None:
                there &= self.weight > 0
            rows = np.flatnonzero(there)
            order[i, : len(rows)] = rows
            opened[1, i] = len(rows)
        return Places(order, opened, counts)

    def move(self, places: Places, plan: Plan) -> Places:
        """Carry out splits."""
        order = places.order.copy()
        opened = np.zeros((2, plan.n_opened), dtype=np.int32)
        move_bins(
            self.bins,
            self.cells,
            self.scheme.cell_task,
            self.scheme.n_tasks,
            order,
            tree=plan.tree,
            start=places.opened[0],
            end=places.opened[1],
            feature=plan.feature,
            sides=plan.sides,
            child=plan.child,
            gone_start=plan.gone_start,
            gone=plan.gone,
            opened=opened,
        )
        return Places(order, opened, places.counts)

    def statistics(self, places: Places, request: CellRequest) -> Statistics:
        """The result of a request, from the rows here."""
        start, end = np.ascontiguousarray(places.opened[:, request.nodes])
        n_cells = len(self.scheme.cell_task)
        most = np.minimum(end - start, N_BINS * n_cells) @ np.diff(request.start)
        key, weight, rows = np.empty((3, most), dtype=np.int64)
        n = count_cells(
            self.bins,
            self.cells,
            self.weight,
            places.counts,
            places.order,
            tree=request.tree,
            start=start,
            end=end,
            request_start=request.start,
            feature=request.feature,
            n_cells=n_cells,
            key=key,
            weight=weight,
            rows=rows,
        )
        order = np.argsort(key[:n])  # runs are quick to merge
        statistics = Statistics(request.start)
        statistics.by_group.update(
            key=key[order], weight=weight[order], rows=rows[order]
        )
        return statistics

    def rows_of(self, places: Places, branches: "Branches") -> NodeRows:
        """The rows of some nodes."""
        start, end = places.opened[:, branches.nodes]
        stretches = [
            places.order[t, a:b]
            for t, a, b in zip(branches.tree, start, end, strict=True)
        ]
        rows = np.concatenate(stretches)
        weight = np.ones(len(rows), np.int64)
        if self.weight is not None:
            weight = self.weight[rows]
        if places.counts is not None:
            weight = weight * places.counts[np.repeat(branches.tree, end - start), rows]
        return NodeRows(
            start=np.concatenate([[0], np.cumsum(end - start)]),
            lines=np.ascontiguousarray(self.bins[rows]),
            cells=self.cells[rows],
            weight=weight,
        )


# ------------------------------------------------- from tables to binned partitions


@dataclass(frozen=True, eq=False)
class CellRows(Weighed):
    """Rows of a partition with their cells, before the weights and bins are known."""

    columns: np.ndarray  # float (n_features, n_rows): X, feature by feature
    cells: np.ndarray  # int32 (n_rows,): pair of task and label
    given: np.ndarray | None  # float64 (n_rows,), or None: sample weights
    whole: np.ndarray | None  # int64 (n_rows,), or None: the same as whole numbers

    @classmethod
    def of(cls, table: Partition, common: Common, unit: float) -> Self:
        """Code the rows of a partition as all partitions do."""
        coded = table.coded(common)
        sets = common.label_sets.observed
        n_classes = np.int64(sets.n_classes)
        cells: np.ndarray = np.searchsorted(
            sets.owner * n_classes + sets.codes, coded.task * n_classes + coded.y
        )
        return cls(
            coded.columns,
            cells.astype(np.int32),
            coded.weight,
            in_units(coded.weight, unit),
        )

    def feature(self, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Values of a feature, and their weights, of rows with a sample weight."""
        if self.whole is None:
            return self.columns[number], None
        there = self.whole > 0
        return self.columns[number, there], self.whole[there]

    def cell_weight(
        self, factor: np.ndarray | None, unit: float, n_cells: int
    ) -> np.ndarray:
        """Weight of each cell, in units."""
        return np.bincount(self.cells, self._weight(factor, unit), minlength=n_cells)

    def weight_sum(self, factor: np.ndarray | None) -> tuple[float, bool]:
        """Sum of the rows' weights, and whether all are whole numbers."""
        weight: Any = weighed_by_class(self.given, factor, self.cells)
        return float(weight.sum()), is_whole(weight)

    def _weight(self, factor: np.ndarray | None, unit: float) -> np.ndarray | None:
        return in_units(weighed_by_class(self.given, factor, self.cells), unit)

    def task_rows(
        self, factor: np.ndarray | None, unit: float, sets: LabelSets
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tasks with rows that count, and their numbers of such rows."""
        weight = self._weight(factor, unit)
        cells = self.cells if weight is None else self.cells[weight > 0]
        return np.unique(sets.owner[cells], return_counts=True)

    def binned(
        self, before: np.ndarray, factor: np.ndarray | None, scheme: Scheme
    ) -> BinnedPartition:
        """The rows as the kernels take them."""
        return BinnedPartition(
            bins=scheme.bins.assign(self.columns.T),
            cells=self.cells,
            weight=self._weight(factor, scheme.unit),
            scheme=scheme,
            before=before,
        )


def prepare_binned(
    engine: Any,
    tables: list[Any],
    class_weight: ClassWeight,
    label_rule: LabelRule,
    *,
    bootstrap: bool,
) -> tuple[Common, Scheme, list[int]]:
    """Bin the partitions that were read.

    `tables` is emptied, so that their rows are let go. Returns what they
    agreed on, the bins and cells, and the number of rows of each.
    """
    summaries, kept = summarize(engine, tables)
    common = agree(summaries, label_rule=label_rule)
    sets = common.label_sets.observed
    unit = 1.0
    if summaries[0]["weighted"]:
        unit = _unit(engine.collect(_given_sum, kept))
    rows = engine.map(CellRows.of, kept, common, unit)
    n_cells = len(sets.codes)
    factor = cell_factors(
        class_weight,
        common.classes,
        sets,
        lambda: engine.reduce(_sum, CellRows.cell_weight, rows, None, unit, n_cells),
    )
    if factor is not None:
        unit = _unit(engine.collect(CellRows.weight_sum, rows, factor))
    in_cells = engine.reduce(_sum, CellRows.cell_weight, rows, factor, unit, n_cells)
    label_sets = common.label_sets.weighed(in_cells * unit)
    dtype = np.result_type(*(s["dtype"] for s in summaries))
    bins = find_bins(engine, rows, len(common.table.features), dtype)
    task_rows, before = np.zeros(sets.n_tasks, dtype=np.int64), []
    for tasks, count in engine.collect(CellRows.task_rows, rows, factor, unit, sets):
        before.append(task_rows[tasks])
        task_rows[tasks] += count
    check_tasks_weigh(common.tasks, task_rows)
    scheme = Scheme.of(
        bins,
        sets,
        unit,
        task_rows,
        bootstrap=bootstrap,
        categorical=common.categorical,
    )
    partitions = engine.map(CellRows.binned, rows, factor, scheme, each=before)
    n_rows = [s["n_rows"] for s in summaries]
    engine.keep(partitions, n_rows)
    tables.clear()
    return replace(common, label_sets=label_sets), scheme, n_rows


def _given_sum(table: Any) -> tuple[float, bool]:
    return float(table.sample_weight.sum()), is_whole(table.sample_weight)


def _unit(sums: Sequence[tuple[float, bool]]) -> float:
    total = math.fsum(weight for weight, _ in sums)
    if not total > 0:
        raise ValueError(
            "The weights of all rows are 0; some must be positive. Look at "
            "sample_weight and class_weight."
        )
    return weight_unit(total, all(whole for _, whole in sums))


def _sum(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(arrays, axis=0)


# ------------------------------------------------------- small nodes in one place


@dataclass(frozen=True, eq=False)
class Branches(Weighed):
    """Nodes that are grown to the end together."""

    nodes: np.ndarray  # int (n_nodes,): which of the open nodes
    tree: np.ndarray  # int (n_nodes,): their trees
    depth: np.ndarray  # int (n_nodes,): their depths
    stream: np.ndarray  # uint64 (n_nodes,): their random numbers
    min_weight_leaf: np.ndarray  # int64 (n_nodes,): the limit of their trees

    @staticmethod
    def pack(rows_of_nodes: list[NodeRows]) -> list[NodeRows]:
        """Rows in the form in which they are sent."""
        return rows_of_nodes

    unpack = pack


def grow_branches(
    rows_of_nodes: Sequence[NodeRows],
    branches: Branches,
    scheme: Scheme,
    settings: Settings,
) -> list[tuple[np.ndarray, ...]]:
    """Grow nodes from their rows in all partitions."""
    grown = []
    for i in range(len(branches.nodes)):
        stretches = [slice(p.start[i], p.start[i + 1]) for p in rows_of_nodes]
        lines, cells, weight = (
            np.concatenate(
                [
                    getattr(p, k)[s]
                    for p, s in zip(rows_of_nodes, stretches, strict=True)
                ]
            )
            for k in ("lines", "cells", "weight")
        )
        # The cells and tasks of the node alone: scratch is as long as they are many.
        here, cells = np.unique(cells, return_inverse=True)
        tasks, cell_task = np.unique(scheme.cell_task[here], return_inverse=True)
        rows = Rows(
            np.asfortranarray(lines),
            cells.astype(np.int32),
            weight,
            replace(
                scheme,
                cell_task=cell_task.astype(np.int32),
                cell_label=scheme.cell_label[here],
                n_tasks=len(tasks),
            ),
            lines,
        )
        branch = rows.grow(
            settings,
            weight,
            int(branches.min_weight_leaf[i]),
            int(branches.stream[i]),
            int(branches.depth[i]),
        )
        branch[1]["task"] = tasks[branch[1]["task"]]
        grown.append(branch)
    return grown
