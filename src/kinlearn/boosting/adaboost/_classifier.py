"""Boosting over multi-task trees: by SAMME's votes, or as M1 (Faddoul 2012)."""

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, get_tags

from kinlearn.boosting._calibration import (
    Calibration,
    deal_rows,
    log_fractions,
)
from kinlearn.boosting._early_stopping import hold_back
from kinlearn.boosting._start_weights import (
    INIT_WEIGHTS,
    row_weights,
    start_weights,
    weighted_label_sets,
)
from kinlearn.boosting.adaboost._base_tree import base_tree, tell_categories
from kinlearn.boosting.adaboost._later import offsets_with_later, replay
from kinlearn.boosting.adaboost._predictions import TreeVoter, readable
from kinlearn.boosting.adaboost._rounds import (
    HeldBack,
    Rounds,
    RoundTrees,
    VoteRule,
    boost_trees,
    take,
)
from kinlearn.boosting.adaboost._votes import TreeVotes
from kinlearn.exceptions import KinlearnWarning, TaskFallbackWarning
from kinlearn.tables.internal import CODES
from kinlearn.tasks import TaskMixin, with_task
from kinlearn.trees import MultiTaskDecisionTreeClassifier
from kinlearn.utils import clone_for_round, quiet_round, rounds_with_callbacks
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._loaded import check_below, check_finite, check_numbers
from kinlearn.utils._sklearn import HasMethods, Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["MultiTaskAdaBoostClassifier"]


class MultiTaskAdaBoostClassifier(
    ClassifierMixin, CallbackSupportMixin, TreeVoter, BaseEstimator
):
    r"""AdaBoost over multi-task trees.

    Every round fits a multi-task tree to all rows of all tasks, by weight. With
    :math:`\epsilon` the weight of the rows that it gets wrong, it votes in task t for
    the label that it predicts with

    .. math::

        \alpha_t = \eta \left( \ln \frac{1 - \epsilon}{\epsilon}
            + \ln(K_t - 1) \right),

    where :math:`K_t` is the number of classes of the task and :math:`\eta` the learning
    rate. Wrong rows are multiplied by :math:`e^{\alpha_t}`, and the weights are
    normalised. So a tree has to be better than chance among the classes of a task, not
    right on half of the rows, and boosting goes on with many classes.

    Parameters
    ----------
    estimator : classifier, default=None
        The multi-task tree of each round: any classifier of kinlearn with a `task`
        parameter whose `fit` takes `sample_weight`. None is a
        :class:`~kinlearn.trees.MultiTaskDecisionTreeClassifier` of depth 3. Keep
        trees weak, by ``max_depth`` or ``purity``: a tree without a fault ends
        boosting.
    n_estimators : int, default=50
        Number of rounds. The thesis uses 20.
    algorithm : {"samme", "m1"}, default="samme"
        The votes above, or AdaBoost.M1 as the thesis prints it: without the second
        term, so that boosting ends as soon as a tree gets half of the weight wrong,
        which is soon where there are more than two classes.
    learning_rate : float, default=None
        The :math:`\eta` above; smaller ones want more rounds. None is 0.2, and 1 for
        M1.
    early_stopping : bool, default=False
        Whether to hold back some rows, watch the error on them, and keep the
        rounds up to its least value.
    validation_fraction : float, default=0.1
        Fraction of the rows of each class of each task to hold back.
    n_iter_no_change : int, default=10
        Rounds without a smaller error after which to stop early.
    calibration_folds : int or None, default=None
        Folds by which the probabilities are calibrated: each is left out once, and
        from the votes for its rows a factor for all votes is learned (and how much
        the classes' fractions count, with ``init_weights="task_class"``). Takes that
        many times as long. None: see `predict_proba`.
    task : str, int or None, default=None
        Name or position of the task column; None is one task for all rows.
    init_weights : {"uniform", "task", "task_class"}, default="uniform"
        What has the same weight in the beginning: each row, each task, or each
        pair of task and class.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: let the trees predict by what they
        share; "warn" names them in a warning, "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    categorical_features : "from_dtype", list, mask or None, default="from_dtype"
        Columns whose values are categories, integers from 0 to 253: names, positions,
        or a mask of all columns of X. The trees part the categories of such a column
        many against many. Those not seen in fit are missing values. "from_dtype": the
        columns that a data frame says are categories.
    random_state : int, RandomState instance or None, default=None
        Seeds the trees, if they have a random state.

    Attributes
    ----------
    algorithm_ : {"samme", "m1"}
        How they vote.
    estimators_ : list of classifiers
        The trees; their last column is the task's code, their classes are codes.
        Trees of rounds that were added count the tasks of the rows that were added.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Their votes on the tasks that they were fitted to; the mean, where tasks have
        different numbers of classes.
    estimator_errors_ : ndarray of shape (n_rounds,)
        Weight of the rows that each got wrong.
    normalizers_ : ndarray of shape (n_rounds,)
        What the weights summed to after the update of each round. Under M1,
        :math:`2 \epsilon`.
    validation_errors_ : ndarray
        Error on the rows held back, by round. With `early_stopping` only.
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
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    AbstainingAdaBoostClassifier : Boosting over two-task stumps.
    kinlearn.trees.MultiTaskDecisionTreeClassifier : The tree.

    Notes
    -----
    Where this differs from the thesis, or it is silent:

    - The thesis boosts by M1, without a learning rate: ``algorithm="m1"``.
    - The printed rule of the vote lost its condition: a tree votes for the label
      that it predicts, not for all.
    - *No row is wrong.* The tree votes as if half a row were, and boosting ends,
      since the weights would not change.
    - *A tree is no better than chance*, in any task; under M1, more than half is
      wrong. Boosting ends without the tree, with a warning. If it is the first one, it
      predicts alone, with a warning.
    - Bins of features with more than 255 values are quantiles by the weights of the
      beginning; under M1, by those of each round.

    To the probabilities for a task whose rows do not show all of its classes, one row
    is added: half of what an unknown task has, half the fractions of the classes in
    all rows.

    References
    ----------
    J. B. Faddoul, "Méthodes d'ensembles pour l'apprentissage multi-tâche, avec
    des tâches hétérogènes et sans restrictions", thesis, Lille, 2012.

    J. Zhu, H. Zou, S. Rosset, T. Hastie, "Multi-class AdaBoost", Statistics and Its
    Interface 2, 2009.

    Examples
    --------
    >>> from kinlearn.boosting import MultiTaskAdaBoostClassifier
    >>> from kinlearn.datasets import load_demo
    >>> X, y = load_demo(as_frame=True, return_X_y=True)
    >>> model = MultiTaskAdaBoostClassifier(n_estimators=10, task="clinic").fit(X, y)
    >>> len(model.estimators_)
    10
    """

    _table_encoding = CODES

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        **TaskMixin._label_parameter_constraints,
        **TaskMixin._categorical_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "algorithm": [StrOptions({"samme", "m1"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither"), None],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "calibration_folds": [Interval(Integral, 2, None, closed="left"), None],
        "init_weights": [StrOptions(set(INIT_WEIGHTS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        algorithm: Literal["samme", "m1"] = "samme",
        learning_rate: float | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        calibration_folds: int | None = None,
        task: TaskColumn = None,
        init_weights: Literal["uniform", "task", "task_class"] = "uniform",
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.algorithm = algorithm
        self.learning_rate = learning_rate
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.calibration_folds = calibration_folds
        self.task = task
        self.init_weights = init_weights
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.categorical_features = categorical_features
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Boost.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; with missing values where the estimator
            takes them. Sparse rows become dense ones if it takes no sparse rows.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        MultiTaskAdaBoostClassifier
            The fitted classifier.
        """
        self._validate_params()
        tree = base_tree(self.estimator)
        data = self._fit_data(X, y, sample_weight, labels="classes")
        tell_categories(tree, self.is_categorical_, self.feature_names_)
        weight = row_weights(data)
        rows = np.flatnonzero(weight > 0)
        X, task = readable(take(data.X, rows), tree), data.task[rows]
        labels, weight = data.y[rows], weight[rows]
        rng = check_random_state(self.random_state)
        sets = weighted_label_sets(data)
        n_labels = np.diff(sets.indptr)
        kept, watch = self._hold_back(X, task, labels, weight, len(data.classes), rng)
        state = rng.get_state()
        with rounds_with_callbacks(self, X, y, self.n_estimators) as on_round:
            found = self._boost(
                tree, X, task, labels, weight, kept, n_labels, rng, on_round, watch
            )
        votes = self._keep_rounds(found)
        self.__dict__.pop("validation_errors_", None)  # of an earlier fit
        if watch is not None:
            self.validation_errors_ = np.array(watch.errors)
        self._votes = TreeVotes.of_fit(votes, len(data.classes))
        self._label_sets = sets
        self.task_classes_ = sets.by_task(self.tasks_, self.classes_)
        self.algorithm_ = self.algorithm
        self._calibration: Calibration | None = None
        self._log_fractions = self._offsets(task, labels, weight)
        if self.calibration_folds is not None:
            rng.set_state(state)  # the same seeds
            self._calibrate(tree, X, task, labels, weight, n_labels, rng)
        return self

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit, by rounds of their own.

        The trees that are there stay, and predictions for other tasks do not change.
        The trees of fit predict a new task by what they share, each with a vote that
        its errors on the rows of that task give, one after the other as in boosting;
        none if it gets half of them wrong. Then `n_estimators` rounds are added at the
        most, whose trees are fitted to the new rows and vote on their tasks alone.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Labels; they may be of classes that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        self
            The classifier with these tasks.

        Examples
        --------
        >>> from kinlearn.boosting import MultiTaskAdaBoostClassifier
        >>> from kinlearn.datasets import load_demo
        >>> X, y = load_demo(as_frame=True, return_X_y=True)
        >>> late = (X["clinic"] == "Larch").to_numpy()
        >>> model = MultiTaskAdaBoostClassifier(n_estimators=5, task="clinic")
        >>> model = model.fit(X[~late], y[~late]).add_task(X[late], y[late])
        >>> "Larch" in model.tasks_
        True
        """
        later = self._later_data(X, y, sample_weight, only_new=True, new_classes=True)
        return self._add_later(later)

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows, of known or new tasks, by further rounds.

        The first call is a fit. In later ones rounds are added as by :meth:`add_task`.
        Rows of known tasks are weighted as if all rounds so far had been fitted to
        them: with the rows of fit, boosting goes on as if it had not ended. For tasks
        without rows, predictions do not change.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels; after the first call, classes that it did not have are for new
            tasks.
        classes : array-like of shape (n_classes,), default=None
            All classes; in the first call, y must hold each of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows; weight 0 is absence.

        Returns
        -------
        self
            The classifier.
        """
        if hasattr(self, "estimators_"):
            later = self._later_data(X, y, sample_weight, new_classes=True)
            return self._add_later(later)
        self._check_first_classes(y, classes)
        return self.fit(X, y, sample_weight)

    # ---------------------------------------------------------------- fitting

    @property
    def _rule(self) -> VoteRule:
        samme = self.algorithm == "samme"
        rate = self.learning_rate
        return VoteRule(samme, (0.2 if samme else 1.0) if rate is None else rate)

    def _hold_back(
        self,
        X: Any,
        task: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        n_classes: int,
        rng: np.random.RandomState,
    ) -> tuple[np.ndarray, HeldBack | None]:
        """Rows to fit to, and those that end the rounds early."""
        if not self.early_stopping:
            return np.arange(len(task)), None
        held = hold_back(task, labels, weight, self.validation_fraction, rng)
        out = np.flatnonzero(held)
        if not len(out):
            return np.arange(len(task)), None
        watch = HeldBack(
            X[out], task[out], labels[out], weight[out], n_classes,
            self.n_iter_no_change,
        )  # fmt: skip
        return np.flatnonzero(~held), watch

    def _boost(
        self,
        tree: Any,
        X: Any,
        task: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        kept: np.ndarray,
        n_labels: np.ndarray,
        rng: np.random.RandomState,
        on_round: Callable[[int], Any] = quiet_round,
        watch: HeldBack | None = None,
        n_rounds: int | None = None,
    ) -> Rounds:
        """Run rounds on some rows, from the beginning."""
        task, labels, weight = task[kept], labels[kept], weight[kept]
        return boost_trees(
            RoundTrees(
                tree, take(X, kept), task, labels, weight,
                share_bins=self.algorithm == "samme",
            ),
            self._rule,
            start_weights(task, labels, weight, self.init_weights),
            n_labels,
            self.n_estimators if n_rounds is None else n_rounds,
            rng,
            on_round,
            watch,
        )  # fmt: skip

    def _keep_rounds(self, found: Rounds, earlier: bool = False) -> np.ndarray:
        """Set, or add, what is known of rounds; returns their votes by task."""
        votes = np.array(found.votes)
        if found.mute:
            votes = np.ones_like(votes)
            if not earlier:
                self._warn_of_first(found.errors[0])
        elif found.refused is not None:
            warnings.warn(
                f"Boosting ended after {len(found.trees)} of {self.n_estimators} "
                f"rounds: the next tree got {found.refused:.0%} of the weight wrong, "
                "which is no better than chance. "
                + (
                    'Let the trees grow deeper, or set algorithm="samme".'
                    if self.algorithm == "m1"
                    else "Set a smaller learning_rate, or let the trees grow deeper."
                ),
                KinlearnWarning,
                stacklevel=4,
            )
        new = {
            "estimators_": found.trees,
            "estimator_weights_": votes.mean(axis=1),
            "estimator_errors_": np.array(found.errors),
            "normalizers_": np.array(found.normalizers),
        }
        for name, value in new.items():
            if earlier:
                before = getattr(self, name)
                value = (
                    [*before, *value]
                    if isinstance(value, list)
                    else np.concatenate([before, value])
                )
            setattr(self, name, value)
        return votes

    def _offsets(
        self, task: np.ndarray, labels: np.ndarray, weight: np.ndarray
    ) -> np.ndarray:
        """What is known of classes and not in votes; the last row is of all tasks."""
        n_tasks, n_classes = len(self.tasks_), len(self.classes_)
        if self.init_weights != "task_class":
            return np.zeros((n_tasks + 1, n_classes))
        mass = np.zeros((n_tasks, n_classes))
        np.add.at(mass, (task, labels), weight)
        return log_fractions(np.vstack([mass, mass.sum(axis=0)]))

    def _calibrate(
        self,
        tree: Any,
        X: Any,
        task: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        n_labels: np.ndarray,
        rng: np.random.RandomState,
    ) -> None:
        """Learn a factor for votes from rows that were left out."""
        n_folds: Any = self.calibration_folds
        fold = deal_rows(X, task, labels, n_folds)
        scores = np.zeros((len(task), len(self.classes_)))
        for k in np.unique(fold[fold >= 0]):  # no more than there are rows
            out, kept = np.flatnonzero(fold == k), np.flatnonzero(fold != k)
            found = self._boost(
                tree, X, task, labels, weight, kept, n_labels, rng,
                n_rounds=len(self.estimators_),
            )  # fmt: skip
            packed = with_task(X[out], task[out])
            for model, votes in zip(found.trees, found.votes, strict=True):
                scores[out, model.predict(packed)] += votes[task[out]]
        rows = np.flatnonzero(fold >= 0)
        if len(rows):
            self._calibration = Calibration.learn(
                scores[rows],
                self._log_fractions[task[rows]],
                self._label_sets.allowed(task[rows]),
                labels[rows],
                weight[rows],
            )

    def _add_later(self, later: Any) -> Self:
        tree = base_tree(self.estimator)
        tell_categories(tree, self.is_categorical_, self.feature_names_)
        weight = row_weights(later)
        rows = np.flatnonzero(weight > 0)
        X = readable(take(later.X, rows), tree)
        task, labels, weight = later.task[rows], later.y[rows], weight[rows]
        n_labels = np.diff(
            later.find_label_sets(self._label_sets, self.label_sets).indptr
        )
        round_weight = start_weights(task, labels, weight, self.init_weights)
        votes = self._votes.with_tasks(later.place, later.n_tasks, later.class_place)
        round_weight = replay(
            self, votes, X, task, labels, weight, round_weight, later.is_new, n_labels
        )
        here, code = np.unique(task, return_inverse=True)
        rng = check_random_state(self.random_state)
        for _ in self.estimators_:  # seeds that fit has taken
            clone_for_round(tree, rng)
        shares = self.algorithm == "samme"
        found = boost_trees(
            RoundTrees(
                tree, X, code.astype(np.int32), labels, weight, share_bins=shares
            ),
            self._rule,
            round_weight,
            n_labels[here],
            self.n_estimators,
            rng,
            quiet_round,
        )
        added = self._keep_rounds(found, earlier=True)
        more = TreeVotes.of_tasks(added, here, later.n_tasks, len(later.classes))
        if found.mute:  # it votes where nobody else does
            more.votes[:, votes.votes.any(axis=0)] = 0.0
            if more.votes.any():
                self._warn_of_first(found.errors[0])
        self._votes = votes.followed_by(more)
        self._log_fractions = offsets_with_later(
            self._log_fractions, later, task, labels, weight
        )
        self._remember_later(later)
        return self

    def _warn_of_first(self, error: float) -> None:
        warnings.warn(
            f"The first tree got {error:.0%} of the weight wrong, so there is nothing "
            "to boost: it predicts alone. Let the trees grow deeper.",
            TaskFallbackWarning,
            stacklevel=4,
        )

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        self._votes.check(len(self.estimators_), n_tasks, n_classes)
        for model, classes in zip(self.estimators_, self._votes.classes, strict=True):
            check_numbers("classes_", model.classes_, "i", (None,))
            check_below("classes_", model.classes_, len(classes))
        shape = (n_tasks + 1, n_classes)
        check_numbers("log_fractions", self._log_fractions, np.float64, shape)
        check_finite("log_fractions", self._log_fractions)
        if self._calibration is not None:
            self._calibration.check()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tree = self.estimator
        if tree is None:
            tree = MultiTaskDecisionTreeClassifier()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = get_tags(tree).input_tags.allow_nan
        return tags
