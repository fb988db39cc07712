"""The boosting engine: rounds of learning, weighing, and writing down.

Weights live as logarithms, and each group of rows (the target, the source, a label of
the source) is normalised by its own largest weight where a fraction is needed. So no
number of rounds makes a weight vanish, or an error 0 / 0.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from kinlearn.transfer._weight_updates import (
    CHANCE,
    RoundErrors,
    Update,
    learner_vote,
    source_factor,
    target_factor,
)
from kinlearn.utils import quiet_round
from kinlearn.utils._loaded import check_finite, check_numbers

__all__ = [
    "Boosted",
    "Transfer",
    "WeightHistory",
    "Weights",
    "boost",
    "play_rounds",
    "voting_rounds",
]


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

    @cached_property
    def target_fractions(self) -> np.ndarray:
        """Fraction of each class in the weight that the target has to begin with."""
        rows = self.is_target
        total = np.bincount(self.y[rows], self.start[rows], minlength=self.n_classes)
        return total / total.sum()

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
        Fraction of all weight that each task has, as the round's learner saw it.
    source_share : float64 array of shape (n_rounds, n_classes)
        The same of each label of the source; one column for numbers.
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

    def check(self, n_features: int, n_classes: int) -> None:
        """Refuse numbers by which compiled code would read outside of the arrays."""
        if hasattr(self.learners, "check"):
            self.learners.check(n_features, n_classes)
            n = len(self.learners.roots)
        else:
            n = len(self.learners)
        check_numbers("votes", self.votes, np.float64, (n,))
        check_finite("votes", self.votes)


class Weights:
    """Weights of the rows of a transfer, as logarithms."""

    def __init__(self, transfer: Transfer, start: np.ndarray | None = None) -> None:
        self.transfer = transfer
        self._log = np.log(transfer.start if start is None else start)
        self._normalised: np.ndarray | None = None
        self.source = _places(~transfer.is_target)
        self.target = _places(transfer.is_target)

    def normalised(self) -> np.ndarray:
        """Weights that sum to one."""
        if self._normalised is None:
            self._normalised = _fractions(self._log)
        return self._normalised

    @cached_property
    def target_rows(self) -> Transfer:
        """The transfer without its source."""
        return self.transfer.some(self.transfer.is_target)

    def of_target(self) -> np.ndarray:
        """Weights of the target's rows, which sum to one."""
        return _fractions(self._log[self.target])

    def of_source(self) -> np.ndarray:
        """Weights of the source's rows, which sum to one."""
        return _fractions(self._log[self.source])

    def source_errors(self, error: np.ndarray) -> dict[str, np.ndarray]:
        """The fields of `RoundErrors` about the source."""
        n_classes = self.transfer.n_classes
        if not self.transfer.has_source:
            none = np.zeros(n_classes)
            return {"source": none, "within": none, "fraction": none}
        y, error = self.transfer.y[self.source], error[self.source]
        log = self._log[self.source]
        weight = _fractions(log)
        of_all = np.bincount(y, weight * error, minlength=n_classes)
        top = np.full(n_classes, -np.inf)
        np.maximum.at(top, y, log)
        in_label = np.exp(log - top[y])
        total = np.bincount(y, in_label, minlength=n_classes)
        bad = np.bincount(y, in_label * error, minlength=n_classes)
        return {
            "source": of_all,
            "within": bad / np.where(total > 0, total, 1.0),
            "fraction": np.bincount(y, weight, minlength=n_classes),
        }

    def scale(self, target: np.ndarray, source: np.ndarray | float) -> None:
        """Add to the logarithms of the target's and of the source's weights."""
        self._normalised = None
        self._log[self.target] += target
        self._log[self.source] += source

    def restart_target(self) -> None:
        """Spread the target's weight as it was in the beginning."""
        self._normalised = None
        log = self._log[self.target]
        start = np.log(self.transfer.start[self.target])
        self._log[self.target] = start + _log_sum(log) - _log_sum(start)

    def balance(self) -> None:
        """Give each class of the target, and each of the source, equal weight."""
        self._normalised = None
        for rows in (self.source, self.target):
            log, y = self._log[rows], self.transfer.y[rows]
            if not len(log):
                continue
            present = np.unique(y)
            total = _log_sum(log) - np.log(len(present))
            for label in present:
                log[y == label] += total - _log_sum(log[y == label])
            self._log[rows] = log

    def by_task(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Fraction of each task, and of each class of the source and the target."""
        t, weight = self.transfer, self.normalised()
        n_classes = max(t.n_classes, 1)
        y = t.y if t.n_classes else np.zeros(len(t.rows), dtype=np.int32)
        place = y + n_classes * t.is_target
        by_class = np.bincount(place, weight, minlength=2 * n_classes)
        by_task = np.bincount(t.task, weight, minlength=t.n_tasks)
        return by_task, by_class[:n_classes], by_class[n_classes:]


def _places(mask: np.ndarray) -> np.ndarray | slice:
    """Where a mask is True; a slice, which copies nothing, if that is one stretch."""
    places = np.flatnonzero(mask)
    if len(places) and places[-1] - places[0] + 1 == len(places):
        return slice(places[0], places[-1] + 1)
    return places


def _fractions(log: np.ndarray) -> np.ndarray:
    weight = np.exp(log - log.max())
    return weight / weight.sum()


def _log_sum(log: np.ndarray) -> float:
    top = log.max()
    return top + np.log(np.exp(log - top).sum())


def play_rounds(
    weights: Weights,
    learner: Any,
    update: Update,
    *,
    n_rounds: int,
    on_round: Callable[[int], AbstractContextManager[Any]] = quiet_round,
) -> Iterator[float]:
    """Run rounds; yield their target errors, with the weights that they learned from.

    Parameters
    ----------
    weights : Weights
        Of the rows, to begin with; changed.
    learner : object
        ``learner.learn(weights)`` fits one model, keeps it, and returns its predictions
        for the rows of the transfer; ``learner.finish()`` returns all that it kept.
    update : Update
        The errors of rows, and how weights follow from them.
    n_rounds : int
        Number of rounds, at most.
    on_round : callable
        Returns a context manager for a round's number.
    """
    transfer, source, target = weights.transfer, weights.source, weights.target
    has_source = transfer.has_source
    log_beta = np.log(beta := source_factor(transfer.start[source].sum(), n_rounds))
    for number in range(n_rounds):
        with on_round(number):
            if update.balance:
                weights.balance()
            # 1. Learn from the rows, each with its weight, and see what is wrong.
            predicted = learner.learn(weights)
            error = update.row_errors(predicted, transfer.y, transfer.is_target)
            target_error = update.mean_error(weights.of_target(), error[target])
            yield target_error
            # 2. Where AdaBoost would end, this ends too, or the target begins anew.
            by_chance = target_error >= CHANCE
            at_end = by_chance or target_error == 0.0
            ends = at_end and (update.ends or not has_source)
            if ends and by_chance:
                return
            # 3. Wrong rows of the target gain, wrong rows of the source lose.
            gain = 1.0 if by_chance else target_factor(target_error)
            loss: Any = error[source] * log_beta if update.moves_source else 0.0
            if update.correct is not None:
                factor = np.full(transfer.n_classes, beta)
                if not by_chance:
                    wrong = weights.source_errors(error)
                    factor = update.correct(
                        RoundErrors(
                            target_error,
                            beta_source=beta,
                            target_fraction=transfer.target_fractions,
                            **wrong,
                        )
                    )
                loss = np.log(factor)[transfer.y[source]] + loss
            weights.scale(error[target] * np.log(gain), loss)
            if ends:
                return
            if at_end:
                weights.restart_target()


def boost(
    weights: Weights,
    learner: Any,
    update: Update,
    *,
    voters: str = "all",
    **rounds: Any,
) -> Boosted:
    """The learners of all rounds, with a vote for each; 0 is none.

    `voters`, "second_half" or "all", says which rounds vote; for the other parameters
    see `play_rounds`.
    """
    transfer = weights.transfer
    n_target = transfer.start[weights.target].sum()
    found = [
        (*weights.by_task(), error, learner_vote(error, n_target))
        for error in play_rounds(weights, learner, update, **rounds)
    ]
    history = WeightHistory(*map(np.array, zip(*found, strict=True)))
    votes = np.where(voting_rounds(len(found), voters), history.vote, 0.0)
    return Boosted(learner.finish(), votes if votes.any() else history.vote, history)


def voting_rounds(n_rounds: int, voters: str) -> np.ndarray:
    """Which rounds vote: the second half, from round N/2 to N; or all.

    Examples
    --------
    >>> from kinlearn.transfer._boost import voting_rounds
    >>> voting_rounds(4, "second_half")
    array([False,  True,  True,  True])
    """
    first = -(-n_rounds // 2) - 1 if voters == "second_half" else 0
    return np.arange(n_rounds) >= first
