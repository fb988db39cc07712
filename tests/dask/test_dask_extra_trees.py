"""Extra trees on a Dask cluster against the local ones.

What they share with other estimators is in test_dask_estimators.py.
"""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from kinlearn import trees

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
kd = pytest.importorskip("kinlearn.dask")
from kinlearn.dask._cluster import ClusterPartitions  # noqa: E402

# That deep trees are the same is for tests/trees/extra/test_partitions.py: every level
# takes a few messages to the workers.
SHALLOW = {"min_samples_leaf": 20, "task_split_prob": 1.0, "max_depth": 3}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 500
    X = pd.DataFrame(rng.normal(size=(n, 5)).astype(np.float32), columns=[*"abcde"])
    X["school"] = np.array(["ash", "beech", "cedar", "date"], object)[
        rng.integers(0, 4, n)
    ]
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    noise = 0.3 * rng.normal(size=n)
    y = X["a"] + (X["school"] == "date") * X["c"] * 2 + noise
    return X, y


def on_dask(X, y, npartitions=4):
    X = dd.from_pandas(X, npartitions=npartitions)
    return X, dd.from_pandas(y, npartitions=npartitions)


def assert_same_trees(found, expected):
    for name in ("nodes", "default_left", "tree_start", "exceptions", "weight"):
        assert_array_equal(
            getattr(found.forest_, name), getattr(expected.forest_, name), name
        )
    assert_allclose(found.forest_.values, expected.forest_.values, rtol=1e-9)


def test_workers_may_be_threads_of_one_process(frame):
    distributed = pytest.importorskip("distributed")
    X, y = frame
    params = {"n_estimators": 2, "task": "school", "random_state": 4, **SHALLOW}
    local = trees.MultiTaskExtraTreesRegressor(**params).fit(X, y)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        forest = kd.MultiTaskExtraTreesRegressor(**params, client=client)
        forest.fit(*on_dask(X, y))
    assert_same_trees(forest, local)


def test_classifier_on_frames_is_the_local_one(client, frame):
    X, y = frame
    labels = pd.cut(y, [-np.inf, -0.5, 0.5, np.inf], labels=False)
    labels = labels.map({0: "low", 1: "middle", 2: "high"})
    params = {"n_estimators": 3, "task": "school", "random_state": 4, "max_depth": 5}
    local = trees.MultiTaskExtraTreesClassifier(**params).fit(X, labels)
    dX, dy = on_dask(X, labels)
    forest = kd.MultiTaskExtraTreesClassifier(**params, client=client).fit(dX, dy)
    assert_same_trees(forest, local)
    assert [*forest.classes_] == ["high", "low", "middle"]
    assert forest.min_samples_leaf_ == local.min_samples_leaf_
    proba = forest.predict_proba(dX)
    assert proba.npartitions == dX.npartitions
    proba = proba.compute()
    assert [*proba.columns] == ["high", "low", "middle"]
    assert_array_equal(proba.index, X.index)
    assert_array_equal(proba.to_numpy(), local.predict_proba(X))
    assert_array_equal(forest.predict(dX).compute().to_numpy(), local.predict(X))


def test_regressor_on_arrays_is_the_local_one(client, frame):
    X, y = frame
    codes = X["school"].astype("category").cat.codes
    table = X.assign(school=codes).to_numpy(np.float64)
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    params = {
        "n_estimators": 3,
        "task": -1,
        "random_state": 4,
        "max_depth": 5,
        "min_samples_leaf": 2,
        "task_split_prob": 0.5,
        "task_offset": False,
        "linear_part": False,
        "leaf_smoothing": 1.0,
    }
    local = trees.MultiTaskExtraTreesRegressor(**params).fit(table, y, weight)
    dX = da.from_array(table, chunks=((100, 0, 399, 1), (3, 3)))  # skewed, one empty
    forest = kd.MultiTaskExtraTreesRegressor(**params, trees_at_once=2, client=client)
    forest.fit(
        dX,
        da.from_array(y.to_numpy(), chunks=250),
        da.from_array(weight, chunks=-1),
    )
    assert_same_trees(forest, local)
    answer = forest.predict(dX)
    assert answer.chunks == ((100, 0, 399, 1),)
    assert_allclose(answer.compute(), local.predict(table), rtol=1e-9)


@pytest.mark.parametrize("fraction", [0.0, 1.0, 3.0])  # no branch, some, whole trees
def test_trees_do_not_depend_on_what_comes_together(
    fraction, client, frame, monkeypatch
):
    monkeypatch.setattr(ClusterPartitions, "fraction_together", fraction)
    X, y = frame
    params = {"n_estimators": 2, "task": "school", "random_state": 2, **SHALLOW}
    forest = kd.MultiTaskExtraTreesClassifier(**params, client=client)
    forest.fit(*on_dask(X, y > 0))
    local = trees.MultiTaskExtraTreesClassifier(**params).fit(X, y > 0)
    assert_same_trees(forest, local)


def test_local_forest_is_an_ordinary_one(client, frame):
    X, y = frame
    forest = kd.MultiTaskExtraTreesClassifier(
        3, task="school", random_state=1, client=client, **SHALLOW
    )
    forest.fit(*on_dask(X, y > 0))
    local = forest.to_local()
    assert type(local) is trees.MultiTaskExtraTreesClassifier
    assert local.get_params()["min_samples_leaf"] == 20
    again = pickle.loads(pickle.dumps(local))
    assert_array_equal(again.predict_proba(X), forest.predict_proba(X))
    assert pickle.loads(pickle.dumps(forest)).client is None
    copy = clone(forest)
    assert copy.client is client
    assert not hasattr(copy, "forest_")
    assert copy.min_samples_leaf == 20


def test_parameters_that_are_not_there(frame):
    X, y = frame
    dX, dy = on_dask(X, y > 0)
    forest = kd.MultiTaskExtraTreesClassifier(
        2, task="school", bootstrap=True, oob_score=True
    )
    with pytest.raises(
        ValueError, match=r"oob_score=True is not available on Dask: .* keep some rows"
    ):
        forest.fit(dX, dy)
    with pytest.raises(ValueError, match="warm_start=True is not available"):
        kd.MultiTaskExtraTreesRegressor(warm_start=True).fit(dX, dy)
    for name in ("linear_part", "task_offset", "bootstrap"):
        local = getattr(trees.MultiTaskExtraTreesRegressor(), name)
        assert getattr(kd.MultiTaskExtraTreesRegressor(), name) == local


def test_bootstrap_is_the_local_one(frame):
    X, y = frame
    params = {"n_estimators": 4, "task": "school", "random_state": 4, "bootstrap": True}
    params |= {"min_samples_leaf": 2, "task_split_prob": 0.5}
    local = trees.MultiTaskExtraTreesClassifier(**params).fit(X, y > 0)
    forest = kd.MultiTaskExtraTreesClassifier(
        **params, trees_at_once=2, client=kd.OnDisk()
    )
    forest.fit(*on_dask(X, y > 0))
    for name, array in vars(local.forest_).items():
        assert_array_equal(getattr(forest.forest_, name), array, name)


@pytest.mark.parametrize("bootstrap", [False, True])
def test_line_and_offsets_are_the_local_ones(client, frame, bootstrap):
    X, y = frame
    y = y + 2 * X["e"] + 3 * (X["school"] == "ash")
    params = {"n_estimators": 3, "task": "school", "random_state": 4, **SHALLOW}
    params |= {"linear_part": True, "task_offset": True, "bootstrap": bootstrap}
    local = trees.MultiTaskExtraTreesRegressor(**params).fit(X, y)
    forest = kd.MultiTaskExtraTreesRegressor(**params, client=client)
    forest.fit(*on_dask(X, y))
    assert local.task_offsets_.any()
    assert_array_equal(forest.task_offsets_, local.task_offsets_)
    assert_array_equal(forest.linear_coef_, local.linear_coef_)
    assert_same_trees(forest, local)
    assert_allclose(forest.feature_importances_, local.feature_importances_, rtol=1e-9)
    assert_allclose(forest.to_local().predict(X), local.predict(X), rtol=1e-9)
