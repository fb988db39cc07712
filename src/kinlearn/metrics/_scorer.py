"""Scorers that look at each task: for cross-validation and grid search."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer
from sklearn.utils.metadata_routing import MetadataRequest

from kinlearn.metrics._metric import Metric, resolve_metric
from kinlearn.metrics._task_frame import TaskFrame
from kinlearn.tasks import task_codes
from kinlearn.utils._typing import ArrayLike, Table, TaskColumn

__all__ = ["make_task_scorer"]

# Over the scores of the tasks, greater being better.
_AGGREGATES: dict[Any, Callable] = {
    "macro": np.mean,
    "worst": np.min,
    "spread": lambda scores: -np.ptp(scores),
}


class TaskScorer:
    """Scorer made by :func:`make_task_scorer`.

    Call it as ``scorer(estimator, X, y)``, or give it as ``scoring`` to
    scikit-learn's tools.
    """

    def __init__(
        self,
        metric: Metric,
        task: TaskColumn,
        aggregate: Any,
    ) -> None:
        self._metric = metric
        self._task = task
        self._aggregate = aggregate
        self._request = MetadataRequest(owner=self)
        self._request.score.add_request(param="sample_weight", alias=None)

    def __call__(
        self,
        estimator: Any,
        X: Table,
        y_true: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Score of an estimator on the rows of X."""
        _, codes = task_codes(X, self._task)
        labels = getattr(estimator, "classes_", None)

        def score(y_true: np.ndarray, y_pred: np.ndarray, pos_label: Any) -> float:
            # pos_label has done its work: the scorer took that class's column
            return self._score(y_true, y_pred, codes, sample_weight, labels)

        scorer = make_scorer(
            score,
            response_method=self._metric.response_method,
            pos_label=self._metric.setting("pos_label"),
        )
        return scorer(estimator, X, y_true)

    def _score(
        self,
        y_true: ArrayLike,
        y_pred: ArrayLike,
        codes: np.ndarray,
        sample_weight: ArrayLike | None,
        labels: ArrayLike | None,
    ) -> float:
        name = self._metric.name
        frame = TaskFrame(
            {name: self._metric},
            y_true,
            y_pred,
            tasks=codes,
            labels=labels,
            sample_weight=sample_weight,
        )
        direction = 1 if self._metric.greater_is_better else -1
        if self._aggregate == "micro":
            scores = np.array([direction * frame.overall[name]])
        else:
            scores = direction * frame.values[name]
        scores = scores[~np.isnan(scores)]
        if not len(scores):
            where = "all rows together" if self._aggregate == "micro" else "every task"
            warnings.warn(
                f"{name} is undefined on {where} ({frame.undefined[0].reason}); the "
                "score is NaN.",
                UndefinedMetricWarning,
                stacklevel=2,
            )
            return np.nan
        if self._aggregate == "micro":
            return float(scores[0])
        return float(_AGGREGATES.get(self._aggregate, self._aggregate)(scores))

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Request sample weights from scikit-learn's metadata routing."""
        self._request.score.add_request(param="sample_weight", alias=sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """What the scorer requests from scikit-learn's metadata routing."""
        return self._request

    def _accept_sample_weight(self) -> bool:
        # scikit-learn calls this when several scorers are used at a time.
        return True

    def __repr__(self) -> str:
        return (
            f"make_task_scorer({self._metric.name}, task={self._task!r}, "
            f"aggregate={self._aggregate!r})"
        )


def make_task_scorer(
    metric: Callable | str,
    *,
    task: TaskColumn,
    aggregate: Literal["macro", "worst", "micro", "spread"]
    | Callable[[np.ndarray], float] = "macro",
    response_method: str | Sequence[str] | None = None,
    greater_is_better: bool | None = None,
) -> TaskScorer:
    """Make a scorer out of a metric by task.

    The task is a column of X, so the scorer finds it in every fold by itself.

    Parameters
    ----------
    metric : callable or str
        A function of `y_true` and `y_pred` (use :func:`functools.partial` for its
        other parameters), or a name of scikit-learn's scorers.
    task : str, int or None
        Name or position of the task column of X; None is one task.
    aggregate : {"macro", "worst", "micro", "spread"} or callable, default="macro"
        How the tasks' scores become one: their mean, the worst task's, the score
        of all rows together, or minus the range of the scores (so that alike is
        best). A callable takes the array of the scores, greater being better.
    response_method : str or list of str, default=None
        Method of the estimator that gives the metric's second argument. None
        takes the one that goes with the scorer's name, or with the name of the
        second parameter: ``decision_function`` or ``predict_proba`` for
        ``y_score``, ``predict_proba`` for ``y_proba``, else ``predict``.
    greater_is_better : bool, default=None
        False turns the sign of an error. None goes by the name of the function:
        ``_error``, ``_loss``, ``_deviance`` and ``_distance`` are errors.

    Returns
    -------
    callable
        To be given as ``scoring`` to ``cross_validate`` or ``GridSearchCV``.

    See Also
    --------
    TaskFrame : All tasks' scores, and those that are undefined.

    Notes
    -----
    Tasks on which the metric is undefined are left out. If it is undefined on
    all of them, the score is NaN with an ``UndefinedMetricWarning``. Metrics of scores
    that take ``labels``, such as ``log_loss``, are given the estimator's ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from kinlearn.metrics import make_task_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = np.c_[rng.normal(size=(90, 2)), np.arange(90) % 3]
    >>> y = X[:, 0] + 0.3 * rng.normal(size=90) > 0
    >>> scorer = make_task_scorer("roc_auc", task=-1, aggregate="worst")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer, cv=3).round(2)
    array([...])
    """
    resolved = resolve_metric(
        metric, greater_is_better=greater_is_better, response_method=response_method
    )
    if not (aggregate == "micro" or aggregate in _AGGREGATES or callable(aggregate)):
        raise ValueError(
            "aggregate must be 'macro', 'worst', 'micro', 'spread' or a function of "
            f"the tasks' scores; got {aggregate!r}."
        )
    return TaskScorer(resolved, task, aggregate)
