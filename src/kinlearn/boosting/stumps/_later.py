"""Tasks and rows that come after fit, by further rounds."""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from kinlearn.boosting.stumps._indicators import IndicatorScores, find_indicators
from kinlearn.boosting.stumps._predictions import StumpScores, class_mass
from kinlearn.boosting.stumps._rounds import Boosted
from kinlearn.boosting.stumps._search import RootTests
from kinlearn.tasks import LabelSets, TaskMixin
from kinlearn.utils import quiet_round
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["LaterRounds"]


class LaterRounds(TaskMixin):
    """What a fitted classifier of stumps does with later rows."""

    stumps_: Any
    _class_scores: StumpScores
    # of the classifier
    algorithm_: str
    label_sets: Any
    levels: Any
    n_roots: int
    random_state: Any
    estimator_weights_: np.ndarray
    normalizers_: np.ndarray
    fit: Any
    _keep: Any
    _ordered: Any
    _prepare: Any
    _rounds_per_task: float
    _saw_missing: bool
    _sizes: Any

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit, by rounds of their own.

        Earlier rounds stay as they are, and predictions for other tasks do not change.
        Rounds are added that predict the new tasks alone, as many for each as fit had
        for each task. Their roots are tests of the model, the `n_roots` that mattered
        most at its roots, and predict nothing themselves: what was learned for the
        others divides the space for the new task. Below, tests are free.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Labels; they may be of classes that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        self
            The classifier with these tasks.

        Examples
        --------
        >>> from kinlearn.boosting import AbstainingAdaBoostClassifier
        >>> from kinlearn.datasets import make_linear_classification
        >>> X, y = make_linear_classification(random_state=0)
        >>> late = X[:, -1] == 2
        >>> model = AbstainingAdaBoostClassifier(50, task=-1).fit(X[~late], y[~late])
        >>> model = model.add_task(X[late], y[late])
        >>> 2 in model.tasks_ and bool(model.score(X[late], y[late]) > 0.9)
        True
        """
        self._refuse_indicators(y)
        later = self._later_data(X, y, sample_weight, only_new=True, new_classes=True)
        return self._add_later(later)

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows, of known or new tasks, by further rounds.

        The first call is a fit. In later ones new tasks are added as by
        :meth:`add_task`. Then rounds are added for the rows of known tasks, weighted as
        if all rounds so far had been fitted to them: with the rows of fit, boosting
        goes on as if it had not ended. (With ``weighting="conservative"``, what rounds
        that abstained added to weights is not made up for.) For tasks without rows,
        predictions do not change.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels; after the first call, classes that it did not have are for new
            tasks, and for a task that stumps vote on none that it did not have.
        classes : array-like of shape (n_classes,), default=None
            All classes; in the first call, y must hold each of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        self
            The classifier.
        """
        if hasattr(self, "stumps_"):
            self._refuse_indicators(y)
            later = self._later_data(X, y, sample_weight, new_classes=True)
            return self._add_later(later)
        self._check_first_classes(y, classes)
        return self.fit(X, y, sample_weight)

    def _add_later(self, later: Any) -> Self:
        later = replace(later, X=self._ordered(later.X))
        mass = class_mass(later, len(later.classes))
        mass[np.ix_(later.place, later.class_place)] += self._class_scores.mass
        label_sets = self._later_label_sets(later)
        boosted = Boosted(
            self.stumps_.with_tasks(later.place, self._sizes(label_sets)),
            self.estimator_weights_,
            self.normalizers_,
            self._saw_missing,
        )
        rng = check_random_state(self.random_state)
        for kind in (True, False):  # new tasks, then known ones
            rows = np.flatnonzero(later.is_new[later.task] == kind)
            if len(rows) == 0:
                continue
            some, stumps = later.take(rows), boosted.stumps
            before: dict[str, Any] = {}
            if kind and self.levels == 2:
                before["tests"] = RootTests.of(
                    stumps, boosted.normalizers, self.n_roots
                )
            elif not kind:
                before["scores"] = np.zeros((len(rows), int(stumps.sizes.max())))
                stumps.add_scores(some.X, some.task, before["scores"])
            before["n_before"] = len(stumps)
            run = self._prepare(some, label_sets, rng, **before)
            n_rounds = np.ceil(self._rounds_per_task * len(run.rows.tasks))
            boosted = boosted.followed_by(run.play(int(n_rounds), quiet_round))
        self._remember_later(later)
        self._keep(boosted, StumpScores.of(mass, label_sets, boosted.stumps))
        return self

    def _refuse_indicators(self, y: Any) -> None:
        fitted = isinstance(getattr(self, "_class_scores", None), IndicatorScores)
        if fitted or find_indicators(y) is not None:
            raise ValueError(
                "Rows with several labels are boosted by fit alone: fit anew with the "
                "old and the new rows."
            )

    def _later_label_sets(self, later: Any) -> LabelSets:
        """Classes of each task with those of later rows, if they can be boosted."""
        old = self._class_scores.label_sets
        counted = later.take(later.sample_weight > 0)
        label_sets = counted.find_label_sets(old, self.label_sets)
        n_labels = np.diff(label_sets.indptr)
        names = later.tasks.tolist()
        grown = n_labels[later.place] > np.diff(old.indptr)
        for t in np.flatnonzero(grown & self._class_scores.voted).tolist():
            raise ValueError(
                f"y holds a class that task {self.tasks_.tolist()[t]!r} did not have "
                "so far, and stumps vote on it already. Fit anew with all rows to add "
                "a class to a task."
            )
        if self.algorithm_ == "mtaa" and n_labels.max() > 2:
            raise ValueError(
                f"The model was fitted with algorithm='mtaa', for tasks with two "
                f"classes, and task {names[int(n_labels.argmax())]!r} has "
                f"{n_labels.max()}. Fit anew with algorithm='mh', which takes tasks of "
                "any number of classes."
            )
        return label_sets
