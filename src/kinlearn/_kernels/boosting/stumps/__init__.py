"""Kernels of two-task stumps."""
