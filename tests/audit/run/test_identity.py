"""Equal estimators are described alike in every process, others are not."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn.audit.run._cells import describe, versions
from kinlearn.sharing import PerTask


def _pipeline(C=1.0):
    return make_pipeline(StandardScaler(), PerTask(LogisticRegression(C=C), task="t"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (_pipeline(), _pipeline(2.0)),
        (ExtraTreesClassifier(10), ExtraTreesClassifier(11)),
        (np.arange(3), np.arange(4)),
        (np.arange(3), np.arange(3.0)),
        (np.random.RandomState(0), np.random.RandomState(1)),
        ([1, "a", None], [1, "a", False]),
        ({"a": 1}, {"a": 2}),
        (float("nan"), float("inf")),
        (f1_score, np.mean),
    ],
)
def test_what_differs_is_described_differently(one, other):
    assert describe(one) != describe(other)
    json.dumps(describe(one), allow_nan=False)


def test_equal_things_are_described_alike():
    assert describe(_pipeline()) == describe(_pipeline())
    assert describe(np.float64(0.5)) == 0.5
    assert describe(object()) == describe(object())


def test_the_description_is_the_same_in_another_process():
    code = (
        "import json; from tests.audit.run.test_identity import _pipeline, describe;"
        "print(json.dumps(describe(_pipeline())))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == describe(_pipeline())


def test_versions_are_those_that_scores_depend_on():
    assert {"kinlearn", "numpy", "scikit-learn"} <= set(versions())


def test_partials_differ_by_their_settings():
    one, other = partial(f1_score, average="micro"), partial(f1_score, average="macro")
    assert describe(one) != describe(other)
