"""Models of scikit-learn inside of ours, or of a file, are checked as ours are."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import is_classifier
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import all_estimators

import kinlearn
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature
from kinlearn.utils._loaded import UnsoundModelError
from kinlearn.utils._loading import check_inside

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
X[:, 3] = rng.integers(0, 2, len(X))
y = (X[:, 0] + 0.5 * X[:, 1] > 0).astype(int) + (X[:, 1] > 1)


def _set(path, change):
    """What replaces an attribute, found by its path, by a wrong version of it."""

    def forge(model):
        *first, last = path.split(".")
        for name in first:
            model = model[int(name)] if name.isdecimal() else getattr(model, name)
        setattr(model, last, change(getattr(model, last)))

    return forge


def _one(value):
    def change(array):
        array = np.array(array)
        array.flat[0] = value
        return array

    return change


def _node(name, value, places=slice(0, 1)):
    """The first nodes of a tree, which say something else."""

    def forge(model):
        getattr(model.tree_, name)[places] = value

    return forge


def _booster_node(name, value):
    def forge(model):
        model._predictors[0][0].nodes[name][0] = value

    return forge


def _fewer(array):
    return array[..., :-1]


SVC_ = SVC(probability=False)
FORGED = {
    "NaN coefficient": (Ridge(), _set("coef_", _one(np.nan))),
    "infinite coefficient": (LogisticRegression(), _set("coef_", _one(np.inf))),
    "NaN intercept": (Ridge(), _set("intercept_", lambda _: float("nan"))),
    "one coefficient less": (Ridge(), _set("coef_", _fewer)),
    "one class less": (LogisticRegression(), _set("coef_", lambda c: c[:-1])),
    "intercepts of others": (
        LogisticRegression(),
        _set("intercept_", lambda _: np.zeros(7)),
    ),
    "in a pipeline": (
        make_pipeline(StandardScaler(), Ridge()),
        _set("steps.1.1.coef_", _one(-np.inf)),
    ),
    "scale": (
        make_pipeline(StandardScaler(), Ridge()),
        _set("steps.0.1.scale_", _one(np.inf)),
    ),
    "means": (GaussianNB(), _set("theta_", _fewer)),
    "layers": (
        MLPClassifier((3,), max_iter=2),
        _set("coefs_", lambda c: [c[0], c[1][:, :-1]]),
    ),
    "child outside": (DecisionTreeClassifier(), _node("children_left", 10**6)),
    "child before its parent": (DecisionTreeRegressor(), _node("children_right", 0)),
    "feature outside": (DecisionTreeRegressor(), _node("feature", 99)),
    "negative feature": (DecisionTreeClassifier(), _node("feature", -7)),
    "NaN in a leaf": (DecisionTreeRegressor(), _node("value", np.nan)),
    "NaN cut": (DecisionTreeRegressor(), _node("threshold", np.nan)),
    "tree in a forest": (
        RandomForestRegressor(2),
        lambda m: _node("feature", 99)(m.estimators_[1]),
    ),
    "trees of more features": (
        RandomForestClassifier(2),
        _set("estimators_.0.n_features_in_", lambda _: 9),
    ),
    "columns of a bag": (
        BaggingClassifier(DecisionTreeClassifier(), 2),
        _set("estimators_features_", lambda f: [f[0], f[1] + 5]),
    ),
    "trees in an array": (
        GradientBoostingClassifier(n_estimators=2),
        lambda m: _node("children_left", 10**6)(m.estimators_[1, 0]),
    ),
    "more columns of trees": (
        GradientBoostingClassifier(n_estimators=2),
        _set("estimators_", lambda e: np.hstack([e, e])),
    ),
    "support": (SVC_, _set("_n_support", _one(50))),
    "dual coefficients": (SVC_, _set("_dual_coef_", _one(np.nan))),
    "support vectors": (SVR(), _set("support_vectors_", _fewer)),
    "probabilities": (SVC_, _set("_probA", lambda _: np.ones(1))),
    "labels of neighbours": (KNeighborsClassifier(), _set("_y", _one(10**6))),
    "booster's child": (
        HistGradientBoostingRegressor(max_iter=2),
        _booster_node("left", 10**6),
    ),
    "booster's feature": (
        HistGradientBoostingClassifier(max_iter=2),
        _booster_node("feature_idx", 77),
    ),
    "booster's set": (
        HistGradientBoostingRegressor(max_iter=2),
        _booster_node("is_categorical", 1),
    ),
    "booster's classes": (
        HistGradientBoostingClassifier(max_iter=2),
        _set("_baseline_prediction", _fewer),
    ),
}  # fmt: skip


STRANGE = [
    "numpy.random.mtrand.RandomState",
    "sklearn.metrics._dist_metrics.EuclideanDistance64",
    "sklearn.neighbors._kd_tree.KDTree",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FORGED)
def test_what_no_fit_leaves_is_refused(name, tmp_path):
    estimator, forge = FORGED[name]
    model = PerTask(estimator, task=-1)
    model.fit(X, y if is_classifier(estimator) else y.astype(float))
    pickle.loads(pickle.dumps(model))
    forge(model.estimators_[0])
    with pytest.raises(ValueError, match=r"save it again"):
        pickle.loads(pickle.dumps(model))
    path = tmp_path / "model.skops"
    kinlearn.save(model, path)
    with pytest.raises(ValueError, match=r"model.skops.*[sS]ave (it|the model) again"):
        kinlearn.load(path, trusted=STRANGE)


@pytest.mark.parametrize(
    "form", [Pooled, TaskAsFeature, lambda *a, **k: make_pipeline(Pooled(*a, **k))]
)
def test_every_form_looks_inside(form):
    model = form(Ridge(), task=-1).fit(X, y.astype(float))
    inside = model[-1] if hasattr(model, "steps") else model
    inside.estimator_.coef_[0] = np.nan
    with pytest.raises(
        ValueError, match=r"coef_ has .*not finite \(of Ridge\).*save it"
    ):
        pickle.loads(pickle.dumps(model))


def _problems():
    """Tables that scikit-learn's estimators take, some of them odd."""
    n = 60
    table = rng.normal(size=(n, 5))
    yield table
    yield np.abs(table)
    yield rng.integers(0, 4, table.shape).astype(float)
    odd = table.copy()
    odd[:, 0], odd[:, 1], odd[0, 2] = 0.0, 1e6, 1e9
    yield odd
    missing = table.copy()
    missing[:, 0], missing[::3, 2] = np.nan, np.nan
    yield missing
    yield sp.csr_array(np.where(table > 0.5, table, 0.0))


def _fitted(names=None):
    """Every estimator of scikit-learn that can be fitted to one of them."""
    few = {"n_estimators": 3, "max_iter": 3}
    for name, kind in all_estimators():
        if names is not None and name not in names:
            continue
        for table in _problems():
            try:
                model = kind()
                if "Boosting" in name or "Forest" in name or "Trees" in name:
                    params = model.get_params()
                    model.set_params(**{k: v for k, v in few.items() if k in params})
                labels = rng.integers(0, 3, 60)
                target = labels if is_classifier(model) else np.abs(rng.normal(size=60))
                model.fit(table, target)
            except Exception:  # noqa: BLE001 - a table that it does not take
                continue
            yield model


USUAL = {"HistGradientBoostingClassifier", "KNeighborsClassifier", "LinearSVC"} | {
    "LogisticRegression", "MultinomialNB", "PCA", "PLSRegression", "SVC", "Ridge",
    "QuantileTransformer", "RandomForestClassifier", "SimpleImputer", "StandardScaler",
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "names",
    [USUAL, pytest.param(None, marks=pytest.mark.slow)],
    ids=["usual", "all"],
)
def test_what_a_fit_leaves_is_not_refused(names):
    refused, seen = [], set()
    for model in _fitted(names):
        seen.add(type(model).__name__)
        try:
            check_inside(model)
        except UnsoundModelError as error:
            refused.append(error)
    assert not refused
    assert len(seen) == len(USUAL) if names else len(seen) > 120
