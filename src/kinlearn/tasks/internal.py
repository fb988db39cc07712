"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.tasks._columns import resolve_columns
from kinlearn.tasks._paths import (
    TaskPaths,
    path_codes,
    path_names,
    read_paths,
    split_path,
)
from kinlearn.tasks._targets import LARGEST
from kinlearn.tasks._task_column import (
    encode_values,
    lookup_values,
    read_tasks,
)

__all__ = [
    "LARGEST",
    "TaskPaths",
    "encode_values",
    "lookup_values",
    "path_codes",
    "path_names",
    "read_paths",
    "read_tasks",
    "resolve_columns",
    "split_path",
]
