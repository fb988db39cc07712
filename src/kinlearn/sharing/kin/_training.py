"""Training rows as candidates take them, and candidates' predictions."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax
from sklearn.base import clone
from sklearn.dummy import DummyClassifier

from kinlearn.boosting.gradient import GradientBoostingBase
from kinlearn.boosting.gradient.internal import SameBins
from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing.kin._candidates import Candidate
from kinlearn.sharing.kin._combine import Evidence
from kinlearn.sharing.kin._features import MeanTargets, Standardisation, WithMeanTargets
from kinlearn.sharing.kin._groups import LikeTasks
from kinlearn.tasks import LabelSets, find_label_sets, with_task
from kinlearn.utils._typing import LabelRule

__all__ = [
    "Table",
    "TrainingTable",
    "held_out",
    "predict_with",
    "staged_predictions",
]

# Of a class that a model does not know, and the task may have: the same for all models.
_PROBABILITY_OF_UNKNOWN = 1e-4
_MANY_CELLS = 5_000_000  # of a table that is not copied as a whole
_ROWS_AT_ONCE = 8_192
_EXACT_IN_FLOAT32 = 1 << 24


@dataclass(frozen=True, eq=False)
class Table:
    """Rows with the task's code as their last column, as candidates take them.

    Of many cells there are no copies that stay: each request makes the rows it wants.

    Attributes
    ----------
    X : float array or CSR of shape (n_samples, n_features)
        The features as they are.
    task : int32 array of shape (n_samples,)
        Codes; -1 is unknown.
    scale : Standardisation or None
        What gives features mean 0 and variance 1, if a candidate wants that.
    groups : int32 array of shape (n_levels, n_samples), or None
        Codes of the groups that the tasks lie in; -1 is unknown.
    """

    X: Any
    task: np.ndarray
    scale: Standardisation | None
    groups: np.ndarray | None = None
    _whole: dict = field(default_factory=dict)

    @property
    def is_large(self) -> bool:
        """Whether a copy of all rows is worth avoiding."""
        plain = self.scale is None or self.scale.categories is None
        return plain and not sp.issparse(self.X) and self.X.size > _MANY_CELLS

    def rows(
        self, scaled: bool, level: int = -1, some: np.ndarray | slice = slice(None)
    ) -> Any:
        """Some of the rows, with the groups of a level in place of the tasks."""
        if (scaled, level) not in self._whole and not self.is_large:
            self._whole[scaled, level] = self._made(scaled, level, slice(None))
        whole = self._whole.get((scaled, level))
        return self._made(scaled, level, some) if whole is None else whole[some]

    @contextmanager
    def whole(self, scaled: bool, level: int) -> Iterator[None]:
        """Keep all rows for a while, for several who want them at the same time."""
        if not self.is_large:  # they are kept anyway
            yield
            return
        self._whole[scaled, level] = self._made(scaled, level, slice(None))
        try:
            yield
        finally:
            del self._whole[scaled, level]

    def _made(self, scaled: bool, level: int, some: np.ndarray | slice) -> Any:
        groups: Any = self.groups
        task = (self.task if level < 0 else groups[level])[some]
        scale = self.scale if scaled else None
        if sp.issparse(self.X) or (scale and scale.categories is not None):
            X = self.X[some]
            return with_task(X if scale is None else scale.apply(X), task)
        exact = task.max(initial=0) < _EXACT_IN_FLOAT32
        dtype = self.X.dtype if exact else np.float64
        out = np.empty((len(task), self.X.shape[1] + 1), dtype)
        out[:, -1] = task
        for first in range(0, len(out), _ROWS_AT_ONCE):
            part = slice(first, first + _ROWS_AT_ONCE)
            X = self.X[some][part] if isinstance(some, slice) else self.X[some[part]]
            if scale is None:
                out[part, :-1] = X
            else:
                scale.apply(X, out=out[part, :-1])
        return out


@dataclass(frozen=True, eq=False)
class TrainingTable:
    """Rows to fit to.

    Attributes
    ----------
    table : Table
        The rows.
    y : int32 or float64 array of shape (n_samples,)
        Class codes, or numbers.
    weight : float64 array of shape (n_samples,)
        Weights.
    weighted : bool
        Whether weights were given.
    n_tasks, n_classes : int
        How many there are; no classes for numbers.
    categorical : list of int
        Positions of the raw features that are codes of categories.
    n_codes : int
        How many of the scaled features are codes, for models to learn mean targets
        of; they are the last before the task.
    label_rule : {"connected", "observed"} or dict
        Which classes a task may get, by codes. It is applied to the rows that models
        are fitted to, so that no label set knows of rows that are held out.
    """

    table: Table
    y: np.ndarray
    weight: np.ndarray
    weighted: bool
    n_tasks: int
    n_classes: int
    categorical: list
    n_codes: int
    label_rule: LabelRule = "connected"
    _groups_by_rows: dict = field(default_factory=dict)

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return len(self.y)

    def fit(
        self,
        candidate: Candidate,
        params: dict[str, Any],
        rows: np.ndarray | slice | None = None,
    ) -> Any:
        """Fit a candidate to some of the rows; a constant where there is one class."""
        every = rows is None
        rows = self._drawn(candidate, slice(None) if rows is None else rows)
        y = self.y[rows]
        constant = bool(self.n_classes and (y == y[0]).all())
        shared: dict[str, Any] = {"label_sets": self._rule_of(candidate)}
        if every and not constant and self.takes_bins(candidate):
            if self.categorical:
                shared["categorical_features"] = self.categorical
            model = _with_params(candidate, params, shared)
            return self._bins_of(candidate).fit_estimator(model, self.table.X)
        X = self.table.rows(candidate.scaled, candidate.level, rows)
        weight = {"sample_weight": self.weight[rows]} if self.weighted else {}
        if constant:
            return DummyClassifier(strategy="prior").fit(X, y, **weight)
        codes = None
        if candidate.scaled and self.n_codes:
            codes = MeanTargets(self.n_codes)
            X = codes.fit_apply(X, y, self.n_classes)
        elif self.categorical and not candidate.scaled:
            shared["categorical_features"] = self.categorical
        model = _with_params(candidate, params, shared)
        if isinstance(model, LikeTasks):
            some = rows.tobytes() if isinstance(rows, np.ndarray) else None
            model.remember_groups(self._groups_by_rows, (candidate.level, some))
        model.fit(X, y, **weight)
        return model if codes is None else WithMeanTargets(codes, model)

    def _drawn(
        self, candidate: Candidate, rows: np.ndarray | slice
    ) -> np.ndarray | slice:
        """As many of the rows as a candidate takes at most, of each task its part."""
        every = np.arange(self.n_samples)[rows]
        if not 0 < candidate.most_rows < len(every):
            return rows
        every = np.random.RandomState(0).permutation(every)
        by_task = every[np.argsort(self.table.task[every], kind="stable")]
        places = np.linspace(0, len(every) - 1, candidate.most_rows).astype(np.intp)
        return np.sort(by_task[places])

    def takes_bins(self, candidate: Candidate) -> bool:
        """Whether a candidate can be fitted to bins that are made once."""
        return (
            isinstance(candidate.estimator, GradientBoostingBase)
            and not candidate.scaled
        )

    def copies_much(self, candidate: Candidate) -> bool:
        """Whether a fit needs about as much memory as a large table."""
        free = self.takes_bins(candidate) or candidate.most_rows
        return self.table.is_large and not free

    def forget_bins(self) -> None:
        """Free what fits of boosters have in common."""
        vars(self).pop("bins", None)

    @cached_property
    def bins(self) -> SameBins:
        """The raw features as bins, for any number of fits to some of the rows."""
        X = self.table.X
        mask = np.zeros(X.shape[1], dtype=bool)
        mask[self.categorical] = True
        return SameBins(
            X,
            self.table.task,
            self.y,
            self.weight if self.weighted else None,
            n_classes=self.n_classes,
            categorical=mask if mask.any() else None,
        )

    def _bins_of(self, candidate: Candidate) -> SameBins:
        """The same as a candidate takes them: perhaps with groups as tasks."""
        if candidate.level < 0:
            return self.bins
        groups: Any = self.table.groups
        return self.bins.with_tasks(groups[candidate.level])

    def _rule_of(self, candidate: Candidate) -> LabelRule:
        """Which classes a candidate's tasks may get; its groups, if it sees such."""
        if candidate.level >= 0 and isinstance(self.label_rule, Mapping):
            return "connected"
        return self.label_rule

    def predictions_by_bins(
        self,
        candidate: Candidate,
        params: dict[str, Any],
        rows: np.ndarray,
        test: np.ndarray,
        task: np.ndarray,
        stages: Sequence[int],
    ) -> list[np.ndarray]:
        """Predictions for the rows `test`, as of these tasks, after some iterations."""
        rule = {"label_sets": self._rule_of(candidate)}
        model = _with_params(candidate, params, rule)
        # a group that the rows lack is unknown without being told
        codes = task if candidate.level < 0 else None
        fitted = self._bins_of(candidate).fit(model, rows)
        found = fitted.predictions(test, stages or None, codes)
        labels = self.label_sets(rows)
        if labels is None:
            return found
        every = np.arange(self.n_classes)
        return [_in_all_classes(proba, every, task, labels) for proba in found]

    def evidence(
        self, predictions: list[np.ndarray], rows: np.ndarray | slice = slice(None)
    ) -> Evidence:
        """Candidates' predictions for all rows, and what is known of some of these."""
        y = self.y[rows]
        out = np.empty((len(predictions), len(y), *predictions[0].shape[1:]))
        for k, each in enumerate(predictions):
            out[k] = each[rows]
        return Evidence(
            out,
            y,
            self.weight[rows],
            self.table.task[rows],
            self.n_tasks,
        )

    def label_sets(self, rows: np.ndarray) -> LabelSets | None:
        """The classes of each task by some of the rows; None for numbers."""
        if not self.n_classes:
            return None
        return find_label_sets(
            self.table.task[rows],
            self.y[rows],
            np.arange(self.n_tasks),
            np.arange(self.n_classes),
            self.label_rule,
            self.weight[rows],
        )


def _with_params(
    candidate: Candidate, params: dict[str, Any], shared: dict[str, Any]
) -> Any:
    """The candidate's model with parameters, and others wherever it has them."""
    model = clone(candidate.estimator)
    given = {
        name: shared[last]
        for name in model.get_params()
        if (last := name.rpartition("__")[2]) in shared
    }
    return model.set_params(**params, **given)


def predict_with(
    model: Any, X: Any, task: np.ndarray, labels: LabelSets | None
) -> np.ndarray:
    """A model's numbers, or probabilities of all classes that the row's task has.

    `labels` are the classes of each task; None for numbers.
    """
    if labels is None:
        return model.predict(X)
    if isinstance(model, WithMeanTargets):
        model, X = model.model, model.codes.apply(X)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
    else:
        proba = _from_scores(model.decision_function(X))
    return _in_all_classes(proba, model.classes_, task, labels)


def _from_scores(scores: np.ndarray) -> np.ndarray:
    """Probabilities in the order of decision values, right after calibration."""
    if scores.ndim == 1:  # of the second of two classes
        scores = np.column_stack([-scores, scores])
    return softmax(scores, axis=1)


def staged_predictions(
    model: Any,
    X: Any,
    task: np.ndarray,
    labels: LabelSets | None,
    stages: Sequence[int],
) -> Iterator[np.ndarray]:
    """The same of a booster after fewer iterations, whose numbers ascend."""
    if isinstance(model, WithMeanTargets):
        model, X = model.model, model.codes.apply(X)
    if isinstance(model, DummyClassifier):
        for _ in stages:
            yield predict_with(model, X, task, labels)
        return
    if isinstance(model, LikeTasks):
        yield from _joined_stages(
            [
                (staged_predictions(part, X[rows], task[rows], labels, stages), rows)
                for part, rows in model.rows_by_group(X)
                if len(rows)
            ],
            len(task),
            len(stages),
        )
        return
    method = "staged_predict" if labels is None else "staged_predict_proba"
    wanted = set(stages)
    for number, value in enumerate(getattr(model, method)(X), start=1):
        if number not in wanted:
            continue
        if labels is not None:
            value = _in_all_classes(value, model.classes_, task, labels)
        yield value


def _joined_stages(
    parts: list[tuple[Iterator[np.ndarray], np.ndarray]], n_rows: int, n_stages: int
) -> Iterator[np.ndarray]:
    """Predictions for all rows, stage by stage, from those of parts of the rows."""
    for _ in range(n_stages):
        out: Any = None
        for predictions, rows in parts:
            part = next(predictions)
            if out is None:
                out = np.empty((n_rows, *part.shape[1:]))
            out[rows] = part
        yield out


def _in_all_classes(
    proba: np.ndarray, codes: np.ndarray, task: np.ndarray, labels: LabelSets
) -> np.ndarray:
    """Probabilities of all classes, none on those that the row's task lacks.

    A task without rows in the label sets may have any class.
    """
    if len(codes) < labels.n_classes:
        narrow, proba = proba, np.zeros((len(task), labels.n_classes))
        proba[:, codes] = narrow
    known = np.append(np.diff(labels.indptr) > 0, False)
    task = np.where(known[task], task, -1)
    proba = labels.restrict(proba.astype(np.float64, copy=False), task)
    unknown = (proba <= 0) & labels.allowed(task)
    if not unknown.any():
        return proba
    proba = np.where(unknown, _PROBABILITY_OF_UNKNOWN, proba)
    return proba / proba.sum(axis=1, keepdims=True)


def held_out(
    train: TrainingTable,
    candidate: Candidate,
    params: dict[str, Any],
    test: np.ndarray,
    stages: tuple[int, ...],
    code: int | None = None,
) -> list[np.ndarray]:
    """Predictions for the rows `test` by a model of all others.

    `code` stands for the tasks of these rows; with -1 they have any class.
    """
    keep = np.ones(train.n_samples, dtype=bool)
    keep[test] = False
    rows = np.flatnonzero(keep)
    task = train.table.task[test] if code is None else np.full(len(test), code)
    if train.takes_bins(candidate):
        return train.predictions_by_bins(candidate, params, rows, test, task, stages)
    if code is None and _has_each_task(train, candidate, rows, test):
        params = {**params, "unknown_task": "error"}  # no model for unknown ones
    model, labels = train.fit(candidate, params, rows), train.label_sets(rows)
    X = train.table.rows(candidate.scaled, candidate.level, test)
    if stages:
        return list(staged_predictions(model, X, task, labels, stages))
    return [predict_with(model, X, task, labels)]


def _has_each_task(
    train: TrainingTable, candidate: Candidate, rows: np.ndarray, test: np.ndarray
) -> bool:
    """Whether models of each task were fitted to rows of all tasks of others."""
    if not isinstance(candidate.estimator, PerTask):
        return False
    here = np.zeros(train.n_tasks, dtype=bool)
    here[train.table.task[rows]] = True
    return bool(here[train.table.task[test]].all())
