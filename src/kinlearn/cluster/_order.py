"""An order of rows that does not depend on how the caller sorted them."""

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["canonical_order"]

_BITS = 20
_CHUNK = 2**17  # cells of a temporary, which stays in the cache
_ROUNDS = 3


def canonical_order(X: Any, task: np.ndarray, *, pairwise: bool = False) -> np.ndarray:
    """Row numbers, sorted by what the rows hold.

    Random starts and turns follow this order, so the rows' own order decides
    nothing but ties of equal rows of one task, and the names of tasks nothing at all.

    Parameters
    ----------
    X : array or CSR array of shape (n, n_columns)
        Finite numbers.
    task : int array of shape (n,)
        Task codes.
    pairwise : bool, default=False
        Whether columns stand for rows, so that their order must not matter either.

    Returns
    -------
    intp array of shape (n,)
        The order.
    """
    values = X.data if sp.issparse(X) else X
    largest = max(-values.min(initial=0.0), values.max(initial=0.0))
    if not largest > 0:
        return np.arange(X.shape[0])
    factors = np.random.default_rng(0).integers(1, 2**12, size=(X.shape[1], 2))
    if pairwise:
        # what stays the same when rows and columns are sorted anew alike
        keys = _exact(X, float(largest), np.ones((X.shape[1], 1)), (1, 2))
    else:
        keys = _exact(X, float(largest), factors.astype(np.float64), (1,))
    order = np.lexsort(keys.T)
    after_equal = np.append(False, (keys[order[1:]] == keys[order[:-1]]).all(axis=1))
    tied = order[after_equal | np.append(after_equal[1:], False)]
    if not len(tied):
        return order
    colour = _colours(X, keys, np.sort(tied), factors[:, 0], pairwise)
    of_task = np.zeros(int(task.max()) + 1, dtype=np.uint64)
    np.add.at(of_task, task, _mixed(colour))
    return np.lexsort((_mixed(colour ^ of_task[task]), *keys.T))


def _colours(
    X: Any, keys: np.ndarray, tied: np.ndarray, factors: np.ndarray, pairwise: bool
) -> np.ndarray:
    """A hash of every row that differs where rows with equal keys differ.

    Whole numbers that wrap around add up the same in any order. Pairwise, a row is
    identified by the colours of the rows that it has to do with, as in the refinement
    of Weisfeiler and Leman.
    """
    columns = _mixed(factors.astype(np.uint64))
    colour = np.zeros(len(keys), dtype=np.uint64)
    for key in keys.T:
        colour = _mixed(colour ^ _bits(key))
    for _ in range(_ROUNDS if pairwise else 1):
        others = colour if pairwise else columns
        finer = np.concatenate(
            [_row_hash(X, rows, others) for rows in _chunks(tied, X.shape[1])]
        )
        colour[tied] = _mixed(colour[tied] ^ finer)
    return colour


def _chunks(rows: np.ndarray, n_columns: int) -> list[np.ndarray]:
    step = max(1, _CHUNK // max(n_columns, 1))
    return [rows[i : i + step] for i in range(0, len(rows), step)]


def _row_hash(X: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sums over the cells of rows, but zeros, of a hash of value and column."""
    part = X[rows]
    if not sp.issparse(part):
        cells = _mixed(_bits(part) ^ columns)
        return np.where(part != 0, cells, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    cells = _mixed(_bits(part.data) ^ columns[part.indices])
    cells[part.data == 0] = 0
    total = np.append(np.uint64(0), np.cumsum(cells, dtype=np.uint64))
    return total[part.indptr[1:]] - total[part.indptr[:-1]]


def _bits(values: np.ndarray) -> np.ndarray:
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _mixed(x: np.ndarray) -> np.ndarray:
    """The last steps of SplitMix64: every bit depends on all."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def _exact(
    X: Any, largest: float, factors: np.ndarray, powers: tuple[int, ...]
) -> np.ndarray:
    """``X ** power @ factors`` for each power, from values rounded to 20 bits.

    Sums of whole numbers below 2^53 are exact, so they are the same in any order.
    """
    step = max(1, _CHUNK // max(X.shape[1], 1))
    parts = []
    for i in range(0, X.shape[0], step):
        part = X[i : i + step].astype(np.float64)
        values = part.data if sp.issparse(part) else part
        values *= 1.0 / largest
        columns = []
        for power in powers:
            whole = np.rint(values**power * 2.0**_BITS)
            if sp.issparse(part):
                whole = sp.csr_array((whole, part.indices, part.indptr), part.shape)
            columns.append(np.asarray(whole @ factors))
        parts.append(np.hstack(columns))
    return np.concatenate(parts)
