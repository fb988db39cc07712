"""Probabilities made right by rows out of fold: of each candidate, and of all."""

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from kinlearn.sharing.kin._combine import loss_of

__all__ = ["Calibration", "calibration", "sharpen", "temperature"]

_LEAST = 1e-6  # probabilities below count as this in logarithms
_SHARPEST = 4.0
_SPREAD_OF_TEMPERATURE = 0.25  # of its logarithm, before any row is seen
_SPREAD_OF_POWER = 0.5  # the same for candidates, which are less right
_SPREAD_OF_SHIFT = 0.5  # of a class's logit


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
        """Calibrated probabilities.

        Parameters
        ----------
        proba : float64 array of shape (n_samples, n_classes)
            Probabilities.

        Returns
        -------
        float64 array of shape (n_samples, n_classes)
            Probabilities; zero stays zero.
        """
        log = self.power * np.log(np.maximum(proba, _LEAST)) + self.shift
        return _normalised(np.where(proba > 0, log, -np.inf))


def _normalised(log: np.ndarray) -> np.ndarray:
    out = np.exp(log - log.max(axis=1, keepdims=True))
    return out / out.sum(axis=1, keepdims=True)


def calibration(proba: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Calibration:
    """What makes a candidate's probabilities out of fold right (Platt's method).

    Power and shifts have normal priors, so that few rows change little.

    Parameters
    ----------
    proba : float64 array of shape (n_samples, n_classes)
        Probabilities.
    y : int array of shape (n_samples,)
        Class codes.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    Calibration
        The power and the shifts.
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
    """Probabilities raised to a power, to sum 1 again.

    Parameters
    ----------
    proba : float64 array of shape (n_samples, n_classes)
        Probabilities.
    power : float
        Above 1 makes them surer.

    Returns
    -------
    float64 array of shape (n_samples, n_classes)
        Probabilities; the order of classes stays, and zero stays zero.
    """
    out = (proba / proba.max(axis=1, keepdims=True)) ** power
    return out / out.sum(axis=1, keepdims=True)


def temperature(proba: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """The power that suits probabilities out of fold best.

    Its logarithm has a normal prior around 0, so that few rows change little.

    Parameters
    ----------
    proba : float64 array of shape (n_samples, n_classes)
        Probabilities.
    y : int array of shape (n_samples,)
        Class codes.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    float
        Between 1/4 and 4.
    """

    total = weight.sum()

    def loss(log_power: float) -> float:
        prior = (log_power / _SPREAD_OF_TEMPERATURE) ** 2 / 2
        return total * loss_of(sharpen(proba, np.exp(log_power)), y, weight) + prior

    limit = np.log(_SHARPEST)
    found = minimize_scalar(loss, bounds=(-limit, limit), method="bounded")
    return float(np.exp(found.x)) if found.fun < loss(0.0) else 1.0
