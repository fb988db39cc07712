"""Trees in SHAP's form, walked row by row; SHAP values by their definition."""

from itertools import combinations
from math import comb

import numpy as np


def goes_left(tree, node, x):
    """Whether a row goes left at an inner node."""
    value = x[tree["features"][node]]
    if np.isnan(value):
        return tree["children_default"][node] == tree["children_left"][node]
    return value <= tree["thresholds"][node]


def leaf_of(tree, x):
    """The leaf that a row reaches."""
    node = 0
    while tree["children_left"][node] >= 0:
        side = "children_left" if goes_left(tree, node, x) else "children_right"
        node = tree[side][node]
    return node


def predict(model, X):
    """Sums of the leaves' values over the trees, and the base."""
    sums = [sum(t["values"][leaf_of(t, x)] for t in model["trees"]) for x in X]
    return np.array(sums) + model["base_offset"]


def expected(tree, x, known, node=0):
    """The mean answer where only some features of a row are known.

    At a node that asks another feature, both sides answer, by their weights.
    """
    left, right = tree["children_left"][node], tree["children_right"][node]
    if left < 0:
        return tree["values"][node]
    if tree["features"][node] in known:
        side = left if goes_left(tree, node, x) else right
        return expected(tree, x, known, side)
    weight = tree["node_sample_weight"]
    return (
        weight[left] * expected(tree, x, known, left)
        + weight[right] * expected(tree, x, known, right)
    ) / weight[node]


def shap_values(model, x):
    """SHAP values of a row, shape (n_features, n_outputs), over all subsets."""
    n = len(x)
    answer = {
        known: sum(expected(tree, x, known) for tree in model["trees"])
        for size in range(n + 1)
        for known in combinations(range(n), size)
    }
    out = np.zeros((n, len(answer[()])))
    for known, value in answer.items():
        for j in set(range(n)) - set(known):
            more = answer[tuple(sorted((*known, j)))]
            out[j] += (more - value) / (n * comb(n - 1, len(known)))
    return out
