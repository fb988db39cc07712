"""The models that are worth comparing on any data: one line each.

A method that lands later joins the comparison by a line of its own. The list
stands here, and not in the audit, because this layer knows all estimators.
"""

from dataclasses import dataclass
from typing import Any

from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing.kin import KinClassifier, KinRegressor
from kinlearn.trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
)

__all__ = ["CANDIDATES", "Candidate"]

_ALONE = ("alone",)
_SEEING = ("task as feature",)
_BLIND = ("alone", "pooled")
_ONE_MODEL = ("pooled", "task as feature")
_PLAIN = ("alone", "pooled", "task as feature")
_MULTI = ("multi-task",)

# Rows up to which a contender takes seconds rather than minutes on each fold.
_SMALL = 20_000
_MIDDLE = 200_000
# Tasks up to which the same holds where each costs a forest, or a booster.
_MANY = 200
_FEW = 50


@dataclass(frozen=True)
class Candidate:
    """A model that takes part unless the data is too big for it.

    Attributes
    ----------
    family : str
        What it is called in tables.
    kind : {"classification", "regression"}
        What it predicts.
    forms : tuple of str
        A contender each; ``("multi-task",)`` for an estimator of kinlearn.
    estimator : estimator
        The model, unfitted; one of kinlearn has its ``task`` set later.
    scaled : bool, default=False
        Whether it needs numbers of one scale and none missing.
    most_rows, most_tasks : int or None, default=None
        Limits up to which it takes part.
    least_rows : int, default=0
        Limit from which it takes part.
    on_request : bool, default=False
        Whether it takes part on request only, since it takes long.
    """

    family: str
    kind: str
    forms: tuple[str, ...]
    estimator: Any
    scaled: bool = False
    most_rows: int | None = None
    most_tasks: int | None = None
    least_rows: int = 0
    on_request: bool = False

    def suits(self, kind: str, n_rows: int, n_tasks: int) -> bool:
        """Whether it takes part in a comparison of this size."""
        return (
            kind == self.kind
            and n_rows >= self.least_rows
            and (self.most_rows is None or n_rows < self.most_rows)
            and (self.most_tasks is None or n_tasks <= self.most_tasks)
        )


def _classifier(
    family: str, forms: tuple[str, ...], estimator: Any, **limits: Any
) -> Candidate:
    return Candidate(family, "classification", forms, estimator, **limits)


def _regressor(
    family: str, forms: tuple[str, ...], estimator: Any, **limits: Any
) -> Candidate:
    return Candidate(family, "regression", forms, estimator, **limits)


_LINEAR = {"scaled": True}
_SMALL_ONLY = {"most_rows": _SMALL, "most_tasks": _MANY}
_DEPARTING = {"scaled": True, "most_rows": _MIDDLE, "most_tasks": 5 * _MANY}
_INDICATORS = {"most_rows": _SMALL, "most_tasks": _FEW}  # a column for each task
_FOREST = {"n_estimators": 100, "min_samples_leaf": 3}
_BIG_FOREST: dict[str, Any] = {
    "n_estimators": 50,
    "task_split_prob": 0.5,
    "min_samples_leaf": 20,
}
_TREES, _BOOSTING = "extra trees", "gradient boosting"

_KIN = {"most_rows": _MIDDLE, "on_request": True}

CANDIDATES = (
    _classifier("Kin", _MULTI, KinClassifier(), **_KIN),
    _regressor("Kin", _MULTI, KinRegressor(), **_KIN),
    _classifier(
        "logistic regression", _PLAIN, LogisticRegression(max_iter=1000), **_LINEAR
    ),
    _classifier(
        "logistic regression",
        _MULTI,
        SharedPlusOwn(LogisticRegression(max_iter=1000)),
        **_DEPARTING,
    ),
    _classifier(_TREES, _BLIND, ExtraTreesClassifier(**_FOREST), **_SMALL_ONLY),
    _classifier(_TREES, _SEEING, ExtraTreesClassifier(**_FOREST), **_INDICATORS),
    _classifier(_BOOSTING, _ALONE, HistGradientBoostingClassifier(), most_tasks=_FEW),
    _classifier(_BOOSTING, _ONE_MODEL, HistGradientBoostingClassifier()),
    _classifier(_TREES, _MULTI, MultiTaskExtraTreesClassifier(), most_rows=_MIDDLE),
    _classifier(
        _TREES,
        _MULTI,
        MultiTaskExtraTreesClassifier(**_BIG_FOREST),
        least_rows=_MIDDLE,
    ),
    _classifier(
        "random forest", _MULTI, MultiTaskRandomForestClassifier(), most_rows=_SMALL
    ),
    _regressor("ridge regression", _PLAIN, Ridge(), **_LINEAR),
    _regressor(
        "ridge regression", _MULTI, SharedPlusOwn(Ridge(), own_weight=0.2), **_DEPARTING
    ),
    _regressor(_TREES, _BLIND, ExtraTreesRegressor(**_FOREST), **_SMALL_ONLY),
    _regressor(_TREES, _SEEING, ExtraTreesRegressor(**_FOREST), **_INDICATORS),
    _regressor(_BOOSTING, _ALONE, HistGradientBoostingRegressor(), most_tasks=_FEW),
    _regressor(_BOOSTING, _ONE_MODEL, HistGradientBoostingRegressor()),
    _regressor(_TREES, _MULTI, MultiTaskExtraTreesRegressor(), most_rows=_MIDDLE),
    _regressor(
        _TREES,
        _MULTI,
        MultiTaskExtraTreesRegressor(**_BIG_FOREST),
        least_rows=_MIDDLE,
    ),
)
