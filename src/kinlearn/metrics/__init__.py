"""Scores for rare classes, unequal costs and groups of rows."""

from kinlearn.metrics._balanced import (
    g_mean_score,
    rare_class_recall_score,
    sensitivity_specificity_f_score,
)
from kinlearn.metrics._clustering import clustering_accuracy_score
from kinlearn.metrics._cost import cost_weighted_error
from kinlearn.metrics._f_lambda import FLambdaCurve, f_lambda_curve
from kinlearn.metrics._variance import explained_variance_percent

__all__ = [
    "FLambdaCurve",
    "clustering_accuracy_score",
    "cost_weighted_error",
    "explained_variance_percent",
    "f_lambda_curve",
    "g_mean_score",
    "rare_class_recall_score",
    "sensitivity_specificity_f_score",
]
