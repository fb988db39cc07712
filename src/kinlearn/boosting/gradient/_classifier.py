"""Multi-task gradient boosting for classes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kinlearn.boosting._start_weights import (
    check_sets_stay,
    weighted_label_sets,
)
from kinlearn.boosting.gradient._base import GradientBoostingBase, Validation
from kinlearn.boosting.gradient._bins import Binned
from kinlearn.boosting.gradient._losses import (
    LogisticLoss,
    MultinomialLoss,
    one_score,
    probabilities,
)
from kinlearn.tasks import check_class_weight, class_weights
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._sklearn import StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["MultiTaskGradientBoostingClassifier"]


class MultiTaskGradientBoostingClassifier(ClassifierMixin, GradientBoostingBase):
    r"""Gradient boosting over histograms, with splits by tasks and values of tasks.

    All tasks share the trees. A node is split by a feature, or by tasks: these are put
    in the order of their gradients, shrunken towards that of the node, and cut at the
    best place. A leaf has a value, and each task in it departs from that by as much as
    its rows prove; so do the intercepts of the tasks, which scores begin with. How much
    departures are shrunken is learned by empirical Bayes in every node and tree. The
    score of a row x of task t is

    .. math:: F(x, t) = b + a_t + z(x)^\top \beta +
              \eta \sum_m \left(v_m(x, t) + d_m(x, t)\right),

    and the loss is that of the logistic function for two classes, and of the softmax
    over the classes that the task has for more. Scores begin with a line through the
    features where that promises less error.

    Parameters
    ----------
    task : str, int or None, default=None
        Name or position of the task column; None is one task, and plain boosting.
    n_estimators : int, default=200
        Number of rounds.
    learning_rate : float, default=0.05
        What the values of a tree are multiplied by, at most 1.
    max_leaf_nodes : int or None, default=12
        Leaves of a tree, at most; None is no limit but `max_depth` and
        `min_samples_leaf`.
    max_depth : int or None, default=None
        Depth of a tree, at most; None is no limit.
    min_samples_leaf : int, default=10
        Rows in a leaf, at least. A row of a whole weight counts as so many rows; where
        weights are no whole numbers, each row is one.
    l2_regularization : float, default=3.0
        Penalty on the values of leaves, in rows of mean weight.
    max_features : float, default=0.3
        Fraction of the features that is drawn for each node, rounded up. The task is
        looked at in every node.
    subsample : float, default=1.0
        Fraction of the rows that is drawn for each round.
    max_bins : int, default=64
        Bins of a feature, at most 255; missing values have one more.
    task_splits : bool, default=True
        Whether a node may be split by tasks.
    task_values : bool, default=True
        Whether tasks have intercepts, and values of their own in leaves.
    linear_part : bool or "auto", default="auto"
        Whether scores begin with a line through the features (penalised regression by
        the same loss, with slopes that all tasks have in common), and trees boost what
        it leaves. "auto": where generalised cross-validation promises less error, and
        rows times features times features are at most some 130 million; see
        :doc:`/models/gradient-boosting`.
    categorical_features : array-like, "from_dtype" or None, default="from_dtype"
        Columns that hold categories: names, positions or a mask of the columns of X, in
        arrays with codes from 0 to 253. "from_dtype" finds text and categories in data
        frames.
    monotonic_cst : array-like of int, mapping or None, default=None
        1 for columns with which scores must not fall, -1 for those with which they must
        not rise, 0 for others: for every column of X (the task included), or a
        mapping from names or positions.
    interaction_cst : str, sequence of groups or None, default=None
        Groups of columns that may act together in a branch of a tree; columns in no
        group are one more. "pairwise" is all pairs, "no_interactions" every column by
        itself. The task may act with all of them.
    early_stopping : bool, default=False
        Whether to stop when the loss of rows that do not train gets no better, and to
        keep the rounds up to the best: rows held back, or `X_val` of :meth:`fit`.
    validation_fraction : float, default=0.1
        Fraction of the rows of each task and class that is held back.
    n_iter_no_change : int, default=10
        Rounds without a better loss after which to stop.
    warm_start : bool, default=False
        Whether to go on with the trees that are there, up to `n_estimators` rounds,
        where the data have the same tasks and features.
    class_weight : dict, "balanced" or None, default=None
        Weights of classes, by which those of rows are multiplied.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict by the trees without intercept
        and values of a task, at splits by tasks on the side of more rows; "warn" names
        them in a warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    random_state : int, RandomState instance or None, default=None
        Decides the features and rows that are drawn, and the rows held back.
    n_jobs : int or None, default=None
        Threads of predictions and of fits with 20,000 rows or more, or with more than
        two classes; they do not change the model.

    Attributes
    ----------
    n_estimators_ : int
        Rounds that are kept.
    feature_importances_ : ndarray of shape (n_features_in_,)
        Fraction of each column in the gain; of the task column, that of task splits.
    task_importance_ : float
        Fraction of the gain that task splits account for.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        How often task splits send two tasks to the same side, by gain.
    task_intercepts_ : ndarray of shape (n_tasks,) or (n_tasks, n_classes)
        What each task adds to the scores from the start.
    linear_part_ : bool
        Whether scores begin with a line.
    validation_losses_ : ndarray of shape (n_rounds,)
        Mean loss of the rows that do not train after each round; with
        `early_stopping` only.
    trees_ : Trees
        The trees.
    bins_ : FeatureBins
        The bins of the features.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
    feature_names_ : ndarray of shape (n_features,)
        Names of the features, without the task.
    is_categorical_ : bool array of shape (n_features,), or None
        Which features are categories; None if none is.
    table_encoder_ : TableEncoder or None
        What made numbers of a table that holds more than numbers.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MultiTaskGradientBoostingRegressor : The same for numbers.
    kinlearn.report.TaskAffinityDisplay : The affinities as a picture.

    Notes
    -----
    The page :doc:`/models/gradient-boosting` has the method with its formulas, and how
    the defaults were chosen. Sums over rows are exact, so neither the number of threads
    nor the order of the rows changes the model, by a single bit; but the order decides
    which rows `subsample` and `early_stopping` draw.

    References
    ----------
    J. H. Friedman, "Greedy function approximation: a gradient boosting machine", Annals
    of Statistics 29, 2001.

    G. Ke et al., "LightGBM: a highly efficient gradient boosting decision tree",
    NeurIPS 2017.

    R. DerSimonian, N. Laird, "Meta-analysis in clinical trials", Controlled Clinical
    Trials 7, 1986: the moments by which penalties are learned.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting import MultiTaskGradientBoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(600, 3)), np.arange(600) % 6
    >>> y = (X[:, 0] > 0) ^ (task >= 3)  # half of the tasks are turned around
    >>> model = MultiTaskGradientBoostingClassifier(task=-1, random_state=0)
    >>> model = model.fit(np.c_[X, task], y)
    >>> model.task_affinity_[0].round(1)
    array([1., 1., 1., 0., 0., 0.])
    """

    _parameter_constraints: dict = {
        **GradientBoostingBase._parameter_constraints,
        **GradientBoostingBase._label_parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }

    def __init__(
        self,
        *,
        task: TaskColumn = None,
        n_estimators: int = 200,
        learning_rate: float = 0.05,
        max_leaf_nodes: int | None = 12,
        max_depth: int | None = None,
        min_samples_leaf: int = 10,
        l2_regularization: float = 3.0,
        max_features: float = 0.3,
        subsample: float = 1.0,
        max_bins: int = 64,
        task_splits: bool = True,
        task_values: bool = True,
        linear_part: bool | Literal["auto"] = "auto",
        categorical_features: ArrayLike | Literal["from_dtype"] | None = "from_dtype",
        monotonic_cst: ArrayLike | Mapping[Any, int] | None = None,
        interaction_cst: Sequence[Any]
        | Literal["pairwise", "no_interactions"]
        | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        warm_start: bool = False,
        class_weight: dict | Literal["balanced"] | None = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.task = task
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.max_leaf_nodes = max_leaf_nodes
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.l2_regularization = l2_regularization
        self.max_features = max_features
        self.subsample = subsample
        self.max_bins = max_bins
        self.task_splits = task_splits
        self.task_values = task_values
        self.linear_part = linear_part
        self.categorical_features = categorical_features
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.random_state = random_state
        self.n_jobs = n_jobs

    @with_callbacks
    def fit(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Table | None = None,
        y_val: ArrayLike | None = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Boost all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN is a missing value. Of sparse rows, what is
            not stored is 0; X may have some four billion cells, stored or not.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence.
        X_val : array-like or data frame of shape (n_validation, n_columns), \
                default=None
            Rows that do not train, for `early_stopping`; None holds rows back.
        y_val : array-like of shape (n_validation,), default=None
            Their labels.
        sample_weight_val : array-like of shape (n_validation,), default=None
            Their weights.

        Returns
        -------
        MultiTaskGradientBoostingClassifier
            The fitted classifier.
        """
        self._validate_params()
        check_class_weight(self.class_weight)
        goes_on = self.warm_start and hasattr(self, "trees_")
        data = self._fit_data(X, y, sample_weight, labels="classes", same=goes_on)
        validation = Validation.of(X_val, y_val, sample_weight_val)
        return self._fit_checked(X, y, data, validation, goes_on)

    def _fit_checked(
        self,
        X: Any,
        y: Any,
        data: Any,
        validation: Validation | None = None,
        goes_on: bool = False,
        binned: Binned | None = None,
    ) -> Self:
        self._label_sets = weighted_label_sets(data)
        self.task_classes_ = self._label_sets.by_task(self.tasks_, self.classes_)
        weight = self._row_weight(data.y, self._given_weight(data))
        self._boost(X, y, data, weight, validation, goes_on, binned)
        return self

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows, of known or new tasks, by further rounds.

        The first call is a fit. In later ones new tasks are added as by
        :meth:`add_task`. Then rounds are added for the rows of known tasks, which begin
        with the scores that they have: as many, up to `n_estimators`, as predict rows
        best that are left out of them in turn, and none if they do not help. They add
        nothing for tasks without rows, and for unknown ones only if every task has
        rows. Old rows are not kept; new rounds may undo a little of what was learned
        from them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels; after the first call, classes that it did not have are for new
            tasks, and for a known task none that it did not have.
        classes : array-like of shape (n_classes,), default=None
            All classes; in the first call, y must hold each of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence.

        Returns
        -------
        MultiTaskGradientBoostingClassifier
            The classifier.
        """
        if hasattr(self, "trees_"):
            later = self._later_data(X, y, sample_weight, new_classes=True)
            return self._add_later(later)
        self._check_first_classes(y, classes)
        return self.fit(X, y, sample_weight)

    def _later_weight(self, later: Any) -> np.ndarray:
        if self.class_weight == "balanced":
            raise ValueError(
                'class_weight="balanced" depends on all rows together. Give the '
                "weights of the classes as a dict, or fit anew with all rows."
            )
        weight = super()._later_weight(later)
        if self.class_weight is None:
            return weight
        return weight * class_weights(self.class_weight, later.classes[later.y])

    def _check_label_sets(self, later: Any) -> None:
        check_sets_stay(later, self._label_sets, self.label_sets)

    def _row_weight(self, y: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        if self.class_weight is None:
            return sample_weight
        return sample_weight * class_weights(self.class_weight, self.classes_[y])

    def _loss_maker(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Any]:
        if len(self.classes_) <= 2:
            return partial(one_score, LogisticLoss)
        every = np.append(np.arange(len(self.tasks_)), -1)
        return partial(MultinomialLoss, allowed=self._label_sets.allowed(every))

    def _allowed(self) -> np.ndarray | None:
        allowed = self._label_sets.allowed(np.arange(len(self.tasks_)))
        several = allowed.sum(axis=1, keepdims=True) > 1
        return several if len(self.classes_) <= 2 else allowed & several

    # ------------------------------------------------------------ prediction

    def _decisions(self, task: np.ndarray, scores: np.ndarray) -> np.ndarray:
        allowed = self._label_sets.allowed(task)
        if len(self.classes_) <= 2:
            # of a task of one class, the sign is that of the class
            far = np.abs(scores[:, 0]) + 1
            out = np.where(allowed[:, 0], scores[:, 0], far)
            return np.where(allowed[:, -1], out, -far)
        least = np.where(allowed, scores, np.inf).min(axis=1, keepdims=True)
        return np.where(allowed, scores, least - 1)

    def _probabilities(self, task: np.ndarray, scores: np.ndarray) -> np.ndarray:
        if len(self.classes_) == 1:
            return np.ones((len(task), 1))
        return probabilities(scores, self._label_sets.allowed(task))

    def _most_likely(self, task: np.ndarray, scores: np.ndarray) -> np.ndarray:
        decisions = self._decisions(task, scores)
        if len(self.classes_) == 1:
            return np.repeat(self.classes_, len(task))
        if decisions.ndim == 1:
            return self.classes_[(decisions > 0).astype(np.intp)]
        return self.classes_[np.argmax(decisions, axis=1)]

    def decision_function(self, X: Table) -> np.ndarray:
        """Scores of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes the score of the second; otherwise one for each class,
            those that a task lacks below all others.
        """
        return self._decisions(*self._scores(X))

    def predict_proba(self, X: Table) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero for classes that a task lacks.
        """
        return self._probabilities(*self._scores(X))

    def predict(self, X: Table) -> np.ndarray:
        """The class of the highest score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes.
        """
        return self._most_likely(*self._scores(X))

    def staged_decision_function(self, X: Table) -> Iterator[np.ndarray]:
        """Scores of the classes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            As :meth:`decision_function`.
        """
        for task, scores in self._staged_scores(X):
            yield self._decisions(task, scores)

    def staged_predict_proba(self, X: Table) -> Iterator[np.ndarray]:
        """Probabilities of the classes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            As :meth:`predict_proba`.
        """
        for task, scores in self._staged_scores(X):
            yield self._probabilities(task, scores)

    def staged_predict(self, X: Table) -> Iterator[np.ndarray]:
        """The class of the highest score after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,)
            As :meth:`predict`.
        """
        for task, scores in self._staged_scores(X):
            yield self._most_likely(task, scores)
