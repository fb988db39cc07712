"""Sparse columns far from zero, whose squares would leave no digits of their spread."""

from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["centre_columns", "far_from_zero"]

_FAR = 1e-6  # squared spread, relative to the squared shift
_CHUNK = 65_536


def far_from_zero(X: Any, weight: np.ndarray | None, shift: np.ndarray) -> np.ndarray:
    """Which columns lie near their shift, and far from zero.

    Nearly all of their cells are stored, so that centred ones take no more memory.

    Parameters
    ----------
    X : CSR matrix of shape (n, p)
        Columns.
    weight : float64 array of shape (n,) or None
        Weights of the rows.
    shift : float64 array of shape (p,)
        What is to be subtracted from the columns.

    Returns
    -------
    bool array of shape (p,)
        Columns that must be centred before they are multiplied.
    """
    n = X.shape[0]
    w = np.ones(n) if weight is None else weight
    first, second = np.zeros((2, X.shape[1]))
    for left in range(0, n, _CHUNK):
        block = sp.csr_array(X[left : left + _CHUNK], dtype=np.float64, copy=True)
        first += block.T @ w[left : left + _CHUNK]
        block.data **= 2
        second += block.T @ w[left : left + _CHUNK]
    total = max(float(w.sum()), 1e-300)
    spread = second / total - 2.0 * shift * first / total + shift**2
    return spread < _FAR * shift**2


def centre_columns(X: Any, shift: np.ndarray, which: np.ndarray) -> Any:
    """The columns, of which some are centred."""
    if not which.any():
        return X
    places = np.flatnonzero(which)
    values = X[:, places].toarray().astype(np.float64) - shift[places]
    rows, columns = np.indices(values.shape)
    centred = (values.ravel(), (rows.ravel(), places[columns.ravel()]))
    others = sp.csr_array(X, dtype=np.float64) @ sp.diags_array((~which).astype(float))
    return sp.csr_array(others + sp.csr_array(centred, shape=X.shape))
