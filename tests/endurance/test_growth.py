"""Ten thousand tasks end, in a time that somebody waits for."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.endurance.growth import WITH_TASKS

resource = pytest.importorskip("resource")
SECONDS = 60  # of processor time; machines with privileged groups take a third of it


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", range(len(WITH_TASKS)), ids=[type(e).__name__ for e in WITH_TASKS]
)
def test_ten_thousand_tasks_end(place):
    code = f"from tests.endurance.growth import main; main([{place}], [10_000])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-500:] or f"more than {SECONDS} s"
    assert done.stdout.startswith('["')
