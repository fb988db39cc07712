"""Pictures of what the other modules found."""

from kinlearn.report._f_lambda import FLambdaDisplay
from kinlearn.report._task_distances import TaskDistanceDisplay

__all__ = ["FLambdaDisplay", "TaskDistanceDisplay"]
