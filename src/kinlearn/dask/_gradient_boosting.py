"""Multi-task gradient boosting on a Dask cluster."""

from collections.abc import Callable
from typing import Any

from kinlearn import boosting
from kinlearn.boosting.gradient.partitions import fit_partitions
from kinlearn.dask._on_dask import ClassifierOnDask, ModelOnDask

__all__ = [
    "MultiTaskGradientBoostingClassifier",
    "MultiTaskGradientBoostingRegressor",
]


class _GradientBoostingOnDask(ModelOnDask):
    _narrow = False
    _categories = True
    _step = "round"
    _fixed = {"warm_start": "every fit begins anew"}

    def _grow(
        self, engine: Any, parts: list[Any], finished: Callable[[int], bool]
    ) -> None:
        self._check_settings()
        fit_partitions(self, engine, parts, finished)


class MultiTaskGradientBoostingClassifier(
    ClassifierOnDask,
    _GradientBoostingOnDask,
    boosting.MultiTaskGradientBoostingClassifier,
):
    """Gradient boosting with splits by tasks and values of tasks, on a Dask cluster.

    For the same rows and `random_state` the model is the same, to the bit, as that of
    :class:`kinlearn.boosting.MultiTaskGradientBoostingClassifier`: bins, trees, values
    of leaves and tasks.

    See Also
    --------
    kinlearn.boosting.MultiTaskGradientBoostingClassifier : The local class.
    MultiTaskRandomForestClassifier : Trees that grow independently.

    Notes
    -----
    Partitions keep their rows as bins, a byte for each feature, and with them scores
    and gradients: some 90 bytes a row, and 50 for each further class. They return
    sums of gradients and curvatures by bin and by task. One of the workers gathers them
    and chooses the splits; rows are never sent. Rows of leaves that will probably be
    split are parted ahead, so that a tree takes few messages. Sums are integers, so
    neither the partitions nor their order change the model; the order of all rows
    decides which are drawn by `subsample` or held back by `early_stopping`, as it does
    in the local class.

    Categories are columns of integers from 0 to 253 that `categorical_features` names.
    Rows for early stopping are held back of those of `fit`; there is no `X_val`.

    A worker that is lost is made up for: Dask reads its rows again, and the round at
    hand is repeated.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from kinlearn.dask import MultiTaskGradientBoostingClassifier
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=400), np.arange(400) % 4])
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] == 3)
    >>> model = MultiTaskGradientBoostingClassifier(task=-1, n_estimators=20)
    >>> _ = model.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100))
    >>> model.to_local().predict([[1, 0], [1, 3]])
    array([ True, False])
    >>> client.close()
    """

    _local = boosting.MultiTaskGradientBoostingClassifier


class MultiTaskGradientBoostingRegressor(
    _GradientBoostingOnDask, boosting.MultiTaskGradientBoostingRegressor
):
    """Gradient boosting with splits by tasks and values of tasks, for numbers, on Dask.

    For the same rows and `random_state` the model is the same, to the bit, as that of
    :class:`kinlearn.boosting.MultiTaskGradientBoostingRegressor`, for all losses.

    See Also
    --------
    kinlearn.boosting.MultiTaskGradientBoostingRegressor : The local class.
    MultiTaskGradientBoostingClassifier : The same for classes, and how it works.

    Notes
    -----
    Quantiles in leaves ("absolute_error", "quantile") are exact too: they are found
    digit by digit, from counts. That takes a dozen further messages for each tree.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from dask.distributed import Client
    >>> from kinlearn.dask import MultiTaskGradientBoostingRegressor
    >>> client = Client(processes=False, n_workers=1, dashboard_address=":0")
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=400), np.arange(400) % 4])
    >>> y = X[:, 0] + 10 * X[:, 1]
    >>> model = MultiTaskGradientBoostingRegressor(task=-1, n_estimators=20)
    >>> _ = model.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100))
    >>> np.abs(model.predict([[0, 0], [0, 3]]) - [0, 30]).max() < 1
    np.True_
    >>> client.close()
    """

    _local = boosting.MultiTaskGradientBoostingRegressor
    _labels = "numbers"
