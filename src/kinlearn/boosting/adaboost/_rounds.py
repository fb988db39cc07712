"""The rounds of boosting whole trees: which trees, their votes, and the weights."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinlearn.tasks import with_task
from kinlearn.trees.internal import TreeRounds
from kinlearn.utils import clone_for_round

__all__ = [
    "HeldBack",
    "RoundTrees",
    "Rounds",
    "VoteRule",
    "boost_trees",
    "reweighted",
    "take",
]


@dataclass(frozen=True)
class VoteRule:
    """How the error of a tree becomes votes, and new weights.

    Attributes
    ----------
    samme : bool
        Whether votes know the number of classes of each task (SAMME), or not (M1).
    learning_rate : float
        Votes are multiplied by it.
    """

    samme: bool
    learning_rate: float

    def gains(self, error: float, n_labels: np.ndarray, least: float) -> np.ndarray:
        """Logarithm of the factor of wrong rows in tasks of so many classes; or 0.

        An error of less than `least` counts as that.
        """
        error = min(max(error, least), 1.0)
        gain = np.log((1.0 - error) / error) if error < 1.0 else -np.inf
        of_task = np.full(len(n_labels), gain)
        if self.samme:
            of_task += np.log(np.maximum(n_labels - 1, 1))
        return self.learning_rate * np.maximum(of_task, 0.0)

    def votes(self, error: float, n_labels: np.ndarray, n_rows: float) -> np.ndarray:
        """Votes, limited to that of half a wrong row of so many.

        A tree without a fault is the last one, as all others would be the same: its
        vote is not made smaller.
        """
        gains = self.gains(error, n_labels, 0.5 / max(n_rows, 2.0))
        return gains / self.learning_rate if error == 0.0 else gains

    def log_factors(
        self,
        right: np.ndarray,
        wrong: np.ndarray,
        task: np.ndarray,
        error: float,
        n_labels: np.ndarray,
        n_rows: float,
    ) -> np.ndarray:
        """Logarithms of what a round multiplies the weights of rows by.

        Right rows lose under M1, as it is printed; wrong rows gain under SAMME.
        """
        least = 0.5 / max(n_rows, 2.0) if self.samme else 1e-300
        gain = self.gains(error, n_labels, least)[task]
        return np.where(wrong, gain, 0.0) if self.samme else np.where(right, -gain, 0.0)


def reweighted(weight: np.ndarray, factors: np.ndarray) -> tuple[np.ndarray, float]:
    """Weights that sum to one, and what they had summed to."""
    weight = weight * np.exp(factors)
    total = float(weight.sum())
    return weight / total, total


def take(X: Any, rows: np.ndarray) -> Any:
    """Some rows; no copy if they are all."""
    return X if len(rows) == X.shape[0] else X[rows]


class RoundTrees:
    """Fits the tree of a round to rows, and predicts these.

    Our own trees bin the rows once where `share_bins` allows it; others are fitted as
    they are.
    """

    def __init__(
        self,
        tree: Any,
        X: Any,
        task: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        *,
        share_bins: bool,
    ) -> None:
        self.labels, self.task, self.weight = labels, task, weight
        self._tree = tree
        self._packed = with_task(X, task)
        self._prepared = None
        if share_bins and TreeRounds.suits(tree):
            self._prepared = TreeRounds(tree, self._packed, labels, weight)

    def fit(
        self, round_weight: np.ndarray, rng: np.random.RandomState
    ) -> tuple[Any, np.ndarray]:
        """A tree for weights that sum to one, and which rows it gets wrong."""
        tree = clone_for_round(self._tree, rng)
        # As much in all as in the beginning, so that settings of the trees that are
        # about weight mean the same.
        weight = round_weight * self.weight.sum()
        if self._prepared is not None:
            self._prepared.fit(tree, weight)
            predicted = self._prepared.predict(tree)
        else:
            tree.fit(self._packed, self.labels, sample_weight=weight)
            predicted = tree.predict(self._packed)
        return tree, predicted != self.labels


class HeldBack:
    """Rows held back: the error of the votes so far on them, after each round."""

    def __init__(
        self,
        X: Any,
        task: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
        patience: int,
    ) -> None:
        self._packed = with_task(X, task)
        self._task, self._labels = task, labels
        self._weight = weight / weight.sum()
        self._scores = np.zeros((len(task), n_classes))
        self._patience = patience
        self.errors: list[float] = []

    @property
    def n_best(self) -> int:
        """Rounds up to the smallest error."""
        return int(np.argmin(self.errors)) + 1

    def tired(self, tree: Any, votes: np.ndarray) -> bool:
        """Take in a round, whether it is time to end."""
        predicted = tree.predict(self._packed)
        self._scores[np.arange(len(predicted)), predicted] += votes[self._task]
        wrong = self._scores.argmax(axis=1) != self._labels
        self.errors.append(float(self._weight[wrong].sum()))
        return len(self.errors) - self.n_best >= self._patience


@dataclass(eq=False)
class Rounds:
    """What rounds found."""

    trees: list[Any] = field(default_factory=list)
    votes: list[np.ndarray] = field(default_factory=list)  # of each, by task
    errors: list[float] = field(default_factory=list)
    normalizers: list[float] = field(default_factory=list)
    refused: float | None = None  # error of the tree that ended the rounds, if one did

    @property
    def mute(self) -> bool:
        """Whether the first tree, which is always kept, has no vote anywhere."""
        return not self.votes[0].any()


def boost_trees(
    rows: RoundTrees,
    rule: VoteRule,
    round_weight: np.ndarray,
    n_labels: np.ndarray,
    n_rounds: int,
    rng: np.random.RandomState,
    on_round: Callable[[int], Any],
    watch: HeldBack | None = None,
) -> Rounds:
    """Run rounds.

    Parameters
    ----------
    rows : RoundTrees
        What is fitted to.
    rule : VoteRule
        How votes and weights follow from errors.
    round_weight : float64 array of shape (n,)
        Weights to begin with, which sum to one.
    n_labels : int array of shape (n_tasks,)
        Number of classes of each task.
    n_rounds : int
        Rounds, at most.
    rng : RandomState
        Seeds the trees.
    on_round : callable
        Returns a context manager for a round's number.
    watch : HeldBack, default=None
        Rows by which the rounds end early.
    """
    found = Rounds()
    n_rows = max(rows.weight.sum(), len(rows.weight))
    for number in range(n_rounds):
        with on_round(number) as progress:
            tree, wrong = rows.fit(round_weight, rng)
            error = float(round_weight[wrong].sum())
            votes = rule.votes(error, n_labels, n_rows)
            if number and not votes.any():
                found.refused = error
                break
            factors = rule.log_factors(
                ~wrong, wrong, rows.task, error, n_labels, n_rows
            )
            round_weight, total = reweighted(round_weight, factors)
            found.trees.append(tree)
            found.votes.append(votes)
            found.errors.append(error)
            found.normalizers.append(total)
            if watch is not None and watch.tired(tree, votes):
                break
            if error == 0.0 or found.mute:
                break
        if progress.stop:
            break
    if watch is not None:
        for each in (found.trees, found.votes, found.errors, found.normalizers):
            del each[watch.n_best :]
        found.refused = None if watch.n_best < len(watch.errors) else found.refused
    return found
