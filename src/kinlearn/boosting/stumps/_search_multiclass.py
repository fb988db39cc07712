"""The weak learner of MH: the two-task stump of a round, by weights of labels."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinlearn._kernels.boosting.stumps._score_stumps import (
    BEST,
    LabelWeights,
    best_cut,
    branch_sums,
    find_children,
    find_roots,
)
from kinlearn._kernels.boosting.stumps._stumps import ROOT
from kinlearn.boosting.stumps._candidates import RootChoice
from kinlearn.boosting.stumps._model import Node
from kinlearn.boosting.stumps._table import SortedCells

__all__ = ["ScoreLearner"]


class ScoreLearner:
    """Finds the two-task stump of a round."""

    def __init__(
        self,
        table: SortedCells,
        choice: RootChoice,
        run: Callable[[Callable[[int, int], Any]], list[Any]],
        n_labels: np.ndarray,
        label: np.ndarray,
        smoothing: float,
        given: np.ndarray | None = None,
    ) -> None:
        self._table = table
        self._choice = choice
        self._run = run
        self._n_labels = n_labels
        self._label = label
        self._smoothing = smoothing
        self._given = np.empty(0, dtype=ROOT) if given is None else given
        sizes = np.diff(table.indptr) * n_labels
        self.first = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        self._width = 2 * int(n_labels.max(initial=0))
        self._side = np.empty(table.n_rows, dtype=np.uint8)

    def find(self, weight: np.ndarray, number: int) -> list[Node | None]:
        """The stump with the largest edge among those of the chosen roots."""
        table = self._table
        labels = LabelWeights(self.first, self._n_labels, self._label, weight)
        both = np.empty((2, table.n_tasks, self._width))
        self._side[:] = 1
        branch_sums(table.cells, labels, self._side, both)
        roots, total = self._given, both[0].copy()
        if not len(roots):
            roots = self._find_roots(labels, total, float(weight.sum()), number)
        best, worth = None, -1.0
        for root in roots:
            edges, groups = self._find_children(root, labels, both)
            here = max(edges[0], 0.0) + max(edges[1], 0.0)
            here += root["edge"] if table.n_tasks > 1 else 0.0
            if here > worth:
                best, worth = (root, groups), here
        if best is None:
            return []
        return self._stump(*best, labels, weight)

    def _find_roots(
        self, labels: LabelWeights, total: np.ndarray, all_weight: float, number: int
    ) -> np.ndarray:
        table = self._table

        def search(first: int, last: int) -> Any:
            roots = self._choice.roots(table, number, all_weight)
            find_roots(table.cells, first, last, labels, total, roots)
            return roots

        found, *others = self._run(search) or [None]
        if found is None:
            return np.empty(0, dtype=ROOT)
        for other in others:
            found.merge(other)
        roots = found.best()
        for root in roots:
            if root["missing_left"] < 0:  # nothing was missing: the heavier side
                test = int(root["feature"]), int(root["cut"]), False
                table.send(*test, int(root["task"]), self._side)
                left, right = self._weight_of_sides(labels, root["task"])
                root["missing_left"] = left >= right
        return roots

    def _weight_of_sides(self, labels: LabelWeights, task: int) -> np.ndarray:
        """Weight of a task on the left and on the right."""
        both = np.empty((2, self._table.n_tasks, self._width))
        branch_sums(self._table.cells, labels, self._side, both)
        return both[:, task].sum(axis=1)

    def _send_all(self, root: np.void) -> None:
        test = int(root["feature"]), int(root["cut"]), bool(root["missing_left"])
        for task in range(self._table.n_tasks):
            self._table.send(*test, task, self._side)

    def _find_children(
        self, root: np.void, labels: LabelWeights, both: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Edges and groups of the best children, left and right."""
        table = self._table
        self._send_all(root)
        branch_sums(table.cells, labels, self._side, both)
        closed = int(root["task"]) if table.n_tasks > 1 else -1

        def search(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
            edge, group = np.empty(2), np.empty(2, dtype=np.int32)
            find_children(
                table.cells, first, last, labels, self._side, both, closed, edge, group
            )
            return edge, group

        (edge, group), *others = self._run(search)
        for other_edge, other_group in others:
            better = other_edge > edge  # the first among equals
            edge = np.where(better, other_edge, edge)
            group = np.where(better, other_group, group)
        return edge, group

    def _stump(
        self,
        root: np.void,
        groups: np.ndarray,
        labels: LabelWeights,
        weight: np.ndarray,
    ) -> list[Node | None]:
        """The root and its children with cuts, sides and scores."""
        table = self._table
        task, feature, cut = (int(root[name]) for name in ("task", "feature", "cut"))
        missing_left = bool(root["missing_left"])
        self._send_all(root)
        side = self._side.copy()
        everywhere = np.ones(table.n_rows, dtype=np.uint8)
        owner = task if table.n_tasks > 1 else -1
        answers: tuple[np.ndarray, ...] = (np.zeros(0),) * 2
        if owner >= 0:
            answers = self._answers(task, side, everywhere, weight)
        nodes: list[Node | None] = [Node(owner, feature, cut, missing_left, answers)]
        room = np.empty((257, self._width))
        for branch, group in enumerate(groups.tolist()):
            if group < 0:
                nodes.append(None)
                continue
            child = int(table.group_task[group])
            inside = side if branch == 0 else 1 - side
            found = np.empty(1, dtype=BEST)
            best_cut(table.cells, group, labels, inside, room, found)
            test = (
                int(table.group_feature[group]),
                int(found["cut"][0]),
                bool(found["missing_left"][0]),
            )
            table.send(*test, child, self._side)
            answers = self._answers(child, self._side, inside, weight)
            nodes.append(Node(child, *test, answers))
        return nodes

    def _answers(
        self, task: int, side: np.ndarray, inside: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, ...]:
        """Scores of the labels on both sides, from the rows inside."""
        here = self._table.rows(task)
        K = self._n_labels[task]
        weights = weight[self.first[task] : self.first[task + 1]].reshape(-1, K)
        own = self._label[here][:, None] == np.arange(K)
        eps = max(self._smoothing, 1e-10) * weight.sum()
        out = []
        for branch in (1, 0):
            rows = (side[here] == branch) & (inside[here] == 1)
            right = np.where(own[rows], weights[rows], 0.0).sum(axis=0)
            wrong = np.where(own[rows], 0.0, weights[rows]).sum(axis=0)
            out.append(0.5 * np.log((right + eps) / (wrong + eps)))
        return tuple(out)
