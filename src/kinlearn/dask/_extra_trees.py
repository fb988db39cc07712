"""Multi-task extra trees on a Dask cluster (Simm et al. 2014)."""

from collections.abc import Callable
from typing import Any

from kinlearn import trees
from kinlearn.dask._on_dask import ClassifierOnDask, ForestOnDask
from kinlearn.trees.extra.partitions import fit_partitions

__all__ = ["MultiTaskExtraTreesClassifier", "MultiTaskExtraTreesRegressor"]


class _ExtraTreesOnDask(ForestOnDask):
    _fixed = {
        **ForestOnDask._fixed,
        "oob_score": "a prediction of every row would have to come to one place; keep "
        "some rows out of fit, and score the predictions for them",
    }

    def _grow(
        self, engine: Any, partitions: list[Any], finished: Callable[[int], bool]
    ) -> None:
        fit_partitions(
            self,
            engine,
            partitions,
            trees_at_once=self.trees_at_once,
            finished=finished,
        )


class MultiTaskExtraTreesClassifier(
    ClassifierOnDask, _ExtraTreesOnDask, trees.MultiTaskExtraTreesClassifier
):
    """Extremely randomised trees that may also split by task, on a Dask cluster.

    For the same rows and `random_state` the model is the same, tree by tree, as that of
    :class:`kinlearn.trees.MultiTaskExtraTreesClassifier`.

    See Also
    --------
    kinlearn.trees.MultiTaskExtraTreesClassifier : The local class.
    MultiTaskRandomForestClassifier : Trees that look for the best cuts.

    Notes
    -----
    The driver draws features and cuts; partitions return extremes and sums. Nodes
    with few rows, a sixth of what an average worker has, are grown to the end on one
    worker: their rows are brought there, those of a few nodes at a time. 10,000 rows at
    the most go to the driver, if they are to decide what is "auto". The random numbers
    of a node are its own and sums are integers, so neither the partitions nor their
    order change the trees. With `bootstrap`, a partition draws for all rows and keeps
    the draws of its own; so the order of the rows matters, as it does locally. A worker
    that is lost is made up for: Dask reads its rows again and repeats the splits.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from kinlearn.dask import MultiTaskExtraTreesClassifier
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=400), np.arange(400) % 4])
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] == 3)
    >>> forest = MultiTaskExtraTreesClassifier(
    ...     10, task=-1, min_samples_leaf=5, task_split_prob=1, max_depth=4
    ... )
    >>> _ = forest.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100))
    >>> forest.to_local().predict([[1, 0], [1, 3]])
    array([ True, False])
    >>> client.close()
    """

    _local = trees.MultiTaskExtraTreesClassifier


class MultiTaskExtraTreesRegressor(
    _ExtraTreesOnDask, trees.MultiTaskExtraTreesRegressor
):
    """Extremely randomised trees that may also split by task, for numbers, on Dask.

    For the same rows and `random_state` the model is the same, tree by tree, as that of
    :class:`kinlearn.trees.MultiTaskExtraTreesRegressor`; the leaves' means agree up to
    the rounding of sums. So do offsets, to the last digit, and the line, whose
    coefficients are rounded so that the order of sums does not show.

    See Also
    --------
    kinlearn.trees.MultiTaskExtraTreesRegressor : The local class.
    MultiTaskExtraTreesClassifier : The same for classes, and how it works.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from kinlearn.dask import MultiTaskExtraTreesRegressor
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=400), np.arange(400) % 4])
    >>> y = X[:, 0] + 10 * X[:, 1]
    >>> forest = MultiTaskExtraTreesRegressor(
    ...     10, task=-1, min_samples_leaf=5, task_split_prob=1, max_depth=4
    ... )
    >>> _ = forest.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100))
    >>> np.abs(forest.predict([[0, 0], [0, 3]]) - [0, 30]).max() < 5
    np.True_
    >>> client.close()
    """

    _local = trees.MultiTaskExtraTreesRegressor
    _labels = "numbers"
