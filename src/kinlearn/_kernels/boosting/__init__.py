"""Kernels of boosting."""
