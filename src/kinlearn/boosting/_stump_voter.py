"""Predictions of a classifier of two-task stumps."""

from collections.abc import Iterator

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting._stump_answers import StumpAnswers
from kinlearn.boosting._stumps import TwoTaskStumps
from kinlearn.tasks import TaskMixin
from kinlearn.utils._typing import Table

__all__ = ["StumpVoter"]


class StumpVoter(TaskMixin):
    """Predictions by the votes of `stumps_`, by the rules of `_answers`."""

    stumps_: TwoTaskStumps
    classes_: np.ndarray
    _answers: StumpAnswers

    @property
    def task_affinity_(self) -> np.ndarray:
        """How often two tasks are in one stump."""
        check_is_fitted(self)
        return self.stumps_.affinity()

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
            that the task lacks has less than any class could have.
        """
        rows = self._predict_data(X)
        return self._answers.decision(self._answers.scores(self.stumps_, rows))

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
            not have. They rank rows, but are not calibrated.
        """
        rows = self._predict_data(X)
        return self._answers.proba(self._answers.scores(self.stumps_, rows), rows.task)

    def predict(self, X: Table) -> np.ndarray:
        """The class with the largest score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, each one of its task's.
        """
        rows = self._predict_data(X)
        scores = self._answers.scores(self.stumps_, rows)
        return self.classes_[np.argmax(scores, axis=1)]

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
            yield self._answers.decision(scores)

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
            yield self._answers.proba(scores, task)

    def staged_predict(self, X: Table) -> Iterator[np.ndarray]:
        """The class with the largest score after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,)
            Classes.
        """
        for scores, _ in self._staged(X):
            yield self.classes_[np.argmax(scores, axis=1)]

    def _staged(self, X: Table) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rows = self._predict_data(X)
        for scores in self._answers.staged_scores(self.stumps_, rows):
            yield scores, rows.task
