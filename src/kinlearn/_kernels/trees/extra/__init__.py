"""Kernels of extra trees."""
