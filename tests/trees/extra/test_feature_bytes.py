"""Features as bytes: any bins give the same trees, good ones give them fast."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn import with_task
from kinlearn._binning import feature_bytes
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor
from kinlearn.trees.extra import _growth


def draw(kind, rng, n):
    """Values of a feature of some kind."""
    x = rng.normal(size=n)
    kinds = {
        "normal": x,
        "far from zero": 1e4 + x,
        "log-normal": np.exp(3 * x),
        "Cauchy": np.clip(x / rng.normal(size=n), -1e30, 1e30),
        "half zeros": np.where(x > 0, x, 0),
        "two values": x > 1,
        "a rare value": np.arange(n) == n - 2,
        "integers": np.floor(100 * rng.random(n)),
        "counts": rng.poisson(3, size=n),
        "missing values": np.where(x > 0.5, np.nan, x),
        "constant": np.full(n, -7.25),
        "nothing": np.full(n, np.nan),
        "the widest range": np.clip(1e38 * x, -3e38, 3e38),
        "the narrowest range": np.where(x > 0, 1e-45, 0),
    }
    return kinds if kind is None else kinds[kind]


KINDS = sorted(draw(None, np.random.default_rng(0), 2))


@pytest.mark.parametrize("kind", KINDS)
def test_few_rows_share_a_bin_with_other_values(kind):
    rng = np.random.default_rng(3)
    X = np.empty((50_000, 2), dtype=np.float32)
    X[:, 0] = 1
    X[:, 1] = draw(kind, rng, len(X))
    found = feature_bytes(X)
    x, bin = X[:, 1], found.bins[1]
    assert_array_equal(bin == 255, np.isnan(x))
    assert_array_equal(found.has_missing, [0, np.isnan(x).any()])
    order = np.argsort(x[bin < 255])
    assert (np.diff(bin[bin < 255][order].astype(int)) >= 0).all()
    for c in np.unique(bin[bin < 255]):
        own = x[bin == c]
        assert (own.min(), own.max()) == (found.lowest[1, c], found.highest[1, c])
        assert own.min() == own.max() or len(own) < 0.1 * len(x)


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("two", {}),
        ("two", {"bootstrap": True, "n_jobs": 2}),
        ("two", {"n_cuts": 5, "max_features": None}),
        ("four", {"class_weight": "balanced"}),
        ("numbers", {}),
        ("numbers", {"max_features": 1}),
    ],
)
def test_forests_are_the_same_as_bytes(kind, options, monkeypatch):
    rng = np.random.default_rng(5)
    n = 20_000
    X = np.stack([draw(kind, rng, n) for kind in KINDS], axis=1).astype(np.float32)
    task = rng.integers(0, 20, size=n)
    number = X[:, KINDS.index("normal")] + rng.normal(size=n) + task / 10
    y = {
        "two": number > 0,
        "four": np.digitize(number, [0, 1, 2]),
        "numbers": number,
    }[kind]
    model = MultiTaskExtraTreesRegressor
    if kind != "numbers":
        model = MultiTaskExtraTreesClassifier
    options = {"task_split_prob": 0.25, "min_samples_leaf": 1, **options}
    model = model(3, task=-1, random_state=0, **options)
    monkeypatch.setattr(_growth, "_BOTH_WAYS_BYTES", 0)
    nodes = []
    for rows in 1, n + 1:
        monkeypatch.setattr(_growth, "_BYTES_ROWS", rows)
        nodes.append(model.fit(with_task(X, task), y).forest_.nodes)
    assert len(nodes[0]) > 100
    assert_array_equal(nodes[0], nodes[1])
