"""Features as bins: once for trees, boosting and transfer."""

from kinlearn._binning._bins import (
    MAX_BINS,
    Bins,
    bin_features,
    feature_edges,
    in_units,
    is_whole,
    join_bins,
    weight_unit,
)
from kinlearn._binning._feature_bytes import FeatureBytes, feature_bytes
from kinlearn._binning._partitions import find_bins
from kinlearn._binning._sparse import bin_sparse, by_columns, check_cells

__all__ = [
    "MAX_BINS",
    "Bins",
    "FeatureBytes",
    "bin_features",
    "bin_sparse",
    "by_columns",
    "check_cells",
    "feature_bytes",
    "feature_edges",
    "find_bins",
    "in_units",
    "is_whole",
    "join_bins",
    "weight_unit",
]
