"""Bins of sparse columns, by what they store."""

from typing import Any

import numpy as np

from kinlearn._binning._bins import Bins, bin_features, edges_between, join_bins

__all__ = ["bin_sparse", "by_columns", "check_cells"]

_MOST_CELLS = 2**32  # bins have a byte for each, stored or not

_THIN = 0.25  # of the cells are stored; beyond, columns are sorted faster one by one


def check_cells(X: Any, method: str, instead: str, n_bytes: int = 1) -> None:
    """Refuse a sparse X of so many cells that so many bytes for each are too many."""
    n, d = X.shape
    if n * d * n_bytes > _MOST_CELLS:
        a_byte = "a byte" if n_bytes == 1 else f"{n_bytes} bytes"
        raise ValueError(
            f"X is sparse and has {n} x {d} cells; {method} needs {a_byte} for "
            f"each, and takes at most {_MOST_CELLS / 2**30:g} GiB. Choose fewer "
            f"columns, or reduce them (TruncatedSVD), or take {instead}, which work on "
            "what is stored."
        )


def by_columns(X: Any) -> Any:
    """Sparse X column by column, each cell stored once."""
    X = X.tocsc()
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def bin_sparse(
    X: Any, weight: np.ndarray | None, max_bins: int
) -> tuple[Bins, np.ndarray]:
    """Find bins and assign them, as `bin_features` does for dense columns.

    Thin columns of few values are binned by sorting what is stored, all together;
    those with many values, or with missing ones, are unpacked.

    Examples
    --------
    >>> import numpy as np
    >>> import scipy.sparse as sp
    >>> from kinlearn._binning._sparse import bin_sparse
    >>> X = sp.csc_array(np.array([[0.0, 3.0], [4.0, 0.0], [-2.0, 0.0], [0.0, 0.0]]))
    >>> bins, codes = bin_sparse(X, None, 255)
    >>> bins.edges
    array([-1. ,  2. ,  1.5])
    >>> codes.T
    array([[1, 2, 0, 1],
           [1, 0, 0, 0]], dtype=uint8)
    """
    n, n_features = X.shape
    column = np.repeat(np.arange(n_features), np.diff(X.indptr))
    thin = np.diff(X.indptr) <= _THIN * n
    there = thin[column]
    if weight is not None:
        there &= weight[X.indices] > 0
        n = np.count_nonzero(weight > 0)
    row, column, value = X.indices[there], column[there], X.data[there]
    # one zero for all those of a column that are not stored
    with_zero = np.flatnonzero(np.bincount(column, minlength=n_features) < n)
    column = np.concatenate([column, with_zero])
    value = np.concatenate([value.astype(np.float64), np.zeros(len(with_zero))])
    order = np.lexsort((value, column))
    c, v = column[order], value[order]
    begins = np.append(True, c[1:] != c[:-1])
    new = begins | np.append(True, v[1:] != v[:-1])
    number = np.cumsum(new) - 1  # of the distinct values, over all columns
    first = np.zeros(n_features, dtype=np.intp)
    first[c[begins]] = number[begins]
    place = np.empty(len(order), dtype=np.intp)
    place[order] = number - first[c]
    bins = _bins_between(c[new], v[new], n_features)
    few = thin & (np.diff(bins.indptr) < max_bins)
    few[c[np.isnan(v)]] = False
    codes = np.zeros(X.shape, dtype=np.uint8, order="F")
    codes[:, with_zero] = np.where(few[with_zero], place[len(row) :], 0)
    known = few[column[: len(row)]]
    codes[row[known], column[: len(row)][known]] = place[: len(row)][known]
    if few.all():
        return bins, codes
    many = np.flatnonzero(~few)
    dense, codes[:, many] = bin_features(X[:, many].toarray(), weight, max_bins)
    edges = np.split(bins.edges, bins.indptr[1:-1])
    for f, own in zip(many, np.split(dense.edges, dense.indptr[1:-1]), strict=True):
        edges[f] = own
    return join_bins(edges), codes


def _bins_between(column: np.ndarray, value: np.ndarray, n_features: int) -> Bins:
    """Bins of the distinct values of each column."""
    same = column[1:] == column[:-1]
    sizes = np.bincount(column[1:][same], minlength=n_features)
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return Bins(edges_between(value[:-1][same], value[1:][same]), indptr)
