"""Importing kinlearn is light, and needs nothing of the extras.

Every check runs in a fresh process: this one has imported everything already.
"""

import subprocess
import sys
import time

import pytest

# What only some users have. Blocking hypothesis and pytest keeps kinlearn.testing
# usable by projects that test in another way.
OPTIONAL = [
    "altair",
    "dask",
    "distributed",
    "hypothesis",
    "imblearn",
    "matplotlib",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "pytest",
    "rich",
    "skops",
    "typer",
]
HEAVY = [*OPTIONAL, "joblib", "narwhals", "numpy", "scipy", "sklearn"]

BLOCK_OPTIONAL = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {OPTIONAL!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


def _run(code: str) -> str:
    # -P: the current folder must not shadow the installed package.
    done = subprocess.run(
        [sys.executable, "-P", "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_import_loads_nothing_heavy():
    loaded = _run("import sys, kinlearn; print(*sorted(sys.modules))").split()
    assert sorted(set(loaded) & set(HEAVY)) == []


def test_every_module_imports_and_tasks_work_without_the_extras():
    # That nothing imports them where they are installed is for test_layers.py to
    # say: scikit-learn itself loads pandas and rich where it finds them.
    code = f"""{BLOCK_OPTIONAL}
import pkgutil
from importlib import import_module
import kinlearn

for found in pkgutil.walk_packages(kinlearn.__path__, "kinlearn."):
    if found.name.split(".")[1] not in {{"cli", "dask"}}:
        import_module(found.name)

import numpy as np
from kinlearn import keep_task, with_task
from sklearn.preprocessing import StandardScaler

X = with_task(np.array([[1.0], [3.0], [5.0]]), [7, 7, 9])
print(*keep_task(StandardScaler(), task=-1).fit_transform(X)[:, -1])
"""
    assert _run(code).split() == ["7.0", "7.0", "9.0"]


@pytest.mark.slow
def test_import_is_as_quick_as_that_of_scikit_learn():
    commands = {
        name: [sys.executable, "-P", "-c", code]
        for name, code in [
            ("python", "pass"),
            ("sklearn", "import sklearn"),
            ("kinlearn", "import kinlearn"),
        ]
    }
    best = dict.fromkeys(commands, float("inf"))
    # Interleaved, so that a busy moment of the machine hits all alike; the best
    # of several is the run that was disturbed least.
    for _ in range(5):
        for name, command in commands.items():
            start = time.perf_counter()
            subprocess.run(command, check=True)
            best[name] = min(best[name], time.perf_counter() - start)
    ours = best["kinlearn"] - best["python"]
    theirs = best["sklearn"] - best["python"]
    assert ours <= 1.1 * theirs
