"""Boosted stumps on a Dask cluster against the local ones.

That many rounds are the same, with all kinds of rows and parameters, is for
tests/boosting/stumps/test_partitions.py: here it is the way through Dask.
"""

import os
import pickle
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.utils import get_tags

from kinlearn import boosting

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
kd = pytest.importorskip("kinlearn.dask")
from kinlearn.dask._cluster import ClusterPartitions  # noqa: E402


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 400
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=[*"abcd"])
    X["school"] = np.array(["ash", "beech", "cedar"], object)[rng.integers(0, 3, n)]
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    y = X["a"] + (X["school"] == "cedar") * X["c"] * 2 + 0.3 * rng.normal(size=n)
    return X, (y > 0).map({False: "no", True: "yes"})


def on_dask(X, y, npartitions=4):
    X = dd.from_pandas(X, npartitions=npartitions)
    return X, dd.from_pandas(y, npartitions=npartitions)


def assert_same_model(found, expected):
    assert found.n_estimators_ == expected.n_estimators_ > 1
    assert_array_equal(found.stumps_.nodes, expected.stumps_.nodes)
    assert_array_equal(found.stumps_.values, expected.stumps_.values)
    assert_array_equal(found.estimator_weights_, expected.estimator_weights_)
    assert_array_equal(found.normalizers_, expected.normalizers_)


def test_model_on_frames_is_the_local_one(client, frame):
    X, y = frame
    local = boosting.AbstainingAdaBoostClassifier(3, task="school").fit(X, y)
    dX, dy = on_dask(X, y)
    model = kd.AbstainingAdaBoostClassifier(3, task="school", client=client)
    model.fit(dX, dy)
    assert_same_model(model, local)
    proba = model.predict_proba(dX)
    assert proba.npartitions == dX.npartitions
    proba = proba.compute()
    assert [*proba.columns] == ["no", "yes"]
    assert_array_equal(proba.to_numpy(), local.predict_proba(X))
    assert_array_equal(model.predict(dX).compute().to_numpy(), local.predict(X))


@pytest.mark.filterwarnings("ignore::UserWarning")  # Dask tells of the lost worker
def test_arrays_skewed_parts_and_a_worker_that_is_killed(client, frame, monkeypatch):
    X, y = frame
    codes = X["school"].astype("category").cat.codes
    table = X.assign(school=codes).to_numpy(np.float64)
    labels = (y == "yes").to_numpy()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    params = {"n_estimators": 3, "task": -1, "root": "stochastic", "random_state": 4}
    local = boosting.AbstainingAdaBoostClassifier(**params).fit(table, labels, weight)
    dX = da.from_array(table, chunks=((100, 0, 299, 1), (3, 2)))  # skewed, one empty
    pids = client.run(os.getpid)
    requests, reduce = [], ClusterPartitions.reduce

    def reduce_and_kill(parts, combine, function, *args, **kwargs):
        requests.append(getattr(function, "__name__", type(function).__name__))
        if requests.count("left_sums") == 2 and requests[-1] == "left_sums":
            os.kill(next(iter(pids.values())), signal.SIGKILL)
        return reduce(parts, combine, function, *args, **kwargs)

    monkeypatch.setattr(ClusterPartitions, "reduce", reduce_and_kill)
    model = kd.AbstainingAdaBoostClassifier(**params, client=client)
    model.fit(dX, da.from_array(labels, chunks=250), da.from_array(weight, chunks=-1))
    assert requests.count("left_sums") == 3
    assert set(client.run(os.getpid).values()) != set(pids.values())
    assert_same_model(model, local)
    proba = model.predict_proba(dX)
    assert proba.chunks[0] == (100, 0, 299, 1)
    assert_array_equal(proba.compute(), local.predict_proba(table))

    kept = pickle.loads(pickle.dumps(model)).to_local()
    assert type(kept) is boosting.AbstainingAdaBoostClassifier
    assert kept.get_params() == local.get_params()
    assert_array_equal(kept.predict_proba(table), local.predict_proba(table))


def test_several_labels_a_row_are_for_the_local_class(frame):
    X, y = on_dask(*frame)
    model = kd.AbstainingAdaBoostClassifier(3, task="school")
    assert not get_tags(model).classifier_tags.multi_label
    assert get_tags(model.to_local()).classifier_tags.multi_label
    marks = y.to_frame("one").assign(two=y)
    for several in (marks, da.zeros((400, 2), chunks=(100, 2))):
        with pytest.raises(ValueError, match=r"2 columns.*kinlearn\.boosting\.Abst"):
            model.fit(X, several)


def test_several_classes_are_as_in_the_local_model(client, frame):
    X, y = frame
    level = X["a"] + (X["school"] == "cedar") * X["c"]
    y = y.where(level < 1, "much").where(X["school"] != "ash", y)  # ash has two
    local = boosting.AbstainingAdaBoostClassifier(4, task="school").fit(X, y)
    dX, dy = on_dask(X, y)
    model = kd.AbstainingAdaBoostClassifier(4, task="school", client=client)
    assert_same_model(model.fit(dX, dy), local)
    assert model.algorithm_ == "mh"
    assert [*model.predict_proba(dX).columns] == ["much", "no", "yes"]
    assert_array_equal(model.predict(dX).compute().to_numpy(), local.predict(X))


def test_on_disk_it_is_the_local_one(tmp_path, frame, monkeypatch):
    monkeypatch.setattr("kinlearn.dask._disk._SMALL_BYTES", 0)
    X, y = frame
    local = boosting.AbstainingAdaBoostClassifier(5, task="school").fit(X, y)
    model = kd.AbstainingAdaBoostClassifier(
        5, task="school", client=kd.OnDisk(tmp_path)
    )
    assert_same_model(model.fit(*on_dask(X, y)), local)
    assert os.listdir(tmp_path) == []
