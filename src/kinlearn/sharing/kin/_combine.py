"""From predictions out of fold to weights: what is learned about the candidates."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn.sharing.kin._weights import (
    LogLoss,
    SquaredLoss,
    TaskWeights,
    crowd_weights,
    task_weights,
)

__all__ = ["Evidence", "combine", "corrected", "loss_of"]

_LEAST_PROBABILITY = 1e-3  # a candidate that rules the truth out is not lost for ever
_ROWS_OF_PRIOR = 10.0  # in a task's variance: the crowd's counts like so many rows


@dataclass(frozen=True, eq=False)
class Evidence:
    """Rows, and each candidate's predictions for them by models not fitted to them.

    Attributes
    ----------
    answers : float64 array of shape (n_candidates, n_samples[, n_classes])
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

    answers: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    task: np.ndarray
    n_tasks: int

    @property
    def classes(self) -> bool:
        """Whether y holds classes."""
        return self.answers.ndim == 3

    def only(self, rows: np.ndarray) -> "Evidence":
        """The evidence of some of the rows.

        Parameters
        ----------
        rows : bool or int array
            Which.

        Returns
        -------
        Evidence
            Of these rows.
        """
        return Evidence(
            self.answers[:, rows],
            self.y[rows],
            self.weight[rows],
            self.task[rows],
            self.n_tasks,
        )

    def corrected(self, corrections: Sequence[Any]) -> "Evidence":
        """The evidence of calibrated predictions.

        Parameters
        ----------
        corrections : sequence of Calibration or None
            One for each candidate; None leaves its predictions as they are.

        Returns
        -------
        Evidence
            Of the same rows.
        """
        parts = zip(self.answers, corrections, strict=True)
        return replace(self, answers=np.stack([corrected(*part) for part in parts]))

    def _of_truth(self) -> np.ndarray:
        """One column per candidate: its probability of the truth."""
        truth = self.answers[:, np.arange(len(self.y)), self.y].T
        return np.maximum(truth, _LEAST_PROBABILITY)

    def _errors(self) -> tuple[np.ndarray, float]:
        """One column per candidate, and the least variance that is not rounding.

        In units of the largest error, so that squares are of any size of y.
        """
        errors = self.y[:, None] - self.answers.T
        size = np.abs(errors).max() or 1.0
        rounding = np.finfo(np.float64).eps * np.abs(self.y).max() / size
        return errors / size, max(rounding**2, np.finfo(np.float64).tiny)

    def crowd(self) -> np.ndarray:
        """Weights that are best overall.

        A task larger than the median one counts as the geometric mean of both, so that
        a huge task does not decide for small ones.

        Returns
        -------
        float64 array of shape (n_candidates,)
            Convex weights.
        """
        rows = np.bincount(self.task, weights=self.weight, minlength=self.n_tasks)
        typical = np.median(rows[rows > 0])
        share = np.sqrt(typical / np.maximum(rows, typical))
        weight = self.weight * share[self.task]
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
        """Weights of each task.

        Parameters
        ----------
        crowd : float64 array of shape (n_candidates,)
            What they are drawn to.

        Returns
        -------
        TaskWeights
            The weights.
        """
        if self.classes:
            truth = self._of_truth()
            log_loss = LogLoss(truth, self.weight, self.task, self.n_tasks)
            return task_weights(log_loss, crowd, self.n_tasks)
        errors, least = self._errors()
        square = (errors @ crowd) ** 2
        prior = max(np.average(square, weights=self.weight), least)
        sums = np.bincount(self.task, self.weight * square, self.n_tasks)
        rows = np.bincount(self.task, self.weight, self.n_tasks)
        variance = (sums + _ROWS_OF_PRIOR * prior) / (rows + _ROWS_OF_PRIOR)
        loss = SquaredLoss(errors, self.weight, self.task, variance)
        return task_weights(loss, crowd, self.n_tasks)

    def mixed(self, weights: np.ndarray) -> np.ndarray:
        """Predictions of the combination.

        Parameters
        ----------
        weights : float64 array of shape (n_samples, n_candidates)
            Of each row.

        Returns
        -------
        float64 array of shape (n_samples[, n_classes])
            Numbers or probabilities.
        """
        return combine(self.answers, weights)


def corrected(answers: np.ndarray, correction: Any) -> np.ndarray:
    """A candidate's predictions, calibrated.

    Parameters
    ----------
    answers : float64 array of shape (n_samples[, n_classes])
        Numbers or probabilities.
    correction : Calibration or None
        What calibrates them; None is nothing.

    Returns
    -------
    float64 array of shape (n_samples[, n_classes])
        The predictions.
    """
    return answers if correction is None else correction.apply(answers)


def combine(
    answers: Sequence[np.ndarray] | np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """The weighted mean of candidates' predictions.

    Parameters
    ----------
    answers : sequence of arrays of shape (n_samples[, n_classes])
        One for each candidate.
    weights : float64 array of shape (n_samples, n_candidates)
        Of each row.

    Returns
    -------
    float64 array of shape (n_samples[, n_classes])
        The mean.
    """
    out = np.zeros(np.shape(answers[0]))
    for k, part in enumerate(answers):
        w = weights[:, k]
        out += (w if part.ndim == 1 else w[:, None]) * part
    return out


def loss_of(answers: np.ndarray, y: np.ndarray, weight: np.ndarray) -> float:
    """Mean loss of predictions, to choose between settings of a candidate.

    Parameters
    ----------
    answers : float64 array of shape (n_samples[, n_classes])
        Numbers or probabilities.
    y : int32 or float64 array of shape (n_samples,)
        Class codes, or numbers.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.

    Returns
    -------
    float
        Squared error, or log loss.
    """
    if answers.ndim == 1:
        return float(np.average((y - answers) ** 2, weights=weight))
    truth = np.maximum(answers[np.arange(len(y)), y], _LEAST_PROBABILITY)
    return float(np.average(-np.log(truth), weights=weight))
