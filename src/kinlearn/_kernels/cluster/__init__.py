"""Kernels of the clustering methods."""
