"""Multi-task extra trees for numbers (Simm, Magrans de Abril & Sugiyama 2014)."""

from collections.abc import Callable
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from kinlearn.tasks import TaskData
from kinlearn.trees.extra._base import MultiTaskExtraTreesBase
from kinlearn.utils._sklearn import StrOptions
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["MultiTaskExtraTreesRegressor"]


class MultiTaskExtraTreesRegressor(RegressorMixin, MultiTaskExtraTreesBase):
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
    task_split_prob : float or "auto", default="auto"
        Probability that a node considers a task split (the paper's lambda). 0 is
        the plain forest of all rows together; tasks that differ strongly want up
        to 1. "auto" takes 0.25, 0.5 or 1, as pilot forests do best; see Notes.
    task_smoothing : float, default=1.0
        Rows' worth of the node's mean in each task's mean (the paper's alpha).
    leaf_smoothing : float or None, default=None
        If given, a leaf's prediction for a task with rows in it is the mean of these,
        drawn towards the leaf's mean as by so many rows. None: the leaf's mean for
        all.
    task_offset : bool or "auto", default="auto"
        Whether each task has an offset, which is taken off y before the trees are
        grown and added to their prediction. It is the mean of what a forest of all
        tasks leaves unexplained of the task's rows, shrunken by empirical Bayes.
        "auto": where pilot forests do better so, if there are any; see Notes.
    linear_part : bool or "auto", default="auto"
        Whether a line through the features (ridge regression, of all tasks together)
        is taken off y before the trees are grown, and added to their prediction.
        "auto": where pilot forests do better so, if there are any, and there are
        1,000 features at the most; see Notes.
    max_features : int, float, {"sqrt", "log2"} or None, default=1/3
        Features to try at each node that are not constant there: a number, a
        fraction, or a function of their number; None is all.
    n_cuts : int or "all", default=1
        Random cuts of each of these features; "all" takes the best of all that there
        are, midway between values, as other trees do.
    max_depth : int or None, default=None
        Depth of a tree; None is no limit.
    min_samples_split : int or float, default=2
        Weight of the rows that a node needs to be split; a float is a fraction.
    min_samples_leaf : int, float or "auto", default="auto"
        Weight of the rows that a split must leave on each side; a float is a fraction.
        "auto" takes a number from 1 to 40, as pilot forests do best; see Notes.
    shrinkage : float, default=0.0
        How far a leaf's value is drawn towards the means of the nodes above it: on
        the way from the root, each change of the mean is divided by
        1 + `shrinkage` / w, with w the weight of the rows at the upper node (Agarwal
        et al. 2022). 0 is not at all.
    min_impurity_decrease : float, default=0.0
        What a split must gain, weighted by the node's fraction of the rows.
    bootstrap : bool, default=False
        Whether each tree draws its rows with replacement.
    oob_score : bool, default=False
        Whether to score each row by the trees that did not draw it.
    warm_start : bool, default=False
        Whether a further fit keeps the trees and adds those that are missing.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: send them to the default side of each
        task split, where a task with the average mean goes; "warn" names them in a
        warning, "share" does not, "error" refuses them.
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Columns whose values are categories, integers from 0 to 253: names, positions,
        or a mask of all columns of X. A node parts the categories of such a column
        many against many. Those not seen in fit are missing values. "from_dtype": the
        columns that a data frame says are categories.
    n_jobs : int, default=None
        Threads; None is 1. The model does not depend on it.
    random_state : int, RandomState instance or None, default=None
        Decides the model.

    Attributes
    ----------
    forest_ : Forest
        The trees as flat arrays.
    min_samples_leaf_ : float
        Weight of the rows that a split had to leave on each side.
    task_split_prob_ : float
        Probability of a task split that the trees were grown with.
    max_features_ : int
        Number of features tried at each node.
    n_cuts_ : int
        Number of cuts of each; 0 is all.
    task_offsets_ : ndarray of shape (n_tasks,)
        What is added to the trees' predictions for each task; a task not seen in fit
        has no offset.
    linear_coef_ : ndarray of shape (n_features_in_,)
        Slopes of the line; 0 if there is none, and for the task.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of each column, the task's included, in the variance decrease of the
        trees and in the variance of line and offsets.
    task_importance_ : float
        The task's fraction.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often task splits keep two tasks together, weighted by their gain.
    oob_score_ : float
        R2 out of the bag, with ``oob_score=True``.
    oob_task_scores_ : dict
        The same by task, for tasks with two such rows.
    oob_prediction_ : ndarray of shape (n_samples,)
        Predictions out of the bag; NaN for rows that every tree drew.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is.
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

    What is ``"auto"`` is chosen in `fit`, since no fixed setting is good: noisy data
    want leaves of 40 rows, clean data of 1. For each candidate, 12 trees (24 up to
    1,000 rows, 8 from 4,000 on) are grown without each quarter of the rows (of 10,000
    rows at the most) and predict it. The least squared error decides, less what
    more trees would average away. First leaves of 3, 10 and 30 rows are compared,
    with and without a line; then task splits, and offsets; then
    leaves up to two steps away (1, 2, 3, 5, 7, 10, 15, 20, 30, 40). Who is held out
    depends on the values of a row alone, so neither the order of the rows nor weights
    instead of repeated rows matter. Below 40 different rows, the leaf is 1, the
    probability 0.5, and there are neither offsets nor a line. This takes as long as 500
    trees. It is left out if `min_samples_leaf` and `task_split_prob` are both numbers,
    unless ``task_offset=True`` requests offsets. Line and offsets that pilots try are
    learned from the rows outside the quarter.

    Where tasks have offsets, task splits see what these leave, for example tasks that
    part in slope. So `task_affinity_` does not count what the offsets explain. A row
    that is out of the bag still had its small part in the line and in the offset of its
    task.

    The line has the penalty of the least generalised cross-validation score. It takes
    missing values for the mean, and values beyond those seen in fit for the last seen,
    so that predictions stay bounded.

    The other defaults were chosen by scores on rows held out of training rows of
    26 problems: ``python -m benchmarks.quality.suite``.

    A task split goes by the labels of the tasks' own rows. Tasks of a row or two are
    then split by their noise; with many such tasks lower `task_split_prob`, or raise
    `min_samples_leaf`.

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
    >>> y = x + 10 * task  # far apart, so every node should look at the tasks
    >>> X = np.column_stack([x, task])
    >>> model = MultiTaskExtraTreesRegressor(
    ...     50, task=-1, task_split_prob=1, random_state=0
    ... ).fit(X, y)
    >>> np.abs(model.predict([[0, 0], [0, 1], [0, 2]]) - [0, 10, 20]).max() < 0.5
    np.True_
    """

    _oob_name = "oob_prediction_"
    _parameter_constraints: dict = {
        **MultiTaskExtraTreesBase._parameter_constraints,
        "task_offset": ["boolean", StrOptions({"auto"})],
        "linear_part": ["boolean", StrOptions({"auto"})],
    }
    _task_split_probs = (0.5, 0.25, 1.0)
    _criterion = 2

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        task: TaskColumn = None,
        task_split_prob: float | Literal["auto"] = "auto",
        task_smoothing: float = 1.0,
        leaf_smoothing: float | None = None,
        task_offset: bool | Literal["auto"] = "auto",
        linear_part: bool | Literal["auto"] = "auto",
        max_features: int | float | Literal["sqrt", "log2"] | None = 1 / 3,
        n_cuts: int | Literal["all"] = 1,
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | Literal["auto"] = "auto",
        shrinkage: float = 0.0,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.task = task
        self.task_split_prob = task_split_prob
        self.task_smoothing = task_smoothing
        self.leaf_smoothing = leaf_smoothing
        self.task_offset = task_offset
        self.linear_part = linear_part
        self.max_features = max_features
        self.n_cuts = n_cuts
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.shrinkage = shrinkage
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.unknown_task = unknown_task
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _open_labels(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[TaskData, int, np.ndarray | None]:
        data = self._fit_data(X, y, sample_weight, labels="numbers", same=self._goes_on)
        return data, 0, data.sample_weight

    def partial_fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows, of known or new tasks, without growing the trees anew.

        The first call is a fit. In later ones the splits stay; see :meth:`add_task`.
        So do the line and the offsets of known tasks.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self
            The forest.
        """
        if hasattr(self, "forest_"):
            return self._add_later(self._later_data(X, y, sample_weight))
        return self.fit(X, y, sample_weight)

    def _weigh_later(self, later: Any) -> np.ndarray:
        return later.sample_weight

    def _score(self, y_true: np.ndarray, prediction: np.ndarray) -> float:
        return r2_score(y_true, prediction)

    def _finish(
        self,
        sums: np.ndarray,
        n_trees: int | np.ndarray,
        rows: np.ndarray,
        task: np.ndarray,
        unknown: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        offset = np.append(self._offsets, 0.0)  # the last is for unknown tasks
        prediction = (sums / n_trees)[:, 0] + offset[task]
        return (
            prediction
            if self._line is None
            else prediction + self._line.predict(rows.T)
        )

    @property
    def linear_coef_(self) -> np.ndarray:
        """Slopes of the line, by column of X; 0 without one, and for the task."""
        check_is_fitted(self)
        return self._by_column(None if self._line is None else self._line.coef)

    @property
    def task_offsets_(self) -> np.ndarray:
        """What is added to the trees' predictions, by task, in order of ``tasks_``."""
        check_is_fitted(self)
        return self._offsets

    def predict(self, X: Table) -> np.ndarray:
        """The mean of the leaves' values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Predictions.
        """
        return self._predict_values(X)
