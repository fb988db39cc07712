"""Duals as numbers for the solvers: from data and parameters to one problem in beta."""

from kinlearn.svm.problem._analytic import analytic_C, analytic_epsilon
from kinlearn.svm.problem._class_pairs import class_pairs, class_scores, signs_of_pair
from kinlearn.svm.problem._plus_problem import (
    PlusProblem,
    plus_classification,
    plus_regression,
)
from kinlearn.svm.problem._problem import (
    Solution,
    TaskProblem,
    classification,
    regression,
)

__all__ = [
    "PlusProblem",
    "Solution",
    "TaskProblem",
    "analytic_C",
    "analytic_epsilon",
    "class_pairs",
    "class_scores",
    "classification",
    "plus_classification",
    "plus_regression",
    "regression",
    "signs_of_pair",
]
