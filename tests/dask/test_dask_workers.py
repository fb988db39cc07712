"""Workers that are lost, small, or unequal."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import trees

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")
kd = pytest.importorskip("kinlearn.dask")
from kinlearn.dask._cluster import ClusterParts  # noqa: E402

PARAMS = {
    "n_estimators": 4,
    "task": -1,
    "random_state": 0,
    "min_samples_leaf": 5,
    "task_split_prob": 0.5,
    "max_depth": 4,
}


def cluster(n_workers, memory_limit):
    return distributed.LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        memory_limit=memory_limit,
    )


def rows(n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    X[:, -1] = rng.integers(0, 5, n)
    return X, (X[:, 0] + X[:, 1] * (X[:, -1] == 2) > 0).astype(int)


@pytest.mark.filterwarnings("ignore::UserWarning")  # Dask tells of the lost worker
def test_a_worker_that_is_killed_in_a_fit_does_not_matter(monkeypatch):
    X, y = rows(400)
    local = trees.MultiTaskExtraTreesClassifier(**PARAMS).fit(X, y)
    asked, ask = [], ClusterParts.ask

    with cluster(2, "1GB") as workers, distributed.Client(workers) as client:
        pids = client.run(os.getpid)

        def ask_and_kill(parts, question):
            asked.append(type(question).__name__)
            if len(asked) == 4:  # the second level
                os.kill(next(iter(pids.values())), signal.SIGKILL)
            return ask(parts, question)

        monkeypatch.setattr(ClusterParts, "ask", ask_and_kill)
        forest = kd.MultiTaskExtraTreesClassifier(**PARAMS, client=client)
        forest.fit(da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100))
        assert len(asked) > 6
        assert set(client.run(os.getpid).values()) != set(pids.values())
    for name in ("nodes", "default_left", "exceptions", "values"):
        assert_array_equal(getattr(forest.forest_, name), getattr(local.forest_, name))


def _on_workers(client, array, chunks):
    """A Dask array whose blocks lie on the workers, in turn."""
    blocks = np.split(array, np.cumsum(chunks)[:-1])
    futures = client.scatter(blocks, hash=False)
    return da.concatenate(
        [
            da.from_delayed(dask.delayed(future), block.shape, block.dtype)
            for future, block in zip(futures, blocks, strict=True)
        ]
    )


def test_no_worker_ever_holds_all_rows(monkeypatch):
    X, y = rows(1000)
    chunks = (700, 10, 40, 250)  # skewed
    most, ask = [], ClusterParts.ask

    def ask_and_look(parts, question):
        answer = ask(parts, question)
        n_rows = dict(zip((f.key for f in parts.shares), chunks, strict=True))
        held: dict = {}
        for key, workers in client.who_has(parts.shares).items():
            for worker in workers:
                held[worker] = held.get(worker, 0) + n_rows[key]
        most.append(max(held.values()))
        return answer

    monkeypatch.setattr(ClusterParts, "ask", ask_and_look)
    # An idle worker steals rows as small as these; the guide tells how to forbid it.
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        cluster(3, "1GB") as workers,
        distributed.Client(workers) as client,
    ):
        forest = kd.MultiTaskExtraTreesClassifier(**PARAMS, client=client)
        forest.fit(_on_workers(client, X, chunks), _on_workers(client, y, chunks))
    assert len(most) > 6
    assert max(most) == 700  # the largest partition has a worker for itself
    local = trees.MultiTaskExtraTreesClassifier(**PARAMS).fit(X, y)
    assert_array_equal(forest.forest_.nodes, local.forest_.nodes)


def _random_rows(block_info=None):
    place = block_info[None]
    rng = np.random.default_rng(place["chunk-location"])
    X = rng.random(place["chunk-shape"], dtype=np.float32)
    X[:, -1] = X[:, 0] * 10 // 1
    return X


def test_data_larger_than_the_memory_of_a_worker():
    n, d = 1_760_000, 64  # 450 MB in float32
    X = da.map_blocks(
        _random_rows,
        chunks=((n // 16,) * 16, (d,)),
        dtype=np.float32,
        meta=np.empty((0, 0), np.float32),
    )
    y = (X[:, 0] + X[:, 1] > 1).astype(np.int32)
    params = {**PARAMS, "n_estimators": 1, "max_depth": 2}
    with cluster(3, "400MB") as workers, distributed.Client(workers) as client:
        pids = client.run(os.getpid)
        forest = kd.MultiTaskExtraTreesClassifier(**params, client=client).fit(X, y)
        assert client.run(os.getpid) == pids  # none was killed for its memory
    assert forest.forest_.weight[0] == n
    assert len(forest.forest_.nodes) == 7
