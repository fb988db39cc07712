"""Boosting of rows that lie in many parts: what an engine such as Dask builds on."""

from kinlearn.boosting._fit_parts import fit_stump_parts

__all__ = ["fit_stump_parts"]
