"""Multi-task extra trees for classes (Simm, Magrans de Abril & Sugiyama 2014)."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from kinlearn.tasks import TaskData, class_weights
from kinlearn.trees._weights import later_weights
from kinlearn.trees.extra._base import MultiTaskExtraTreesBase
from kinlearn.trees.extra._growth import Settings
from kinlearn.trees.extra._later import insert_classes
from kinlearn.trees.extra._model import Forest
from kinlearn.utils._sklearn import StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["MultiTaskExtraTreesClassifier"]


class MultiTaskExtraTreesClassifier(ClassifierMixin, MultiTaskExtraTreesBase):
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
    task_split_prob : float or "auto", default="auto"
        Probability that a node considers a task split (the paper's lambda). 0 is
        the plain forest of all rows together; tasks that differ strongly want up
        to 1. "auto" takes 0.5 or 1, as pilot forests do better; see Notes.
    task_smoothing : float, default=1.0
        Rows' worth of the node's mean in each task's mean (the paper's alpha).
    leaf_smoothing : float or None, default=None
        If given, a leaf's prediction for a task with rows in it is the mean of these,
        drawn towards the leaf's mean as by so many rows. None: the leaf's mean for
        all.
    criterion : {"gini", "entropy"}, default="entropy"
        The impurity that splits lower.
    max_features : int, float, {"auto", "sqrt", "log2"} or None, default="auto"
        Features to try at each node that are not constant there: a number, a
        fraction, or a function of their number; None is all. "auto" is "sqrt", or all
        where pilot forests do better so; see Notes.
    n_cuts : int, "auto" or "all", default="auto"
        Random cuts of each of these features; "all" takes the best of all that there
        are, midway between values, as other trees do. "auto" is 1, or 5 where pilot
        forests do better so, together with all features if `max_features` is "auto"
        too.
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
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, times those of the rows.
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
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
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
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task; a task is never given another.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of each column, the task's included, in the impurity decrease.
    task_importance_ : float
        The task's fraction.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often task splits keep two tasks together, weighted by their gain.
    oob_score_ : float
        Accuracy out of the bag, with ``oob_score=True``.
    oob_task_scores_ : dict
        The same by task, for tasks with two such rows.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities out of the bag; NaN for rows that every tree drew.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is.
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

    What is ``"auto"`` is chosen in `fit`, since no fixed setting is good: noisy data
    want leaves of 40 rows, clean data of 1; many weak features want few at a node,
    few strong ones want all. For each candidate, 12 trees (24 up to 1,000 rows) are
    grown without each quarter of the rows (of 10,000 at the most) and predict it.
    The least loss decides: the area over the ROC curve, each class against the rest,
    plus a fifth of the squared error, less what more trees would average away. First
    leaves of 3, 10 and 30 rows are compared, with one cut of the square root of the
    features, and with five cuts of all; then the task splits; then leaves up to two
    steps away (1, 2, 3, 5, 7, 10, 15, 20, 30, 40). Who is held out depends on the
    values of a row alone, so neither the order of the rows nor weights instead of
    repeated rows matter. Below 40 different rows, the leaf is 1, the probability 0.5,
    and one cut of the square root of the features is tried. This takes as long as some
    400 trees. It is left out if `min_samples_leaf` and `task_split_prob` are both
    numbers.

    The other defaults were chosen by scores on rows held out of training rows of
    26 problems: ``python -m benchmarks.quality.suite``.

    To the predictions for a task whose rows do not show all of its classes, one row is
    added, as it were: half of what an unknown task is predicted, half the fractions of
    the classes in all rows. So no class of the task is impossible.

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

    _oob_name = "oob_decision_function_"
    _parameter_constraints: dict = {
        **MultiTaskExtraTreesBase._parameter_constraints,
        **MultiTaskExtraTreesBase._label_parameter_constraints,
        "max_features": [
            *MultiTaskExtraTreesBase._parameter_constraints["max_features"],
            StrOptions({"auto"}),
        ],
        "n_cuts": [
            *MultiTaskExtraTreesBase._parameter_constraints["n_cuts"],
            StrOptions({"auto", "all"}),
        ],
        "criterion": [StrOptions({"gini", "entropy"})],
        "class_weight": [StrOptions({"balanced"}), dict, None],
    }
    _task_split_probs = (0.5, 1.0)

    def __init__(
        self,
        n_estimators: int = 300,
        *,
        task: TaskColumn = None,
        task_split_prob: float | Literal["auto"] = "auto",
        task_smoothing: float = 1.0,
        leaf_smoothing: float | None = None,
        criterion: Literal["gini", "entropy"] = "entropy",
        max_features: int | float | Literal["auto", "sqrt", "log2"] | None = "auto",
        n_cuts: int | Literal["auto", "all"] = "auto",
        max_depth: int | None = None,
        min_samples_split: int | float = 2,
        min_samples_leaf: int | float | Literal["auto"] = "auto",
        shrinkage: float = 0.0,
        min_impurity_decrease: float = 0.0,
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        bootstrap: bool = False,
        oob_score: bool = False,
        warm_start: bool = False,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        categorical_features: Any = "from_dtype",
        n_jobs: int | None = None,
        random_state: RandomState = None,
    ) -> None:
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
        self.shrinkage = shrinkage
        self.min_impurity_decrease = min_impurity_decrease
        self.class_weight = class_weight
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.categorical_features = categorical_features
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _draws(
        self, settings: Settings, n_features: int
    ) -> tuple[tuple[int, int], ...]:
        k, c = settings.max_features, settings.n_cuts
        greedy = (
            n_features if self.max_features == "auto" else k,
            5 if self.n_cuts == "auto" else c,
        )
        return tuple(dict.fromkeys([(k, c), greedy]))

    @property
    def _criterion(self) -> int:
        return int(self.criterion == "entropy")

    def _open_labels(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[TaskData, int, np.ndarray | None]:
        data = self._fit_data(X, y, sample_weight, labels="classes", same=self._goes_on)
        weight = data.sample_weight
        if self.class_weight is not None:
            of_class = class_weights(self.class_weight, data.classes[data.y])
            weight = of_class if weight is None else weight * of_class
        if weight is not None:
            sets = replace(data, sample_weight=weight).label_sets
            self._label_sets = sets.counting(data.task, data.y, weight)
        return data, len(data.classes), weight

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows, of known or new tasks, without growing the trees anew.

        The first call is a fit. In later ones the splits stay; see :meth:`add_task`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels; after the first call, classes that it did not have are for tasks
            that it did not have.
        classes : array-like of shape (n_classes,), default=None
            All classes; y must hold those that the forest does not know.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self
            The forest.
        """
        if hasattr(self, "forest_"):
            later = self._later_data(X, y, sample_weight, new_classes=True)
            self._check_later_classes(later, classes)
            return self._add_later(later)
        self._check_first_classes(y, classes)
        return self.fit(X, y, sample_weight)

    def _weigh_later(self, later: Any) -> np.ndarray:
        return later_weights(later, self.class_weight)

    def _widened(self, later: Any) -> Forest:
        """The forest with the new classes.

        A task that has an old class, too, shares the leaves' frequencies with the old
        tasks, whose rows are many and never of the new class: it would hardly ever get
        it.
        """
        counts = later.sample_weight > 0
        is_old = counts & np.isin(later.y, later.class_place)
        is_new = counts & ~is_old
        both = np.intersect1d(later.task[is_old], later.task[is_new])
        if len(both):
            rows = later.task == both[0]
            raise ValueError(
                f"Task {later.tasks.tolist()[both[0]]!r} has classes that fit saw, "
                f"{np.unique(later.classes[later.y[rows & is_old]]).tolist()} and "
                "classes that it did not see, "
                f"{np.unique(later.classes[later.y[rows & is_new]]).tolist()}. "
                "Leaves hold the classes of all tasks together, so a forest only takes "
                "new classes for a task that has no others: fit anew with all rows."
            )
        return insert_classes(self._as_grown, later.class_place, len(later.classes))

    def _score(self, y_true: np.ndarray, prediction: np.ndarray) -> float:
        return accuracy_score(y_true, prediction.argmax(axis=1))

    def _finish(
        self,
        sums: np.ndarray,
        n_trees: int | np.ndarray,
        rows: np.ndarray,
        task: np.ndarray,
        unknown: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        n_trees = np.broadcast_to(n_trees, (len(sums), 1))
        proba = self._label_sets.restrict(self._of_classes(sums / n_trees), task)

        def common(some: np.ndarray) -> np.ndarray:
            return self._of_classes(unknown(some) / n_trees[some])

        return self._label_sets.fill(proba, task, common)

    def _of_classes(self, values: np.ndarray) -> np.ndarray:
        """A column for each class, from means of the leaves' values."""
        if len(self.classes_) == 1:
            return np.ones_like(values)
        return np.hstack([1.0 - values, values]) if values.shape[1] == 1 else values

    def predict_proba(self, X: Table) -> np.ndarray:
        """Class probabilities: the mean of the leaves' class frequencies.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``, zero where the task lacks the class.
        """
        return self._predict_values(X)

    def predict(self, X: Table) -> np.ndarray:
        """The most probable class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, each among those of its row's task.
        """
        best = self.predict_proba(X).argmax(axis=1)
        return self.classes_[best]
