"""What the rounds of MTBoost fit, and what is kept of it to predict.

A learner has ``fit(target, root)``, which gives the outputs of all rows and what is to
be kept; ``correlate``, or None; and ``finish``, which turns what was kept into
hypotheses with ``outputs(X, task)``, an output of each row (of a task, -1 if it is not
known) and round. Weighted least squares is such a learner; here is the other one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.utils import clone_for_round
from kinlearn.utils._loaded import check_finite, check_numbers, demand

__all__ = [
    "EstimatorLearner",
    "FittedModels",
    "LinearHypotheses",
    "shape_outputs",
]


def shape_outputs(raw: np.ndarray, kind: str) -> np.ndarray:
    """Outputs as tasks weigh them: their signs, limited to [-1, 1], or as they are."""
    if kind == "sign":
        return np.where(raw > 0, 1.0, -1.0)
    return np.clip(raw, -1.0, 1.0) if kind == "clipped" else raw


@dataclass(frozen=True, eq=False)
class LinearHypotheses:
    """Linear functions, one for each round.

    Attributes
    ----------
    coef : float64 array of shape (n_rounds, d)
        Coefficients.
    intercept : float64 array of shape (n_rounds, n_tasks + 1)
        Intercepts by task, and their mean for a task that is not known.
    kind : {"sign", "clipped", "number"}
        What outputs are.
    """

    coef: np.ndarray
    intercept: np.ndarray
    kind: str

    def check(self, n_features: int, n_tasks: int, n_rounds: int) -> None:
        """Refuse arrays that do not fit the model."""
        check_numbers("coef", self.coef, np.float64, (n_rounds, n_features))
        shape = (n_rounds, n_tasks + 1)
        check_numbers("intercept", self.intercept, np.float64, shape)
        check_finite("coef", self.coef)
        check_finite("intercept", self.intercept)

    def outputs(self, X: Any, task: np.ndarray) -> np.ndarray:
        """Values for rows."""
        raw = X @ self.coef.T + self.intercept.T[task]
        return shape_outputs(raw, self.kind)

    def with_tasks(self, place: np.ndarray, n_tasks: int) -> "LinearHypotheses":
        """The same with tasks inserted, which have the mean intercept.

        `place` is the new code of each task.
        """
        intercept = np.repeat(self.intercept[:, -1:], n_tasks + 1, axis=1)
        intercept[:, place] = self.intercept[:, :-1]
        return LinearHypotheses(self.coef, intercept, self.kind)

    def followed_by(self, other: "LinearHypotheses") -> "LinearHypotheses":
        """These rounds and then others, for the same tasks."""
        return LinearHypotheses(
            np.concatenate([self.coef, other.coef]),
            np.concatenate([self.intercept, other.intercept]),
            self.kind,
        )


class EstimatorLearner:
    """Any scikit-learn estimator whose fit takes weights.

    Parameters
    ----------
    estimator : classifier or regressor
        What is cloned for each fit.
    X : ndarray or sparse array of shape (n, d)
        Features.
    rng : RandomState
        Seeds the clones.
    kind : {"sign", "clipped", "number"}
        Classes -1 and 1, their probabilities where there are some, or numbers.
    """

    correlate = None

    def __init__(
        self, estimator: Any, X: Any, rng: np.random.RandomState, kind: str
    ) -> None:
        self._estimator = estimator
        self._X = X
        self._rng = rng
        self._kind = kind

    def fit(self, target: np.ndarray, root: np.ndarray) -> tuple[np.ndarray, Any]:
        """Fit a clone to labels times `root`, the roots of the weights.

        Kept is the fitted clone; a number if there was one label only.
        """
        rows = np.flatnonzero(root > 0)
        some = self._X if len(rows) == len(root) else self._X[rows]
        label = target[rows] / root[rows]
        if self._kind != "number":
            label = np.where(label > 0, 1, -1)
            if (label == label[0]).all():
                return np.full(len(root), float(label[0])), float(label[0])
        model = clone_for_round(self._estimator, self._rng)
        model.fit(some, label, sample_weight=root[rows] ** 2)
        return _predict(model, self._X, self._kind), model

    def with_penalty(self, penalty: float) -> "EstimatorLearner":
        """The same: these have penalties of their own, or none."""
        return self

    def finish(
        self, kept: Sequence[Any], scales: np.ndarray, kind: str
    ) -> "FittedModels":
        """The fitted models as hypotheses for new rows."""
        return FittedModels(list(kept), scales, kind)


@dataclass(frozen=True, eq=False)
class FittedModels:
    """Fitted estimators, one for each round.

    Attributes
    ----------
    models : list
        Estimators; a number is a constant prediction.
    scales : float64 array of shape (n_rounds,)
        Predictions are multiplied by them.
    kind : {"sign", "clipped", "number"}
        What outputs are.
    """

    models: list[Any]
    scales: np.ndarray
    kind: str

    def check(self, n_features: int, n_tasks: int, n_rounds: int) -> None:
        """Refuse arrays that do not fit the model."""
        demand(len(self.models) == n_rounds, "models")
        check_numbers("scales", self.scales, np.float64, (n_rounds,))
        check_finite("scales", self.scales)

    def outputs(self, X: Any, task: np.ndarray) -> np.ndarray:
        """Predictions for rows."""
        out = np.empty((X.shape[0], len(self.models)))
        for t, model in enumerate(self.models):
            constant = isinstance(model, float)
            out[:, t] = model if constant else _predict(model, X, self.kind)
        return shape_outputs(out * self.scales, self.kind)

    def with_tasks(self, place: np.ndarray, n_tasks: int) -> "FittedModels":
        """The same: these models do not know tasks."""
        return self

    def followed_by(self, other: "FittedModels") -> "FittedModels":
        """These rounds and then others."""
        scales = np.concatenate([self.scales, other.scales])
        return FittedModels([*self.models, *other.models], scales, self.kind)


def _predict(model: Any, X: Any, kind: str) -> np.ndarray:
    if kind == "clipped" and hasattr(model, "predict_proba"):
        return 2.0 * model.predict_proba(X)[:, 1] - 1
    return np.asarray(model.predict(X), dtype=np.float64)
