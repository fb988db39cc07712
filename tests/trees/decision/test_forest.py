import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import with_task
from kinlearn.exceptions import KinlearnWarning
from kinlearn.trees import (
    MultiTaskDecisionTreeClassifier,
    MultiTaskRandomForestClassifier,
)
from kinlearn.trees.decision import _forest as module
from kinlearn.trees.decision._growth import Sampler
from tests.callbacks import Recorder
from tests.versions import needs_callbacks


def make_tasks(seed=0, *, n=400, n_features=6, n_tasks=4, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features))
    task = np.sort(rng.integers(0, n_tasks, n))
    y = (X[:, 0] + X[:, 1] > task / n_tasks).astype(int)
    y = np.where(rng.random(n) < noise, 1 - y, y)
    return with_task(X, task), y


def test_one_tree_on_all_rows_and_features_is_the_decision_tree():
    X, y = make_tasks()
    forest = MultiTaskRandomForestClassifier(
        1, task=-1, bootstrap=False, max_features=None, min_samples_leaf=1
    ).fit(X, y)
    tree = MultiTaskDecisionTreeClassifier(task=-1).fit(X, y)
    assert_array_equal(forest.trees_[0].steps, tree.tree_.steps)
    assert_array_equal(forest.predict_proba(X), tree.predict_proba(X))


def test_forest_averages_the_answers_of_its_trees():
    X, y = make_tasks()
    forest = MultiTaskRandomForestClassifier(7, task=-1, random_state=0).fit(X, y)
    task = X[:, -1].astype(np.int32)
    features = np.ascontiguousarray(X[:, :-1])
    each = np.zeros((7, len(y), 2))
    for tree, out in zip(forest.trees_, each, strict=True):
        tree.add_proba(features, task, out)
    assert_allclose(each.sum(axis=2), 1)
    assert_allclose(forest.predict_proba(X), each.mean(axis=0))
    assert forest.apply(X).shape == (len(y), 7)


def test_model_and_answers_are_the_same_for_any_n_jobs(monkeypatch):
    monkeypatch.setattr(module, "_PORTION", 64)  # several portions of few rows
    X, y = make_tasks()
    models = [
        MultiTaskRandomForestClassifier(9, task=-1, random_state=3, n_jobs=n).fit(X, y)
        for n in (1, 3)
    ]
    for one, other in zip(models[0].trees_, models[1].trees_, strict=True):
        assert_array_equal(one.steps, other.steps)
    assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))


def test_warm_start_adds_the_trees_that_lack():
    X, y = make_tasks()
    warm = MultiTaskRandomForestClassifier(4, task=-1, random_state=1, warm_start=True)
    first = warm.fit(X, y).trees_
    warm.set_params(n_estimators=9).fit(X, y)
    assert all(a is b for a, b in zip(first, warm.trees_, strict=False))
    at_once = MultiTaskRandomForestClassifier(9, task=-1, random_state=1).fit(X, y)
    assert_array_equal(warm.predict_proba(X), at_once.predict_proba(X))
    with pytest.raises(ValueError, match="n_estimators=3 is less than the 9 trees"):
        warm.set_params(n_estimators=3).fit(X, y)


def test_sample_keeps_the_size_of_each_task_and_leaves_rows_of_no_weight_out():
    task = np.repeat([0, 1, 2], [50, 3, 200])
    weight = np.ones(253, dtype=np.int64)
    weight[::5] = 0
    kept = np.bincount(task, weight > 0).astype(int)
    sampler = Sampler(task, weight, kept)
    counts = sampler.counts(5)
    assert_array_equal(np.bincount(task, counts), kept)
    assert not counts[weight == 0].any()
    drawn = np.mean([sampler.counts(s) for s in range(400)], axis=0)
    assert_allclose(drawn[weight > 0], 1, atol=0.25)


def test_out_of_bag_rows_are_scored_by_the_trees_that_did_not_see_them():
    X, y = make_tasks(n=2000)
    fresh, fresh_y = make_tasks(seed=1, n=4000)
    forest = MultiTaskRandomForestClassifier(
        60, task=-1, min_samples_leaf=1, oob_score=True, random_state=0
    ).fit(X, y)
    assert abs(forest.oob_score_ - forest.score(fresh, fresh_y)) < 0.03
    answer = forest.oob_decision_function_
    assert_allclose(answer.sum(axis=1), 1)
    right = answer.argmax(axis=1) == y
    for t in range(4):
        assert_allclose(forest.oob_task_scores_[t], right[X[:, -1] == t].mean())
    assert forest.score(X, y) > forest.oob_score_ + 0.05


def test_rows_that_every_tree_saw_have_no_out_of_bag_answer():
    X, y = make_tasks(n=60)
    forest = MultiTaskRandomForestClassifier(2, task=-1, oob_score=True, random_state=0)
    with pytest.warns(KinlearnWarning, match="of 60 rows were seen by every tree"):
        forest.fit(X, y)
    assert np.isnan(forest.oob_decision_function_).any(axis=1).sum() > 0
    with pytest.raises(ValueError, match="needs bootstrap=True"):
        forest.set_params(bootstrap=False).fit(X, y)


def test_unknown_task_gets_the_average_of_the_known_ones():
    X, y = make_tasks()
    forest = MultiTaskRandomForestClassifier(5, task=-1, unknown_task="share")
    forest.fit(X, y)
    rows = X[:, :-1]
    each = [forest.predict_proba(with_task(rows, np.full(400, t))) for t in range(4)]
    shared = forest.predict_proba(with_task(rows, np.full(400, 7)))
    assert_allclose(shared, np.mean(each, axis=0))


@pytest.mark.parametrize(
    ("max_features", "n_drawn"),
    [(None, 10), ("sqrt", 3), ("log2", 3), (4, 4), (99, 10), (0.5, 5), (0.01, 1)],
)
def test_max_features_as_number_fraction_or_name(max_features, n_drawn):
    forest = MultiTaskRandomForestClassifier(max_features=max_features)
    assert forest._growth_settings(10).max_features == n_drawn


def test_decision_path_is_that_of_each_tree():
    X, y = make_tasks()
    forest = MultiTaskRandomForestClassifier(3, task=-1, random_state=0).fit(X, y)
    path, start = forest.decision_path(X)
    passed, ends = path.toarray(), forest.apply(X)
    assert path.shape == (len(y), sum(tree.node_count for tree in forest.trees_))
    for i, tree in enumerate(forest.trees_):
        own = passed[:, start[i] : start[i + 1]]
        for row, end in zip(own, ends[:, i], strict=True):
            way = {end}
            while end := tree.parent[end] if end > 0 else 0:
                way.add(end)
            assert set(np.flatnonzero(row)) == way | {0}


def test_informative_features_are_important():
    X, y = make_tasks(n=2000, noise=0.0)
    importance = MultiTaskRandomForestClassifier(20, task=-1, random_state=0).fit(
        X, y
    ).feature_importances_  # fmt: skip
    assert_allclose(importance.sum(), 1)
    assert importance[:2].min() > 3 * importance[2:].max()


@needs_callbacks
def test_callbacks_hear_of_every_tree():
    X = np.column_stack([np.arange(20.0), np.arange(20) % 2])
    recorder = Recorder()
    forest = MultiTaskRandomForestClassifier(3, task=-1, warm_start=True)
    forest.set_callbacks(recorder).fit(X, np.arange(20) > 9)
    forest.set_params(n_estimators=4).fit(X, np.arange(20) > 9)
    rounds = [name for name in recorder.seen if name.startswith("round")]
    assert rounds == ["round 0", "round 1", "round 2", "round 3"]
