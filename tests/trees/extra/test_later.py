"""Rows and tasks that come after a forest was grown."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
)
from kinlearn.trees.extra._model import LEAF, TASK_SPLIT

FIXED = {"min_samples_leaf": 5, "task_split_prob": 1.0, "random_state": 0}


def rows(n, n_tasks=4, seed=0, n_classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    X[:, -1] = rng.integers(0, n_tasks, n)
    level = X[:, 0] + X[:, -1] % 3
    if n_classes == 0:
        return X, level + 0.1 * rng.normal(size=n)
    return X, np.digitize(level, np.arange(1, n_classes) * 3 / n_classes - 0.5)


def forest(n_classes, **params):
    params = {"n_estimators": 3, "task": -1, **FIXED, **params}
    if n_classes:
        return MultiTaskExtraTreesClassifier(**params)
    return MultiTaskExtraTreesRegressor(**params)


def walk(model, X, y, task_of_rows, smoothing=1.0):
    """The leaves of a new task's rows, by the definition, tree by tree."""
    f, out = model.forest_, []
    n_classes = len(getattr(model, "classes_", ()))
    for tree in range(f.n_trees):
        first, split_first = f.tree_start[tree], f.split_start[tree]
        at = np.zeros(len(X), dtype=int)
        pending = [(0, np.arange(len(X)))]
        while pending:
            number, here = pending.pop()
            node = f.nodes[first + number]
            if len(here) == 0:
                continue
            if node["feature"] == LEAF:
                at[here] = number
                continue
            if node["feature"] == TASK_SPLIT:
                k = split_first + node["slot"]
                target = y[here] == f.split_class[k] if n_classes > 2 else y[here]
                phi = (target.sum() + smoothing * f.split_mean[k]) / (
                    len(here) + smoothing
                )
                left = np.full(len(here), phi < f.split_cut[k])
            else:
                left = X[here, node["feature"]].astype(np.float32) <= node["threshold"]
            pending += [(number + 1, here[left]), (node["right"], here[~left])]
        out.append(at)
    return np.array(out).T


@pytest.mark.parametrize("n_classes", [0, 2, 4])
def test_a_new_task_takes_the_sides_that_its_means_give(n_classes):
    X, y = rows(400, n_classes=n_classes)
    known = X[:, -1] != 2  # a code in the middle
    model = forest(n_classes).fit(X[known], y[known])
    own = X[~known][:30], y[~known][:30]
    expected = walk(model, own[0][:, :-1], own[1], 2)
    old_leaves = model.apply(X[known])
    model.add_task(*own)
    assert [*model.tasks_] == [0, 1, 2, 3]
    assert_array_equal(model.apply(own[0]), expected)
    assert_array_equal(model.apply(X[known]), old_leaves)  # the others stay


@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_nodes_hold_what_all_their_rows_give(n_classes, criterion):
    X, y = rows(300, n_classes=n_classes)
    weight = np.random.default_rng(0).integers(0, 3, 300).astype(float)
    params = {"criterion": criterion} if n_classes else NO_BASE
    model = forest(n_classes, **params).fit(X[:200], y[:200], weight[:200])
    model.partial_fit(X[200:], y[200:], sample_weight=weight[200:])
    f = model.forest_
    paths = f.decision_path(X[:, :-1], X[:, -1].astype(np.int32)).toarray() > 0
    for node in range(len(f.nodes)):
        here = paths[:, node]
        w, labels = weight[here], y[here]
        assert_allclose(f.weight[node], w.sum())
        if n_classes == 0:
            mean = np.average(labels, weights=w)
            impurity = np.average((labels - mean) ** 2, weights=w)
        else:
            p = np.bincount(labels, weights=w, minlength=n_classes) / w.sum()
            logs = np.log2(np.where(p > 0, p, 1))
            impurity = 1 - p @ p if criterion == "gini" else -p @ logs
        assert_allclose(f.impurity[node], impurity, atol=1e-9)
    leaf = paths & (f.nodes["feature"] == LEAF)
    tree = np.repeat(np.arange(f.n_trees), np.diff(f.tree_start))
    for row in range(0, 300, 7):
        for node in np.flatnonzero(leaf[row]):
            here = leaf[:, node]
            value = f.values[f.leaf_start[tree[node]] + f.nodes["slot"][node]]
            if n_classes == 0:
                expected = [np.average(y[here], weights=weight[here])]
            else:
                expected = np.bincount(y[here], weight[here], n_classes)
                expected = expected / weight[here].sum()
                expected = expected[1:] if n_classes == 2 else expected
            assert_allclose(value, expected)


NO_BASE = {"task_offset": False, "linear_part": False}


def test_rows_in_portions_are_rows_at_once():
    X, y = rows(300)
    once, twice = (forest(2).fit(X[:200], y[:200]) for _ in range(2))
    once.partial_fit(X[200:], y[200:])
    twice.partial_fit(X[200:230], y[200:230]).partial_fit(X[230:], y[230:])
    assert_allclose(twice.predict_proba(X), once.predict_proba(X))
    assert_allclose(twice.feature_importances_, once.feature_importances_)


def test_offset_and_line_serve_a_new_task():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=600), np.arange(600) % 12])
    level = rng.normal(scale=5, size=12)
    y = 3 * X[:, 0] + level[X[:, 1].astype(int)] + 0.1 * rng.normal(size=600)
    known = X[:, 1] != 5
    model = MultiTaskExtraTreesRegressor(
        30, task=-1, task_offset=True, linear_part=True, random_state=0
    ).fit(X[known], y[known])
    assert model.task_offsets_.any()
    model.add_task(X[~known][:25], y[~known][:25])
    answer = model.predict(X[~known][25:])
    gap = np.abs(answer - y[~known][25:])
    assert len(model.task_offsets_) == 12
    assert gap.mean() < 0.6
    assert_allclose(level[5], model.task_offsets_[5] + level.mean(), atol=1.5)


def test_new_tasks_have_labels_of_their_own():
    X, y = rows(300, n_classes=4)
    known = X[:, -1] != 3
    model = forest(4, label_sets="observed").fit(X[known], y[known])
    few = ~known & (y < 2)
    model.add_task(X[few], y[few])
    assert [*model.task_classes_[3]] == [*np.unique(y[few])]
    assert set(model.predict(X[~known])) <= {0, 1}
    model.partial_fit(X[~known], y[~known])
    assert [*model.task_classes_[3]] == [*np.unique(y[~known])]


def test_string_tasks_keep_their_order():
    pd = pytest.importorskip("pandas")
    X, y = rows(200)
    names = np.array(["d", "b", "a", "c"])[X[:, -1].astype(int)]
    table = pd.DataFrame(X[:, :3], columns=["x", "y", "z"]).assign(t=names)
    model = forest(2, task="t").fit(table[names != "b"], y[names != "b"])
    before = model.apply(table[names != "b"])
    model.add_task(table[names == "b"], y[names == "b"])
    assert [*model.tasks_] == ["a", "b", "c", "d"]
    assert_array_equal(model.apply(table[names != "b"]), before)
    assert model.task_affinity_.shape == (4, 4)


def test_first_partial_fit_is_a_fit():
    X, y = rows(200)
    a, b = forest(2).fit(X, y), forest(2).partial_fit(X, y, classes=[0, 1])
    assert_array_equal(a.predict_proba(X), b.predict_proba(X))
    with pytest.raises(ValueError, match=r"every class; \[2\] are missing"):
        forest(2).partial_fit(X, y, classes=[0, 1, 2])


def test_what_cannot_be_added_is_refused():
    X, y = rows(200)
    model = forest(2).fit(X, y)
    with pytest.raises(ValueError, match=r"add_task adds tasks .* it knows 0, 1, 2, 3"):
        model.add_task(X, y)
    with pytest.raises(
        ValueError, match=r"classes that .* did not see in fit, for tasks .*: 7"
    ):
        model.partial_fit(X, np.where(y == 1, 7, y))
    with pytest.raises(ValueError, match="200 rows, but y has 199"):
        model.partial_fit(X, y[1:])
    with pytest.raises(ValueError, match="leaf_smoothing"):
        forest(2, leaf_smoothing=1.0).fit(X, y).partial_fit(X, y)
    with pytest.raises(ValueError, match="balanced"):
        forest(2, class_weight="balanced").fit(X, y).partial_fit(X, y)
    assert [*model.tasks_] == [0, 1, 2, 3]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_new_task_brings_classes_of_its_own(n_classes):
    X, y = rows(400, n_classes=n_classes)
    y = np.array([3, 5, 9])[y]
    known = X[:, -1] != 1
    rng = np.random.default_rng(1)
    other = np.where(X[:, 0] + 0.3 * rng.normal(size=400) > 0, 7, 1)
    model = forest(n_classes, n_estimators=30).fit(X[known], y[known])
    score = model.score(X[known], y[known])
    model.add_task(X[~known][:60], other[~known][:60])
    assert [*model.classes_] == sorted({1, 7, *y[known]})
    assert [*model.task_classes_[1]] == [1, 7]
    assert [*model.task_classes_[0]] == sorted({*y[known]})
    assert model.score(X[~known][60:], other[~known][60:]) > 0.8
    assert abs(model.score(X[known], y[known]) - score) < 0.05
    proba = model.predict_proba(X)
    assert_allclose(proba.sum(axis=1), 1)
    new = np.isin(model.classes_, [1, 7])
    assert (proba[known][:, new] == 0).all()
    assert (proba[~known][:, ~new] == 0).all()
    # leaves hold the frequencies of all their rows
    f, every = model.forest_, np.where(known, y, other)
    used = known | (np.cumsum(~known) <= 60)
    leaf = model.apply(X[used])
    for tree in range(2):
        node = leaf[0, tree]
        here = leaf[:, tree] == node
        value = f.values[
            f.leaf_start[tree] + f.nodes["slot"][f.tree_start[tree] + node]
        ]
        assert_allclose(value, (every[used][here, None] == model.classes_).mean(axis=0))


def test_a_task_with_old_and_new_classes_is_refused():
    X, y = rows(200)
    known = X[:, -1] != 0
    model = forest(2).fit(X[known], y[known])
    with pytest.raises(ValueError, match=r"Task 0 .*saw, \[1\].*see, \[7\].*fit anew"):
        model.add_task(X[~known], np.where(y[~known], 1, 7))
    assert [*model.classes_] == [0, 1]


def test_strings_and_numbers_do_not_mix():
    X, y = rows(200)
    known = X[:, -1] != 0
    model = forest(2).fit(X[known], y[known])
    with pytest.raises(TypeError, match=r"such as 'no'.* such as 0.*same type"):
        model.add_task(X[~known], np.array(["no", "yes"])[y[~known]])
