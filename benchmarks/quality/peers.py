"""What people use today, for classification and for regression.

Plain scikit-learn and the peers' own packages, without any of kinlearn's
wrappers, so that a fault of ours cannot weaken a peer. X has the task as its
last column. Where a peer has something to tune, it is tuned by inner
cross-validation on the training rows.
"""

from functools import partial

from benchmarks.quality.protocol import Contender

__all__ = [
    "BOOSTER_GRID",
    "LIGHTGBM_POOLED",
    "PEERS",
    "SCIKIT_LEGO",
    "lightgbm",
    "tuned",
]

_FOLDS = 3
_TREES = 300
_TREES_IN_SEARCH = 30  # leaf size and features are told apart by far fewer trees


def _classifies(problem):
    return problem.kind == "classification"


def _features_alone():
    from sklearn.compose import ColumnTransformer

    return ColumnTransformer([("features", "passthrough", slice(0, -1))])


def _with_indicators(features="passthrough"):
    """The features as they are or transformed, and a column for each task."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return ColumnTransformer(
        [("features", features, slice(0, -1)), ("task", encoder, [-1])]
    )


class _Search:
    """Search a grid, then fit the best setting, with `final` on top of it.

    `fit` gives the fitted model back, which is what predicts.
    """

    def __init__(self, search, final):
        self.search = search
        self.final = final

    def fit(self, X, y):
        from sklearn.base import clone

        best = self.search.fit(X, y).best_params_
        model = clone(self.search.estimator)
        return model.set_params(**best, **self.final).fit(X, y)


def tuned(problem, seed, estimator, grid, *, scoring=None, **final):
    """The best of a grid by inner cross-validation, fitted to all rows."""
    from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold

    if _classifies(problem):
        folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
        binary = len(set(problem.y.tolist())) == 2
        usual = "roc_auc" if binary else "neg_log_loss"
    else:
        folds = KFold(_FOLDS, shuffle=True, random_state=seed)
        usual = "neg_mean_squared_error"
    search = GridSearchCV(
        estimator, grid, scoring=scoring or usual, cv=folds, refit=False
    )
    return _Search(search, final)


def linear(problem, seed):
    """Ridge or logistic regression on scaled features and task indicators."""
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    columns = _with_indicators(StandardScaler())
    if not _classifies(problem):
        return make_pipeline(columns, RidgeCV(alphas=[10.0**k for k in range(-2, 5)]))
    model = make_pipeline(columns, LogisticRegression(max_iter=1_000))
    grid = {"logisticregression__C": [10.0**k for k in range(-3, 3)]}
    return tuned(problem, seed, model, grid)


def extra_trees(problem, seed, *, task, leaves, max_features):
    """scikit-learn's ExtraTrees; leaf size and features per split are searched."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
    from sklearn.pipeline import make_pipeline

    forest = ExtraTreesClassifier if _classifies(problem) else ExtraTreesRegressor
    columns = _with_indicators() if task == "indicators" else _features_alone()
    model = make_pipeline(columns, forest(_TREES_IN_SEARCH, random_state=seed))
    step = forest.__name__.lower()
    grid = {
        f"{step}__min_samples_leaf": leaves,
        f"{step}__max_features": max_features,
    }
    return tuned(problem, seed, model, grid, **{f"{step}__n_estimators": _TREES})


def hist_gradient_boosting(problem, seed, *, iterations, rates, leaf_nodes):
    """scikit-learn's booster with the task as a category."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    booster = (
        HistGradientBoostingClassifier
        if _classifies(problem)
        else HistGradientBoostingRegressor
    )
    model = booster(
        max_iter=iterations,
        categorical_features=[problem.n_features],
        early_stopping=False,
        random_state=seed,
    )
    grid = {"learning_rate": rates, "max_leaf_nodes": leaf_nodes}
    return tuned(problem, seed, model, grid)


def lightgbm(
    problem,
    seed,
    *,
    iterations,
    rates,
    leaf_nodes,
    task=True,
    scoring=None,
    **options,
):
    """LightGBM with the task as a category, or without the task."""
    from lightgbm import LGBMClassifier, LGBMRegressor
    from sklearn.pipeline import Pipeline

    # LightGBM takes the category's position in fit, not in the constructor.
    category = {"categorical_feature": [problem.n_features]} if task else {}

    class TaskClassifier(LGBMClassifier):
        def fit(self, X, y):
            return super().fit(X, y, **category)

    class TaskRegressor(LGBMRegressor):
        def fit(self, X, y):
            return super().fit(X, y, **category)

    booster = (TaskClassifier if _classifies(problem) else TaskRegressor)(
        n_estimators=iterations, random_state=seed, n_jobs=1, verbose=-1, **options
    )
    # a frame, since LightGBM asks for names in predict that it made up in fit
    columns = (
        "passthrough" if task else _features_alone().set_output(transform="pandas")
    )
    model = Pipeline([("columns", columns), ("booster", booster)])
    grid = {"booster__learning_rate": rates, "booster__num_leaves": leaf_nodes}
    return tuned(problem, seed, model, grid, scoring=scoring)


_FOREST_GRID = {"leaves": [2, 5, 10, 30], "max_features": [0.3, 1.0]}
BOOSTER_GRID = {
    "iterations": 200,
    "rates": [0.02, 0.05, 0.1],
    "leaf_nodes": [4, 8, 31],
}

PEERS = (
    Contender("linear-one-hot", linear),
    Contender("extra-trees-pooled", extra_trees, {"task": "none", **_FOREST_GRID}),
    Contender(
        "extra-trees-one-hot", extra_trees, {"task": "indicators", **_FOREST_GRID}
    ),
    Contender("hist-gradient-boosting", hist_gradient_boosting, BOOSTER_GRID),
    Contender(
        "lightgbm", lightgbm, BOOSTER_GRID, packages=("lightgbm",), needs=("lightgbm",)
    ),
)
LIGHTGBM_POOLED = Contender(
    "lightgbm-pooled",
    partial(lightgbm, task=False),
    BOOSTER_GRID,
    packages=("lightgbm",),
    needs=("lightgbm",),
)


def scikit_lego(problem, seed, *, shrinkage, alphas):
    """scikit-lego's hierarchy: linear models of each task, shrunk to that of all."""
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklego.meta import HierarchicalRegressor

    # classes as 0 and 1: many tasks have one class alone in a fold
    inner = make_pipeline(StandardScaler(), Ridge())
    model = HierarchicalRegressor(inner, groups=problem.n_features)
    grid = {"shrinkage": shrinkage, "estimator__ridge__alpha": alphas}
    scoring = "neg_mean_squared_error"
    found = tuned(problem, seed, model, grid, scoring=scoring)
    return _Scores(found) if _classifies(problem) else found


class _Scores:
    """Predictions of a regression as a decision function."""

    def __init__(self, model):
        self.model = model

    def fit(self, X, y):
        self.fitted = self.model.fit(X, y.astype(float))
        return self

    def decision_function(self, X):
        return self.fitted.predict(X)


SCIKIT_LEGO = Contender(
    "scikit-lego",
    scikit_lego,
    {"shrinkage": ["equal", "relative"], "alphas": [1.0, 10.0, 100.0]},
    packages=("scikit-lego",),
    needs=("sklego",),
)
