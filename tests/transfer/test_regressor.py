"""TrAdaBoostRegressor: rounds against the twin, stages, and what they do."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import AdaBoostRegressor
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from kinlearn import with_task
from kinlearn.transfer import TrAdaBoostRegressor
from kinlearn.transfer._regressor import weighted_median
from kinlearn.transfer._weight_updates import source_shrink
from tests.reference import tradaboost as reference


def problem(seed=0, *, n_source=120, n_target=20, shift=0.5):
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n_source + n_target, 3))
    task = np.repeat([0, 1], [n_source, n_target])
    y = np.sin(5 * X[:, 0]) + X[:, 1] + shift * task * X[:, 2]
    return with_task(X, task), y + 0.05 * rng.normal(size=len(y))


def test_the_rounds_are_those_of_the_slow_twin():
    X, y = problem()
    is_target = X[:, -1] == 1
    model = TrAdaBoostRegressor(
        Ridge(alpha=0.1), task=-1, target=1, n_estimators=8
    ).fit(X, y)

    def learn(w):
        ridge = Ridge(alpha=0.1)
        return ridge.fit(X[:, :-1], y, sample_weight=w * len(w)).predict(X[:, :-1])

    weights, answers, votes, errors = reference.boost_numbers(
        y, is_target, learn, n_rounds=8
    )
    history = model.weight_history_[1]
    assert_allclose(history.target_error, errors, rtol=1e-8)
    assert_allclose(history.vote, votes, rtol=1e-8)
    assert_allclose(history.task_share[:, 0], weights[:, ~is_target].sum(axis=1))
    wanted = [reference.weighted_median(a[3:], votes[3:]) for a in answers.T]
    assert_allclose(model.predict(X), wanted, rtol=1e-8)


def test_weighted_median_is_that_of_the_twin():
    rng = np.random.default_rng(0)
    answers, votes = rng.integers(0, 5, size=(50, 7)).astype(float), rng.random(7)
    wanted = [reference.weighted_median(row, votes) for row in answers]
    assert_array_equal(weighted_median(answers, votes), wanted)


def test_a_stage_gives_the_target_its_share():
    rng = np.random.default_rng(0)
    start, error = rng.random(50), rng.random(50)
    is_target = np.arange(50) >= 40
    before = start[is_target].sum() / start.sum()
    out = source_shrink(start, error, is_target, 0.7)
    assert before < 0.7
    assert_allclose(out.sum(), 1)
    assert_allclose(out[is_target].sum(), 0.7)
    # beta to the power of the error: the logarithm falls along a line
    slope = np.log(out / start)[~is_target] - np.log(out / start)[is_target][0]
    assert_allclose(slope / error[~is_target], slope[0] / error[0])
    right = source_shrink(start, np.zeros(50), is_target, 0.7)  # no row to take from
    assert_allclose(right[is_target].sum(), 0.7)


@pytest.mark.parametrize("two_stage", [False, True])
def test_a_source_helps(two_stage):
    X, y = problem(1, n_source=400, n_target=15, shift=0.2)
    X_test, y_test = problem(2, n_source=2, n_target=400, shift=0.2)
    X_test, y_test = X_test[2:], y_test[2:]
    tree = DecisionTreeRegressor(max_depth=5)
    model = TrAdaBoostRegressor(
        tree, task=-1, target=1, n_estimators=10, two_stage=two_stage, n_stages=4,
        n_folds=3, random_state=0,
    )  # fmt: skip
    alone = X[:, -1] == 1
    helped = clone(model).fit(X, y).score(X_test, y_test)
    assert helped > clone(model).fit(X[alone], y[alone]).score(X_test, y_test) + 0.1


def test_the_best_stage_is_taken():
    X, y = problem(3, n_source=60, n_target=12)
    model = TrAdaBoostRegressor(
        task=-1, target=1, n_estimators=3, two_stage=True, n_stages=4, n_folds=3,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    errors = model.stage_errors_[1]
    assert errors.shape == (4,)
    stage = errors.argmin()
    first = 12 / 72
    share = min(first + stage / 3 * (1 - first), 1 - 1e-6)
    # the first round of the stage has exactly the weights of the stage
    shares = model.weight_history_[1].task_share[0]
    assert_allclose(shares[1], share, atol=1e-6)


def test_an_opposite_source_fades_in_two_stages():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(340, 2))
    task = np.repeat([0, 1], [300, 40])
    y = np.where(task == 0, -1.0, 1.0) * X[:, 0]
    model = TrAdaBoostRegressor(
        task=-1, target=1, n_estimators=5, two_stage=True, n_stages=5, random_state=0
    ).fit(with_task(X, task), y)
    assert model.stage_errors_[1].argmin() > 0
    assert model.source_weight_[1][0] < 0.7
    assert model.score(with_task(X[300:], task[300:]), y[300:]) > 0.8


def test_one_task_is_adaboost_r2_by_weights():
    X, y = problem(n_source=2, n_target=200)
    X, y = X[2:, :-1], y[2:]
    ours = TrAdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y)
    # scikit-learn draws rows by weight instead of weighing them
    peer = AdaBoostRegressor(n_estimators=20, random_state=0).fit(X, y)
    assert abs(ours.score(X, y) - peer.score(X, y)) < 0.05


def test_every_task_in_turn_is_the_target():
    X, y = problem(n_source=60, n_target=60)
    together = TrAdaBoostRegressor(task=-1, n_estimators=4, random_state=0).fit(X, y)
    assert list(together.boosts_) == [0, 1]
    assert set(together.source_weight_[0]) == {1}
    alone = TrAdaBoostRegressor(task=-1, target=0, n_estimators=4, random_state=0)
    rows = X[X[:, -1] == 0]
    assert_allclose(alone.fit(X, y).predict(rows), together.predict(rows))


def test_constant_targets_and_perfect_learners_end_at_once():
    X, y = problem()
    model = TrAdaBoostRegressor(task=-1, target=1, random_state=0)
    model.fit(X, np.ones(len(y)))
    assert_array_equal(model.predict(X), 1)
    assert len(model.weight_history_[1].vote) == 1


def test_a_regressor_without_weights_is_refused():
    X, y = problem()
    with pytest.raises(ValueError, match="KNeighborsRegressor takes no sample_weight"):
        TrAdaBoostRegressor(KNeighborsRegressor(), task=-1, target=1).fit(X, y)
