"""Models of no round are saved and loaded as others are."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.boosting import MTBoostClassifier, MTBoostRegressor
from kinlearn.tasks import with_task

RNG = np.random.default_rng(0)
X = with_task(RNG.normal(size=(60, 3)), np.arange(60) % 3)


@pytest.mark.parametrize("kind", [MTBoostClassifier, MTBoostRegressor])
def test_models_without_a_round_come_back(kind):
    model = kind(task=-1, n_estimators=3).fit(X, np.zeros(60, dtype=int))
    assert model.hypotheses_ is None
    back = pickle.loads(pickle.dumps(model))
    assert_array_equal(back.predict(X), model.predict(X))
