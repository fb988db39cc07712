"""Any metric by task: overall, macro, worst, spread, intervals."""

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, check_scalar
from sklearn.utils.validation import check_consistent_length

from kinlearn.metrics._evaluate import make_evaluator
from kinlearn.metrics._metric import resolve_metrics
from kinlearn.tasks import encode_tasks
from kinlearn.utils import group_rows, import_optional
from kinlearn.utils._typing import ArrayLike, RandomState
from kinlearn.utils._values import show_values

__all__ = ["TaskFrame", "TaskIntervals", "UndefinedScore", "WorstTask"]


@dataclass(frozen=True)
class WorstTask:
    """The task with the worst score.

    Attributes
    ----------
    task : task value
        None if the metric is undefined on all tasks.
    score : float
        Its score.
    """

    task: Any
    score: float


@dataclass(frozen=True)
class UndefinedScore:
    """A score that does not exist.

    Attributes
    ----------
    metric : str
        Name of the metric.
    task : task value
        None is the score of all rows together.
    reason : str
        Why there is no score.
    """

    metric: str
    task: Any
    reason: str


@dataclass(frozen=True)
class TaskIntervals:
    """Intervals, as :meth:`TaskFrame.intervals` gives them.

    Attributes
    ----------
    overall : dict of str to (float, float)
        Lower and upper bound of all rows' score, by metric.
    macro : dict of str to (float, float)
        Bounds of the mean over tasks, by metric.
    by_task : dict of dict
        Bounds by metric and task.
    confidence : float
        Fraction of the draws inside.
    n_boot : int
        Number of draws.
    """

    overall: dict
    macro: dict
    by_task: dict
    confidence: float
    n_boot: int

    def to_frame(self) -> Any:
        """Bounds by metric and task as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            Columns ``low`` and ``high``, indexed by metric and task.
        """
        pandas = import_optional(
            "pandas", extra="report", purpose="TaskIntervals.to_frame"
        )
        index = [(metric, task) for metric, d in self.by_task.items() for task in d]
        return pandas.DataFrame(
            [bounds for d in self.by_task.values() for bounds in d.values()],
            index=pandas.MultiIndex.from_tuples(index, names=["metric", "task"]),
            columns=["low", "high"],
        )


class TaskFrame:
    """Metrics by task.

    The score of all rows together hides a task that is served badly. Here every
    metric is given for each task, for all rows, and as mean, worst and spread
    over the tasks. A metric that does not exist on a task (the AUC of rows of
    one class) is NaN there, is left out of mean, worst and spread, and is
    listed in `undefined`; it is never made up.

    Parameters
    ----------
    metrics : callable, str, list of them, or dict
        Functions of `y_true` and `y_pred`, or names of scikit-learn's scorers,
        such as ``"roc_auc"``; a dict gives them names of your own. Use
        :func:`functools.partial` for a function's other parameters.
    y_true : array-like of shape (n_samples,)
        True labels or values.
    y_pred : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
        Predictions.
    tasks : array-like of shape (n_samples,)
        Task of each row: integers or strings.
    y_score : array-like of shape (n_samples,) or (n_samples, n_columns), default=None
        Scores or probabilities, for the metrics that take them: functions whose
        second parameter is called ``y_score``, ``y_proba`` or ``pred_decision``,
        and the scorers' names that go with them. None gives `y_pred` to all.
    labels : array-like of shape (n_classes,), default=None
        Classes that the columns of the scores stand for, such as ``model.classes_``:
        rows to test on may not show them all. None is those of `y_true`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights for every metric.
    sample_params : dict, default=None
        Other parameters with a value per row, as ``{metric: {parameter: array}}``.
    greater_is_better : bool or dict, default=None
        Which way is good, for all or by metric; only the worst task depends on
        it. None takes names that end in ``_error`` or ``_loss`` (or ``_deviance``,
        ``_distance``) as errors, everything else as scores.

    Attributes
    ----------
    tasks : ndarray of shape (n_tasks,)
        Task values, ascending.
    n_rows : intp array of shape (n_tasks,)
        Rows of each task.
    metrics : list of str
        Names of the metrics.
    overall, macro, worst, spread, n_defined : dict
        By metric; see there.
    by_task : dict of dict
        By metric and task.
    undefined : list of UndefinedScore
        What could not be computed, and why.

    See Also
    --------
    make_task_scorer : The same as a scorer for cross-validation.

    Notes
    -----
    Made after fairlearn's ``MetricFrame``. Our own metrics and the common ones of
    scikit-learn are computed for all tasks in one go; any other function is
    called once for each task. ``r2_score`` of a constant truth is undefined
    here, while scikit-learn returns 0 or 1. So are ``balanced_accuracy_score``,
    ``matthews_corrcoef`` and ``cohen_kappa_score`` of a truth of one class.
    Metrics of scores that take ``labels``, such as ``log_loss``, are given `labels`, or
    the classes of all rows, so they exist on a task whose rows show one class. Which
    classes a model thinks a task can have (:ref:`label-sets`) plays no part: the truth
    and the predictions of the task's rows decide.

    Examples
    --------
    >>> from kinlearn.metrics import TaskFrame
    >>> frame = TaskFrame(
    ...     ["accuracy", "roc_auc"],
    ...     y_true=[0, 1, 1, 0, 1, 1, 0, 0],
    ...     y_pred=[0, 1, 1, 0, 0, 1, 0, 0],
    ...     y_score=[0.1, 0.9, 0.8, 0.3, 0.2, 0.7, 0.4, 0.1],
    ...     tasks=["a", "a", "a", "a", "b", "b", "b", "c"],
    ... )
    >>> frame
    TaskFrame of 8 rows, 3 tasks
              overall   macro  defined   worst  worst task  spread
    accuracy    0.875  0.8889   3 of 3  0.6667         'b'  0.3333
    roc_auc     0.875    0.75   2 of 3     0.5         'b'     0.5
    roc_auc is undefined on 1 task: 'c' (y_true has fewer than two classes)
    >>> frame.by_task["accuracy"]
    {'a': 1.0, 'b': 0.666..., 'c': 1.0}
    """

    def __init__(
        self,
        metrics: Callable | str | Sequence[Callable | str] | Mapping[str, Any],
        y_true: ArrayLike,
        y_pred: ArrayLike | None = None,
        *,
        tasks: ArrayLike,
        y_score: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        sample_params: Mapping[str, Mapping[str, ArrayLike]] | None = None,
        greater_is_better: bool | Mapping[str, bool] | None = None,
    ) -> None:
        self._metrics = resolve_metrics(metrics, greater_is_better)
        y_true = np.asarray(y_true)
        self.tasks, codes = encode_tasks(tasks)
        check_consistent_length(y_true, y_pred, tasks, y_score, sample_weight)
        self._indptr, order = group_rows(codes, len(self.tasks))
        row_params = self._row_params(sample_weight, sample_params, y_true, order)
        self._evaluators = {}
        for name, metric in self._metrics.items():
            scores = metric.needs_scores and y_score is not None
            outputs = y_score if scores else y_pred
            if outputs is None:
                raise ValueError(
                    f"Metric {name!r} needs "
                    + ("y_score or y_pred" if metric.needs_scores else "y_pred")
                    + ", which is not given."
                )
            self._evaluators[name] = make_evaluator(
                metric,
                y_true[order],
                np.asarray(outputs)[order],
                row_params[name],
                self._indptr,
                None if labels is None else np.asarray(labels),
            )

    def _row_params(
        self,
        sample_weight: ArrayLike | None,
        sample_params: Any,
        y_true: np.ndarray,
        order: np.ndarray,
    ) -> dict[str, dict[str, np.ndarray]]:
        """Parameters with a value per row: by metric and name, task by task."""
        sample_params = {} if sample_params is None else sample_params
        if not isinstance(sample_params, Mapping) or not all(
            name in self._metrics and isinstance(params, Mapping)
            for name, params in sample_params.items()
        ):
            raise ValueError(
                "sample_params must be a dict {metric: {parameter: values}} with the "
                f"metrics {self.metrics}; got {sample_params!r}."
            )
        found = {}
        for name, metric in self._metrics.items():
            params = dict(sample_params.get(name, {}))
            if sample_weight is not None:
                params.setdefault("sample_weight", sample_weight)
            for param, values in params.items():
                if not metric.accepts(param):
                    raise ValueError(
                        f"Metric {name!r} takes no {param}. Give it to the other "
                        "metrics only, through sample_params."
                    )
                check_consistent_length(y_true, values)
                params[param] = np.asarray(values)[order]
            found[name] = params
        return found

    @property
    def metrics(self) -> list[str]:
        """Names of the metrics."""
        return list(self._metrics)

    @property
    def n_rows(self) -> np.ndarray:
        """Rows of each task."""
        return np.diff(self._indptr)

    @cached_property
    def _overall(self) -> dict[str, tuple[float, str | None]]:
        return {name: e.overall() for name, e in self._evaluators.items()}

    @cached_property
    def _by_task(self) -> dict[str, tuple[np.ndarray, dict[int, str]]]:
        return {name: e.by_task() for name, e in self._evaluators.items()}

    @property
    def overall(self) -> dict[str, float]:
        """Each metric on all rows together."""
        return {name: value for name, (value, _) in self._overall.items()}

    @property
    def values(self) -> dict[str, np.ndarray]:
        """Each metric's score of every task, as an array in the order of `tasks`."""
        return {name: values for name, (values, _) in self._by_task.items()}

    @cached_property
    def by_task(self) -> dict[str, dict[Any, float]]:
        """Each metric's score of every task, as a dict by task."""
        keys = self.tasks.tolist()
        return {
            name: dict(zip(keys, values.tolist(), strict=True))
            for name, values in self.values.items()
        }

    @property
    def n_defined(self) -> dict[str, int]:
        """Number of tasks on which each metric is defined."""
        return {name: int((~np.isnan(v)).sum()) for name, v in self.values.items()}

    @property
    def macro(self) -> dict[str, float]:
        """Mean over the tasks on which the metric is defined (see `n_defined`)."""
        return {name: _mean_defined(v) for name, v in self.values.items()}

    @property
    def worst(self) -> dict[str, WorstTask]:
        """The task with the worst score, and that score."""
        return {name: self._worst(name, v) for name, v in self.values.items()}

    def _worst(self, name: str, values: np.ndarray) -> WorstTask:
        if np.isnan(values).all():
            return WorstTask(None, np.nan)
        better = self._metrics[name].greater_is_better
        place = np.nanargmin(values) if better else np.nanargmax(values)
        return WorstTask(self.tasks[[place]].tolist()[0], float(values[place]))

    @property
    def spread(self) -> dict[str, float]:
        """Greatest minus least score over the tasks."""
        return {
            name: np.nan if np.isnan(v).all() else float(np.nanmax(v) - np.nanmin(v))
            for name, v in self.values.items()
        }

    @property
    def undefined(self) -> list[UndefinedScore]:
        """Scores that do not exist, with the reason; task None is all rows."""
        found = []
        keys = self.tasks.tolist()
        for name in self.metrics:
            reason = self._overall[name][1]
            if reason is not None:
                found.append(UndefinedScore(name, None, reason))
            reasons = self._by_task[name][1]
            found += [UndefinedScore(name, keys[t], reasons[t]) for t in reasons]
        return found

    def intervals(
        self,
        n_boot: int = 1000,
        *,
        confidence: float = 0.95,
        random_state: RandomState = None,
    ) -> TaskIntervals:
        """Bootstrap intervals of the scores.

        Rows are drawn with replacement within each task, as many as it has, so
        the tasks themselves are taken as given. Bounds are percentiles over the
        draws.

        Parameters
        ----------
        n_boot : int, default=1000
            Number of draws. The scores of all draws are kept: n_boot times
            n_tasks numbers for each metric.
        confidence : float, default=0.95
            Fraction of the draws inside an interval.
        random_state : int, RandomState instance or None, default=None
            Decides the draws.

        Returns
        -------
        TaskIntervals
            Intervals of `overall`, `macro` and `by_task`.

        Notes
        -----
        Draws in which a metric is undefined are left out. If it is undefined in
        more than half of them, or if a task has a single row (whose draws are
        all alike), the interval is NaN.
        """
        return _bootstrap_intervals(
            self._evaluators,
            self.tasks,
            self.n_rows,
            n_boot=n_boot,
            confidence=confidence,
            random_state=random_state,
        )

    def to_frame(self) -> Any:
        """Scores by task as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            A row for each task; the columns are ``n_rows`` and the metrics.
        """
        pandas = import_optional("pandas", extra="report", purpose="TaskFrame.to_frame")
        index = pandas.Index(self.tasks, name="task")
        return pandas.DataFrame({"n_rows": self.n_rows, **self.values}, index=index)

    def __repr__(self) -> str:
        head = ["", "overall", "macro", "defined", "worst", "worst task", "spread"]
        table = [head]
        overall, macro = self.overall, self.macro
        spread, worst = self.spread, self.worst
        for name, count in self.n_defined.items():
            numbers = (overall[name], macro[name], worst[name].score, spread[name])
            first, second, third, fourth = (f"{number:.4g}" for number in numbers)
            defined = f"{count} of {len(self.tasks)}"
            task = repr(worst[name].task)
            table.append([name, first, second, defined, third, task, fourth])
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = [f"TaskFrame of {self._indptr[-1]} rows, {len(self.tasks)} tasks"]
        for name, *cells in table:
            padded = map(str.rjust, cells, widths[1:])
            lines.append("  ".join([name.ljust(widths[0]), *padded]))
        return "\n".join(lines + self._undefined_lines())

    def _undefined_lines(self) -> list[str]:
        keys, lines = self.tasks.tolist(), []
        for name, (_, reasons) in self._by_task.items():
            if not reasons:
                continue
            plural = "s" if len(reasons) > 1 else ""
            lines.append(
                f"{name} is undefined on {len(reasons)} task{plural}: "
                f"{show_values([keys[t] for t in reasons])} "
                f"({next(iter(reasons.values()))})"
            )
        return lines


def _mean_defined(values: np.ndarray) -> float:
    """Mean of the values that are not NaN; NaN if there are none."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else np.nan


def _percentiles(draws: np.ndarray, confidence: float) -> np.ndarray:
    """Bounds for each column of draws; NaN where most draws are undefined."""
    # NaN sorts last. numpy.nanquantile would take the columns one by one.
    draws = np.sort(draws, axis=0)
    n_defined = (~np.isnan(draws)).sum(axis=0)
    columns = np.arange(draws.shape[1])
    bounds = np.empty((draws.shape[1], 2))
    for side, level in enumerate(((1 - confidence) / 2, (1 + confidence) / 2)):
        place = level * np.maximum(n_defined - 1, 0)
        below = place.astype(np.intp)
        above = np.minimum(below + 1, len(draws) - 1)
        step = place - below
        low, high = draws[below, columns], draws[above, columns]
        bounds[:, side] = np.where(step > 0, low + step * (high - low), low)
    bounds[2 * n_defined < len(draws)] = np.nan
    return bounds


def _bootstrap_intervals(
    evaluators: Mapping[str, Any],
    tasks: np.ndarray,
    sizes: np.ndarray,
    *,
    n_boot: int,
    confidence: float,
    random_state: RandomState,
) -> TaskIntervals:
    """See :meth:`TaskFrame.intervals`."""
    check_scalar(n_boot, "n_boot", numbers.Integral, min_val=1)
    check_scalar(
        confidence,
        "confidence",
        numbers.Real,
        min_val=0,
        max_val=1,
        include_boundaries="neither",
    )
    rng = check_random_state(random_state)
    start, size = np.repeat(np.cumsum(sizes) - sizes, sizes), np.repeat(sizes, sizes)
    by_task = {name: np.empty((n_boot, len(tasks))) for name in evaluators}
    # columns: overall, macro
    summary = {name: np.empty((n_boot, 2)) for name in evaluators}
    for draw in range(n_boot):
        sample = start + (rng.random_sample(len(size)) * size).astype(np.intp)
        for name, evaluator in evaluators.items():
            scores, _ = evaluator.by_task(sample)
            summary[name][draw] = evaluator.overall(sample)[0], _mean_defined(scores)
            by_task[name][draw] = scores
    totals = {name: _percentiles(s, confidence).tolist() for name, s in summary.items()}
    bounds = {}
    for name, draws in by_task.items():
        bounds[name] = _percentiles(draws, confidence)
        bounds[name][sizes == 1] = np.nan
    keys = tasks.tolist()
    return TaskIntervals(
        overall={name: tuple(total[0]) for name, total in totals.items()},
        macro={name: tuple(total[1]) for name, total in totals.items()},
        by_task={
            name: dict(zip(keys, map(tuple, b.tolist()), strict=True))
            for name, b in bounds.items()
        },
        confidence=float(confidence),
        n_boot=int(n_boot),
    )
