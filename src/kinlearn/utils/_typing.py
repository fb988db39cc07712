"""Names for types that annotations share.

X may be an array, a sparse matrix or a frame of pandas or polars, none of which need be
installed to import this package: so it is `Any`, under a name for what is meant.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["ArrayLike", "LabelRule", "RandomState", "Table", "TaskColumn", "TaskPath"]

# Rows of features with the task among them: array, sparse matrix or frame.
Table: TypeAlias = Any
# The column of X that holds the task, by name or by position; None is one task.
TaskColumn: TypeAlias = str | int | None
# The same, or several columns from coarse to fine: the last one holds the task.
TaskPath: TypeAlias = TaskColumn | Sequence[str | int]
RandomState: TypeAlias = int | np.random.RandomState | None
# Which classes a task has; a mapping is from tasks to classes.
LabelRule: TypeAlias = Literal["connected", "observed"] | Mapping[Any, Any]
