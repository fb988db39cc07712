"""What users may call a metric, brought into one form."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import Parameter, signature
from typing import Any

from sklearn.metrics import get_scorer

from kinlearn.utils._sklearn import scorer_parts

__all__ = ["Metric", "resolve_metric", "resolve_metrics"]

# scikit-learn's convention for names of functions to be minimised
_LESS_IS_BETTER = ("_error", "_loss", "_deviance", "_distance")
_RESPONSES: dict[str, str | tuple[str, ...]] = {
    "y_score": ("decision_function", "predict_proba"),
    "y_proba": "predict_proba",
    "y_prob": "predict_proba",
    "pred_decision": "decision_function",
}


@dataclass(frozen=True)
class Metric:
    """A metric with its settings.

    Attributes
    ----------
    name : str
        For tables and messages.
    function : callable
        ``function(y_true, y_pred, **params)``.
    params : dict
        Settings that are the same for every row.
    sign : int
        The score is ``sign * function(...)``: -1 for the ``neg_*`` names.
    greater_is_better : bool
        Of the score, sign included.
    response_method : str or tuple of str
        Method of an estimator whose output the metric takes.
    """

    name: str
    function: Callable
    params: dict[str, Any] = field(default_factory=dict)
    sign: int = 1
    greater_is_better: bool = True
    response_method: str | tuple[str, ...] = "predict"

    @property
    def needs_scores(self) -> bool:
        """Whether it takes scores or probabilities rather than predictions."""
        return self.response_method != "predict"

    def accepts(self, param: str) -> bool:
        """Whether the function takes a parameter of this name."""
        known = _parameters(self.function)
        return known is None or param in known or "kwargs" in known

    def setting(self, param: str) -> Any:
        """Value of a parameter: the one given, the function's default, or None."""
        if param in self.params:
            return self.params[param]
        known = (_parameters(self.function) or {}).get(param)
        return None if known is None or known.default is known.empty else known.default


def _parameters(function: Callable) -> dict[str, Parameter] | None:
    """Parameters by name; None for built-in functions without a signature."""
    try:
        found = signature(function).parameters
    except (TypeError, ValueError):
        return None
    return {
        "kwargs" if p.kind == p.VAR_KEYWORD else name: p for name, p in found.items()
    }


def _response_method(function: Callable) -> str | tuple[str, ...]:
    names = list(_parameters(function) or ())[:2]
    return _RESPONSES.get(names[1], "predict") if len(names) == 2 else "predict"


def resolve_metric(
    metric: Any,
    *,
    name: str | None = None,
    greater_is_better: bool | None = None,
    response_method: Any = None,
) -> Metric:
    """One metric in its one form.

    `metric` is a function of `y_true` and `y_pred`, a partial of one, a scorer or its
    name, or resolved already. What is None goes by the scorer, or by the function's
    name (`greater_is_better`, as in scikit-learn) and second parameter
    (`response_method`).
    """
    if isinstance(metric, Metric):
        return metric
    scorer = get_scorer(metric) if isinstance(metric, str) else metric
    parts = scorer_parts(scorer)
    if parts is not None:
        function, params, sign, response = parts
        default = metric if isinstance(metric, str) else function.__name__
        better = True
    elif callable(metric):
        function, params, sign = metric, {}, 1
        if isinstance(metric, partial) and not metric.args:
            function, params = metric.func, dict(metric.keywords)
        default = getattr(function, "__name__", type(function).__name__)
        response = _response_method(function)
        better = not default.endswith(_LESS_IS_BETTER)
    else:
        raise TypeError(
            "A metric must be a function of y_true and y_pred, or a name from "
            f"sklearn.metrics.get_scorer_names(); got {metric!r}."
        )
    return Metric(
        name=default if name is None else name,
        function=function,
        params=params,
        sign=sign,
        greater_is_better=better if greater_is_better is None else greater_is_better,
        response_method=response if response_method is None else response_method,
    )


def resolve_metrics(
    metrics: Any, greater_is_better: bool | Mapping[str, bool] | None = None
) -> dict[str, Metric]:
    """One or several metrics, by name, in the order given; a dict gives the names.

    `greater_is_better` is for all, or by name.
    """
    if isinstance(metrics, Mapping):
        named = list(metrics.items())
    else:
        single = isinstance(metrics, str) or callable(metrics)
        if not single and not isinstance(metrics, Iterable):
            raise TypeError(
                "metrics must be a metric, a list of metrics, or a dict of them by "
                f"name; got {metrics!r}."
            )
        named = [(None, m) for m in ([metrics] if single else metrics)]
    if not named:
        raise ValueError("No metric is given.")
    found: dict[str, Metric] = {}
    for name, item in named:
        metric = resolve_metric(item, name=name)
        if metric.name in found:
            raise ValueError(
                f"Two metrics are named {metric.name!r}. Pass a dict of names to "
                "metrics."
            )
        found[metric.name] = metric
    return {
        name: _with_direction(metric, greater_is_better, list(found))
        for name, metric in found.items()
    }


def _with_direction(
    metric: Metric,
    greater_is_better: bool | Mapping[str, bool] | None,
    names: Sequence[str],
) -> Metric:
    if isinstance(greater_is_better, Mapping):
        strange = [name for name in greater_is_better if name not in names]
        if strange:
            raise ValueError(
                f"greater_is_better names {strange}, but the metrics are {names}."
            )
        greater_is_better = greater_is_better.get(metric.name)
    if greater_is_better is None:
        return metric
    return replace(metric, greater_is_better=bool(greater_is_better))
