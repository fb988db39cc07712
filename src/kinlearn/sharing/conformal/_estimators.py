"""ConformalRegressor and ConformalClassifier: intervals and sets of any estimator."""

from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier, is_regressor

from kinlearn.sharing.conformal._base import ConformalBase
from kinlearn.sharing.conformal._methods import IntervalMethods, SetMethods
from kinlearn.utils._typing import LabelRule, RandomState, TaskColumn

__all__ = ["ConformalClassifier", "ConformalRegressor"]


class ConformalRegressor(IntervalMethods, ConformalBase):
    """Prediction intervals for any regressor, adapted to each task.

    Fits the estimator to all rows, and again without each of some folds of rows and of
    tasks. How far it was off on these makes the intervals: small tasks borrow from all,
    large ones have their own, and tasks not seen in fit have those of tasks left out.
    :class:`KinRegressor` has the same methods without it.

    Parameters
    ----------
    estimator : regressor
        Any; it gets X with the task column.
    task : str, int or None, default=None
        Name or position of the task column. It is set in the estimator too, if it has
        such a parameter. None is the estimator's own, or one task for all rows.
    n_folds : int, default=5
        Folds of rows, in which every task has its part, and of tasks.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: "warn" names them in a warning, "share"
        does not, "error" refuses them and fits half as often. Set in the estimator
        too, where it has such a parameter.
    n_jobs : int, default=None
        Fits at the same time, in threads; None is 1.
    random_state : int, RandomState instance or None, default=None
        Decides the folds.

    Attributes
    ----------
    estimator_ : regressor
        Fitted to all rows.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    ConformalClassifier : The same for classes.
    kinlearn.report.CoverageDisplay : A picture of the coverage by task.

    Notes
    -----
    :ref:`intervals` gives the method and what it guarantees.

    Examples
    --------
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.sharing import ConformalRegressor
    >>> from kinlearn.trees import MultiTaskExtraTreesRegressor
    >>> X, y = load_demo("regression", as_frame=True, return_X_y=True)
    >>> forest = MultiTaskExtraTreesRegressor(20, random_state=0)
    >>> model = ConformalRegressor(forest, task="clinic", random_state=0).fit(X, y)
    >>> model.predict_interval(X[:2], level=0.8).shape
    (2, 2)
    """

    _method = "predict"

    def _check_kind(self) -> None:
        if not is_regressor(self.estimator):
            raise TypeError(
                f"{type(self.estimator).__name__} is no regressor. Use "
                "ConformalClassifier for classifiers."
            )


class ConformalClassifier(SetMethods, ConformalBase):
    """Prediction sets for any classifier with probabilities, adapted to each task.

    Fits the estimator to all rows, and again without each of some folds of rows and of
    tasks. How improbable the true class was on these makes the sets: small tasks
    borrow from all, large ones have their own, and tasks not seen in fit have those of
    tasks left out. :class:`KinClassifier` has the same methods without it.

    Parameters
    ----------
    estimator : classifier
        Any with `predict_proba`; it gets X with the task column.
    task : str, int or None, default=None
        Name or position of the task column. It is set in the estimator too, if it has
        such a parameter. None is the estimator's own, or one task for all rows.
    n_folds : int, default=5
        Folds of rows, in which every task has its part, and of tasks.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: "warn" names them in a warning, "share"
        does not, "error" refuses them and fits half as often. Set in the estimator
        too, where it has such a parameter.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`. Set in the estimator too,
        where it has such a parameter.
    n_jobs : int, default=None
        Fits at the same time, in threads; None is 1.
    random_state : int, RandomState instance or None, default=None
        Decides the folds.

    Attributes
    ----------
    estimator_ : classifier
        Fitted to all rows.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    ConformalRegressor : The same for numbers.
    kinlearn.report.CoverageDisplay : A picture of the coverage by task.

    Notes
    -----
    :ref:`intervals` gives the method and what it guarantees.

    Examples
    --------
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.sharing import ConformalClassifier
    >>> from kinlearn.trees import MultiTaskExtraTreesClassifier
    >>> X, y = load_demo(as_frame=True, return_X_y=True)
    >>> forest = MultiTaskExtraTreesClassifier(20, random_state=0)
    >>> model = ConformalClassifier(forest, task="clinic", random_state=0).fit(X, y)
    >>> model.predict_set(X[:2], level=0.8).dtype
    dtype('bool')
    """

    _method = "predict_proba"

    def __init__(
        self,
        estimator: Any,
        *,
        task: TaskColumn = None,
        n_folds: int = 5,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(
            estimator,
            task=task,
            n_folds=n_folds,
            unknown_task=unknown_task,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.label_sets = label_sets

    def _check_kind(self) -> None:
        if not is_classifier(self.estimator):
            raise TypeError(
                f"{type(self.estimator).__name__} is no classifier. Use "
                "ConformalRegressor for regressors."
            )
        if not hasattr(self.estimator, "predict_proba"):
            raise TypeError(
                f"{type(self.estimator).__name__} has no predict_proba, which sets "
                "are made of. Wrap it in sklearn.calibration.CalibratedClassifierCV."
            )

    def _strata(self, y: np.ndarray, n_folds: int) -> np.ndarray:
        codes = self._as_codes(y)
        rows = np.bincount(codes, minlength=len(self.classes_))[codes]
        return np.where(rows <= n_folds, codes + 1, 0)

    def _as_codes(self, y: np.ndarray) -> np.ndarray:
        return np.searchsorted(self.classes_, y)

    def _in_all_classes(
        self, values: np.ndarray, model: Any, task: np.ndarray
    ) -> np.ndarray:
        if len(model.classes_) < len(self.classes_):
            narrow = values
            values = np.zeros((len(task), len(self.classes_)))
            values[:, self._as_codes(model.classes_)] = narrow
        return np.asarray(values, dtype=np.float64)
