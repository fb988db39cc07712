"""Weighted trees over bins that are computed once for all rounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from kinlearn._binning import Bins, bin_features, feature_edges, join_bins
from kinlearn._kernels.transfer._weighted_tree import (
    STEP,
    add_votes,
    add_votes_sparse,
    grow_tree,
)

__all__ = ["BinnedRows", "TreeVotes"]

# Weights become multiples of their sum over this, which float64 holds exactly.
_FIXED_POINT = 2.0**50
# Up to this share of cells outside the common bins, only they are stored.
_SPARSE_SHARE = 0.25

# Row by row: where rows start, columns and bins of the cells outside the common bins.
_Cells: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Features as bins, all of them or only those that are not the common one.

    Attributes
    ----------
    bins : Bins
        Edges of the bins.
    lines : uint8 array of shape (n, n_features), or (0, n_features)
        All bins, row-major; the bin after the last is a missing value.
    indptr, columns, codes : int64, int32 and uint8 arrays
        Otherwise the bins that are not common, row by row.
    common : uint8 array of shape (n_features,)
        The most frequent bin of each feature.
    """

    bins: Bins
    lines: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    codes: np.ndarray
    common: np.ndarray

    @classmethod
    def of(cls, X: Any, say: np.ndarray | None = None) -> Self:
        """Bin the features.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n, n_features)
            NaN is a missing value.
        say : float array of shape (n,), default=None
            Weight of each row where the bins of a feature are quantiles.

        Returns
        -------
        BinnedRows
            What trees are grown from.
        """
        n, d = X.shape
        bins, cells, common = (_sparse if sp.issparse(X) else _dense)(X, say)
        lines = np.empty((0, d), dtype=np.uint8)
        indptr, columns, codes = cells
        if len(codes) > _SPARSE_SHARE * n * d:
            lines = np.tile(common, (n, 1))
            lines[np.repeat(np.arange(n), np.diff(indptr)), columns] = codes
            indptr, columns, codes = np.zeros(1, np.int64), columns[:0], codes[:0]
        return cls(bins, lines, indptr, columns, codes, common)

    def grow(
        self,
        rows: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        is_target: np.ndarray,
        n_classes: int,
        *,
        max_depth: int | None,
        trim: float,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Grow one tree.

        Parameters
        ----------
        rows : int32 array of shape (m,)
            Rows to grow on.
        labels, weight, is_target : int32, float64 and uint8 arrays of shape (m,)
            Class, weight (the sum is 1) and side of these rows.
        n_classes : int
            Number of classes.
        max_depth : int or None
            Largest depth.
        trim : float
            End at the first depth with a target error below this; 0 is never.

        Returns
        -------
        steps : structured array
            The nodes, with real thresholds.
        answers : int32 array of shape (m,)
            Class that the tree predicts for these rows.
        """
        # A row never has no weight at all: then its prediction would be unknown.
        whole = np.maximum(np.rint(weight * _FIXED_POINT), 1.0).astype(np.int64)
        answers = np.empty(len(rows), dtype=np.int32)
        nodes = grow_tree(
            self.lines,
            self.indptr,
            self.columns,
            self.codes,
            self.common,
            self.bins.n_bins,
            rows,
            labels,
            whole,
            is_target,
            n_classes,
            len(rows) if max_depth is None else max_depth,
            trim,
            answers,
        )
        steps = np.empty(len(nodes), dtype=STEP)
        for name in ("left", "feature", "label", "missing_left"):
            steps[name] = nodes[name]
        steps["threshold"] = self.bins.thresholds(nodes["feature"], nodes["bin"])
        return steps, answers


def _dense(X: Any, say: np.ndarray | None) -> tuple[Bins, _Cells, np.ndarray]:
    """Bins of an array, the cells outside the common bins, and those bins."""
    bins, codes = bin_features(X, say)
    np.minimum(codes, bins.n_bins.astype(np.uint8), out=codes)
    common = np.array([np.bincount(c).argmax() for c in codes.T], dtype=np.uint8)
    other = np.ascontiguousarray(codes != common)
    indptr = np.concatenate([[0], np.cumsum(other.sum(axis=1))]).astype(np.int64)
    columns = np.nonzero(other)[1].astype(np.int32)
    return bins, (indptr, columns, np.ascontiguousarray(codes)[other]), common


def _sparse(X: Any, say: np.ndarray | None) -> tuple[Bins, _Cells, np.ndarray]:
    """The same of a sparse array, from what it stores: a zero is never written out."""
    X = sp.csc_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    n, d = X.shape
    say = np.ones(n) if say is None else say
    edges, common, cells = [], np.zeros(d, dtype=np.uint8), []
    for f in range(d):
        stored = slice(X.indptr[f], X.indptr[f + 1])
        rows, values = X.indices[stored], X.data[stored]
        n_zero = n - len(rows)
        zero_say = max(say.sum() - say[rows].sum(), 0.0) if n_zero else 0.0
        edge = feature_edges(np.append(values, 0.0), np.append(say[rows], zero_say))
        code = np.searchsorted(edge, values)  # NaN comes last: the missing bin
        zero = np.searchsorted(edge, 0.0)
        count = np.bincount(code, minlength=len(edge) + 2)
        count[zero] += n_zero
        most = count.argmax()
        kept = code != most
        cells.append((rows[kept], code[kept]))
        if zero != most:
            rest = np.delete(np.arange(n), rows)
            both = np.append(rows[kept], rest), np.append(code[kept], [zero] * n_zero)
            cells[-1] = both
        edges.append(edge)
        common[f] = most
    return join_bins(edges), _by_row(cells, n), common


def _by_row(cells: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> _Cells:
    """Cells given feature by feature, row by row as the kernel reads them."""
    row = np.concatenate([rows for rows, _ in cells])
    code = np.concatenate([codes for _, codes in cells]).astype(np.uint8)
    sizes = [len(rows) for rows, _ in cells]
    column = np.repeat(np.arange(len(cells), dtype=np.int32), sizes)
    order = np.lexsort((column, row))
    counts = np.bincount(row, minlength=n)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, column[order], code[order]


@dataclass(frozen=True, eq=False)
class TreeVotes:
    """Trees as flat arrays; each votes for one class.

    Attributes
    ----------
    steps : structured array
        Nodes of all trees: ``threshold``, ``left`` (-1 at a leaf; counted within
        the tree; the right child is the next), ``feature``, ``label`` and
        ``missing_left``.
    roots : int32 array of shape (n_trees,)
        First node of each tree.
    """

    steps: np.ndarray
    roots: np.ndarray

    @classmethod
    def join(cls, trees: Sequence[np.ndarray]) -> Self:
        """Trees as `BinnedRows.grow` returns them, in one piece."""
        sizes = [len(tree) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int32)
        steps = np.concatenate(trees) if trees else np.empty(0, dtype=STEP)
        return cls(steps, roots)

    def add_votes(self, X: Any, votes: np.ndarray, out: np.ndarray) -> None:
        """Add the vote of each tree to the class that it predicts.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n, n_features)
            Rows.
        votes : float64 array of shape (n_trees,)
            Weights of the trees; 0 is no vote.
        out : float64 array of shape (n, n_classes)
            Added to.
        """
        if not len(self.roots):
            return
        if not sp.issparse(X):
            X = np.ascontiguousarray(X)
            add_votes(X, self.steps, self.roots, votes, out)
            return
        X = sp.csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        add_votes_sparse(
            X.data,
            X.indices.astype(np.int32, copy=False),
            X.indptr.astype(np.int64, copy=False),
            np.zeros(X.shape[1], dtype=X.dtype),
            self.steps,
            self.roots,
            votes,
            out,
        )
