"""A quality run that is killed goes on where it was, and ends with the same table."""

import os
import random
import runpy
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from benchmarks.jsonlines import read_records
from benchmarks.quality.__main__ import main
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.runner import finished, plan
from benchmarks.quality.table import render

ROOT = Path(__file__).parents[2]
N_SPLITS = 6
SCRIPT = """
import os
import signal
import sys
import time

import numpy as np

from benchmarks.problems import problem
from benchmarks.quality.__main__ import main
from benchmarks.quality.protocol import Contender, Metric, protocol


@problem("toy-rows")
def toy_rows():
    rows = np.arange(40.0)
    return "regression", np.column_stack([rows, rows % 3]), rows / 40


class Slow:
    def __init__(self, name, seed):
        self.name, self.seed = name, seed

    def fit(self, X, y):
        with open(os.environ["STARTED"], "a") as file:
            file.write(f"{self.name} {self.seed}\\n")
        time.sleep(0.02)
        while self.name == os.environ.get("SPINS"):
            pass
        if self.name == "raises":
            raise ValueError("cannot | do it\\nat all")
        if self.name == "dies" and self.seed == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        print("chatter")
        return self

    def predict(self, X):
        return X[:, 0] / 40 + np.random.default_rng(self.seed).normal(size=len(X))


def make(problem, seed, *, name):
    return Slow(name, seed)


@protocol(
    "toy-resume",
    problem="toy-rows",
    n_splits=6,
    metrics=(Metric("mae", "error", lambda y, p, t: np.abs(y - p).mean(), False),),
    contenders=[
        Contender(name, make, {"name": name})
        for name in ("works", "raises", "dies", "also-works")
    ],
    baseline="works",
)
def toy_resume(problem, number):
    '''A toy.'''
    rows = np.random.default_rng(number).permutation(len(problem.y))
    return rows[:30], rows[30:]


if __name__ == "__main__":
    sys.exit(main())
"""


@pytest.fixture
def toy(tmp_path):
    """The script's path, its results' folder, and how to run it."""
    script = tmp_path / "toy.py"
    script.write_text(SCRIPT)
    started = tmp_path / "started"
    started.touch()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "STARTED": str(started)}

    def start(results, *options, **variables):
        return subprocess.Popen(
            [sys.executable, script, "toy-resume", "--results", results, *options],
            env=environment | variables,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start, started


def declare(folder):
    """Make the protocol known to this process too."""
    if "toy-resume" not in PROTOCOLS:
        runpy.run_path(str(folder / "toy.py"), run_name="toy")


def table(results):
    """The table as it is now, without times."""
    declare(results.parent)
    runs = plan(PROTOCOLS["toy-resume"], N_SPLITS)
    done = finished(read_records(results / "toy-resume.jsonl"))
    return render(PROTOCOLS["toy-resume"], runs, done, times=False)


@pytest.mark.slow
def test_killed_runs_resume(toy, tmp_path):
    start, started = toy
    rng = random.Random(0)
    killed = tmp_path / "killed"
    records = killed / "toy-resume.jsonl"
    n_kills = 0
    for _ in range(3):
        before = read_records(records)
        n_started = len(started.read_text().splitlines())
        process = start(killed)
        deadline = time.monotonic() + 60
        while len(read_records(records)) == len(before) and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)  # its workers end too, or this would hang
        n_kills += process.returncode == -signal.SIGKILL
        # what was finished before was not begun again
        begun = set(started.read_text().splitlines()[n_started:])
        assert begun.isdisjoint(f"{r['contender']} {r['split']}" for r in before)
    last = start(killed)
    assert "kind | splits" in last.communicate(timeout=60)[0]
    assert last.returncode == 0
    assert n_kills > 0

    keys = Counter(record["key"] for record in read_records(records))
    assert len(keys) == 4 * N_SPLITS
    assert set(keys.values()) == {1}
    whole = tmp_path / "whole"
    start(whole, "--jobs", "2").communicate(timeout=60)
    assert table(killed) == table(whole)

    # a second call has nothing to do
    n_started = len(started.read_text().splitlines())
    printed, _ = start(whole).communicate(timeout=60)
    assert f"0 runs to do, {4 * N_SPLITS} done before" in printed
    assert len(started.read_text().splitlines()) == n_started


@pytest.mark.slow
def test_failures_are_recorded_and_redone_on_request(toy, tmp_path):
    start, started = toy
    results = tmp_path / "results"
    printed, _ = start(results, "--limit", "2").communicate(timeout=60)
    assert "chatter\n|" not in printed
    text = (results / "toy-resume.md").read_text()
    assert text in printed
    assert "- raises: 2 runs failed, ValueError: cannot | do it" in text
    assert "- dies: 1 runs failed, The process died (SIGKILL)." in text
    assert "| works | peer | 2 |" in text
    started.write_text("")
    start(results, "--limit", "2", "--again", "raises").communicate(timeout=60)
    assert started.read_text().splitlines() == ["raises 0", "raises 1"]
    start(results, "--limit", "3", "--only", "*works").communicate(timeout=60)
    assert started.read_text().splitlines()[2:] == ["works 2", "also-works 2"]


@pytest.mark.slow
def test_a_run_may_have_a_limit_of_processor_time(toy, tmp_path):
    start, started = toy
    options = ["--limit", "2", "--only", "works", "--only", "also-*", "--seconds", "1"]
    start(tmp_path, *options, SPINS="works").communicate(timeout=60)
    assert len(started.read_text().splitlines()) == 4
    records = read_records(tmp_path / "toy-resume.jsonl")
    failed = "No result within 1 s of processor time."
    assert [(r["contender"], r["error"]) for r in records] == [
        ("works", failed),
        ("also-works", None),
    ] * 2
    assert all(r["processor_seconds"] < 1 for r in records if r["error"] is None)


def test_an_unknown_contender_is_one_line(toy, tmp_path, capsys):
    declare(tmp_path)
    assert main(["toy-resume", "--results", str(tmp_path), "--only", "nobody"]) == 2
    assert capsys.readouterr().err == (
        "toy-resume has no contender 'nobody'. "
        "Known: works, raises, dies, also-works.\n"
    )
