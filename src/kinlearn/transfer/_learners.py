"""What the rounds fit: our weighted trees over bins computed once, or any estimator.

Features are binned by the package that all trees share; what is ours is the storage:
the cells outside of each feature's most frequent bin, row by row, where they are few.
A learner has ``learn(weights)``, which fits one model, keeps it and returns its
predictions for the rows of the transfer, and ``finish()``, which returns what it kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier

from kinlearn._binning import Bins, bin_features, feature_edges, join_bins
from kinlearn._kernels.transfer._weighted_tree import (
    STEP,
    add_votes,
    add_votes_sparse,
    grow_tree,
)
from kinlearn.transfer._boost import Transfer, Weights
from kinlearn.transfer._weight_updates import CHANCE
from kinlearn.utils import clone_for_round
from kinlearn.utils._loaded import check_below, check_numbers, demand

__all__ = ["BinnedRows", "ModelLearner", "TreeLearner", "TreeVotes", "add_votes_of"]

# Weights become multiples of their sum over this, which float64 holds exactly.
_FIXED_POINT = 2.0**50
# Up to this fraction of cells outside the common bins, only they are stored.
_SPARSE_FRACTION = 0.25

# Row by row: where rows start, columns and bins of the cells outside the common bins.
_Cells: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class BinnedRows:
    """Features as bins, all of them or only those that are not the common one.

    Attributes
    ----------
    bins : Bins
        Edges of the bins.
    row_bins : uint8 array of shape (n, n_features), or (0, n_features)
        All bins, row-major; the bin after the last is a missing value.
    indptr, columns, cell_bins : int64, int32 and uint8 arrays
        Otherwise the bins that are not common, row by row.
    common : uint8 array of shape (n_features,)
        The most frequent bin of each feature.
    """

    bins: Bins
    row_bins: np.ndarray
    indptr: np.ndarray
    columns: np.ndarray
    cell_bins: np.ndarray
    common: np.ndarray

    @classmethod
    def of(cls, X: Any, weight: np.ndarray | None = None) -> Self:
        """Bin the features of an array or a sparse array; NaN is a missing value.

        `weight` is that of each row where the bins of a feature are quantiles.
        """
        n, d = X.shape
        bins, cells, common = (_sparse if sp.issparse(X) else _dense)(X, weight)
        row_bins = np.empty((0, d), dtype=np.uint8)
        indptr, columns, cell_bins = cells
        if len(cell_bins) > _SPARSE_FRACTION * n * d:
            row_bins = np.tile(common, (n, 1))
            row_bins[np.repeat(np.arange(n), np.diff(indptr)), columns] = cell_bins
            indptr, columns = np.zeros(1, np.int64), columns[:0]
            cell_bins = cell_bins[:0]
        return cls(bins, row_bins, indptr, columns, cell_bins, common)

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
        """Grow one tree: its nodes, with real thresholds, and its predictions.

        Rows have a class, a weight (the sum is 1) and a side. The tree ends at the
        first depth with a target error below `trim`; 0 is never.
        """
        # A row never has no weight at all: then its prediction would be unknown.
        whole = np.maximum(np.rint(weight * _FIXED_POINT), 1.0).astype(np.int64)
        predictions = np.empty(len(rows), dtype=np.int32)
        nodes = grow_tree(
            self.row_bins,
            self.indptr,
            self.columns,
            self.cell_bins,
            self.common,
            self.bins.n_bins,
            rows,
            labels,
            whole,
            is_target,
            n_classes,
            len(rows) if max_depth is None else max_depth,
            trim,
            predictions,
        )
        steps = np.empty(len(nodes), dtype=STEP)
        for name in ("left", "feature", "label", "missing_left"):
            steps[name] = nodes[name]
        steps["threshold"] = self.bins.thresholds(nodes["feature"], nodes["bin"])
        return steps, predictions


def _dense(X: Any, weight: np.ndarray | None) -> tuple[Bins, _Cells, np.ndarray]:
    """Bins of an array, the cells outside the common bins, and those bins."""
    bins, found = bin_features(X, weight)
    np.minimum(found, bins.n_bins.astype(np.uint8), out=found)
    common = np.array([np.bincount(c).argmax() for c in found.T], dtype=np.uint8)
    other = np.ascontiguousarray(found != common)
    indptr = np.concatenate([[0], np.cumsum(other.sum(axis=1))]).astype(np.int64)
    columns = np.nonzero(other)[1].astype(np.int32)
    return bins, (indptr, columns, np.ascontiguousarray(found)[other]), common


def _sparse(X: Any, weight: np.ndarray | None) -> tuple[Bins, _Cells, np.ndarray]:
    """The same of a sparse array, from what it stores: a zero is never written out.

    `bin_sparse` of the shared package writes a bin for every cell, which for texts is
    a hundred times as much.
    """
    X = _canonical(sp.csc_array(X))
    n, d = X.shape
    weight = np.ones(n) if weight is None else weight
    edges, common, cells = [], np.zeros(d, dtype=np.uint8), []
    for f in range(d):
        stored = slice(X.indptr[f], X.indptr[f + 1])
        rows, values = X.indices[stored], X.data[stored]
        n_zero = n - len(rows)
        of_zero = max(weight.sum() - weight[rows].sum(), 0.0) if n_zero else 0.0
        edge = feature_edges(np.append(values, 0.0), np.append(weight[rows], of_zero))
        found = np.searchsorted(edge, values)  # NaN comes last: the missing bin
        zero = np.searchsorted(edge, 0.0)
        count = np.bincount(found, minlength=len(edge) + 2)
        count[zero] += n_zero
        most = count.argmax()
        kept = found != most
        rows_kept, bins_kept = rows[kept], found[kept]
        if zero != most:
            rows_kept = np.append(rows_kept, np.delete(np.arange(n), rows))
            bins_kept = np.append(bins_kept, [zero] * n_zero)
        cells.append((rows_kept, bins_kept))
        edges.append(edge)
        common[f] = most
    return join_bins(edges), _by_row(cells, n), common


def _canonical(X: Any) -> Any:
    """A sparse array without repeated cells, and sorted; the caller's is left alone."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def _by_row(cells: Sequence[tuple[np.ndarray, np.ndarray]], n: int) -> _Cells:
    """Cells given feature by feature, row by row as the kernel reads them."""
    row = np.concatenate([rows for rows, _ in cells])
    cell_bins = np.concatenate([bins for _, bins in cells]).astype(np.uint8)
    sizes = [len(rows) for rows, _ in cells]
    column = np.repeat(np.arange(len(cells), dtype=np.int32), sizes)
    order = np.lexsort((column, row))
    counts = np.bincount(row, minlength=n)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    return indptr, column[order], cell_bins[order]


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

    def check(self, n_features: int, n_classes: int) -> None:
        """Refuse numbers by which compiled code would read outside of the arrays."""
        n = len(self.steps)
        check_numbers("steps", self.steps, STEP, (n,))
        check_numbers("roots", self.roots, np.int32, (None,))
        if not len(self.roots):
            return
        demand(self.roots[0] == 0 and n > 0, "roots")
        sizes = np.diff(self.roots, append=n)
        demand((sizes > 0).all(), "roots")
        own = np.arange(n) - np.repeat(self.roots, sizes)
        left = self.steps["left"].astype(np.int64)
        inner = left != -1
        demand((left[inner] > own[inner]).all(), "left")
        check_below("left", left[inner] + 1, np.repeat(sizes, sizes)[inner])
        check_below("feature", self.steps["feature"][inner], n_features)
        check_below("label", self.steps["label"][~inner], n_classes)

    @classmethod
    def join(cls, trees: Sequence[np.ndarray]) -> Self:
        """Trees as `BinnedRows.grow` returns them, in one array."""
        sizes = [len(tree) for tree in trees]
        roots = np.concatenate([[0], np.cumsum(sizes)])[:-1].astype(np.int32)
        steps = np.concatenate(trees) if trees else np.empty(0, dtype=STEP)
        return cls(steps, roots)

    def add_votes(self, X: Any, votes: np.ndarray, out: np.ndarray) -> None:
        """Add the vote of each tree, if above 0, to the class that it predicts."""
        if not len(self.roots):
            return
        if not sp.issparse(X):
            add_votes(np.ascontiguousarray(X), self.steps, self.roots, votes, out)
            return
        X = _canonical(sp.csr_array(X))
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


def add_votes_of(
    learners: TreeVotes | Sequence[Any], X: Any, votes: np.ndarray, out: np.ndarray
) -> None:
    """Add the vote of each learner, if above 0, to the class that it predicts."""
    if isinstance(learners, TreeVotes):
        learners.add_votes(X, votes, out)
        return
    every = np.arange(X.shape[0])
    for model, vote in zip(learners, votes, strict=True):
        if vote > 0:
            out[every, model.predict(X)] += vote


def _fitted_rows(weights: Weights, X_source: Any) -> tuple[Transfer, np.ndarray]:
    """All rows and weights; or those of the target, if the source is given apart."""
    if X_source is None:
        return weights.transfer, weights.normalised()
    return weights.target_rows, weights.of_target()


class TreeLearner:
    """Weighted trees over bins that all rounds share.

    Parameters
    ----------
    binned : BinnedRows
        The features.
    max_depth : int or None, default=None
        Largest depth of a tree.
    trim : bool, default=True
        Whether a tree ends at the first depth with a target error below 1/2.
    X_source : ndarray or sparse array, default=None
        Features of the source, if trees are grown on the target alone. The rows of
        the target then come first in the transfer.
    """

    def __init__(
        self,
        binned: BinnedRows,
        max_depth: int | None = None,
        trim: bool = True,
        X_source: Any = None,
    ) -> None:
        self._binned = binned
        self._max_depth = max_depth
        self._trim = CHANCE if trim else 0.0
        self._X_source = X_source
        self._trees: list[np.ndarray] = []

    def learn(self, weights: Weights) -> np.ndarray:
        """Grow the round's tree; its predictions for the rows."""
        transfer, weight = _fitted_rows(weights, self._X_source)
        steps, predictions = self._binned.grow(
            transfer.rows,
            transfer.y,
            weight,
            transfer.is_target.view(np.uint8),
            transfer.n_classes,
            max_depth=self._max_depth,
            trim=self._trim,
        )
        self._trees.append(steps)
        if self._X_source is None:
            return predictions
        votes = np.zeros((self._X_source.shape[0], transfer.n_classes))
        TreeVotes.join([steps]).add_votes(self._X_source, np.ones(1), votes)
        # one vote for each row: an argmax would take longer than the tree
        labels = votes @ np.arange(transfer.n_classes)
        return np.append(predictions, labels.astype(np.int32))

    def finish(self) -> TreeVotes:
        """The trees, ready to vote."""
        return TreeVotes.join(self._trees)


class ModelLearner:
    """Any scikit-learn estimator whose fit takes weights.

    Parameters
    ----------
    estimator : classifier or regressor
        What is cloned for each round.
    X : ndarray or sparse array
        Features of the rows that are fitted to.
    rng : RandomState
        Seeds the clones.
    X_source : ndarray or sparse array, default=None
        See `TreeLearner`.
    """

    def __init__(
        self, estimator: Any, X: Any, rng: np.random.RandomState, X_source: Any = None
    ) -> None:
        self._estimator = estimator
        self._X = X
        self._rng = rng
        self._X_source = X_source
        self._models: list[Any] = []

    def learn(self, weights: Weights) -> np.ndarray:
        """Fit the round's model; its predictions for the rows."""
        predictions = self.fit(*_fitted_rows(weights, self._X_source))
        if self._X_source is None:
            return predictions
        more = self._models[-1].predict(self._X_source)
        return np.concatenate([predictions, more])

    def fit(self, transfer: Transfer, weight: np.ndarray) -> np.ndarray:
        """Fit a model to weights that sum to one; its predictions for these rows."""
        model = clone_for_round(self._estimator, self._rng)
        y = transfer.y
        if transfer.n_classes and (y == y[0]).all():  # which many classifiers refuse
            model = DummyClassifier(strategy="most_frequent")
        # As much in all as in the beginning, so that penalties mean the same.
        model.fit(self._X, y, sample_weight=weight * transfer.start.sum())
        self._models.append(model)
        return model.predict(self._X)

    def finish(self) -> list[Any]:
        """The fitted models."""
        return self._models
