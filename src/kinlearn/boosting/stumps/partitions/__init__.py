"""Two-task stumps of rows that lie in partitions."""

from kinlearn.boosting.stumps.partitions._fit import fit_partitions

__all__ = ["fit_partitions"]
