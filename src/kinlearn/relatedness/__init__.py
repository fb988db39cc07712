"""How far apart the tasks of a data set are."""

from kinlearn.relatedness._distances import task_distances
from kinlearn.relatedness._result import TaskDistances

__all__ = ["TaskDistances", "task_distances"]
