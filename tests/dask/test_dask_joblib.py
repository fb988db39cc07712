"""Comparisons and searches on joblib's Dask backend."""

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

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
    model = LogisticRegression(max_iter=5000)
    options = {"task": "clinic", "estimators": ways(model), "cv": 2, "n_jobs": 2}
    expected = compare_sharing(X, y, **options)
    with joblib.parallel_config("dask"):
        found = compare_sharing(X, y, **options)
    assert str(found) == str(expected)


def test_a_search_is_the_same_on_dask(client, demo):
    X, y = demo
    search = GridSearchCV(
        PerTask(LogisticRegression(max_iter=5000), task="clinic"),
        {"estimator__C": [0.01, 1.0]},
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
    model = LogisticRegression(max_iter=5000)
    options = {"task": "clinic", "estimators": ways(model), "cv": 2, "n_jobs": 2}
    expected = compare_sharing(X, y, **options)
    with joblib.parallel_config("ray"):
        found = compare_sharing(X, y, **options)
    assert str(found) == str(expected)
