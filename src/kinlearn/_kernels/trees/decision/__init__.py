"""Kernels of multi-task decision trees."""
