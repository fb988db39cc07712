"""Rows of a part, and their sums for boosting of tasks with several labels (MH).

A row has a weight for each label of its task. All rows have as many weights as the task
with the most labels; those that a task lacks are 0, which changes no sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinlearn.boosting.stumps._model import Node
from kinlearn.boosting.stumps._rounds import ScoreRounds, whole_weights
from kinlearn.boosting.stumps.partitions._rows import BinnedShare, Scale, Trial

__all__ = ["ScoreShare"]


@dataclass(frozen=True, eq=False)
class ScoreShare(BinnedShare):
    """Rows of a part that take part in boosting.

    Logarithms of weights have a row for each row, and a column for each label.
    """

    label: np.ndarray  # (n,) labels, counted within the task
    n_labels: np.ndarray  # (n_tasks,) labels of each task

    @property
    def _K(self) -> int:
        return int(self.n_labels.max())

    @property
    def _there(self) -> np.ndarray:
        """Which labels the rows' tasks have."""
        return np.arange(self._K) < self.n_labels[self.task, None]

    def begin(self) -> np.ndarray:
        log = np.log(self.start / self.n_labels[self.task])
        return np.where(self._there, log[:, None], -np.inf)

    def _weights(self, log: np.ndarray, scale: Scale) -> np.ndarray:
        """Whole weights by label, and a 1 that counts the row."""
        unit = 1.0 if self.unit is None else self.unit[:, None]
        whole = whole_weights(self._share(log, scale), unit, ScoreRounds.whole)
        return np.column_stack([whole, np.ones(len(whole))])

    def cells(self, log: np.ndarray, scale: Scale, places: np.ndarray) -> np.ndarray:
        """Sums by cell and own label, then by task and own label."""
        return self._sums(self._weights(log, scale), places, self.label, self._K)

    def lanes(
        self, log: np.ndarray, scale: Scale, places: np.ndarray, trials: Sequence[Trial]
    ) -> np.ndarray:
        """The same on the left of some tests."""
        weights = self._weights(log, scale)
        return np.stack(
            [
                self._sums(
                    weights * self._left(trial)[:, None], places, self.label, self._K
                )
                for trial in trials
            ]
        )

    def bins(
        self,
        log: np.ndarray,
        scale: Scale,
        root: Trial,
        children: Sequence[tuple[int, int, bool]],
    ) -> np.ndarray:
        """Sums by bin and own label below the branches of a root."""
        weights, K = self._weights(log, scale), self._K
        out = np.zeros((len(children), 256 * K, K + 1))
        for c, (feature, rows) in enumerate(self._below(root, children)):
            at = self.codes[rows, feature].astype(np.intp) * K + self.label[rows]
            for k in range(K + 1):
                out[c, :, k] = np.bincount(at, weights[rows, k], minlength=256 * K)
        return out.reshape(len(children), 256, K, K + 1)

    def _change(self, nodes: Sequence[Node | None]) -> np.ndarray:
        change = np.zeros((len(self.task), self._K))
        for node, mine in self._answering(nodes):
            rows = np.flatnonzero(mine)
            K = self.n_labels[node.task]
            answer = np.where(self._left(node)[rows, None], *node.answers)
            own = self.label[rows, None] == np.arange(K)
            change[rows, :K] -= np.where(own, answer, -answer)
        return change

    def _counted(self, change: np.ndarray) -> np.ndarray:
        return change[self._there]
