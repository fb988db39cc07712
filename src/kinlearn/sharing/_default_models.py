"""The models that are worth comparing on any data: one line each.

A method that lands later joins the comparison by a line of its own. The list
stands here, and not in the audit, because this layer knows all estimators.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.linear import MixedLinearRegressor, MixedLogisticClassifier
from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing.kin import KinClassifier, KinRegressor
from kinlearn.trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
)

__all__ = ["DEFAULT_MODELS", "DefaultModel"]

_ALONE = ("alone",)
_BLIND = ("alone", "pooled")
_ONE_MODEL = ("pooled", "task as feature")
_PLAIN = ("alone", "pooled", "task as feature")
_MULTI = ("multi-task",)

# Rows up to which a contender takes seconds rather than minutes on each fold.
_SMALL = 20_000
_MIDDLE = 200_000
# Tasks up to which the same holds where each costs a model.
_MANY = 200
_BINNED = 2_000  # features up to which a byte for each cell, stored or not, is little
_SLOPED = 40  # features up to which a slope of each for each task is quick


@dataclass(frozen=True)
class DefaultModel:
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
    most_rows, most_tasks, most_features : int or None, default=None
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
    most_features: int | None = None
    least_rows: int = 0
    on_request: bool = False

    def suits(
        self,
        kind: str,
        n_rows: int,
        n_tasks: int,
        n_features: int = 0,
        sparse: bool = False,
    ) -> bool:
        """Whether it takes part in a comparison of this size."""
        if sparse and self.family in _UNPACKING and n_features > _BINNED:
            return False
        return (
            kind == self.kind
            and n_rows >= self.least_rows
            and (self.most_rows is None or n_rows < self.most_rows)
            and (self.most_tasks is None or n_tasks <= self.most_tasks)
            and (self.most_features is None or n_features <= self.most_features)
        )


_TREES, _BOOSTING, _FOREST = "extra trees", "gradient boosting", "random forest"
_UNPACKING = {_TREES, _FOREST}  # every cell of a sparse X
_BLIND_FOREST = {"n_estimators": 100, "task_split_prob": 0.0, "min_samples_leaf": 3}
_BIG_FOREST = {"n_estimators": 50, "task_split_prob": 0.5, "min_samples_leaf": 20}
_SLOPES = {"slopes": "all", "covariance": "scaled_identity", "alpha": 1.0}


def _models(
    kind: str, linear: str, shared: SharedPlusOwn, kin: Any, mixed: Any, forest: Any
) -> Iterator[DefaultModel]:
    """Those that classification and regression both have.

    `shared` is over a linear model, which the others are forms of; the last three are
    classes: Kin, mixed models and extra trees.
    """
    boosting = (
        MultiTaskGradientBoostingClassifier
        if kind == "classification"
        else MultiTaskGradientBoostingRegressor
    )
    for family, forms, estimator, limits in (
        ("Kin", _MULTI, kin(), {"most_rows": _MIDDLE, "on_request": True}),
        (linear, _PLAIN, clone(shared.estimator), {"scaled": True}),
        (
            linear,
            _MULTI,
            shared,
            {"scaled": True, "most_rows": _MIDDLE, "most_tasks": 5 * _MANY},
        ),
        (
            "mixed model",
            _MULTI,
            mixed(**_SLOPES),
            {"scaled": True, "most_rows": _MIDDLE, "most_features": _SLOPED},
        ),
        (
            _TREES,
            _BLIND,
            forest(**_BLIND_FOREST),
            {"most_rows": _SMALL, "most_tasks": _MANY},
        ),
        (
            _BOOSTING,
            _ALONE,
            boosting(),
            {"most_tasks": _MANY, "most_features": _BINNED},
        ),
        (_BOOSTING, (*_ONE_MODEL, *_MULTI), boosting(), {"most_features": _BINNED}),
        (_TREES, _MULTI, forest(), {"most_rows": _MIDDLE}),
        (_TREES, _MULTI, forest(**_BIG_FOREST), {"least_rows": _MIDDLE}),
    ):
        yield DefaultModel(family, kind, forms, estimator, **limits)


DEFAULT_MODELS = (
    *_models(
        "classification",
        "logistic regression",
        SharedPlusOwn(LogisticRegression(max_iter=1000)),
        KinClassifier,
        MixedLogisticClassifier,
        MultiTaskExtraTreesClassifier,
    ),
    DefaultModel(
        _FOREST,
        "classification",
        _MULTI,
        MultiTaskRandomForestClassifier(),
        most_rows=_SMALL,
    ),
    *_models(
        "regression",
        "ridge regression",
        SharedPlusOwn(Ridge(), own_weight=0.2),
        KinRegressor,
        MixedLinearRegressor,
        MultiTaskExtraTreesRegressor,
    ),
)
