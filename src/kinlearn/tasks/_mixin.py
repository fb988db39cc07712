"""What all task-aware estimators have in common: validation of X, and fitted names."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from kinlearn.tables import TableEncoder
from kinlearn.tables.internal import drop_new_codes, known_codes
from kinlearn.tasks._columns import TaskColumns
from kinlearn.tasks._data import LaterData, TaskData, TaskRows
from kinlearn.tasks._label_sets import LabelSets
from kinlearn.tasks._paths import TaskPaths
from kinlearn.tasks._validation import (
    check_later_data,
    check_task_data,
    check_task_rows,
)
from kinlearn.utils import AllOrNothing
from kinlearn.utils._loaded import UnsoundModelError, check_finite, demand
from kinlearn.utils._sklearn import StrOptions
from kinlearn.utils._typing import ArrayLike, Table
from kinlearn.utils._values import show_values

__all__ = ["TaskMixin", "remember_columns"]


def remember_columns(estimator: Any, columns: TaskColumns) -> None:
    """Keep what fit saw of the columns, under scikit-learn's names.

    Parameters
    ----------
    estimator : estimator
        Gets ``n_features_in_`` and, where X has names, ``feature_names_in_``.
    columns : TaskColumns
        What fit saw.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> import numpy as np
    >>> from kinlearn.tasks import remember_columns, split_task
    >>> estimator = SimpleNamespace()
    >>> remember_columns(estimator, split_task(np.ones((2, 3)), -1)[-1])
    >>> estimator.n_features_in_
    3
    """
    estimator._columns = columns
    estimator.n_features_in_ = columns.n_columns
    if columns.names is not None:
        estimator.feature_names_in_ = columns.all_names
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


class TaskMixin(AllOrNothing):
    """Validation and fitted attributes of estimators with a task column.

    An estimator's `fit` calls ``self._fit_data(...)`` once and works with the
    :class:`TaskData` it returns; every method that takes new rows calls
    ``self._predict_data(X)``. Whether sparse input and NaN are welcome is read
    from the estimator's scikit-learn tags.

    The estimator's constructor has `task`, and may have `unknown_task`, `label_sets`,
    `privileged`, `target` and `categorical_features`; all mean the same everywhere.

    Attributes
    ----------
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit, ascending; ``[0]`` for ``task=None``.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels (classifiers).
    task_classes_ : dict
        Labels of each task (classifiers).
    feature_names_ : ndarray of shape (n_features,)
        Names of the columns used as features: no task, no privileged ones. Where X
        holds more than numbers, those of the columns that it was turned into.
    table_encoder_ : TableEncoder or None
        What turned the features into numbers, fitted on the training rows, where X
        holds more than numbers; its ``remarks_`` tell what was left out.
    n_features_in_ : int
        Number of columns of X in fit, the task column included, so that
        scikit-learn's tools, which count the columns of X, agree.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of these columns, where X has names.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is. Only of estimators that have
        `categorical_features`.

    Examples
    --------
    An estimator that predicts the mean of each task:

    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator, RegressorMixin
    >>> from kinlearn.tasks import TaskMixin
    >>> class TaskMean(TaskMixin, RegressorMixin, BaseEstimator):
    ...     def __init__(self, *, task=None):
    ...         self.task = task
    ...
    ...     def fit(self, X, y):
    ...         data = self._fit_data(X, y, labels="numbers")
    ...         sums = np.bincount(data.task, weights=data.y)
    ...         self.means_ = sums / np.bincount(data.task)
    ...         return self
    ...
    ...     def predict(self, X):
    ...         return self.means_[self._predict_data(X).task]
    >>> X = [[0.5, 7], [1.5, 3], [2.5, 7]]
    >>> TaskMean(task=-1).fit(X, [1, 2, 3]).predict(X)
    array([2., 2., 2.])
    """

    task: Any  # TaskColumn; a path of columns where an estimator takes one
    tasks_: np.ndarray
    classes_: np.ndarray
    task_classes_: dict[Any, np.ndarray]
    feature_names_: np.ndarray
    n_features_in_: int
    feature_names_in_: np.ndarray
    table_encoder_: TableEncoder | None = None
    _columns: TaskColumns
    _label_sets: LabelSets
    _paths: TaskPaths | None = None  # of those that take a path of columns
    is_categorical_: np.ndarray | None
    _known_codes: np.ndarray

    # what suits the method: trees, and those that need one scale, set their own
    _table_encoding: ClassVar[dict[str, Any]] = {"categories": "indicators"}
    # what features, targets and total weights may reach: methods whose products would
    # not be finite set it to `kinlearn.tasks.internal.LARGEST`
    _largest: ClassVar[float] = np.inf
    # one order of memory: sums of rows that stand otherwise differ in last digits;
    # None where every sum is exact, and X need not be copied
    _order: ClassVar[Literal["C", "F"] | None] = "C"

    _task_parameter_constraints = {
        "task": [str, Integral, None],
        "unknown_task": [StrOptions({"warn", "share", "error"})],
    }
    # of classifiers, beside the above
    _label_parameter_constraints = {
        "label_sets": [StrOptions({"connected", "observed"}), Mapping],
    }
    _categorical_constraints = {
        "categorical_features": ["array-like", StrOptions({"from_dtype"}), None],
    }

    def _check_loaded(self) -> None:
        super()._check_loaded()
        if "tasks_" not in vars(self):
            return  # not fitted
        n_tasks = len(self.tasks_)
        demand(n_tasks > 0 and self.tasks_.ndim == 1, "tasks_")
        self._columns.check(self.n_features_in_)
        n_classes = len(getattr(self, "classes_", ()))
        if hasattr(self, "classes_"):
            demand(n_classes > 0 and self.classes_.ndim == 1, "classes_")
            self._label_sets.check(n_tasks, n_classes)
        demand(self.feature_names_.ndim == 1, "feature_names_")
        for name in ("coef_", "intercept_", "dual_coef_"):
            value = vars(self).get(name)
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                check_finite(name, value)
        self._check_arrays(len(self.feature_names_), n_tasks, n_classes)

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        """Check what the method adds; see `kinlearn.utils._loaded`."""

    def _data_options(self, order: Literal["C", "F"] | None) -> dict[str, Any]:
        tags = get_tags(self)
        return {
            "accept_sparse": tags.input_tags.sparse,
            "allow_nan": tags.input_tags.allow_nan,
            "order": order or self._order,
            "estimator": type(self).__name__,
            "largest": self._largest,
        }

    def _task_path(self) -> tuple[tuple[Any, ...], Any]:
        """Columns above the task, of estimators that take a path, and the task's."""
        return (), self.task

    def _encoding(self) -> dict[str, Any]:
        """Parameters of the encoder of tables that hold more than numbers."""
        return self._table_encoding

    def _fit_data(
        self,
        X: Table,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        labels: Any = None,
        order: Literal["C", "F"] | None = None,
        same: bool = False,
        groups: Sequence[str | int] = (),
        need_features: bool = True,
    ) -> TaskData:
        """Check training data, set the fitted attributes that all have.

        If it must be the `same`, as for a warm start, other tasks, features or classes
        than in the last fit are an error, and nothing is set. Columns that are `groups`
        are no features; unless features are needed, there may be none.
        """
        levels, task = self._task_path()
        data = check_task_data(
            X,
            y,
            sample_weight,
            task=task,
            levels=levels,
            privileged=getattr(self, "privileged", None),
            target=getattr(self, "target", None),
            labels=labels,
            label_sets=getattr(self, "label_sets", "connected"),
            encoding=self._encoding(),
            categorical_features=getattr(self, "categorical_features", "from_dtype"),
            groups=groups,
            need_features=need_features,
            **self._data_options(order),
        )
        self._remember_data(data, same)
        return data

    def _remember_data(self, data: TaskData, same: bool = False) -> None:
        """Set the fitted attributes that all have."""
        if same:
            self._check_same(data)
        self._remember_categories(data, same)
        remember_columns(self, data.columns)
        self.table_encoder_ = data.encoder
        self.tasks_ = data.tasks
        if data.paths is not None or self._paths is not None:
            self._paths = data.paths
        self.feature_names_ = data.feature_names
        if data.classes is not None:
            self.classes_ = data.classes
            self.task_classes_ = data.task_classes
            self._label_sets = data.label_sets

    def _remember_categories(self, data: TaskData, same: bool) -> None:
        if not hasattr(self, "categorical_features"):
            return
        known: Any = None
        if data.categorical is not None:
            known = known_codes(
                data.X,
                data.categorical,
                data.feature_names,
                type(self).__name__,
                data.sample_weight,
            )
            before = self.is_categorical_ if same else None
            if before is not None and np.array_equal(before, data.categorical):
                known |= self._known_codes
        self.is_categorical_, self._known_codes = data.categorical, known

    def _category_names(self, feature: int) -> dict[int, str]:
        """Codes of a feature's categories seen in fit, and how to call them."""
        categorical: Any = self.is_categorical_
        known = self._known_codes[categorical[:feature].sum()]
        codes = np.flatnonzero(known).tolist()
        if self.table_encoder_ is None:
            return {code: str(code) for code in codes}
        names = self.table_encoder_._category_names(feature)
        return {code: names[code] for code in codes}

    def _without_new_codes(self, X: Any) -> Any:
        categorical = getattr(self, "is_categorical_", None)
        if categorical is None:
            return X
        return drop_new_codes(X, categorical, self._known_codes)

    def _check_same(self, data: TaskData) -> None:
        fitted = {
            "tasks": (self.tasks_, data.tasks),
            "features": (self.feature_names_, data.feature_names),
            "classes": (getattr(self, "classes_", None), data.classes),
        }
        for kind, (old, new) in fitted.items():
            if old is None or np.array_equal(old, new):
                continue
            gone = [v for v in old.tolist() if v not in set(new.tolist())]
            added = [v for v in new.tolist() if v not in set(old.tolist())]
            raise ValueError(
                f"warm_start=True goes on with a fitted {type(self).__name__}, but the "
                f"data have other {kind} than it was fitted to: "
                f"{show_values(added) or 'none'} new, {show_values(gone) or 'none'} "
                f"gone. Fit with the same {kind} in the same order, or set "
                "warm_start=False to begin anew."
            )

    def _predict_data(
        self, X: Table, *, order: Literal["C", "F"] | None = None
    ) -> TaskRows:
        """Check new rows against what fit saw."""
        check_is_fitted(self)
        rows = check_task_rows(
            X,
            columns=self._columns,
            tasks=self.tasks_,
            paths=self._paths,
            unknown_task=getattr(self, "unknown_task", None),
            encoder=self.table_encoder_,
            **self._data_options(order),
        )
        if rows.X.shape[1] != len(self.feature_names_):
            raise UnsoundModelError(
                f"{type(self).__name__} has {len(self.feature_names_)} features, but "
                f"X was turned into {rows.X.shape[1]}: what it remembers of the "
                "columns was changed."
            )
        return replace(rows, X=self._without_new_codes(rows.X))

    def _later_data(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        only_new: bool = False,
        new_classes: bool = False,
    ) -> LaterData:
        """Check rows that come after fit; tasks may be new, and must be if `only_new`.

        Rows of new tasks may have classes that fit did not see if `new_classes`.

        Fitted attributes do not change before `_remember_later`.
        """
        check_is_fitted(self)
        later = check_later_data(
            X,
            y,
            sample_weight,
            columns=self._columns,
            tasks=self.tasks_,
            classes=getattr(self, "classes_", None),
            new_classes=new_classes,
            encoder=self.table_encoder_,
            **self._data_options(None),
        )
        if only_new and not later.is_new[later.task].all():
            known = np.unique(later.task[~later.is_new[later.task]])
            raise ValueError(
                f"add_task adds tasks that {type(self).__name__} does not know, but it "
                f"knows {show_values(later.tasks[known])}. Drop their rows, or fit "
                "anew."
            )
        return replace(later, X=self._without_new_codes(later.X))

    @staticmethod
    def _check_first_classes(y: ArrayLike, classes: ArrayLike | None) -> None:
        """Refuse a first `partial_fit` whose labels are not all the classes."""
        absent = np.setdiff1d([] if classes is None else classes, y).tolist()
        if absent:
            raise ValueError(
                "The first call of partial_fit is a fit, so y must hold every class; "
                f"{absent} are missing."
            )

    @staticmethod
    def _check_later_classes(later: LaterData, classes: ArrayLike | None) -> None:
        """Refuse classes, of a later `partial_fit`, that no row had."""
        absent = np.setdiff1d([] if classes is None else classes, later.classes)
        if len(absent):
            raise ValueError(
                f"classes names {absent.tolist()}, which neither the model knows nor y "
                "has. Pass rows of them, or leave them out."
            )

    def _remember_later(self, later: LaterData) -> None:
        """Set the tasks, and the classes of each, with those of later rows."""
        self.tasks_ = later.tasks
        if not hasattr(self, "classes_"):
            return
        self.classes_ = later.classes
        self._label_sets = later.find_label_sets(
            self._label_sets, getattr(self, "label_sets", "connected")
        )
        self.task_classes_ = self._label_sets.by_task(self.tasks_, self.classes_)
