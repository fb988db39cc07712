"""Kernels of multi-task gradient boosting."""
