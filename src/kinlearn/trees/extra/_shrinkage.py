"""Leaves' values, drawn towards those above them (Agarwal et al. 2022)."""

from dataclasses import replace

import numpy as np

from kinlearn.trees.extra._later import Branches
from kinlearn.trees.extra._model import LEAF, Forest

__all__ = ["shrunk"]


def shrunk(forest: Forest, shrinkage: float) -> Forest:
    r"""A forest whose leaves count the means on the way to them.

    The value of a leaf becomes

    .. math::

        m(r) + \sum_u \frac{m(u) - m(p(u))}{1 + \lambda / w(p(u))},

    summed over the nodes u from the root r, which is left out, to the leaf;
    :math:`p(u)` is the parent, m the mean of the rows at a node and w their weight.

    Parameters
    ----------
    forest : Forest
        The forest.
    shrinkage : float
        The :math:`\lambda`; 0 leaves the forest as it is.

    Returns
    -------
    Forest
        With other values.
    """
    if shrinkage == 0:
        return forest
    feature, weight = forest.nodes["feature"], forest.weight[:, None]
    first = np.repeat(forest.tree_start[:-1], np.diff(forest.tree_start))
    right = first + forest.nodes["right"]
    held = np.zeros((len(feature), forest.values.shape[1]))
    held[feature == LEAF] = forest.values * weight[feature == LEAF]
    below = Branches(forest)
    means = np.column_stack([below(column) for column in held.T]) / weight
    # a leaf's own value, to its last digit
    means[feature == LEAF] = forest.values
    out = means.copy()
    level = forest.tree_start[:-1]
    while len(level := level[feature[level] != LEAF]):
        factor = 1 / (1 + shrinkage / weight[level])
        sides = level + 1, right[level]
        for child in sides:
            out[child] = out[level] + factor * (means[child] - means[level])
        level = np.concatenate(sides)
    return replace(forest, values=out[feature == LEAF])
