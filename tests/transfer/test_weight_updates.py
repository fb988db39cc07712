import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from kinlearn.transfer._weight_updates import (
    CORRECTIONS,
    RoundErrors,
    balanced_correction,
    dynamic_correction,
    find_correction,
    fixed_correction,
    learner_vote,
    rare_correction,
    source_factor,
    target_factor,
)
from tests.reference import tradaboost as reference

# 8 source rows of weight 1, five of label 0 (one wrong) and three of label 1
# (two wrong); a target error of 1/10; beta 1/2. All by hand.
ERRORS = RoundErrors(0.1, np.array([1 / 8, 2 / 8]), np.array([1 / 5, 2 / 3]), 0.5)


@pytest.mark.parametrize(
    ("rule", "factors"),
    [
        (fixed_correction, [1, 1]),
        (find_correction(None), [1, 1]),
        (find_correction(1.3), [1.3, 1.3]),
        (dynamic_correction, [1.8, 1.8]),  # 2 (1 - 1/10)
        (find_correction("rare_printed"), [7 / 8, 6 / 8]),
        # label 0 has the less wrong weight, and keeps its fraction
        (rare_correction, [1.8 / 0.9, 1.8 / 0.9 * 6 / 7]),
        (find_correction("dynamic_printed"), [2 * 5 / 8] * 2),
        (find_correction(lambda errors: 1 + errors.within), [6 / 5, 5 / 3]),
        (find_correction(lambda errors: 1 + errors.target), [1.1, 1.1]),
        (balanced_correction, [1.8 / 0.9, 1.8 / (2 / 3)]),  # 1 - 1/5 / 2, 1 - 2/3 / 2
    ],
)
def test_corrections_by_hand(rule, factors):
    assert_allclose(rule(ERRORS), factors)


@pytest.mark.parametrize("error", [0.0, 1e-13, 1e-11, 1e-9, 0.1, 0.4])
def test_dynamic_follows_the_target_at_any_error(error):
    """Theorem 4: the factor is by how much the target grows as a whole."""
    target = np.array([1 - error, error])  # weight of right and of wrong rows
    grown = target * [1, target_factor(error)]
    found = dynamic_correction(RoundErrors(error, np.zeros(2), np.zeros(2), 0.5))
    assert_allclose(found, grown.sum() / target.sum())


@pytest.mark.parametrize("kind", [None, 1.2, *sorted(CORRECTIONS)])
def test_corrections_are_those_of_the_twin(kind):
    source = [(w, y, bad) for w, (y, bad) in enumerate(
        [(0, False), (1, True), (1, False), (0, True), (0, False)], start=1
    )]  # fmt: skip
    errors = RoundErrors(
        0.3, np.array([4, 2]) / 15, np.array([4 / 10, 2 / 5]), 0.7
    )  # weights 1 to 5; label 0 has 1 + 4 + 5, label 1 has 2 + 3
    errors = replace(errors, target_fraction=np.array([0.8, 0.2]))
    wanted = reference.correction(kind, 0.3, source, 0.7, 2, [8, 2])
    assert_allclose(find_correction(kind)(errors), wanted)


def test_source_factor_by_hand():
    # 1 / (1 + sqrt(2 ln(e^2) / 4)) = 1 / 2
    assert_allclose(source_factor(math.exp(2), 4), 0.5)
    assert source_factor(1e9, 30) < source_factor(10, 30) < 1
    assert source_factor(0, 30) == source_factor(2, 30)


def test_votes_and_target_factor_by_hand():
    assert_allclose(target_factor(0.2), 4)
    assert_allclose(learner_vote(0.2, 100), math.log(4))
    assert learner_vote(0.5, 100) == learner_vote(0.8, 100) == 0
    # no fault on 10 rows counts as half a row of them: 1/20
    assert_allclose(learner_vote(0.0, 10), math.log(19))
    assert_allclose(learner_vote(0.001, 10), math.log(19))


def test_without_a_target_error_nothing_of_the_target_changes():
    errors = RoundErrors(0.0, np.zeros(2), np.zeros(2), 0.5)
    assert_allclose(dynamic_correction(errors), 1)
    assert_allclose(balanced_correction(errors), 1)


@pytest.mark.parametrize("name", ["rare", "rare_printed"])
def test_a_label_that_is_all_wrong_does_not_vanish(name):
    errors = RoundErrors(0.2, np.array([1.0, 0.0]), np.array([1.0, 0.0]), 0.5)
    assert (np.log(find_correction(name)(errors)) > -20).all()


def test_a_label_without_source_rows_is_not_the_one_that_stays():
    errors = RoundErrors(
        0.2, np.array([0.3, 0.1, 0]), np.array([0.5, 0.25, 0]), 0.5,
        np.array([0.6, 0.4, 0]), np.array([0.7, 0.2, 0.1]),
    )  # fmt: skip
    kept = rare_correction(errors) * (1 - errors.within / 2)
    assert_allclose(kept[1], 2 * 0.8)
    assert kept[0] < 2 * 0.8


@pytest.mark.parametrize("returned", [0.0, [1.0, 2.0, 3.0], [1.0, np.nan]])
def test_a_rule_of_ones_own_must_return_positive_factors(returned):
    with pytest.raises(ValueError, match="positive number, or one for each of 2"):
        find_correction(lambda _: returned)(ERRORS)
