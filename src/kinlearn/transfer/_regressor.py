"""TrAdaBoost.R2, in one stage and in two (Pardoe & Stone 2010)."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.transfer._base import TransferBase, fold_of_target, rows_of
from kinlearn.transfer._boost import Boosted, Transfer, Weights, boost
from kinlearn.transfer._learners import ModelLearner
from kinlearn.transfer._weight_updates import (
    TINY,
    Update,
    relative_residual,
    source_shrink,
)
from kinlearn.utils import quiet_round, rounds_with_callbacks
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._sklearn import HasMethods, Interval
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["TrAdaBoostRegressor"]

_ONE_STAGE = Update(relative_residual)
# AdaBoost.R2': the source keeps its weights, and only rows of the target gain.
_HELD_SOURCE = Update(partial(relative_residual, of_target=True), moves_source=False)


class TrAdaBoostRegressor(RegressorMixin, TransferBase):
    r"""Boosted regression that takes from a large source what fits the target.

    Every round fits a regressor to all rows by weight. A row's error
    :math:`e_i` is its absolute residual over the largest one, and with the
    target's mean error :math:`\epsilon` (by weight)

    .. math::

        w_{tar} \leftarrow w_{tar} \left(\frac{1 - \epsilon}{\epsilon}\right)
            ^{e_i}, \qquad
        w_{src} \leftarrow w_{src}\, \beta_{src}^{e_i}, \qquad
        \beta_{src} = \frac{1}{1 + \sqrt{2 \ln n / N}}.

    The prediction is the median of the learners' predictions, weighted by their votes
    :math:`\ln((1 - \epsilon) / \epsilon)`.

    In two stages (``two_stage=True``), the weight moves from the source to the
    target in `n_stages` even steps, always from the source rows of largest
    error; in each stage AdaBoost.R2 is run with the source's weights held, and
    the stage with the least error on held-out target rows is taken.

    Parameters
    ----------
    estimator : regressor, default=None
        What each round fits: any scikit-learn regressor whose `fit` takes
        `sample_weight`. None is a tree of depth 3.
    task : str, int or None, default=None
        Name or position of the task column; None is one task, no source, and
        AdaBoost.R2 by weights.
    target : task value, default=None
        The task that is to be learned; all others are sources. None makes every
        task the target in turn.
    n_estimators : int, default=30
        Number of rounds, in each stage if there are two.
    two_stage : bool, default=False
        Whether to use the two-stage form. It takes `n_stages` times `n_folds` + 1 as
        long.
    n_stages : int, default=10
        Steps in which weight moves to the target, in the two-stage form.
    n_folds : int, default=5
        Folds of the target's rows by which a stage is chosen.
    voters : {"second_half", "all"}, default="second_half"
        Which rounds vote: from N/2 to N, when the source has settled, or all.
        Without a source, and in the two-stage form, all do.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict with the target's model (the
        average over all models if ``target=None``); "warn" names them in a warning,
        "share" does not, "error" refuses them.
    random_state : int, RandomState instance or None, default=None
        Seeds the regressors and deals the folds.

    Attributes
    ----------
    boosts_ : dict
        For each target the learners, their votes and the history.
    stage_errors_ : dict
        For each target the mean absolute error of each stage on held-out target
        rows; empty in the one-stage form.
    source_weight_ : dict
        For each target a dict: fraction of each source in the weight of the last
        round. A useless source falls behind the useful ones.
    weight_history_ : dict
        For each target a history: ``task_share``, ``target_error`` and ``vote``,
        by round.
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
    TrAdaBoostClassifier : The same for classes.

    Notes
    -----
    The exponent of a target row is :math:`-e_i` as in the paper, not AdaBoost.R2's
    :math:`1 - e_i`: the same within the target, but the latter would let the target
    as a whole lose weight to the source.

    Where this differs from the paper:

    - The target error is normalised within the target. The paper sums weights
      that sum to one over source and target together, by which a small target
      has nearly no error at first, and the first votes are huge.
    - Boosting ends at a target error of 1/2 or of 0. If that leaves no learner with
      a vote, the target is boosted alone, with a warning: the source does not fit.
      A source that misleads less than that is not noticed; `two_stage` looks at
      rows that were left out.
    - In the two-stage form, rows without an error never lose weight. If too few
      others are left to reach a stage's fraction, the source is scaled as a whole.

    References
    ----------
    D. Pardoe, P. Stone, "Boosting for regression transfer", ICML 2010.

    H. Drucker, "Improving regressors using boosting techniques", ICML 1997.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.transfer import TrAdaBoostRegressor
    >>> rng = np.random.default_rng(0)
    >>> x, task = rng.uniform(size=300), np.repeat([0, 1], [280, 20])
    >>> y = np.sin(6 * x) + 0.2 * task
    >>> model = TrAdaBoostRegressor(task=-1, target=1, random_state=0)
    >>> model.fit(np.c_[x, task], y).predict([[0.25, 1]]).round(1)
    array([1.1])
    """

    _parameter_constraints: dict = {
        **TransferBase._parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "two_stage": ["boolean"],
        "n_stages": [Interval(Integral, 2, None, closed="left")],
        "n_folds": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        task: TaskColumn = None,
        target: Any = None,
        n_estimators: int = 30,
        two_stage: bool = False,
        n_stages: int = 10,
        n_folds: int = 5,
        voters: Literal["second_half", "all"] = "second_half",
        unknown_task: Literal["warn", "share", "error"] = "warn",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.target = target
        self.n_estimators = n_estimators
        self.two_stage = two_stage
        self.n_stages = n_stages
        self.n_folds = n_folds
        self.voters = voters
        self.unknown_task = unknown_task
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Boost on source and target.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.
        y : array-like of shape (n_samples,)
            Numbers.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights to begin with; weight 0 is absence. A weight of 2 is as good as
            two rows, so the scale matters: weights that sum to 1 are one row.

        Returns
        -------
        TrAdaBoostRegressor
            The fitted regressor.
        """
        self._validate_params()
        self._check_estimator("regressor")
        data = self._fit_data(X, y, sample_weight, labels="numbers")
        start = data.sample_weight
        start = np.ones(data.n_samples) if start is None else np.array(start)
        targets = self._target_codes(data)
        names = data.tasks.tolist()
        self.boosts_, self.stage_errors_ = {}, {}
        self._rng = check_random_state(self.random_state)
        n_steps = self.n_stages if self.two_stage else self.n_estimators
        with rounds_with_callbacks(self, X, y, len(targets) * n_steps) as on_step:
            for target in targets:
                transfer = self._transfer(data, target, start)
                fit = self._fit_stages if self.two_stage else self._fit_once
                self.boosts_[names[target]], errors = fit(
                    rows_of(data.X, transfer), transfer, on_step
                )
                self.stage_errors_[names[target]] = errors
        del self._rng
        self._warn_of_useless_sources()
        return self

    def _warn_of_useless_sources(self) -> None:
        alone = [name for name, each in self.boosts_.items() if each.alone]
        if alone:
            warnings.warn(
                f"With the source, no learner had a target error below 1/2 for task "
                f"{alone[0]!r} ({len(alone)} of {len(self.boosts_)} targets): it was "
                "boosted alone. The source is not related to it, or related in "
                "reverse.",
                TaskFallbackWarning,
                stacklevel=4,
            )

    def _learner(self, X: Any) -> ModelLearner:
        estimator = self.estimator
        if estimator is None:
            estimator = DecisionTreeRegressor(max_depth=3)
        return ModelLearner(estimator, X, self._rng)

    def _boost(
        self,
        X: Any,
        weights: Weights,
        update: Update,
        on_round: Callable[[int], AbstractContextManager[Any]] = quiet_round,
    ) -> Boosted:
        settles = weights.transfer.has_source and update.moves_source
        return boost(
            weights,
            self._learner(X),
            update,
            n_rounds=self.n_estimators,
            voters=self.voters if settles else "all",
            on_round=on_round,
        )

    def _fit_once(
        self,
        X: Any,
        transfer: Transfer,
        on_round: Callable[[int], AbstractContextManager[Any]],
    ) -> tuple[Boosted, np.ndarray]:
        boosted = self._boost(X, Weights(transfer), _ONE_STAGE, on_round)
        of_target = transfer.is_target
        mute = not boosted.votes.any() and transfer.has_source
        if mute and of_target.sum() > 1:
            alone = Weights(transfer.some(of_target))
            boosted = self._boost(X[of_target], alone, _ONE_STAGE)
            boosted = replace(boosted, alone=True)
        return _with_a_vote(boosted), np.empty(0)

    def _fit_held(self, X: Any, transfer: Transfer, weight: np.ndarray) -> Boosted:
        """Boost with the weights of a stage, those of the source held."""
        return _with_a_vote(self._boost(X, Weights(transfer, weight), _HELD_SOURCE))

    def _fit_stages(
        self,
        X: Any,
        transfer: Transfer,
        on_stage: Callable[[int], AbstractContextManager[Any]],
    ) -> tuple[Boosted, np.ndarray]:
        """Move weight to the target step by step; keep the best stage."""
        is_target = transfer.is_target
        weight = np.maximum(transfer.start / transfer.start.sum(), TINY)
        first = weight[is_target].sum()
        fold = fold_of_target(transfer, self.n_folds, self._rng)
        errors: list[float] = []
        best: Any = None
        for stage in range(self.n_stages):
            with on_stage(stage):
                error = self._held_out_error(X, transfer, weight, fold)
                boosted = self._fit_held(X, transfer, weight)
                if best is None or error < min(errors):
                    best = boosted
                errors.append(error)
                if stage + 1 == self.n_stages or not transfer.has_source:
                    break
                fraction = first + (stage + 1) / (self.n_stages - 1) * (1 - first)
                predicted = self._learner(X).fit(transfer, weight)
                weight = source_shrink(
                    weight,
                    relative_residual(predicted, transfer.y, is_target),
                    is_target,
                    min(fraction, 1 - 1e-6),
                )
        return best, np.array(errors)

    def _held_out_error(
        self, X: Any, transfer: Transfer, weight: np.ndarray, fold: np.ndarray
    ) -> float:
        """Mean absolute error on the target's rows, each left out once."""
        total = n = 0.0
        for k in range(fold.max() + 1):
            out = fold == k
            if out.sum() == transfer.is_target.sum():
                continue  # nothing of the target would be left
            boosted = self._fit_held(X[~out], transfer.some(~out), weight[~out])
            predicted = _median_of(boosted, X[out])
            total += (transfer.start[out] * np.abs(predicted - transfer.y[out])).sum()
            n += transfer.start[out].sum()
        return total / n if n else 0.0

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        for boosted in self.boosts_.values():
            boosted.check(n_features, 0)

    def predict(self, X: Table) -> np.ndarray:
        """Weighted median of the learners' predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers.
        """
        return self._by_target(
            X, lambda target, some: _median_of(self.boosts_[target], some)
        )


def _with_a_vote(boosted: Boosted) -> Boosted:
    """The same; if none has a vote, the first learner, which is better than none."""
    if boosted.votes.any():
        return boosted
    return replace(boosted, votes=np.eye(1, len(boosted.votes))[0])


def _median_of(boosted: Boosted, X: Any) -> np.ndarray:
    voting = np.flatnonzero(boosted.votes)
    predictions = np.column_stack([boosted.learners[t].predict(X) for t in voting])
    return weighted_median(predictions, boosted.votes[voting])


def weighted_median(predictions: np.ndarray, votes: np.ndarray) -> np.ndarray:
    """For each row the prediction at which half of the columns' votes is reached.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.transfer._regressor import weighted_median
    >>> weighted_median(np.array([[3.0, 1.0, 2.0]]), np.array([1.0, 1.0, 5.0]))
    array([2.])
    """
    order = np.argsort(predictions, axis=1)
    below = np.cumsum(votes[order], axis=1)
    place = (below >= below[:, -1:] / 2).argmax(axis=1)
    return np.take_along_axis(
        predictions, np.take_along_axis(order, place[:, None], axis=1), axis=1
    )[:, 0]
