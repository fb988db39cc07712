"""Many threads predict with models that they share, while others fit."""

import os
import sys
import threading
import time
from itertools import cycle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone

from tests.endurance.problems import problem_of
from tests.registry import ESTIMATORS

SECONDS = float(os.environ.get("ENDURANCE_SECONDS", 15))
N_PREDICTING, N_FITTING = 8, 2
# A search over many models takes a second for a fit: it would be all that is fitted.
QUICK = [
    e
    for e in ESTIMATORS
    if hasattr(e, "predict")
    and type(e).__name__ not in {"KinClassifier", "KinRegressor"}
]


@pytest.fixture
def restless():
    """Threads change places a hundred times as often as usual."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(usual / 100)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # whose filters belong to all threads at once
def test_predictions_and_fits_side_by_side_are_those_of_one_thread(restless):
    """For ENDURANCE_SECONDS, and until every model has had its turn."""
    problems = [problem_of(estimator) for estimator in QUICK]
    expected = []
    for model, X, y in problems:
        predicted = model.fit(X, y).predict(X)
        assert_array_equal(model.predict(X), predicted)
        expected.append(predicted)
    end = time.monotonic() + SECONDS
    n_done, errors = np.zeros((2, len(problems)), dtype=int), []
    lock = threading.Lock()

    def work(start, is_fitting):
        order = cycle(np.roll(np.arange(len(problems)), -start).tolist())
        for i in order:
            late = time.monotonic() > end
            if errors or (late and (is_fitting or n_done[0].all())):
                return
            model, X, y = problems[i]
            try:
                one = clone(model).fit(X, y) if is_fitting else model
                assert_array_equal(one.predict(X), expected[i])
            except Exception as error:  # noqa: BLE001 - told below, by the main thread
                errors.append((type(model).__name__, is_fitting, error))
            with lock:
                n_done[int(is_fitting), i] += 1

    threads = [
        threading.Thread(target=work, args=(5 * i, i >= N_PREDICTING))
        for i in range(N_PREDICTING + N_FITTING)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors, errors[:3]
    assert n_done[0].all()
    assert n_done[1].sum() >= N_FITTING
