"""Fresh interpreters: pinned threads, errors and deaths that are reported."""

import os
import signal
import sys

from benchmarks.workers import THREAD_VARIABLES, Failure, Worker


def test_threads_are_pinned_in_the_worker_alone(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setenv("MKL_NUM_THREADS", "7")
    with Worker(threads=2) as worker:
        found = {name: worker.call(os.getenv, name) for name in THREAD_VARIABLES}
        assert worker.call(os.getpid) != os.getpid()
    assert found == dict.fromkeys(THREAD_VARIABLES, "2")
    assert "OMP_NUM_THREADS" not in os.environ
    assert os.environ["MKL_NUM_THREADS"] == "7"


def test_errors_and_deaths_are_answers():
    with Worker() as worker:
        answer = worker.call(int, "x")
        assert isinstance(answer, Failure)
        assert answer.error.startswith("ValueError: invalid literal for int()")
        assert "Traceback" in answer.details
        assert worker.call(len, "abc") == 3
        answer = worker.call(signal.raise_signal, signal.SIGKILL)
        assert answer == Failure("The process died (SIGKILL).")
        assert not worker.alive
        assert worker.call(len, "abc") == answer
    with Worker() as worker:
        assert worker.call(sys.exit, 3) == Failure("The process died (exit code 3).")
