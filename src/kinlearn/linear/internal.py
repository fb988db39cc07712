"""Linear models of many tasks at once: what other packages use, and users do not."""

from kinlearn.linear._task_lines import fit_lines, has_line

__all__ = ["fit_lines", "has_line"]
