"""Rows in files, larger than the memory that the process may have."""

import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import trees

da = pytest.importorskip("dask.array")
kd = pytest.importorskip("kinlearn.dask")


def test_the_forest_is_the_local_one_and_no_file_stays(tmp_path, monkeypatch):
    monkeypatch.setattr("kinlearn.dask._disk._SMALL_BYTES", 0)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    X[:, -1] = rng.integers(0, 5, 500)
    y = X[:, 0] + X[:, 1] * (X[:, -1] == 2)
    params = {
        "n_estimators": 5,
        "task": -1,
        "random_state": 0,
        "task_offset": False,
        "linear_part": False,
        "min_samples_leaf": 2,
        "task_split_prob": 0.5,
        "leaf_smoothing": 1.0,
    }
    local = trees.MultiTaskExtraTreesRegressor(**params).fit(X, y)
    forest = kd.MultiTaskExtraTreesRegressor(
        **params, client=kd.OnDisk(tmp_path), trees_at_once=2
    )
    forest.fit(da.from_array(X, chunks=(120, 4)), da.from_array(y, chunks=120))
    assert_array_equal(forest.forest_.nodes, local.forest_.nodes)
    assert_allclose(forest.predict(X), local.predict(X))
    assert os.listdir(tmp_path) == []


def test_a_folder_of_parquet_files(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 3)), columns=[*"abc"])
    frame["clinic"] = np.array(["ash", "birch", "cedar"], object)[
        rng.integers(0, 3, 600)
    ]
    frame["ill"] = frame["a"] + frame["b"] * (frame["clinic"] == "cedar") > 0
    for i, rows in enumerate(np.split(np.arange(600), [100, 450])):
        frame.iloc[rows].to_parquet(tmp_path / f"part-{i}.parquet")
    table = dd.read_parquet(tmp_path)
    assert table.npartitions == 3
    X, y = table.drop(columns="ill"), table["ill"]
    params = {"n_estimators": 3, "task": "clinic", "random_state": 0}
    local = trees.MultiTaskRandomForestClassifier(**params)
    local.fit(frame.drop(columns="ill"), frame["ill"])
    forest = kd.MultiTaskRandomForestClassifier(**params, client=kd.OnDisk(tmp_path))
    forest.fit(X, y)
    for tree, other in zip(forest.trees_, local.trees_, strict=True):
        assert_array_equal(tree.steps, other.steps)
    proba = forest.predict_proba(X).compute(scheduler="synchronous")
    assert_array_equal(proba, local.predict_proba(frame.drop(columns="ill")))
    assert len(os.listdir(tmp_path)) == 3


LIMITED = """
import resource, sys
import dask.array as da
import numpy as np
from kinlearn.dask import MultiTaskExtraTreesClassifier, OnDisk

def held():
    status = open("/proc/self/status").read()
    return int(status.partition("VmData:")[2].split()[0]) * 1024

def block(block_info=None):
    place = block_info[None]
    rng = np.random.default_rng(place["chunk-location"])
    X = rng.random(place["chunk-shape"], dtype=np.float32)
    X[:, -1] = X[:, 0] * 10 // 1
    return X

limit = held() + 100 * 2**20
resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
d, rows = 256, 16_384  # 16 MB a partition
n_parts = limit // (rows * d * 4) + 2
X = da.map_blocks(
    block, chunks=((rows,) * n_parts, (d,)), dtype=np.float32,
    meta=np.empty((0, 0), np.float32),
)
y = (X[:, 0] + X[:, 1] > 1).astype(np.int32)
assert X.nbytes > limit
try:
    np.ones(limit)
except MemoryError:
    pass  # the limit holds
forest = MultiTaskExtraTreesClassifier(
    1, task=-1, random_state=0, max_depth=2, min_samples_leaf=5, task_split_prob=0.5,
    max_features=4,
    client=OnDisk(sys.argv[1]),
).fit(X, y)
print(int(forest.forest_.weight[0]) == len(X), X.nbytes, limit)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits are read from /proc")
def test_data_larger_than_the_limit_of_the_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-P", "-c", LIMITED, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        # The data must be larger than what the libraries hold: without these they
        # take a gigabyte of addresses that they do not use.
        env={
            **os.environ,
            "ARROW_DEFAULT_MEMORY_POOL": "system",
            "OPENBLAS_NUM_THREADS": "1",
            "OMP_NUM_THREADS": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("True")
