"""One model for each task."""

from dataclasses import replace
from itertools import chain
from numbers import Integral
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from kinlearn.linear.internal import fit_lines, has_line
from kinlearn.sharing._base import SharingForm
from kinlearn.sharing._fitting import (
    CategoriesError,
    TrainingRows,
    checked_predictions,
    fit_clone,
    plain_numbers,
)
from kinlearn.sharing._pooled import Pooled
from kinlearn.utils import group_rows, one_by_one
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._sklearn import Interval, safe_indexing
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskColumn

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
        What to do about tasks not seen in fit: predict with the pooled model; "warn"
        names them in a warning, "share" does not, "error" refuses them, so that no
        pooled model is fitted if nothing else needs it.
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
        task whose rows show one class gets a constant classifier.
    pooled_ : estimator or None
        Model for small and unknown tasks and for classes that a task's rows do not
        show, where they may occur.
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

    A task's model cannot know a class that none of the task's n rows shows. Where the
    class is possible (see `label_sets`), probabilities p of the model become
    :math:`(n p + q) / (n + 1)`, as by one row more, whose class has the probabilities
    q: half those of the pooled model, half the frequencies of the classes in all rows.
    The likeliest class is predicted. Without `predict_proba` the task's model predicts
    alone.

    In `decision_function` a task whose rows show only some of the classes gets the
    logarithms of its probabilities (of two classes, of their odds). Without
    `predict_proba` it gets -1 or 1 of two classes, and of more there is no
    `decision_function`.

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
        super().__init__(
            estimator, task=task, unknown_task=unknown_task, label_sets=label_sets
        )
        self.min_samples = min_samples
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
        if len(self.tasks_) == 1:  # its errors need no task's name
            self.estimators_ = [fit_clone(self.estimator, rows, encode=True)]
        else:
            self._fit_tasks(X, y, rows)
        self.pooled_: Pooled | None = None
        new_tasks = self.task is not None and self.unknown_task != "error"
        if new_tasks or None in self.estimators_ or self._guessing.any():
            self.pooled_ = Pooled(
                self.estimator, task=self.task, label_sets=self.label_sets
            ).fit(X, y, sample_weight)
        return self

    def _fit_tasks(self, X: Table, y: ArrayLike, rows: TrainingRows) -> None:
        """Fit a model to each task of enough rows; X and y are for callbacks."""
        indptr, order = group_rows(rows.task, len(self.tasks_))
        large = np.diff(indptr) >= self.min_samples
        self.estimators_ = [None] * len(self.tasks_)
        progress = self._init_callback_context(max_subtasks=int(large.sum()))
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        names = self.tasks_.tolist()
        found = self._fit_lines(rows, indptr, order, large)
        todo = [t for t in np.flatnonzero(large) if found[t] is None]
        models = Parallel(self.n_jobs, prefer="threads", return_as=one_by_one())(
            # a job elsewhere is sent the rows of its task, and no others
            delayed(_fit_task)(
                self.estimator, rows.take(order[indptr[t] : indptr[t + 1]]), names[t]
            )
            for t in todo
        )
        lines: Any = ((t, model) for t, model in enumerate(found) if model is not None)
        for t, model in chain(lines, zip(todo, models, strict=True)):
            step = progress.subcontext(task_name=f"task {names[t]}")
            step.call_on_fit_task_begin(estimator=self)
            self.estimators_[t] = model
            step.call_on_fit_task_end(estimator=self)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)

    def _fit_lines(
        self,
        rows: TrainingRows,
        indptr: np.ndarray,
        order: np.ndarray,
        large: np.ndarray,
    ) -> list[Any]:
        """Linear models of large tasks, all in one go; None where that is not so."""
        X, names = plain_numbers(rows.rest)
        if not has_line(self.estimator, X):
            return [None] * len(large)
        rows = replace(rows, rest=X).take(order)
        found = fit_lines(self.estimator, rows.rest, rows.y, rows.sample_weight, indptr)
        for model in found:
            if model is not None and names is not None:
                model.feature_names_in_ = names
        return [model if big else None for model, big in zip(found, large, strict=True)]

    @property
    def _guessing(self) -> np.ndarray:
        """Which tasks have a class that none of their rows shows."""
        if is_classifier(self.estimator):
            return self._label_sets.guessing
        return np.zeros(len(self.tasks_), dtype=bool)

    def _predict_by(self, method: str, rest: Any, task: np.ndarray) -> Any:
        indptr, order = group_rows(task + 1, len(self.tasks_) + 1)
        found: list[tuple[np.ndarray, np.ndarray]] = []  # rows, and predictions
        guessed: list[tuple[np.ndarray, np.ndarray]] = []
        guessing = self._by_probability(method)
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
                pooled = self.pooled_._predict_by(method, some, task[index])
                found.append((index, pooled))
            elif guessing[place - 1]:
                proba = self._in_all_classes("predict_proba", model, some)
                guessed.append((index, proba))
            else:
                found.append((index, self._in_all_classes(method, model, some)))
        if guessed:  # of all such tasks at once: there may be many
            index, proba = (np.concatenate(each) for each in zip(*guessed, strict=True))
            some = safe_indexing(rest, index)
            found.append((index, self._guess(method, proba, some, task[index])))
        first = found[0][1]
        dtype = first.dtype
        if method == "predict" and is_classifier(self.estimator):
            # of the union's type: a task's own labels may be shorter strings
            dtype = self.classes_.dtype
        out = np.empty((len(task), *first.shape[1:]), dtype=dtype)
        for index, values in found:
            out[index] = values
        return out

    def _reason_against(self, method: str) -> str:
        """Why a method has no meaning for the classes that fit saw; or nothing."""
        n_classes = len(getattr(self, "classes_", (0, 1)))
        if method != "decision_function" or n_classes == 2:
            return ""
        if n_classes == 1:
            return "decision_function is not defined for one class. Use predict."
        if hasattr(self.estimator, "predict_proba"):
            return ""
        if (np.diff(self._label_sets.observed.indptr) == n_classes).all():
            return ""
        return (
            "decision_function is not defined here: the rows of some tasks show only "
            f"some of the {n_classes} classes. Use predict."
        )

    def _by_probability(self, method: str) -> np.ndarray:
        """Which tasks are predicted by probabilities, with those of other models."""
        if not hasattr(self.estimator, "predict_proba"):
            return np.zeros(len(self.tasks_), dtype=bool)
        if method == "decision_function" and len(self.classes_) > 2:
            sets = self._label_sets.observed
            return np.diff(sets.indptr) < sets.n_classes
        return self._guessing

    def _guess(
        self, method: str, proba: np.ndarray, X: Any, task: np.ndarray
    ) -> np.ndarray:
        """Predictions for tasks with a class that their rows do not show."""
        pooled = cast(Pooled, self.pooled_)  # fitted, if a task may get such a class
        proba = self._label_sets.fill(
            proba,
            task,
            lambda rows: pooled._predict_by(
                "predict_proba", safe_indexing(X, rows), task[rows]
            ),
        )
        if method == "predict_proba":
            return proba
        if method == "predict":
            return self.classes_[proba.argmax(axis=1)]
        log = np.log(np.maximum(proba, np.finfo(np.float64).tiny))
        return log[:, 1] - log[:, 0] if len(self.classes_) == 2 else log

    def _in_all_classes(self, method: str, model: Any, X: Any) -> np.ndarray:
        """Predictions of one task's model, in terms of the union of the labels."""
        if method == "predict":
            found = model.predict(X)
            return checked_predictions(found, model, method, X.shape[0], X=X)
        columns = np.searchsorted(self.classes_, model.classes_)
        if method == "predict_proba":
            out = np.zeros((X.shape[0], len(self.classes_)))
            out[:, columns] = checked_predictions(
                model.predict_proba(X), model, method, X.shape[0], len(columns), X
            )
            return out
        if len(self.classes_) == 2 and len(columns) == 1:
            return np.full(X.shape[0], 2.0 * columns[0] - 1.0)
        return model.decision_function(X)
