"""Rows of sparse X for trees, which read single cells: some at a time, unpacked."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["INSTEAD", "dense_blocks"]

INSTEAD = "MTBoostClassifier, MTBoostRegressor or AbstainingAdaBoostClassifier"

_CELLS_AT_ONCE = 2**23  # that are unpacked together


def dense_blocks(X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Rows of X as arrays: all at once if X is one, else some at a time."""
    if not sp.issparse(X):
        yield slice(None), X
        return
    X = X.tocsr()
    size = max(_CELLS_AT_ONCE // X.shape[1], 1)
    for first in range(0, max(X.shape[0], 1), size):
        rows = slice(first, min(first + size, X.shape[0]))
        yield rows, X[rows].toarray()
