"""Kin: candidates, folds, weights by task, calibration."""

from kinlearn.sharing.kin._classifier import KinClassifier
from kinlearn.sharing.kin._regressor import KinRegressor

__all__ = ["KinClassifier", "KinRegressor"]
