"""Features as bins: once for trees, boosting and transfer."""

from kinlearn._binning._bins import (
    MAX_BINS,
    Bins,
    bin_features,
    feature_edges,
    join_bins,
)
from kinlearn._binning._partitions import find_bins
from kinlearn._binning._sparse import bin_sparse
from kinlearn._binning._weights import in_units, is_whole, weight_unit

__all__ = [
    "MAX_BINS",
    "Bins",
    "bin_features",
    "bin_sparse",
    "feature_edges",
    "find_bins",
    "in_units",
    "is_whole",
    "join_bins",
    "weight_unit",
]
