"""The boosting engine: rounds of learning, weighing, and writing down.

Weights live as logarithms, and each group of rows (the target, the source, a
label of the source) is normalised by its own largest weight where a share is
needed. So no number of rounds makes a weight vanish, or an error 0 / 0.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn.transfer._weight_updates import (
    CHANCE,
    RoundErrors,
    learner_vote,
    source_factor,
    target_factor,
)

__all__ = ["Boosted", "Transfer", "WeightHistory", "boost", "voting_rounds"]


@dataclass(frozen=True, eq=False)
class Transfer:
    """Rows of one transfer: a target, and what may help it.

    Attributes
    ----------
    rows : int32 array of shape (m,)
        Row numbers in the training data; those of no weight are left out.
    y : int32 or float64 array of shape (m,)
        Classes, counted within those that these rows have; or numbers.
    task : int32 array of shape (m,)
        Task codes.
    is_target : bool array of shape (m,)
        Which rows are the target's.
    start : float64 array of shape (m,)
        Weights to begin with, all positive.
    n_tasks, n_classes : int
        How many there are; no classes for numbers.
    """

    rows: np.ndarray
    y: np.ndarray
    task: np.ndarray
    is_target: np.ndarray
    start: np.ndarray
    n_tasks: int
    n_classes: int

    @property
    def has_source(self) -> bool:
        """Whether there is a row to transfer from."""
        return not self.is_target.all()

    def some(self, kept: np.ndarray) -> "Transfer":
        """The transfer with those rows only for which a mask is True."""
        return Transfer(
            rows=self.rows[kept],
            y=self.y[kept],
            task=self.task[kept],
            is_target=self.is_target[kept],
            start=self.start[kept],
            n_tasks=self.n_tasks,
            n_classes=self.n_classes,
        )


@dataclass(frozen=True, eq=False)
class WeightHistory:
    """Where the weight was, round by round.

    Attributes
    ----------
    task_share : float64 array of shape (n_rounds, n_tasks)
        Share of each task in all weight, as the round's learner saw it.
    source_share : float64 array of shape (n_rounds, n_classes)
        Share of each label of the source in all weight; one column for numbers.
    target_share : float64 array of shape (n_rounds, n_classes)
        The same for the target.
    target_error : float64 array of shape (n_rounds,)
        Error of the round's learner on the target, weighted.
    vote : float64 array of shape (n_rounds,)
        Vote of the learner; 0 where its error was 1/2 or more.
    """

    task_share: np.ndarray
    source_share: np.ndarray
    target_share: np.ndarray
    target_error: np.ndarray
    vote: np.ndarray


@dataclass(frozen=True, eq=False)
class Boosted:
    """What the rounds made: learners, the votes that count, and the history."""

    learners: Any
    votes: np.ndarray
    history: WeightHistory
    alone: bool = False  # whether the source was left out, because none could vote


def voting_rounds(n_rounds: int, keep: str, has_source: bool) -> np.ndarray:
    """Which rounds vote: the second half, from round N/2 to N; or all.

    Without a source there is nothing that must settle first, so all do.

    Parameters
    ----------
    n_rounds : int
        Rounds that were run.
    keep : {"second_half", "all"}
        The parameter of the estimator.
    has_source : bool
        Whether there is a source.

    Returns
    -------
    bool array of shape (n_rounds,)
        True for those that vote.

    Examples
    --------
    >>> from kinlearn.transfer._boost import voting_rounds
    >>> voting_rounds(4, "second_half", True)
    array([False,  True,  True,  True])
    """
    first = -(-n_rounds // 2) - 1 if keep == "second_half" and has_source else 0
    return np.arange(n_rounds) >= first


class Weights:
    """Weights of the rows of a transfer, as logarithms."""

    def __init__(self, transfer: Transfer, start: np.ndarray | None = None) -> None:
        self._transfer = transfer
        self._log = np.log(transfer.start if start is None else start)
        self._source = np.flatnonzero(~transfer.is_target)
        self._target = np.flatnonzero(transfer.is_target)

    def normalised(self) -> np.ndarray:
        """Weights that sum to one."""
        return _shares(self._log)

    def of_target(self) -> np.ndarray:
        """Weights of the target's rows, which sum to one."""
        return _shares(self._log[self._target])

    def source_errors(self, wrong: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """By label, wrong weight as a share of all source's and of the label's."""
        n_classes = self._transfer.n_classes
        if not len(self._source):
            return np.zeros(n_classes), np.zeros(n_classes)
        y, wrong = self._transfer.y[self._source], wrong[self._source]
        log = self._log[self._source]
        of_all = np.bincount(y, _shares(log) * wrong, minlength=n_classes)
        top = np.full(n_classes, -np.inf)
        np.maximum.at(top, y, log)
        in_label = np.exp(log - top[y])
        total = np.bincount(y, in_label, minlength=n_classes)
        bad = np.bincount(y, in_label * wrong, minlength=n_classes)
        return of_all, bad / np.where(total > 0, total, 1.0)

    def scale(self, target: np.ndarray, source: np.ndarray | float) -> None:
        """Add to the logarithms of the target's and of the source's weights."""
        self._log[self._target] += target
        self._log[self._source] += source

    def restart_target(self) -> None:
        """Spread the target's weight as it was in the beginning."""
        log = self._log[self._target]
        start = np.log(self._transfer.start[self._target])
        self._log[self._target] = start + _log_sum(log) - _log_sum(start)

    def by_task(
        self, normalised: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Share of each task, and of each class of the source and the target."""
        t = self._transfer
        n_classes = max(t.n_classes, 1)
        y = t.y if t.n_classes else np.zeros(len(t.rows), dtype=np.int32)
        place = y + n_classes * t.is_target
        by_class = np.bincount(place, normalised, minlength=2 * n_classes)
        by_task = np.bincount(t.task, normalised, minlength=t.n_tasks)
        return by_task, by_class[:n_classes], by_class[n_classes:]


def _shares(log: np.ndarray) -> np.ndarray:
    share = np.exp(log - log.max())
    return share / share.sum()


def _log_sum(log: np.ndarray) -> float:
    top = log.max()
    return top + np.log(np.exp(log - top).sum())


class Notes:
    """The history while it is being written."""

    def __init__(self) -> None:
        self._lines: list[tuple[Any, ...]] = []

    def add(
        self, shares: tuple[np.ndarray, ...], target_error: float, vote: float
    ) -> None:
        self._lines.append((*shares, target_error, vote))

    def history(self) -> WeightHistory:
        return WeightHistory(*map(np.array, zip(*self._lines, strict=True)))


def boost(
    transfer: Transfer,
    learner: Any,
    *,
    n_rounds: int,
    correct: Callable[[RoundErrors], np.ndarray],
    keep: str,
    on_round: Callable[[int], AbstractContextManager[Any]],
) -> Boosted:
    """Boost classifiers on a source and a target.

    Parameters
    ----------
    transfer : Transfer
        The rows.
    learner : object
        ``learner.learn(transfer, weight)`` fits one classifier to weights that
        sum to one, keeps it, and returns its predictions for the rows;
        ``learner.finish()`` returns all that it kept.
    n_rounds : int
        Number of rounds.
    correct : callable
        From `RoundErrors` to a factor for each label of the source.
    keep : {"second_half", "all"}
        Which rounds vote.
    on_round : callable
        Returns a context manager for a round's number.

    Returns
    -------
    Boosted
        The learners, with a vote for each; 0 is none.
    """
    weights, notes = Weights(transfer), Notes()
    is_target, has_source = transfer.is_target, transfer.has_source
    beta = source_factor(transfer.start[~is_target].sum(), n_rounds)
    n_target = transfer.start[is_target].sum()
    for number in range(n_rounds):
        with on_round(number):
            # 1. Learn from all rows, each with its weight.
            weight = weights.normalised()
            wrong = learner.learn(transfer, weight) != transfer.y
            # 2. What is wrong, by side and by label?
            target_error = float((weights.of_target() * wrong[is_target]).sum())
            vote = learner_vote(target_error, n_target)
            notes.add(weights.by_task(weight), target_error, vote)
            # 3. Wrong rows of the target gain, wrong rows of the source lose.
            source_wrong = wrong[~is_target] * np.log(beta)
            if not has_source and not 0.0 < target_error < CHANCE:
                break
            if target_error >= CHANCE:
                factor, gain = np.full(transfer.n_classes, beta), 1.0
            else:
                of_all, within = weights.source_errors(wrong)
                factor = correct(RoundErrors(target_error, of_all, within, beta))
                gain = target_factor(target_error)
            weights.scale(
                wrong[is_target] * np.log(gain),
                np.log(factor)[transfer.y[~is_target]] + source_wrong,
            )
            # 4. Where AdaBoost would end, the target begins anew.
            if not 0.0 < target_error < CHANCE:
                weights.restart_target()
    history = notes.history()
    return Boosted(
        learner.finish(), _votes_that_count(history.vote, keep, has_source), history
    )


def _votes_that_count(vote: np.ndarray, keep: str, has_source: bool) -> np.ndarray:
    chosen = np.where(voting_rounds(len(vote), keep, has_source), vote, 0.0)
    return chosen if chosen.any() else vote
