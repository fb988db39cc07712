"""One part of the training rows, and its sums while trees are grown.

A part gets requests about the open nodes of some trees, and their splits; its results
are extremes and sums, so that those of many parts can be merged in any order. Of nodes
that have become small, the rows themselves are requested.
"""

from dataclasses import dataclass
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
from kinlearn._partitions import Statistics, Weighed, entries
from kinlearn.trees.extra.partitions._requests import (
    CutRequest,
    LeafRequest,
    Plan,
    RowRequest,
    SplitRequest,
)
from kinlearn.trees.extra.partitions._subtrees import BranchJob, Piece

__all__ = ["Places", "Share"]

# Share of the open nodes that must have no rows in a part before they are left out.
_MOST_ABSENT = 0.5


@dataclass(frozen=True, eq=False)
class Places(Weighed):
    """Where the rows of a part are in some trees.

    Attributes
    ----------
    order : int32 array of shape (n_trees, n_rows)
        Rows, those of a node next to each other.
    opened : int32 array of shape (2, n_open)
        Start and end of each open node's stretch.
    closed : int32 array of shape (2, n_closed)
        The same for the leaves that the last move closed.
    """

    order: np.ndarray
    opened: np.ndarray
    closed: np.ndarray


@dataclass(eq=False)
class Share(Weighed):
    """The rows of one part, as the kernels take them.

    Attributes
    ----------
    columns : float32 array of shape (n_features, n_rows)
        X, feature by feature in memory, unless `lay_out` has changed that.
    has_missing : uint8 array of shape (n_features,)
        Whether the feature has a NaN in any part.
    task : int32 array of shape (n_rows,)
        Task codes.
    n_tasks : int
        Number of tasks in all parts.
    n_classes : int
        Number of classes if it is more than two, else 0.
    y, number, b, w : arrays of shape (n_rows,), or None
        Labels, as ``grow_tree`` takes them.
    weight : float64 array of shape (n_rows,), or None
        Weights of the rows.
    center : float
        What b was made of is ``number - center``.
    """

    columns: np.ndarray
    has_missing: np.ndarray
    task: np.ndarray
    n_tasks: int
    n_classes: int
    y: Any
    number: Any
    b: Any
    w: Any
    weight: Any
    center: float = 0.0

    @property
    def _classes(self) -> Any:
        """Class codes, which weighted rows of two classes have in another form."""
        if self.y is not None or self.b is None:
            return self.y
        return (self.b != 0).astype(np.int32)

    @property
    def _labels(self) -> dict[str, Any]:
        return {"y": self.y, "b": self.b, "w": self.w, "n_classes": self.n_classes}

    def sums(self) -> tuple[int, int | None, np.ndarray | None]:
        """Weight, and sum of labels or weight of each class, in the units of sums."""
        weight = len(self.task) if self.w is None else int(self.w.sum())
        if self.n_classes > 0:
            hist = np.zeros(self.n_classes, dtype=np.int64)
            np.add.at(hist, self.y, 1 if self.w is None else self.w)
            return weight, None, hist
        return weight, int((self.y if self.b is None else self.b).sum()), None

    def lay_out(self, by_rows: bool) -> None:
        """Let the values of a row lie together in memory, or those of a feature.

        The one is faster for `piece`, the other is what all other methods need.
        """
        columns = self.columns.T if by_rows else self.columns
        if not columns.flags.c_contiguous:
            columns = np.ascontiguousarray(columns)
            self.columns = columns.T if by_rows else columns

    def begin(self, n_trees: int) -> Places:
        """All rows of weight at the roots of some trees."""
        rows = np.arange(len(self.task), dtype=np.int32)
        if self.w is not None:
            rows = rows[self.w > 0]
        opened = np.zeros((2, n_trees), dtype=np.int32)
        opened[1] = len(rows)
        return Places(
            order=np.tile(rows, (n_trees, 1)),
            opened=opened,
            closed=np.zeros((2, 0), dtype=np.int32),
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
        waiting = places.opened[:, plan.waiting]
        return Places(order, np.concatenate([opened, waiting], axis=1), closed)

    def piece(self, places: Places, job: BranchJob) -> Piece:
        """The rows of some nodes."""
        start, end = places.opened[:, job.nodes]
        rows = np.concatenate(
            [places.order[t, a:b] for t, a, b in zip(job.tree, start, end, strict=True)]
        )
        return Piece(
            start=np.concatenate([[0], np.cumsum(end - start)]),
            rows=rows,
            columns=self.columns,
            task=self.task,
            y=self._classes if self.number is None else self.number,
            weight=self.weight,
        )

    def answer(
        self,
        places: Places,
        question: SplitRequest | CutRequest | RowRequest | LeafRequest,
    ) -> Statistics:
        """The result of a request, from the rows here."""
        if isinstance(question, LeafRequest):
            return self._leaves(places, question)
        start, end = places.opened.take(question.nodes, axis=1)
        if isinstance(question, RowRequest):
            rows = (end - start).astype(np.int64)
            return Statistics(np.arange(len(rows) + 1), by_node={"rows": rows})
        present: Any = np.flatnonzero(end > start)
        nodes = {"tree": question.tree, "start": start, "end": end}
        ends = question.start
        asked: Any = slice(None)
        if (end > start).mean() > 1 - _MOST_ABSENT:
            present = None  # absent nodes cost less than leaving them out
        else:
            nodes = {k: np.ascontiguousarray(v[present]) for k, v in nodes.items()}
            asked = entries(question.start, present)
            ends = np.concatenate([[0], np.cumsum(np.diff(question.start)[present])])
        nodes["order"] = places.order
        feature = question.feature[asked]
        answer = Statistics(question.start, present)
        if isinstance(question, CutRequest):
            cut = question.cut[asked]
            answer.by_request.update(self._sums(nodes, ends, feature, cut))
            return answer
        answer.by_request.update(self._extremes(nodes, ends, feature))
        if self.number is not None:
            low, high = np.empty((2, len(nodes["start"])))
            number_extremes(self.number, **nodes, low=low, high=high)
            answer.by_node.update(number_low=low, number_high=high)
        wanted = question.wants_task
        wanted = wanted if present is None else np.ascontiguousarray(wanted[present])
        groups = self._by_task(nodes, wanted)
        if present is not None:  # nodes have been numbered among those present
            n_groups = self.n_tasks * max(self.n_classes, 1)
            node, group = np.divmod(groups["key"], n_groups)
            groups["key"] = present[node] * n_groups + group
        answer.by_group.update(groups)
        return answer

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
        nodes: dict[str, np.ndarray],
        ends: np.ndarray,
        feature: np.ndarray,
        cut: np.ndarray,
    ) -> dict[str, np.ndarray]:
        weight = np.zeros(len(cut), dtype=np.int64)
        out = {"weight": weight}
        if self.n_classes > 0:
            out["hist"] = np.zeros((len(cut), self.n_classes), dtype=np.int64)
        else:
            out["total"] = np.zeros(len(cut), dtype=np.int64)
        sums_left(
            self.columns,
            **self._labels,
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
        self, nodes: dict[str, np.ndarray], wanted: np.ndarray
    ) -> dict[str, np.ndarray]:
        n_rows = (nodes["end"] - nodes["start"])[wanted > 0].sum(dtype=np.int64)
        key, weight, total = np.empty((3, n_rows), dtype=np.int64)
        n = sums_by_task(
            **self._labels,
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
        return sums if self.n_classes > 0 else {**sums, "total": total[order]}

    def _leaves(self, places: Places, question: LeafRequest) -> Statistics:
        start, end = places.closed
        answer = Statistics(np.arange(len(start) + 1))
        if self.number is not None:
            sums = {k: np.empty(len(start)) for k in ("weight", "total", "squares")}
            moments(
                self.number,
                self.weight,
                places.order,
                question.tree,
                start,
                end,
                **sums,
            )
            # The squares are about the leaf's mean in this part. What its mean adds
            # is taken from near zero, where little is lost when parts are merged.
            moved = sums["total"] - sums["weight"] * self.center
            sums["between"] = np.divide(
                moved**2, sums["weight"], out=moved * 0, where=sums["weight"] > 0
            )
            answer.by_node.update(sums)
        if question.by_task:
            answer.by_group.update(self._leaf_tasks(places, question, start, end))
        return answer

    def _leaf_tasks(
        self, places: Places, question: LeafRequest, start: np.ndarray, end: np.ndarray
    ) -> dict[str, np.ndarray]:
        """Sums by leaf and task; of numbers themselves, not of multiples of a unit."""
        length = end - start
        leaf = np.repeat(np.arange(len(start)), length)
        shift = start - np.concatenate([[0], np.cumsum(length)[:-1]])
        column = np.arange(length.sum()) + np.repeat(shift, length)
        rows = places.order[question.tree[leaf], column.astype(np.intp)]
        weight = np.ones(len(rows)) if self.weight is None else self.weight[rows]
        if self.number is not None:
            y, n_each = self.number[rows], 1
        else:
            y = self._classes[rows]
            n_each = max(self.n_classes, 1)
        group = self.task[rows].astype(np.int64) * n_each
        if n_each > 1:
            group += y
        key, place = np.unique(
            leaf * (self.n_tasks * n_each) + group, return_inverse=True
        )
        sums = {"key": key, "weight": np.bincount(place, weights=weight)}
        if n_each == 1:
            sums["total"] = np.bincount(place, weights=weight * y)
        return sums
