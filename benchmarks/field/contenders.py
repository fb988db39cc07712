"""Who plays: plain models, mixed models, boosters of others, and our own."""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from benchmarks.environment import missing
from benchmarks.field.boosters import (
    catboost,
    chimeraboost,
    gpboost,
    hist_boosting,
    lightgbm,
)
from benchmarks.field.outside import autogluon, lacks_autogluon, lacks_lme4, lme4

__all__ = ["CONTENDERS", "Entry", "Grouped", "values_of"]

_TREES, _LEAF = 100, 5  # of the plain forest, and of MERF's


class Grouped:
    """An estimator that gets the group as indicators, or not at all."""

    def __init__(self, model, group):
        self.model, self.group = model, group

    def _features(self, X):
        if self.group == "drop":
            return X[:, :-1]
        return np.column_stack([X[:, :-1], X[:, [-1]] == self.groups])

    def fit(self, X, y):
        self.groups = np.unique(X[:, -1])
        self.model.fit(self._features(X), y)
        return self

    def score_values(self, X):
        return values_of(self.model, self._features(X))


def values_of(model, X):
    """Numbers, or what orders the rows by the second class."""
    if hasattr(model, "score_values"):
        return model.score_values(X)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, 1]
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict(X)


def linear(kind, seed, *, group):
    """Ridge or logistic regression, the penalty by cross-validation."""
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "regression":
        model = RidgeCV(np.logspace(-2, 4, 13))
    else:
        grid = {"C": [0.001, 0.01, 0.1, 1.0, 10.0]}
        logistic = LogisticRegression(max_iter=2000)
        model = GridSearchCV(logistic, grid, cv=3, scoring="neg_log_loss")
    return Grouped(make_pipeline(StandardScaler(), model), group)


def random_forest(kind, seed, *, group):
    """scikit-learn's random forest."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    cls = RandomForestRegressor if kind == "regression" else RandomForestClassifier
    model = cls(_TREES, min_samples_leaf=_LEAF, random_state=seed)
    return Grouped(model, group)


def merf(kind, seed):
    """MERF: a forest with a random intercept for each group; classes as 0 and 1."""
    import logging

    import pandas as pd
    from merf import MERF
    from sklearn.ensemble import RandomForestRegressor

    logging.getLogger("merf.merf").setLevel(logging.WARNING)

    class Merf:
        def fit(self, X, y):
            forest = RandomForestRegressor(
                _TREES, min_samples_leaf=_LEAF, random_state=seed, n_jobs=1
            )
            self.model = MERF(fixed_effects_model=forest, max_iterations=10)
            self.model.fit(*self._split(X), y.astype(float))
            return self

        def _split(self, X):
            return X[:, :-1], np.ones((len(X), 1)), pd.Series(X[:, -1].astype(int))

        def score_values(self, X):
            return self.model.predict(*self._split(X))

    return Merf()


def hierarchical(kind, seed):
    """scikit-lego's hierarchy: a linear model of each group, shrunk to that of all."""
    from sklearn.linear_model import Ridge
    from sklego.meta import HierarchicalRegressor

    class Hierarchy:
        def fit(self, X, y):
            model = HierarchicalRegressor(
                Ridge(), groups=X.shape[1] - 1, shrinkage="equal"
            )
            self.mean, self.scale = X[:, :-1].mean(axis=0), X[:, :-1].std(axis=0)
            self.scale[self.scale == 0] = 1.0
            self.model = model.fit(self._scaled(X), y.astype(float))
            return self

        def _scaled(self, X):
            return np.column_stack([(X[:, :-1] - self.mean) / self.scale, X[:, -1]])

        def score_values(self, X):
            return self.model.predict(self._scaled(X))

    return Hierarchy()


def mixed(kind, seed):
    """A mixed model with an intercept for each group."""
    from kinlearn.linear import MixedLinearRegressor, MixedLogisticClassifier

    if kind == "regression":
        return MixedLinearRegressor(task=-1, unknown_task="share")
    return MixedLogisticClassifier(task=-1, unknown_task="share")


def extra_trees(kind, seed):
    """Multi-task extra trees by default."""
    from kinlearn.trees import (
        MultiTaskExtraTreesClassifier,
        MultiTaskExtraTreesRegressor,
    )

    trees = {
        "regression": MultiTaskExtraTreesRegressor,
        "classification": MultiTaskExtraTreesClassifier,
    }[kind]
    return trees(task=-1, unknown_task="share", random_state=seed)


def gradient_boosting(kind, seed):
    """Multi-task gradient boosting by default."""
    from kinlearn.boosting import (
        MultiTaskGradientBoostingClassifier,
        MultiTaskGradientBoostingRegressor,
    )

    boosting = {
        "regression": MultiTaskGradientBoostingRegressor,
        "classification": MultiTaskGradientBoostingClassifier,
    }[kind]
    return boosting(task=-1, unknown_task="share", random_state=seed)


def kin(kind, seed, *, effort):
    """The Kin estimators with some effort."""
    from kinlearn import KinClassifier, KinRegressor

    estimator = KinRegressor if kind == "regression" else KinClassifier
    return estimator(
        task=-1, unknown_task="share", effort=effort, random_state=seed, n_jobs=1
    )


@dataclass(frozen=True)
class Entry:
    """A contender: ``make(kind, seed, **params)`` gives an unfitted estimator.

    `packages` are distributions whose versions are recorded, `needs` modules that it
    cannot be without; `lacks()` says what else is not there.
    """

    name: str
    make: Callable
    params: dict = field(default_factory=dict)
    packages: tuple = ()
    needs: tuple = ()
    lacks: Callable = str

    def lacking(self):
        """What must be installed for it; empty if all is there."""
        return ", ".join(missing(self.needs)) or self.lacks()


def _of_package(name, make, module, distribution=None, **params):
    return Entry(name, make, params, (distribution or module,), (module,))


CONTENDERS = (
    Entry("linear, groups dropped", linear, {"group": "drop"}),
    Entry("linear, one-hot groups", linear, {"group": "one-hot"}),
    Entry("random forest, groups dropped", random_forest, {"group": "drop"}),
    Entry("random forest, one-hot groups", random_forest, {"group": "one-hot"}),
    Entry("HistGradientBoosting, groups dropped", hist_boosting, {"group": "drop"}),
    Entry("HistGradientBoosting, number", hist_boosting, {"group": "number"}),
    Entry("HistGradientBoosting, category", hist_boosting, {"group": "category"}),
    _of_package("LightGBM, category", lightgbm, "lightgbm"),
    _of_package("CatBoost, category", catboost, "catboost"),
    _of_package(
        "ChimeraBoost, category", chimeraboost, "chimeraboost", group="category"
    ),
    _of_package(
        "ChimeraBoost, random intercepts",
        chimeraboost,
        "chimeraboost",
        group="intercepts",
    ),
    _of_package("GPBoost", gpboost, "gpboost"),
    _of_package("MERF", merf, "merf"),
    _of_package("scikit-lego hierarchy", hierarchical, "sklego", "scikit-lego"),
    Entry("lme4", lme4, lacks=lacks_lme4),
    Entry("AutoGluon, 20 s", autogluon, {"seconds": 20}, lacks=lacks_autogluon),
    Entry("kinlearn mixed model", mixed),
    Entry("kinlearn extra trees", extra_trees),
    Entry("kinlearn gradient boosting", gradient_boosting),
    Entry("kinlearn Kin, fast", kin, {"effort": "fast"}),
    Entry("kinlearn Kin", kin, {"effort": "standard"}),
)
