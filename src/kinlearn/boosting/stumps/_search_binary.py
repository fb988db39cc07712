"""The weak learner of MTAA: the two-task stump of a round, by signed weights."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinlearn._kernels.boosting.stumps._sign_stumps import (
    CUT,
    HAS_AVX2,
    N_LANES,
    best_cut,
    fill_lanes,
    find_children,
    find_roots,
)
from kinlearn._kernels.boosting.stumps._stumps import ROOT
from kinlearn.boosting.stumps._candidates import RootChoice
from kinlearn.boosting.stumps._model import Node
from kinlearn.boosting.stumps._table import SortedCells

__all__ = ["SignLearner"]


class SignLearner:
    """Finds the two-task stump of a round."""

    def __init__(
        self,
        table: SortedCells,
        choice: RootChoice,
        run: Callable[[Callable[[int, int], Any]], list[Any]],
        avx2: bool | None = None,
        given: np.ndarray | None = None,
    ) -> None:
        self._table = table
        self._choice = choice
        self._run = run
        self._avx2 = HAS_AVX2 if avx2 is None else avx2
        self._given = np.empty(0, dtype=ROOT) if given is None else given
        n, n_tasks = table.n_rows, table.n_tasks
        self._side = np.empty(n, dtype=np.uint8)
        self._sides = np.empty(n, dtype=np.uint32)
        self._lanes = np.empty((n, N_LANES), dtype=np.int32)
        self._lane_total = np.empty((n_tasks, N_LANES), dtype=np.int32)

    def find(self, weight: np.ndarray, number: int) -> list[Node | None]:
        """The stump with the largest edge among those of the chosen roots."""
        table = self._table
        total = _sums_by_task(weight, table.indptr)
        roots = self._given.copy()
        if not len(roots):
            roots = self._find_roots(weight, total, number)
        if not len(roots):
            return []
        edges, groups = self._find_children(roots, weight, total)
        worth = np.maximum(edges, 0).sum(axis=0, dtype=np.float64)
        if table.n_tasks > 1:
            worth += roots["edge"]
        best = int(np.argmax(worth))
        return self._stump(roots[best], groups[:, best], weight)

    def _find_roots(
        self, weight: np.ndarray, total: np.ndarray, number: int
    ) -> np.ndarray:
        table = self._table
        all_weight = float(np.abs(weight, dtype=np.int64).sum())

        def search(first: int, last: int) -> Any:
            roots = self._choice.roots(table, number, all_weight)
            find_roots(table.cells, first, last, weight, total, roots)
            return roots

        found, *others = self._run(search) or [None]
        if found is None:
            return np.empty(0, dtype=ROOT)
        for other in others:
            found.merge(other)
        return found.best()

    def _find_children(
        self, roots: np.ndarray, weight: np.ndarray, total: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Edges and groups of the best children, (2, n_roots) each."""
        table = self._table
        edges = np.empty((2, len(roots)), dtype=np.int32)
        groups = np.empty_like(edges)
        for first in range(0, len(roots), N_LANES):
            some = slice(first, first + N_LANES)
            batch = {
                name: np.ascontiguousarray(roots[name][some])
                for name in ("task", "feature", "cut", "missing_left")
            }
            fill_lanes(
                table.cells, **batch, weight=weight, side=self._side,
                sides=self._sides, lanes=self._lanes, lane_total=self._lane_total,
            )  # fmt: skip
            roots["missing_left"][some] = batch["missing_left"]
            closed = np.full(N_LANES, -1, dtype=np.int32)
            if table.n_tasks > 1:
                closed[: len(batch["task"])] = batch["task"]
            edge, group = self._search_lanes(weight, total, closed)
            n = len(batch["task"])
            edges[:, some], groups[:, some] = edge[:, :n], group[:, :n]
        return edges, groups

    def _search_lanes(
        self, weight: np.ndarray, total: np.ndarray, closed: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        def search(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
            edge = np.empty((2, N_LANES), dtype=np.int32)
            group = np.empty_like(edge)
            find_children(
                self._table.cells, first, last, weight, total, self._lanes,
                self._lane_total, closed, self._avx2, edge, group,
            )  # fmt: skip
            return edge, group

        (edge, group), *others = self._run(search)
        for other_edge, other_group in others:
            better = other_edge > edge  # the first among equals
            edge = np.where(better, other_edge, edge)
            group = np.where(better, other_group, group)
        return edge, group

    def _stump(
        self, root: np.void, groups: np.ndarray, weight: np.ndarray
    ) -> list[Node | None]:
        """The root and its children with cuts, sides and signs."""
        table = self._table
        task, feature, cut = (int(root[name]) for name in ("task", "feature", "cut"))
        missing_left = bool(root["missing_left"])
        side = self._side
        owner = task if table.n_tasks > 1 else -1
        left = right = 0
        if owner >= 0:
            table.send(feature, cut, missing_left, task, side)
            here = table.rows(task)
            left = int(weight[here][side[here] == 1].sum(dtype=np.int64))
            right = int(weight[here].sum(dtype=np.int64)) - left
        answers = _answers(np.sign(left), np.sign(right))
        nodes: list[Node | None] = [Node(owner, feature, cut, missing_left, answers)]
        for branch, group in enumerate(groups.tolist()):
            if group < 0:
                nodes.append(None)
                continue
            child = int(table.group_task[group])
            table.send(feature, cut, missing_left, child, side)
            found = np.empty(1, dtype=CUT)
            # left rows for the first child, the others for the second
            inside = side if branch == 0 else 1 - side
            best_cut(table.cells, group, weight, inside, found)
            nodes.append(
                Node(
                    child,
                    int(table.group_feature[group]),
                    int(found["cut"][0]),
                    bool(found["missing_left"][0]),
                    _answers(found["left"][0], found["right"][0]),
                )
            )
        return nodes


def _answers(left: int, right: int) -> tuple[np.ndarray, np.ndarray]:
    return np.array([left], dtype=np.float64), np.array([right], dtype=np.float64)


def _sums_by_task(weight: np.ndarray, indptr: np.ndarray) -> np.ndarray:
    """Sums of the stretches of each task; every task has rows."""
    return np.add.reduceat(weight, indptr[:-1], dtype=np.int64).astype(np.int32)
