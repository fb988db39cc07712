"""Clustering of related collections."""

from kinlearn.cluster._symmetric_nmf import MultiTaskSymmetricNMF

__all__ = ["MultiTaskSymmetricNMF"]
