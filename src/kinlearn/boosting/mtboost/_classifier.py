"""MTBoost for classes (Zhang and Yeung 2012)."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, Self

import numpy as np
from scipy.special import expit
from sklearn.base import ClassifierMixin

from kinlearn.boosting._start_weights import (
    check_sets_stay,
    row_weights,
    weighted_label_sets,
)
from kinlearn.boosting.mtboost._base import MTBoostBase
from kinlearn.boosting.mtboost._problems import BinaryProblems, ClassScores
from kinlearn.boosting.mtboost._rounds import Loss
from kinlearn.tasks import LabelSets
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._sklearn import StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["MTBoostClassifier"]


class MTBoostClassifier(ClassifierMixin, MTBoostBase):
    r"""Boosting that learns how tasks are related, positively or negatively.

    All tasks share the learners :math:`f_t`, and task i weighs them by
    :math:`w_{it}`: its score is :math:`F_i(x) = \sum_t w_{it} f_t(x)`, and the
    covariance :math:`\Omega` of the weights over the tasks is learned with them.
    The objective is, with :math:`\lambda` for `sharing_penalty` and
    :math:`\epsilon` for `covariance_ridge`,

    .. math::

        \min_{W, \Omega, f} \; \sum_{i, j} \ln(1 + e^{-y_{ij} F_i(x_{ij})})
        + \frac{\lambda}{2} \operatorname{tr}\!\left(\Omega^{-1}
          (W^\top W + \epsilon^2 I)\right),
        \qquad \operatorname{tr} \Omega = 1 .

    A round fits one learner to the rows of all tasks, those of a task of negative
    weight with their labels exchanged, then the weights, then the covariance, up to
    `n_inner` times.

    Parameters
    ----------
    estimator : classifier, default=None
        What each round fits: any scikit-learn classifier whose `fit` takes
        `sample_weight`. None is a weighted linear least-squares SVM, which takes
        wide sparse rows as well as dense ones.
    task : str, int or None, default=None
        Name or position of the task column; None is one task, and plain boosting.
    n_estimators : int, default=100
        Number of rounds.
    penalties : {"given", "auto"}, default="given"
        "auto" chooses `base_penalty` and `sharing_penalty` together, in place of those
        given here, by the loss of rows held out of each task and class in three folds.
        With an `estimator`, it chooses `sharing_penalty` alone. It takes ten to twenty
        times as long as a fit.
    sharing_penalty : float, default=1.0
        :math:`\lambda`. The larger, the more a task must earn weights that differ
        from those of its relatives; all weights shrink as well.
    n_inner : int, default=10
        Fits in each round, at most.
    inner_tol : float, default=0.01
        A round's fits end when no weight changes by more than this fraction of the
        largest.
    step : {"majorized", "exact", "paper"}, default="majorized"
        How the weights of a learner are found.

        - "majorized": the minimiser of an upper bound, by the largest curvature
          of the loss. No round raises the objective.
        - "exact": the minimiser of the penalised loss itself, with the covariance
          that belongs to it, by Newton steps; longer steps, which do not raise it
          either.
        - "paper": as printed. It may diverge; see Notes.
    start : {"gradient", "random"}, default="gradient"
        Weights that a round begins with: a draw from the covariance, turned
        towards the steepest descent, or (as in the paper) the draw alone. With an
        `estimator`, the first round is turned, by a fit to each task's gradient (up to
        10 tasks, or classes of tasks); later ones are drawn.
    output : {"clipped", "sign"}, default="clipped"
        What the tasks weigh: outputs limited to [-1, 1], or (as in the paper)
        their signs. Of an `estimator` with `predict_proba`, "clipped" takes twice
        the probability less 1.
    base_penalty : float, default=10.0
        Ridge of the least-squares learner, in units of the mean squared norm of the
        centred rows. The larger, the weaker are the learners. Beyond 1e-12 and 1e12
        it changes nothing.
    task_levels : bool, default=True
        Whether the least-squares learner has an intercept for each task, under the
        same penalty. Tasks whose features lie elsewhere need it to share a slope.
    form : {"auto", "primal", "dual", "iterative"}, default="auto"
        How the least-squares learner is solved: over features, over rows, or
        without a factorization. All give the same result.
    covariance_ridge : float, default=0.1
        :math:`\epsilon`: what keeps tasks from being tied together by the first
        rounds.
    tol : float, default=1e-10
        Boosting ends when :math:`\beta^\top \Omega \beta`, with the slopes
        :math:`\beta` of the mean loss, is not above it.
    early_stopping : bool, default=False
        Whether to hold rows back, to stop when their loss gets no better, and to
        keep the rounds up to the best.
    validation_fraction : float, default=0.1
        Fraction of the rows of each task and class that is held back.
    n_iter_no_change : int, default=10
        Rounds without a better loss after which to stop.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict by the average task, whose score
        of a class is the mean over the tasks that have the class, and whose intercepts
        are the means over all tasks; "warn" names them in a warning, "share" does not,
        "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    random_state : int, RandomState instance or None, default=None
        Decides the draws, the rows held back, and the seeds of `estimator`.

    Attributes
    ----------
    task_covariance_ : ndarray of shape (n_tasks, n_tasks)
        :math:`\Omega`. With more than two classes, sums over classes that both
        tasks have.
    task_correlation_ : ndarray of shape (n_tasks, n_tasks)
        The same with a diagonal of 1. Negative for tasks that contradict each
        other.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        The correlation again.
    weights_ : ndarray of shape (n_estimators_, n_problems)
        Weights of the learners for each task of two classes; for each class of a
        task with more, in the order of tasks and classes.
    base_penalty_, sharing_penalty_ : float
        The penalties, as given or chosen.
    penalty_path_ : ndarray of shape (n_pairs, 2)
        Pairs of `base_penalty` and `sharing_penalty` that were tried; with
        ``penalties="auto"`` only.
    path_losses_ : ndarray of shape (n_pairs, n_folds)
        Their mean losses on rows held out.
    n_estimators_ : int
        Rounds that are kept.
    hypotheses_ : object
        The learners; ``coef`` and ``intercept`` by default, ``models`` of an
        `estimator`.
    train_loss_, objective_ : ndarray of shape (n_estimators_,)
        After each round.
    validation_losses_ : ndarray of shape (n_rounds,)
        Mean loss of the rows held back after each round; with `early_stopping`
        only.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    classes_ : ndarray of shape (n_classes,)
        Union of all tasks' labels.
    task_classes_ : dict
        Labels of each task.
    feature_names_ : ndarray of shape (n_features,)
        Names of the features, without the task.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MTBoostRegressor : The same for numbers.
    kinlearn.report.TaskAffinityDisplay : The correlation as a picture.

    Notes
    -----
    Where this differs from the paper:

    - The paper calls the logistic loss concave and takes
      :math:`w = -\Omega \beta / \lambda`. The loss is convex, that step may raise
      it, and with a small penalty it diverges. Its curvature is at most 1/4, so
      :math:`w = -(D + \lambda \Omega^{-1})^{-1} \beta` with
      :math:`D_i = \sum_j f(x_{ij})^2 / 4` minimises a true upper bound.
    - The ridge stands inside the root, so that :math:`\Omega` is the exact minimiser
      of the objective above.
    - Of a round's fits, the one with the least bound is kept, not the last.
    - A start by chance fits labels that are exchanged by chance, and a learner that
      can fit any labels never finds back; hence ``start="gradient"``.
    - The least-squares learner has an intercept for each task (`task_levels`). The
      paper's learners see x alone.
    - A score begins with the log-odds of its task (half a row is added to each
      class), not with 0.
    - A task of more than two classes has a problem for each class against its others;
      all problems share the rounds. The paper has two classes.
    - Probabilities are the logistic function of the scores, which the loss is made
      for; boosted to the end, they are too sure.

    References
    ----------
    Y. Zhang, D.-Y. Yeung, "Multi-task boosting by exploiting task relationships",
    ECML PKDD 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting import MTBoostClassifier
    >>> rng = np.random.default_rng(0)
    >>> X, task = rng.normal(size=(90, 5)), np.arange(90) % 3
    >>> y = (X[:, 0] + X[:, 1] > 0) ^ (task == 2)  # the last task is turned around
    >>> model = MTBoostClassifier(task=-1, random_state=0)
    >>> model = model.fit(np.c_[X, task], y)
    >>> np.sign(model.task_correlation_)
    array([[ 1.,  1., -1.],
           [ 1.,  1., -1.],
           [-1., -1.,  1.]])
    """

    _parameter_constraints: dict = {
        **MTBoostBase._parameter_constraints,
        **MTBoostBase._label_parameter_constraints,
        "output": [StrOptions({"clipped", "sign"})],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        task: TaskColumn = None,
        n_estimators: int = 100,
        penalties: Literal["given", "auto"] = "given",
        sharing_penalty: float = 1.0,
        n_inner: int = 10,
        inner_tol: float = 0.01,
        step: Literal["majorized", "exact", "paper"] = "majorized",
        start: Literal["gradient", "random"] = "gradient",
        output: Literal["clipped", "sign"] = "clipped",
        base_penalty: float = 10.0,
        task_levels: bool = True,
        form: Literal["auto", "primal", "dual", "iterative"] = "auto",
        covariance_ridge: float = 0.1,
        tol: float = 1e-10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.n_estimators = n_estimators
        self.penalties = penalties
        self.sharing_penalty = sharing_penalty
        self.n_inner = n_inner
        self.inner_tol = inner_tol
        self.step = step
        self.start = start
        self.output = output
        self.base_penalty = base_penalty
        self.task_levels = task_levels
        self.form = form
        self.covariance_ridge = covariance_ridge
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.random_state = random_state

    @property
    def _kind(self) -> str:
        return self.output

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Boost all tasks together.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence. So the scale
            matters: the penalties, and those that ``penalties="auto"`` tries, are for
            weights with a mean of about 1. Divide others by their mean.

        Returns
        -------
        MTBoostClassifier
            The fitted classifier.
        """
        self._validate_params()
        self._check_estimator()
        data = self._fit_data(X, y, sample_weight, labels="classes")
        weight = row_weights(data)
        self._label_sets = weighted_label_sets(data)
        self.task_classes_ = self._label_sets.by_task(self.tasks_, self.classes_)
        self._problems = problems = BinaryProblems.of(data, self._label_sets)
        offsets = problems.offsets(weight[problems.row])
        make_loss = problems.losses(np.full(problems.n_problems, True))
        self._boost(
            X,
            y,
            data,
            lambda weight: (
                make_loss,
                problems.offsets(weight[problems.row])[problems.problem],
            ),
        )
        self._scores = ClassScores.of(
            problems,
            self.weights_,
            offsets,
            _only_class(data, self._label_sets, weight),
        )
        self._problems = problems.without_pairs()
        return self

    def partial_fit(
        self,
        X: Table,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Add rows, of known or new tasks, without forgetting the learners.

        The first call is a fit. In later ones new tasks are added as by
        :meth:`add_task`. Then up to `n_estimators` rounds are added for the rows of
        known tasks, which begin with the scores and the covariance that are there;
        tasks without rows have no weight in them, and keep their predictions.

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
            Weights; a weight of 2 is the same as two rows.

        Returns
        -------
        self
            The classifier. `train_loss_` and `objective_` of the rounds that were
            added are those of the rows that were added.
        """
        if hasattr(self, "weights_"):
            return self._add_rows(
                self._later_data(X, y, sample_weight, new_classes=True)
            )
        self._check_first_classes(y, classes)
        return self.fit(X, y, sample_weight)

    def _check_rows(self, later: Any) -> None:
        counted = later.take(row_weights(later) > 0)
        check_sets_stay(counted, self._label_sets, self.label_sets)

    def _further(
        self, known: Any
    ) -> tuple[Callable[[np.ndarray], Loss], np.ndarray, np.ndarray]:
        problems = BinaryProblems.of(known, self._label_sets)
        here = np.bincount(problems.problem, minlength=problems.n_problems) > 0
        scores = self._scores.offsets[problems.problem]
        scores = scores + self._known_scores(known, problems.row, problems.problem)
        return problems.losses(here), scores, here

    def _append(self, played: Any, here: np.ndarray) -> None:
        super()._append(played, here)
        offsets = self._scores.offsets[: self._problems.n_problems]
        only = self._scores.alone[:-1]
        self._scores = ClassScores.of(self._problems, self.weights_, offsets, only)

    def _add_later(self, later: Any, weight: np.ndarray) -> LabelSets:
        counted = later.take(weight > 0)
        label_sets = counted.find_label_sets(self._label_sets, self.label_sets)
        problems = BinaryProblems.of(later, label_sets)
        new = later.is_new[problems.task]
        offsets = problems.offsets(weight[problems.row])
        loss = problems.losses(new)(weight)
        self._add_weights(later, loss, offsets[problems.problem], new)
        offsets[~new] = self._scores.offsets[: len(new) - loss.n_problems]
        only = _only_class(later, label_sets, weight)
        only[np.ix_(later.place, later.class_place)] = self._scores.alone[:-1]
        self._scores = ClassScores.of(problems, self.weights_, offsets, only)
        self._problems = problems.without_pairs()
        return label_sets

    def _between_tasks(self, matrix: np.ndarray) -> np.ndarray:
        return self._problems.between_tasks(matrix)

    # ------------------------------------------------------------ prediction

    def _class_scores(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        rows = self._predict_data(X)
        scores = self._scores.start(rows.task)
        for some, outputs in self._outputs(rows):
            self._scores.add(outputs, rows.task[some], scores[some])
        return rows.task, scores

    def _staged_scores(self, X: Table) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rows = self._predict_data(X)
        scores = self._scores.start(rows.task)
        outputs = self._all_outputs(rows)
        for t in range(self.n_estimators_):
            one = slice(t, t + 1)
            self._scores.add(outputs[:, one], rows.task, scores, one)
            yield rows.task, scores.copy()

    def _decisions(self, task: np.ndarray, scores: np.ndarray) -> np.ndarray:
        allowed = self._label_sets.allowed(task)
        if len(self.classes_) == 2:
            # a task of one class has a score for that alone
            return np.where(allowed[:, 1], scores[:, 1], -scores[:, 0])
        least = np.where(allowed, scores, np.inf).min(axis=1, keepdims=True)
        return np.where(allowed, scores, least - 1)

    def _probabilities(self, task: np.ndarray, scores: np.ndarray) -> np.ndarray:
        allowed = self._label_sets.allowed(task)
        if len(self.classes_) == 2:
            second = expit(self._decisions(task, scores))
            proba = np.column_stack([1 - second, second])
        else:
            proba = expit(scores)
            # a task of two classes has one score; the same result as if these were all
            two = np.flatnonzero(allowed.sum(axis=1) == 2)
            first, second = np.nonzero(allowed[two])[1].reshape(-1, 2).T
            proba[two, first] = 1 - proba[two, second]
            # scores far below zero for all classes still differ
            proba = np.maximum(proba, np.finfo(float).tiny)
            proba /= np.where(allowed, proba, 0).sum(axis=1, keepdims=True)
        return self._label_sets.restrict(proba, task)

    def _labels(self, task: np.ndarray, scores: np.ndarray) -> np.ndarray:
        decisions = self._decisions(task, scores)
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
        return self._decisions(*self._class_scores(X))

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
        return self._probabilities(*self._class_scores(X))

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
        return self._labels(*self._class_scores(X))

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
            yield self._labels(task, scores)


def _only_class(data: Any, label_sets: LabelSets, weight: np.ndarray) -> np.ndarray:
    """For tasks of one class, its log-odds against none; zero elsewhere."""
    out = np.zeros((data.n_tasks, label_sets.n_classes))
    lonely = np.flatnonzero(np.diff(label_sets.indptr) == 1)
    total = np.bincount(data.task, weight, minlength=data.n_tasks)[lonely]
    only = label_sets.codes[label_sets.indptr[lonely]]
    out[lonely, only] = np.log(2 * total + 2)
    return out
