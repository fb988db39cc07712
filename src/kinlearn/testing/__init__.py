"""Checks of what a task-aware estimator promises, for third parties too.

Scikit-learn's own suite checks an estimator in its single-task form;
:func:`check_task_estimator` checks what it does with tasks.
"""

from kinlearn.testing._interruption import check_interrupted_fit
from kinlearn.testing._runner import (
    check_task_estimator,
    parametrize_with_task_checks,
    task_checks,
)

__all__ = [
    "check_interrupted_fit",
    "check_task_estimator",
    "parametrize_with_task_checks",
    "task_checks",
]
