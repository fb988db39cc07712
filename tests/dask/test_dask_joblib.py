"""Comparisons and searches on joblib's Dask backend."""

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from kinlearn.audit import compare_sharing
from kinlearn.datasets import load_demo
from kinlearn.sharing import PerTask, Pooled

pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def demo():
    X, y = load_demo(as_frame=True, return_X_y=True)
    few = X["clinic"].isin(sorted(X["clinic"].unique())[:3]).to_numpy()
    return X[few], y[few]


def ways(model):
    return {"each": PerTask(model, task="clinic"), "all": Pooled(model, task="clinic")}


def test_the_comparison_is_the_same_on_dask(client, demo):
    X, y = demo
    options = {
        "task": "clinic",
        "estimators": ways(GaussianNB()),
        "cv": 2,
        "n_jobs": 2,
    }
    expected = compare_sharing(X, y, **options)
    with joblib.parallel_config("dask"):
        found = compare_sharing(X, y, **options)
    assert str(found) == str(expected)


def test_a_search_is_the_same_on_dask(client, demo):
    X, y = demo
    search = GridSearchCV(
        PerTask(GaussianNB(), task="clinic"),
        {"estimator__var_smoothing": [1e-9, 0.1]},
        cv=2,
    )
    expected = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask"):
        found = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_array_equal(found, expected)


def test_the_comparison_is_the_same_on_ray(demo):
    pytest.importorskip("ray")
    from ray.util.joblib import register_ray

    register_ray()
    X, y = demo
    options = {
        "task": "clinic",
        "estimators": ways(GaussianNB()),
        "cv": 2,
        "n_jobs": 2,
    }
    expected = compare_sharing(X, y, **options)
    with joblib.parallel_config("ray"):
        found = compare_sharing(X, y, **options)
    assert str(found) == str(expected)
