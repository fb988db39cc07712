"""Multi-task random forest (Faddoul 2012, section 4.11)."""

import warnings
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.sparse import csr_array, hstack
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed

from kinlearn._kernels._random import stream_state
from kinlearn.exceptions import KinlearnWarning
from kinlearn.tasks import TaskData
from kinlearn.trees._sparse import dense_blocks
from kinlearn.trees.decision._base import MultiTaskTreeModel
from kinlearn.trees.decision._growth import Sampler
from kinlearn.trees.decision._model import MultiTaskTree, narrowed
from kinlearn.utils import rounds_with_callbacks
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._loaded import demand
from kinlearn.utils._sklearn import Interval
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["MultiTaskRandomForestClassifier"]

# Rows of a task for one thread: the trees are read again for each portion.
_PORTION = 8192


class MultiTaskRandomForestClassifier(CallbackSupportMixin, MultiTaskTreeModel):
    r"""Multi-task decision trees on resampled rows, with random features.

    Every tree is a :class:`MultiTaskDecisionTreeClassifier` that is grown on a
    bootstrap sample and chooses each test from a few features drawn at random.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees; the thesis uses 20.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    criterion : {"max", "sum", "joint"}, default="max"
        How the tasks' information gains decide together.
    purity : float in (0, 1], default=1.0
        A task is decided at a node when one label has at least this fraction
        of its rows there.
    max_depth : int, default=None
        Largest depth; None is no limit.
    min_samples_split : int, default=2
        Fewest rows, of all undecided tasks together, for a split.
    min_samples_leaf : int, default=3
        Fewest rows, of all undecided tasks together, on each side of a split.
        The default was better than 1 on all data it was measured on.
    min_weight_fraction_leaf : float, default=0.0
        The same for the weight, as a fraction of the weight of all rows.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Features that a node draws at random to choose from, as a number or a
        fraction; None is all of them.
    bootstrap : bool, default=True
        Whether each tree sees a sample with replacement. It is drawn within
        each task, so that every tree knows every task.
    oob_score : bool, default=False
        Whether to score each row by the trees that did not see it.
    shrinkage : float, default=0.0
        How far the label frequencies that decide a task are drawn towards those of its
        rows at the nodes above, see Notes; 0 is not at all.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class; "balanced" gives the classes of a task equal
        weight within the task.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict the average over the known tasks
        of what each predicts for the row; "warn" names them in a warning, "share" does
        not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    warm_start : bool, default=False
        Whether another `fit` keeps the trees and adds those that lack; the
        result is the same as if all had been grown at once.
    n_jobs : int, default=None
        Threads; None is 1 unless in a ``joblib.parallel_config`` context. The model
        does not depend on it.
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Columns whose values are categories, integers from 0 to 253: names, positions,
        or a mask of all columns of X. A node splits the categories of such a column
        many against many. Those not seen in fit are missing values. "from_dtype": the
        columns that a data frame says are categories.
    random_state : int, RandomState instance or None, default=None
        Decides the samples and the features.

    Attributes
    ----------
    trees_ : list of MultiTaskTree
        The trees as flat arrays.
    oob_score_ : float
        Accuracy on rows by the trees that did not see them.
    oob_task_scores_ : dict
        The same for each task; NaN if no row of it was left out.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities by those trees; NaN for rows that every tree saw.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
    feature_names_ : ndarray of shape (n_features,)
        Names of the features, without the task.
    feature_importances_ : ndarray of shape (n_features,)
        Fraction of each feature in the information gained within tasks.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskDecisionTreeClassifier : One tree, and what the criteria mean.

    Notes
    -----
    The forest averages the label frequencies of the trees' decisions. The thesis
    lets the trees vote; with leaves of one row the two nearly agree, and with
    larger ones the averages are better (see the guide).

    The thesis resamples all rows together. Here a task keeps its number of rows
    in each sample, since a tree without a row of a task could not predict it.

    With `shrinkage` :math:`\lambda`, what is predicted for a task is not the label
    frequencies f at the node that decides, but the sum, from the root on, of the
    changes of f from node to node, each divided by :math:`1 + \lambda / w`, where w is
    the weight of the task's rows at the upper node (Agarwal et al.). Few rows count
    less, and the trees need not be grown anew.

    Samples are drawn by the positions of rows, so that the order of the rows decides
    the forest together with `random_state`; without `bootstrap` it decides nothing.

    References
    ----------
    J. B. Faddoul, "Méthodes d'ensembles pour l'apprentissage multi-tâche, avec
    des tâches hétérogènes et sans restrictions", thesis, Lille, 2012.

    A. Agarwal, Y. S. Tan, O. Ronen, C. Singh, B. Yu, "Hierarchical shrinkage: improving
    the accuracy and interpretability of tree-based methods", ICML, 2022.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn import with_task
    >>> from kinlearn.trees import MultiTaskRandomForestClassifier
    >>> rng = np.random.default_rng(0)
    >>> task = np.repeat([0, 1], 50)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X[:, 0] + task > 0.5
    >>> forest = MultiTaskRandomForestClassifier(20, task=-1, random_state=0)
    >>> forest.fit(with_task(X, task), y).predict([[0.2, 0, 0, 0], [0.2, 0, 0, 1]])
    array([False,  True])
    """

    trees_: list[MultiTaskTree]

    _parameter_constraints: dict = {
        **MultiTaskTreeModel._parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        task: TaskColumn = None,
        criterion: Literal["max", "sum", "joint"] = "max",
        purity: float = 1.0,
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 3,
        min_weight_fraction_leaf: float = 0.0,
        max_features: int | float | Literal["sqrt", "log2"] | None = "sqrt",
        bootstrap: bool = True,
        oob_score: bool = False,
        shrinkage: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        warm_start: bool = False,
        n_jobs: int | None = None,
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.task = task
        self.criterion = criterion
        self.purity = purity
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.shrinkage = shrinkage
        self.class_weight = class_weight
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.categorical_features = categorical_features
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN in a feature is a missing value.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        MultiTaskRandomForestClassifier
            The fitted forest.
        """
        self._validate_params()
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score=True needs bootstrap=True: without resampling every tree "
                "sees every row."
            )
        goes_on = self.warm_start and hasattr(self, "trees_")
        data = self._fit_data(X, y, sample_weight, labels="classes", same=goes_on)
        kept = self._kept_trees(data)
        rows = self._growth_rows(data, bootstrap=self.bootstrap)
        sampler = Sampler(data.task, rows.weight, rows.scheme.task_rows)
        settings = self._growth_settings(data.X.shape[1])

        def grow(number: int) -> MultiTaskTree:
            seed = self._tree_seed(number)
            counts = sampler.counts(seed) if self.bootstrap else None
            return rows.tree(settings, seed, counts)

        numbers = range(len(kept), self.n_estimators)
        with rounds_with_callbacks(self, X, y, len(numbers)) as on_round:
            grown = Parallel(
                n_jobs=self.n_jobs, require="sharedmem", return_as="generator"
            )(delayed(grow)(number) for number in numbers)
            for number, tree in zip(numbers, grown, strict=True):
                with on_round(number):
                    kept.append(tree)
        self._keep(kept, len(data.classes))
        self._bags = (self.bootstrap, data.n_samples)
        if self.oob_score:
            self._score_out_of_bag(data, sampler)
        return self

    def _kept_trees(self, data: TaskData) -> list[MultiTaskTree]:
        """Trees of an earlier fit that a warm start keeps; else a new seed."""
        if not (self.warm_start and hasattr(self, "trees_")):
            self._draw_seed()
            return []
        if self.n_estimators < len(self.trees_):
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the "
                f"{len(self.trees_)} trees that warm_start=True keeps. Raise it, or "
                "set warm_start=False."
            )
        if self.oob_score and self._bags != (self.bootstrap, data.n_samples):
            raise ValueError(
                f"oob_score=True with warm_start=True draws the bags of the trees that "
                f"are there again, but they were grown with bootstrap={self._bags[0]} "
                f"on {self._bags[1]} rows. Keep both, or set warm_start=False."
            )
        return self._kept()

    def _draw_seed(self) -> None:
        self._seed = check_random_state(self.random_state).randint(2**31 - 1)

    def _tree_seed(self, number: int) -> int:
        return stream_state(self._seed, number)

    def _score_out_of_bag(self, data: TaskData, sampler: Sampler) -> None:
        X = data.X if sp.issparse(data.X) else np.ascontiguousarray(data.X)
        trees, X = narrowed(self.trees_, X)
        n_trees = np.zeros((data.n_samples, 1))
        for number in range(len(self.trees_)):
            n_trees[self._out_of_bag(sampler, number)] += 1

        def mean(task: np.ndarray) -> np.ndarray:
            out = np.zeros((data.n_samples, len(data.classes)))
            for number, tree in enumerate(trees):
                rows = self._out_of_bag(sampler, number)
                proba = np.zeros((len(rows), out.shape[1]))
                for some, dense in dense_blocks(X[rows]):
                    tree.add_proba(dense, task[rows[some]], proba[some])
                out[rows] += proba
            with np.errstate(invalid="ignore"):
                return out / n_trees

        unknown = np.full_like(data.task, -1)
        proba = self._label_sets.fill(
            mean(data.task), data.task, lambda rows: mean(unknown)[rows]
        )
        if not n_trees.all():
            warnings.warn(
                f"{np.sum(n_trees == 0)} of {data.n_samples} rows were seen by every "
                "tree and have no out-of-bag prediction. Use more trees.",
                KinlearnWarning,
                stacklevel=4,
            )
        known = n_trees[:, 0] > 0
        self.oob_decision_function_ = proba
        right = (np.argmax(proba, axis=1) == data.y)[known]
        self.oob_score_ = float(np.mean(right)) if known.any() else np.nan
        n_known = np.bincount(data.task[known], minlength=data.n_tasks)
        n_right = np.bincount(data.task[known], right, minlength=data.n_tasks)
        with np.errstate(invalid="ignore"):
            scores = n_right / n_known
        self.oob_task_scores_ = dict(
            zip(data.tasks.tolist(), scores.tolist(), strict=True)
        )

    def _out_of_bag(self, sampler: Sampler, number: int) -> np.ndarray:
        """Rows that a tree did not see."""
        return np.flatnonzero(sampler.counts(self._tree_seed(number)) == 0)

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        demand(len(self.trees_) > 0, "trees_")
        super()._check_arrays(n_features, n_tasks, n_classes)

    @property
    def _trees(self) -> list[MultiTaskTree]:
        return self.trees_

    @_trees.setter
    def _trees(self, trees: list[MultiTaskTree]) -> None:
        self.trees_ = trees

    def _add_proba(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        # Rows, not trees, are dealt out to the threads: each row's sum is then
        # taken in the order of the trees, whatever the number of threads.
        n_jobs = effective_n_jobs(self.n_jobs)
        if n_jobs == 1 or len(task) <= _PORTION:
            return super()._add_proba(X, task)
        of_rows = super()._add_proba
        portions = [slice(i, i + _PORTION) for i in range(0, len(task), _PORTION)]
        return np.concatenate(
            Parallel(n_jobs=self.n_jobs, require="sharedmem")(
                delayed(of_rows)(X[rows], task[rows]) for rows in portions
            )
        )

    def apply(self, X: Table) -> np.ndarray:
        """Node of each tree at which each row's task is decided.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        int array of shape (n_samples, n_estimators)
            Node numbers, of inner nodes too; leaves if the task is unknown.
        """
        return self._nodes(X)

    def decision_path(self, X: Table) -> tuple[csr_array, np.ndarray]:
        """Nodes on each row's way, in each tree, to where its task is decided.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        indicator : csr_array of shape (n_samples, n_nodes)
            1 where a row passes a node.
        n_nodes_ptr : int64 array of shape (n_estimators + 1,)
            The nodes of tree i are the columns ``n_nodes_ptr[i]`` to
            ``n_nodes_ptr[i + 1]``.
        """
        ends = self.apply(X)
        paths = [t.paths(e) for t, e in zip(self.trees_, ends.T, strict=True)]
        start = np.cumsum([0, *(t.node_count for t in self.trees_)], dtype=np.int64)
        return hstack(paths, format="csr"), start
