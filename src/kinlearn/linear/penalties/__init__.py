"""Linear models of many tasks, under the penalties that relate them."""

from kinlearn.linear.penalties._classifier import MultiTaskLinearClassifier
from kinlearn.linear.penalties._path import PenaltyPath
from kinlearn.linear.penalties._regressor import MultiTaskLinearRegressor

__all__ = ["MultiTaskLinearClassifier", "MultiTaskLinearRegressor", "PenaltyPath"]
