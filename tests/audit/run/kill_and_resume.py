"""Kill a run at random moments, resume it, and see what was done.

Run by ``test_resume.py`` in a process of its own: ``python -m
tests.audit.run.kill_and_resume FOLDER N_KILLS SEED``. Each attempt is a fork, so that
a kill costs no start of Python.
"""

import json
import os
import random
import signal
import sqlite3
import sys
import time
from pathlib import Path

from kinlearn.audit import compare_sharing
from kinlearn.audit.run import _cells
from kinlearn.sharing import PerTask
from tests.reference.known_models import Knower, TaskKnower, known_data

X, Y = known_data((60, 50, 40, 30, 3))
RIGHT = {"t0": 0.9, "t1": 0.8, "t2": 0.2, "t3": 0.7, "t4": 0.5}
PAUSE = 0.004


def compare(store):
    return compare_sharing(
        X,
        Y,
        task="task",
        estimators={
            "alone": PerTask(Knower(0.6, pause=PAUSE / 4), task="task"),
            "pooled and alone": Knower(0.5, pause=PAUSE),
            "multi": TaskKnower(RIGHT, task="task", pause=PAUSE),
        },
        scoring="accuracy",
        n_repeats=2,
        store=store,
    )


def compare_slowly(store, n_jobs, progress=None):
    """A comparison that leaves time for a signal."""
    return compare_sharing(
        X,
        Y,
        task="task",
        estimators={
            "alone": PerTask(Knower(0.6, pause=0.02), task="task"),
            "multi": TaskKnower(RIGHT, task="task", pause=0.05),
        },
        scoring="accuracy",
        n_repeats=1,
        n_jobs=n_jobs,
        store=store,
        progress=progress,
    )


def stable(result):
    """The result as text, without what the clock and the memory say."""
    data = json.loads(result.to_json())
    for contender in data["contenders"]:
        for key in ("fit_seconds", "score_seconds", "peak_mib"):
            contender[key] = 0
    data["run"]["seconds"] = data["run"]["started"] = 0
    return json.dumps(data)


def log_cells(path):
    """Write down every cell that is begun."""
    run_cell = _cells._run_cell

    def logged(handle, cell, estimator):
        with open(path, "a") as file:
            file.write(cell.key + "\n")
        return run_cell(handle, cell, estimator)

    _cells._run_cell = logged


def stored(path):
    """Keys of the records, as a reader finds them after the kill."""
    if not path.exists():
        return set()
    with sqlite3.connect(path) as connection:
        try:
            found = connection.execute("SELECT key FROM records").fetchall()
        except sqlite3.OperationalError:  # killed before there was a table
            found = []
    connection.close()
    return {key for (key,) in found}


def attempt(store, log, answer, delay):
    """Run in a fork and kill it after a while; whether the kill came in time."""
    child = os.fork()
    if child == 0:
        log_cells(log)
        answer.write_text(stable(compare(store)))
        os._exit(0)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main(folder, n_kills, seed):
    rng = random.Random(seed)
    folder = Path(folder)
    start = time.perf_counter()
    expected = stable(compare(None))
    whole = time.perf_counter() - start
    kills = rounds = 0
    places = []
    while kills < n_kills:
        rounds += 1
        store, log = folder / f"{rounds}.sqlite", folder / f"{rounds}.log"
        answer = folder / f"{rounds}.json"
        began = []
        while True:
            before = stored(store)
            log.write_text("")
            # about five kills on the way through one run
            killed = attempt(store, log, answer, rng.uniform(0, whole / 2.5))
            begun = log.read_text().splitlines()
            assert not before & set(begun), "a stored cell was done again"
            after = stored(store)
            assert before <= after, "a record was lost"
            # the last one may have been under way, or done and not yet stored
            assert len(set(begun) - after) <= killed, "finished cells were not stored"
            began += begun
            if not killed:
                break
            kills += 1
            places.append(len(after))
        assert answer.read_text() == expected, "another result after resuming"
        assert len(set(began)) == len(after) - 1  # and the relatedness
    again = stable(compare(store))
    assert again == expected
    sys.stdout.write(json.dumps({"kills": kills, "rounds": rounds, "places": places}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
