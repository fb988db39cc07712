"""Our own methods alone, tuned as the peers are, and two forms of each family.

Everybody has a grid of at most nine settings, searched by inner cross-validation in
three folds of the training rows of each split (see `benchmarks.quality.peers`). Forests
are searched with 30 trees; MTBoost with one fit in each round; both then fit in full.
The multi-task extra trees choose by pilots of their own and have no search here. Folds
may lack a task of few rows, so everybody answers for unknown tasks.
Support vector machines get probabilities by Platt's method, in three folds.
"""

from benchmarks.quality.peers import tuned
from benchmarks.quality.protocol import Contender

__all__ = ["FORMS", "OURS_ALONE", "gradient_boosting"]

_TREES_IN_SEARCH = 30


def _classifies(problem):
    return problem.kind == "classification"


def _scaled(model):
    """Behind a scaler that leaves the task alone."""
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    import kinlearn

    scaler = kinlearn.keep_task(StandardScaler(), task=-1)
    return Pipeline([("scale", scaler), ("model", model)])


def shared_plus_own(problem, seed, *, own_weights, penalties):
    """Ridge or logistic regression with a shared and an own part."""
    from sklearn.linear_model import LogisticRegression, Ridge

    from kinlearn.sharing import SharedPlusOwn

    classes = _classifies(problem)
    linear = LogisticRegression(max_iter=2_000) if classes else Ridge()
    strength = (
        {"model__estimator__C": [1 / p for p in penalties]}
        if classes
        else {"model__estimator__alpha": penalties}
    )
    model = _scaled(SharedPlusOwn(linear, task=-1, unknown_task="share"))
    return tuned(problem, seed, model, {"model__own_weight": own_weights, **strength})


def svm(problem, seed, *, costs, correction_penalties):
    """SVM+MTL with radial kernels."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.model_selection import StratifiedKFold
    from sklearn.preprocessing import StandardScaler

    from kinlearn.svm import MultiTaskSVC, MultiTaskSVR

    grid = {"model__C": costs, "model__correction_penalty": correction_penalties}
    if _classifies(problem):
        machine = MultiTaskSVC(task=-1, unknown_task="share")
        search = tuned(problem, seed, _scaled(machine), grid)
        folds = StratifiedKFold(3, shuffle=True, random_state=seed)
        return _Wrapped(
            search,
            lambda model: CalibratedClassifierCV(model, cv=folds, ensemble=False),
        )
    machine = MultiTaskSVR(task=-1, unknown_task="share")
    model = TransformedTargetRegressor(_scaled(machine), transformer=StandardScaler())
    grid = {f"regressor__{name}": values for name, values in grid.items()}
    return tuned(problem, seed, model, grid)


class _Wrapped:
    """Search first, then put the best setting into another estimator."""

    def __init__(self, search, wrap):
        self.search = search
        self.wrap = wrap

    def fit(self, X, y):
        from sklearn.base import clone

        return self.wrap(clone(self.search.fit(X, y))).fit(X, y)


def mtboost(problem, seed, *, n_estimators, sharing_penalties, base_penalties):
    """MTBoost over linear learners of radial features."""
    from kinlearn.boosting import MTBoostClassifier, MTBoostRegressor

    booster = MTBoostClassifier if _classifies(problem) else MTBoostRegressor
    grid = {
        "model__sharing_penalty": sharing_penalties,
        "model__base_penalty": base_penalties,
    }
    model = _scaled(
        booster(
            n_estimators=n_estimators,
            task=-1,
            unknown_task="share",
            n_inner=1,
            random_state=seed,
        )
    )
    return tuned(problem, seed, model, grid, model__n_inner=10)


def gradient_boosting(
    problem, seed, *, iterations, rates, leaf_nodes, scoring=None, **options
):
    """Multi-task gradient boosting, by rate and leaves as its peers."""
    from kinlearn.boosting import (
        MultiTaskGradientBoostingClassifier,
        MultiTaskGradientBoostingRegressor,
    )

    booster = (
        MultiTaskGradientBoostingClassifier
        if _classifies(problem)
        else MultiTaskGradientBoostingRegressor
    )
    model = booster(
        n_estimators=iterations,
        task=-1,
        unknown_task="share",
        random_state=seed,
        n_jobs=1,
        **options,
    )
    grid = {"learning_rate": rates, "max_leaf_nodes": leaf_nodes}
    return tuned(problem, seed, model, grid, scoring=scoring)


def random_forest(problem, seed, *, n_trees, leaves, max_features):
    """A forest of multi-task decision trees."""
    from kinlearn.trees import MultiTaskRandomForestClassifier

    forest = MultiTaskRandomForestClassifier(
        _TREES_IN_SEARCH, task=-1, unknown_task="share", random_state=seed
    )
    grid = {"min_samples_leaf": leaves, "max_features": max_features}
    return tuned(problem, seed, forest, grid, n_estimators=n_trees)


def decision_tree(problem, seed, *, leaves):
    """One multi-task decision tree."""
    from kinlearn.trees import MultiTaskDecisionTreeClassifier

    tree = MultiTaskDecisionTreeClassifier(
        task=-1, unknown_task="share", random_state=seed
    )
    return tuned(problem, seed, tree, {"min_samples_leaf": leaves})


def abstaining(problem, seed, *, rounds):
    """AdaBoost over two-task stumps that may abstain."""
    from kinlearn.boosting import AbstainingAdaBoostClassifier

    booster = AbstainingAdaBoostClassifier(
        task=-1, unknown_task="share", random_state=seed
    )
    return tuned(problem, seed, booster, {"n_estimators": rounds})


def adaboost(problem, seed, *, rounds, leaves):
    """AdaBoost over multi-task decision trees, by SAMME."""
    from kinlearn.boosting import MultiTaskAdaBoostClassifier
    from kinlearn.trees import MultiTaskDecisionTreeClassifier

    booster = MultiTaskAdaBoostClassifier(
        MultiTaskDecisionTreeClassifier(),
        task=-1,
        unknown_task="share",
        random_state=seed,
    )
    grid = {"n_estimators": rounds, "estimator__min_samples_leaf": leaves}
    return tuned(problem, seed, booster, grid)


def form_of_linear(problem, seed, *, form, penalties):
    """Ridge or logistic regression, one for each task or one for all."""
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    from kinlearn import sharing

    classes = _classifies(problem)
    linear = LogisticRegression(max_iter=2_000) if classes else Ridge()
    inner = Pipeline([("scale", StandardScaler()), ("linear", linear)])
    name = "estimator__linear__" + ("C" if classes else "alpha")
    values = [1 / p for p in penalties] if classes else penalties
    model = getattr(sharing, form)(inner, task=-1, unknown_task="share")
    return tuned(problem, seed, model, {name: values})


def form_of_trees(problem, seed, *, form, n_trees, leaves, max_features):
    """scikit-learn's extra trees, one for each task."""
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    from kinlearn import sharing

    forest = ExtraTreesClassifier if _classifies(problem) else ExtraTreesRegressor
    inner = forest(_TREES_IN_SEARCH, random_state=seed)
    grid = {
        "estimator__min_samples_leaf": leaves,
        "estimator__max_features": max_features,
    }
    model = getattr(sharing, form)(inner, task=-1, unknown_task="share")
    return tuned(problem, seed, model, grid, estimator__n_estimators=n_trees)


def form_of_boosting(problem, seed, *, form, iterations, rates, leaf_nodes):
    """scikit-learn's booster, one for each task or one for all."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    from kinlearn import sharing

    booster = (
        HistGradientBoostingClassifier
        if _classifies(problem)
        else HistGradientBoostingRegressor
    )
    inner = booster(max_iter=iterations, early_stopping=False, random_state=seed)
    grid = {"estimator__learning_rate": rates, "estimator__max_leaf_nodes": leaf_nodes}
    return tuned(
        problem,
        seed,
        getattr(sharing, form)(inner, task=-1, unknown_task="share"),
        grid,
    )


_LINEAR = {"own_weights": [0.1, 0.3, 1.0], "penalties": [1.0, 10.0, 100.0]}
_PENALTIES = {"penalties": [0.1, 1.0, 10.0, 100.0, 1_000.0]}
_FOREST = {"n_trees": 100, "leaves": [3, 10, 30], "max_features": ["sqrt", None]}
_BOOSTER = {"iterations": 200, "rates": [0.02, 0.05, 0.1], "leaf_nodes": [4, 8, 31]}


def _ours(name, make, **params):
    return Contender(f"kinlearn {name}", make, params, kind="ours")


OURS_ALONE = {
    "both": (
        _ours("shared plus own, linear", shared_plus_own, **_LINEAR),
        _ours(
            "SVM+MTL",
            svm,
            costs=[0.1, 1.0, 10.0],
            correction_penalties=[0.1, 1.0, 10.0],
        ),
        _ours(
            "MTBoost",
            mtboost,
            n_estimators=50,
            sharing_penalties=[0.1, 1.0, 10.0],
            base_penalties=[10.0, 100.0],
        ),
        _ours("gradient boosting, tuned", gradient_boosting, **_BOOSTER),
    ),
    "classification": (
        _ours("random forest", random_forest, **_FOREST),
        _ours("decision tree", decision_tree, leaves=[3, 5, 10, 20, 50]),
        _ours("abstaining AdaBoost", abstaining, rounds=[25, 100, 400]),
        _ours("AdaBoost.M1", adaboost, rounds=[50], leaves=[3, 10, 30]),
    ),
}

FORMS = (
    Contender("linear-alone", form_of_linear, {"form": "PerTask", **_PENALTIES}),
    Contender("linear-pooled", form_of_linear, {"form": "Pooled", **_PENALTIES}),
    Contender(
        "extra-trees-alone",
        form_of_trees,
        {
            "form": "PerTask",
            "n_trees": 100,
            "leaves": [2, 5, 10],
            "max_features": [0.3, 1.0],
        },
    ),
    Contender("boosting-pooled", form_of_boosting, {"form": "Pooled", **_BOOSTER}),
    Contender(
        "boosting-alone",
        form_of_boosting,
        {
            "form": "PerTask",
            "iterations": 100,
            "rates": [0.05, 0.1],
            "leaf_nodes": [4, 8],
        },
    ),
)
