"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.tasks._task_column import (
    encode_values,
    lookup_values,
    read_tasks,
)

__all__ = ["encode_values", "lookup_values", "read_tasks"]
