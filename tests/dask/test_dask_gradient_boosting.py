"""Gradient boosting on a Dask cluster against the local one.

That the models are the same, with all kinds of rows and parameters, is for
tests/boosting/gradient/test_partitions.py: here it is the way through Dask.
"""

import os
import pickle
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import boosting

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")
kd = pytest.importorskip("kinlearn.dask")
from kinlearn.dask._cluster import ClusterPartitions  # noqa: E402

SMALL = {"n_estimators": 5, "learning_rate": 0.3, "min_samples_leaf": 5}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    n = 400
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=[*"abcd"])
    X["school"] = np.array(["ash", "beech", "cedar"], object)[rng.integers(0, 3, n)]
    X.loc[rng.random(n) < 0.1, "b"] = np.nan
    y = X["a"] + (X["school"] == "cedar") * X["c"] * 2 + 0.3 * rng.normal(size=n)
    return X, y


def on_dask(X, y, npartitions=4):
    X = dd.from_pandas(X, npartitions=npartitions)
    return X, dd.from_pandas(y, npartitions=npartitions)


def assert_same_model(found, expected):
    assert found.n_estimators_ == expected.n_estimators_ > 1
    for name, values in vars(expected.trees_).items():
        assert_array_equal(getattr(found.trees_, name), values, err_msg=name)
    assert_array_equal(found._start.intercepts, expected._start.intercepts)


def test_classifier_on_frames_is_the_local_one(client, frame):
    X, y = frame
    y = (y > 0).map({False: "no", True: "yes"})
    params = SMALL | {"task": "school", "early_stopping": True, "random_state": 0}
    local = boosting.MultiTaskGradientBoostingClassifier(**params).fit(X, y)
    dX, dy = on_dask(X, y)
    model = kd.MultiTaskGradientBoostingClassifier(**params, client=client)
    model.fit(dX, dy)
    assert_same_model(model, local)
    assert_array_equal(model.validation_losses_, local.validation_losses_)
    proba = model.predict_proba(dX)
    assert proba.npartitions == dX.npartitions
    proba = proba.compute()
    assert [*proba.columns] == ["no", "yes"]
    assert_array_equal(proba.to_numpy(), local.predict_proba(X))
    assert_array_equal(model.predict(dX).compute().to_numpy(), local.predict(X))
    assert_array_equal(model.predict(X), local.predict(X))


def test_quantiles_are_the_local_ones(client, frame):
    X, y = frame
    params = SMALL | {"loss": "quantile", "quantile": 0.2, "task": "school"}
    local = boosting.MultiTaskGradientBoostingRegressor(**params, random_state=1)
    model = kd.MultiTaskGradientBoostingRegressor(**params, random_state=1)
    model.set_params(client=client).fit(*on_dask(X, y))
    assert_same_model(model, local.fit(X, y))
    assert_array_equal(model.predict(on_dask(X, y)[0]).compute(), local.predict(X))


@pytest.mark.filterwarnings("ignore::UserWarning")  # Dask tells of the lost worker
def test_arrays_skewed_parts_and_a_worker_that_is_killed(client, frame, monkeypatch):
    X, y = frame
    codes = X["school"].astype("category").cat.codes
    table = X.assign(school=codes).to_numpy(np.float64)
    labels = (y > 0).to_numpy() + 1 * (y > 1).to_numpy()
    weight = np.random.default_rng(0).integers(0, 3, len(y)).astype(float)
    params = SMALL | {"task": -1, "subsample": 0.8, "random_state": 4}
    local = boosting.MultiTaskGradientBoostingClassifier(**params)
    local.fit(table, labels, weight)
    dX = da.from_array(table, chunks=((100, 0, 299, 1), (3, 2)))  # skewed, one empty
    pids = client.run(os.getpid)
    drives, drive = [], ClusterPartitions.drive

    def drive_and_kill(engine, function, plan, first, last):
        drives.append(first)
        if len(drives) == 3:  # those that it held have two rounds to make up for
            home = next(iter(engine._groups))
            os.kill(pids[home], signal.SIGKILL)
        return drive(engine, function, plan, first, min(first + 1, last))

    monkeypatch.setattr(ClusterPartitions, "drive", drive_and_kill)
    model = kd.MultiTaskGradientBoostingClassifier(**params, client=client)
    model.fit(dX, da.from_array(labels, chunks=250), da.from_array(weight, chunks=-1))
    assert drives == [0, 1, 2, 3, 4]
    assert set(client.run(os.getpid).values()) != set(pids.values())
    assert_same_model(model, local)
    kept = pickle.loads(pickle.dumps(model)).to_local()
    assert type(kept) is boosting.MultiTaskGradientBoostingClassifier
    assert kept.get_params() == local.get_params()
    assert_array_equal(kept.predict_proba(table), local.predict_proba(table))


def test_on_disk_it_is_the_local_one(tmp_path, frame, monkeypatch):
    monkeypatch.setattr("kinlearn.dask._disk._SMALL_BYTES", 0)
    X, y = frame
    params = SMALL | {"task": "school", "random_state": 0}
    local = boosting.MultiTaskGradientBoostingRegressor(**params).fit(X, y)
    model = kd.MultiTaskGradientBoostingRegressor(**params, client=kd.OnDisk(tmp_path))
    assert_same_model(model.fit(*on_dask(X, y)), local)
    assert os.listdir(tmp_path) == []


def test_what_dask_cannot_do_is_refused(frame):
    X, y = on_dask(*frame)
    model = kd.MultiTaskGradientBoostingRegressor(task="school", client=kd.OnDisk())
    with pytest.raises(ValueError, match="warm_start=True is not available on Dask"):
        model.set_params(warm_start=True).fit(X, y)
    model.set_params(warm_start=False, monotonic_cst={"a": 1}, loss="absolute_error")
    with pytest.raises(ValueError, match="no effect on quantiles"):
        model.fit(X, y)
