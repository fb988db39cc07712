"""Kernels with their parameters, and rows of kernel matrices for the solvers."""

from kinlearn.svm.kernels._rows import RowStore
from kinlearn.svm.kernels._space import (
    KERNELS,
    Gamma,
    KernelName,
    Space,
    correction_space,
    decision_space,
    make_space,
)
from kinlearn.svm.kernels._task_kernel import TaskKernel

__all__ = [
    "KERNELS",
    "Gamma",
    "KernelName",
    "RowStore",
    "Space",
    "TaskKernel",
    "correction_space",
    "decision_space",
    "make_space",
]
