"""What the conformal wrappers have in common: predictions out of fold."""

from collections.abc import Iterator
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.dummy import DummyClassifier
from sklearn.model_selection import GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from kinlearn.model_selection.internal import deal_rows
from kinlearn.sharing._base import SharingForm
from kinlearn.sharing._fitting import TrainingRows, checked_predictions
from kinlearn.tables.internal import open_table
from kinlearn.utils._sklearn import Interval, safe_indexing
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["ConformalBase"]


class ConformalBase(SharingForm):
    """Fits an estimator once to all rows, and once without each fold."""

    _parameter_constraints: dict = {
        **SharingForm._parameter_constraints,
        "n_folds": [Interval(Integral, 2, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }
    _method: str  # of the estimator, whose predictions are judged

    def __init__(
        self,
        estimator: Any,
        *,
        task: TaskColumn = None,
        n_folds: int = 5,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.n_folds = n_folds
        self.unknown_task = unknown_task
        self.n_jobs = n_jobs
        self.random_state = random_state

    @property
    def _task_column(self) -> TaskColumn:
        own = getattr(self.estimator, "task", None)
        return own if self.task is None else self.task

    def _prepared(self) -> Any:
        """The estimator, with the parameters that it has in common with this one."""
        params = self.estimator.get_params(deep=False)
        own = params.get("task")
        if own is not None and own != self._task_column:
            raise ValueError(
                f"task={self.task!r}, but {type(self.estimator).__name__} has "
                f"task={own!r}. Name the column once, or the same one twice."
            )
        given: dict[str, Any] = {
            "task": self._task_column,
            # the wrapper warns already
            "unknown_task": "error" if self.unknown_task == "error" else "share",
        }
        if hasattr(self, "label_sets"):
            given["label_sets"] = self.label_sets
        common = {name: value for name, value in given.items() if name in params}
        return clone(self.estimator).set_params(**common)

    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit the estimator, and learn from folds how far off it is.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column, as the estimator takes them.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, if the estimator takes them. A weight of 2 counts as two rows in
            the quantiles too.

        Returns
        -------
        self
            The fitted wrapper.
        """
        self._check_kind()
        rows = self._open_for_fit(X, y, sample_weight)
        X = open_table(X).native
        model = self._prepared()
        try:
            seen = self._out_of_fold(model, X, rows, self._row_folds(rows))
        except (TypeError, ValueError) as error:
            self._explain_task_column(error)
            raise
        self._remember_errors(*seen)
        n_tasks = len(self.tasks_)
        if self.unknown_task != "error" and n_tasks > 1:
            folds = GroupKFold(min(self.n_folds, n_tasks))
            splits = folds.split(rows.task, groups=rows.task)
            self._remember_unseen_errors(*self._out_of_fold(model, X, rows, splits))
        self.estimator_ = _fit(model, X, rows, slice(None))
        return self

    def _explain_task_column(self, error: Exception) -> None:
        """Tell a failure that may come from the task column as a feature."""
        if self._task_column is None or "task" in self.estimator.get_params(deep=False):
            return
        if isinstance(self.estimator, Pipeline):
            return
        name = type(self.estimator).__name__
        raise ValueError(
            f"{name} failed: {error} It has no parameter `task`, so it was given the "
            f"task column {self._task_column!r} as a feature. Wrap it: "
            f"Pooled({name}()), PerTask({name}()) or TaskAsFeature({name}())."
        ) from error

    def _check_kind(self) -> None:
        raise NotImplementedError

    def _remember_errors(self, *evidence: Any) -> None:
        raise NotImplementedError

    def _remember_unseen_errors(self, *evidence: Any) -> None:
        raise NotImplementedError

    def _row_folds(self, rows: TrainingRows) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Folds in which every task has its part, and rare classes too.

        Targets fall as they may: spread evenly, the rows held out of a task would have
        the mean of those that stay, and errors would seem smaller than they are.
        """
        n_rows = len(rows.task)
        if n_rows < 2:
            raise ValueError(
                f"Found n_samples={n_rows} (shape of X), while a minimum of 2 is "
                f"required by {type(self).__name__}."
            )
        n_folds = min(self.n_folds, n_rows)
        fold = deal_rows(
            self._strata(rows.y, n_folds),
            rows.task,
            len(self.tasks_),
            n_splits=n_folds,
            stratify="classes",
            rng=check_random_state(self.random_state),
        )
        for f in range(n_folds):
            yield np.flatnonzero(fold != f), np.flatnonzero(fold == f)

    def _strata(self, y: np.ndarray, n_folds: int) -> np.ndarray:
        return np.zeros(len(y), dtype=np.intp)

    def _out_of_fold(
        self,
        model: Any,
        X: Table,
        rows: TrainingRows,
        splits: Iterator[tuple[np.ndarray, np.ndarray]],
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
        """Predictions for rows by models that did not see them, and what is true."""
        folds = [(train, test) for train, test in splits if len(test)]
        parallel = Parallel(self.n_jobs, prefer="threads")
        found = parallel(
            delayed(self._held_out)(model, X, rows, train, test)
            for train, test in folds
        )
        test = np.concatenate([test for _, test in folds])
        weight = None if rows.sample_weight is None else rows.sample_weight[test]
        y = self._as_codes(rows.y[test])
        return np.concatenate(found), y, rows.task[test], weight

    def _held_out(
        self,
        model: Any,
        X: Table,
        rows: TrainingRows,
        train: np.ndarray,
        test: np.ndarray,
    ) -> np.ndarray:
        if rows.sample_weight is not None:  # some models fail on a sum of 0
            train = train[rows.sample_weight[train] > 0]
        fitted = _fit(model, X, rows, train)
        values = getattr(fitted, self._method)(safe_indexing(X, test))
        checked_predictions(values, fitted, self._method, len(test))
        finite = np.isfinite(values).reshape(len(test), -1).all(axis=1)
        n_bad = np.count_nonzero(~finite)
        if n_bad:
            raise ValueError(
                f"{type(fitted).__name__} predicted values that are not finite for "
                f"{n_bad} of {len(test)} rows that were held out, so it is not known "
                f"how far off it is. Look at what its {self._method} returns."
            )
        return self._in_all_classes(values, fitted, rows.task[test])

    def _as_codes(self, y: np.ndarray) -> np.ndarray:
        return y

    def _in_all_classes(
        self, values: np.ndarray, model: Any, task: np.ndarray
    ) -> np.ndarray:
        return values

    def _open_for_predict(self, X: Table) -> tuple[Any, np.ndarray]:
        return X, super()._open_for_predict(X)[1]

    def _predict_by(self, method: str, X: Any, task: np.ndarray) -> np.ndarray:
        return getattr(self.estimator_, method)(X)

    def _predict_and_tasks(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        X, task = self._open_for_predict(X)
        values = self._predict_by(self._method, X, task)
        return self._in_all_classes(values, self.estimator_, task), task


def _fit(model: Any, X: Table, rows: TrainingRows, some: Any) -> Any:
    all_rows = isinstance(some, slice)
    X = X if all_rows else safe_indexing(X, some)
    weight = rows.sample_weight
    y = rows.y[some]
    options = {} if weight is None else {"sample_weight": weight[some]}
    if is_classifier(model) and not all_rows and (y == y[0]).all():
        return DummyClassifier(strategy="prior").fit(X, y, **options)
    return clone(model).fit(X, y, **options)
