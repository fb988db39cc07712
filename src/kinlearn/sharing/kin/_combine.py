"""What is learned from predictions out of fold: weights, and calibration.

Probabilities are made right twice: those of each candidate before they are weighed, and
those of the combination.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from kinlearn.sharing.kin._weights import (
    LogLoss,
    SquaredLoss,
    TaskWeights,
    crowd_weights,
    evidence_of_rows,
    task_weights,
)

__all__ = [
    "Calibration",
    "Evidence",
    "calibration",
    "combine",
    "corrected",
    "loss_of",
    "losses_of",
    "sharpen",
    "temperature",
]

_LEAST_PROBABILITY = 1e-3  # a candidate that rules the truth out is not lost for ever
_ROWS_OF_PRIOR = 10.0  # in a task's variance: the crowd's counts like so many rows
_LEAST = 1e-6  # probabilities below count as this in logarithms
_SHARPEST = 4.0
_SPREAD_OF_TEMPERATURE = 0.25  # of its logarithm, before any row is seen
_SPREAD_OF_POWER = 0.5  # the same for candidates, which are less right
_SPREAD_OF_SHIFT = 0.5  # of a class's logit


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows, and each candidate's predictions for them by models not fitted to them.

    Attributes
    ----------
    predictions : float64 array of shape (n_candidates, n_samples[, n_classes])
        Numbers or probabilities.
    y : int32 or float64 array of shape (n_samples,)
        Class codes, or numbers.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.
    task : int array of shape (n_samples,)
        Task codes.
    n_tasks : int
        Number of tasks; some may have no rows here.
    """

    predictions: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    task: np.ndarray
    n_tasks: int

    @property
    def classes(self) -> bool:
        """Whether y holds classes."""
        return self.predictions.ndim == 3

    def only(self, rows: np.ndarray) -> "Evidence":
        """The evidence of some of the rows."""
        return Evidence(
            self.predictions[:, rows],
            self.y[rows],
            self.weight[rows],
            self.task[rows],
            self.n_tasks,
        )

    def corrected(self, corrections: "Sequence[Calibration | None]") -> "Evidence":
        """The evidence of calibrated predictions: a calibration per candidate."""
        if all(correction is None for correction in corrections):
            return self
        each = map(corrected, self.predictions, corrections)
        return replace(self, predictions=np.stack(list(each)))

    def _of_truth(self) -> np.ndarray:
        """One column per candidate: its probability of the truth."""
        truth = self.predictions[:, np.arange(len(self.y)), self.y].T
        return np.maximum(truth, _LEAST_PROBABILITY)

    def _errors(self) -> tuple[np.ndarray, float]:
        """One column per candidate, and the least variance that is not rounding.

        In units of the largest error, so that squares are of any size of y.
        """
        errors = self.y[:, None] - self.predictions.T
        size = max(errors.max(), -errors.min()) or 1.0
        rounding = np.finfo(np.float64).eps * np.abs(self.y).max() / size
        errors /= size
        return errors, max(rounding**2, np.finfo(np.float64).tiny)

    def crowd(self) -> np.ndarray:
        """Convex weights that are best overall.

        A task larger than the median one counts as the geometric mean of both, so that
        a huge task does not decide for small ones.
        """
        rows = np.bincount(self.task, weights=self.weight, minlength=self.n_tasks)
        typical = np.median(rows[rows > 0])
        fraction = np.sqrt(typical / np.maximum(rows, typical))
        weight = self.weight * fraction[self.task]
        group = np.zeros(len(self.y), dtype=np.int32)
        if self.classes:
            return crowd_weights(LogLoss(self._of_truth(), weight, group, 1))
        errors, least = self._errors()
        w = np.full(errors.shape[1], 1.0 / errors.shape[1])
        for _ in range(2):  # the noise is what equal weights leave, then what is left
            variance = np.average((errors @ w) ** 2, weights=weight)
            variance = np.maximum(variance, least)[None]
            w = crowd_weights(SquaredLoss(errors, weight, group, variance))
        return w

    def by_task(self, crowd: np.ndarray) -> TaskWeights:
        """Weights of each task, drawn to those of the crowd."""
        if self.classes:
            truth = self._of_truth()
            part = evidence_of_rows(self.y, self.weight, self.task, self.n_tasks)
            weight = self.weight * part[self.task]
            log_loss = LogLoss(truth, weight, self.task, self.n_tasks)
            return task_weights(log_loss, crowd, self.n_tasks)
        errors, least = self._errors()
        square = (errors @ crowd) ** 2
        prior = max(np.average(square, weights=self.weight), least)
        sums = np.bincount(self.task, self.weight * square, self.n_tasks)
        rows = np.bincount(self.task, self.weight, self.n_tasks)
        variance = (sums + _ROWS_OF_PRIOR * prior) / (rows + _ROWS_OF_PRIOR)
        loss = SquaredLoss(errors, self.weight, self.task, variance)
        return task_weights(loss, crowd, self.n_tasks)

    def harm_of_last(self, step: float) -> float:
        """How surely the last candidate does harm, with the weight `step`.

        The mean change of the loss of the rows, in standard errors, if a combination of
        the others gives way by so much; infinite if nothing varies.
        """
        before = replace(self, predictions=self.predictions[:-1])
        weights = before.by_task(before.crowd()).by_task[self.task]
        columns = self._of_truth() if self.classes else self._errors()[0]
        now, last = np.einsum("ik,ik->i", columns[:, :-1], weights), columns[:, -1]
        then = now + step * (last - now)
        harm = np.log(now / then) if self.classes else then**2 - now**2
        mean = np.average(harm, weights=self.weight)
        error = np.sqrt(self.weight @ (harm - mean) ** 2) / self.weight.sum()
        return float(mean / error) if error > 0 else np.inf

    def mixed(self, weights: np.ndarray) -> np.ndarray:
        """Predictions of the combination, by weights of each row."""
        return combine(self.predictions, weights)


def corrected(predictions: np.ndarray, correction: "Calibration | None") -> np.ndarray:
    """A candidate's predictions, calibrated; None leaves them as they are."""
    return predictions if correction is None else correction.apply(predictions)


def combine(
    predictions: Sequence[np.ndarray] | np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The mean of candidates' predictions, by weights of each row."""
    out = np.zeros(np.shape(predictions[0]))
    for k, part in enumerate(predictions):
        w = weights[:, k]
        out += (w if part.ndim == 1 else w[:, None]) * part
    return out


def losses_of(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Squared error or log loss of each row."""
    if predictions.ndim == 1:
        return (y - predictions) ** 2
    truth = np.maximum(predictions[np.arange(len(y)), y], _LEAST_PROBABILITY)
    return -np.log(truth)


def loss_of(predictions: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """The mean of these, to choose between settings of a candidate."""
    return float(np.average(losses_of(predictions, y), weights=weight))


@dataclass(frozen=True, eq=False)
class Calibration:
    """A power and shifts for the log probabilities of a candidate.

    Attributes
    ----------
    power : float
        Above 1 makes probabilities surer.
    shift : float64 array of shape (n_classes,)
        What is added to the log probabilities, before they sum to 1 again.
    """

    power: float
    shift: np.ndarray

    def apply(self, proba: np.ndarray) -> np.ndarray:
        """Calibrated probabilities; zero stays zero."""
        log = self.power * np.log(np.maximum(proba, _LEAST)) + self.shift
        return _normalised(np.where(proba > 0, log, -np.inf))


def _normalised(log: np.ndarray) -> np.ndarray:
    out = np.exp(log - log.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True)


def calibration(proba: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Calibration:
    """What makes a candidate's probabilities out of fold right (Platt's method).

    Power and shifts have normal priors, so that few rows change little.
    """
    possible = proba[np.arange(len(y)), y] > 0  # else the label sets are to blame
    proba, y, weight = proba[possible], y[possible], weight[possible]
    rows = np.arange(len(y))
    log = np.log(np.maximum(proba, _LEAST))
    out = proba <= 0  # a class that is ruled out takes no part
    n_classes = proba.shape[1]

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        power, shift = np.exp(x[0]), x[1:]
        p = _normalised(np.where(out, -np.inf, power * log + shift))
        truth = np.maximum(p[rows, y], np.finfo(np.float64).tiny)
        prior = (x[0] / _SPREAD_OF_POWER) ** 2 + ((shift / _SPREAD_OF_SHIFT) ** 2).sum()
        excess = weight[:, None] * p
        excess[rows, y] -= weight
        slope = np.r_[power * (excess * log).sum(), excess.sum(axis=0)]
        slope += x / np.r_[_SPREAD_OF_POWER, np.full(n_classes, _SPREAD_OF_SHIFT)] ** 2
        return prior / 2 - weight @ np.log(truth), slope

    limit = np.log(_SHARPEST)
    bounds = [(-limit, limit)] + [(None, None)] * n_classes
    found = minimize(
        loss, np.zeros(n_classes + 1), jac=True, bounds=bounds, method="L-BFGS-B"
    )
    return Calibration(float(np.exp(found.x[0])), found.x[1:])


def sharpen(proba: np.ndarray, power: float) -> np.ndarray:
    """Probabilities raised to a power, to sum 1 again; zero stays zero."""
    out = (proba / proba.max(axis=1, keepdims=True)) ** power
    return out / out.sum(axis=1, keepdims=True)


def temperature(proba: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """The power, from 1/4 to 4, that suits probabilities out of fold best.

    Its logarithm has a normal prior around 0, so that few rows change little.
    """

    total = weight.sum()

    def loss(log_power: float) -> float:
        prior = (log_power / _SPREAD_OF_TEMPERATURE) ** 2 / 2
        return total * loss_of(sharpen(proba, np.exp(log_power)), y, weight) + prior

    limit = np.log(_SHARPEST)
    found = minimize_scalar(loss, bounds=(-limit, limit), method="bounded")
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0
