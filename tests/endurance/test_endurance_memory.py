"""Memory stays flat over many fits and predictions of every estimator."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.registry import ESTIMATORS

N_FITS = int(os.environ.get("ENDURANCE_FITS", 8))
N_PREDICTIONS = int(os.environ.get("ENDURANCE_PREDICTIONS", 40))
# Bytes that a call may leave behind, and what fills once, such as caches: of NumPy, of
# regular expressions. With few calls a leak must be as large as the rows to be seen.
MOST, FILLS = 256, 65_536

needs_glibc = pytest.mark.skipif(
    sys.platform != "linux"
    or platform.libc_ver()[0] != "glibc"
    or tuple(map(int, platform.libc_ver()[1].split("."))) < (2, 33),
    reason="counts the bytes in use by a function of glibc",
)


LEAKS = """
from tests.endurance.memory import growth
kept = []
print(growth(lambda: kept.append(bytearray(1000)), 4000))
print(growth(lambda: bytearray(1000), 4000))
"""


def _counted(*call):
    """What a process says in which all memory is that of the C library."""
    return subprocess.run(
        [sys.executable, *call],
        cwd=Path(__file__).parents[2],
        env=os.environ | {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"},
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout.splitlines()


@needs_glibc
def test_a_leak_is_noticed():
    leak, none = map(float, _counted("-c", LEAKS))
    assert leak > 900
    assert none < 100


@pytest.mark.slow
@needs_glibc
def test_memory_is_flat():
    """ENDURANCE_FITS fits and ENDURANCE_PREDICTIONS predictions of each."""
    counts = str(N_FITS), str(N_PREDICTIONS)
    lines = list(map(json.loads, _counted("-m", "tests.endurance.memory", *counts)))
    assert [name for name, *_ in lines] == [type(e).__name__ for e in ESTIMATORS]
    leaks = [
        line
        for line in lines
        if line[1] > MOST + FILLS / N_FITS or line[2] > MOST + FILLS / N_PREDICTIONS
    ]
    assert not leaks, f"bytes by fit and by prediction: {leaks}"
