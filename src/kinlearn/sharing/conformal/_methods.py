"""Intervals, sets and their coverage, for any estimator that has conformal scores."""

import warnings
from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from kinlearn.exceptions import KinlearnWarning
from kinlearn.sharing.conformal._calibration import CalibrationSums, TaskCalibration
from kinlearn.sharing.conformal._coverage import TaskCoverage
from kinlearn.sharing.conformal._scores import (
    ConformalScores,
    errors_of_classes,
    errors_of_numbers,
)
from kinlearn.tables.internal import open_table
from kinlearn.tasks import numbers, split_task
from kinlearn.tasks.internal import path_names, split_path
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, Table
from kinlearn.utils._values import show_values

__all__ = ["IntervalMethods", "SetMethods"]


def _checked_level(level: Any) -> float:
    number = isinstance(level, Real) and not isinstance(level, bool)
    if not (number and 0 < float(level) < 1):
        raise ValueError(
            f"level must be a number between 0 and 1, both excluded; found {level!r}. "
            "0.9 covers nine of ten rows."
        )
    return float(level)


def _check_both(X: Any, y: Any, sample_weight: Any) -> None:
    if (X is None) != (y is None):
        raise ValueError("Pass both X and y, or none of them.")
    if X is None and sample_weight is not None:
        raise ValueError(
            "sample_weight is for new rows, with X and y. The rows of fit have the "
            "weights that fit was given."
        )


class _ConformalMethods:
    """What intervals and sets have in common."""

    _conformal: ConformalScores
    # of tasks that were left out with their groups, by the number of levels
    _conformal_of_groups: Sequence[ConformalScores] = ()
    _shapes: str  # what there are, for messages
    _in_units = False  # whether errors are in units of the task's
    _errors: Callable[[np.ndarray, np.ndarray], np.ndarray]
    # numbers or probabilities, and task codes; -1 is unknown, less the number of
    # levels above the task that are unknown too
    _predict_and_tasks: Callable[[Table], tuple[np.ndarray, np.ndarray]]
    tasks_: np.ndarray

    def _remember_errors(
        self,
        predictions: np.ndarray,
        y: np.ndarray,
        task: np.ndarray,
        weight: np.ndarray | None,
    ) -> None:
        """Keep how far off predictions out of fold are; y holds numbers or codes."""
        error, n_tasks = self._errors(predictions, y), len(self.tasks_)
        self._conformal = ConformalScores.of(
            error, task, weight, n_tasks, scaled=self._in_units
        )
        self._calibration_sums = CalibrationSums.of(
            predictions, y, task, weight, n_tasks
        )

    def _remember_unseen_errors(
        self,
        predictions: np.ndarray,
        y: np.ndarray,
        task: np.ndarray,
        weight: np.ndarray | None,
    ) -> None:
        """The same for tasks that models had not seen."""
        error = self._errors(predictions, y)
        self._conformal = self._conformal.with_unseen(error, task, weight)

    def _remember_group_errors(self, found: Any, group: Any = None) -> None:
        """The same for tasks whose groups models had not seen, one level more.

        `found` has the predictions that are calibrated; None if there are none.
        Without groups, begin anew.
        """
        if group is None:
            self._conformal_of_groups = []
            return
        none = np.zeros(0)
        scores = ConformalScores.of(none, none, None, int(group.max()) + 1)
        if found is not None:
            error = self._errors(found.honest, found.y)
            scores = scores.with_unseen(error, group[found.rows], found.weight)
        self._conformal_of_groups = [*self._conformal_of_groups, scores]

    def _inside(self, X: Table, y: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Whether each interval or set holds the target, and its size."""
        raise NotImplementedError

    def _sizes(self, level: float, unseen: bool) -> np.ndarray | None:
        """Size by task where it does not depend on the row."""
        return None

    def _check_kept(self) -> None:
        check_is_fitted(self)
        if getattr(self, "_conformal", None) is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted by a version of kinlearn that "
                f"kept nothing for {self._shapes}. Fit it again."
            )

    def _radius(self, level: float, task: np.ndarray) -> np.ndarray:
        """How far off rows of these tasks may be; warns of infinite ones."""
        self._check_kept()
        radius = self._conformal.radius(level)
        for scores in self._conformal_of_groups:
            # before those of fewer unknown levels, which count from the end
            radius = np.insert(
                radius, self._conformal.n_tasks, scores.radius(level)[-1]
            )
        found = np.unique(task)
        endless = found[np.isinf(radius[found])]
        if len(endless):
            self._warn_of_endless(level, endless)
        return radius[task]

    def _warn_of_endless(self, level: float, codes: np.ndarray) -> None:
        highest = self._conformal.highest_levels()
        if codes.min() < -1:
            self._warn_of_endless_groups(level, int(-2 - codes.min()))
            codes = codes[codes >= -1]
        known = codes[codes >= 0]
        if len(known):
            warnings.warn(
                f"level={level:g} is too high for the rows that fit had: the "
                f"{self._shapes} of {len(known)} task(s), "
                f"{show_values(self.tasks_[known])}, hold everything. They are finite "
                f"up to a level of {highest[known].min():.3f}.",
                KinlearnWarning,
                stacklevel=4,
            )
        if len(known) < len(codes):
            n = round(highest[-1] / (1.0 - highest[-1]))
            why = f"{n} task(s) were left out in turn"
            finite = f", which is enough for a level of {highest[-1]:.3f}"
            if not n:
                why = "no task was left out in fit (unknown_task, time_limit)"
            warnings.warn(
                f"level={level:g} is too high for tasks that fit did not see: {why}"
                f"{finite if n else ''}. Their {self._shapes} hold everything.",
                KinlearnWarning,
                stacklevel=4,
            )

    def _warn_of_endless_groups(self, level: float, case: int) -> None:
        highest = self._conformal_of_groups[case].highest_levels()[-1]
        n = round(highest / (1.0 - highest))
        warnings.warn(
            f"level={level:g} is too high for tasks of groups that fit did not see: "
            f"{n} group(s) were left out in turn, which is enough for a level of "
            f"{highest:.3f}. Their {self._shapes} hold everything.",
            KinlearnWarning,
            stacklevel=5,
        )

    def coverage(
        self,
        X: Table | None = None,
        y: ArrayLike | None = None,
        *,
        level: float = 0.9,
        sample_weight: ArrayLike | None = None,
        unseen: bool = False,
    ) -> TaskCoverage:
        """How often intervals or sets hold the truth, task by task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, default=None
            New rows with the task column. None is the rows of fit, out of fold: each
            is judged by the scores of the other rows, so the estimate is nearly fair.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        level : float, default=0.9
            Of the intervals or sets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.
        unseen : bool, default=False
            Without X: as if the tasks were not known. Each is judged by the scores of
            the other tasks.

        Returns
        -------
        TaskCoverage
            Rows, coverage with an interval, and mean size by task.
        """
        level = _checked_level(level)
        self._check_kept()
        _check_both(X, y, sample_weight)
        if X is not None and unseen:
            raise ValueError(
                "unseen=True is for the rows of fit, without X and y. Of new rows, "
                "those of tasks that fit did not see are judged as such anyway."
            )
        if X is None:
            scores = self._conformal
            found = scores.covered_unseen(level) if unseen else scores.covered(level)
            sizes = self._sizes(level, unseen)
            return TaskCoverage.of(level, self.tasks_, *found, sizes)
        inside, size = self._inside(X, y, level)
        tasks, code, weight = self._tasks_and_weights(X, sample_weight)
        known = np.isin(tasks, self.tasks_)
        rows = np.bincount(code, weight)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.bincount(code, weight * size) / rows
        hits = np.bincount(code, weight * inside)
        return TaskCoverage.of(level, tasks, rows, hits, mean, known)

    def _tasks_and_weights(
        self, X: Table, sample_weight: ArrayLike | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Tasks of new rows, known or not, codes of these, and weights."""
        estimator: Any = self
        paths = getattr(self, "_paths", None)
        if paths is not None:
            columns = estimator._columns
            tasks, code = path_names(open_table(X), columns, self.tasks_, paths)
        else:
            column = getattr(self, "_task_column", estimator.task)
            _, tasks, code, _ = split_task(X, split_path(column)[1])
        weight = check_sample_weight(
            sample_weight, code, dtype=np.float64, ensure_non_negative=True
        )
        return tasks, code, weight

    def _calibration_by(
        self, X: Any, y: Any, weight: Any
    ) -> tuple[CalibrationSums, np.ndarray]:
        """Sums out of fold, or those of new rows, and their tasks."""
        self._check_kept()
        _check_both(X, y, weight)
        if X is None:
            return self._calibration_sums, self.tasks_
        predictions, _ = self._predict_and_tasks(X)
        tasks, code, weight = self._tasks_and_weights(X, weight)
        codes = self._targets(y, len(predictions))
        sums = CalibrationSums.of(predictions, codes, code, weight, len(tasks))
        return sums, tasks

    def _target_codes(self, y: Any) -> np.ndarray:
        raise NotImplementedError

    def _targets(self, y: Any, n_rows: int) -> np.ndarray:
        """Numbers or codes, one for each row."""
        codes = self._target_codes(y)
        if len(codes) != n_rows:
            raise ValueError(f"X has {n_rows} rows, y has {len(codes)}.")
        return codes


class IntervalMethods(_ConformalMethods):
    """Prediction intervals of a regressor."""

    _shapes = "intervals"
    _in_units = True
    _errors = staticmethod(errors_of_numbers)

    def predict_interval(self, X: Table, level: float = 0.9) -> np.ndarray:
        """An interval that holds the target of a new row with a given probability.

        It is the prediction, less and more a quantile of absolute errors out of fold,
        which is the task's own where it has many rows, and that of like scaled errors
        of all tasks where it has few; see :ref:`intervals`. Tasks that fit did not see
        have wider ones, from tasks that were left out.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        level : float, default=0.9
            Probability that the target lies inside, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends. They are infinite, with a warning, where fit had too
            few rows (or tasks, for one that it did not see) for the level: n rows are
            enough up to n / (n + 1).
        """
        level = _checked_level(level)
        centre, task = self._predict_and_tasks(X)
        radius = self._radius(level, task)
        return np.column_stack([centre - radius, centre + radius])

    def _sizes(self, level: float, unseen: bool) -> np.ndarray | None:
        radius = self._conformal.radius(level)
        return 2.0 * (np.full(len(self.tasks_), radius[-1]) if unseen else radius[:-1])

    def _inside(self, X: Table, y: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
        low, high = self.predict_interval(X, level).T
        y = self._targets(y, len(low))
        return (low <= y) & (y <= high), high - low

    def _target_codes(self, y: Any) -> np.ndarray:
        return numbers(y, type(self).__name__)

    def calibration(
        self,
        X: Table | None = None,
        y: ArrayLike | None = None,
        *,
        sample_weight: ArrayLike | None = None,
    ) -> TaskCalibration:
        """Mean predictions and mean targets, task by task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, default=None
            New rows with the task column. None is the rows of fit, out of fold.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of new rows.

        Returns
        -------
        TaskCalibration
            Rows, and means of predictions and targets, with an interval.
        """
        sums, tasks = self._calibration_by(X, y, sample_weight)
        return sums.calibration(tasks, 0, "mean")


class SetMethods(_ConformalMethods):
    """Prediction sets of a classifier."""

    _shapes = "sets"
    _errors = staticmethod(errors_of_classes)
    classes_: np.ndarray
    _label_sets: Any

    def predict_set(self, X: Table, level: float = 0.9) -> np.ndarray:
        """The classes that hold the truth with a given probability.

        A class is in the set unless it is less probable than the classes of rows out
        of fold nearly always were, by a quantile that is the task's own where it has
        many rows and that of all tasks where it has few; see :ref:`intervals`. The
        likeliest class always is.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        level : float, default=0.9
            Probability that the true class is in the set, between 0 and 1.

        Returns
        -------
        bool ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``. All classes that the task can have, with
            a warning, where fit had too few rows (or tasks, for one that it did not
            see) for the level: n rows are enough up to n / (n + 1).
        """
        level = _checked_level(level)
        proba, task = self._predict_and_tasks(X)
        radius = self._radius(level, task)
        inside = 1.0 - proba <= radius[:, None]
        inside[np.arange(len(proba)), proba.argmax(axis=1)] = True
        return inside & self._label_sets.allowed(np.maximum(task, -1))

    def _inside(self, X: Table, y: Any, level: float) -> tuple[np.ndarray, np.ndarray]:
        inside = self.predict_set(X, level)
        codes = self._targets(y, len(inside))
        covered = inside[np.arange(len(codes)), codes] & (codes >= 0)
        return covered, inside.sum(axis=1)

    def _target_codes(self, y: Any) -> np.ndarray:
        """Codes of labels; -1 for those that fit did not see."""
        true = np.asarray(y).reshape(-1, 1) == self.classes_
        return np.where(true.any(axis=1), true.argmax(axis=1), -1)

    def calibration(
        self,
        X: Table | None = None,
        y: ArrayLike | None = None,
        *,
        label: Any = None,
        sample_weight: ArrayLike | None = None,
    ) -> TaskCalibration:
        """Mean probabilities and fractions of rows, task by task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, default=None
            New rows with the task column. None is the rows of fit, out of fold.
        y : array-like of shape (n_samples,), default=None
            Their labels.
        label : label, default=None
            Whose probability; None is the second of two classes, and of more the
            likeliest of each row.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of new rows.

        Returns
        -------
        TaskCalibration
            Rows, mean probabilities and fractions of rows, with an interval.
        """
        sums, tasks = self._calibration_by(X, y, sample_weight)
        n_classes = len(self.classes_)
        output, what = n_classes, "probability of the likeliest class"
        if label is not None:
            codes = self._target_codes([label])
            if codes[0] < 0:
                raise ValueError(
                    f"label={label!r} is no class; found {show_values(self.classes_)}."
                )
            output = int(codes[0])
        elif n_classes == 2:
            output = 1
        if output < n_classes:
            what = f"probability of {self.classes_[output]}"
        return sums.calibration(tasks, output, what)
