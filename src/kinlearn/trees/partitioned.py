"""Forests of rows that lie in many parts: what an engine such as Dask builds on."""

from kinlearn.trees._fit_parts import fit_parts
from kinlearn.trees._local_parts import LocalParts
from kinlearn.trees._parts import read_part
from kinlearn.trees._questions import Answer
from kinlearn.trees._shares import Share

__all__ = ["Answer", "LocalParts", "Share", "fit_parts", "read_part"]
