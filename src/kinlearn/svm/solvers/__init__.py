"""Solvers: SMO, interior points, and block descent of SVM+."""

from kinlearn.svm.solvers._dense import solve_dense, solve_tasks
from kinlearn.svm.solvers._linear import linear_pays, solve_linear
from kinlearn.svm.solvers._plus import solve_plus, start_plus
from kinlearn.svm.solvers._smo import feasible_start, solve_smo

__all__ = [
    "feasible_start",
    "linear_pays",
    "solve_dense",
    "solve_linear",
    "solve_plus",
    "solve_smo",
    "solve_tasks",
    "start_plus",
]
