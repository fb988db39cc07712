"""An order of rows that does not depend on how the caller sorted them."""

import numpy as np
import scipy.sparse as sp

__all__ = ["canonical_order"]

_BITS = 20
_CHUNK = 2**24


def _whole(values, largest):
    """Values as integers of 20 bits, so that sums are exact in any order."""
    return np.rint(np.asarray(values, dtype=np.float64) * (2.0**_BITS / largest))


def canonical_order(X, *, pairwise=False):
    """Row numbers, sorted by what the rows hold.

    Random starts and turns follow this order, so the rows' own order decides
    nothing but ties of rows that look the same.

    Parameters
    ----------
    X : array or CSR array of shape (n, n_columns)
        Finite numbers.
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
    if pairwise:
        return np.lexsort(_pairwise_keys(X, float(largest)))
    factors = np.random.default_rng(0).integers(1, 2**12, size=(X.shape[1], 2))
    return np.lexsort(_products(X, float(largest), factors.astype(np.float64)).T)


def _products(X, largest, factors, power=1):
    """``rint(X ** power) @ factors`` in exact arithmetic, some rows at a time."""
    step = max(1, _CHUNK // max(X.shape[1], 1))
    parts = []
    for i in range(0, X.shape[0], step):
        part = X[i : i + step]
        if sp.issparse(part):
            part = part.astype(np.float64)
            part.data = _whole(part.data**power, largest**power)
        else:
            part = _whole(part**power, largest**power)
        parts.append(np.asarray(part @ factors))
    return np.concatenate(parts)


def _pairwise_keys(X, largest):
    """What stays the same when rows and columns are sorted anew alike."""
    ones = np.ones((X.shape[1], 1))
    first = _products(X, largest, ones)
    second = _products(X, largest, ones, power=2)
    spread = np.ptp(first)
    rank = np.floor((first - first.min()) * (2.0**12 / (spread + 1.0)))
    third = _products(X, largest, rank)
    return third.ravel(), second.ravel(), first.ravel()
