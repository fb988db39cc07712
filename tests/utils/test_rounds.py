"""Seeds, weights and callbacks of the rounds of a fit."""

import numpy as np
import pytest
from sklearn.ensemble import BaggingClassifier
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from kinlearn.utils import check_takes_weights, clone_for_round


def seeds(model):
    return {k: v for k, v in model.get_params().items() if k.endswith("random_state")}


def test_every_random_part_gets_a_seed_of_its_own():
    forest = BaggingClassifier(DecisionTreeClassifier(max_depth=2))
    rng = np.random.RandomState(0)
    first, second = clone_for_round(forest, rng), clone_for_round(forest, rng)
    found = [*seeds(first).values(), *seeds(second).values()]
    assert sorted(seeds(first)) == ["estimator__random_state", "random_state"]
    assert len(set(found)) == 4
    assert seeds(forest) == {"estimator__random_state": None, "random_state": None}
    again = clone_for_round(forest, np.random.RandomState(0))
    assert seeds(again) == seeds(first)


def test_without_random_parts_no_seed_is_drawn():
    rng = np.random.RandomState(0)
    clone_for_round(KNeighborsClassifier(), rng)
    assert rng.randint(1000) == np.random.RandomState(0).randint(1000)


def test_an_estimator_without_weights_is_named():
    check_takes_weights(Ridge())
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        check_takes_weights(KNeighborsClassifier())
