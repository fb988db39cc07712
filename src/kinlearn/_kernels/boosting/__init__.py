"""Kernels of transfer by boosting."""
