"""From the votes of two-task stumps to scores, probabilities and classes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting._calibration import Calibration, log_fractions, softmax_over
from kinlearn.boosting._start_weights import row_weights
from kinlearn.boosting.stumps._model import TwoTaskStumps
from kinlearn.tasks import LabelSets, TaskMixin, TaskRows
from kinlearn.utils._loaded import check_finite, check_numbers, demand
from kinlearn.utils._typing import Table

__all__ = ["StumpScores", "StumpVoter", "class_mass"]

# The score of the majority class where nobody votes: it decides, and counts nothing.
_NUDGE = 1e-9
_MOST_ROWS = 100_000  # times tasks, to predict at once


def class_mass(data: Any, n_classes: int) -> np.ndarray:
    """Weight of the rows of each class in each task."""
    return np.bincount(
        data.task.astype(np.int64) * n_classes + data.y,
        row_weights(data),
        minlength=data.n_tasks * n_classes,
    ).reshape(data.n_tasks, n_classes)


def _fractions(mass: np.ndarray, label_sets: LabelSets) -> np.ndarray:
    fractions = mass / mass.sum(axis=1, keepdims=True)
    return label_sets.fill(fractions, np.arange(len(mass)))


@dataclass(frozen=True, eq=False)
class StumpScores:
    """What turns votes into predictions."""

    label_sets: LabelSets  # classes of each task
    # (n_tasks, n_classes) weight of the rows of each class in each task
    mass: np.ndarray
    voted: np.ndarray  # (n_tasks,) whether some stump votes on the task
    width: int  # most numbers of a vote; 1 if votes are for the second class of a task
    lowest: float  # less than any score that a class of the task can have
    calibration: Calibration | None = None  # of tasks that are voted on

    @classmethod
    def of(cls, mass: np.ndarray, label_sets: LabelSets, stumps: TwoTaskStumps) -> Self:
        """From the weights of classes, for tasks that nobody votes on."""
        fractions = _fractions(mass, label_sets)
        voted = np.zeros(len(mass), dtype=bool)
        voted[stumps.nodes["task"][stumps.nodes["task"] >= 0]] = True
        least = np.log(fractions[fractions > 0].min())
        lowest = min(least, -np.abs(stumps.values).sum()) - 1.0
        return cls(label_sets, mass, voted, int(stumps.sizes.max()), float(lowest))

    def check(self, n_tasks: int, n_classes: int, stumps: TwoTaskStumps) -> None:
        """Refuse arrays that do not fit the model."""
        self.label_sets.check(n_tasks, n_classes)
        check_numbers("mass", self.mass, np.float64, (n_tasks, n_classes))
        check_finite("mass", self.mass)
        check_numbers("voted", self.voted, bool, (n_tasks,))
        most = int(np.diff(self.label_sets.indptr).max())
        demand(self.width == 1 or self.width >= most, "width")
        demand(self.width <= max(n_classes, 1), "width")
        demand(np.isfinite(self.lowest), "lowest")

    @property
    def fractions(self) -> np.ndarray:
        """Fraction of each class in its task; none is 0 for want of rows."""
        return _fractions(self.mass, self.label_sets)

    def fallbacks(self, tasks: np.ndarray, classes: np.ndarray) -> dict[Any, Any]:
        """Tasks that could have been voted on and were not, with their class."""
        several = np.diff(self.label_sets.indptr) > 1
        never = several & ~self.voted
        label = classes[self.fractions[never].argmax(axis=1)]
        return dict(zip(tasks[never].tolist(), label, strict=True))

    # ----------------------------------------------------------------- scores

    def scores(self, stumps: TwoTaskStumps, rows: TaskRows) -> np.ndarray:
        """Scores of all classes for rows."""
        votes = np.zeros((rows.n_samples, self.width))
        stumps.add_scores(rows.X, rows.task, votes)
        return self._with_unknown(stumps, rows, self._of_classes(votes, rows.task))

    def staged_scores(
        self, stumps: TwoTaskStumps, rows: TaskRows
    ) -> Iterator[np.ndarray]:
        """The same after each round."""
        votes = np.zeros((rows.n_samples, self.width))
        for number in range(len(stumps)):
            stumps[number : number + 1].add_scores(rows.X, rows.task, votes)
            scores = self._of_classes(votes, rows.task)
            yield self._with_unknown(stumps[: number + 1], rows, scores)

    def _of_classes(self, votes: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Votes for the labels of a task as scores of all classes."""
        sets = self.label_sets
        out = np.full((len(task), sets.n_classes), self.lowest)
        known = np.flatnonzero(task >= 0)
        task, first = task[known], sets.indptr[task[known]]
        n_labels = np.diff(sets.indptr)[task]
        for k in range(int(np.diff(sets.indptr).max())):
            has = n_labels > k
            if self.width == 1:  # against the first class what is for the second
                value = votes[known[has], 0] * (1 if k else -1)
            else:
                value = votes[known[has], k]
            out[known[has], sets.codes[first[has] + k]] = value
        # where nobody votes, the majority class; all of it in a task without votes
        without_votes, fractions = ~votes[known].any(axis=1), self.fractions
        some = known[without_votes & self.voted[task]]
        most = fractions[task[without_votes & self.voted[task]]].argmax(axis=1)
        out[some, most] = _NUDGE
        never = (n_labels > 1) & ~self.voted[task]
        of_class = fractions[task[never]]
        log = np.log(np.where(of_class > 0, of_class, 1.0))
        out[known[never]] = np.where(of_class > 0, log, self.lowest)
        return out

    def _with_unknown(
        self, stumps: TwoTaskStumps, rows: TaskRows, scores: np.ndarray
    ) -> np.ndarray:
        """Rows of unknown tasks: the mean of the known tasks' predictions."""
        unknown = np.flatnonzero(rows.task < 0)
        if not len(unknown):
            return scores
        total = np.zeros((len(unknown), scores.shape[1]))
        # many tasks at once, if the rows are few
        step = max(1, _MOST_ROWS // len(unknown))
        for first in range(0, len(self.voted), step):
            tasks = np.arange(first, min(first + step, len(self.voted)), dtype=np.int32)
            task = np.repeat(tasks, len(unknown))
            votes = np.zeros((len(task), self.width))
            stumps.add_scores(rows.X[np.tile(unknown, len(tasks))], task, votes)
            proba = self.proba(self._of_classes(votes, task), task)
            total += proba.reshape(len(tasks), *total.shape).sum(axis=0)
        scores[unknown] = self._scores_of(total / len(self.voted))
        return scores

    def _scores_of(self, proba: np.ndarray) -> np.ndarray:
        return np.log(np.maximum(proba, np.exp(max(self.lowest, -700.0))))

    # ------------------------------------------------------------ predictions

    def decision(self, scores: np.ndarray) -> np.ndarray:
        """Scores as `decision_function` gives them."""
        return (scores[:, 1] - scores[:, 0]) / 2 if scores.shape[1] == 2 else scores

    def proba(self, scores: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Softmax of the scores, over the classes of the task."""
        if self.calibration is not None:
            of_votes = np.append(self.voted, False)[task]  # the unknown, -1, is last
            some = scores[of_votes]
            offset = log_fractions(self.mass)[task[of_votes]]
            scores = scores.copy()
            scores[of_votes] = self.calibration.apply(some, offset)
        return softmax_over(scores, self.label_sets.allowed(task))

    def chosen(self, scores: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """The classes with the largest scores."""
        return classes[np.argmax(scores, axis=1)]


class StumpVoter(TaskMixin):
    """Predictions by the votes of `stumps_`, by the rules of `_class_scores`."""

    stumps_: TwoTaskStumps
    classes_: np.ndarray
    _class_scores: StumpScores
    _calibration: Calibration | None = None

    @property
    def task_affinity_(self) -> np.ndarray:
        """How often two tasks are in one stump."""
        check_is_fitted(self)
        return self.stumps_.affinity()

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        self._class_scores.check(n_tasks, n_classes, self.stumps_)
        self.stumps_.check(n_features, n_tasks, self._class_scores.width)

    # ------------------------------------------------------------- prediction

    def decision_function(self, X: Table) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Sums of the votes; for two classes in all, those for the second. A class
            that the task lacks has less than any class could have. For indicators,
            always of shape (n_samples, n_classes), and positive for the labels that are
            predicted.
        """
        rows = self._predict_data(X)
        return self._class_scores.decision(
            self._class_scores.scores(self.stumps_, rows)
        )

    def predict_proba(self, X: Table) -> np.ndarray:
        """Probabilities of the classes, by the logistic function of the scores.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero for classes that the task does
            not have. For indicators, each label has a probability by itself, rows need
            not sum to 1, and labels that the task lacks have (almost) zero. They only
            rank rows, unless they were calibrated (`calibration_folds`): then, where
            classes began with equal weight, the most probable one need not be the
            predicted one.
        """
        rows = self._predict_data(X)
        return self._class_scores.proba(
            self._class_scores.scores(self.stumps_, rows), rows.task
        )

    def predict(self, X: Table) -> np.ndarray:
        """The class with the largest score, or indicators of several labels a row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, each one of its task's. If y had indicators, of shape (n_samples,
            n_classes): 1 for the labels that are more probable than not.
        """
        rows = self._predict_data(X)
        scores = self._class_scores.scores(self.stumps_, rows)
        return self._class_scores.chosen(scores, self.classes_)

    def staged_decision_function(self, X: Table) -> Iterator[np.ndarray]:
        """Scores of the classes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            As `decision_function` gives them.
        """
        for scores, _ in self._staged(X):
            yield self._class_scores.decision(scores)

    def staged_predict_proba(self, X: Table) -> Iterator[np.ndarray]:
        """Probabilities of the classes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            As `predict_proba` gives them.
        """
        for scores, task in self._staged(X):
            yield self._class_scores.proba(scores, task)

    def staged_predict(self, X: Table) -> Iterator[np.ndarray]:
        """The class with the largest score after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,), or (n_samples, n_classes) for indicators
            As `predict` gives them.
        """
        for scores, _ in self._staged(X):
            yield self._class_scores.chosen(scores, self.classes_)

    def _staged(self, X: Table) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rows = self._predict_data(X)
        for scores in self._class_scores.staged_scores(self.stumps_, rows):
            yield scores, rows.task
