"""Many fits to rows that are binned once, and scores of rows by many models.

What an estimator's `fit` would do with some of the rows (folds, settings, seeds),
without the checks, and with the bins of all of them.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from kinlearn.boosting.gradient._bins import Binned
from kinlearn.boosting.gradient._losses import (
    REGRESSION,
    LogisticLoss,
    MultinomialLoss,
    probabilities,
)
from kinlearn.boosting.gradient._rounds import (
    Boosted,
    Problem,
    Settings,
    boost,
    counted_rows,
)
from kinlearn.tasks import (
    LabelSets,
    TaskColumns,
    TaskData,
    class_codes,
    find_label_sets,
)
from kinlearn.utils._typing import Table

__all__ = ["RowsModel", "SameBins", "predictions_of", "scores_of"]

_ROWS_OF_A_JOB = 4096
_CELLS_OF_A_JOB = 2**28  # of sparse rows

# Parameters that change what rows are, or need names of columns.
_REFUSED = {
    "monotonic_cst": None,
    "interaction_cst": None,
    "offset": None,
    "class_weight": None,
    "early_stopping": False,
    "warm_start": False,
}


class SameBins:
    """Rows for any number of fits.

    Parameters
    ----------
    X : float array or sparse matrix of shape (n_samples, n_features)
        Features, without the task; NaN is missing, categories are codes.
    task : int32 array of shape (n_samples,)
        Task codes, 0 and up.
    y : array of shape (n_samples,)
        Class codes, 0 to `n_classes` - 1, or numbers.
    weight : float64 array of shape (n_samples,), default=None
        Weights; None is one for each.
    n_classes : int, default=0
        Number of classes; 0 for numbers.
    max_bins : int, default=64
        At most so many bins for a feature, as in the estimators.
    categorical : bool array of shape (n_features,), default=None
        Which features are codes of categories.

    Attributes
    ----------
    binned : Binned
        The bins.
    """

    def __init__(
        self,
        X: Any,
        task: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        *,
        n_classes: int = 0,
        max_bins: int = 64,
        categorical: np.ndarray | None = None,
    ) -> None:
        self.binned = Binned.of(X, weight, max_bins=max_bins, categorical=categorical)
        self.task = np.ascontiguousarray(task, dtype=np.int32)
        self.y, self.n_classes = y, n_classes
        self.weight, self.max_bins = weight, max_bins
        self._n_codes = int(self.task.max(initial=-1)) + 1

    def with_tasks(self, task: np.ndarray) -> "SameBins":
        """The same rows and bins, with other tasks.

        Parameters
        ----------
        task : int32 array of shape (n_samples,)
            Task codes, 0 and up.

        Returns
        -------
        SameBins
            They share the bins.
        """
        out = copy(self)
        out.task = np.ascontiguousarray(task, dtype=np.int32)
        out._n_codes = int(out.task.max(initial=-1)) + 1
        return out

    def fit(
        self,
        estimator: Any,
        rows: np.ndarray | None = None,
        *,
        y: np.ndarray | None = None,
    ) -> "RowsModel":
        """Boost some of the rows as an estimator would.

        Parameters
        ----------
        estimator : MultiTaskGradientBoostingClassifier or -Regressor
            Whose parameters say how, and which stays as it is; `label_sets` is by
            codes.
        rows : intp array, default=None
            Which rows train; None is all.
        y : array of shape (n_samples,), default=None
            Other targets for all rows: residuals, for example.

        Returns
        -------
        RowsModel
            The model.
        """
        self._check(estimator)
        y = self.y if y is None else y
        every = rows is None
        rows = np.arange(len(self.task)) if rows is None else rows
        n_rows = np.ones(len(rows), dtype=np.int64)
        weight = np.ones(len(rows))
        if self.weight is not None:
            weight = self.weight[rows]
            n_rows = counted_rows(weight)
            every &= bool(weight.all())
            there = weight > 0
            rows, weight, n_rows = rows[there], weight[there], n_rows[there]
        binned = self.binned if every else self.binned.take(rows)
        present, task = _encoded(self.task[rows], self._n_codes)
        code = np.full(self._n_codes + 1, -1, dtype=np.int32)  # the last is unknown
        code[present] = np.arange(len(present))
        seed = int(check_random_state(estimator.random_state).randint(2**31 - 1))
        settings = Settings.of(estimator, seed, self.binned.bins.shape[1])
        loss, allowed, labels = _loss_of(
            estimator, y[rows], weight, task, present, self.n_classes
        )
        model = None
        if loss is not None:
            problem = Problem(binned, task, len(present), loss, n_rows, allowed)
            model = boost(problem, settings, estimator.n_estimators)
        return RowsModel(self, model, code, loss, labels)

    def fit_estimator(self, estimator: Any, X: Any) -> Any:
        """Fit an estimator to all rows, as its `fit` does, without copies of them.

        Parameters
        ----------
        estimator : MultiTaskGradientBoostingClassifier or -Regressor
            Its task is the last column, and its categories are those of the bins.
        X : float array or sparse matrix of shape (n_samples, n_features)
            The features that the bins are of.

        Returns
        -------
        estimator
            Itself, fitted as to X with the task's code as one more column.
        """
        self._check(estimator)
        n_features = X.shape[1]
        present, task = _encoded(self.task, self._n_codes)
        fields: dict[str, Any] = {"y": self.y}
        if self.n_classes:
            name = type(estimator).__name__
            fields["classes"], fields["y"] = class_codes(self.y, name, task, present)
        categorical = self.binned.features.categorical
        data = TaskData(
            X=X,
            task=task,
            tasks=present,
            columns=TaskColumns(None, n_features + 1, n_features),
            sample_weight=self.weight,
            label_rule=getattr(estimator, "label_sets", "connected"),
            categorical=categorical if categorical.any() else None,
            **fields,
        )
        return estimator._fit_bins(data, self.binned)

    def _check(self, estimator: Any) -> None:
        """Refuse what only an estimator's own fit can do."""
        for name, wanted in _REFUSED.items():
            if getattr(estimator, name, wanted) != wanted:
                raise ValueError(
                    f"Fits on the same bins do not know {name}="
                    f"{getattr(estimator, name)!r}. Fit the estimator itself."
                )
        if estimator.max_bins != self.max_bins:
            raise ValueError(
                f"The rows have {self.max_bins} bins, and the estimator has max_bins="
                f"{estimator.max_bins}."
            )


def _encoded(codes: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """The codes that occur, ascending, and each as its place among them."""
    present = np.flatnonzero(np.bincount(codes, minlength=n))
    place = np.empty(n, dtype=np.int32)
    place[present] = np.arange(len(present))
    return present, place[codes]


@dataclass(frozen=True, eq=False)
class _Labels:
    """Classes that some rows have, and those of each task."""

    present: np.ndarray
    sets: LabelSets
    n_classes: int

    def probabilities(self, task: np.ndarray, scores: np.ndarray | None) -> np.ndarray:
        """Of all classes; none of those that the rows do not have."""
        out = np.zeros((len(task), self.n_classes))
        if scores is None:
            out[:, self.present] = 1.0
        else:
            out[:, self.present] = probabilities(scores, self.sets.allowed(task))
        return out


def _loss_of(
    estimator: Any,
    y: np.ndarray,
    weight: np.ndarray,
    task: np.ndarray,
    tasks: np.ndarray,
    n_classes: int,
) -> tuple[Any, np.ndarray | None, _Labels | None]:
    """The loss, which outputs tasks have, and the labels; no loss for one class."""
    if not n_classes:
        kind = REGRESSION[estimator.loss]
        kind.check(y, type(estimator).__name__)
        quantile = estimator.quantile if estimator.loss == "quantile" else 0.5
        scale = kind.find_scale(y)
        return kind(y, weight, quantile=quantile, scale=scale), None, None
    present, label = _encoded(y, n_classes)
    sets = find_label_sets(task, label, tasks, present, estimator.label_sets, weight)
    labels = _Labels(present, sets, n_classes)
    if len(present) == 1:
        return None, None, labels
    allowed = sets.allowed(np.append(np.arange(len(tasks)), -1))
    several = allowed[:-1].sum(axis=1, keepdims=True) > 1
    if len(present) == 2:
        return LogisticLoss(label, weight), several, labels
    loss = MultinomialLoss(label, weight, task, allowed)
    return loss, allowed[:-1] & several, labels


@dataclass(frozen=True, eq=False)
class RowsModel:
    """A model of some rows of `SameBins`.

    Attributes
    ----------
    rows : SameBins
        All rows.
    model : Boosted or None
        Start and trees; None if the rows have one class.
    """

    rows: SameBins
    model: Boosted | None
    _code: np.ndarray  # of tasks, by their codes among all rows
    _loss: Any
    _labels: _Labels | None

    def predictions(
        self,
        rows: np.ndarray,
        stages: Sequence[int] | None = None,
        task: np.ndarray | None = None,
    ) -> list[np.ndarray]:
        """Numbers, or probabilities of all classes, after some numbers of rounds.

        Parameters
        ----------
        rows : intp array
            For which of the rows.
        stages : sequence of int, default=None
            Numbers of rounds, ascending; None is all of them.
        task : int32 array, default=None
            Other task codes of these rows; -1 is an unknown task, as is one that the
            model has no rows of. None is their own.

        Returns
        -------
        list of float64 arrays of shape (n_rows,) or (n_rows, n_classes)
            For each stage; probabilities are 0 for classes that a task lacks or that
            no row of the model has.
        """
        task = self._code[self.rows.task[rows] if task is None else task]
        if self.model is None:
            return [self._of(task, None)] * len(stages or [0])
        bins = self.rows.binned.bins[rows]
        return [self._of(task, s) for s in self.model.staged_scores(bins, task, stages)]

    def _of(self, task: np.ndarray, scores: Any) -> np.ndarray:
        if self._labels is None:
            return self._loss.predictions(scores[:, 0], self._loss.scale)
        return self._labels.probabilities(task, scores)


def scores_of(models: Sequence[Any], X: Table) -> tuple[np.ndarray, list[np.ndarray]]:
    """Task codes of rows, and the scores that models with the same bins give them."""
    first = models[0]
    rows = first._predict_data(X)
    features = first._used(rows.X)
    offsets = [model._offset(rows.X) for model in models]
    n_jobs = effective_n_jobs(first.n_jobs)
    found = [np.empty((rows.n_samples, len(each._start.base))) for each in models]

    def add(some: slice) -> None:
        bins, task = first.bins_.assign(features[some]), rows.task[some]
        for model, offset, scores in zip(models, offsets, found, strict=True):
            scores[some] = model._start.scores(
                bins, task, None if offset is None else offset[some]
            )
            model.trees_.add_scores(bins, task, scores[some])

    size = max(-(-rows.n_samples // n_jobs), _ROWS_OF_A_JOB)
    if sp.issparse(features):  # bins have a byte for every cell
        size = max(min(size, _CELLS_OF_A_JOB // features.shape[1]), 1)
    parts = [slice(i, i + size) for i in range(0, rows.n_samples, size)]
    if len(parts) == 1:
        add(parts[0])
    else:
        with ThreadPoolExecutor(n_jobs) as pool:
            list(pool.map(add, parts))
    return rows.task, found


def predictions_of(models: Sequence[Any], method: str, X: Table) -> list[np.ndarray]:
    """What ``predict_proba``, or ``predict`` of numbers, gives of such models."""
    task, scores = scores_of(models, X)
    return [
        model._probabilities(task, one)
        if method == "predict_proba"
        else model._numbers(one)
        for model, one in zip(models, scores, strict=True)
    ]
