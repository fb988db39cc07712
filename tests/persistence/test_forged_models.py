"""Numbers that no fit leaves behind are refused before compiled code follows them."""

import dataclasses
import pickle
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

import kinlearn
from kinlearn.sharing import Pooled
from kinlearn.tasks import with_task
from kinlearn.testing._problems import make_problem
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
)
from kinlearn.utils._loading import checked_together
from tests.registry import ESTIMATORS

NAMES = [type(estimator).__name__ for estimator in ESTIMATORS]
# whose predictions are compiled
COMPILED = [
    "AbstainingAdaBoostClassifier",
    "MultiTaskDecisionTreeClassifier",
    "MultiTaskExtraTreesClassifier",
    "MultiTaskGradientBoostingClassifier",
    "TrAdaBoostClassifier",
]
ROOT = Path(__file__).parents[2]


def _forge(way, share, places, wrong=("BAD LOAD",)):
    """How many cases ended how; a process that dies is an error with its last case."""
    call = [sys.executable, "-m", "tests.forging", way, str(share)]
    call.append(",".join(map(str, places)))
    done = subprocess.run(call, capture_output=True, text=True, cwd=ROOT, check=False)
    lines = done.stdout.splitlines()
    assert done.returncode == 0, f"{lines[-1:]} ended it: {done.stderr[-500:]}"
    outcomes = [line.split("\t") for line in lines]
    bad = [one for one in outcomes if one[2].startswith(wrong)]
    assert not bad, bad[:5]
    for *_, text in outcomes:
        assert not text.startswith("refused") or "ave the model again" in text.replace(
            "save it again", "Save the model again"
        )
    return Counter(text.split()[0] for *_, text in outcomes)


@pytest.mark.parametrize("way", ["pickle", "skops"])
def test_forged_arrays_of_compiled_models_never_crash(way):
    numbers = [NAMES.index(name) for name in COMPILED]
    found = _forge(way, 0.03, numbers, wrong=("BAD LOAD", "NAN"))
    assert found["refused"] > 20


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(ESTIMATORS)), ids=NAMES)
def test_forged_arrays_of_every_estimator_never_crash(number):
    if hasattr(ESTIMATORS[number], "fit_resample"):
        pytest.skip("it predicts nothing")
    # coefficients that are NaN may give NaN: who forges numbers decides predictions
    assert sum(_forge("skops", 0.15, [number]).values()) > 3


@pytest.fixture
def problem():
    X, y, task = make_problem(MultiTaskDecisionTreeClassifier())
    return with_task(X, task), y


def test_pickles_are_checked_as_files_are(problem):
    model = MultiTaskDecisionTreeClassifier(task=-1).fit(*problem)
    model.tree_.steps["left"][0] = 10**6
    with pytest.raises(ValueError, match=r"left does not hang.*DecisionTree.*save it"):
        pickle.loads(pickle.dumps(model))


def test_trees_of_scikit_learn_are_checked_in_files(problem, tmp_path):
    X, y = problem
    model = Pooled(DecisionTreeRegressor(), task=-1).fit(X, y.astype(float))
    tree = model.estimator_.tree_
    kinlearn.save(model, tmp_path / "good.skops")
    kinlearn.load(tmp_path / "good.skops")
    tree.feature[0] = 1000
    kinlearn.save(model, tmp_path / "bad.skops")
    with pytest.raises(ValueError, match=r"bad.skops.*a tree in it does not hang"):
        kinlearn.load(tmp_path / "bad.skops")


def test_checks_wait_until_a_file_is_whole(problem):
    model = MultiTaskExtraTreesRegressor(3, task=-1, random_state=0)
    model.fit(problem[0], problem[1].astype(float))
    content = pickle.dumps(model)
    model.forest_.nodes["feature"][0] = 50
    forged = pickle.dumps(model)
    loaded = []

    def load_both():
        with checked_together():
            loaded.extend(map(pickle.loads, (forged, content)))

    with pytest.raises(ValueError, match="feature has numbers"):
        load_both()
    assert len(loaded) == 2  # the block ended before the error


@pytest.mark.slow
def test_checks_cost_a_fraction_of_loading(problem, tmp_path, monkeypatch):
    X = np.tile(problem[0], (40, 1))
    y = np.random.default_rng(0).normal(size=len(X))
    path = tmp_path / "model.skops"
    kinlearn.save(
        MultiTaskExtraTreesRegressor(60, task=-1, random_state=0).fit(X, y), path
    )

    def seconds():
        start = time.process_time()
        kinlearn.load(path)
        return time.process_time() - start

    spent = []
    check = MultiTaskExtraTreesRegressor._check_loaded

    def timed(model):
        start = time.process_time()
        check(model)
        spent.append(time.process_time() - start)

    monkeypatch.setattr(MultiTaskExtraTreesRegressor, "_check_loaded", timed)
    whole = min(seconds() for _ in range(5))
    assert min(spent) < 0.2 * whole  # a tenth, of half a millisecond


def test_models_that_are_not_fitted_go_through():
    for estimator in (*ESTIMATORS, Ridge()):
        again = pickle.loads(pickle.dumps(estimator))
        assert type(again) is type(estimator)


FORGED_DECISIONS = {
    "weights of text": lambda t: {"decision_weight": t.decision_weight.astype(str)},
    "weights of nothing": lambda t: {"decision_weight": t.decision_weight * np.nan},
    "negative weights": lambda t: {"decision_weight": -t.decision_weight},
    "negative rows": lambda t: {"decision_rows": -t.decision_rows},
    "rows of text": lambda t: {"decision_rows": t.decision_rows.astype(str)},
    "no values": lambda t: {
        "value_indptr": np.zeros_like(t.value_indptr),
        "value_label": t.value_label[:0],
        "value_share": t.value_share[:0],
    },
}


@pytest.mark.parametrize("which", ["_trees", "_grown"])
@pytest.mark.parametrize("name", FORGED_DECISIONS)
def test_decisions_that_no_growth_leaves_are_refused(problem, which, name):
    forest = MultiTaskRandomForestClassifier(2, task=-1, shrinkage=1.0, random_state=0)
    trees = list(getattr(forest.fit(*problem), which))
    trees[1] = dataclasses.replace(trees[1], **FORGED_DECISIONS[name](trees[1]))
    setattr(forest, which, trees)
    with pytest.raises(ValueError, match=r"save it again"):
        pickle.loads(pickle.dumps(forest))


@pytest.mark.parametrize("grown", [[], 5, ["a"], ()])
def test_there_is_a_grown_tree_for_each(problem, grown):
    model = MultiTaskDecisionTreeClassifier(task=-1, shrinkage=1.0).fit(*problem)
    model._grown = grown
    with pytest.raises(ValueError, match=r"save it again"):
        pickle.loads(pickle.dumps(model))
