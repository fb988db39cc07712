"""Extra trees on a Dask cluster against the local ones."""

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
from kinlearn.dask._cluster import ClusterParts  # noqa: E402

# That deep trees are the same is for tests/trees/test_partitioned.py: every level
# takes a few messages to the workers.
SHALLOW = {"min_samples_leaf": 20, "task_split_prob": 1.0, "max_depth": 3}


class Watch:
    """A callback that notes the trees."""

    def __init__(self):
        self.trees = []

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        if context.task_name.startswith("tree"):
            self.trees.append(context.task_name)

    def teardown(self, estimator, context):
        pass


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


@pytest.mark.parametrize("room", [0.0, 1.0, 3.0])  # no branch, some, whole trees
def test_trees_do_not_depend_on_what_comes_together(room, client, frame, monkeypatch):
    monkeypatch.setattr(ClusterParts, "room", room)
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


def test_the_last_client_is_found_and_progress_is_told(client, frame):
    X, y = frame
    seen = Watch()
    forest = kd.MultiTaskExtraTreesClassifier(3, task="school", **SHALLOW)
    forest.set_callbacks(seen).fit(*on_dask(X, y > 0))
    assert seen.trees == ["tree 0", "tree 1", "tree 2"]


def test_tasks_and_labels_that_few_partitions_have(client, frame):
    X, y = frame
    order = np.lexsort([y > 0, X["school"]])  # each partition: one class, few tasks
    X, y = X.iloc[order].reset_index(drop=True), (y > 0).iloc[order]
    y = y.reset_index(drop=True).astype(int)
    X["school"] = X["school"].astype("category")
    dX, dy = on_dask(X, y, npartitions=6)
    dX["school"] = dX["school"].cat.as_unknown()
    params = {"n_estimators": 2, "task": "school", "random_state": 0, **SHALLOW}
    forest = kd.MultiTaskExtraTreesClassifier(**params, client=client).fit(dX, dy)
    local = trees.MultiTaskExtraTreesClassifier(**params).fit(X, y)
    assert_same_trees(forest, local)


def test_errors_say_what_to_do(client, frame):
    X, y = frame
    dX, dy = on_dask(X, y > 0)
    forest = kd.MultiTaskExtraTreesClassifier(2, task="school", client=client)
    with pytest.raises(TypeError, match=r"must be a Dask DataFrame.*DataFrame"):
        forest.fit(X, y > 0)
    with pytest.raises(TypeError, match="y must be a Dask Series or array"):
        forest.fit(dX, y > 0)
    with pytest.raises(ValueError, match="target y is None"):
        forest.fit(dX, None)
    with pytest.raises(ValueError, match=r"X has 4 partitions, but y has 3"):
        forest.fit(dX, dd.from_pandas(y > 0, npartitions=3))
    with pytest.raises(ValueError, match=r"Task column 'shool' is not in X"):
        clone(forest).set_params(task="shool").fit(dX, dy)
    with pytest.raises(ValueError, match="bootstrap=True is not available on Dask"):
        clone(forest).set_params(bootstrap=True).fit(dX, dy)
    with pytest.raises(ValueError, match="linear_part='auto' is not available"):
        kd.MultiTaskExtraTreesRegressor(linear_part="auto", client=client).fit(dX, dy)
    with pytest.raises(ValueError, match="Found no rows"):
        forest.fit(dX[dX["a"] > 1e9], dy[dX["a"] > 1e9])
    gap = X.assign(school=X["school"].where(X.index != 499, None))
    with pytest.raises(ValueError, match=r"In partition 3 .*'school' is missing in 1"):
        forest.fit(dd.from_pandas(gap, npartitions=4), dy)
    with pytest.raises(TypeError, match=r"must be a dask\.distributed\.Client"):
        kd.MultiTaskExtraTreesClassifier(client="tcp://here").fit(dX, dy)


def test_an_unknown_task_is_named_when_the_answer_is_computed(client, frame):
    X, y = frame
    forest = kd.MultiTaskExtraTreesClassifier(
        2, task="school", client=client, **SHALLOW
    )
    known = X["school"] != "date"
    forest.fit(*on_dask(X[known], (y > 0)[known]))
    with pytest.raises(ValueError, match="did not see in fit: 'date'"):
        forest.predict(on_dask(X, y)[0]).compute()


def test_without_a_client_the_error_says_how_to_make_one(client):
    # Here the fixture's client is the default: ask in a process that has none.
    message = client.submit(_fit_without_client, pure=False).result()
    assert "There is no Dask client. Make one" in message


def _fit_without_client():
    import distributed.client

    from kinlearn.dask._cluster import find_client

    distributed.client._global_client_index[0] += 1  # forget any
    try:
        find_client()
    except ValueError as error:
        return str(error)
    return "found one"
