"""The task data model: the task travels inside X.

Estimators use it through :class:`TaskMixin`; all other code needs
:func:`with_task`, :func:`keep_task` and perhaps :func:`task_codes`.
"""

from kinlearn.tasks._columns import TaskColumns
from kinlearn.tasks._data import TaskData, TaskRows
from kinlearn.tasks._keep_task import KeepTask, keep_task, with_task
from kinlearn.tasks._label_sets import LabelSets, classes_by_task, find_label_sets
from kinlearn.tasks._mixin import TaskMixin, remember_columns
from kinlearn.tasks._targets import (
    check_class_weight,
    check_total_weight,
    class_codes,
    class_weights,
    numbers,
)
from kinlearn.tasks._task_column import (
    encode_tasks,
    split_known_task,
    split_task,
    task_codes,
)
from kinlearn.tasks._validation import check_task_data, check_task_rows

__all__ = [
    "KeepTask",
    "LabelSets",
    "TaskColumns",
    "TaskData",
    "TaskMixin",
    "TaskRows",
    "check_class_weight",
    "check_task_data",
    "check_task_rows",
    "check_total_weight",
    "class_codes",
    "class_weights",
    "classes_by_task",
    "encode_tasks",
    "find_label_sets",
    "keep_task",
    "numbers",
    "remember_columns",
    "split_known_task",
    "split_task",
    "task_codes",
    "with_task",
]
