"""The matrices of both duals, of which solvers see some rows at a time.

`TaskKernel` is that of SVM+MTL; `StoredRows` has the rows that block descent of SVM+
works with.
"""

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from kinlearn._kernels.svm._plus import gather
from kinlearn._kernels.svm._rows import RowCache
from kinlearn._kernels.svm._task_rows import TaskRows
from kinlearn.svm._kernel import CorrectionSpace, Space

__all__ = ["StoredRows", "TaskKernel"]

# Up to so many rows SVM+ makes the whole matrix, in double precision: it is cheap
# there, and large C (1e6) needs more digits than single precision has.
_WHOLE_ROWS = 1200


@dataclass(frozen=True)
class TaskKernel:
    """The kernel of SVM+MTL, Q = K + [same task] K* / correction_penalty.

    Attributes
    ----------
    decision, correction : Space, CorrectionSpace
        Kernels.
    X, X_correction : ndarray or sparse matrix
        Rows of the training data, or precomputed matrices; may be the same.
    penalty : float
        Weight of the tasks' corrections, the thesis's gamma.
    """

    decision: Space
    correction: CorrectionSpace
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
            correction = self.correction.rows(self.X_correction, rows, task)
        decision = self.decision.rows(self.X, rows)
        return TaskRows(decision, correction, inverse_penalty, task, n_tasks)

    def matrix(self, rows: np.ndarray, task: np.ndarray) -> np.ndarray:
        """The whole of Q in double precision, for rows of the data and their tasks."""
        Q = self.decision.matrix(self.X, rows)
        if 1.0 / self.penalty > 0.0:
            same = task[:, None] == task
            other = Q
            if not self.same:
                other = self.correction.matrix(self.X_correction, rows, task)
            Q = Q + np.where(same, other / self.penalty, 0.0)
        return Q

    def values(
        self,
        rows: np.ndarray,
        task: np.ndarray,
        n_tasks: int,
        beta: np.ndarray,
        at: np.ndarray,
    ) -> np.ndarray:
        """Q times coefficients in double precision, for some rows.

        Parameters
        ----------
        rows : intp array of shape (n,)
            Rows of the data, task by task.
        task : int array of shape (n,)
            Their tasks.
        n_tasks : int
            Number of tasks.
        beta : float64 array of shape (n,)
            Coefficients, mostly zeros.
        at : intp array of shape (k,), ascending
            Which rows.

        Returns
        -------
        float64 array of shape (k,)
            The product.
        """
        out = self.decision.product(self.X, rows[at], rows, beta)
        if 1.0 / self.penalty > 0.0:
            codes = np.arange(n_tasks + 1)
            bounds = np.searchsorted(task, codes), np.searchsorted(task[at], codes)
            for t, ((left, right), (start, stop)) in enumerate(
                zip(*map(pairwise, bounds), strict=True)
            ):
                if start == stop:
                    continue
                goal, own = rows[at[start:stop]], rows[left:right]
                product = self.correction.of(t).product(
                    self.X_correction, goal, own, beta[left:right]
                )
                out[start:stop] += product / self.penalty
        return out


class StoredRows:
    """Rows of a kernel matrix that stay in memory while a block works with them.

    Parameters
    ----------
    space : CorrectionSpace
        The kernel.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The data; for a precomputed kernel the matrix.
    rows : intp array of shape (n,)
        The rows of X that count, in the order of the matrix.
    most : int
        Rows that may be kept, if there are too many to keep all.
    group : int array of shape (n,), default=None
        Their groups, between which it need not be right; None is one.
    centred : bool, default=False
        Whether a function of both rows may be taken from each cell: what the solver
        multiplies them with sums to 0 in each group, so that only rounding changes.
        Done where the whole matrix is made.

    Attributes
    ----------
    cells : float32 or float64 array of shape (n_slots, n)
        What is kept; `slots` returns where a row is.
    """

    def __init__(
        self,
        space: CorrectionSpace,
        X: Any,
        rows: np.ndarray,
        most: int,
        group: np.ndarray | None = None,
        centred: bool = False,
    ) -> None:
        self._source = space, X, rows, group
        self._centred = centred
        self._cache: RowCache | None = None  # None: the whole matrix is here
        if len(rows) > _WHOLE_ROWS:
            self._cache = RowCache(space.rows(X, rows, group), most * len(rows) * 4)
            self.cells = self._cache.stored()
        else:
            self.make_whole()

    def make_whole(self) -> None:
        """Have the whole matrix, in double precision, from now on."""
        space, *source = self._source
        self._cache, self.cells = None, space.matrix(*source)
        if self._centred:
            _centre(self.cells, source[-1])

    @property
    def whole(self) -> bool:
        """Whether the whole matrix is here."""
        return self._cache is None

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """Rows of `cells` with rows of the matrix; they stay until the next call."""
        return rows if self._cache is None else self._cache.hold(rows)

    def block(
        self, rows: np.ndarray, factor: np.ndarray, group: np.ndarray, out: np.ndarray
    ) -> None:
        """The matrix between rows, times the factors of both; 0 between groups."""
        gather(self.cells, self.slots(rows), rows, factor, group, out)


def _centre(K: np.ndarray, group: np.ndarray | None) -> None:
    """Take the means of rows and columns from a kernel matrix, group by group.

    A kernel that is the same for all rows, or nearly, then is 0, where products with
    its large cells would be rounding alone.
    """
    whole = np.zeros(len(K), dtype=np.intp)
    group = whole if group is None else group
    for code in np.unique(group):
        rows = np.flatnonzero(group == code)
        block = K[np.ix_(rows, rows)]
        block -= block[0, 0]  # exact where all cells are the same
        mean = block.mean(axis=0)
        block -= mean[:, None] + mean - mean.mean()
        K[np.ix_(rows, rows)] = block
