"""Values of trees, drawn towards those above them (Agarwal et al. 2022)."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array

from kinlearn.trees.decision._model import MultiTaskTree

__all__ = ["shrunk"]


def shrunk(tree: MultiTaskTree, shrinkage: float, n_classes: int) -> MultiTaskTree:
    r"""A tree whose decisions count the frequencies on the way to them.

    A decision of a task becomes

    .. math::

        f(r) + \sum_u \frac{f(u) - f(p(u))}{1 + \lambda / w(p(u))},

    summed over the nodes u on its way, without the root r; :math:`p(u)` is the parent,
    f the label frequencies of the task's rows at a node and w their weight.

    Parameters
    ----------
    tree : MultiTaskTree
        The tree.
    shrinkage : float
        The :math:`\lambda`; 0 leaves the tree as it is.
    n_classes : int
        How many classes there are.

    Returns
    -------
    MultiTaskTree
        With other values.
    """
    if shrinkage == 0:
        return tree
    n, task = len(tree.decision_task), tree.decision_task.astype(np.int64)
    node = np.repeat(np.arange(tree.node_count), np.diff(tree.decision_indptr))
    way = tree.paths(node)
    sizes = np.diff(way.indptr)
    decision = np.repeat(np.arange(n), sizes)
    n_tasks = int(task.max()) + 1
    pair, at = np.unique(
        way.indices.astype(np.int64) * n_tasks + task[decision], return_inverse=True
    )
    # what a task's rows at a node weigh, and their labels; a decision by the rows of
    # the parent has none
    own = np.where(tree.decision_rows > 0, tree.decision_weight, 0.0)
    weight = np.bincount(at, own[decision], minlength=len(pair))
    shape = (n, n_classes)
    shares = csr_array((tree.value_share, tree.value_label, tree.value_indptr), shape)
    above = csr_array((own[decision], (at, decision)), shape=(len(pair), n))
    labels = above @ shares
    empty = weight == 0
    end = way.indptr[1:] - 1
    borrowed = np.zeros(len(pair), dtype=np.intp)
    borrowed[at[end]] = np.arange(n)
    per_row = np.repeat(1 / np.where(empty, 1, weight), np.diff(labels.indptr))
    labels.data *= per_row
    which = np.flatnonzero(empty)
    fill = csr_array(
        (np.ones(len(which)), (which, borrowed[which])), shape=(len(pair), n)
    )
    frequencies = labels + fill @ shares
    # f(u) counts by its own factor less that of the next node on the way
    factor = np.ones(len(at))
    first = way.indptr[:-1]
    inner = np.ones(len(at), dtype=bool)
    inner[first] = False
    below = np.flatnonzero(inner)
    factor[below] = 1 / (1 + shrinkage / weight[at[below - 1]])
    following = np.zeros(len(at))
    following[below - 1] = factor[below]
    mix = csr_array((factor - following, (decision, at)), shape=(n, len(pair)))
    values = (mix @ frequencies).tocsr()
    values.eliminate_zeros()
    values.sort_indices()
    share = np.maximum(values.data, 0.0)
    total = np.add.reduceat(share, values.indptr[:-1])
    return replace(
        tree,
        value_indptr=values.indptr.astype(np.int32),
        value_label=values.indices.astype(np.int32),
        value_share=share / np.repeat(total, np.diff(values.indptr)),
    )
