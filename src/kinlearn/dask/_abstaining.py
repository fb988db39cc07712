"""Boosting over two-task stumps on a Dask cluster (Faddoul 2012)."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from kinlearn import boosting
from kinlearn.boosting.stumps.partitions import fit_partitions
from kinlearn.dask._on_dask import ClassifierOnDask

__all__ = ["AbstainingAdaBoostClassifier"]


class AbstainingAdaBoostClassifier(
    ClassifierOnDask, boosting.AbstainingAdaBoostClassifier
):
    """Boosting over two-task stumps, on a Dask cluster.

    For the same rows and `random_state` the model is the same as that of
    :class:`kinlearn.boosting.AbstainingAdaBoostClassifier`, to the bit: stumps, votes
    and normalisers, for tasks with two classes (MTAA) and with more (MH). Rows with
    several labels (y with a column for each) are for the local class alone.

    See Also
    --------
    kinlearn.boosting.AbstainingAdaBoostClassifier : The local class.
    MultiTaskRandomForestClassifier : Trees in the place of stumps.

    Notes
    -----
    Partitions keep their rows as sorted bins, and the weights of their rows. In each
    round they return sums by task, feature and bin, five times; the driver, which is
    that of the local class, searches these sums for the stump with the kernels that
    search the rows of one table. Rows and weights are never sent. With K classes (MH)
    a sum is 2 K + 1 numbers.

    Weights are whole numbers in the search, so their sums are exact. What they are
    divided by, and the normalisers, are sums of whole multiples of 2^-60, so they do
    not depend on the partitions or their order either. Only sample weights that are not
    whole numbers are added up as they come, partition by partition, in the weights to
    begin with and in the bins: the model is then that of the local class up to the
    rounding of these sums.

    A worker that is lost is made up for: Dask reads its rows again and repeats the
    rounds.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from kinlearn.dask import AbstainingAdaBoostClassifier
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=400), np.arange(400) % 4])
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] == 3)
    >>> model = AbstainingAdaBoostClassifier(4, task=-1)
    >>> _ = model.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100))
    >>> model.to_local().predict([[1, 0], [1, 3]])
    array([ True, False])
    >>> client.close()
    """

    _local = boosting.AbstainingAdaBoostClassifier
    _narrow = False
    _step = "round"
    _fixed = {"early_stopping": "rows to hold back are drawn from all in one place"}

    def _check_target(self, y: Any) -> None:
        shape: tuple[Any, ...] = getattr(y, "shape", ())
        if len(shape) == 2 and shape[1] != 1:
            raise ValueError(
                f"y has {shape[1]} columns. Rows with several labels are not available "
                f"on Dask: give y one column, or fit {self._local_name()} to a sample."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

    def _grow(
        self, engine: Any, parts: list[Any], finished: Callable[[int], bool]
    ) -> None:
        @contextmanager
        def on_round(_: int) -> Iterator[SimpleNamespace]:
            progress = SimpleNamespace(stop=False)
            yield progress
            progress.stop = finished(1)

        fit_partitions(self, engine, parts, on_round)
