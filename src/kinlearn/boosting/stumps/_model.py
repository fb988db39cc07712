"""Two-task stumps of all rounds as flat arrays, and what they predict."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn._binning import Bins
from kinlearn._kernels.boosting.stumps._stumps import (
    STUMP,
    add_scores,
    add_scores_sparse,
)
from kinlearn.utils._loaded import check_below, check_finite, check_numbers, demand

__all__ = ["Node", "StumpBuilder", "TwoTaskStumps"]


@dataclass(frozen=True)
class Node:
    """A stump of one task inside a two-task stump."""

    task: int  # the task that it predicts; -1 is none
    feature: int
    cut: int  # the test: the feature's bin is at most `cut`
    missing_left: bool  # where missing values go
    values: tuple  # what the left and the right branch predict

    @property
    def test(self) -> tuple[int, int, bool]:
        """Feature, cut, and where missing values go."""
        return self.feature, self.cut, self.missing_left


@dataclass(frozen=True, eq=False)
class TwoTaskStumps:
    """The stumps of a boosted model."""

    # (n_rounds, 3) root, left child and right child of each round, with the
    # fields ``threshold``, ``feature``, ``missing_left``, ``task`` (which the
    # node predicts; -1 is none) and ``first_value``
    nodes: np.ndarray
    # predictions: for each node the left branch's, then the right one's
    values: np.ndarray
    sizes: np.ndarray  # (n_tasks,) numbers that a prediction for each task has

    def check(self, n_features: int, n_tasks: int, width: int) -> None:
        """Refuse numbers by which compiled code would read outside of the arrays."""
        check_numbers("nodes", self.nodes, STUMP, (None, 3))
        check_numbers("values", self.values, np.float64, (None,))
        check_finite("values", self.values)
        check_numbers("sizes", self.sizes, np.int32, (n_tasks,))
        check_below("sizes", self.sizes, width + 1)
        nodes = self.nodes.ravel()
        check_below("feature", nodes["feature"], n_features)
        check_below("task", nodes["task"], n_tasks, -1)
        voting = nodes[nodes["task"] >= 0]
        last = len(self.values) - 2 * self.sizes[voting["task"]].astype(np.int64)
        check_below("first_value", voting["first_value"], last + 1)
        demand(not np.isnan(nodes["threshold"]).any(), "threshold")

    def __len__(self) -> int:
        return len(self.nodes)

    def __getitem__(self, rounds: slice) -> "TwoTaskStumps":
        return TwoTaskStumps(self.nodes[rounds], self.values, self.sizes)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.sizes)

    def with_tasks(self, place: np.ndarray, sizes: np.ndarray) -> "TwoTaskStumps":
        """The same stumps with other task codes."""
        nodes = self.nodes.copy()
        predicts = nodes["task"] >= 0
        nodes["task"][predicts] = place[nodes["task"][predicts]]
        return TwoTaskStumps(nodes, self.values, sizes)

    def followed_by(self, other: "TwoTaskStumps") -> "TwoTaskStumps":
        """These stumps and then others, of the same tasks."""
        later = other.nodes.copy()
        later["first_value"] += len(self.values)
        return TwoTaskStumps(
            np.concatenate([self.nodes, later]),
            np.concatenate([self.values, other.values]),
            other.sizes,
        )

    def rounds_of_tasks(self) -> tuple[np.ndarray, np.ndarray]:
        """Rounds that may predict each task, ascending: boundaries of tasks, rounds."""
        task = self.nodes["task"]
        rounds = np.broadcast_to(np.arange(len(task))[:, None], task.shape)
        pairs = np.unique(
            np.column_stack([task[task >= 0], rounds[task >= 0]]).astype(np.int64),
            axis=0,
        )
        indptr = np.searchsorted(pairs[:, 0], np.arange(self.n_tasks + 1))
        return indptr, np.ascontiguousarray(pairs[:, 1], dtype=np.int32)

    def add_scores(self, X: Any, task: np.ndarray, out: np.ndarray) -> None:
        """Add the predictions for rows to `out`; a row of task -1 is left alone."""
        rest = (self.nodes, self.values, self.sizes, *self.rounds_of_tasks(), out)
        if not sp.issparse(X):
            add_scores(np.ascontiguousarray(X), task, *rest)
            return
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        add_scores_sparse(
            X.data,
            X.indices.astype(np.int32, copy=False),
            X.indptr.astype(np.int64, copy=False),
            np.zeros(X.shape[1], dtype=X.dtype),
            task,
            *rest,
        )

    def affinity(self) -> np.ndarray:
        """Stumps with both of two tasks, over the geometric mean of those with each."""
        indptr, rounds = self.rounds_of_tasks()
        member = sp.csr_array(
            (np.ones(len(rounds)), rounds, indptr), (self.n_tasks, len(self))
        )
        together = (member @ member.T).toarray()
        often = np.sqrt(np.diag(together))
        out = together / np.maximum(np.outer(often, often), 1.0)
        np.fill_diagonal(out, 1.0)
        return out


class StumpBuilder:
    """Collects the stumps of the rounds.

    `tasks` are the task codes that the tasks of the nodes stand for.
    """

    def __init__(self, bins: Bins, tasks: np.ndarray, sizes: np.ndarray) -> None:
        self._bins = bins
        self._tasks = tasks
        self._sizes = sizes
        self._nodes: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._n_values = 0

    def add(self, nodes: Sequence[Node | None]) -> TwoTaskStumps:
        """Keep the stump of a round, and give it alone."""
        line = np.zeros((1, 3), dtype=STUMP)
        line["task"] = -1
        values: list[np.ndarray] = []
        for at, node in enumerate(nodes):
            if node is None:
                continue
            place = line[0, at : at + 1]
            first, last = self._bins.indptr[node.feature : node.feature + 2]
            inside = node.cut < last - first
            place["threshold"] = (
                self._bins.edges[first + node.cut] if inside else np.inf
            )
            place["feature"] = node.feature
            place["missing_left"] = node.missing_left
            place["task"] = self._tasks[node.task] if node.task >= 0 else -1
            place["first_value"] = self._n_values + sum(v.size for v in values)
            if node.task >= 0:
                values += node.values
        of_round = np.concatenate(values) if values else np.zeros(0)
        self._nodes.append(line)
        self._values.append(of_round)
        alone = line.copy()
        alone["first_value"] -= self._n_values
        self._n_values += len(of_round)
        return TwoTaskStumps(alone, of_round, self._sizes)

    def finish(self, n_rounds: int | None = None) -> TwoTaskStumps:
        """The stumps of the first rounds, or of all."""
        empty = np.empty((0, 3), dtype=STUMP)
        nodes = np.concatenate([empty, *self._nodes[:n_rounds]])
        values = np.concatenate([np.zeros(1), *self._values[:n_rounds]])
        nodes["first_value"] += 1
        return TwoTaskStumps(nodes, values, self._sizes)
