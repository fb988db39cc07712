"""Features as small bins, which histograms of any rows can be summed over.

Weights of rows are whole numbers there, whose sums do not depend on the order of rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kinlearn._kernels._binning import assign_bins

__all__ = [
    "MAX_BINS",
    "Bins",
    "bin_features",
    "edges_between",
    "feature_edges",
    "in_units",
    "is_whole",
    "join_bins",
    "quantile_edges",
    "wanted_weights",
    "weight_unit",
]

MAX_BINS = 255  # one more code, 255, is the bin of missing values

# Columns that are copied together: a line of memory in row-major float32.
_BLOCK = 16

# Weights that are not whole numbers become multiples of a power of two, which their
# sum is some 2^50 of.
_BITS = 50

# A sum that is a power of two up to its rounding must not lie between two units.
_SLACK = 1 + 2.0**-20


@dataclass(frozen=True, eq=False)
class Bins:
    """Edges between the bins of each feature."""

    edges: np.ndarray  # ascending edges, feature by feature
    # (n_features + 1,) edges of feature f are ``edges[indptr[f]:indptr[f + 1]]``
    indptr: np.ndarray

    @property
    def n_bins(self) -> np.ndarray:
        """Number of bins of each feature, the one of missing values not counted."""
        return np.diff(self.indptr) + np.int32(1)

    def thresholds(self, feature: np.ndarray, bin: np.ndarray) -> np.ndarray:
        """Numbers t for which "x <= t" means "the bin is at most `bin`"."""
        after_last = bin >= self.n_bins[feature] - 1
        edge = np.append(self.edges, np.inf)
        return edge[np.where(after_last, -1, self.indptr[feature] + bin)]

    def assign(self, X: np.ndarray) -> np.ndarray:
        """Bin of every value."""
        out = np.empty(X.shape, dtype=np.uint8, order="F")
        assign_bins(X, self.edges, self.indptr, out)
        return out


def bin_features(
    X: np.ndarray, sample_weight: np.ndarray | None = None, max_bins: int = MAX_BINS
) -> tuple[Bins, np.ndarray]:
    """Find bins and assign them.

    A feature with at most `max_bins` distinct values gets a bin for each, and
    edges midway between neighbours. Otherwise the bins are quantiles: as equal
    in weight as the ties allow.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn._binning._bins import bin_features
    >>> bins, codes = bin_features(np.array([[1.0], [3.0], [np.nan], [1.0]]))
    >>> bins.edges, codes.ravel()
    (array([2.]), array([  0,   1, 255,   0], dtype=uint8))
    """
    n, n_features = X.shape
    codes = np.empty((n, n_features), dtype=np.uint8, order="F")
    edges: list[np.ndarray] = []
    for first in range(0, n_features, _BLOCK):
        last = min(first + _BLOCK, n_features)
        # Columns side by side: a strided walk through a wide row-major X for
        # each column alone costs more than all the sorting.
        block = np.array(X[:, first:last].T, order="C")
        found = [feature_edges(column, sample_weight, max_bins) for column in block]
        part = join_bins(found)
        assign_bins(block.T, part.edges, part.indptr, codes[:, first:last])
        edges += found
    return join_bins(edges), codes


def join_bins(edges: Sequence[np.ndarray]) -> Bins:
    """Bins of the edges of one feature after the other."""
    indptr = np.cumsum([0, *map(len, edges)]).astype(np.int32)
    return Bins(np.concatenate(edges), indptr)


def feature_edges(
    column: np.ndarray, weight: np.ndarray | None = None, max_bins: int = MAX_BINS
) -> np.ndarray:
    """Edges between the bins of one feature; see `bin_features`."""
    values = np.sort(column if weight is None else column[weight > 0])
    n = np.searchsorted(values, np.nan)  # missing values are sorted to the end
    if n == 0:
        return np.empty(0)
    values = values[:n].astype(np.float64)
    ends = np.flatnonzero(values[1:] != values[:-1])  # last of each run of equals
    ends = np.append(ends, n - 1)
    below = ends + 1
    if weight is not None and len(ends) > max_bins:
        # for quantiles only: an argsort takes several times as long as a sort
        order = np.argsort(column)
        order = order[weight[order] > 0]
        below = np.cumsum(weight[order[:n]])[ends]
    return quantile_edges(values[ends], below, max_bins)


def quantile_edges(
    values: np.ndarray, below: np.ndarray, max_bins: int = MAX_BINS
) -> np.ndarray:
    """Edges for a feature whose values are known."""
    ends = np.arange(len(values) - 1)
    if len(values) > max_bins:
        wanted = wanted_weights(below[-1], max_bins)
        places = np.unique(np.searchsorted(below[:-1], wanted))
        ends = places[places < len(ends)]
    return edges_between(values[ends], values[ends + 1])


def wanted_weights(total: float, max_bins: int = MAX_BINS) -> np.ndarray:
    """The weight that should lie below each edge, of a total to be cut in quantiles."""
    return total * np.arange(1, max_bins) / max_bins


def edges_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Edges between pairs of neighbours: the middle."""
    middle = low / 2 + high / 2
    # between neighbouring floats there is nothing: the lower one is the edge
    return np.where(middle < high, middle, low)


def is_whole(weight: np.ndarray) -> bool:
    """Whether all weights are whole numbers."""
    return bool((weight == np.rint(weight)).all())


def weight_unit(total: float, whole: bool) -> float:
    """What weights are multiples of."""
    if total < 2.0**31 and whole:
        return 1.0
    return float(2.0 ** (np.ceil(np.log2(total * _SLACK)) - _BITS))


def in_units(weight: np.ndarray | None, unit: float) -> np.ndarray | None:
    """Weights as multiples of a unit; those that are positive stay so."""
    if weight is None:
        return None
    return np.maximum(np.rint(weight / unit).astype(np.int64), weight > 0)
