"""Rows of a part, and their sums for abstaining boosting.

Every result is a sum of whole numbers or an extreme, so neither the parts nor their
order change what comes out of all of them.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn._partitions import Weighed
from kinlearn.boosting.stumps._model import Node
from kinlearn.boosting.stumps._rounds import SignRounds, exact_parts, whole_weights

__all__ = ["MISSING", "BinnedShare", "Scale", "StumpPlan", "StumpShare", "Trial"]

MISSING = 255  # the bin of missing values


@dataclass(frozen=True)
class Scale:
    """What weights are divided by."""

    peak: float  # the greatest logarithm of a weight
    total: float  # sum of all weights over the greatest


@dataclass(frozen=True)
class Trial:
    """A test: the feature's bin is at most `cut`."""

    feature: int  # the feature and the bin
    cut: int  # the feature and the bin
    missing_left: bool  # where missing values go


@dataclass(frozen=True)
class StumpPlan:
    """What a round does to the weights."""

    nodes: list  # root, left child and right child; predictions are signs
    factor: tuple  # what is added to the logarithms of abstained, right and wrong rows


@dataclass(frozen=True, eq=False)
class BinnedShare(Weighed, ABC):
    """Rows of a part that take part in boosting.

    Methods take the logarithms of the weights, which change from round to round.
    """

    codes: np.ndarray  # (n, n_features) bins
    task: np.ndarray  # (n,) tasks, counted among those that are boosted
    start: np.ndarray  # (n,) weights to begin with
    unit: np.ndarray | None  # (n,) how many rows each stands for; None is one
    n_tasks: int  # number of boosted tasks

    @abstractmethod
    def begin(self) -> np.ndarray:
        """Logarithms of the weights before the first round."""

    @abstractmethod
    def _change(self, plan: Any) -> np.ndarray:
        """What a round adds to the logarithms."""

    def _counted(self, change: np.ndarray) -> np.ndarray:
        """The changes of weights that there are."""
        return change

    def counts(self) -> np.ndarray:
        """Rows by task, feature and bin: int64, (n_tasks, n_features, 256)."""
        n_features = self.codes.shape[1]
        out = np.zeros((n_features, self.n_tasks, 256), dtype=np.int64)
        for f, column in enumerate(self.codes.T):
            at = self.task.astype(np.int64) * 256 + column
            out[f] = np.bincount(at, minlength=self.n_tasks * 256).reshape(-1, 256)
        return out.transpose(1, 0, 2)

    def mass(self, log: np.ndarray, peak: float) -> np.ndarray:
        """Sum of the weights over the greatest, as two whole numbers."""
        return np.array(exact_parts(np.exp(log - peak)), dtype=object)

    def _share(self, log: np.ndarray, scale: Scale) -> np.ndarray:
        return np.exp(log - scale.peak) / scale.total

    def _left(self, test: Trial | Node) -> np.ndarray:
        """Which rows a test sends to the left."""
        code = self.codes[:, test.feature]
        return np.where(code == MISSING, test.missing_left, code <= test.cut)

    def _below(
        self, root: Trial, children: Sequence[tuple[int, int, bool]]
    ) -> Iterator[tuple[int, np.ndarray]]:
        """Feature of each child, and its rows below a branch of the root."""
        left = self._left(root)
        for task, feature, on_left in children:
            yield feature, np.flatnonzero((self.task == task) & (left == on_left))

    def _answering(self, nodes: Sequence[Any]) -> Iterator[tuple[Node, np.ndarray]]:
        """Nodes of a stump that predict a task, and which rows they predict."""
        left = self._left(nodes[0])
        for at, node in enumerate(nodes):
            if node is None or node.task < 0:
                continue
            mine = self.task == node.task
            if at:
                mine &= left == (at == 1)
            yield node, mine

    def weigh(
        self, log: np.ndarray, scale: Scale, plan: Any
    ) -> tuple[int, int, float, float, float]:
        """What a round would do."""
        if len(log) == 0:
            return 0, 0, np.inf, -np.inf, -np.inf
        change = self._change(plan)
        sums = exact_parts(self._share(log, scale) * np.exp(change))
        made = self._counted(change)
        return *sums, made.min(), made.max(), (log + change).max()

    def move(self, log: np.ndarray, plan: Any) -> np.ndarray:
        """Logarithms of the weights after a round."""
        return log + self._change(plan)

    def _sums(
        self,
        values: np.ndarray,
        places: np.ndarray,
        label: int | np.ndarray = 0,
        n_labels: int = 1,
    ) -> np.ndarray:
        """Sums of rows of values by cell and label, then by task and label."""
        n_cells, n_features = int(places.max()), self.codes.shape[1]
        label = np.broadcast_to(label, len(values))
        size = (n_cells + 1) * n_labels  # the last cell is that of what is not counted
        out = np.zeros((size, values.shape[1]), dtype=values.dtype)
        # as many rows at a time as make a table of sums worth its while
        n_rows = max(max(size, 2**16) // n_features, 1)
        every = np.arange(n_features)
        for first in range(0, len(values), n_rows):
            part = slice(first, first + n_rows)
            at = places[self.task[part, None], every, self.codes[part]] * n_labels
            at += label[part, None].astype(at.dtype)
            ones = np.ones(at.size, dtype=values.dtype)
            ends = np.arange(0, at.size + 1, n_features)
            table = sp.csc_array((ones, at.ravel(), ends), (size, len(at)))
            out += table @ values[part]
        of = self.task.astype(np.int64) * n_labels + label
        of_task = np.stack(
            [np.bincount(of, v, minlength=self.n_tasks * n_labels) for v in values.T],
            axis=1,
        )
        return np.concatenate([out[:-n_labels], of_task.astype(values.dtype)])


@dataclass(frozen=True, eq=False)
class StumpShare(BinnedShare):
    """The same for predictions that are signs."""

    sign: np.ndarray  # (n,) labels, -1 or +1

    def begin(self) -> np.ndarray:
        """Logarithms of the weights before the first round."""
        return np.log(self.start)

    def _whole(self, log: np.ndarray, scale: Scale) -> np.ndarray:
        unit = 1.0 if self.unit is None else self.unit
        return whole_weights(self._share(log, scale), unit, SignRounds.whole)

    def cells(self, log: np.ndarray, scale: Scale, places: np.ndarray) -> np.ndarray:
        """Signed and absolute weights by cell, and by task."""
        whole = self._whole(log, scale).astype(np.int32)
        return self._sums(np.column_stack([whole * self.sign, whole]), places)

    def lanes(
        self, log: np.ndarray, scale: Scale, places: np.ndarray, trials: Sequence[Trial]
    ) -> np.ndarray:
        """Signed weights on the left of some tests, by cell, and by task."""
        signed = self._whole(log, scale).astype(np.int32) * self.sign
        left = np.empty((len(signed), len(trials)), dtype=np.int32)
        for c, trial in enumerate(trials):
            left[:, c] = signed * self._left(trial)
        return self._sums(left, places)

    def bins(
        self,
        log: np.ndarray,
        scale: Scale,
        root: Trial,
        children: Sequence[tuple[int, int, bool]],
    ) -> np.ndarray:
        """Sums by bin below the branches of a root."""
        whole = self._whole(log, scale)
        out = np.zeros((len(children), 3, 256), dtype=np.int64)
        for k, (feature, rows) in enumerate(self._below(root, children)):
            code, w = self.codes[rows, feature], whole[rows]
            for i, v in enumerate([w * self.sign[rows], w, None]):
                out[k, i] = np.bincount(code, v, minlength=256)
        return out

    def _change(self, plan: StumpPlan) -> np.ndarray:
        agrees = np.zeros(len(self.task), dtype=np.int8)  # y h: right 1, wrong -1
        for node, mine in self._answering(plan.nodes):
            answer = np.where(self._left(node), *(a[0] for a in node.answers))
            agrees += (answer * mine * self.sign).astype(np.int8)
        return np.array(plan.factor)[agrees]
