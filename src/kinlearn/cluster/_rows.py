"""What the clusterer takes: rows in a form that the kernels read, and their order.

The order of rows depends on what they hold alone, not on how the caller sorted them.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.utils import mix_bits
from kinlearn.utils._typing import ArrayLike

__all__ = [
    "canonical_order",
    "check_fractions",
    "check_lambdas",
    "check_rows",
    "refuse_texts",
]

_TILE = 256
_LARGEST = 1e6  # of a lambda; third powers of numbers far beyond it overflow
_BITS = 20
_CHUNK = 2**17  # cells of a temporary, which stays in the cache
_ROUNDS = 3


def refuse_texts(X: Any) -> None:
    """Raise an error that explains how texts become numbers, where X holds some.

    Data frames are left to the checks of their columns.
    """
    first = None
    if isinstance(X, list | tuple) or len(getattr(X, "shape", ())) == 1:
        first = next(iter(X), None)
    elif isinstance(X, np.ndarray) and X.dtype.kind in "US" and X.size:
        first = X.flat[0]
    cells = first if isinstance(first, list | tuple) else [first]
    texts = [cell for cell in cells if isinstance(cell, str | bytes)]
    if texts:
        raise ValueError(
            f"X holds texts, such as {texts[0][:30]!r} in row 0, where numbers are "
            "needed. Turn texts into term weights with scikit-learn's TfidfVectorizer "
            "and append the task with kinlearn.with_task; a task column of strings "
            "needs a data frame."
        )


def check_lambdas(
    lambda_inter: ArrayLike, lambda_intra: float, tasks: np.ndarray
) -> np.ndarray:
    """Weights by pairs of tasks: symmetric, with `lambda_intra` in the diagonal."""
    n = len(tasks)
    if not lambda_intra <= _LARGEST:
        raise ValueError(
            f"lambda_intra is {lambda_intra:g}; at most {_LARGEST:g} can be computed "
            "with. Only its ratio to lambda_inter matters: divide both."
        )
    given = np.asarray(lambda_inter, dtype=np.float64)
    if given.ndim not in (0, 2) or (given.ndim == 2 and given.shape != (n, n)):
        raise ValueError(
            f"lambda_inter has shape {given.shape}; with {n} tasks it must be a number "
            f"or of shape {(n, n)}, in the order of the sorted task values."
        )
    out = np.array(np.broadcast_to(given, (n, n)))
    np.fill_diagonal(out, lambda_intra)
    bad = ~(out <= _LARGEST) | (out < 0) | (out != out.T)
    if bad.any():
        t, s = np.argwhere(bad)[0]
        raise ValueError(
            "lambda_inter must be symmetric, finite and not negative, and at most "
            f"{_LARGEST:g}; for the tasks "
            f"{tasks.tolist()[t]!r} and {tasks.tolist()[s]!r} it is {out[t, s]:g} "
            f"and {out[s, t]:g}."
        )
    return out


def check_fractions(
    shares: ArrayLike | None, n_clusters: int, tasks: np.ndarray
) -> np.ndarray:
    """Fractions of the clusters in each task, as positive numbers with sum 1."""
    shape = (len(tasks), n_clusters)
    if shares is None:
        return np.full(shape, 1.0 / n_clusters)
    given = np.asarray(shares, dtype=np.float64)
    if given.shape not in (shape, shape[1:]):
        raise ValueError(
            f"shares has shape {given.shape}; it must be {shape[1:]} (one share for "
            f"each cluster) or {shape} (in each task)."
        )
    given = np.array(np.broadcast_to(given, shape))
    sums = given.sum(axis=1)
    bad = ~(given > 0).all(axis=1) | ~(np.abs(sums - 1) < 1e-6)
    if bad.any():
        t = int(np.argmax(bad))
        raise ValueError(
            f"shares must be above 0 with sum 1; for task {tasks.tolist()[t]!r} they "
            f"are {given[t].tolist()}."
        )
    return given / sums[:, None]


def check_rows(X: Any, affinity: str, names: np.ndarray, *, fitting: bool) -> Any:
    """X in the form that the affinity takes, and within its limits.

    Sparse rows are copied, without stored zeros and with sorted int32 indices. When
    `fitting`, a precomputed affinity must be square and symmetric.
    """
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        if X.nnz >= 2**31:
            raise ValueError(f"X has {X.nnz} entries; at most {2**31 - 1} fit.")
        X.indptr, X.indices = X.indptr.astype(np.int32), X.indices.astype(np.int32)
    else:
        X = np.ascontiguousarray(X)
    _check_size(X)
    if affinity != "rbf":
        _check_sign(X, affinity, names)
    if affinity == "precomputed" and fitting:
        _check_symmetric(X)
    return X


def _check_size(X: Any) -> None:
    values = X.data if sp.issparse(X) else X
    largest = float(max(-values.min(initial=0.0), values.max(initial=0.0)))
    # sums of squares are finite, and those of the inverse above 0
    limit = float(np.finfo(values.dtype).max) ** 0.4
    if largest > 0 and not 1.0 / limit <= largest <= limit:
        raise ValueError(
            f"The largest number of X is {largest:g} in size, whose square is too "
            f"large or too small for {values.dtype}. Scale the data."
        )


def _check_sign(X: Any, affinity: str, names: np.ndarray) -> None:
    values = X.data if sp.issparse(X) else X
    if values.size == 0 or values.min() >= 0:
        return
    cells = sp.coo_array(X) if sp.issparse(X) else None
    if cells is not None:
        at = int(np.argmin(cells.data))
        row, column, value = cells.row[at], cells.col[at], cells.data[at]
    else:
        row, column = np.unravel_index(int(np.argmin(X)), X.shape)
        value = X[row, column]
    remedy = (
        "An affinity is at least 0."
        if affinity == "precomputed"
        else "Use weights such as TF-IDF, or affinity='rbf' for data of any sign."
    )
    raise ValueError(
        f"Negative values in data passed to MultiTaskSymmetricNMF: affinity="
        f"{affinity!r} needs numbers of at least 0, but row {row} has {value:g} in "
        f"column {names[column]!r}. {remedy}"
    )


def _check_symmetric(X: Any) -> None:
    if X.shape[0] != X.shape[1]:
        raise ValueError(
            f"affinity='precomputed' needs a square matrix besides the task column; "
            f"X has {X.shape[0]} rows and {X.shape[1]} such columns."
        )
    if sp.issparse(X):
        gap = np.abs((X - X.T).data).max(initial=0.0)
        size = X.data.max(initial=0.0)
    else:
        gap, size = 0.0, X.max(initial=0.0)
        for i in range(0, len(X), _TILE):  # tiles stay in the cache, also transposed
            for j in range(i, len(X), _TILE):
                tile = X[i : i + _TILE, j : j + _TILE]
                across = X[j : j + _TILE, i : i + _TILE].T
                gap = max(gap, np.abs(tile - across).max())
    if gap > 1e-5 * size:
        raise ValueError(
            f"The precomputed affinity is not symmetric: cells differ by up to {gap:g} "
            "from those across the diagonal. Take the mean with its transpose."
        )


def canonical_order(X: Any, task: np.ndarray, *, pairwise: bool = False) -> np.ndarray:
    """Row numbers, sorted by what the rows hold, which must be finite.

    Random starts and turns follow this order, so the rows' own order decides
    nothing but ties of equal rows of one task, and the names of tasks nothing at all.
    `pairwise` says that columns stand for rows, so that their order must not matter
    either. It is there for that alone: with rows in random order the objective is
    higher on 21 and lower on 32 of 60 fits (made-up data, WebKB and 20 Newsgroups).
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
    np.add.at(of_task, task, mix_bits(colour))
    return np.lexsort((mix_bits(colour ^ of_task[task]), *keys.T))


def _colours(
    X: Any, keys: np.ndarray, tied: np.ndarray, factors: np.ndarray, pairwise: bool
) -> np.ndarray:
    """A hash of every row that differs where rows with equal keys differ.

    Whole numbers that wrap around add up the same in any order. Pairwise, a row is
    identified by the colours of the rows that it has to do with, as in the refinement
    of Weisfeiler and Leman.
    """
    columns = mix_bits(factors.astype(np.uint64))
    colour = np.zeros(len(keys), dtype=np.uint64)
    for key in keys.T:
        colour = mix_bits(colour ^ _bits(key))
    for _ in range(_ROUNDS if pairwise else 1):
        others = colour if pairwise else columns
        finer = np.concatenate(
            [_row_hash(X, rows, others) for rows in _chunks(tied, X.shape[1])]
        )
        colour[tied] = mix_bits(colour[tied] ^ finer)
    return colour


def _chunks(rows: np.ndarray, n_columns: int) -> list[np.ndarray]:
    step = max(1, _CHUNK // max(n_columns, 1))
    return [rows[i : i + step] for i in range(0, len(rows), step)]


def _row_hash(X: Any, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Sums over the cells of rows, but zeros, of a hash of value and column."""
    some = X[rows]
    if not sp.issparse(some):
        cells = mix_bits(_bits(some) ^ columns)
        return np.where(some != 0, cells, np.uint64(0)).sum(axis=1, dtype=np.uint64)
    cells = mix_bits(_bits(some.data) ^ columns[some.indices])
    cells[some.data == 0] = 0
    total = np.append(np.uint64(0), np.cumsum(cells, dtype=np.uint64))
    return total[some.indptr[1:]] - total[some.indptr[:-1]]


def _bits(values: np.ndarray) -> np.ndarray:
    return (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)


def _exact(
    X: Any, largest: float, factors: np.ndarray, powers: tuple[int, ...]
) -> np.ndarray:
    """``X ** power @ factors`` for each power, from values rounded to 20 bits.

    Sums of whole numbers below 2^53 are exact, so they are the same in any order.
    """
    step = max(1, _CHUNK // max(X.shape[1], 1))
    keys = []
    for i in range(0, X.shape[0], step):
        some = X[i : i + step].astype(np.float64)
        values = some.data if sp.issparse(some) else some
        values *= 1.0 / largest
        columns = []
        for power in powers:
            whole = np.rint(values**power * 2.0**_BITS)
            if sp.issparse(some):
                whole = sp.csr_array((whole, some.indices, some.indptr), some.shape)
            columns.append(np.asarray(whole @ factors))
        keys.append(np.hstack(columns))
    return np.concatenate(keys)
