"""Memory stays flat over many fits and predictions of every estimator."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from tests.endurance import memory
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


@needs_glibc
def test_a_leak_is_noticed():
    kept = []
    assert memory.growth(lambda: kept.append(bytearray(1000)), 40) > 900
    assert memory.growth(lambda: bytearray(1000), 40) < 100


@pytest.mark.slow
@needs_glibc
def test_memory_is_flat():
    """ENDURANCE_FITS fits and ENDURANCE_PREDICTIONS predictions of each."""
    counted = {"PYTHONMALLOC": "malloc", "MALLOC_ARENA_MAX": "1"}
    output = subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.endurance.memory",
            str(N_FITS),
            str(N_PREDICTIONS),
        ],
        cwd=Path(__file__).parents[2],
        env=os.environ | counted,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout
    lines = [json.loads(line) for line in output.splitlines()]
    assert [name for name, *_ in lines] == [type(e).__name__ for e in ESTIMATORS]
    leaks = [
        line
        for line in lines
        if line[1] > MOST + FILLS / N_FITS or line[2] > MOST + FILLS / N_PREDICTIONS
    ]
    assert not leaks, f"bytes by fit and by prediction: {leaks}"
