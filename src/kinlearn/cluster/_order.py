"""An order of rows that does not depend on how the caller sorted them."""

import numpy as np
import scipy.sparse as sp

__all__ = ["canonical_order"]

_BITS = 20
_CHUNK = 2**17  # cells of a temporary, which stays in the cache


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
        # what stays the same when rows and columns are sorted anew alike
        return np.lexsort(_exact(X, float(largest), np.ones((X.shape[1], 1)), (1, 2)).T)
    factors = np.random.default_rng(0).integers(1, 2**12, size=(X.shape[1], 2))
    return np.lexsort(_exact(X, float(largest), factors.astype(np.float64), (1,)).T)


def _exact(X, largest, factors, powers):
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
