"""Rounds of TrAdaBoost.R2, in one stage and in two (Pardoe & Stone 2010).

An error of a row is its absolute residual over the largest one, from 0 to 1; it
takes the place of right and wrong. Weights live as logarithms.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np
from scipy.optimize import brentq

from kinlearn.transfer._boost import Boosted, Notes, Transfer, Weights, voting_rounds
from kinlearn.transfer._weight_updates import (
    CHANCE,
    learner_vote,
    source_factor,
    target_factor,
)
from kinlearn.utils import clone_for_round

__all__ = [
    "TINY",
    "RegressorLearner",
    "boost_numbers",
    "source_shrink",
    "weighted_median",
]

TINY = 1e-300  # the least weight of a row: 0 has no logarithm


class RegressorLearner:
    """Any scikit-learn regressor whose fit takes weights.

    Parameters
    ----------
    estimator : regressor
        What is cloned for each round.
    X : ndarray or sparse array of shape (m, n_features)
        Features of the rows of a transfer.
    rng : RandomState
        Seeds the clones.
    """

    def __init__(self, estimator: Any, X: Any, rng: np.random.RandomState) -> None:
        self._estimator = estimator
        self._X = X
        self._rng = rng
        self.models: list[Any] = []

    def learn(self, transfer: Transfer, weight: np.ndarray) -> np.ndarray:
        """Fit the round's regressor; its predictions for the rows."""
        model = clone_for_round(self._estimator, self._rng)
        weight = weight * transfer.start.sum()
        model.fit(self._X, transfer.y, sample_weight=weight)
        self.models.append(model)
        return model.predict(self._X)


def boost_numbers(
    transfer: Transfer,
    learner: RegressorLearner,
    *,
    n_rounds: int,
    keep: str,
    on_round: Callable[[int], AbstractContextManager[Any]],
    frozen: np.ndarray | None = None,
) -> Boosted:
    """Boost regressors on a source and a target.

    Parameters
    ----------
    transfer : Transfer
        The rows.
    learner : RegressorLearner
        Fits one regressor a round, and keeps it.
    n_rounds : int
        Number of rounds.
    keep : {"second_half", "all"}
        Which rounds vote.
    on_round : callable
        Returns a context manager for a round's number.
    frozen : float array of shape (m,), default=None
        Weights to begin with instead of the transfer's; the source keeps its
        own, and only rows of the target gain (AdaBoost.R2' of the two-stage
        form).

    Returns
    -------
    Boosted
        The regressors, with a vote for each; 0 is none.
    """
    weights, notes = Weights(transfer, frozen), Notes()
    is_target, has_source = transfer.is_target, transfer.has_source
    log_beta = np.log(source_factor(transfer.start[~is_target].sum(), n_rounds))
    n_target = transfer.start[is_target].sum()
    for number in range(n_rounds):
        with on_round(number):
            weight = weights.normalised()
            residual = np.abs(learner.learn(transfer, weight) - transfer.y)
            largest = (residual if frozen is None else residual[is_target]).max()
            error = residual / largest if largest > 0 else np.zeros(len(residual))
            target_error = float((weights.of_target() * error[is_target]).sum())
            vote = learner_vote(target_error, n_target)
            notes.add(weights.by_task(weight), target_error, vote)
            if target_error >= CHANCE or target_error == 0.0:
                break
            weights.scale(
                error[is_target] * np.log(target_factor(target_error)),
                0.0 if frozen is not None else error[~is_target] * log_beta,
            )
    history = notes.history()
    voting = voting_rounds(len(history.vote), keep, has_source and frozen is None)
    votes = np.where(voting, history.vote, 0.0)
    if not votes.any():
        votes = history.vote
    return Boosted(learner.models, votes, history)


def source_shrink(
    start: np.ndarray, error: np.ndarray, is_target: np.ndarray, share: float
) -> np.ndarray:
    """Weights of the next stage: the source loses until the target has its share.

    Parameters
    ----------
    start : float array of shape (m,)
        Weights of this stage.
    error : float array of shape (m,)
        Errors of the rows, from 0 to 1.
    is_target : bool array of shape (m,)
        Rows that keep their weight.
    share : float
        Share of all weight that the target is to have.

    Returns
    -------
    float array of shape (m,)
        Weights that sum to one: those of the source times beta to the power of
        their error. Where no beta reaches the share (rows without an error keep
        their weight), the source as a whole is scaled down to it.
    """
    source, target = start[~is_target], start[is_target].sum()
    wanted = target * (1.0 - share) / share  # weight that the source may keep

    def excess(log_beta: float) -> float:
        return (source * np.exp(error[~is_target] * log_beta)).sum() - wanted

    kept = source
    if excess(0.0) > 0:
        low = -700.0
        if excess(low) < 0:
            kept = source * np.exp(error[~is_target] * brentq(excess, low, 0.0))
        else:
            kept = source * (wanted / source.sum())
    out = np.array(start)
    out[~is_target] = kept
    return np.maximum(out / out.sum(), TINY)


def weighted_median(answers: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """For each row the prediction at which half of the votes is reached.

    Parameters
    ----------
    answers : float array of shape (n, n_learners)
        What each learner predicts.
    votes : float array of shape (n_learners,)
        Weights of the learners.

    Returns
    -------
    float array of shape (n,)
        One of the row's predictions.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.transfer._boost_numbers import weighted_median
    >>> weighted_median(np.array([[3.0, 1.0, 2.0]]), np.array([1.0, 1.0, 5.0]))
    array([2.])
    """
    order = np.argsort(answers, axis=1)
    below = np.cumsum(votes[order], axis=1)
    place = (below >= below[:, -1:] / 2).argmax(axis=1)
    return np.take_along_axis(
        answers, np.take_along_axis(order, place[:, None], axis=1), axis=1
    )[:, 0]
