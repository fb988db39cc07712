"""Kernels of the linear models."""
