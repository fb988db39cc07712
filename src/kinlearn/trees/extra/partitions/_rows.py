"""One partition of the training rows, and what is requested of it while trees grow.

A partition gets requests about the open nodes of some trees, and their splits; its
results are extremes and sums, so that those of many partitions can be merged in any
order. Of nodes that have become small, the rows themselves are requested.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn._kernels.trees.extra.partitions._passes import (
    extremes,
    moments,
    move_rows,
    number_extremes,
    sums_by_task,
    sums_left,
)
from kinlearn._partitions import Coded, Statistics, Weighed, entries
from kinlearn.trees.extra._growth import Labels, Units, draw_rows, leaf_sums
from kinlearn.trees.extra.partitions._subtrees import BranchJob, NodeRows

__all__ = [
    "CutRequest",
    "LeafRequest",
    "Places",
    "Plan",
    "RootRequest",
    "Roots",
    "RowRequest",
    "SplitRequest",
    "TrainingRows",
]

# Fraction of the open nodes that must have no rows in a partition before they are left
# out.
_MOST_ABSENT = 0.5


@dataclass(frozen=True, eq=False)
class Roots(Weighed):
    """The trees that a growth begins with.

    Attributes
    ----------
    seeds : list of (int or None), or None
        Of trees that draw their rows; None takes all rows, instead of a seed for one
        tree, instead of the list for all.
    units : list of Units
        By tree.
    """

    seeds: Sequence[int | None] | None
    units: Sequence[Units]


@dataclass(frozen=True, eq=False)
class RootRequest(Weighed):
    """Weight and sums of labels of the trees' rows, in their units."""


@dataclass(frozen=True, eq=False)
class SplitRequest(Weighed):
    """Extremes of features, sums by task and extremes of numbers, at open nodes."""

    nodes: np.ndarray  # int32 (n_nodes,): which of the open nodes this is about
    tree: np.ndarray  # int32 (n_nodes,): their trees
    start: np.ndarray  # int64 (n_nodes + 1,): where each node's requests begin
    feature: np.ndarray  # int32: requested features
    wants_task: np.ndarray  # uint8 (n_nodes,): whether sums by task are wanted


@dataclass(frozen=True, eq=False)
class CutRequest(Weighed):
    """Sums of the rows at or below cuts; nodes and features as in SplitRequest."""

    nodes: np.ndarray
    tree: np.ndarray
    start: np.ndarray
    feature: np.ndarray
    cut: np.ndarray


@dataclass(frozen=True, eq=False)
class RowRequest(Weighed):
    """How many rows open nodes have; only rows with weights need it."""

    nodes: np.ndarray


@dataclass(frozen=True, eq=False)
class LeafRequest(Weighed):
    """What leaves need beyond what splits know: sums of numbers, and by task."""

    tree: np.ndarray  # int32 (n_leaves,): of the leaves that the last move closed
    by_task: bool


@dataclass(frozen=True, eq=False)
class Plan(Weighed):
    """The splits of open nodes; see the kernel `move_rows`."""

    nodes: np.ndarray  # which of the open nodes split or end
    waiting: np.ndarray  # the others: they stay, and come behind the new ones
    tree: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    default_left: np.ndarray
    exception_start: np.ndarray
    exceptions: np.ndarray
    left: np.ndarray
    right: np.ndarray
    n_opened: int
    n_closed: int


@dataclass(frozen=True, eq=False)
class Places(Weighed):
    """Where the rows of a partition are in some trees.

    Attributes
    ----------
    order : int32 array of shape (n_trees, n_rows)
        Rows, those of a node next to each other.
    opened : int32 array of shape (2, n_open)
        Start and end of each open node's stretch.
    closed : int32 array of shape (2, n_closed)
        The same for the leaves that the last move closed.
    weight, b, w : arrays of shape (1, n_rows) or (n_trees, n_rows), or None
        Weights, and labels as ``grow_tree`` takes them: of all trees or, of trees that
        draw their rows, of each.
    center : float64 array of shape (n_trees,)
        What was taken off numbers.
    """

    order: np.ndarray
    opened: np.ndarray
    closed: np.ndarray
    weight: np.ndarray | None
    b: np.ndarray | None
    w: np.ndarray | None
    center: np.ndarray


@dataclass(eq=False)
class TrainingRows(Weighed):
    """The rows of one partition, as the kernels take them.

    Attributes
    ----------
    columns : float32 array of shape (n_features, n_rows)
        X, feature by feature in memory, unless `lay_out` has changed that.
    has_missing : uint8 array of shape (n_features,)
        Whether the feature has a NaN in any partition.
    task : int32 array of shape (n_rows,)
        Task codes.
    n_tasks : int
        Number of tasks in all partitions.
    y : int32 or float64 array of shape (n_rows,)
        Class codes, or numbers.
    n_classes : int
        0 for numbers.
    weight : float64 array of shape (n_rows,), or None
        Weights of the rows.
    b, w : int64 arrays of shape (1, n_rows), or None
        As ``grow_tree`` takes them, in the units of all rows.
    first, n_all : int
        Where its rows begin among those of all partitions, and how many these are.
    """

    columns: np.ndarray
    has_missing: np.ndarray
    task: np.ndarray
    n_tasks: int
    y: np.ndarray
    n_classes: int
    weight: Any
    b: Any
    w: Any
    first: int
    n_all: int

    @classmethod
    def of(
        cls,
        rows: Coded,
        first: int,
        n_all: int,
        has_missing: np.ndarray,
        n_tasks: int,
        n_classes: int,
        units: Units,
    ) -> "TrainingRows":
        """From rows with common codes."""
        labels = Labels.of(rows.y, rows.weight, n_classes, units)
        return cls(
            columns=rows.columns,
            has_missing=has_missing,
            task=rows.task,
            n_tasks=n_tasks,
            y=rows.y,
            n_classes=n_classes,
            weight=rows.weight,
            b=None if labels.b is None else labels.b[None],
            w=None if labels.w is None else labels.w[None],
            first=first,
            n_all=n_all,
        )

    @property
    def _n_hist(self) -> int:
        """Length of histograms: 0 for two classes, or numbers."""
        return self.n_classes if self.n_classes > 2 else 0

    def drawn(self, seed: int | None) -> Coded:
        """The rows with the weights that they have in the tree of a seed."""
        weight = self.weight
        if seed is not None:
            which = slice(self.first, self.first + len(self.task))
            weight = draw_rows(seed, self.n_all, weight, which)
        elif weight is None:
            weight = np.ones(len(self.task))
        return Coded(self.columns, self.task, self.y, weight)

    def of_trees(
        self, seeds: Sequence[int | None], function: Callable[..., Any], *args: Any
    ) -> list[Any]:
        """``function(rows, arg)`` of the rows of each tree, with its arguments."""
        each = zip(*args, strict=True) if args else [()] * len(seeds)
        return [
            function(self.drawn(seed), *own)
            for seed, own in zip(seeds, each, strict=True)
        ]

    def lay_out(self, by_rows: bool) -> None:
        """Let the values of a row lie together in memory, or those of a feature.

        The one is faster for `rows_of`, the other is what all other methods need.
        """
        columns = self.columns.T if by_rows else self.columns
        if not columns.flags.c_contiguous:
            columns = np.ascontiguousarray(columns)
            self.columns = columns.T if by_rows else columns

    def begin(self, roots: Roots) -> Places:
        """All rows of weight at the roots of some trees."""
        n, n_trees = len(self.task), len(roots.units)
        weight, b, w = self.weight, self.b, self.w
        weight = None if weight is None else weight[None]
        if roots.seeds is not None:
            drawn: list[Any] = [self.drawn(seed).weight for seed in roots.seeds]
            labels: list[Any] = [
                Labels.of(self.y, each, self.n_classes, units)
                for each, units in zip(drawn, roots.units, strict=True)
            ]
            weight, w = np.stack(drawn), np.stack([each.w for each in labels])
            b = None if self._n_hist else np.stack([each.b for each in labels])
        order = np.empty((n_trees, n), dtype=np.int32)
        opened = np.zeros((2, n_trees), dtype=np.int32)
        for tree in range(n_trees):
            rows: Any = slice(None)
            if w is not None:
                rows = w[tree if len(w) > 1 else 0] > 0
            some = np.arange(n, dtype=np.int32)[rows]
            order[tree, : len(some)] = some
            opened[1, tree] = len(some)
        return Places(
            order=order,
            opened=opened,
            closed=np.zeros((2, 0), dtype=np.int32),
            weight=weight,
            b=b,
            w=w,
            center=np.array([units.center for units in roots.units]),
        )

    def move(self, places: Places, plan: Plan) -> Places:
        """Carry out splits."""
        order = places.order.copy()
        opened = np.zeros((2, plan.n_opened), dtype=np.int32)
        closed = np.zeros((2, plan.n_closed), dtype=np.int32)
        start, end = places.opened.take(plan.nodes, axis=1)
        move_rows(
            self.columns,
            self.task,
            self.n_tasks,
            order,
            start=start,
            end=end,
            tree=plan.tree,
            feature=plan.feature,
            threshold=plan.threshold,
            default_left=plan.default_left,
            exception_start=plan.exception_start,
            exceptions=plan.exceptions,
            left=plan.left,
            right=plan.right,
            opened=opened,
            closed=closed,
        )
        opened = np.concatenate([opened, places.opened[:, plan.waiting]], axis=1)
        return replace(places, order=order, opened=opened, closed=closed)

    def rows_of(self, places: Places, job: BranchJob) -> NodeRows:
        """The rows of some nodes."""
        start, end = places.opened[:, job.nodes]
        rows = [
            places.order[t, a:b] for t, a, b in zip(job.tree, start, end, strict=True)
        ]
        weight = places.weight
        if weight is not None:
            of_tree = job.tree if len(weight) > 1 else np.zeros_like(job.tree)
            weight = np.concatenate(
                [weight[t, some] for t, some in zip(of_tree, rows, strict=True)]
            )
        return NodeRows(
            start=np.concatenate([[0], np.cumsum(end - start)]),
            rows=np.concatenate(rows),
            columns=self.columns,
            task=self.task,
            y=self.y,
            weight=weight,
        )

    # ------------------------------------------------------------------------
    # Requests
    # ------------------------------------------------------------------------

    def statistics(self, places: Places, request: Any) -> Statistics:
        """The result of a request, from the rows here."""
        if isinstance(request, RootRequest):
            return self._roots(places)
        if isinstance(request, LeafRequest):
            return self._leaves(places, request)
        start, end = places.opened.take(request.nodes, axis=1)
        if isinstance(request, RowRequest):
            rows = (end - start).astype(np.int64)
            return Statistics(np.arange(len(rows) + 1), by_node={"rows": rows})
        present: Any = np.flatnonzero(end > start)
        nodes = {"tree": request.tree, "start": start, "end": end}
        ends = request.start
        requested: Any = slice(None)
        if (end > start).mean() > 1 - _MOST_ABSENT:
            present = None  # absent nodes cost less than leaving them out
        else:
            nodes = {k: np.ascontiguousarray(v[present]) for k, v in nodes.items()}
            requested = entries(request.start, present)
            ends = np.concatenate([[0], np.cumsum(np.diff(request.start)[present])])
        nodes["order"] = places.order
        feature = request.feature[requested]
        found = Statistics(request.start, present)
        if isinstance(request, CutRequest):
            cut = request.cut[requested]
            found.by_request.update(self._sums(places, nodes, ends, feature, cut))
            return found
        found.by_request.update(self._extremes(nodes, ends, feature))
        if self.n_classes == 0:
            low, high = np.empty((2, len(nodes["start"])))
            number_extremes(self.y, **nodes, low=low, high=high)
            found.by_node.update(number_low=low, number_high=high)
        wanted = request.wants_task
        wanted = wanted if present is None else np.ascontiguousarray(wanted[present])
        groups = self._by_task(places, nodes, wanted)
        if present is not None:  # nodes have been numbered among those present
            n_groups = self.n_tasks * max(self._n_hist, 1)
            node, group = np.divmod(groups["key"], n_groups)
            groups["key"] = present[node] * n_groups + group
        found.by_group.update(groups)
        return found

    def _labels(self, places: Places) -> dict[str, Any]:
        y = self.y if places.b is None else None
        return {"y": y, "b": places.b, "w": places.w, "n_classes": self._n_hist}

    def _roots(self, places: Places) -> Statistics:
        """Sums of the trees, or one for all that have the same rows."""
        n = len(self.task)
        w = np.ones((1, n), dtype=np.int64) if places.w is None else places.w
        sums = {"weight": w.sum(axis=1)}
        if self._n_hist:
            sums["hist"] = np.zeros((len(w), self._n_hist), dtype=np.int64)
            for hist, of_tree in zip(sums["hist"], w, strict=True):
                np.add.at(hist, self.y, of_tree)
        else:
            b = self.y[None] if places.b is None else places.b
            sums["total"] = b.sum(axis=1, dtype=np.int64)
        return Statistics(np.arange(len(w) + 1), by_node=sums)

    def _extremes(
        self, nodes: dict[str, np.ndarray], ends: np.ndarray, feature: np.ndarray
    ) -> dict[str, np.ndarray]:
        low = np.empty(len(feature), dtype=np.float32)
        high, missing = np.empty_like(low), np.empty(len(feature), dtype=np.uint8)
        extremes(
            self.columns,
            self.has_missing,
            **nodes,
            request_start=ends,
            feature=feature,
            low=low,
            high=high,
            missing=missing,
        )
        out = {"low": low, "high": high}
        return {**out, "missing": missing} if self.has_missing.any() else out

    def _sums(
        self,
        places: Places,
        nodes: dict[str, np.ndarray],
        ends: np.ndarray,
        feature: np.ndarray,
        cut: np.ndarray,
    ) -> dict[str, np.ndarray]:
        weight = np.zeros(len(cut), dtype=np.int64)
        out = {"weight": weight}
        if self._n_hist:
            out["hist"] = np.zeros((len(cut), self._n_hist), dtype=np.int64)
        else:
            out["total"] = np.zeros(len(cut), dtype=np.int64)
        sums_left(
            self.columns,
            **self._labels(places),
            **nodes,
            cut_start=ends,
            feature=feature,
            cut=cut,
            weight=weight,
            total=out.get("total"),
            hist=out.get("hist"),
        )
        return out

    def _by_task(
        self, places: Places, nodes: dict[str, np.ndarray], wanted: np.ndarray
    ) -> dict[str, np.ndarray]:
        n_rows = (nodes["end"] - nodes["start"])[wanted > 0].sum(dtype=np.int64)
        key, weight, total = np.empty((3, n_rows), dtype=np.int64)
        n = sums_by_task(
            **self._labels(places),
            task=self.task,
            n_tasks=self.n_tasks,
            **nodes,
            wanted=wanted,
            key=key,
            weight=weight,
            total=total,
        )
        order = np.argsort(key[:n])  # runs are quick to merge
        sums = {"key": key[order], "weight": weight[order]}
        return sums if self._n_hist else {**sums, "total": total[order]}

    def _leaves(self, places: Places, request: LeafRequest) -> Statistics:
        start, end = places.closed
        found = Statistics(np.arange(len(start) + 1))
        if self.n_classes == 0:
            sums = {k: np.empty(len(start)) for k in ("weight", "total", "squares")}
            moments(
                self.y, places.weight, places.order, request.tree, start, end, **sums
            )
            # The squares are about the leaf's mean in this partition. What its mean
            # adds is taken from near zero, where little is lost in merging.
            moved = sums["total"] - sums["weight"] * places.center[request.tree]
            sums["between"] = np.divide(
                moved**2, sums["weight"], out=moved * 0, where=sums["weight"] > 0
            )
            found.by_node.update(sums)
        if request.by_task:
            found.by_group.update(self._leaf_tasks(places, request))
        return found

    def _leaf_tasks(
        self, places: Places, request: LeafRequest
    ) -> dict[str, np.ndarray]:
        start, end = places.closed
        length = end - start
        leaf = np.repeat(np.arange(len(start)), length)
        shift = start - np.concatenate([[0], np.cumsum(length)[:-1]])
        column = np.arange(length.sum()) + np.repeat(shift, length)
        tree = request.tree[leaf]
        rows = places.order[tree, column.astype(np.intp)]
        weight = np.ones(len(rows))
        if places.weight is not None:
            weight = places.weight[tree if len(places.weight) > 1 else 0, rows]
        return leaf_sums(
            leaf,
            self.task[rows],
            self.y[rows],
            weight,
            n_each=max(self._n_hist, 1),
            n_tasks=self.n_tasks,
        )
