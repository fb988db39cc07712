"""Checks of what only the clusterer takes: lambdas, shares, affinities."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.utils._typing import ArrayLike

__all__ = ["check_lambdas", "check_rows", "check_shares", "refuse_texts"]

_TILE = 256
_LARGEST = 1e6  # of a lambda; third powers of numbers far beyond it overflow


def refuse_texts(X: Any) -> None:
    """Raise an error that explains how texts become numbers, where X holds some.

    Parameters
    ----------
    X : object
        What the user passed. Data frames are left to the checks of their columns.
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
    """Weights by pairs of tasks.

    Parameters
    ----------
    lambda_inter : float or array-like of shape (n_tasks, n_tasks)
        Between tasks.
    lambda_intra : float
        Within a task.
    tasks : ndarray of shape (n_tasks,)
        Task values.

    Returns
    -------
    array of shape (n_tasks, n_tasks)
        Symmetric, with `lambda_intra` in the diagonal.
    """
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


def check_shares(
    shares: ArrayLike | None, n_clusters: int, tasks: np.ndarray
) -> np.ndarray:
    """Shares of the clusters in each task, as positive numbers with sum 1.

    Parameters
    ----------
    shares : array-like of shape (n_clusters,) or (n_tasks, n_clusters), or None
        The parameter of the estimator.
    n_clusters : int
        Number of clusters.
    tasks : ndarray of shape (n_tasks,)
        Task values.

    Returns
    -------
    array of shape (n_tasks, n_clusters)
        The shares.
    """
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

    Parameters
    ----------
    X : ndarray or sparse matrix
        Features, without the task.
    affinity : str
        What they are for.
    names : ndarray of str
        Names of the columns.
    fitting : bool
        Whether a precomputed affinity must be square.

    Returns
    -------
    ndarray or CSR array
        Without stored zeros, with sorted int32 indices.
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
