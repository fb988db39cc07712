"""Gradient boosting of rows that lie in partitions."""

from kinlearn.boosting.gradient.partitions._fit import fit_partitions

__all__ = ["fit_partitions"]
