"""MTBoost: boosting with a learned task covariance (Zhang & Yeung)."""

from kinlearn.boosting.mtboost._classifier import MTBoostClassifier
from kinlearn.boosting.mtboost._correlations import TaskCorrelations
from kinlearn.boosting.mtboost._regressor import MTBoostRegressor

__all__ = ["MTBoostClassifier", "MTBoostRegressor", "TaskCorrelations"]
