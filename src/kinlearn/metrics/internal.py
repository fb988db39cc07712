"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.metrics._metric import Metric, resolve_metric
from kinlearn.metrics._scorer import TaskScorer

__all__ = [
    "Metric",
    "TaskScorer",
    "resolve_metric",
]
