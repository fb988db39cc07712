"""Settings that pilot forests choose, also when the search is stopped."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.metrics import r2_score

from kinlearn import with_task
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor
from kinlearn.trees.extra._tuning import LEAVES, Pilot
from kinlearn.utils import row_groups, stop_requested, stop_searches_if

BOTH = [MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor]


def rows_of(estimator, *, n=600, noise=0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).astype(np.float32)
    task = rng.integers(3, size=n)
    y = X[:, 0] + 0.5 * task + noise * rng.normal(size=n)
    if estimator is MultiTaskExtraTreesClassifier:
        y = np.digitize(y, [0, 1])
    return with_task(X, task), y


def test_noise_wants_large_leaves_and_clean_data_small_ones():
    for estimator in BOTH:
        clean = estimator(1, task=-1, random_state=0)
        clean.fit(*rows_of(estimator, noise=0.0))
        noisy = estimator(1, task=-1, random_state=0)
        noisy.fit(*rows_of(estimator, noise=8.0))
        assert clean.min_samples_leaf_ <= 2
        assert noisy.min_samples_leaf_ >= 10


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.1, 3.0])
def test_the_choice_is_near_the_best_on_new_rows(noise):
    X, y = rows_of(MultiTaskExtraTreesRegressor, n=2600, noise=noise)
    model = MultiTaskExtraTreesRegressor(50, task=-1, linear_part=False, random_state=0)
    score = {}
    for leaf in [*LEAVES, "auto"]:
        fitted = clone(model).set_params(min_samples_leaf=leaf).fit(X[:600], y[:600])
        score[leaf] = r2_score(y[600:], fitted.predict(X[600:]))
    auto = score.pop("auto")
    assert 1 - auto < 1.15 * (1 - max(score.values()))
    assert auto > min(score.values()) + 0.05


def test_tasks_of_opposite_slope_want_many_task_splits():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 6))
    task = np.arange(600) % 6
    y = np.where(task < 3, 1, -1) * X[:, 0]
    model = MultiTaskExtraTreesRegressor(1, task=-1, random_state=0)
    assert model.fit(with_task(X, task), y).task_split_prob_ == 1.0
    alike = model.fit(with_task(X, task), X[:, 0] + rng.normal(size=600))
    assert alike.task_split_prob_ < 1.0
    assert np.abs(alike.task_offsets_).max() < 0.2


def test_levels_far_apart_are_kept_apart():
    rng = np.random.default_rng(0)
    task = np.arange(300) % 3
    x = rng.normal(size=300)
    X = np.column_stack([x, task])
    model = MultiTaskExtraTreesRegressor(100, task=-1, random_state=0)
    predicted = model.fit(X, x + 10 * task).predict([[0, 0], [0, 1], [0, 2]])
    assert_allclose(predicted, [0, 10, 20], atol=0.5)


@pytest.mark.parametrize("estimator", BOTH)
def test_order_and_repeats_of_rows_do_not_matter(estimator):
    X, y = rows_of(estimator)
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(y))
    order = rng.permutation(np.repeat(np.arange(len(y)), weight))
    model = estimator(2, task=-1, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[order], y[order])
    assert weighted.min_samples_leaf_ == repeated.min_samples_leaf_
    assert weighted.task_split_prob_ == repeated.task_split_prob_
    assert weighted.max_features_ == repeated.max_features_
    assert_array_equal(weighted._offsets, repeated._offsets)
    if estimator is MultiTaskExtraTreesRegressor:
        assert weighted.linear_coef_.any()
        assert_array_equal(weighted.linear_coef_, repeated.linear_coef_)
    assert_array_equal(
        weighted.forest_.nodes["feature"], repeated.forest_.nodes["feature"]
    )


@pytest.mark.parametrize("estimator", BOTH)
def test_numbers_are_taken_as_they_are(estimator):
    X, y = rows_of(estimator)
    model = estimator(1, task=-1, min_samples_leaf=0.1, task_split_prob=0.3)
    model.fit(X, y)
    assert model.min_samples_leaf_ == pytest.approx(60)
    assert model.task_split_prob_ == 0.3


@pytest.mark.parametrize(
    ("given", "draws"),
    [
        ({}, {(3, 1), (10, 5)}),
        ({"max_features": 4}, {(4, 1), (4, 5)}),
        ({"n_cuts": 2}, {(3, 2), (10, 2)}),
        ({"max_features": None, "n_cuts": 3}, {(10, 3)}),
        ({"min_samples_leaf": 5, "task_split_prob": 0.5}, {(3, 1)}),  # no pilots
    ],
)
def test_features_and_cuts_are_compared_unless_given(monkeypatch, given, draws):
    compared = set()

    def best(self, candidates):
        compared.update(
            (c.settings.max_features, c.settings.n_cuts) for c in candidates
        )
        return candidates[-1]

    monkeypatch.setattr(Pilot, "best", best)
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(100, 10)), np.arange(100) % 2)
    model = MultiTaskExtraTreesClassifier(1, task=-1, random_state=0, **given)
    model.fit(X, rng.integers(2, size=100))
    assert (model.max_features_, model.n_cuts_) in draws
    assert compared == (draws if "min_samples_leaf" not in given else set())


def test_weak_features_are_wanted_all_and_many_alike_few():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 25))
    alone = X[:, 0] + 0.3 * rng.normal(size=800) > 0
    model = MultiTaskExtraTreesClassifier(1, random_state=0)
    assert model.fit(X, alone).max_features_ == 25
    X = X[:, :1] + rng.normal(size=(800, 25))
    assert model.fit(X, alone).max_features_ == 5


@pytest.mark.parametrize("estimator", BOTH)
def test_few_rows_are_not_compared(estimator):
    X, y = rows_of(estimator, n=30)
    model = estimator(1, task=-1).fit(X, y)
    assert (model.min_samples_leaf_, model.task_split_prob_) == (1, 0.5)


def test_equal_rows_are_one_group_and_groups_are_balanced():
    rng = np.random.default_rng(0)
    columns = rng.normal(size=(2, 4000)).astype(np.float32)
    y = rng.integers(2, size=4000)
    columns[0, :3] = [0.0, -0.0, 0.0]
    columns[1, :3] = np.nan
    y[:3] = 1
    group = row_groups(columns, y)
    assert_array_equal(group[1:3], group[0])
    assert_array_equal(np.unique(group), np.arange(3998))
    # As if drawn at random: labels and values are the same in every quarter.
    for k in range(4):
        assert abs(y[group % 4 == k].mean() - y.mean()) < 4 * 0.5 / np.sqrt(1000)
        assert abs(np.nanmean(columns[1, group % 4 == k])) < 4 / np.sqrt(1000)


def fit(n_comparisons, monkeypatch, **options):
    """Stop after some comparisons; large leaves are the best."""
    done = []

    def loss(self, candidate):
        done.append(candidate)
        return -candidate.settings.min_weight_leaf - 100.0 * candidate.offset

    monkeypatch.setattr(Pilot, "_loss", loss)
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(300, 2)), np.arange(300) % 3)
    y = rng.normal(size=300) + X[:, -1]
    forest = MultiTaskExtraTreesRegressor(2, task=-1, random_state=0, **options)
    with stop_searches_if(lambda: len(done) >= n_comparisons):
        forest.fit(X, y)
    assert not stop_requested()
    return forest, done


def test_without_a_comparison_the_first_setting_is_taken(monkeypatch):
    forest, done = fit(0, monkeypatch)
    assert done == []
    assert forest.min_samples_leaf_ == 3
    assert not forest.task_offsets_.any()
    assert np.isfinite(forest.predict(np.c_[np.zeros((2, 2)), [0, 1]])).all()


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_best_so_far_is_taken(monkeypatch, n):
    forest, done = fit(n, monkeypatch)
    assert len(done) == n
    best = max(each.settings.min_weight_leaf for each in done)
    assert forest.min_samples_leaf_ == best


def test_nothing_is_cut_without_a_word(monkeypatch):
    forest, done = fit(10_000, monkeypatch)
    assert forest.min_samples_leaf_ == max(d.settings.min_weight_leaf for d in done)
    assert forest.task_offsets_.any()


def test_offsets_that_were_asked_for_are_learned_all_the_same(monkeypatch):
    forest, done = fit(0, monkeypatch, task_offset=True)
    assert done == []
    assert forest.task_offsets_.any()
