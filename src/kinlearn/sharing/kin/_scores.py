"""What predictions out of fold are worth, in any metric, and columns to them."""

import warnings
from collections.abc import Callable
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.inspection import permutation_importance
from sklearn.metrics import (
    accuracy_score,
    check_scoring,
    get_scorer,
    get_scorer_names,
    r2_score,
)
from sklearn.utils import Bunch, check_random_state

from kinlearn.tasks import TaskData
from kinlearn.utils._sklearn import safe_indexing
from kinlearn.utils._typing import ArrayLike, RandomState, Table

__all__ = ["Scores", "importance_of_columns"]


class _KnownNumbers(RegressorMixin, BaseEstimator):
    """Stands for a model whose predictions for some rows are known."""

    def __init__(self, numbers: np.ndarray) -> None:
        self.numbers = numbers

    def predict(self, X: Any) -> np.ndarray:
        """The numbers."""
        return self.numbers


class _KnownProbabilities(ClassifierMixin, BaseEstimator):
    """The same for a classifier."""

    def __init__(self, proba: np.ndarray, classes: np.ndarray) -> None:
        self.proba = proba
        self.classes_ = classes

    def predict(self, X: Any) -> np.ndarray:
        """The likeliest classes."""
        return self.classes_[self.proba.argmax(axis=1)]

    def predict_proba(self, X: Any) -> np.ndarray:
        """The probabilities."""
        return self.proba


class Scores:
    """Scores of predictions for training rows.

    Parameters
    ----------
    scoring : str, callable or None
        A scorer of scikit-learn's; None is accuracy or R^2.
    X : table
        Rows as the scorer takes them.
    origin : int array of shape (n_samples,)
        Row of X that each training row comes from.
    data : TaskData
        The training rows.
    """

    def __init__(
        self,
        scoring: str | Callable[..., float] | None,
        X: Any,
        origin: np.ndarray,
        data: TaskData,
    ) -> None:
        if isinstance(scoring, str) and scoring not in get_scorer_names():
            raise ValueError(
                f"scoring={scoring!r} is no scorer of scikit-learn's. Take a name of "
                "sklearn.metrics.get_scorer_names(), or pass a scorer."
            )
        self._scorer = get_scorer(scoring) if isinstance(scoring, str) else scoring
        self._X, self._origin = X, origin
        self._y, self._classes = data.y, data.classes
        self._weight = data.sample_weight
        if self._scorer is not None:  # if it does not suit, before the long part
            n_rows = data.n_samples
            shape = (n_rows,) if data.classes is None else (n_rows, len(data.classes))
            try:
                self.of(np.full(shape, 1.0 / shape[-1]), np.arange(n_rows))
            except (AttributeError, TypeError, ValueError) as error:
                raise ValueError(
                    f"scoring={scoring!r} cannot score this y, or these predictions "
                    f"({error}). Take a metric of its kind, or None."
                ) from error

    def of(self, values: np.ndarray, rows: np.ndarray) -> float:
        """The score of numbers or probabilities for training rows; NaN if undefined."""
        y = self._y[rows]
        weight = None if self._weight is None else self._weight[rows]
        if self._scorer is None:
            if len(y) < (1 if self._classes is not None else 2):
                return np.nan
            if self._classes is None:
                return float(r2_score(y, values, sample_weight=weight))
            return float(accuracy_score(y, values.argmax(axis=1), sample_weight=weight))
        if not len(y):
            return np.nan
        model: Any = _KnownNumbers(values)
        if self._classes is not None:
            model, y = _KnownProbabilities(values, self._classes), self._classes[y]
        options = {} if weight is None else {"sample_weight": weight}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UndefinedMetricWarning)
            X = safe_indexing(self._X, self._origin[rows])
            return float(self._scorer(model, X, y, **options))

    def of_task(self, values: np.ndarray, rows: np.ndarray) -> float:
        """The same for the rows of one task, on which the metric may be undefined."""
        try:
            return self.of(values, rows)
        except ValueError:  # some metrics of one class, or of one row
            return np.nan

    def log_loss(self, proba: np.ndarray, rows: np.ndarray) -> float:
        """Log loss of probabilities for training rows; NaN without rows.

        As :func:`sklearn.metrics.log_loss` has it, a truth that was ruled out counts as
        by
        rounding.
        """
        if not len(rows):
            return np.nan
        truth = proba[np.arange(len(rows)), self._y[rows]]
        loss = -np.log(np.maximum(truth, np.finfo(np.float64).eps))
        weight = None if self._weight is None else self._weight[rows]
        return float(np.average(loss, weights=weight))


def importance_of_columns(
    estimator: Any,
    X: Table,
    y: ArrayLike,
    *,
    n_repeats: int,
    scoring: str | Callable[..., float] | None,
    weight: ArrayLike | None,
    random_state: RandomState,
) -> Any:
    """How much the score of a fitted estimator falls when a column is shuffled.

    As :func:`sklearn.inspection.permutation_importance`, which shuffles arrays and
    pandas frames; the others are shuffled here.
    """
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    other = isinstance(frame, nw.DataFrame) and not frame.implementation.is_pandas()
    if not (other or sp.issparse(X)):
        return permutation_importance(
            estimator,
            X,
            y,
            scoring=scoring,
            n_repeats=n_repeats,
            n_jobs=estimator.n_jobs,
            random_state=random_state,
            sample_weight=weight,
        )
    scorer = check_scoring(estimator, scoring=scoring)
    options = {} if weight is None else {"sample_weight": weight}
    rng = check_random_state(random_state)
    shuffle = _shuffled_frame if other else _shuffled_sparse
    whole = scorer(estimator, X, y, **options)
    n_rows, n_columns = X.shape
    fall = np.empty((n_columns, n_repeats))
    for j in range(n_columns):
        for r in range(n_repeats):
            mixed = shuffle(X, j, rng.permutation(n_rows))
            fall[j, r] = whole - scorer(estimator, mixed, y, **options)
    return Bunch(
        importances_mean=fall.mean(axis=1),
        importances_std=fall.std(axis=1),
        importances=fall,
    )


def _shuffled_frame(X: Any, j: int, order: np.ndarray) -> Any:
    frame = nw.from_native(X, eager_only=True)
    column = frame[:, j]
    return frame.with_columns(column[order.tolist()].alias(column.name)).to_native()


def _shuffled_sparse(X: Any, j: int, order: np.ndarray) -> Any:
    table = sp.csc_array(X)
    column = table[:, [j]].tocsr()[order].tocsc()
    return sp.hstack([table[:, :j], column, table[:, j + 1 :]], format="csr")
