"""Cases in child processes, which may crash, hang or take all memory."""

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from select import select
from typing import Any, Self

__all__ = ["Child"]

_ROOT = Path(__file__).parents[2]
_PATIENCE = 60  # seconds of the clock without any processor time: a process that sleeps
_FRAME = re.compile(r'^  File "(.*)", line \d+ in (\w+)', re.MULTILINE)
# of a sanitizer's trace: the function, and the library that it is in
_NATIVE = re.compile(
    r"^ +#\d+ 0x\w+ in (__pyx_\w+) .*?([^/]*\.(?:pyx?|c|h)):", re.MULTILINE
)


class Child:
    """One process, begun again whenever a case ended it.

    Parameters
    ----------
    seconds : float
        Of processor time that a case may take.
    environment : dict, optional
        Variables besides those of this process.
    """

    def __init__(
        self, seconds: float = 20, environment: dict[str, str] | None = None
    ) -> None:
        self.seconds = seconds
        self.environment = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
            "PYTHONPATH": os.pathsep.join(
                filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")])
            ),
            "KINLEARN_FUZZ_SECONDS": str(seconds),
            **(environment or {}),
        }
        self.process: subprocess.Popen | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def run(self, case: dict[str, Any]) -> dict[str, str] | None:
        """What is wrong with a case, or None."""
        process = self._running()
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        used = -1.0
        while not select([process.stdout], [], [], _PATIENCE)[0]:
            before, used = used, _processor_time(process.pid)
            if used == before:  # not busy, not even a little
                words = self._last_words()
                self.stop()
                return {"kind": "hang", "place": "asleep", "words": words}
        line = process.stdout.readline()
        if line:
            return json.loads(line)
        status = process.wait()
        words = self._last_words()
        self.stop()
        kind = "hang" if status == -signal.SIGXCPU else "crash"
        how = signal.Signals(-status).name if status < 0 else f"exit {status}"
        return {"kind": kind, "place": _place(words), "words": f"{how}\n{words}"}

    def _running(self) -> subprocess.Popen:
        if self.process is None or self.process.poll() is not None:
            self.stop()
            self.errors = tempfile.TemporaryFile(  # noqa: SIM115 - as the process
                "w+", encoding="utf-8", errors="replace"
            )
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.fuzz.worker"],
                cwd=tempfile.gettempdir(),
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self.errors,
                text=True,
                encoding="utf-8",
            )
            if self.process.stdout.readline() != "ready\n":
                raise RuntimeError(f"A worker does not begin:\n{self._last_words()}")
        self.errors.truncate(0)
        self.errors.seek(0)
        return self.process

    def _last_words(self) -> str:
        self.errors.seek(0)
        lines = self.errors.read().splitlines()
        return "\n".join(lines[:60])

    def stop(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.errors.close()
            self.process = None


def _processor_time(pid: int) -> float:
    """Seconds that a process has used, all of its threads."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="ascii")
    except FileNotFoundError:
        return 0.0
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _place(words: str) -> str:
    """The innermost function of ours that a traceback names."""
    if found := _NATIVE.search(words):
        return f"{found[2]}: {found[1]}"
    frames = _FRAME.findall(words)
    ours = [f for f in frames if "/kinlearn/" in f[0]] or frames
    if not ours:
        return "unknown"
    path, function = ours[0]
    _, mark, rest = path.rpartition("/site-packages/")
    return f"{rest if mark else Path(path).name}: {function}"
