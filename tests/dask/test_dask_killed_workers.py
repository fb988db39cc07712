"""Fits on a cluster whose workers are killed every few seconds."""

import os
import threading
import time

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import trees

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")
kd = pytest.importorskip("kinlearn.dask")
psutil = pytest.importorskip("psutil")

SECONDS = float(os.environ.get("ENDURANCE_SECONDS", 0))
N_WORKERS = 3  # of the cluster of this folder
PAUSE = 3.0  # seconds between two kills, at least
PARAMS = {"n_estimators": 4, "task": -1, "random_state": 0, "task_split_prob": 0.5}


def _kill_now_and_then(client, stop, killed):
    """Kill the oldest worker, whenever all of them are there and at work."""
    while not stop.wait(PAUSE):
        pids = client.run(os.getpid, on_error="ignore").values()
        if len(pids) == N_WORKERS:
            oldest = min(map(psutil.Process, pids), key=lambda p: p.create_time())
            oldest.kill()
            killed.append(oldest.pid)


@pytest.mark.skipif(not SECONDS, reason="for minutes: make endurance")
@pytest.mark.filterwarnings("ignore")  # Dask tells of each worker that it lost
def test_fits_end_right_or_say_what_happened(client):
    """For ENDURANCE_SECONDS, and until a worker was killed."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4))
    X[:, -1] = rng.integers(0, 5, len(X))
    y = (X[:, 0] + X[:, 1] * (X[:, -1] == 2) > 0).astype(int)
    local = trees.MultiTaskExtraTreesClassifier(**PARAMS).fit(X, y)
    rows = da.from_array(X, chunks=(250, 4)), da.from_array(y, chunks=250)
    forest = kd.MultiTaskExtraTreesClassifier(**PARAMS, client=client)

    def assert_right():
        for name in ("nodes", "default_left", "exceptions", "values"):
            found = getattr(forest.forest_, name)
            assert_array_equal(found, getattr(local.forest_, name))

    client.wait_for_workers(N_WORKERS)
    stop, killed, messages = threading.Event(), [], []
    killer = threading.Thread(
        target=_kill_now_and_then, args=(client, stop, killed), daemon=True
    )
    killer.start()
    end = time.monotonic() + SECONDS
    try:
        while time.monotonic() < end or not killed:
            try:
                forest.fit(*rows)
            except (distributed.KilledWorker, RuntimeError) as error:
                messages.append(str(error))
            else:
                assert_right()
    finally:
        stop.set()
        killer.join()
    assert killed
    assert all(len(message) > 20 for message in messages)
    client.wait_for_workers(2)
    forest.fit(*rows)
    assert_right()
