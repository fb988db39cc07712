"""The extra-trees estimators: what the forest adds to the kernel."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor
from sklearn.metrics import accuracy_score, r2_score

from kinlearn import with_task
from kinlearn._kernels._random import stream_state
from kinlearn.trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    MultiTaskRandomForestClassifier,
)
from kinlearn.trees.extra._growth import draw_rows, exact_integers
from tests.callbacks import Recorder
from tests.versions import needs_callbacks

BOTH = [MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor]


def problem(estimator, *, n=240, n_tasks=6, n_classes=2, seed=0):
    """Tasks 0, 1, 2 rise with the first feature, tasks 3, 4, 5 fall."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    task = np.arange(n) % n_tasks
    y = np.where(task < n_tasks // 2, X[:, 0], -X[:, 0]) + 0.3 * rng.normal(size=n)
    if issubclass(estimator, MultiTaskExtraTreesClassifier):
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    return with_task(X, task), y


def answer(model, X):
    return getattr(model, "predict_proba", model.predict)(X)


@pytest.mark.parametrize("estimator", BOTH)
def test_weights_are_repeated_rows(estimator):
    X, y = problem(estimator)
    weight = np.random.default_rng(1).integers(0, 4, size=len(y))
    times = np.repeat(np.arange(len(y)), weight)
    model = estimator(5, task=-1, min_samples_leaf=4, leaf_smoothing=2, random_state=0)
    weighted = clone(model).fit(X, y, sample_weight=weight)
    repeated = clone(model).fit(X[times], y[times])
    assert_array_equal(
        weighted.forest_.nodes["feature"], repeated.forest_.nodes["feature"]
    )
    assert_allclose(answer(weighted, X), answer(repeated, X), rtol=1e-10)


@pytest.mark.parametrize("estimator", BOTH)
def test_the_order_of_the_rows_decides_nothing(estimator):
    X, y = problem(estimator)
    weight = np.random.default_rng(1).random(len(y))
    order = np.random.default_rng(2).permutation(len(y))
    model = estimator(5, task=-1, random_state=0)
    one = clone(model).fit(X, y, sample_weight=weight)
    two = clone(model).fit(X[order], y[order], sample_weight=weight[order])
    assert_array_equal(one.forest_.nodes, two.forest_.nodes)
    assert_allclose(answer(one, X), answer(two, X), rtol=1e-10)


@pytest.mark.parametrize("estimator", BOTH)
def test_warm_start_adds_the_trees_that_one_fit_would_grow(estimator):
    X, y = problem(estimator)
    grown = estimator(3, task=-1, warm_start=True, random_state=4).fit(X, y)
    grown.set_params(n_estimators=7).fit(X, y)
    at_once = estimator(7, task=-1, random_state=4).fit(X, y)
    assert_array_equal(grown.forest_.nodes, at_once.forest_.nodes)
    assert_array_equal(answer(grown, X), answer(at_once, X))
    with pytest.raises(ValueError, match=r"n_estimators=2 is less than the 7 trees"):
        grown.set_params(n_estimators=2).fit(X, y)


@pytest.mark.parametrize("estimator", [*BOTH, MultiTaskRandomForestClassifier])
@pytest.mark.parametrize("other", ["tasks", "features"])
def test_warm_start_goes_on_with_the_same_kind_of_data_only(estimator, other):
    X, y = problem(BOTH[0] if "Classifier" in estimator.__name__ else BOTH[1])
    model = estimator(2, task=-1, warm_start=True, random_state=0).fit(X, y)
    changed = X[X[:, -1] != 3] if other == "tasks" else X[:, 1:]
    labels = y[X[:, -1] != 3] if other == "tasks" else y
    model.set_params(n_estimators=4)
    with pytest.raises(ValueError, match=f"other {other} than it was fitted to: none"):
        model.fit(changed, labels)
    assert_array_equal(model.fit(X, y).tasks_, np.unique(X[:, -1]))


def test_warm_start_takes_settings_that_were_given_anew():
    X, y = problem(MultiTaskExtraTreesRegressor)
    model = MultiTaskExtraTreesRegressor(
        2, task=-1, min_samples_leaf=1, warm_start=True, random_state=0
    ).fit(X, y)
    leaves = np.diff(model.forest_.leaf_start)
    model.set_params(n_estimators=4, min_samples_leaf=50).fit(X, y)
    assert_array_equal(np.diff(model.forest_.leaf_start)[:2], leaves)
    assert np.diff(model.forest_.leaf_start)[2:].max() < leaves.min() / 5


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("leaf_smoothing", [None, 3.0])
def test_answers_are_means_over_leaves(estimator, leaf_smoothing):
    X, y = problem(estimator, n_classes=3)
    model = estimator(
        4, task=-1, min_samples_leaf=10, leaf_smoothing=leaf_smoothing, random_state=0
    ).fit(X, y)
    forest = model.forest_
    leaves = model.apply(X)
    expected = 0.0
    for t in range(4):
        for leaf in np.unique(leaves[:, t]):
            rows = leaves[:, t] == leaf
            assert forest.nodes["feature"][forest.tree_start[t] + leaf] == -1
            label = y[rows] if y.dtype.kind == "f" else np.eye(3)[y[rows]]
            mean = label.mean(axis=0)
            for i in np.flatnonzero(rows):
                own = label[X[rows, -1] == X[i, -1]]
                value = mean
                if leaf_smoothing is not None:
                    value = (own.sum(axis=0) + 3.0 * mean) / (len(own) + 3.0)
                expected = expected + np.multiply.outer(np.arange(len(y)) == i, value)
    assert_allclose(answer(model, X), expected / 4)


@pytest.mark.parametrize("estimator", BOTH)
def test_decision_path_ends_at_the_leaves(estimator):
    X, y = problem(estimator)
    model = estimator(3, task=-1, random_state=0).fit(X, y)
    path, start = model.decision_path(X)
    leaves = model.apply(X) + start[:-1]
    assert (path.toarray()[np.arange(len(y))[:, None], leaves] == 1).all()
    assert (path.toarray()[:, start[:-1]] == 1).all()  # the roots
    nodes = model.forest_.nodes
    # every inner node that a row passes has one child that it passes
    tree_of = np.repeat(np.arange(3), np.diff(start))
    inner = np.flatnonzero(nodes["feature"] != -1)
    right = start[tree_of[inner]] + nodes["right"][inner]
    passed = path.toarray()
    assert_array_equal(passed[:, inner], passed[:, inner + 1] + passed[:, right])
    counts = np.bincount(leaves.ravel(), minlength=len(nodes))
    is_leaf = nodes["feature"] == -1
    assert_allclose(counts[is_leaf], model.forest_.weight[is_leaf])


@pytest.mark.parametrize("estimator", BOTH)
def test_importances_find_the_signal_and_the_task(estimator):
    X, y = problem(estimator, n=1000)
    model = estimator(30, task=-1, max_features=None, random_state=0).fit(X, y)
    importance = model.feature_importances_
    assert importance.shape == (5,)
    assert_allclose(importance.sum(), 1)
    assert importance[4] == model.task_importance_ > 0.1
    assert importance[0] > 2 * importance[1:4].max()
    plain = estimator(30, random_state=0).fit(X[:, :-1], y)
    assert plain.task_importance_ == 0
    assert_allclose(plain.feature_importances_.sum(), 1)


@pytest.mark.parametrize("estimator", BOTH)
def test_affinity_is_the_share_of_task_splits_that_keep_two_tasks_together(estimator):
    X, y = problem(estimator, n=1000)
    model = estimator(20, task=-1, min_samples_leaf=20, random_state=0).fit(X, y)
    expected = np.zeros((6, 6))
    forest = model.forest_
    weight = forest.decreases()[forest.is_task_split]
    for k, w in enumerate(weight):
        start, end = forest.exception_start[k : k + 2]
        listed = np.isin(np.arange(6), forest.exceptions[start:end])
        expected += w * (listed[:, None] == listed)
    assert_allclose(model.task_affinity_, expected / weight.sum())
    plain = estimator(2, task=-1, task_split_prob=0, random_state=0).fit(X, y)
    assert_array_equal(plain.task_affinity_, np.ones((6, 6)))


@pytest.mark.parametrize("seed", range(3))
def test_affinity_is_high_between_tasks_of_the_same_level(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 4))
    task = np.arange(1200) % 6
    group = np.arange(6) < 3
    y = X[:, 0] + 2.0 * group[task] + 0.3 * rng.normal(size=1200)
    model = MultiTaskExtraTreesRegressor(
        40, task=-1, task_offset=False, random_state=seed
    )
    affinity = model.fit(with_task(X, task), y).task_affinity_
    alike = group[:, None] == group
    off = ~np.eye(6, dtype=bool)
    assert affinity[alike & off].min() > affinity[~alike].max()


@pytest.mark.parametrize("seed", range(3))
def test_affinity_is_higher_between_tasks_of_the_same_slope(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1200, 4))
    task = np.arange(1200) % 6
    group = np.arange(6) < 3
    y = np.where(group[task], 1, -1) * X[:, 0] + 0.5 * rng.normal(size=1200)
    model = MultiTaskExtraTreesRegressor(60, task=-1, random_state=seed)
    affinity = model.fit(with_task(X, task), y).task_affinity_
    alike = group[:, None] == group
    off = ~np.eye(6, dtype=bool)
    assert affinity[alike & off].mean() > affinity[~alike].mean() + 0.05


@pytest.mark.parametrize("estimator", BOTH)
def test_out_of_bag_scores_use_the_trees_that_did_not_see_the_row(estimator):
    X, y = problem(estimator, n=120)
    model = estimator(15, task=-1, bootstrap=True, oob_score=True, random_state=0)
    model.fit(X, y)
    sums, n = 0.0, np.zeros(len(y))
    for i in range(15):
        unseen = draw_rows(stream_state(model._seed, i), len(y)) == 0
        out = model.forest_.sum_values(
            X[:, :-1], X[:, -1].astype(np.int32), first=i, last=i + 1
        )
        sums = sums + np.where(unseen[:, None], out, 0.0)
        n += unseen
    assert (n > 0).all()
    mean = (sums / n[:, None])[:, 0]
    if y.dtype.kind == "f":
        mean = mean + model.task_offsets_[X[:, -1].astype(int)]
        mean = mean + model._line.predict(X[:, :-1].T)
        assert_allclose(model.oob_prediction_, mean)
        score, expected = r2_score, mean
    else:
        assert_allclose(model.oob_decision_function_[:, 1], mean)
        score, expected = accuracy_score, (mean > 0.5).astype(int)
    assert_allclose(model.oob_score_, score(y, expected))
    for t in range(6):
        rows = X[:, -1] == t
        assert_allclose(model.oob_task_scores_[t], score(y[rows], expected[rows]))


def test_out_of_bag_needs_bootstrap():
    X, y = problem(MultiTaskExtraTreesRegressor)
    with pytest.raises(ValueError, match="set bootstrap=True too"):
        MultiTaskExtraTreesRegressor(task=-1, oob_score=True).fit(X, y)


@pytest.mark.parametrize("estimator", BOTH)
def test_an_unknown_task_is_answered_like_one_that_no_split_lists(estimator):
    X, y = problem(estimator)
    model = estimator(10, task=-1, unknown_task="share", random_state=0).fit(X, y)
    strange = X.copy()
    strange[:, -1] = 99
    sums = model.forest_.sum_values(X[:, :-1], np.full(len(y), -1, dtype=np.int32))
    expected = sums[:, 0] / 10
    got = answer(model, strange)
    assert_allclose(got if got.ndim == 1 else got[:, 1], expected)


def test_missingness_itself_is_a_signal():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = rng.integers(0, 2, size=300)
    X[y == 1, 1] = np.nan
    model = MultiTaskExtraTreesClassifier(5, max_features=None, random_state=0)
    assert model.fit(X, y).score(X, y) == 1.0
    assert model.forest_.nodes["feature"][0] == 1
    assert (np.diff(model.forest_.tree_start) == 3).all()


def test_values_too_large_for_float32_are_refused():
    X = np.array([[1.0, 2.0], [3.0, 1e300]])
    with pytest.raises(ValueError, match=r"row 1, feature 1: 1e\+300"):
        MultiTaskExtraTreesRegressor(2).fit(X, [0.0, 1.0])


@pytest.mark.parametrize("class_weight", [{0: 1, 1: 3}, "balanced"])
def test_class_weight_is_a_weight_of_the_rows(class_weight):
    X, y = problem(MultiTaskExtraTreesClassifier)
    y[::3] = 0  # fewer of class 1
    ratio = 3 if class_weight != "balanced" else (y == 0).sum() / (y == 1).sum()
    first = 1 if class_weight != "balanced" else len(y) / (2 * (y == 0).sum())
    model = MultiTaskExtraTreesClassifier(
        5, task=-1, min_samples_leaf=20, random_state=0
    )
    by_class = clone(model).set_params(class_weight=class_weight).fit(X, y)
    by_row = clone(model).fit(X, y, sample_weight=first * np.where(y == 1, ratio, 1))
    assert_array_equal(
        by_class.forest_.nodes["feature"], by_row.forest_.nodes["feature"]
    )
    assert_allclose(answer(by_class, X), answer(by_row, X), rtol=1e-9)
    plain = clone(model).fit(X, y)
    assert answer(by_class, X)[:, 1].mean() > answer(plain, X)[:, 1].mean() + 0.05


@pytest.mark.slow
def test_a_hundred_thousand_tasks():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(100_000), 2)
    X = rng.normal(size=(len(task), 2)).astype(np.float32)
    y = X[:, 0] + rng.normal(size=len(task))
    X = np.column_stack([X, task.astype(np.float32)])
    model = MultiTaskExtraTreesRegressor(
        2, task=-1, unknown_task="share", random_state=0
    ).fit(X, y)
    assert len(model.tasks_) == 100_000
    assert model.forest_.is_task_split.any()
    # A split lists tasks that have rows at its node, so a level lists each once.
    assert len(model.forest_.exceptions) < 50 * len(task)
    X[:, -1] = 2_000_000
    assert np.isfinite(model.predict(X[:100])).all()


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_exact_integers_add_up_to_the_values(scale):
    values = np.random.default_rng(0).normal(size=1000) * scale
    integers, unit = exact_integers(values)
    assert np.abs(integers).sum() <= 2**53
    assert_allclose(integers * unit, values, atol=unit)
    assert_array_equal(exact_integers(np.zeros(3))[0], [0, 0, 0])


def _same_within_noise(ours, theirs):
    difference = np.mean(ours) - np.mean(theirs)
    error = np.sqrt((np.var(ours, ddof=1) + np.var(theirs, ddof=1)) / len(ours))
    assert abs(difference) < 3.5 * error


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_without_task_splits_it_is_scikit_learns_forest(kind):
    # Small forests, so that trees that differ in distribution would show.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 5)).astype(np.float32)
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=600)
    tasks = with_task(X, rng.integers(4, size=600))
    pair = MultiTaskExtraTreesRegressor, ExtraTreesRegressor
    options = {"max_features": 2, "min_samples_leaf": 2}
    if kind == "classes":
        pair = MultiTaskExtraTreesClassifier, ExtraTreesClassifier
        y = np.digitize(y, [-1, 1])
        options["criterion"] = "gini"
    scores, sizes = ([], []), ([], [])
    for seed in range(30):
        for k, (estimator, rows, own) in enumerate(
            zip(pair, (tasks, X), ({"task": -1, "task_split_prob": 0}, {}), strict=True)
        ):
            model = estimator(5, **options, **own, random_state=seed)
            model.fit(rows[:300], y[:300])
            scores[k].append(model.score(rows[300:], y[300:]))
            if k == 0:
                sizes[k].append(len(model.forest_.nodes))
            else:
                sizes[k].append(sum(tree.tree_.node_count for tree in model))
    _same_within_noise(*scores)
    _same_within_noise(*sizes)


@needs_callbacks
def test_callbacks_hear_of_every_tree():
    X = np.column_stack([np.arange(20.0), np.arange(20) % 2])
    recorder = Recorder()
    forest = MultiTaskExtraTreesRegressor(3, task=-1, warm_start=True, random_state=0)
    silent = clone(forest).fit(X, np.arange(20.0)).predict(X)
    forest.set_callbacks(recorder).fit(X, np.arange(20.0))
    assert_array_equal(forest.predict(X), silent)
    forest.set_params(n_estimators=4).fit(X, np.arange(20.0))
    trees = [name for name in recorder.seen if name.startswith("tree")]
    assert trees == ["tree 0", "tree 1", "tree 2", "tree 3"]
