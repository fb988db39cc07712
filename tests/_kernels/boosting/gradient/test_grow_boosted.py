"""Trees of the kernel against a slow twin, on random problems."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._kernels.boosting.gradient._gradients import fill_pairs
from kinlearn.boosting.gradient._bins import Binned
from kinlearn.boosting.gradient._losses import (
    REGRESSION,
    LogisticLoss,
    MultinomialLoss,
)
from kinlearn.boosting.gradient._model import TASK, Trees
from kinlearn.boosting.gradient._rounds import Problem, Rounds, Settings, counted_rows
from tests.reference import gradient_boosting as twin


def make_rows(seed, *, n=110, n_tasks=6, missing=0.2, categories=True):
    """Bins, tasks and a signal in which both matter."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, size=(n, 4)).astype(float)
    task = rng.integers(0, n_tasks, size=n).astype(np.int32)
    task[:n_tasks] = np.arange(n_tasks)
    slope = 3 * rng.normal(size=n_tasks)
    level = rng.normal(size=9)
    signal = (
        0.4 * (X[:, 0] - 4) + slope[task] * (X[:, 1] > 4) + level[X[:, 2].astype(int)]
    )
    X[rng.random(X.shape) < missing] = np.nan
    categorical = np.array([False, False, categories, False])
    return X, task, signal + 0.5 * rng.normal(size=n), categorical


def make_loss(name, signal, weight, rng):
    if name == "logistic":
        y = (signal > 0).astype(float)
        return LogisticLoss(y, weight), y
    if name in ("poisson", "gamma"):
        y = rng.poisson(np.exp(signal / 2)) + (0.5 if name == "gamma" else 0.0)
    else:
        y = signal
    q = 0.3 if name == "quantile" else 0.5
    loss = REGRESSION[name](y, weight, quantile=q, scale=1.0)
    return loss, y


def both(seed, name="squared_error", *, weights=None, rounds=2, **options):
    """Scores after each round, by the kernel and by the twin."""
    rng = np.random.default_rng(seed)
    names = ("n", "n_tasks", "missing", "categories")
    shape = {k: options.pop(k) for k in names if k in options}
    X, task, signal, categorical = make_rows(seed, **shape)
    n = len(X)
    weight = np.ones(n)
    if weights == "whole":
        weight = rng.integers(0, 4, size=n).astype(float)
    elif weights == "fractions":
        weight = rng.uniform(0.1, 3, size=n)
    loss, y = make_loss(name, signal, weight, rng)
    n_rows = counted_rows(weight)
    binned = Binned.of(X, weight, max_bins=6, categorical=categorical)
    settings = {
        "learning_rate": 0.3,
        "max_leaves": 7,
        "max_depth": 0,
        "least_count": 4,
        "l2": 0.0,
        "task_splits": True,
        "task_values": True,
        **options,
    }
    problem = Problem(binned, task, int(task.max()) + 1, loss, n_rows)
    fast = Rounds(problem, Settings(max_features=4, subsample=1.0, seed=0, **settings))
    slow = twin.Boosting(
        twin.Settings(
            n_bins=binned.features.n_bins.tolist(),
            categorical=categorical.tolist(),
            **settings,
        ),
        binned.bins,
        task,
        weight,
        n_rows,
        name,
    )
    rows = np.flatnonzero(n_rows > 0)
    found, expected, trees, roots = [], [], [], []
    for _ in range(rounds):
        before = fast.scores[:, 0].copy()
        g, h = twin.derivatives(name, y, before, weight, loss.quantile)
        by_quantile = (y - before, loss.quantile) if loss.by_quantile else ()
        root = slow.grow(g, h, rows, *by_quantile)
        trees += fast.play()
        roots.append(root)
        expected.append(before + slow.predict(root, binned.bins, task))
        found.append(fast.scores[:, 0].copy())
    return found, expected, trees, roots, (binned, slow, rows)


# Where tasks still differ within the leaves, so that there are departures.
FEW_LEAVES = {"n": 240, "n_tasks": 12, "max_leaves": 4, "least_count": 30}
CASES = {
    "plain": {"missing": 0.0, "categories": False},
    "missing": {"categories": False},
    "categories": {},
    "no task splits": {"task_splits": False},
    "no task values": {"task_values": False},
    "neither": {"task_splits": False, "task_values": False},
    "penalty": {"l2": 2.5},
    "depth": {"max_depth": 2},
    "large leaves": {"least_count": 20},
    "whole weights": {"weights": "whole"},
    "fractions": {"weights": "fractions"},
    "rising": {"direction": np.array([1, 0, 0, 0], dtype=np.int8)},
    "falling": {"direction": np.array([-1, 1, 0, -1], dtype=np.int8)},
    "groups": {"groups": np.array([[1, 0, 1, 0], [0, 1, 0, 1]], dtype=np.uint8)},
    "overlapping groups": {
        "groups": np.array([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]], dtype=np.uint8)
    },
    "few leaves": FEW_LEAVES,
    "few leaves, rising": {
        **FEW_LEAVES,
        "direction": np.array([1, 0, 0, 0], dtype=np.int8),
    },
    "few leaves, whole weights": {**FEW_LEAVES, "weights": "whole"},
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_trees_are_those_of_the_twin(case, seed):
    found, expected, *_, (_, _, rows) = both(seed, **CASES[case])
    for one, two in zip(found, expected, strict=True):
        assert_allclose(one[rows], two[rows], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "gamma"])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [{}, FEW_LEAVES], ids=["", "few leaves"])
def test_losses_are_those_of_the_twin(loss, seed, shape):
    found, expected, *_ = both(seed, loss, **shape)
    for one, two in zip(found, expected, strict=True):
        assert_allclose(one, two, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("loss", ["quantile", "absolute_error"])
@pytest.mark.parametrize("weights", [None, "whole", "fractions"])
@pytest.mark.parametrize("seed", range(3))
def test_quantiles_are_those_of_the_twin(loss, weights, seed):
    options = {"weights": weights, "rounds": 3, "max_leaves": 4, "n": 250}
    options["task_splits"] = seed > 0
    found, expected, trees, _, (_, _, rows) = both(seed, loss, **options)
    for one, two in zip(found, expected, strict=True):
        assert_allclose(one[rows], two[rows], rtol=1e-9, atol=1e-9)
    if seed == 0 and weights != "fractions":  # tasks depart, as in the twin
        assert sum(len(tree.departures[0]) for tree in trees)


@pytest.mark.parametrize("seed", range(3))
def test_new_rows_and_unknown_tasks_go_where_the_twin_sends_them(seed):
    *_, trees, roots, (binned, slow, _) = both(seed)
    rng = np.random.default_rng(seed + 100)
    bins = np.stack(
        [rng.integers(0, n + 1, size=300) for n in binned.features.n_bins], axis=1
    ).astype(np.uint8)
    task = rng.integers(-1, 6, size=300).astype(np.int32)
    for tree, root in zip(trees, roots, strict=True):
        scores = np.zeros((300, 1))
        Trees.of([tree], 6).add_scores(bins, task, scores)
        assert_allclose(
            scores[:, 0], slow.predict(root, bins, task), rtol=1e-7, atol=1e-9
        )


def test_problems_of_these_tests_have_splits_of_every_kind():
    kinds = set()
    problems = [both(seed, **shape) for shape in ({}, FEW_LEAVES) for seed in range(3)]
    for *_, trees, _, _ in problems:
        for tree in trees:
            nodes = tree.nodes
            kinds |= {
                "task"
                if f == TASK
                else "set"
                if b >= 0
                else "cut"
                if f >= 0
                else "leaf"
                for f, b in zip(nodes["feature"], nodes["first_byte"], strict=True)
            }
            if len(tree.departures[0]):
                kinds.add("departure")
    assert kinds == {"task", "set", "cut", "leaf", "departure"}


def test_softmax_gradients_are_those_of_the_twin():
    rng = np.random.default_rng(0)
    allowed = np.array([[1, 1, 0, 1], [1, 1, 1, 1], [0, 1, 1, 0]], dtype=bool)
    task = rng.integers(0, 3, size=60).astype(np.int32)
    y = np.array([rng.choice(np.flatnonzero(allowed[t])) for t in task])
    weight = rng.uniform(0.5, 2, size=60)
    scores = rng.normal(size=(60, 4))
    loss = MultinomialLoss(y, weight, task, allowed)
    g, h = loss.gradients(scores)
    slow_g, slow_h = twin.softmax_derivatives(y, scores, allowed, task, weight)
    assert_allclose(g.T, slow_g, atol=1e-12)
    assert_allclose(h.T, slow_h, atol=1e-12)


@pytest.mark.parametrize(
    "name", ["squared_error", "logistic", "poisson", "gamma", "quantile"]
)
def test_gradients_are_derivatives_of_the_loss(name):
    rng = np.random.default_rng(0)
    weight = rng.uniform(0.5, 2, size=50)
    loss, _ = make_loss(name, rng.normal(size=50), weight, rng)
    scores = rng.normal(size=(50, 1))
    g, _ = loss.gradients(scores)
    step = 1e-6
    for i in range(50):
        up, down = scores.copy(), scores.copy()
        up[i] += step
        down[i] -= step
        slope = (loss.value(up) - loss.value(down)) / (2 * step) * weight.sum()
        assert_allclose(g[0, i], slope, atol=1e-5)


def test_sums_do_not_depend_on_the_order_of_rows():
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=1000), rng.uniform(size=1000)
    ones = np.ones(1000, dtype=np.int64)
    sums = []
    for order in (np.arange(1000), rng.permutation(1000)):
        pairs = np.empty((1000, 2), dtype=np.int64)
        rows = np.arange(1000, dtype=np.int32)
        units = {
            "g_unit": 2.0**-50,
            "h_unit": 2.0**-40,
            "bits": 10,
            "square_unit": 2.0**-48,
        }
        noise = fill_pairs(g[order], h[order], ones, rows, **units, pairs=pairs)
        sums.append((*noise, *pairs.sum(axis=0)))
    assert_array_equal(*sums)


def test_joined_trees_are_the_trees_one_after_the_other():
    _, _, trees, _, (binned, _, _) = both(1)
    task = np.zeros(len(binned.bins), dtype=np.int32)
    expected = np.zeros((len(task), 1))
    for tree in trees:
        Trees.of([tree], 6).add_scores(binned.bins, task, expected)
    found = np.zeros((len(task), 1))
    Trees.of(trees, 6).add_scores(binned.bins, task, found)
    assert_array_equal(found, expected)
