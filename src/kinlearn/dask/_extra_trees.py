"""Multi-task extra trees on a Dask cluster (Simm et al. 2014)."""

from numbers import Integral
from typing import Any

import dask.dataframe as dd
import numpy as np
import pandas as pd
from sklearn.callback import with_callbacks
from sklearn.utils.validation import check_is_fitted

from kinlearn import trees
from kinlearn.dask._cluster import ClusterParts, find_client
from kinlearn.dask._disk import DiskParts, OnDisk
from kinlearn.dask._tables import answer_parts, is_dask, read_parts
from kinlearn.trees.partitioned import fit_parts
from kinlearn.utils._sklearn import Interval

__all__ = ["MultiTaskExtraTreesClassifier", "MultiTaskExtraTreesRegressor"]


_Forest: Any = object  # to mypy: what the following class is mixed into


class _ExtraTreesOnDask(_Forest):
    """What the classifier and the regressor share; comes before the local class."""

    _local: Any  # the local class
    _labels: str
    trees_at_once: int | None
    client: Any

    # Parameters of the local forests that have one value here, and why.
    _fixed = {
        "bootstrap": "samples of rows that lie apart are not drawn",
        "oob_score": "there are no rows out of the bag",
        "warm_start": "every fit begins anew",
    }
    _parameter_constraints: dict

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        cls._parameter_constraints = {
            **cls._parameter_constraints,
            "client": "no_validation",
            "trees_at_once": [Interval(Integral, 1, None, closed="left"), None],
        }

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Grow the forest; rows stay where they are.

        Parameters
        ----------
        X : Dask DataFrame or array of shape (n_samples, n_columns)
            Rows with the task column; NaN in features is a missing value.
        y : Dask Series or array of shape (n_samples,)
            Targets, divided as X is.
        sample_weight : Dask Series or array of shape (n_samples,), default=None
            Weights; see the local class.

        Returns
        -------
        self
            The fitted forest.
        """
        self._validate_params()
        self._check_fixed()
        on_disk = isinstance(self.client, OnDisk)
        client = self.client if on_disk else find_client(self.client)
        options = {"task": self.task, "labels": self._labels, "allow_nan": True}
        options["estimator"] = type(self).__name__
        parts = read_parts(client, X, y, sample_weight, options)
        progress = self._init_callback_context(max_subtasks=self.n_estimators)
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        n_done = 0

        def finished(n_trees):
            nonlocal n_done
            for number in range(n_done, n_done + n_trees):
                step = progress.subcontext(task_name=f"tree {number}")
                step.call_on_fit_task_begin(estimator=self)
                step.call_on_fit_task_end(estimator=self)
            n_done += n_trees

        with DiskParts(client) if on_disk else ClusterParts(client) as engine:
            fit_parts(
                self,
                engine,
                engine.read(parts),
                criterion=self._criterion_code,
                trees_at_once=self.trees_at_once,
                finished=finished,
            )
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _check_fixed(self):
        for name, why in self._fixed.items():
            if getattr(self, name) is not False:
                raise ValueError(
                    f"{name}={getattr(self, name)!r} is not available on Dask: {why}. "
                    f"Set {name}=False, or fit kinlearn.trees.{type(self).__name__} "
                    "to a sample."
                )

    def to_local(self):
        """The same forest as an ordinary estimator, which needs no cluster.

        Returns
        -------
        estimator
            Of :mod:`kinlearn.trees`, fitted if this one is.
        """
        params = self.get_params(deep=False)
        own = {name: params.pop(name) for name in ("client", "trees_at_once")}
        local = self._local(**params)
        state = {k: v for k, v in vars(self).items() if k not in {*params, *own}}
        vars(local).update(state)
        return local

    def _ask(self, method, X, like):
        check_is_fitted(self)
        return answer_parts(X, self.to_local(), method, like)

    def __sklearn_clone__(self):
        # A client cannot be copied, and need not be.
        params = self.get_params(deep=False)
        client = params.pop("client")
        local = self._local(**{k: v for k, v in params.items() if k != "trees_at_once"})
        copied = local.__sklearn_clone__().get_params(deep=False)
        return type(self)(
            **copied, trees_at_once=params["trees_at_once"], client=client
        )

    def __getstate__(self):
        return {**super().__getstate__(), "client": None}


class MultiTaskExtraTreesClassifier(
    _ExtraTreesOnDask, trees.MultiTaskExtraTreesClassifier
):
    """Extremely randomised trees that may also split by task, on a Dask cluster.

    For the same rows and `random_state` the model is the same, tree by tree, as that of
    :class:`kinlearn.trees.MultiTaskExtraTreesClassifier`.

    Parameters
    ----------
    n_estimators, task, task_split_prob, task_smoothing, leaf_smoothing, criterion, \
max_features, n_cuts, max_depth, min_samples_split, min_samples_leaf, \
min_impurity_decrease, class_weight, unknown_task, random_state : see the local class
        The same.
    bootstrap, oob_score, warm_start : bool, default=False
        Must be False here.
    n_jobs : int, default=None
        Threads that the local forest of `to_local` predicts with.
    trees_at_once : int or None, default=None
        Trees that grow together. More of them need fewer rounds, and 4 bytes of
        memory a row and tree. None: as many as need an eighth of the memory of X.
    client : dask.distributed.Client, OnDisk or None, default=None
        The cluster; None is the client that was made last. :class:`OnDisk` is this
        process alone, with the rows in files. Not pickled.

    Attributes
    ----------
    forest_, classes_, tasks_, task_classes_ and others : see the local class
        The same.

    See Also
    --------
    kinlearn.trees.MultiTaskExtraTreesClassifier : The local class, with all parameters.

    Notes
    -----
    The driver draws features and cuts; partitions answer with extremes and sums. No row
    leaves its partition, but for 10,000 at the most that decide what is "auto". The
    random numbers of a node are its own and sums are integers, so neither the
    partitions nor their order change the trees. A worker that is lost is made up for:
    Dask reads its rows again and repeats the splits.

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
    _labels = "classes"

    def __init__(
        self,
        n_estimators=300,
        *,
        task=None,
        task_split_prob="auto",
        task_smoothing=1.0,
        leaf_smoothing=None,
        criterion="entropy",
        max_features="auto",
        n_cuts="auto",
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf="auto",
        min_impurity_decrease=0.0,
        class_weight=None,
        bootstrap=False,
        oob_score=False,
        warm_start=False,
        unknown_task="error",
        n_jobs=None,
        random_state=None,
        trees_at_once=None,
        client=None,
    ):
        super().__init__(
            n_estimators,
            task=task,
            task_split_prob=task_split_prob,
            task_smoothing=task_smoothing,
            leaf_smoothing=leaf_smoothing,
            criterion=criterion,
            max_features=max_features,
            n_cuts=n_cuts,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_impurity_decrease=min_impurity_decrease,
            class_weight=class_weight,
            bootstrap=bootstrap,
            oob_score=oob_score,
            warm_start=warm_start,
            unknown_task=unknown_task,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.trees_at_once = trees_at_once
        self.client = client

    @property
    def _criterion_code(self):
        return int(self.criterion == "entropy")

    def predict_proba(self, X):
        """Class probabilities, partition by partition.

        Parameters
        ----------
        X : Dask DataFrame or array, or ordinary data, of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        Dask DataFrame or array of shape (n_samples, n_classes)
            Lazy; an ndarray at once for ordinary data.
        """
        if not is_dask(X):
            return super().predict_proba(X)
        check_is_fitted(self)
        like = np.empty((0, len(self.classes_)))
        if isinstance(X, dd.DataFrame):
            like = pd.DataFrame(like, columns=self.classes_)
        return self._ask("predict_proba", X, like)

    def predict(self, X):
        """The most probable class, partition by partition.

        Parameters
        ----------
        X : Dask DataFrame or array, or ordinary data, of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        Dask Series or array of shape (n_samples,)
            Lazy; an ndarray at once for ordinary data.
        """
        if not is_dask(X):
            return super().predict(X)
        check_is_fitted(self)
        like = self.classes_[:0]
        like = pd.Series(like) if isinstance(X, dd.DataFrame) else like
        return self._ask("predict", X, like)


class MultiTaskExtraTreesRegressor(
    _ExtraTreesOnDask, trees.MultiTaskExtraTreesRegressor
):
    """Extremely randomised trees that may also split by task, for numbers, on Dask.

    For the same rows and `random_state` the model is the same, tree by tree, as that of
    :class:`kinlearn.trees.MultiTaskExtraTreesRegressor`; the leaves' means agree up to
    the rounding of sums.

    Parameters
    ----------
    n_estimators, task, task_split_prob, task_smoothing, leaf_smoothing, \
max_features, n_cuts, max_depth, min_samples_split, min_samples_leaf, \
min_impurity_decrease, unknown_task, random_state : see the local class
        The same.
    task_offset, linear_part : bool, default=False
        Must be False here; the local class has "auto" for a default.
    bootstrap, oob_score, warm_start : bool, default=False
        Must be False here.
    n_jobs : int, default=None
        Threads that the local forest of `to_local` predicts with.
    trees_at_once : int or None, default=None
        Trees that grow together. More of them need fewer rounds, and 4 bytes of
        memory a row and tree. None: as many as need an eighth of the memory of X.
    client : dask.distributed.Client, OnDisk or None, default=None
        The cluster; None is the client that was made last. :class:`OnDisk` is this
        process alone, with the rows in files. Not pickled.

    Attributes
    ----------
    forest_, tasks_ and others : see the local class
        The same.

    See Also
    --------
    kinlearn.trees.MultiTaskExtraTreesRegressor : The local class, with all parameters.
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
    _criterion_code = 2
    _fixed = {
        **_ExtraTreesOnDask._fixed,
        "task_offset": "offsets are learned from all rows in one place",
        "linear_part": "the line is fitted to all rows in one place",
    }

    def __init__(
        self,
        n_estimators=300,
        *,
        task=None,
        task_split_prob="auto",
        task_smoothing=1.0,
        leaf_smoothing=None,
        task_offset=False,
        linear_part=False,
        max_features=1 / 3,
        n_cuts=1,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf="auto",
        min_impurity_decrease=0.0,
        bootstrap=False,
        oob_score=False,
        warm_start=False,
        unknown_task="error",
        n_jobs=None,
        random_state=None,
        trees_at_once=None,
        client=None,
    ):
        super().__init__(
            n_estimators,
            task=task,
            task_split_prob=task_split_prob,
            task_smoothing=task_smoothing,
            leaf_smoothing=leaf_smoothing,
            task_offset=task_offset,
            linear_part=linear_part,
            max_features=max_features,
            n_cuts=n_cuts,
            max_depth=max_depth,
            min_samples_split=min_samples_split,
            min_samples_leaf=min_samples_leaf,
            min_impurity_decrease=min_impurity_decrease,
            bootstrap=bootstrap,
            oob_score=oob_score,
            warm_start=warm_start,
            unknown_task=unknown_task,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.trees_at_once = trees_at_once
        self.client = client

    def predict(self, X):
        """The mean of the leaves' answers, partition by partition.

        Parameters
        ----------
        X : Dask DataFrame or array, or ordinary data, of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        Dask Series or array of shape (n_samples,)
            Lazy; an ndarray at once for ordinary data.
        """
        if not is_dask(X):
            return super().predict(X)
        like = np.empty(0)
        like = pd.Series(like) if isinstance(X, dd.DataFrame) else like
        return self._ask("predict", X, like)
