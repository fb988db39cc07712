"""The random forest on a Dask cluster against the local one.

That deep trees are the same, with all kinds of rows and parameters, is for
tests/trees/decision/test_partitions.py: here it is the way through Dask.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import trees

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
kd = pytest.importorskip("kinlearn.dask")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 500
    X = pd.DataFrame(rng.normal(size=(n, 5)), columns=[*"abcde"])
    X["school"] = np.array(["ash", "beech", "cedar", "date"], object)[
        rng.integers(0, 4, n)
    ]
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    y = X["a"] + (X["school"] == "date") * X["c"] * 2 + 0.3 * rng.normal(size=n)
    return X, y


def on_dask(X, y, npartitions=4):
    X = dd.from_pandas(X, npartitions=npartitions)
    return X, dd.from_pandas(y, npartitions=npartitions)


def assert_same_trees(found, expected):
    assert len(found.trees_) == len(expected.trees_) > 0
    for tree, other in zip(found.trees_, expected.trees_, strict=True):
        for name in ("steps", "decision_task", "decision_rows", "value_share"):
            assert_array_equal(getattr(tree, name), getattr(other, name), name)


def test_forest_on_frames_is_the_local_one(client, frame):
    X, y = frame
    labels = pd.cut(y, [-np.inf, -0.5, 0.5, np.inf], labels=False)
    labels = labels.map({0: "low", 1: "middle", 2: "high"})
    params = {"n_estimators": 2, "task": "school", "random_state": 4}
    local = trees.MultiTaskRandomForestClassifier(**params).fit(X, labels)
    dX, dy = on_dask(X, labels)
    forest = kd.MultiTaskRandomForestClassifier(**params, client=client).fit(dX, dy)
    assert_same_trees(forest, local)
    proba = forest.predict_proba(dX)
    assert proba.npartitions == dX.npartitions
    proba = proba.compute()
    assert [*proba.columns] == ["high", "low", "middle"]
    assert_array_equal(proba.index, X.index)
    assert_array_equal(proba.to_numpy(), local.predict_proba(X))
    assert_array_equal(forest.predict(dX).compute().to_numpy(), local.predict(X))


def test_forest_on_arrays_is_the_local_one(client, frame):
    X, y = frame
    codes = X["school"].astype("category").cat.codes
    table = X.assign(school=codes).to_numpy(np.float64)
    labels = (y > 0).to_numpy()
    weight = np.random.default_rng(0).integers(0, 3, len(y)) * 0.7
    params = {
        "n_estimators": 3,
        "task": -1,
        "random_state": 4,
        "class_weight": "balanced",
    }
    local = trees.MultiTaskRandomForestClassifier(**params).fit(table, labels, weight)
    dX = da.from_array(table, chunks=((100, 0, 399, 1), (3, 3)))  # skewed, one empty
    forest = kd.MultiTaskRandomForestClassifier(
        **params, trees_at_once=2, client=client
    )
    forest.fit(dX, da.from_array(labels, chunks=250), da.from_array(weight, chunks=-1))
    assert_same_trees(forest, local)
    answer = forest.predict_proba(dX)
    assert answer.chunks[0] == (100, 0, 399, 1)
    assert_array_equal(answer.compute(), local.predict_proba(table))

    again = pickle.loads(pickle.dumps(forest))
    assert again.client is None
    kept = again.to_local()
    assert type(kept) is trees.MultiTaskRandomForestClassifier
    assert kept.get_params() == local.get_params()
    assert_array_equal(kept.predict_proba(table), local.predict_proba(table))


def test_categories_are_those_of_the_local_forest(client, frame):
    X, y = frame
    X = X.assign(e=np.random.default_rng(0).integers(0, 20, len(X)))
    labels = y + (X["e"] % 3 == 1) > 0
    params = {
        "n_estimators": 2,
        "task": "school",
        "max_features": None,
        "categorical_features": ["e"],
        "random_state": 0,
    }
    local = trees.MultiTaskRandomForestClassifier(**params).fit(X, labels)
    dX, dy = on_dask(X, labels)
    forest = kd.MultiTaskRandomForestClassifier(**params, client=client).fit(dX, dy)
    new = X.assign(e=np.arange(len(X)) % 25)  # some were not there
    assert len(local.trees_[0].category_sets) > 0
    for table in (X, new):
        assert_array_equal(
            forest.to_local().predict_proba(table), local.predict_proba(table)
        )
    words = trees.export_text(local)
    assert "e in {" in words
    assert trees.export_text(forest.to_local()) == words


def test_parameters_that_are_not_there(frame):
    X, y = frame
    dX, dy = on_dask(X, y > 0)
    forest = kd.MultiTaskRandomForestClassifier(2, task="school", oob_score=True)
    with pytest.raises(ValueError, match="oob_score=True is not available on Dask"):
        forest.fit(dX, dy)
    forest.set_params(oob_score=False, max_depth=0)
    with pytest.raises(ValueError, match="'max_depth' parameter"):
        forest.fit(dX, dy)
    doc = kd.MultiTaskRandomForestClassifier.__doc__
    assert "purity : float in (0, 1], default=1.0\n    A task is decided" in doc
