"""Forests are joined from trees as they come."""

from dataclasses import fields

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.trees import MultiTaskExtraTreesClassifier
from kinlearn.trees.extra import _model


def _trees(smoothing):
    """A forest for each seed, of 1, 2, 3, ... trees."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(120, 3)), rng.integers(0, 4, size=120)])
    y = rng.integers(0, 2, size=120)
    return [
        MultiTaskExtraTreesClassifier(
            n, task=-1, leaf_smoothing=smoothing, min_samples_leaf=2, random_state=n
        )
        .fit(X, y)
        .forest_
        for n in range(1, 6)
    ]


@pytest.mark.parametrize("at_once", [0, 100, 10**6])
@pytest.mark.parametrize("smoothing", [None, 2.0])
def test_joined_forest_holds_the_trees_in_their_order(monkeypatch, smoothing, at_once):
    monkeypatch.setattr(_model, "_NODES_AT_ONCE", at_once)
    trees = _trees(smoothing)
    whole = _model.Forest.join(iter(trees))
    assert whole.n_trees == 15
    for field in fields(_model.Forest):
        parts = [getattr(tree, field.name) for tree in trees]
        if parts[0] is None:
            assert getattr(whole, field.name) is None
            continue
        if field.name.endswith("_start"):
            lengths = np.concatenate([np.diff(part) for part in parts])
            expected = np.concatenate([[0], np.cumsum(lengths)])
        else:
            expected = np.concatenate(parts)
        assert_array_equal(getattr(whole, field.name), expected, strict=True)


def test_joining_leaves_the_trees_as_they_are():
    trees = _trees(None)
    before = [tree.nodes.copy() for tree in trees]
    _model.Forest.join(trees)
    for tree, nodes in zip(trees, before, strict=True):
        assert_array_equal(tree.nodes, nodes)
