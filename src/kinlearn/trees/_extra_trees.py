"""Multi-task extremely randomised trees (Simm, Magrans de Abril & Sugiyama 2014)."""

from abc import ABCMeta, abstractmethod
from numbers import Integral, Real

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.callback import CallbackSupportMixin, with_callbacks
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import check_random_state, compute_sample_weight
from sklearn.utils.validation import check_is_fitted

from kinlearn._kernels._random import stream_state
from kinlearn.tasks import TaskMixin
from kinlearn.trees._forest import Forest
from kinlearn.trees._growth import Growth, Settings, bootstrap_counts, grow_trees
from kinlearn.utils._sklearn import Interval, StrOptions

__all__ = ["MultiTaskExtraTreesClassifier", "MultiTaskExtraTreesRegressor"]


def _count(value, total):
    """A number of features or of rows' weight: as it is, or a share of all."""
    return value if isinstance(value, Integral) else value * total


class _MultiTaskExtraTrees(
    CallbackSupportMixin, TaskMixin, BaseEstimator, metaclass=ABCMeta
):
    """What the classifier and the regressor share."""

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "task_split_prob": [Interval(Real, 0, 1, closed="both")],
        "task_smoothing": [Interval(Real, 0, None, closed="left")],
        "leaf_smoothing": [Interval(Real, 0, None, closed="left"), None],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "n_cuts": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    @abstractmethod
    def _open_labels(self, X, y, sample_weight):
        """Checked data, number of classes (0 for numbers), weights, criterion."""

    @abstractmethod
    def _score(self, y_true, answer):
        """The score of `score`, for a prediction out of the bag."""

    @abstractmethod
    def _finish(self, sums, n_trees, task):
        """The answer from the sum of the trees' values."""

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Grow the forest.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN in features is a missing value.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. All counts (`min_samples_leaf`, say) are sums of weights, so a
            weight of 2 is the same as two rows, and 0 the same as none.

        Returns
        -------
        self
            The fitted forest.
        """
        self._validate_params()
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score=True needs rows out of the bag; set bootstrap=True too."
            )
        data, n_classes, weight, criterion = self._open_labels(X, y, sample_weight)
        settings = self._settings(data, weight, criterion)
        growth = Growth.from_data(
            data, n_classes, weight, settings, self.leaf_smoothing
        )
        old = self._trees_to_keep()
        if not old:
            random = check_random_state(self.random_state)
            self._seed = int(random.randint(np.iinfo(np.int32).max))
        n_old = old[0].n_trees if old else 0
        seeds = [stream_state(self._seed, i) for i in range(n_old, self.n_estimators)]

        progress = self._init_callback_context(max_subtasks=len(seeds))
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)
        trees = grow_trees(
            growth,
            seeds,
            bootstrap=self.bootstrap,
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        forests = old
        for i, tree in enumerate(trees):
            step = progress.subcontext(task_name=f"tree {n_old + i}")
            step.call_on_fit_task_begin(estimator=self)
            forests.append(tree)
            step.call_on_fit_task_end(estimator=self)
        self.forest_ = Forest.join(forests)
        if self.oob_score:
            self._score_out_of_bag(data)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _trees_to_keep(self):
        if not (self.warm_start and hasattr(self, "forest_")):
            return []
        n_old = self.forest_.n_trees
        if self.n_estimators < n_old:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_old} trees that "
                "are there (warm_start=True). Ask for more, or set warm_start=False."
            )
        return [self.forest_]

    def _settings(self, data, weight, criterion):
        d = data.X.shape[1]
        named = {"sqrt": np.sqrt(d), "log2": np.log2(d), None: d}
        k = (
            named[self.max_features]
            if self.max_features in named
            else _count(self.max_features, d)
        )
        total = data.n_samples if weight is None else weight.sum()
        return Settings(
            criterion=criterion,
            max_features=min(max(1, int(k)), d),
            n_cuts=self.n_cuts,
            max_depth=2**31 - 1 if self.max_depth is None else self.max_depth,
            task_split_prob=self.task_split_prob,
            task_smoothing=self.task_smoothing,
            min_weight_split=_count(self.min_samples_split, total),
            min_weight_leaf=_count(self.min_samples_leaf, total),
            min_impurity_decrease=self.min_impurity_decrease,
        )

    def _sum_over_trees(self, X):
        rows = self._predict_data(X)
        sums = self.forest_.sum_values(
            rows.X, rows.task, n_jobs=effective_n_jobs(self.n_jobs)
        )
        return sums, rows.task

    def _score_out_of_bag(self, data):
        """Answer for each row from the trees that did not see it."""
        sums = np.zeros((data.n_samples, self.forest_.values.shape[1]))
        n_trees = np.zeros(data.n_samples)
        for i in range(self.forest_.n_trees):
            seed = stream_state(self._seed, i)
            out = np.flatnonzero(bootstrap_counts(seed, data.n_samples) == 0)
            sums[out] += self.forest_.sum_values(
                data.X[out], data.task[out], first=i, last=i + 1
            )
            n_trees[out] += 1
        seen = n_trees > 0
        answer = self._finish(sums[seen], n_trees[seen, None], data.task[seen])
        self.oob_answer_ = np.full((data.n_samples, *answer.shape[1:]), np.nan)
        self.oob_answer_[seen] = answer
        self.oob_score_ = self._score(data.y[seen], answer)
        self.oob_task_scores_ = {
            name: self._score(data.y[rows], self.oob_answer_[rows])
            for t, name in enumerate(data.tasks.tolist())
            if len(rows := data.rows(t)[seen[data.rows(t)]]) > 1
        }

    def apply(self, X):
        """The leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        int32 array of shape (n_samples, n_estimators)
            Number of the leaf's node, counted from the start of its tree.
        """
        rows = self._predict_data(X)
        return self.forest_.apply(rows.X, rows.task)

    def decision_path(self, X):
        """The nodes that each row passes.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        indicator : csr_array of shape (n_samples, n_nodes)
            1 where a row passes a node.
        n_nodes_ptr : int64 array of shape (n_estimators + 1,)
            The nodes of tree i are the columns ``n_nodes_ptr[i]`` to
            ``n_nodes_ptr[i + 1]``.
        """
        rows = self._predict_data(X)
        return self.forest_.decision_path(rows.X, rows.task), self.forest_.tree_start

    @property
    def feature_importances_(self):
        """Share of each column of X in the impurity decrease; they sum to 1.

        The entry of the task column is what task splits account for.
        """
        share = self._importances()
        out = np.zeros(self.n_features_in_)
        out[list(self._columns.features)] = share[:-1]
        if self._columns.task is not None:
            out[self._columns.task] = share[-1]
        return out

    @property
    def task_importance_(self):
        """Share of the impurity decrease that task splits account for."""
        return float(self._importances()[-1])

    @property
    def task_affinity_(self):
        """How often task splits keep two tasks on the same side, weighted by rows.

        Computed when asked for, of shape (n_tasks, n_tasks), in the order of
        ``tasks_``. Task splits go by the tasks' means, so it tells tasks of another
        level apart; tasks of the same level that differ in slope, only weakly.
        """
        check_is_fitted(self)
        return self.forest_.affinity(len(self.tasks_))

    def _importances(self):
        check_is_fitted(self)
        return self.forest_.importances(len(self.feature_names_))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


class MultiTaskExtraTreesClassifier(ClassifierMixin, _MultiTaskExtraTrees):
    """Extremely randomised trees that may also split by task, for classes.

    Every node draws a few features, cuts each at random, and now and then also
    divides the tasks in two groups by how common the class is among their rows
    there; the split that lowers the impurity most is taken. So tasks share a tree
    where they behave alike, and part where they do not.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    task_split_prob : float, default=0.5
        Probability that a node considers a task split (the paper's lambda). 0 is
        the plain forest of all rows together.
    task_smoothing : float, default=1.0
        Rows' worth of the node's mean in each task's mean (the paper's alpha).
    leaf_smoothing : float or None, default=None
        If given, a leaf answers for a task that it holds rows of with the mean of
        these, drawn towards the leaf's mean as by so many rows. None: the leaf's
        mean for all.
    criterion : {"gini", "entropy"}, default="gini"
        The impurity that splits lower.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Features to try at each node that are not constant there: a number, a
        share, or a function of their number; None is all.
    n_cuts : int, default=1
        Random cuts of each of these features.
    max_depth : int or None, default=None
        Depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Weight of the rows that a node needs to be split; a float is a share.
    min_samples_leaf : int or float, default=1
        Weight of the rows that a split must leave on each side; a float is a share.
    min_impurity_decrease : float, default=0.0
        What a split must gain, weighted by the node's share of the rows.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, times those of the rows.
    bootstrap : bool, default=False
        Whether each tree draws its rows with replacement.
    oob_score : bool, default=False
        Whether to score each row by the trees that did not draw it.
    warm_start : bool, default=False
        Whether a further fit keeps the trees and adds those that are missing.
    unknown_task : {"error", "share"}, default="error"
        What to do about tasks not seen in fit: refuse them, or send them to the
        default side of each task split, where the tasks with the average answer go.
    n_jobs : int, default=None
        Threads; None is 1. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the model.

    Attributes
    ----------
    forest_ : Forest
        The trees as flat arrays.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task; a task is never given another.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column, the task's included, in the impurity decrease.
    task_importance_ : float
        The task's share.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often task splits keep two tasks together, weighted by rows.
    oob_score_ : float
        Accuracy out of the bag, if asked for.
    oob_task_scores_ : dict
        The same by task, for tasks with two such rows.
    oob_answer_ : ndarray of shape (n_samples, n_classes)
        Probabilities out of the bag; NaN for rows that every tree drew.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskExtraTreesRegressor : The same for numbers.

    Notes
    -----
    Where this differs from the paper [1]_: leaves keep class frequencies, and the
    forest averages them, instead of majority votes. With more than two classes the
    task split looks at one class, drawn among those at the node. A task that has
    no rows at a node counts as average there. Missing values follow the side that
    lowers the impurity most, or part from all others. Where no feature varies, the
    task split is always tried.

    References
    ----------
    .. [1] J. Simm, I. Magrans de Abril, M. Sugiyama. Tree-based ensemble multi-task
       learning method for classification and regression. IEICE Transactions on
       Information and Systems, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.trees import MultiTaskExtraTreesClassifier
    >>> rng = np.random.default_rng(0)
    >>> task = np.arange(200) % 2
    >>> x = rng.normal(size=200)
    >>> y = (x > 0) ^ (task == 1)  # the second task is the first upside down
    >>> X = np.column_stack([x, task])
    >>> model = MultiTaskExtraTreesClassifier(50, task=-1, random_state=0).fit(X, y)
    >>> model.predict([[1.5, 0], [1.5, 1]])
    array([ True, False])
    """

    _parameter_constraints: dict = {
        **_MultiTaskExtraTrees._parameter_constraints,
        "criterion": [StrOptions({"gini", "entropy"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }

    def __init__(
        self,
        n_estimators=300,
        *,
        task=None,
        task_split_prob=0.5,
        task_smoothing=1.0,
        leaf_smoothing=None,
        criterion="gini",
        max_features="sqrt",
        n_cuts=1,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=1,
        min_impurity_decrease=0.0,
        class_weight=None,
        bootstrap=False,
        oob_score=False,
        warm_start=False,
        unknown_task="error",
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.task = task
        self.task_split_prob = task_split_prob
        self.task_smoothing = task_smoothing
        self.leaf_smoothing = leaf_smoothing
        self.criterion = criterion
        self.max_features = max_features
        self.n_cuts = n_cuts
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.unknown_task = unknown_task
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _open_labels(self, X, y, sample_weight):
        data = self._fit_data(X, y, sample_weight, labels="classes")
        weight = data.sample_weight
        if self.class_weight is not None:
            of_class = compute_sample_weight(self.class_weight, data.classes[data.y])
            weight = of_class if weight is None else weight * of_class
        return data, len(data.classes), weight, int(self.criterion == "entropy")

    def _score(self, y_true, answer):
        return accuracy_score(y_true, answer.argmax(axis=1))

    def _finish(self, sums, n_trees, task):
        proba = sums / n_trees
        if len(self.classes_) == 1:
            proba = np.ones_like(proba)
        elif len(self.classes_) == 2:
            proba = np.hstack([1.0 - proba, proba])
        return self._label_sets.restrict(proba, task)

    def predict_proba(self, X):
        """Class probabilities: the mean of the leaves' class frequencies.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``, zero where the task lacks the class.
        """
        sums, task = self._sum_over_trees(X)
        return self._finish(sums, self.forest_.n_trees, task)

    def predict(self, X):
        """The most probable class.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, each among those of its row's task.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]


class MultiTaskExtraTreesRegressor(RegressorMixin, _MultiTaskExtraTrees):
    """Extremely randomised trees that may also split by task, for numbers.

    Every node draws a few features, cuts each at random, and now and then also
    divides the tasks in two groups by the mean of y among their rows there; the
    split that lowers the variance most is taken. So tasks share a tree where they
    behave alike, and part where they do not.

    Parameters
    ----------
    n_estimators : int, default=300
        Number of trees.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    task_split_prob : float, default=0.5
        Probability that a node considers a task split (the paper's lambda). 0 is
        the plain forest of all rows together.
    task_smoothing : float, default=1.0
        Rows' worth of the node's mean in each task's mean (the paper's alpha).
    leaf_smoothing : float or None, default=None
        If given, a leaf answers for a task that it holds rows of with the mean of
        these, drawn towards the leaf's mean as by so many rows. None: the leaf's
        mean for all.
    max_features : int, float, {"sqrt", "log2"} or None, default=1/3
        Features to try at each node that are not constant there: a number, a
        share, or a function of their number; None is all.
    n_cuts : int, default=1
        Random cuts of each of these features.
    max_depth : int or None, default=None
        Depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Weight of the rows that a node needs to be split; a float is a share.
    min_samples_leaf : int or float, default=5
        Weight of the rows that a split must leave on each side; a float is a share.
    min_impurity_decrease : float, default=0.0
        What a split must gain, weighted by the node's share of the rows.
    bootstrap : bool, default=False
        Whether each tree draws its rows with replacement.
    oob_score : bool, default=False
        Whether to score each row by the trees that did not draw it.
    warm_start : bool, default=False
        Whether a further fit keeps the trees and adds those that are missing.
    unknown_task : {"error", "share"}, default="error"
        What to do about tasks not seen in fit: refuse them, or send them to the
        default side of each task split, where the tasks with the average answer go.
    n_jobs : int, default=None
        Threads; None is 1. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the model.

    Attributes
    ----------
    forest_ : Forest
        The trees as flat arrays.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Share of each column, the task's included, in the variance decrease.
    task_importance_ : float
        The task's share.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often task splits keep two tasks together, weighted by rows.
    oob_score_ : float
        R2 out of the bag, if asked for.
    oob_task_scores_ : dict
        The same by task, for tasks with two such rows.
    oob_answer_ : ndarray of shape (n_samples,)
        Predictions out of the bag; NaN for rows that every tree drew.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskExtraTreesClassifier : The same for classes.

    Notes
    -----
    Where this differs from the paper [1]_: a task that has no rows at a node counts
    as average there. Missing values follow the side that lowers the variance most,
    or part from all others. Where no feature varies, the task split is always
    tried.

    References
    ----------
    .. [1] J. Simm, I. Magrans de Abril, M. Sugiyama. Tree-based ensemble multi-task
       learning method for classification and regression. IEICE Transactions on
       Information and Systems, 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.trees import MultiTaskExtraTreesRegressor
    >>> rng = np.random.default_rng(0)
    >>> task = np.arange(300) % 3
    >>> x = rng.normal(size=300)
    >>> y = x + 10 * task
    >>> X = np.column_stack([x, task])
    >>> model = MultiTaskExtraTreesRegressor(50, task=-1, random_state=0).fit(X, y)
    >>> model.predict([[0, 0], [0, 1], [0, 2]]).round(0)
    array([ 0., 10., 20.])
    """

    _parameter_constraints: dict = _MultiTaskExtraTrees._parameter_constraints

    def __init__(
        self,
        n_estimators=300,
        *,
        task=None,
        task_split_prob=0.5,
        task_smoothing=1.0,
        leaf_smoothing=None,
        max_features=1 / 3,
        n_cuts=1,
        max_depth=None,
        min_samples_split=2,
        min_samples_leaf=5,
        min_impurity_decrease=0.0,
        bootstrap=False,
        oob_score=False,
        warm_start=False,
        unknown_task="error",
        n_jobs=None,
        random_state=None,
    ):
        self.n_estimators = n_estimators
        self.task = task
        self.task_split_prob = task_split_prob
        self.task_smoothing = task_smoothing
        self.leaf_smoothing = leaf_smoothing
        self.max_features = max_features
        self.n_cuts = n_cuts
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.unknown_task = unknown_task
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _open_labels(self, X, y, sample_weight):
        data = self._fit_data(X, y, sample_weight, labels="numbers")
        return data, 0, data.sample_weight, 2

    def _score(self, y_true, answer):
        return r2_score(y_true, answer)

    def _finish(self, sums, n_trees, task):
        return (sums / n_trees)[:, 0]

    def predict(self, X):
        """The mean of the leaves' answers.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        sums, task = self._sum_over_trees(X)
        return self._finish(sums, self.forest_.n_trees, task)
