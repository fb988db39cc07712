"""How far apart the tasks of a data set are."""

from kinlearn.relatedness._distances import TaskDistances, task_distances

__all__ = ["TaskDistances", "task_distances"]
