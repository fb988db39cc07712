"""A run that is killed goes on where it was."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.audit.run.kill_and_resume import compare_slowly, stable, stored

pytestmark = [
    pytest.mark.slow,
    # the known models are told the target by a column
    pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SuspectColumnWarning"),
]
ROOT = Path(__file__).parents[3]
# all 30 of them: KINLEARN_KILLS=30
KILLS = int(os.environ.get("KINLEARN_KILLS", "8"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_at_random_moments_cost_nothing_that_was_finished(tmp_path):
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.audit.run.kill_and_resume",
            tmp_path,
            str(KILLS),
            "0",
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["kills"] >= KILLS
    # the kills came at different stages of the work
    assert len(set(report["places"])) > 2


WITH_WORKERS = """
import signal
import sys
from tests.audit.run.kill_and_resume import compare_slowly

signal.signal(signal.SIGINT, signal.default_int_handler)
compare_slowly(sys.argv[1], 2, lambda done, total, label: print(done, flush=True))
"""


def _interrupt(store, number):
    """Start a run with two workers, and send a signal to all after four fits."""
    with subprocess.Popen(
        [sys.executable, "-c", WITH_WORKERS, str(store)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    ) as run:
        for line in run.stdout:
            if int(line) >= 4:
                os.killpg(run.pid, number)  # as a terminal does
                break
        run.stdout.read()
    return run.returncode


def test_a_killed_run_with_workers_is_finished_by_one_without(tmp_path):
    store = tmp_path / "s.sqlite"
    assert _interrupt(store, signal.SIGKILL) == -signal.SIGKILL
    calls = []
    resumed = compare_slowly(store, 1, lambda *call: calls.append(call))
    assert calls[0][0] >= 4
    assert "found in the store" in calls[0][2]
    assert stable(resumed) == stable(compare_slowly(None, 1))


def test_ctrl_c_with_workers_ends_the_run_and_keeps_what_is_done(tmp_path):
    store = tmp_path / "s.sqlite"
    assert _interrupt(store, signal.SIGINT) != 0
    assert 4 <= len(stored(store)) < 11
