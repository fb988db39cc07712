"""Scores that begin with a line through the features."""

from kinlearn.boosting.gradient.linear_part._fit import find_start_with_line
from kinlearn.boosting.gradient.linear_part._line import Line

__all__ = ["Line", "find_start_with_line"]
