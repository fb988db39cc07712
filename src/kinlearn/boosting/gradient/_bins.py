"""Features as bins, made once for any number of fits."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn._binning import (
    MAX_BINS,
    Bins,
    bin_sparse,
    by_columns,
    check_cells,
    feature_edges,
    in_units,
    join_bins,
)
from kinlearn.boosting.gradient._exact import exact_weight_unit, weight_sums
from kinlearn.utils import Threads
from kinlearn.utils._loaded import check_finite, check_numbers, check_starts, demand

__all__ = ["Binned", "FeatureBins"]

_COLUMNS = 4  # copied at once, by all threads: a walk through X for each costs more
_ROWS = 2048  # whose numbers and bins stay in the cache


@dataclass(frozen=True, eq=False)
class FeatureBins:
    """Edges of the bins of all features; those of categories lie between the codes.

    Attributes
    ----------
    edges, indptr : arrays
        As of :class:`kinlearn._binning.Bins`.
    categorical : bool array of shape (n_features,)
        Which features are categories: their bins are their codes.
    """

    edges: np.ndarray
    indptr: np.ndarray
    categorical: np.ndarray

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        weight: np.ndarray | None,
        max_bins: int,
        categorical: np.ndarray | None,
        threads: Threads | None = None,
    ) -> Self:
        """Find the edges; rows of weight 0 are none."""
        d = X.shape[1]
        mask = np.zeros(d, dtype=bool)
        if categorical is not None:
            mask |= categorical
        if weight is not None:  # whole numbers: no order of rows changes their sums
            weight = in_units(weight, exact_weight_unit(*weight_sums(weight)))

        threads = threads or Threads(1, 0)
        size = max(_COLUMNS // threads.n, 1)

        def find(first: int) -> list[np.ndarray]:
            some = slice(first, first + size)
            columns = np.ascontiguousarray(X[:, some].T)
            return [
                np.arange(int(np.nanmax(column, initial=0.0))) + 0.5
                if is_codes
                else feature_edges(column, weight, max_bins)
                for column, is_codes in zip(columns, mask[some], strict=True)
            ]

        found = threads.map(find, range(0, d, size))
        bins = join_bins([edges for some in found for edges in some])
        return cls(bins.edges, bins.indptr, mask)

    def check(self, n_features: int) -> None:
        """Refuse numbers by which compiled code would read outside of the arrays."""
        check_numbers("edges", self.edges, np.float64, (None,))
        check_finite("edges", self.edges)
        check_starts("indptr", self.indptr, n_features, len(self.edges), np.int32)
        demand((self.n_bins <= MAX_BINS).all(), "indptr")
        check_numbers("categorical", self.categorical, bool, (n_features,))

    @property
    def n_bins(self) -> np.ndarray:
        """Bins of each feature, without that of missing values."""
        return np.diff(self.indptr).astype(np.int32) + np.int32(1)

    def assign(self, X: Any, threads: Threads | None = None) -> np.ndarray:
        """Bins of rows, C-contiguous; that of a missing value is the number of bins."""
        if sp.issparse(X):
            return np.ascontiguousarray(self._assign_sparse(by_columns(X)))
        n_bins = self.n_bins
        top = n_bins.astype(np.uint8)
        bins = Bins(self.edges, self.indptr)
        coded = np.flatnonzero(self.categorical)
        out = np.empty(X.shape, dtype=np.uint8)

        def fill(rows: slice) -> None:
            for first in range(rows.start, rows.stop, _ROWS):
                some = slice(first, min(first + _ROWS, rows.stop))
                found = bins.assign(X[some])
                for f in coded:  # a code that fit did not see
                    found[X[some, f] > n_bins[f] - 1, f] = n_bins[f]
                np.minimum(found, top, out=out[some])

        (threads or Threads(1, 0)).over_rows(fill, len(X))
        return out

    def _assign_sparse(self, X: Any) -> np.ndarray:
        out = np.empty(X.shape, dtype=np.uint8, order="F")
        for f, n_bins in enumerate(self.n_bins):
            edges = self.edges[self.indptr[f] : self.indptr[f + 1]]
            stored = slice(X.indptr[f], X.indptr[f + 1])
            x = X.data[stored].astype(np.float64)
            bins = np.searchsorted(edges, x)
            bins[np.isnan(x)] = n_bins
            out[:, f] = np.searchsorted(edges, 0.0)  # what is not stored
            out[X.indices[stored], f] = bins
        return out

    def threshold(self, feature: int, bin: int) -> float:
        """The number t for which "x <= t" means "the bin is at most `bin`"."""
        where = np.array([feature]), np.array([bin])
        return float(Bins(self.edges, self.indptr).thresholds(*where)[0])


@dataclass(frozen=True, eq=False)
class Binned:
    """Rows as bins.

    Attributes
    ----------
    features : FeatureBins
        What the bins are.
    bins : uint8 array of shape (n_samples, n_features), C-contiguous
        Bins of the rows.
    """

    features: FeatureBins
    bins: np.ndarray

    @classmethod
    def of(
        cls,
        X: Any,
        weight: np.ndarray | None = None,
        *,
        max_bins: int = 255,
        categorical: np.ndarray | None = None,
        threads: Threads | None = None,
    ) -> Self:
        """Find the bins of rows and assign them."""
        if sp.issparse(X):
            return cls(*_bin_sparse(X, weight, max_bins))
        features = FeatureBins.of(X, weight, max_bins, categorical, threads)
        return cls(features, features.assign(X, threads))

    def has_values(self, counts: np.ndarray) -> np.ndarray:
        """Which features have a value in rows that count."""
        out = np.ones(self.bins.shape[1], dtype=bool)
        for f in np.flatnonzero(self.features.n_bins == 1):
            out[f] = not (self.bins[counts, f] == 1).all()
        return out

    def take(self, rows: np.ndarray) -> "Binned":
        """Some of the rows, with the same bins."""
        return Binned(self.features, np.ascontiguousarray(self.bins[rows]))


def _bin_sparse(
    X: Any, weight: np.ndarray | None, max_bins: int
) -> tuple[FeatureBins, np.ndarray]:
    check_cells(
        X,
        "gradient boosting",
        "MTBoostClassifier, MTBoostRegressor or AbstainingAdaBoostClassifier",
    )
    bins, codes = bin_sparse(by_columns(X), weight, max_bins)
    features = FeatureBins(bins.edges, bins.indptr, np.zeros(X.shape[1], dtype=bool))
    codes = np.minimum(codes, features.n_bins.astype(np.uint8), out=codes)
    return features, np.ascontiguousarray(codes)
