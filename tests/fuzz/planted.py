"""Estimators with one fault each, and one without: does the fuzzer find them?"""

import ctypes
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.linear_model import Ridge

from kinlearn.sharing import Pooled

__all__ = ["FAULTS", "PLANTED"]


class _Regressor(RegressorMixin, BaseEstimator):
    _parameter_constraints: dict = {}

    def fit(self, X: Any, y: Any) -> "_Regressor":
        self.mean_ = 0.0
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.full(X.shape[0] if hasattr(X, "shape") else len(X), self.mean_)


class Crash(_Regressor):
    def fit(self, X, y):
        ctypes.string_at(0)


class Hang(_Regressor):
    def fit(self, X, y):
        while True:
            pass


class Greedy(_Regressor):
    def fit(self, X, y):
        self.rows_ = np.ones(2**34)


class NotANumber(_Regressor):
    def predict(self, X):
        return super().predict(X) + np.nan


class TooFew(_Regressor):
    def predict(self, X):
        return super().predict(X)[1:]


class Counts(_Regressor):
    def predict(self, X):
        self.mean_ += 1
        return super().predict(X)


class Writes(_Regressor):
    def fit(self, X, y):
        y[:1] = 7
        return super().fit(X, y)


class Slips(_Regressor):
    def fit(self, X, y):
        float("no number, and nobody says which")


class Fickle(_Regressor):
    def fit(self, X, y):
        self.mean_ = np.random.default_rng().random()
        return self


class Sums(ClassifierMixin, _Regressor):
    def fit(self, X, y):
        self.classes_ = np.unique(np.asarray(y, dtype=str))
        return super().fit(X, y)

    def predict(self, X):
        return np.full(len(super().predict(X)), self.classes_[0])

    def predict_proba(self, X):
        return np.full((len(super().predict(X)), len(self.classes_)), 0.7)


# name -> the estimator, and the kinds of findings that its fault is
FAULTS: dict[str, tuple[Any, set[str]]] = {
    "Crash": (Crash(), {"crash"}),
    "Hang": (Hang(), {"hang"}),
    "Greedy": (Greedy(), {"memory"}),
    "NotANumber": (NotANumber(), {"not finite"}),
    "TooFew": (TooFew(), {"shape"}),
    "Counts": (Counts(), {"model changed"}),
    "Writes": (Writes(), {"inputs changed"}),
    "Slips": (Slips(), {"internal error"}),
    "Fickle": (Fickle(), {"differs"}),
    "Sums": (Sums(), {"sums"}),
    "Pooled": (Pooled(Ridge(solver="svd")), set()),
}
PLANTED = {name: estimator for name, (estimator, _) in FAULTS.items()}
