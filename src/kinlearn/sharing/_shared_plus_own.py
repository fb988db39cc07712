"""A linear model with a part that all tasks share and a part of each task's own."""

from numbers import Real
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import Ridge
from sklearn.utils import check_array

from kinlearn.linear.internal import add_own_parts, fit_shared_and_own
from kinlearn.sharing._base import OneModel, SharingForm
from kinlearn.sharing._fitting import (
    TrainingRows,
    checked_predictions,
    plain_numbers,
)
from kinlearn.utils._sklearn import Interval
from kinlearn.utils._typing import LabelRule, TaskColumn

__all__ = ["SharedPlusOwn"]

_FEW_COLUMNS = 64  # of a sparse X that is solved like a dense one


def _few_columns(rest: Any) -> Any:
    """Numbers of few columns as an array, also of frames and sparse ones."""
    X = plain_numbers(rest)[0]
    few = sp.issparse(X) and X.shape[1] <= _FEW_COLUMNS
    return X.toarray() if few else X


class SharedPlusOwn(OneModel):
    r"""A linear model for all tasks, from which each task may depart.

    The estimator sees every feature twice: once as it is, and once, times
    `own_weight`, in columns that belong to the row's task alone. With a squared
    penalty on the coefficients, as in ridge or logistic regression, this fits
    :math:`f_t(x) = (w + v_t)^\top x + b_t` under the penalty

    .. math:: \|w\|^2 + \frac{1}{\text{own\_weight}^2} \sum_t \|v_t\|^2 ,

    so tasks share `w`, and depart from it as far as their rows support it.

    Parameters
    ----------
    estimator : estimator
        A linear scikit-learn classifier or regressor with a penalty that takes
        sparse matrices.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    own_weight : float, default=0.5
        How readily tasks depart from what they share. Near 0 is one model for all;
        1 counts a task's own part like the shared one; large is one model for each
        task, under a weaker penalty.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict with the shared part; "warn"
        names them in a warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get (classifiers): its own and those of all tasks that
        it has one in common with, from task to task; its own alone; or those that a
        mapping from tasks to classes gives it. See :ref:`label-sets`.

    Attributes
    ----------
    estimator_ : estimator
        The fitted model over the widened features.
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
    TaskAsFeature : One model that sees the task, but no products with it.

    Notes
    -----
    The penalty is that of [1]_, the widening of features that of [2]_, where
    `own_weight` is 1. It needs features of one scale: put a scaler before it, with
    :func:`~kinlearn.keep_task`. The best weight depends on the strength of the
    penalty; in five-fold cross-validation of the demonstration data, landmine and
    school, 0.5 suited logistic regression and 0.2 ridge regression, of standard
    strength. To choose it, search over it.

    References
    ----------
    .. [1] T. Evgeniou, M. Pontil. Regularized multi-task learning. KDD, 2004.
    .. [2] H. Daumé III. Frustratingly easy domain adaptation. ACL, 2007.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from kinlearn.sharing import SharedPlusOwn
    >>> X = [[0, 1], [1, 1], [2, 1], [0, 2], [1, 2], [2, 2]]
    >>> y = [0, 1, 2, 0, 3, 6]  # a slope of 1 in one task, of 3 in the other
    >>> model = SharedPlusOwn(Ridge(1e-3), task=-1).fit(X, y)
    >>> model.predict([[1, 1], [1, 2]]).round(1)
    array([1., 3.])
    """

    _parameter_constraints: dict = {
        **SharingForm._parameter_constraints,
        "own_weight": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        estimator: Any,
        *,
        task: TaskColumn = None,
        own_weight: float = 0.5,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
    ) -> None:
        super().__init__(
            estimator, task=task, unknown_task=unknown_task, label_sets=label_sets
        )
        self.own_weight = own_weight

    def _fit_estimator(self, rows: TrainingRows) -> Any:
        if len(self.tasks_) > 1:
            found = fit_shared_and_own(
                self.estimator,
                _few_columns(rows.rest),
                rows.y,
                rows.sample_weight,
                rows.task,
                len(self.tasks_),
                float(self.own_weight),
            )
            if found is not None:
                return found
        return super()._fit_estimator(rows)

    def _predict_by(self, method: str, rest: Any, task: np.ndarray) -> np.ndarray:
        X = _few_columns(rest) if self.table_encoder_ is None else None
        coef: Any = getattr(self.estimator_, "coef_", None)
        plain = isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.size
        if not plain or type(self.estimator_) is not Ridge or np.ndim(coef) != 1:
            return super()._predict_by(method, rest, task)
        # the same without the columns of all tasks
        X = check_array(X, dtype=[np.float64, np.float32], estimator=self)
        d, own = X.shape[1], np.zeros((1, X.shape[1] + 1))
        if len(self.tasks_) > 1:
            own = float(self.own_weight) * coef[d:].reshape(len(self.tasks_), d + 1)
        with np.errstate(over="ignore", invalid="ignore"):  # said below
            out = X @ coef[:d] + self.estimator_.intercept_
            add_own_parts(out, X, task, own)
        return checked_predictions(out, self.estimator_, method, len(out), X=X)

    def _fit_features(self, rows: TrainingRows) -> tuple[Any, list[int]]:
        return self._features(rows.rest, rows.task), []

    def _features(self, rest: Any, task: np.ndarray) -> Any:
        if len(self.tasks_) == 1:
            return rest
        shared = check_array(
            rest,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            estimator=self,
            input_name="X",
        )
        shared = sp.csr_array(shared)
        # Each row's own columns, a one for its level in front: those of task t
        # begin at t * width. Unknown tasks (-1) have none.
        ones = sp.csr_array(np.ones((len(task), 1), dtype=shared.dtype))
        known = sp.diags_array((task >= 0) * float(self.own_weight), format="csr")
        own = (known @ sp.hstack([ones, shared], format="csr")).tocsr()
        width = own.shape[1]
        shape = len(task), width * len(self.tasks_)
        dtype = np.int32 if shape[1] < 2**31 else np.int64
        start = np.repeat(
            np.maximum(task, 0).astype(dtype) * width, np.diff(own.indptr)
        )
        own = sp.csr_array((own.data, own.indices + start, own.indptr), shape=shape)
        own.eliminate_zeros()
        return sp.hstack([shared, own], format="csr", dtype=shared.dtype)
