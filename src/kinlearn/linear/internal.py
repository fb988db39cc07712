"""Linear models of many tasks at once: what other packages use, and users do not."""

from kinlearn.linear._shared_and_own import add_own_parts, fit_shared_and_own
from kinlearn.linear._task_lines import fit_lines, has_line

__all__ = ["add_own_parts", "fit_lines", "fit_shared_and_own", "has_line"]
