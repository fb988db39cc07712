"""Work in a fresh interpreter, with its threads pinned.

BLAS and OpenMP read their number of threads when they are first imported, so
the variables must stand before the interpreter starts. A process of its own
also keeps one run's memory, warnings and crashes away from the next.
"""

import multiprocessing
import os
import signal
import threading
import traceback
from contextlib import contextmanager, suppress
from dataclasses import dataclass

__all__ = ["THREAD_VARIABLES", "Failure", "Worker"]

THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "POLARS_MAX_THREADS",
)


@dataclass(frozen=True)
class Failure:
    """What a call ended with instead of a result."""

    error: str
    details: str = ""


class Worker:
    """One fresh interpreter that carries out calls, one at a time.

    Parameters
    ----------
    threads : int, default=1
        Threads that BLAS and OpenMP may use in it.
    """

    def __init__(self, threads=1):
        # Spawned, not forked: nothing that is imported here comes along.
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,))
        with _pinned(threads):
            self._process.start()
        theirs.close()

    def send(self, function, *args):
        """Start a call; `function` is found by its name in the worker."""
        with suppress(BrokenPipeError):  # it died: receive reports it
            self.connection.send((function, args))

    def receive(self):
        """Wait for the result of the call: what it returned, or a `Failure`."""
        try:
            return self.connection.recv()
        except (EOFError, ConnectionResetError):
            self._process.join()
            code = self._process.exitcode
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            return Failure(f"The process died ({how}).")

    def call(self, function, *args):
        """Send and receive."""
        self.send(function, *args)
        return self.receive()

    @property
    def alive(self):
        """Whether it can take another call."""
        return self._process.is_alive()

    def close(self):
        """End the process, whatever it is doing."""
        self.connection.close()
        self._process.kill()
        self._process.join()

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()


@contextmanager
def _pinned(threads):
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(threads)))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _serve(connection):
    # Ctrl-C is the parent's to handle; it ends this process by a kill.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_die_with_parent, daemon=True).start()
    # Peers that chat must not write between the rows of the parent's tables.
    os.dup2(2, 1)
    while True:
        try:
            function, args = connection.recv()
        except EOFError:
            return
        connection.send(_result_of(function, args))


def _result_of(function, args):
    try:
        return function(*args)
    except Exception as error:  # noqa: BLE001 - whatever it was, it is reported
        first_line = (str(error).splitlines() or [""])[0]
        return Failure(f"{type(error).__name__}: {first_line}", traceback.format_exc())


def _die_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)
