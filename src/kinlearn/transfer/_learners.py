"""Base learners of the boosted classifiers: our trees, or any classifier."""

from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier

from kinlearn.transfer._boost import Transfer
from kinlearn.transfer._weight_updates import CHANCE
from kinlearn.transfer._weighted_trees import BinnedRows, TreeVotes
from kinlearn.utils import clone_for_round

__all__ = ["ClassifierLearner", "ModelVotes", "TreeLearner"]


class TreeLearner:
    """Weighted trees over bins that all rounds share.

    Parameters
    ----------
    binned : BinnedRows
        The features.
    max_depth : int or None
        Largest depth of a tree.
    trim : bool
        Whether a tree ends at the first depth with a target error below 1/2.
    """

    def __init__(self, binned: BinnedRows, max_depth: int | None, trim: bool) -> None:
        self._binned = binned
        self._settings: dict[str, Any] = {
            "max_depth": max_depth,
            "trim": CHANCE if trim else 0.0,
        }
        self._trees: list[np.ndarray] = []

    def learn(self, transfer: Transfer, weight: np.ndarray) -> np.ndarray:
        """Grow the round's tree; its predictions for the rows."""
        steps, answers = self._binned.grow(
            transfer.rows,
            transfer.y,
            weight,
            transfer.is_target.view(np.uint8),
            transfer.n_classes,
            **self._settings,
        )
        self._trees.append(steps)
        return answers

    def finish(self) -> TreeVotes:
        """The trees, ready to vote."""
        return TreeVotes.join(self._trees)


class ClassifierLearner:
    """Any scikit-learn classifier whose fit takes weights.

    Parameters
    ----------
    estimator : classifier
        What is cloned for each round.
    X : ndarray or sparse array
        The features.
    rows : int array
        The rows that take part.
    rng : RandomState
        Seeds the clones.
    """

    def __init__(
        self, estimator: Any, X: Any, rows: np.ndarray, rng: np.random.RandomState
    ) -> None:
        self._estimator = estimator
        self._X = X if len(rows) == X.shape[0] else X[rows]
        self._rng = rng
        self._models: list[Any] = []

    def learn(self, transfer: Transfer, weight: np.ndarray) -> np.ndarray:
        """Fit the round's classifier; its predictions for the rows."""
        model = clone_for_round(self._estimator, self._rng)
        # As much in all as in the beginning, so that penalties mean the same.
        weight = weight * transfer.start.sum()
        if (transfer.y == transfer.y[0]).all():  # which many classifiers refuse
            model = DummyClassifier(strategy="most_frequent")
        model.fit(self._X, transfer.y, sample_weight=weight)
        self._models.append(model)
        return model.predict(self._X)

    def finish(self) -> "ModelVotes":
        """The classifiers, ready to vote."""
        return ModelVotes(self._models)


class ModelVotes:
    """Fitted classifiers; each votes for one class.

    Parameters
    ----------
    models : list of classifiers
        Their classes are codes.
    """

    def __init__(self, models: list[Any]) -> None:
        self.models = models

    def add_votes(self, X: Any, votes: np.ndarray, out: np.ndarray) -> None:
        """Add the vote of each classifier to the class that it predicts.

        Parameters
        ----------
        X : ndarray or sparse array of shape (n, n_features)
            Rows.
        votes : float64 array
            Weights of the classifiers; 0 is no vote.
        out : float64 array of shape (n, n_classes)
            Added to.
        """
        every = np.arange(X.shape[0])
        for model, vote in zip(self.models, votes, strict=True):
            if vote > 0:
                out[every, model.predict(X)] += vote
