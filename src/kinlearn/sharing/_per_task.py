"""One model for each task."""

from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from kinlearn.sharing._base import SharingForm, TrainingRows
from kinlearn.sharing._one_model import Pooled, fit_clone
from kinlearn.sharing._tables import CategoriesError
from kinlearn.tasks import LabelRule
from kinlearn.utils import group_rows, one_by_one
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._sklearn import Interval, safe_indexing
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["PerTask"]


_FEW_ROWS = 10  # up to here, a failed fit is likely a matter of size


def _fit_task(estimator: Any, rows: TrainingRows, name: Any) -> Any:
    try:
        return fit_clone(estimator, rows, some=True, encode=True)
    except CategoriesError:  # no matter of the task
        raise
    except ValueError as error:
        advice = (
            " Give it more rows, drop it, or set min_samples so that small tasks are "
            "predicted by a pooled model."
        )
        raise ValueError(
            f"Task {name!r} ({len(rows.y)} rows): {error}"
            + (advice if len(rows.y) <= _FEW_ROWS else "")
        ) from error


class PerTask(CallbackSupportMixin, SharingForm):
    """One model for each task, fitted to its rows alone.

    Parameters
    ----------
    estimator : estimator
        Any scikit-learn classifier or regressor.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    min_samples : int, default=1
        Tasks with fewer rows get no model of their own: a pooled model predicts
        for them.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict with a pooled model, which is
        then fitted too; "warn" names them in a warning, "share" does not, "error"
        refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get (classifiers): its own and those of all tasks that
        it has one in common with, from task to task; its own alone; or those that a
        mapping from tasks to classes gives it. See :ref:`label-sets`.
    n_jobs : int, default=None
        Tasks to fit at the same time, in threads unless a joblib context sets
        another backend; None is 1.

    Attributes
    ----------
    estimators_ : list of estimators
        The model of each of ``tasks_``; None where the pooled model predicts. A
        task with one class gets a constant classifier.
    pooled_ : estimator or None
        Model for small and unknown tasks, where they may occur.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels (classifiers).
    task_classes_ : dict
        Labels of each task (classifiers).
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    Pooled : One model for all tasks.
    TaskAsFeature : One model that sees the task.

    Notes
    -----
    The loop over tasks takes scikit-learn's callbacks: ``PerTask(...).set_callbacks(
    sklearn.callback.ProgressBar())`` shows how far it is.

    `decision_function` is defined for two classes, where a task with a single
    class gets -1 or 1, and for more classes if every task has them all.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import PerTask
    >>> X = [[0, 1], [1, 1], [0, 2], [1, 2]]
    >>> PerTask(Ridge(alpha=0), task=-1).fit(X, [0, 1, 2, 1]).predict([[3, 1], [3, 2]])
    array([ 3., -1.])
    """

    _parameter_constraints: dict = {
        **SharingForm._parameter_constraints,
        "min_samples": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        task: TaskColumn = None,
        min_samples: int = 1,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.min_samples = min_samples
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit one model to the rows of each task.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, if the estimator takes them.

        Returns
        -------
        PerTask
            The fitted form.
        """
        rows = self._open_for_fit(X, y, sample_weight)
        indptr, order = group_rows(rows.task, len(self.tasks_))
        large = np.diff(indptr) >= self.min_samples
        self.pooled_: Pooled | None = None
        if self.unknown_task != "error" or not large.all():
            self.pooled_ = Pooled(self.estimator, task=self.task).fit(
                X, y, sample_weight
            )
        if len(self.tasks_) == 1:  # its errors need no task's name
            self.estimators_ = [fit_clone(self.estimator, rows, encode=True)]
            return self
        self.estimators_ = [None] * len(self.tasks_)
        progress = self._init_callback_context(max_subtasks=int(large.sum()))
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        names = self.tasks_.tolist()
        models = Parallel(self.n_jobs, prefer="threads", return_as=one_by_one())(
            # a job elsewhere is sent the rows of its task, and no others
            delayed(_fit_task)(
                self.estimator, rows.take(order[indptr[t] : indptr[t + 1]]), names[t]
            )
            for t in np.flatnonzero(large)
        )
        for t, model in zip(np.flatnonzero(large), models, strict=True):
            step = progress.subcontext(task_name=f"task {names[t]}")
            step.call_on_fit_task_begin(estimator=self)
            self.estimators_[t] = model
            step.call_on_fit_task_end(estimator=self)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _answer(self, method: str, rest: Any, task: np.ndarray) -> Any:
        indptr, order = group_rows(task + 1, len(self.tasks_) + 1)
        if method == "predict" and is_classifier(self.estimator):
            # of the union's type: a task's own labels may be shorter strings
            answer = np.empty(len(task), dtype=self.classes_.dtype)
        else:
            answer = None
        for place in np.flatnonzero(np.diff(indptr)):
            index = order[indptr[place] : indptr[place + 1]]
            # place 0 holds the unknown tasks, whose code is -1
            model = self.estimators_[place - 1] if place else None
            some = safe_indexing(rest, index)
            if model is None:
                if self.pooled_ is None:
                    raise ValueError(
                        'PerTask was fitted with unknown_task="error", so it has no '
                        "model for unknown tasks. Set "
                        'unknown_task="share" before fit.'
                    )
                part = self.pooled_._answer(method, some, task[index])
            else:
                part = self._in_all_classes(method, model, some)
            if answer is None:
                answer = np.empty((len(task), *part.shape[1:]), dtype=part.dtype)
            answer[index] = part
        return answer

    def _in_all_classes(self, method: str, model: Any, X: Any) -> np.ndarray:
        """Predictions of one task's model, in terms of the union of the labels."""
        if method == "predict":
            return model.predict(X)
        columns = np.searchsorted(self.classes_, model.classes_)
        if method == "predict_proba":
            out = np.zeros((X.shape[0], len(self.classes_)))
            out[:, columns] = model.predict_proba(X)
            return out
        if len(self.classes_) == 2 and len(columns) == 1:
            return np.full(X.shape[0], 2.0 * columns[0] - 1.0)
        if len(columns) < len(self.classes_):
            raise ValueError(
                "decision_function is not defined here: some tasks lack some of the "
                f"{len(self.classes_)} classes. Use predict_proba or predict."
            )
        return model.decision_function(X)
