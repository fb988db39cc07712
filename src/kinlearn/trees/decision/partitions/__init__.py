"""Multi-task random forests of rows that lie in partitions."""

from kinlearn.trees.decision.partitions._growth import fit_partitions

__all__ = ["fit_partitions"]
