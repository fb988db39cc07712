"""Hierarchical shrinkage as Agarwal et al. (2022) define it, row by row."""

import numpy as np


def shrunken_frequencies(paths, task, y, weight, shrinkage):
    """Label frequencies of each row's task along its way, drawn towards the root's.

    `paths` says which nodes each training row passes, in the order of their depth.
    """
    out = np.zeros((len(y), y.max() + 1))
    labels = np.eye(y.max() + 1)[y]
    for t in np.unique(task):
        mine = task == t
        out[mine] = shrunken_means(paths[mine], labels[mine], weight[mine], shrinkage)
    return out


def shrunken_means(paths, values, weight, shrinkage):
    """The same of the means of numbers, for rows of one task or of all."""
    out = np.zeros(values.shape)
    for row in range(len(values)):
        before = before_weight = None
        for node in np.flatnonzero(paths[row]):
            here = paths[:, node]
            mean = np.average(values[here], axis=0, weights=weight[here])
            if before is None:
                out[row] = mean
            else:
                out[row] += (mean - before) / (1 + shrinkage / before_weight)
            before, before_weight = mean, weight[here].sum()
    return out
