"""Boosting over multi-task trees: MT-AdaBoost, of the form M1 (Faddoul 2012)."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting._start_weights import (
    INIT_WEIGHTS,
    row_weights,
    start_weights,
    weighted_label_sets,
)
from kinlearn.boosting.adaboost._votes import TreeVotes
from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.tables.internal import CODES
from kinlearn.tasks import TaskMixin, with_task
from kinlearn.trees import MultiTaskDecisionTreeClassifier
from kinlearn.utils import (
    check_takes_weights,
    clone_for_round,
    quiet_round,
    rounds_with_callbacks,
)
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._loaded import check_below, check_numbers
from kinlearn.utils._sklearn import HasMethods, Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["MultiTaskAdaBoostClassifier"]


class MultiTaskAdaBoostClassifier(
    ClassifierMixin, CallbackSupportMixin, TaskMixin, BaseEstimator
):
    r"""AdaBoost over multi-task trees.

    Every round fits a multi-task tree to all rows of all tasks, by weight. With
    :math:`\epsilon` the weight of the rows that it gets wrong and
    :math:`\beta = \epsilon / (1 - \epsilon)`, right rows are multiplied by
    :math:`\beta`, and the weights are normalised. A tree votes with
    :math:`\ln(1 / \beta)` for the label that it predicts.

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
    estimators_ : list of classifiers
        The trees; their last column is the task's code, their classes are codes.
        Trees of rounds that were added count the tasks of the rows that were added.
    estimator_weights_ : ndarray of shape (n_rounds,)
        Their votes on the tasks that they were fitted to.
    estimator_errors_ : ndarray of shape (n_rounds,)
        Weight of the rows that each got wrong.
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

    - The printed rule of the vote lost its condition: a tree votes for the label
      that it predicts, not for all.
    - *No row is wrong.* The tree votes as if half a row were, and boosting ends,
      since the weights would not change.
    - *More than half is wrong.* Boosting ends without the tree. If it is the first
      one, it predicts alone, with a warning.

    The votes on a task whose rows do not show all of its classes are fractions of so
    many rows, and one row is added: half of the votes on an unknown task, half the
    fractions of the classes in all rows.

    References
    ----------
    J. B. Faddoul, "Modèles d'ensembles pour l'apprentissage multi-tâche, avec
    des tâches hétérogènes et sans restrictions", thesis, Lille, 2012.

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
    _largest = np.inf

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        **TaskMixin._label_parameter_constraints,
        **TaskMixin._categorical_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "init_weights": [StrOptions(set(INIT_WEIGHTS))],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        n_estimators: int = 50,
        task: TaskColumn = None,
        init_weights: Literal["uniform", "task", "task_class"] = "uniform",
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        categorical_features: Any = "from_dtype",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
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
        tree = self._check_estimator()
        data = self._fit_data(X, y, sample_weight, labels="classes")
        self._tell_categories(tree)
        weight = row_weights(data)
        rows = np.flatnonzero(weight > 0)
        packed = with_task(_readable(_take(data.X, rows), tree), data.task[rows])
        task, labels, weight = data.task[rows], data.y[rows], weight[rows]
        round_weight = start_weights(task, labels, weight, self.init_weights)
        rng = check_random_state(self.random_state)
        with rounds_with_callbacks(self, X, y, self.n_estimators) as on_round:
            found = self._boost(
                tree, packed, labels, round_weight, weight, rng, on_round
            )
        self.estimators_, votes, errors = found
        if errors[0] >= 0.5:
            self._warn_of_first(errors[0])
            votes = np.ones(1)
        self.estimator_weights_, self.estimator_errors_ = votes, errors
        self._votes = TreeVotes.of_fit(votes, data.n_tasks, len(data.classes))
        self._label_sets = weighted_label_sets(data)
        self.task_classes_ = self._label_sets.by_task(self.tasks_, self.classes_)
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

    def _boost(
        self,
        tree: Any,
        packed: Any,
        labels: np.ndarray,
        round_weight: np.ndarray,
        weight: np.ndarray,
        rng: np.random.RandomState,
        on_round: Callable[[int], Any],
    ) -> tuple[list[Any], np.ndarray, np.ndarray]:
        """Run rounds: trees, votes and errors. The first tree is always kept."""
        models, votes, errors = [], [], []
        for number in range(self.n_estimators):
            with on_round(number) as progress:
                # As much in all as in the beginning, so that settings of the
                # trees that are about weight mean the same. Each tree bins for
                # itself: its bins are quantiles by these weights.
                model = clone_for_round(tree, rng)
                model.fit(packed, labels, sample_weight=round_weight * weight.sum())
                wrong = model.predict(packed) != labels
                error = float(round_weight[wrong].sum())
                if error > 0.5 and number:
                    break
                models.append(model)
                errors.append(error)
                votes.append(_vote(error, max(weight.sum(), len(weight))))
                if not 0.0 < error < 0.5:
                    break
                round_weight = _reweighted(round_weight, wrong, error)
            if progress.stop:
                break
        return models, np.array(votes), np.array(errors)

    def _add_later(self, later: Any) -> Self:
        tree = self._check_estimator()
        self._tell_categories(tree)
        weight = row_weights(later)
        rows = np.flatnonzero(weight > 0)
        X = _readable(_take(later.X, rows), tree)
        task, labels, weight = later.task[rows], later.y[rows], weight[rows]
        round_weight = start_weights(task, labels, weight, self.init_weights)
        votes = self._votes.with_tasks(later.place, later.n_tasks, later.class_place)
        round_weight = self._replay(
            votes, X, task, labels, weight, round_weight, later.is_new
        )
        here, code = np.unique(task, return_inverse=True)
        rng = check_random_state(self.random_state)
        for _ in self.estimators_:  # seeds that fit has taken
            clone_for_round(tree, rng)
        models, added, errors = self._boost(
            tree,
            with_task(X, code.astype(np.int32)),
            labels,
            round_weight,
            weight,
            rng,
            quiet_round,
        )
        added = np.ones(1) if errors[0] >= 0.5 else added
        more = TreeVotes.of_tasks(added, here, later.n_tasks, len(later.classes))
        if errors[0] >= 0.5:  # it votes where nobody else does
            more.votes[:, votes.votes.any(axis=0)] = 0.0
            if more.votes.any():
                self._warn_of_first(errors[0])
        self.estimators_ = [*self.estimators_, *models]
        self.estimator_weights_ = np.concatenate([self.estimator_weights_, added])
        self.estimator_errors_ = np.concatenate([self.estimator_errors_, errors])
        self._votes = votes.followed_by(more)
        self._remember_later(later)
        return self

    def _replay(
        self,
        votes: TreeVotes,
        X: Any,
        task: np.ndarray,
        labels: np.ndarray,
        weight: np.ndarray,
        round_weight: np.ndarray,
        is_new: np.ndarray,
    ) -> np.ndarray:
        """Weights after the rounds so far; their votes on new tasks are filled in."""
        takes_unknown = "unknown_task" in self.estimators_[0].get_params(deep=False)
        for number, model in enumerate(self.estimators_):
            votes_here = votes.votes[number, task] > 0
            if takes_unknown and votes.votes[number, -1] > 0:
                votes_here |= is_new[task]
            at = np.flatnonzero(votes_here)
            if len(at) == 0:
                continue
            codes = votes.task_codes[number][task[at]]
            wrong = np.ones(len(task), dtype=bool)  # or without a vote
            prediction = votes.classes[number][
                model.predict(with_task(_take(X, at), codes))
            ]
            wrong[at] = prediction != labels[at]
            known = ~is_new[task]
            error = float(self.estimator_errors_[number])
            if known.any() and 0.0 < error < 0.5:
                round_weight = _reweighted(round_weight, wrong | ~known, error)
            for t in np.unique(task[at][is_new[task[at]]]):
                mine = task == t
                error = float(
                    round_weight[mine & wrong].sum() / round_weight[mine].sum()
                )
                n_rows = max(weight[mine].sum(), np.count_nonzero(mine))
                votes.votes[number, t] = _vote(error, n_rows)
                if 0.0 < error < 0.5:
                    round_weight = _reweighted(round_weight, wrong | ~mine, error)
        return round_weight

    def _check_estimator(self) -> Any:
        """The tree to clone, with the task in its last column."""
        tree = self.estimator
        if tree is None:
            tree = MultiTaskDecisionTreeClassifier(max_depth=3)
        name, params = type(tree).__name__, tree.get_params(deep=False)
        if "task" not in params:
            raise ValueError(
                f"{name} has no task parameter, so it cannot distinguish the tasks. "
                "Choose a multi-task tree, or wrap it in "
                "kinlearn.sharing.TaskAsFeature or SharedPlusOwn."
            )
        check_takes_weights(tree, "classifier")
        wanted = {"task": -1, "unknown_task": "share"}
        return clone(tree).set_params(
            **{k: v for k, v in wanted.items() if k in params}
        )

    def _tell_categories(self, tree: Any) -> None:
        """Let the trees know which of their columns are categories."""
        if self.is_categorical_ is None:
            return
        if "categorical_features" not in tree.get_params(deep=False):
            raise ValueError(
                f"{self.feature_names_[self.is_categorical_].tolist()} are categories, "
                f"but {type(tree).__name__} has no parameter categorical_features. "
                "Choose a multi-task tree as the estimator, or encode these columns "
                "and set categorical_features=None."
            )
        tree.set_params(categorical_features=np.flatnonzero(self.is_categorical_))

    def _warn_of_first(self, error: float) -> None:
        warnings.warn(
            f"The first tree got {error:.0%} of the weight wrong, so there is nothing "
            "to boost: it predicts alone. Let the trees grow deeper.",
            TaskFallbackWarning,
            stacklevel=4,
        )

    # ------------------------------------------------------------- prediction

    def staged_predict_proba(self, X: Table) -> Iterator[np.ndarray]:
        """Fraction of the votes for each class after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
            As `predict_proba` gives them.
        """
        check_is_fitted(self)
        rows, sets = self._predict_data(X), self._label_sets
        table = _readable(rows.X, self.estimators_[0])
        some = np.flatnonzero(np.append(sets.guessing, False)[rows.task])
        unknown = np.full_like(rows.task[some], -1)
        shared = self._staged_votes(_take(table, some), unknown)
        known = self._staged_votes(table, rows.task)
        for of_task, of_all in zip(known, shared, strict=True):
            yield sets.fill(of_task, rows.task, partial(_same, of_all))

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        self._votes.check(len(self.estimators_), n_tasks, n_classes)
        for model, classes in zip(self.estimators_, self._votes.classes, strict=True):
            check_numbers("classes_", model.classes_, "i", (None,))
            check_below("classes_", model.classes_, len(classes))

    def _staged_votes(self, table: Any, task: np.ndarray) -> Iterator[np.ndarray]:
        """The same before classes that a task does not show are filled in."""
        allowed = self._label_sets.allowed(task)
        votes = np.zeros((len(task), len(self.classes_)))
        total = np.zeros((len(task), 1))
        for number, model in enumerate(self.estimators_):
            vote = self._votes.votes[number][task]
            at = np.flatnonzero(vote)
            if len(at):
                codes = self._votes.task_codes[number][task[at]]
                prediction = model.predict(with_task(_take(table, at), codes))
                prediction = self._votes.classes[number][prediction]
                # what a tree shares may be a class that the task does not have
                vote = vote[at] * allowed[at, prediction]
                votes[at, prediction] += vote
                total[at, 0] += vote
            even = allowed / allowed.sum(axis=1, keepdims=True)
            yield np.where(total > 0, votes / np.where(total > 0, total, 1.0), even)

    def staged_predict(self, X: Table) -> Iterator[np.ndarray]:
        """The class with the most votes after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,)
            Classes.
        """
        for votes in self.staged_predict_proba(X):
            yield self.classes_[np.argmax(votes, axis=1)]

    def predict_proba(self, X: Table) -> np.ndarray:
        """Fraction of the votes for each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero for classes that the task does
            not have. They rank rows, but are not calibrated.
        """
        return deque(self.staged_predict_proba(X), maxlen=1).pop()

    def decision_function(self, X: Table) -> np.ndarray:
        """Scores of the classes: their fractions of the votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or (n_samples,) for two classes
            Fractions; for two classes that of the second less that of the first.
        """
        votes = self.predict_proba(X)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def predict(self, X: Table) -> np.ndarray:
        """The class with the most votes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Classes, each one of its task's.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tree = self.estimator
        if tree is None:
            tree = MultiTaskDecisionTreeClassifier()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = get_tags(tree).input_tags.allow_nan
        return tags


def _same(votes: np.ndarray, _: np.ndarray) -> np.ndarray:
    return votes


def _take(X: Any, rows: np.ndarray) -> Any:
    return X if len(rows) == X.shape[0] else X[rows]


def _readable(X: Any, tree: Any) -> Any:
    """Rows as the tree reads them."""
    dense = sp.issparse(X) and not get_tags(tree).input_tags.sparse
    return X.toarray() if dense else X


def _reweighted(
    round_weight: np.ndarray, wrong: np.ndarray, error: float
) -> np.ndarray:
    """Weights after a round: right rows lose, and all sum to one again."""
    round_weight = np.where(wrong, round_weight, round_weight * error / (1.0 - error))
    return round_weight / round_weight.sum()


def _vote(error: float, n_rows: float) -> float:
    """The vote ln(1 / beta), limited to that of half a wrong row."""
    error = max(error, 0.5 / max(n_rows, 2.0))
    return float(np.log((1.0 - error) / error)) if error < 0.5 else 0.0
