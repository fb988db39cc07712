"""Laplace's approximation: mixed models of classes and counts."""

from kinlearn.linear.mixed.laplace._columns import FixedColumns
from kinlearn.linear.mixed.laplace._fit import LaplaceFit, fit_laplace
from kinlearn.linear.mixed.laplace._modes import Modes, find_modes, invert
from kinlearn.linear.mixed.laplace._objective import laplace
from kinlearn.linear.mixed.laplace._rows import Effects, LaplaceProblem

__all__ = [
    "Effects",
    "FixedColumns",
    "LaplaceFit",
    "LaplaceProblem",
    "Modes",
    "find_modes",
    "fit_laplace",
    "invert",
    "laplace",
]
