"""Multi-task random forest on a Dask cluster (Faddoul 2012, section 4.11)."""

from collections.abc import Callable
from typing import Any

from kinlearn import trees
from kinlearn.dask._on_dask import ClassifierOnDask, ForestOnDask
from kinlearn.trees.decision.partitions import fit_partitions

__all__ = ["MultiTaskRandomForestClassifier"]


class MultiTaskRandomForestClassifier(
    ClassifierOnDask, ForestOnDask, trees.MultiTaskRandomForestClassifier
):
    """Multi-task decision trees on resampled rows, on a Dask cluster.

    For the same rows and `random_state` the model is the same, tree by tree, as that of
    :class:`kinlearn.trees.MultiTaskRandomForestClassifier`: the same bins, bootstrap
    samples, features and cuts.

    See Also
    --------
    kinlearn.trees.MultiTaskRandomForestClassifier : The local class.
    MultiTaskExtraTreesClassifier : Cuts at random, which cost less.

    Notes
    -----
    Partitions keep their rows as bins, a byte for each feature, and return the
    weight of each task's labels in the bins of a feature; the driver finds the best
    cuts. Nodes with few rows, no more than an average worker has, are grown to the end
    on one worker: their bins are brought there, those of a few nodes at a time. Sums
    are integers, so neither the partitions nor their sizes change the trees; the order
    of the rows decides who is in which bootstrap sample, as it does in the local class.
    Each partition draws the samples of the tasks it has rows of, so data divided by
    task need the least work.

    Categories are columns of integers from 0 to 253 that `categorical_features` names.

    A worker that is lost is made up for: Dask reads its rows again and repeats the
    splits.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from kinlearn.dask import MultiTaskRandomForestClassifier
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=400), np.arange(400) % 4])
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] == 3)
    >>> forest = MultiTaskRandomForestClassifier(10, task=-1, random_state=0)
    >>> _ = forest.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100))
    >>> forest.to_local().predict([[1, 0], [1, 3]])
    array([ True, False])
    >>> client.close()
    """

    _local = trees.MultiTaskRandomForestClassifier
    _narrow = False
    _categories = True
    _fixed = {
        **ForestOnDask._fixed,
        "oob_score": "rows out of the bag are not scored where they lie",
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
