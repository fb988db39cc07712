"""Workers that are lost, or unequal."""

import os
import signal

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import trees
from tests.interrupt import seconds_to_stop

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
kd = pytest.importorskip("kinlearn.dask")
psutil = pytest.importorskip("psutil")
from kinlearn.dask import _cluster  # noqa: E402
from kinlearn.dask._cluster import ClusterPartitions  # noqa: E402
from kinlearn.dask._residents import split_groups  # noqa: E402

PARAMS = {
    "n_estimators": 2,
    "task": -1,
    "random_state": 0,
    "min_samples_leaf": 5,
    "max_depth": 4,
}


def both(name, client):
    """A local forest, and the same on Dask."""
    kind = "" if name.endswith("Regressor") else "Classifier"
    name = f"MultiTask{name}{kind}"
    params = PARAMS | ({"task_split_prob": 0.5} if "Extra" in name else {})
    return (
        getattr(trees, name)(**params),
        getattr(kd, name)(**params, client=client),
    )


def assert_same_trees(found, expected):
    if hasattr(expected, "forest_"):
        for name in ("nodes", "default_left", "exceptions", "values"):
            assert_array_equal(
                getattr(found.forest_, name), getattr(expected.forest_, name)
            )
    else:
        for tree, other in zip(found.trees_, expected.trees_, strict=True):
            for name in ("steps", "decision_task", "value_share"):
                assert_array_equal(getattr(tree, name), getattr(other, name))


def rows(n):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 4))
    X[:, -1] = rng.integers(0, 5, n)
    return X, (X[:, 0] + X[:, 1] * (X[:, -1] == 2) > 0).astype(int)


def kill_oldest(pids):
    """Kill a worker; not one that has just begun, for Dask would not replace it."""
    oldest = min(pids, key=lambda pid: psutil.Process(pid).create_time())
    os.kill(oldest, signal.SIGKILL)


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


@pytest.mark.parametrize("name", ["ExtraTrees", "RandomForest"])
def test_no_worker_ever_holds_all_rows(name, client, monkeypatch):
    X, y = rows(1000)
    chunks = (700, 10, 40, 250)  # skewed
    most, ask = [], ClusterPartitions.statistics

    def ask_and_look(parts, question):
        answer = ask(parts, question)
        n_rows = dict(zip((f.key for f in parts.partitions), chunks, strict=True))
        held: dict = {}
        for key, workers in client.who_has(parts.partitions).items():
            for worker in workers:
                held[worker] = held.get(worker, 0) + n_rows[key]
        most.append(max(held.values()))
        return answer

    monkeypatch.setattr(ClusterPartitions, "statistics", ask_and_look)
    local, forest = both(name, client)
    forest.fit(_on_workers(client, X, chunks), _on_workers(client, y, chunks))
    assert len(most) > 2
    assert max(most) == 700  # the largest partition has a worker for itself
    assert_same_trees(forest, local.fit(X, y))


@pytest.mark.filterwarnings("ignore::UserWarning")  # Dask tells of the lost worker
@pytest.mark.parametrize(
    ("name", "method", "number"),
    [
        ("ExtraTrees", "statistics", 2),
        ("ExtraTrees", "assemble", 1),
        ("ExtraTreesRegressor", "statistics", 2),
        ("RandomForest", "statistics", 2),
    ],
)
def test_a_worker_that_is_killed_in_a_fit_does_not_matter(
    name, method, number, client, monkeypatch
):
    X, y = rows(400)
    if name.endswith("Regressor"):  # whole numbers, whose sums are exact
        y = np.round(10 * X[:, 0] * (X[:, -1] == 2) - 5 * X[:, 1])
    client.wait_for_workers(2)  # others may have been killed by other tests
    local, forest = both(name, client)
    pids = client.run(os.getpid)
    asked, ask = [], getattr(ClusterPartitions, method)

    def ask_and_kill(parts, *args):
        asked.append(args)
        if len(asked) == number:
            kill_oldest(pids.values())
        return ask(parts, *args)

    monkeypatch.setattr(ClusterPartitions, method, ask_and_kill)
    forest.fit(da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100))
    assert len(asked) >= number
    assert set(client.run(os.getpid).values()) != set(pids.values())
    assert_same_trees(forest, local.fit(X, y))


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_worker_that_is_killed_while_branches_grow_does_not_matter(
    client, monkeypatch
):
    X, y = rows(400)
    client.wait_for_workers(2)
    local, forest = (f.set_params(max_depth=None) for f in both("ExtraTrees", client))
    pids = client.run(os.getpid)
    called, run = [], ClusterPartitions._run

    def run_and_kill(parts, workers, method, *args):
        called.append(method)
        if method == "grow" and called.count("grow") == 2:  # the first one is at work
            kill_oldest(pids.values())
        return run(parts, workers, method, *args)

    monkeypatch.setattr(ClusterPartitions, "_run", run_and_kill)
    forest.fit(da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100))
    assert called.count("get_ready") > 1  # it had to begin again
    assert_same_trees(forest, local.fit(X, y))


@pytest.mark.parametrize("name", ["ExtraTrees", "RandomForest"])
def test_workers_answer_for_those_below_them(name, client, monkeypatch):
    client.wait_for_workers(2)
    monkeypatch.setattr(_cluster, "_FEW", 0)
    asked, run = [], ClusterPartitions._run

    def run_and_look(parts, workers, method, *args):
        if method == "statistics":
            asked.append((len(workers), sum(map(len, workers.values()))))
        return run(parts, workers, method, *args)

    monkeypatch.setattr(ClusterPartitions, "_run", run_and_look)
    X, y = rows(400)
    local, forest = both(name, client)
    forest.fit(da.from_array(X, chunks=(100, 4)), da.from_array(y, chunks=100))
    assert {n_asked for n_asked, _ in asked} == {1}
    assert min(n_workers for _, n_workers in asked) > 1
    assert_same_trees(forest, local.fit(X, y))


def test_groups_are_split_evenly():
    groups = {f"worker {i}": {i: f"share {i}"} for i in range(20)}
    runs = split_groups(groups)
    assert sorted(map(len, runs.values())) == [2] * 4 + [3] * 4
    assert {a: parts for run in runs.values() for a, parts in run.items()} == groups
    assert all(next(iter(run)) == leader for leader, run in runs.items())
    assert split_groups({}) == {}


def _residents(dask_worker):
    return [name for name in dask_worker.plugins if name.startswith("kinlearn")]


def test_ctrl_c_ends_a_fit_and_leaves_nothing_on_the_workers(client):
    client.wait_for_workers(2)
    X, y = rows(20_000)
    forest = kd.MultiTaskExtraTreesClassifier(
        5_000, task=-1, random_state=0, task_split_prob=0.5, min_samples_leaf=1
    )
    X, y = da.from_array(X, chunks=(5_000, 4)), da.from_array(y, chunks=5_000)
    assert seconds_to_stop(lambda: forest.fit(X, y), after=1.5) < 1
    assert not any(client.run(_residents).values())
