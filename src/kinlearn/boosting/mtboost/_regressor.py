"""MTBoost for numbers: the squared loss, for which the step is exact."""

from collections.abc import Callable, Iterator
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin

from kinlearn.boosting._start_weights import row_weights
from kinlearn.boosting.mtboost._base import MTBoostBase
from kinlearn.boosting.mtboost._rounds import Loss, SquaredLoss
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["MTBoostRegressor"]


class MTBoostRegressor(RegressorMixin, MTBoostBase):
    r"""Boosted regression that learns how tasks are related.

    As :class:`MTBoostClassifier`, with half the squared error for the loss: all
    tasks share the learners, each weighs them in its own way, and the covariance
    of the weights over the tasks is learned. y is measured in standard deviations.

    Parameters
    ----------
    estimator : regressor, default=None
        What each round fits: any scikit-learn regressor whose `fit` takes
        `sample_weight`. None is weighted ridge regression, which takes wide sparse
        rows as well as dense ones.
    task : str, int or None, default=None
        Name or position of the task column; None is one task, and plain boosting.
    n_estimators : int, default=100
        Number of rounds.
    penalties : {"given", "auto"}, default="given"
        "auto" chooses `base_penalty` and `sharing_penalty` together, in place of those
        given here, by the loss of rows held out of each task in three folds.
        With an `estimator`, it chooses `sharing_penalty` alone. It takes 35 times as
        long as a fit (600 rows, 20 features, 6 tasks).
    sharing_penalty : float, default=1.0
        :math:`\lambda`. The larger, the more a task must earn weights that differ
        from those of its relatives; all weights shrink as well.
    n_inner : int, default=10
        Fits in each round, at most.
    inner_tol : float, default=0.01
        A round's fits end when no weight changes by more than this fraction of the
        largest.
    step : {"majorized", "exact", "paper"}, default="majorized"
        How the weights of a learner are found. With this loss the bound is the loss
        itself; "exact" finds weights and covariance in turn until both stay.
    start : {"gradient", "random"}, default="gradient"
        Weights that a round begins with: a draw from the covariance, turned
        towards the steepest descent, or the draw alone. With an `estimator`, the
        first round is turned, by a fit to each task's gradient (up to 10 tasks);
        later ones are drawn.
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
        What keeps tasks from being tied together by the first rounds.
    tol : float, default=1e-10
        Boosting ends when :math:`\beta^\top \Omega \beta`, with the slopes
        :math:`\beta` of the mean loss, is not above it.
    early_stopping : bool, default=False
        Whether to hold rows back, to stop when their loss gets no better, and to
        keep the rounds up to the best.
    validation_fraction : float, default=0.1
        Fraction of the rows of each task that is held back.
    n_iter_no_change : int, default=10
        Rounds without a better loss after which to stop.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict by the average task, whose
        weights and levels are the means over all tasks; "warn" names them in a warning,
        "share" does not, "error" refuses them.
    random_state : int, RandomState instance or None, default=None
        Decides the draws, the rows held back, and the seeds of `estimator`.

    Attributes
    ----------
    task_covariance_ : ndarray of shape (n_tasks, n_tasks)
        Covariance of the tasks' weights, of trace 1.
    task_correlation_ : ndarray of shape (n_tasks, n_tasks)
        The same with a diagonal of 1. Negative for tasks that contradict each
        other.
    task_affinity_ : ndarray of shape (n_tasks, n_tasks)
        The correlation again.
    weights_ : ndarray of shape (n_estimators_, n_tasks)
        Weights of the learners, in standard deviations of y.
    offsets_ : ndarray of shape (n_tasks,)
        Level of each task before the first round.
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
        After each round, for y in standard deviations.
    validation_losses_ : ndarray of shape (n_rounds,)
        Mean loss of the rows held back after each round; with `early_stopping`
        only.
    tasks_ : ndarray of shape (n_tasks,)
        Task values seen in fit.
    feature_names_ : ndarray of shape (n_features,)
        Names of the features, without the task.
    n_features_in_ : int
        Number of columns of X in fit, the task included.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X has names.

    See Also
    --------
    MTBoostClassifier : The same for classes.

    Notes
    -----
    The paper has classes only, and names regression as future work. Here

    - a round's learner is fitted to the residuals times the task's weight, which
      is the direction in which the loss falls most. Its outputs are scaled to a
      mean square of 1;
    - a task's level is its mean, drawn towards the mean of all rows as if it had
      one row more with that value.

    References
    ----------
    Y. Zhang, D.-Y. Yeung, "Multi-task boosting by exploiting task relationships",
    ECML PKDD 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting import MTBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> x, task = rng.uniform(size=90), np.arange(90) % 3
    >>> y = np.where(task == 2, -4, 2) * x  # the last task falls where others rise
    >>> model = MTBoostRegressor(task=-1, base_penalty=0.01, random_state=0)
    >>> model = model.fit(np.c_[x, task], y)
    >>> model.predict([[0.9, 0], [0.9, 2]]).round(1)
    array([ 1.8, -3.6])
    """

    _kind = "number"

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
        base_penalty: float = 10.0,
        task_levels: bool = True,
        form: Literal["auto", "primal", "dual", "iterative"] = "auto",
        covariance_ridge: float = 0.1,
        tol: float = 1e-10,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        unknown_task: Literal["warn", "share", "error"] = "warn",
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
        self.base_penalty = base_penalty
        self.task_levels = task_levels
        self.form = form
        self.covariance_ridge = covariance_ridge
        self.tol = tol
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.unknown_task = unknown_task
        self.random_state = random_state

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
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence. So the scale
            matters: the penalties, and those that ``penalties="auto"`` tries, are for
            weights with a mean of about 1. Divide others by their mean.

        Returns
        -------
        MTBoostRegressor
            The fitted regressor.
        """
        self._validate_params()
        self._check_estimator("regressor")
        data = self._fit_data(X, y, sample_weight, labels="numbers")
        weight = row_weights(data)
        self._mean, self.offsets_, self._unit = _find_levels(data, weight)
        everyone = np.full(data.n_tasks, True)

        def begin(
            weight: np.ndarray,
        ) -> tuple[Callable[[np.ndarray], Loss], np.ndarray]:
            _, offsets, unit = _find_levels(data, weight)
            make_loss = self._losses(data, offsets, unit, everyone)
            return make_loss, np.zeros(data.n_samples)

        self._boost(X, y, data, begin)
        return self

    def _losses(
        self, data: Any, offsets: np.ndarray, unit: float, kept: np.ndarray
    ) -> Callable[[np.ndarray], Loss]:
        """What makes, of weights of the rows, the loss of some of the tasks."""
        task, n_kept = (np.cumsum(kept) - 1)[data.task], int(kept.sum())
        left = (data.y - offsets[data.task]) / unit
        rows = np.arange(data.n_samples)
        return lambda weight: SquaredLoss(rows, task, left, weight, n_kept)

    def partial_fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add rows, of known or new tasks, without forgetting the learners.

        The first call is a fit. In later ones new tasks are added as by
        :meth:`add_task`. Then up to `n_estimators` rounds are added for the rows of
        known tasks, which begin with the predictions and the covariance that are there;
        tasks without rows have no weight in them, and keep their predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows.

        Returns
        -------
        self
            The regressor. `train_loss_` and `objective_` of the rounds that were added
            are those of the rows that were added.
        """
        if hasattr(self, "weights_"):
            return self._add_rows(self._later_data(X, y, sample_weight))
        return self.fit(X, y, sample_weight)

    def _further(
        self, known: Any
    ) -> tuple[Callable[[np.ndarray], Loss], np.ndarray, np.ndarray]:
        here = np.bincount(known.task, minlength=known.n_tasks) > 0
        scores = self._known_scores(known, np.arange(known.n_samples), known.task)
        return self._losses(known, self.offsets_, self._unit, here), scores, here

    def _add_later(self, later: Any, weight: np.ndarray) -> None:
        total, sums = _task_sums(later, weight)
        offsets = (sums + self._mean) / (total + 1)
        offsets[later.place] = self.offsets_
        make_loss = self._losses(later, offsets, self._unit, later.is_new)
        loss = make_loss(weight)
        self._add_weights(later, loss, np.zeros(later.n_samples), later.is_new)
        self.offsets_ = offsets

    # ------------------------------------------------------------ prediction

    def _levels_and_weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Offset and weights of each task, then (which -1 picks) of the average."""
        offsets = np.append(self.offsets_, self.offsets_.mean())
        weights = np.vstack([self.weights_.T, self.weights_.mean(axis=1)])
        return offsets, weights * self._unit

    def predict(self, X: Table) -> np.ndarray:
        """The tasks' weighted sums of the learners' outputs.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers.
        """
        rows = self._predict_data(X)
        offsets, weights = self._levels_and_weights()
        out = offsets[rows.task]
        for some, outputs in self._outputs(rows):
            out[some] += np.einsum("ij,ij->i", outputs, weights[rows.task[some]])
        return out

    def staged_predict(self, X: Table) -> Iterator[np.ndarray]:
        """The same after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Yields
        ------
        ndarray of shape (n_samples,)
            Numbers.
        """
        rows = self._predict_data(X)
        offsets, weights = self._levels_and_weights()
        out = offsets[rows.task]
        outputs = self._all_outputs(rows)
        for t in range(self.n_estimators_):
            out += outputs[:, t] * weights[rows.task, t]
            yield out.copy()


def _find_levels(data: Any, weight: np.ndarray) -> tuple[float, np.ndarray, float]:
    """Mean of all rows, level of each task, and standard deviation around these."""
    total, sums = _task_sums(data, weight)
    mean = sums.sum() / total.sum()
    offsets = (sums + mean) / (total + 1)
    left = data.y - offsets[data.task]
    top = np.abs(left).max() or 1.0  # whose square might overflow, or vanish
    spread = top * np.sqrt(float(weight @ (left / top) ** 2) / total.sum())
    return mean, offsets, spread if spread > 0 else 1.0


def _task_sums(data: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weight of each task's rows, and their weighted sum of y."""
    return (
        np.bincount(data.task, weight, minlength=data.n_tasks),
        np.bincount(data.task, weight * data.y, minlength=data.n_tasks),
    )
