"""A file of JSON lines that survives a kill at any moment.

A record is one line, written by one call and forced to the disk before the
writer goes on. What a kill can leave behind is therefore at most one line
without its end; opening the file drops it, and the run that it stood for
counts as not done.
"""

import contextlib
import fcntl
import json
import os
from pathlib import Path

from benchmarks.registry import BenchmarkError

__all__ = ["JsonLines", "read_records"]


def _parse(content):
    """Records of the whole lines in `content`, and the bytes they take."""
    whole = content.rfind(b"\n") + 1
    records = []
    for line in content[:whole].splitlines():
        # A disk that lost power may hold a line of zeros: that run is not done.
        with contextlib.suppress(ValueError):
            records.append(json.loads(line))
    return records, whole


def read_records(path):
    """Records of a file that somebody may still be writing; none if it is absent."""
    try:
        return _parse(Path(path).read_bytes())[0]
    except FileNotFoundError:
        return []


class JsonLines:
    """One writer's hold on a file of records.

    Parameters
    ----------
    path : path-like
        The file; it is made, with its folder, if it is absent.

    Attributes
    ----------
    records : list of dict
        What the file held when it was opened.
    dropped_bytes : int
        Length of the half-written last line that was cut off, mostly 0.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            # The lock ends with the process, however the process ends.
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._file)
            raise BenchmarkError(
                f"Another run is writing to {self.path}; wait for it, or stop it."
            ) from None
        content = self.path.read_bytes()
        self.records, whole = _parse(content)
        self.dropped_bytes = len(content) - whole
        if self.dropped_bytes:
            os.ftruncate(self._file, whole)

    def append(self, record):
        """Write one record; when this returns, it is on the disk."""
        line = json.dumps(record, sort_keys=True, allow_nan=False).encode() + b"\n"
        written = os.write(self._file, line)
        if written != len(line):
            raise OSError(f"Only {written} of {len(line)} bytes went to {self.path}.")
        os.fsync(self._file)
        self.records.append(record)

    def close(self):
        """Let go of the file."""
        os.close(self._file)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.close()
