"""Forests of rows that lie in many parts: what an engine such as Dask builds on."""

from kinlearn.trees._branches import release_memory
from kinlearn.trees._fit_parts import fit_parts
from kinlearn.trees._local_parts import LocalParts
from kinlearn.trees._mt_fit_parts import fit_forest_parts
from kinlearn.trees._parts import read_part
from kinlearn.trees._questions import Answer

__all__ = [
    "Answer",
    "LocalParts",
    "fit_forest_parts",
    "fit_parts",
    "read_part",
    "release_memory",
]
