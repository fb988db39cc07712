"""Penalties of the learner and of the sharing, chosen together on rows held out.

Weaker learners have smaller outputs and need a smaller penalty of the sharing, so the
two make a path of pairs: from weak learners to strong ones, and for each from much
sharing to little. On the training rows of a fold the path is walked with one learner:
its rows are centred and multiplied once, and a system that is solved by steps begins
with the last solution and its factor.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from kinlearn.boosting.mtboost._rounds import Learner, Loss, Settings, play_rounds

__all__ = ["Begin", "check_weights", "choose_penalties", "deal_rows"]

# From weights of the rows to what makes losses of them, and the scores to begin with.
Begin = Callable[[np.ndarray], tuple[Callable[[np.ndarray], Loss], np.ndarray]]

N_FOLDS = 3
# Penalties of learners, the weakest first, and of the sharing: of classes times what
# belongs to the learner's.
_OF_CLASSES = (1000.0, 100.0, 10.0, 1.0), (100.0, 10.0, 1.0, 0.1)
_OF_NUMBERS = (100.0, 1.0, 0.01), (1000.0, 100.0, 10.0, 1.0, 0.1)
_FINER = (10.0**0.5, 10.0**-0.5)  # the neighbours of the best pair that are tried last
_USUAL_BASE = 10.0  # to which a sharing penalty of 1 belongs
_LEAST_TOTAL = 1e-100  # of weights, whose squares are reckoned with


def check_weights(weight: np.ndarray) -> None:
    """Refuse weights that together are next to nothing beside any penalty."""
    total = float(weight.sum())
    if total < _LEAST_TOTAL:
        raise ValueError(
            f"sample_weight sums to {total:.3g}, too little to reckon with. A weight "
            "of 1 is one row, so the mean should be about 1: divide sample_weight by "
            "its mean."
        )


def deal_rows(
    task: np.ndarray,
    y: np.ndarray | None,
    weight: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Fold of each row, evenly by task and class; -1 for those that always train.

    These are rows without weight, and the only ones of their task and class.
    """
    cell = task.astype(np.int64)
    if y is not None:
        cell = cell * (int(y.max()) + 1) + y
    rows = rng.permutation(np.flatnonzero(weight > 0))
    rows = rows[np.argsort(cell[rows], kind="stable")]
    _, place, size = np.unique(cell[rows], return_inverse=True, return_counts=True)
    fold = np.full(len(task), -1)
    fold[rows] = np.where(size[place] > 1, np.arange(len(rows)) % N_FOLDS, -1)
    return fold


def choose_penalties(
    begin: Begin,
    learner_of: Callable[[np.ndarray], Learner],
    fold: np.ndarray,
    weight: np.ndarray,
    settings: Settings,
    rng: np.random.RandomState,
    *,
    base_penalty: float | None,
    **rounds: Any,
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that were tried and their mean losses by fold, of rows held out.

    The best is the one with the least mean. `learner_of` makes a learner for weights of
    the rows; `base_penalty` is that of a learner which has another penalty or none, and
    which is not chosen then, else None.
    """
    folds = [
        _Fold(begin, learner_of, np.where(fold == k, 0.0, weight),
              np.where(fold == k, weight, 0.0))
        for k in range(N_FOLDS)
        if (fold == k).any()
    ]  # fmt: skip
    state = rng.get_state()

    def losses(pair: tuple[float, float]) -> list[float]:
        found = []
        for each in folds:
            rng.set_state(state)  # the same draws for all
            some = replace(settings, penalty=pair[1], n_inner=1)
            found.append(each.loss(pair[0], some, rng, **rounds))
        return found

    pairs = _pairs(settings.kind, base_penalty)
    table = [losses(pair) for pair in pairs]
    base, sharing = pairs[int(np.argmin(np.mean(table, axis=1)))]
    finer = [(base, sharing * factor) for factor in _FINER]
    rng.set_state(state)
    return np.array([*pairs, *finer]), np.array([*table, *map(losses, finer)])


def _pairs(kind: str, base_penalty: float | None) -> list[tuple[float, float]]:
    bases, sharing = _OF_NUMBERS if kind == "number" else _OF_CLASSES
    if base_penalty is not None:
        return [(base_penalty, each) for each in sharing]
    # signs, and numbers that are scaled, are as large from any learner
    power = 1.0 if kind == "clipped" else 0.0
    return [
        (base, each * (_USUAL_BASE / base) ** power)
        for base in bases
        for each in sharing
    ]


class _Fold:
    """Rows that train and rows held out, and a learner that goes from pair to pair."""

    def __init__(
        self,
        begin: Begin,
        learner_of: Callable[[np.ndarray], Learner],
        weight: np.ndarray,
        held: np.ndarray,
    ) -> None:
        make_loss, self.scores = begin(weight)
        self.train, self.watched = make_loss(weight), make_loss(held)
        self.learner = learner_of(weight)
        self.total = held.sum()

    def loss(
        self,
        base: float,
        settings: Settings,
        rng: np.random.RandomState,
        *,
        n_rounds: int,
        tol: float,
        patience: int | None,
    ) -> float:
        """Mean loss of the rows held out, after the last round or the best one."""
        self.learner = self.learner.with_penalty(base)
        scores = self.scores.copy()
        now = best = self.watched.value(scores)
        best_round = -1
        rounds = play_rounds(self.train, self.learner, scores, settings, rng)
        for number, one in enumerate(islice(rounds, n_rounds)):
            if patience is not None:
                now = self.watched.value(scores)
                if now < best:
                    best, best_round = now, number
                if number - best_round >= patience:
                    break
            if one.progress <= tol:
                break
        now = self.watched.value(scores) if patience is None else best
        return now / self.total if np.isfinite(now) else np.inf
