"""What a prediction is worth: the metric, task by task, on one fold."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer_names, make_scorer

from kinlearn.audit._problem import Problem
from kinlearn.metrics import TaskFrame
from kinlearn.metrics.internal import Metric, TaskScorer, resolve_metric
from kinlearn.utils._typing import Table

__all__ = ["FoldScores", "Scoring", "choose_scoring", "explained_variance"]

_LABELS = {
    "accuracy": "accuracy",
    "average_precision": "average precision",
    "balanced_accuracy": "balanced accuracy",
    "explained_variance": "explained variance",
    "f1": "F1",
    "r2": "R²",
    "roc_auc": "AUC",
}
# Means over rows, whose rows need not be of both classes, and fractions: by the name
# of the function that computes them.
_BY_ROW = {"accuracy_score", "brier_score_loss", "log_loss", "zero_one_loss"}
_FRACTIONS = {
    "accuracy_score",
    "average_precision_score",
    "balanced_accuracy_score",
    "brier_score_loss",
    "f1_score",
    "fbeta_score",
    "g_mean_score",
    "jaccard_score",
    "precision_score",
    "rare_class_recall_score",
    "recall_score",
    "roc_auc_score",
    "sensitivity_specificity_f_score",
    "top_k_accuracy_score",
    "zero_one_loss",
}
_CORRELATIONS = {"cohen_kappa_score", "matthews_corrcoef"}


def explained_variance(
    y_true: np.ndarray, y_pred: np.ndarray, *, variance: np.ndarray
) -> float:
    """One minus the squared error over the variance of the row's task."""
    known = ~np.isnan(variance)
    if not known.any():
        warnings.warn("y is constant in the task", UndefinedMetricWarning, stacklevel=2)
        return np.nan
    squares = np.square(y_true[known] - y_pred[known])
    return float(1.0 - np.mean(squares / variance[known]))


@dataclass(frozen=True, eq=False)
class FoldScores:
    """Scores of one contender on one fold, greater being better.

    - `values` (n_tasks,): NaN where there is no score.
    - `micro`: Score of all test rows together.
    - `reasons`: Why a task with test rows has no score, by task code.
    """

    values: np.ndarray
    micro: float
    reasons: dict[int, str]


@dataclass(frozen=True, eq=False)
class Scoring:
    """A metric, and its name and sign in reports.

    - `metric`: The metric itself.
    - `chance`: Score of a guess, where it is known.
    - `row_params`: Parameters of the metric with a value for each row of the data.
    - `classes`: All classes, which the test rows of a fold need not have.
    """

    metric: Metric
    chance: float | None = None
    row_params: dict[str, np.ndarray] = field(default_factory=dict)
    classes: np.ndarray | None = None

    @property
    def sign(self) -> int:
        """1, or -1 for an error: scores are turned so that greater is better."""
        return 1 if self.metric.greater_is_better else -1

    @property
    def is_error(self) -> bool:
        """Whether the metric is an error, whose scores are its negative."""
        return self.metric.sign * self.sign < 0

    @property
    def name(self) -> str:
        """Name of the score; that of an error begins with ``neg_``."""
        return self.metric.name if self.sign > 0 else f"neg_{self.metric.name}"

    @property
    def by_row(self) -> bool:
        """Whether it is a mean over rows, which exists for rows of one class too."""
        return self._function in _BY_ROW

    @property
    def width(self) -> float:
        """Greatest possible difference of two scores; infinite where it has no end."""
        if self._function in _FRACTIONS:
            return 1.0
        return 2.0 if self._function in _CORRELATIONS else np.inf

    @property
    def _function(self) -> str:
        return getattr(self.metric.function, "__name__", "")

    @property
    def label(self) -> str:
        """Name of the metric in words."""
        words = self.name.removeprefix("neg_").replace("_", " ")
        return _LABELS.get(self.name, words)

    def describe(self) -> dict[str, Any]:
        """Plain data about the metric."""
        return {
            "name": self.name,
            "label": self.label,
            "greater_is_better": not self.is_error,
            "chance": self.chance,
        }

    def score(
        self,
        model: Any,
        X: Table,
        y: np.ndarray,
        codes: np.ndarray,
        n_tasks: int,
        rows: np.ndarray,
    ) -> FoldScores:
        """Score a fitted model on test rows."""
        return self.score_views(model, X, y, rows, [(self, codes, n_tasks)])[0]

    def score_views(
        self,
        model: Any,
        X: Table,
        y: np.ndarray,
        rows: np.ndarray,
        views: Sequence[tuple["Scoring", np.ndarray, int]],
    ) -> list[FoldScores]:
        """Score the same predictions by several groupings of the rows.

        Each has its scoring, by the same metric, codes of the rows, and their number.
        """
        found: list[FoldScores] = []

        def by_task(y_true: np.ndarray, y_pred: np.ndarray, pos_label: Any) -> float:
            # pos_label has done its work: the scorer took that class's column
            for scoring, codes, n_tasks in views:
                of_rows = scoring.row_params.items()
                params = {name: values[rows] for name, values in of_rows}
                metric, predicted = scoring._of_all_classes(model, y_pred)
                frame = TaskFrame(
                    {scoring.metric.name: metric},
                    y_true,
                    predicted,
                    tasks=codes,
                    labels=getattr(model, "classes_", None),
                    sample_params={scoring.metric.name: params},
                )
                found.append(scoring._read(frame, n_tasks))
            return 0.0

        make_scorer(
            by_task,
            response_method=self.metric.response_method,
            pos_label=self.metric.setting("pos_label"),
        )(model, X, y)
        return found

    def _of_all_classes(
        self, model: Any, y_pred: np.ndarray
    ) -> tuple[Metric, np.ndarray]:
        """The metric and probabilities with a column for each class of the data.

        Training or test rows of a fold may lack a rare class. A metric that takes
        the classes, such as the log loss, has a score all the same.
        """
        metric, known = self.metric, getattr(model, "classes_", None)
        if self.classes is None or known is None or y_pred.ndim != 2:
            return metric, y_pred
        if metric.setting("labels") is not None or not metric.accepts("labels"):
            return metric, y_pred
        full = np.zeros((len(y_pred), len(self.classes)))
        full[:, np.searchsorted(self.classes, known)] = y_pred
        return replace(metric, params={**metric.params, "labels": self.classes}), full

    def _read(self, frame: TaskFrame, n_tasks: int) -> FoldScores:
        values = np.full(n_tasks, np.nan)
        values[frame.tasks] = self.sign * frame.values[self.metric.name]
        micro = self.sign * frame.overall[self.metric.name]
        reasons = {u.task: u.reason for u in frame.undefined if u.task is not None}
        for code in np.flatnonzero(np.isinf(values)):
            values[code], reasons[int(code)] = np.nan, "the metric gave infinity"
        micro = micro if np.isfinite(micro) else np.nan
        return FoldScores(values, float(micro), reasons)


def choose_scoring(
    scoring: str | Callable[..., float] | None, problem: Problem
) -> Scoring:
    """The metric of a comparison."""
    if scoring is None:
        return _default(problem)
    if isinstance(scoring, str) and scoring not in get_scorer_names():
        raise ValueError(
            f"scoring={scoring!r} is not a metric that scikit-learn knows; see "
            "sklearn.metrics.get_scorer_names(), or pass a function of y_true and "
            "y_pred."
        )
    wanted: Any = scoring
    if isinstance(scoring, TaskScorer):
        wanted = scoring._metric
    elif callable(scoring) and not isinstance(scoring, partial):
        _refuse_scorer_function(scoring)
    metric = resolve_metric(wanted)
    chance = 0.5 if metric.name == "roc_auc" else None
    return Scoring(metric, chance, classes=problem.classes)


def _refuse_scorer_function(function: Callable[..., Any]) -> None:
    try:
        names = list(signature(function).parameters)
    except (TypeError, ValueError):
        return
    if names[:1] == ["estimator"] and not hasattr(function, "_score_func"):
        raise TypeError(
            "scoring is a function of an estimator, which cannot score task by task. "
            "Pass a metric: a function of y_true and y_pred, or a name."
        )


def _default(problem: Problem) -> Scoring:
    if problem.classes is None:
        variance = np.array(
            [np.var(problem.y[problem.codes == t]) for t in range(problem.n_tasks)]
        )
        # the mean of equal numbers need not be that number
        scale = np.square(1e-14 * np.abs(problem.y).max(initial=0.0))
        variance[variance <= scale] = np.nan
        metric = Metric("explained_variance", explained_variance)
        return Scoring(metric, 0.0, {"variance": variance[problem.codes]})
    if len(problem.classes) == 2:
        return Scoring(resolve_metric("roc_auc"), 0.5)
    pairs = np.unique(np.column_stack([problem.codes, problem.label_codes]), axis=0)
    complete = len(pairs) == problem.n_tasks * len(problem.classes)
    chance = 1.0 / len(problem.classes) if complete else None
    return Scoring(resolve_metric("balanced_accuracy"), chance)
