"""What the page "What you can rely on" promises, and that each promise has its test."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from tests.endurance.problems import problem_of
from tests.registry import ESTIMATORS

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "start" / "rely-on.md").read_text(encoding="utf-8")
_PREDICTING = [
    e
    for e in ESTIMATORS
    if hasattr(e, "predict") and not type(e).__name__.startswith("Kin")
]
_FORK = """
import os, sys
import numpy as np
from kinlearn.boosting import MultiTaskGradientBoostingClassifier
from kinlearn.trees import MultiTaskExtraTreesClassifier

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 5))
X[:, -1] = rng.integers(0, 4, len(X))
y = X[:, 0] > 0
for kind in (MultiTaskExtraTreesClassifier, MultiTaskGradientBoostingClassifier):
    model = kind(n_estimators=20, task=-1, n_jobs=2, random_state=0).fit(X, y)
    expected = model.predict_proba(X)
    pid = os.fork()
    if not pid:
        same = np.array_equal(model.predict_proba(X), expected)
        again = model.fit(X, y).predict_proba(X)
        os._exit(0 if same and np.array_equal(again, expected) else 3)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status:
        sys.exit(f"{kind.__name__}: {status}")
"""


def _promises():
    """Sentences of the lists, each with the tests that it names."""
    for item in re.findall(r"^- (.*?)(?=^- |^$)", PAGE, re.MULTILINE | re.DOTALL):
        words, _, comment = item.partition("<!--")
        yield " ".join(words.split()), re.findall(r"tests/\S+::\w+", comment)


def test_every_promise_names_a_test_that_exists():
    promises = list(_promises())
    assert len(promises) == PAGE.count("\n- ") > 20
    for words, tests in promises:
        assert tests, f"no test holds: {words}"
        for test in tests:
            path, _, function = test.partition("::")
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            names = {n.name for n in tree.body if isinstance(n, ast.FunctionDef)}
            assert function in names, f"{test}, which is to hold: {words}"


def test_the_page_can_be_found():
    for name in ("start/index.md", "models/saving.md"):
        assert "rely-on" in (ROOT / "docs" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("estimator", _PREDICTING, ids=lambda e: type(e).__name__)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_second_fit_is_the_same_whatever_the_global_generator(estimator):
    model, X, y = problem_of(estimator)
    found = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002 - it is what this is about
        before = np.random.get_state()[1].tolist()  # noqa: NPY002
        found.append(model.fit(X, y).predict(X))
        assert np.random.get_state()[1].tolist() == before  # noqa: NPY002
    assert_array_equal(*found)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="forks processes")
def test_a_forked_process_predicts_and_fits():
    subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _FORK], check=True, timeout=300
    )
