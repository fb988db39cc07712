"""Predictions by the votes of boosted trees."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting._calibration import Calibration, softmax_over
from kinlearn.boosting.adaboost._rounds import take
from kinlearn.boosting.adaboost._votes import TreeVotes
from kinlearn.tasks import LabelSets, TaskMixin, with_task
from kinlearn.utils._typing import Table

__all__ = ["TreeVoter", "readable"]


def readable(X: Any, tree: Any) -> Any:
    """Rows as the tree reads them."""
    dense = sp.issparse(X) and not get_tags(tree).input_tags.sparse
    return X.toarray() if dense else X


@dataclass(frozen=True, eq=False)
class _Votes:
    """Votes for rows; for those of tasks with unseen classes, also as if unknown."""

    task: np.ndarray
    own: np.ndarray
    unknown: np.ndarray
    common: np.ndarray

    def filled(
        self,
        sets: LabelSets,
        function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """A function of votes and tasks, with what is common where classes lack."""
        common = partial(_same, function(self.common, self.unknown))
        return sets.fill(function(self.own, self.task), self.task, common)


def _same(value: np.ndarray, _: np.ndarray) -> np.ndarray:
    return value


class TreeVoter(TaskMixin):
    """Predictions by the votes of `estimators_`."""

    algorithm_: str
    estimators_: list[Any]
    _votes: TreeVotes
    _calibration: Calibration | None
    _log_fractions: np.ndarray

    def _staged_votes(self, X: Table) -> Iterator[_Votes]:
        """Votes for the classes after each round."""
        rows, sets = self._predict_data(X), self._label_sets
        table = readable(rows.X, self.estimators_[0])
        some = np.flatnonzero(np.append(sets.guessing, False)[rows.task])
        unknown = np.full_like(rows.task[some], -1)
        shared = self._staged_of(take(table, some), unknown)
        known = self._staged_of(table, rows.task)
        for own, common in zip(known, shared, strict=True):
            yield _Votes(rows.task, own, unknown, common)

    def _staged_of(self, table: Any, task: np.ndarray) -> Iterator[np.ndarray]:
        """Sums of the votes after each round, in one array."""
        allowed = self._label_sets.allowed(task)
        votes = np.zeros((len(task), len(self.classes_)))
        for number, model in enumerate(self.estimators_):
            vote = self._votes.votes[number][task]
            at = np.flatnonzero(vote)
            if len(at):
                codes = self._votes.task_codes[number][task[at]]
                prediction = model.predict(with_task(take(table, at), codes))
                prediction = self._votes.classes[number][prediction]
                # what a tree shares may be a class that the task does not have
                votes[at, prediction] += vote[at] * allowed[at, prediction]
            yield votes

    def _fractions(self, votes: _Votes) -> np.ndarray:
        """Fractions of the votes; even where there are none."""

        def of(scores: np.ndarray, task: np.ndarray) -> np.ndarray:
            allowed = self._label_sets.allowed(task)
            even = allowed / allowed.sum(axis=1, keepdims=True)
            total = scores.sum(axis=1, keepdims=True)
            return np.where(total > 0, scores / np.where(total > 0, total, 1.0), even)

        return votes.filled(self._label_sets, of)

    def _probabilities(self, votes: _Votes) -> np.ndarray:
        if self._calibration is None and self.algorithm_ == "m1":
            return self._fractions(votes)
        calibration = self._calibration or Calibration()

        def of(scores: np.ndarray, task: np.ndarray) -> np.ndarray:
            scores = calibration.apply(scores, self._log_fractions[task])
            return softmax_over(scores, self._label_sets.allowed(task))

        return votes.filled(self._label_sets, of)

    def _last_votes(self, X: Table) -> _Votes:
        check_is_fitted(self)
        return deque(self._staged_votes(X), maxlen=1).pop()

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
        check_is_fitted(self)
        for votes in self._staged_votes(X):
            yield self._probabilities(votes)

    def staged_predict(self, X: Table) -> Iterator[np.ndarray]:
        """The class with the most votes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,)
            Classes.
        """
        check_is_fitted(self)
        for votes in self._staged_votes(X):
            yield self.classes_[np.argmax(self._fractions(votes), axis=1)]

    def predict_proba(self, X: Table) -> np.ndarray:
        """Probabilities of the classes: the softmax of their votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero for classes that the task does
            not have. With `calibration_folds`, votes are first multiplied by what
            was learned from rows left out; with classes that began with equal weight,
            the most probable one need not be the predicted one then. Under M1
            without calibration, fractions of the votes, which only rank.
        """
        return self._probabilities(self._last_votes(X))

    def decision_function(self, X: Table) -> np.ndarray:
        """Scores of the classes: their fractions of the votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Fractions; for two classes that of the second less that of the first.
        """
        votes = self._fractions(self._last_votes(X))
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def predict(self, X: Table) -> np.ndarray:
        """The class with the most votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, each one of its task's.
        """
        best = np.argmax(self._fractions(self._last_votes(X)), axis=1)
        return self.classes_[best]
