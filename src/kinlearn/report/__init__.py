"""Pictures of what the other modules found."""

from kinlearn.report._task_distances import TaskDistanceDisplay

__all__ = ["TaskDistanceDisplay"]
