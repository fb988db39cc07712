"""Extra trees of rows that lie in partitions."""

from kinlearn.trees.extra.partitions._growth import fit_partitions
from kinlearn.trees.extra.partitions._subtrees import release_memory

__all__ = ["fit_partitions", "release_memory"]
