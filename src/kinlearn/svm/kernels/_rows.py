"""Rows of a kernel matrix for block descent: all of them, or the last used ones."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn._kernels.svm._plus import gather
from kinlearn.svm.kernels._space import Space

__all__ = ["RowStore"]

# Up to so many rows the whole matrix is made, in double precision: it is cheap
# there, and large C (1e6) needs more digits than single precision has.
WHOLE = 1200


class RowStore:
    """Rows that stay in memory while a block works with them.

    Parameters
    ----------
    space : Space
        The kernel.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The data; for a precomputed kernel the matrix.
    rows : intp array of shape (n,)
        The rows of X that count, in the order of the matrix.
    most : int
        Rows that may be kept, if there are too many to keep all.

    Attributes
    ----------
    cells : float32 or float64 array of shape (n_slots, n)
        What is kept; `slots` returns where a row is.
    """

    def __init__(self, space: Space, X: Any, rows: np.ndarray, most: int) -> None:
        n = len(rows)
        self._source: Any = None  # of rows that are computed on demand
        self._slot = np.full(n, -1, dtype=np.intp)
        if n <= WHOLE:
            if space.kernel == "precomputed":
                part = X[rows][:, rows]
                part = part.toarray() if sp.issparse(part) else part
                self.cells = np.ascontiguousarray(part, dtype=np.float64)
            else:
                self.cells = np.ascontiguousarray(space.between(X[rows], X[rows]))
            self._slot[:] = np.arange(n)
            return
        self._source = space.rows(X, rows)
        self.cells = np.empty((min(most, n), n), dtype=np.float32)
        self._owner = np.full(len(self.cells), -1, dtype=np.intp)
        self._used = np.zeros(len(self.cells), dtype=np.int64)
        self._clock = 0

    @property
    def whole(self) -> bool:
        """Whether the whole matrix is here."""
        return self._source is None

    @property
    def n_slots(self) -> int:
        """Rows that can be requested at once."""
        return len(self.cells)

    def slots(self, rows: np.ndarray) -> np.ndarray:
        """Where the rows are; they stay there until the next call.

        Parameters
        ----------
        rows : intp array of shape (k,)
            Rows of the matrix, at most `n_slots` different ones.

        Returns
        -------
        intp array of shape (k,)
            Rows of `cells`.
        """
        slots = self._slot[rows]
        if self.whole:
            return slots
        self._clock += 1
        self._used[slots[slots >= 0]] = self._clock
        missing = np.unique(rows[slots < 0])
        if len(missing) == 0:
            return slots
        oldest = np.argpartition(self._used, len(missing) - 1)[: len(missing)]
        former = self._owner[oldest]
        self._slot[former[former >= 0]] = -1
        self._owner[oldest] = missing
        self._slot[missing] = oldest
        self._used[oldest] = self._clock
        self.cells[oldest] = self._source.rows(missing)
        return self._slot[rows]

    def block(
        self, rows: np.ndarray, factor: np.ndarray, group: np.ndarray, out: np.ndarray
    ) -> None:
        """The matrix between the rows given, times the factors of both.

        Parameters
        ----------
        rows : intp array of shape (k,)
            Rows of the matrix.
        factor : float64 array of shape (k,)
            Factors.
        group : int32 array of shape (k,)
            Groups, ascending; between them the matrix is 0.
        out : float64 array of shape (k, k), filled
            The block.
        """
        gather(self.cells, self.slots(rows), rows, factor, group, out)
