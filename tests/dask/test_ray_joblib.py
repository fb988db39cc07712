"""Comparisons, searches and the Kin estimators on joblib's Ray backend.

Ray is no part of the usual environment: `make test-ray`.
"""

import os

import joblib
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from kinlearn import KinClassifier, KinRegressor
from kinlearn.audit import compare_sharing
from kinlearn.datasets import load_demo
from kinlearn.sharing import PerTask, Pooled

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def cluster():
    from ray.util.joblib import register_ray

    with pytest.MonkeyPatch.context() as patch:
        # Ray's workers give way to everything else, and starve on a busy machine.
        patch.setenv("RAY_worker_niceness", "0")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    register_ray()
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def demo():
    X, y = load_demo(as_frame=True, return_X_y=True)
    few = X["clinic"].isin(sorted(X["clinic"].unique())[:3]).to_numpy()
    return X[few], y[few]


def on_ray(function):
    with joblib.parallel_config("ray", n_jobs=2):
        return function()


class TellsWhere(GaussianNB):
    """Says which process fitted it."""

    def fit(self, X, y, sample_weight=None):
        self.process_ = os.getpid()
        return super().fit(X, y, sample_weight)


def test_the_comparison_is_the_same(demo):
    X, y = demo
    ways = {
        "each": PerTask(GaussianNB(), task="clinic"),
        "all": Pooled(GaussianNB(), task="clinic"),
    }
    options = {"estimators": ways, "cv": 2, "curve": False, "n_repeats": 1}
    expected = compare_sharing(X, y, task="clinic", **options)
    found = on_ray(lambda: compare_sharing(X, y, task="clinic", **options))
    assert str(found) == str(expected)


def test_a_search_is_the_same(demo):
    search = GridSearchCV(
        PerTask(GaussianNB(), task="clinic"),
        {"estimator__var_smoothing": [1e-9, 0.1]},
        cv=2,
    )
    expected = search.fit(*demo).cv_results_["mean_test_score"]
    found = on_ray(lambda: search.fit(*demo).cv_results_["mean_test_score"])
    assert_array_equal(found, expected)


def test_models_of_tasks_are_fitted_by_workers(demo):
    model = PerTask(TellsWhere(), task="clinic")
    on_ray(lambda: model.fit(*demo))
    processes = {own.process_ for own in model.estimators_}
    assert os.getpid() not in processes


@pytest.mark.parametrize("Kin", [KinClassifier, KinRegressor])
def test_kin_is_the_same(demo, Kin):
    X, y = demo
    y = y if Kin is KinClassifier else X.iloc[:, 0] * (1 + (X["clinic"] == "Elm"))
    model = Kin(task="clinic", families=("linear",), n_folds=3, random_state=0)
    method = "predict_proba" if Kin is KinClassifier else "predict"
    expected = getattr(model.fit(X, y), method)(X)
    found = on_ray(lambda: getattr(model.fit(X, y), method)(X))
    assert_array_equal(found, expected)
