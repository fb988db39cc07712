"""Scores for rare classes, unequal costs and groups of rows.

scikit-learn's metrics are not repeated here; :class:`TaskFrame` and
:func:`make_task_scorer` take them as they are.
"""

from kinlearn.metrics._clustering import clustering_accuracy_score
from kinlearn.metrics._cost import cost_weighted_error
from kinlearn.metrics._rates import (
    FLambdaCurve,
    f_lambda_curve,
    g_mean_score,
    rare_class_recall_score,
    sensitivity_specificity_f_score,
)
from kinlearn.metrics._scorer import make_task_scorer
from kinlearn.metrics._task_frame import (
    TaskFrame,
    TaskIntervals,
    UndefinedScore,
    WorstTask,
)
from kinlearn.metrics._variance import explained_variance_percent

__all__ = [
    "FLambdaCurve",
    "TaskFrame",
    "TaskIntervals",
    "UndefinedScore",
    "WorstTask",
    "clustering_accuracy_score",
    "cost_weighted_error",
    "explained_variance_percent",
    "f_lambda_curve",
    "g_mean_score",
    "make_task_scorer",
    "rare_class_recall_score",
    "sensitivity_specificity_f_score",
]
