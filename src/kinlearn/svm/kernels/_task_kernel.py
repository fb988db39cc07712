"""The kernel of SVM+MTL: Q = K + [same task] K* / correction_penalty."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn._kernels.svm._rows import TaskRows
from kinlearn.svm.kernels._space import Space

__all__ = ["TaskKernel"]


@dataclass(frozen=True)
class TaskKernel:
    """K and K*, with the data that each works on.

    Attributes
    ----------
    decision, correction : Space
        Kernels.
    X, X_correction : ndarray or sparse matrix
        Rows of the training data, or precomputed matrices; may be the same.
    penalty : float
        Weight of the tasks' corrections, the thesis's gamma.
    """

    decision: Space
    correction: Space
    X: Any
    X_correction: Any
    penalty: float

    @property
    def same(self) -> bool:
        """Whether the correcting kernel is the decision kernel again."""
        return self.decision == self.correction and self.X is self.X_correction

    def rows(self, rows: np.ndarray, task: np.ndarray, n_tasks: int) -> TaskRows:
        """Rows of Q, for rows of the data and their tasks."""
        inverse_penalty = 1.0 / self.penalty
        correction = None
        if inverse_penalty > 0.0 and not self.same:
            correction = self.correction.rows(self.X_correction, rows)
        return TaskRows(
            self.decision.rows(self.X, rows),
            correction,
            inverse_penalty,
            task,
            n_tasks,
        )
