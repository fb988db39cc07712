"""Kernels of the support vector machines."""
