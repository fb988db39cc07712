"""Weighted trees over bins that are computed once for all rounds."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from kinlearn._kernels.transfer._votes import STEP, add_votes, add_votes_sparse
from kinlearn._kernels.transfer._weighted_tree import grow_tree
from kinlearn.trees._binning import Bins, bin_features

__all__ = ["BinnedRows", "TreeVotes"]

# Weights become multiples of their sum over this, which float64 holds exactly.
_FIXED_POINT = 2.0**50
# Columns of a sparse X that are binned at a time.
_BLOCK = 64
# Up to this share of cells outside the common bins, only they are stored.
_SPARSE_SHARE = 0.25


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
    def of(cls, X, say=None):
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
        if not sp.issparse(X):
            bins, codes = bin_features(X, say)
            parts = [(bins, codes)]
        else:
            X = X.tocsc()
            parts = [
                bin_features(X[:, first : first + _BLOCK].toarray(), say)
                for first in range(0, d, _BLOCK)
            ]
        bins = _join_bins([each for each, _ in parts])
        common = np.zeros(d, dtype=np.uint8)
        kept, first, n_kept = [], 0, 0
        for part, codes in parts:
            np.minimum(codes, part.n_bins.astype(np.uint8), out=codes)
            for f in range(codes.shape[1]):
                common[first + f] = np.bincount(codes[:, f]).argmax()
            other = codes != common[first : first + codes.shape[1]]
            n_kept += int(other.sum())
            kept.append((first, codes, other))
            first += codes.shape[1]
        empty = {
            "lines": np.empty((0, d), dtype=np.uint8),
            "indptr": np.zeros(1, dtype=np.int64),
            "columns": np.empty(0, dtype=np.int32),
            "codes": np.empty(0, dtype=np.uint8),
        }
        if n_kept > _SPARSE_SHARE * n * d:
            lines = np.empty((n, d), dtype=np.uint8)
            for first, codes, _ in kept:
                lines[:, first : first + codes.shape[1]] = codes
            return cls(bins, **{**empty, "lines": lines}, common=common)
        stored = _stored_cells(kept, n)
        return cls(bins, **{**empty, **stored}, common=common)

    def grow(self, rows, labels, weight, is_target, n_classes, *, max_depth, trim):
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
            Class that the tree answers for these rows.
        """
        # A row never has no weight at all: then its answer would be unknown.
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


def _join_bins(parts):
    sizes = np.concatenate([np.diff(part.indptr) for part in parts])
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    return Bins(np.concatenate([part.edges for part in parts]), indptr)


def _stored_cells(kept, n):
    """Cells outside the common bins, row by row, as the kernel reads them."""
    places = [np.nonzero(other) for _, _, other in kept]
    row = np.concatenate([rows for rows, _ in places])
    column = np.concatenate(
        [
            columns + first
            for (_, columns), (first, _, _) in zip(places, kept, strict=True)
        ]
    )
    code = np.concatenate([codes[other] for _, codes, other in kept])
    order = np.lexsort((column, row))
    counts = np.bincount(row, minlength=n)
    return {
        "indptr": np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        "columns": column[order].astype(np.int32),
        "codes": code[order],
    }


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
    def join(cls, trees):
        """Trees as `BinnedRows.grow` gives them, in one piece."""
        sizes = [len(tree) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int32)
        steps = np.concatenate(trees) if trees else np.empty(0, dtype=STEP)
        return cls(steps, roots)

    def add_votes(self, X, votes, out):
        """Add the vote of each tree to the class that it answers.

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
            X.indptr.astype(np.int32, copy=False),
            np.zeros(X.shape[1], dtype=X.dtype),
            self.steps,
            self.roots,
            votes,
            out,
        )
