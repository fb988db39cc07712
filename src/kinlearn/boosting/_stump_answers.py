"""From the votes of two-task stumps to scores and probabilities of classes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn.boosting._start_weights import row_weights
from kinlearn.boosting._stumps import TwoTaskStumps
from kinlearn.tasks import LabelSets, TaskRows

__all__ = ["StumpAnswers", "class_mass"]

# The score of the majority class where nobody votes: it decides, and counts nothing.
_NUDGE = 1e-9
_MOST_ROWS = 100_000  # times tasks, to predict at once


def class_mass(data: Any, n_classes: int) -> np.ndarray:
    """Weight of the rows of each class in each task.

    Parameters
    ----------
    data : TaskData or LaterData
        Rows.
    n_classes : int
        Number of classes.

    Returns
    -------
    float64 array of shape (n_tasks, n_classes)
        Sums.
    """
    return np.bincount(
        data.task.astype(np.int64) * n_classes + data.y,
        row_weights(data),
        minlength=data.n_tasks * n_classes,
    ).reshape(data.n_tasks, n_classes)


def _shares(mass: np.ndarray, label_sets: LabelSets) -> np.ndarray:
    shares = mass / mass.sum(axis=1, keepdims=True)
    return label_sets.fill(shares, np.arange(len(mass)))


@dataclass(frozen=True, eq=False)
class StumpAnswers:
    """What turns votes into predictions.

    Attributes
    ----------
    label_sets : LabelSets
        Classes of each task.
    mass : float64 array of shape (n_tasks, n_classes)
        Weight of the rows of each class in each task.
    voted : bool array of shape (n_tasks,)
        Whether some stump votes on the task.
    width : int
        Most numbers of a vote; 1 if votes are for the second class of a task.
    lowest : float
        Less than any score that a class of the task can have.
    """

    label_sets: LabelSets
    mass: np.ndarray
    voted: np.ndarray
    width: int
    lowest: float

    @classmethod
    def of(cls, mass: np.ndarray, label_sets: LabelSets, stumps: TwoTaskStumps) -> Self:
        """From the weights of classes, for tasks that nobody votes on.

        Parameters
        ----------
        mass : float64 array of shape (n_tasks, n_classes)
            Weight of the rows of each class in each task; see `class_mass`.
        label_sets : LabelSets
            Classes of each task.
        stumps : TwoTaskStumps
            The stumps.

        Returns
        -------
        StumpAnswers
            The rules.
        """
        shares = _shares(mass, label_sets)
        voted = np.zeros(len(mass), dtype=bool)
        voted[stumps.nodes["task"][stumps.nodes["task"] >= 0]] = True
        least = np.log(shares[shares > 0].min())
        lowest = min(least, -np.abs(stumps.values).sum()) - 1.0
        return cls(label_sets, mass, voted, int(stumps.sizes.max()), float(lowest))

    @property
    def shares(self) -> np.ndarray:
        """Share of each class in its task; none is 0 for want of rows."""
        return _shares(self.mass, self.label_sets)

    def fallbacks(self, tasks: np.ndarray, classes: np.ndarray) -> dict[Any, Any]:
        """Tasks that could have been voted on and were not, with their class."""
        several = np.diff(self.label_sets.indptr) > 1
        mute = several & ~self.voted
        label = classes[self.shares[mute].argmax(axis=1)]
        return dict(zip(tasks[mute].tolist(), label, strict=True))

    # ----------------------------------------------------------------- scores

    def scores(self, stumps: TwoTaskStumps, rows: TaskRows) -> np.ndarray:
        """Scores of all classes for rows.

        Parameters
        ----------
        stumps : TwoTaskStumps
            Those that vote.
        rows : TaskRows
            The rows.

        Returns
        -------
        float64 array of shape (n, n_classes)
            `lowest` for classes that the row's task lacks.
        """
        votes = np.zeros((rows.n_samples, self.width))
        stumps.add_scores(rows.X, rows.task, votes)
        return self._with_unknown(stumps, rows, self._of_classes(votes, rows.task))

    def staged_scores(
        self, stumps: TwoTaskStumps, rows: TaskRows
    ) -> Iterator[np.ndarray]:
        """The same after each round.

        Parameters
        ----------
        stumps : TwoTaskStumps
            Those that vote.
        rows : TaskRows
            The rows.

        Yields
        ------
        float64 array of shape (n, n_classes)
            As `scores` gives them.
        """
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
        silent, shares = ~votes[known].any(axis=1), self.shares
        some = known[silent & self.voted[task]]
        most = shares[task[silent & self.voted[task]]].argmax(axis=1)
        out[some, most] = _NUDGE
        mute = (n_labels > 1) & ~self.voted[task]
        own = shares[task[mute]] > 0
        log = np.log(np.where(own, shares[task[mute]], 1.0))
        out[known[mute]] = np.where(own, log, self.lowest)
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
        mean = total / len(self.voted)
        floor = np.exp(max(self.lowest, -700.0))
        scores[unknown] = np.log(np.maximum(mean, floor))
        return scores

    # ------------------------------------------------------------ predictions

    def decision(self, scores: np.ndarray) -> np.ndarray:
        """Scores as `decision_function` gives them."""
        return (scores[:, 1] - scores[:, 0]) / 2 if scores.shape[1] == 2 else scores

    def proba(self, scores: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Softmax of the scores, over the classes of the task."""
        allowed = self.label_sets.allowed(task)
        shown = np.where(allowed, scores, -np.inf)
        shown = np.exp(shown - shown.max(axis=1, keepdims=True))
        return shown / shown.sum(axis=1, keepdims=True)
