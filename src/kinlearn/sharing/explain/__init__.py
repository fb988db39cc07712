"""Why this prediction? Contributions of features and of the task."""

from kinlearn.sharing.explain._methods import ExplainMethods
from kinlearn.sharing.explain._result import Explanation

__all__ = ["ExplainMethods", "Explanation"]
