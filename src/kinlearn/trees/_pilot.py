"""Settings of a forest chosen by small pilot forests inside the training rows."""

from dataclasses import replace

import numpy as np

from kinlearn._kernels._random import stream_state
from kinlearn.trees._forest import Forest
from kinlearn.trees._growth import grow_trees

__all__ = ["LEAVES", "TASK_SPLIT_PROBS", "Pilot"]

LEAVES = (40, 20, 10, 5, 2, 1)  # the one that is preferred comes first
TASK_SPLIT_PROBS = (0.5, 1.0)
_FOLDS = 4
_TREES = 12  # for each fold; with 6, chance decided between neighbours
_TOLERANCE = 0.02
_MOST_ROWS = 10_000
_FEWEST_ROWS = 40  # below, a comparison would be noise
_STREAM = 2**40  # no tree of the forest itself has this number


def _mixed(h):
    """Spread the bits of each number over all 64."""
    h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return h ^ (h >> np.uint64(31))


def row_groups(columns, y):
    """Number the distinct rows in an order that depends on their values alone.

    So neither the order of the rows nor repeated rows (or weights instead of
    them) change who is held out together with whom.

    Parameters
    ----------
    columns : float32 array of shape (n_features, n_samples)
        X, feature by feature.
    y : array of shape (n_samples,)
        Labels.

    Returns
    -------
    int array of shape (n_samples,)
        Equal for equal rows, otherwise as if drawn at random.
    """
    h = _mixed((y.astype(np.float64) + 0.0).view(np.uint64))
    for column in columns:
        # + 0 makes -0 and 0 alike; all NaN are one missing value.
        plain = np.where(np.isnan(column), np.float32(np.nan), column + np.float32(0))
        h = _mixed(h + np.uint64(0x9E3779B97F4A7C15) + plain.view(np.uint32))
    return np.unique(h, return_inverse=True)[1]


class Pilot:
    """Compares settings by held-out squared error.

    Trees are grown without a quarter of the rows in turn and answer for it. From
    the mean squared error of a few trees the part is taken off that more trees
    would average away, so that small leaves are not blamed for it.

    Parameters
    ----------
    growth : Growth
        Training rows.
    seed : int
        Decides the pilot trees.
    bootstrap : bool
        Whether each tree draws its rows.
    n_jobs : int
        Number of threads.

    Attributes
    ----------
    enough : bool
        Whether there are rows enough to compare anything.
    """

    def __init__(self, growth, seed, *, bootstrap, n_jobs):
        self.growth = growth
        self.seed = stream_state(seed, _STREAM)
        self.how = {"bootstrap": bootstrap, "n_jobs": n_jobs}
        rows, columns = np.arange(growth.n_samples), growth.columns
        if growth.weight is not None and not growth.weight.all():
            rows = rows[growth.weight > 0]
            columns = columns[:, rows]  # a copy, so only where rows drop out
        group = row_groups(columns, growth.y[rows])
        self.enough = group.max() + 1 >= _FEWEST_ROWS
        rows, group = rows[group < _MOST_ROWS], group[group < _MOST_ROWS]
        fold = group % _FOLDS
        self.folds = [(rows[fold != k], rows[fold == k]) for k in range(_FOLDS)]

    def best(self, candidates):
        """The first of the settings whose error is within 2% of the least.

        So candidates come in the order of preference: large leaves make small
        trees, and blur probabilities more than they hurt their order.

        Parameters
        ----------
        candidates : list of Settings
            At least one.

        Returns
        -------
        Settings
            One of them.
        """
        errors = np.array([self._error(settings) for settings in candidates])
        near = errors <= errors.min() + _TOLERANCE * np.abs(errors.min())
        return candidates[np.flatnonzero(near)[0]]

    def _error(self, settings):
        g = self.growth
        total = weights = 0.0
        for k, (train, test) in enumerate(self.folds):
            part = replace(
                g,
                columns=np.ascontiguousarray(g.columns[:, train]),
                by_row=None,
                y=g.y[train],
                weight=None if g.weight is None else g.weight[train],
                task=g.task[train],
                settings=settings,
            )
            seeds = [stream_state(self.seed, k * _TREES + i) for i in range(_TREES)]
            forest = Forest.join(list(grow_trees(part, seeds, **self.how)))
            X = np.ascontiguousarray(g.columns[:, test].T)
            answers = np.stack(
                [
                    forest.sum_values(X, g.task[test], first=i, last=i + 1)
                    for i in range(_TREES)
                ]
            )
            y = g.y[test][:, None]
            if g.n_classes > 2:
                y = y == np.arange(g.n_classes)
            error = (answers.mean(axis=0) - y) ** 2
            error -= answers.var(axis=0, ddof=1) / _TREES
            weight = np.ones(len(test)) if g.weight is None else g.weight[test]
            total += weight @ error.sum(axis=1)
            weights += weight.sum()
        return total / weights
