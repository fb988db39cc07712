"""Data that no worker could hold. The first file by name: workers are fresh then."""

import os

import numpy as np
import pytest

da = pytest.importorskip("dask.array")
kd = pytest.importorskip("kinlearn.dask")


def _random_rows(block_info=None):
    place = block_info[None]
    rng = np.random.default_rng(place["chunk-location"])
    X = rng.random(place["chunk-shape"], dtype=np.float32)
    X[:, -1] = X[:, 0] * 10 // 1
    return X


def test_data_larger_than_the_memory_of_a_worker(client):
    n, d = 900_000, 256  # 922 MB in float32
    X = da.map_blocks(
        _random_rows,
        chunks=((n // 48,) * 48, (d,)),
        dtype=np.float32,
        meta=np.empty((0, 0), np.float32),
    )
    y = (X[:, 0] + X[:, 1] > 1).astype(np.int32)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    assert X.nbytes > max(worker["memory_limit"] for worker in workers)
    params = {"task": -1, "min_samples_leaf": 5, "max_depth": 2, "random_state": 0}
    pids = client.run(os.getpid)
    forest = kd.MultiTaskExtraTreesClassifier(
        1, max_features=4, task_split_prob=0.5, **params, client=client
    )
    forest.fit(X, y)
    assert client.run(os.getpid) == pids  # none was killed for its memory
    assert forest.forest_.weight[0] == n
    assert len(forest.forest_.nodes) == 7
