"""TrAdaBoost.R2, in one stage and in two (Pardoe & Stone 2010)."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils import check_random_state

from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.transfer._base import TransferBase, fold_of_target, no_round
from kinlearn.transfer._boost import Boosted, Transfer
from kinlearn.transfer._boost_numbers import (
    TINY,
    RegressorLearner,
    boost_numbers,
    source_shrink,
    weighted_median,
)
from kinlearn.utils import rounds_with_callbacks
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._sklearn import HasMethods, Interval
from kinlearn.utils._typing import ArrayLike, RandomState, Table, TaskColumn

__all__ = ["TrAdaBoostRegressor"]


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
    keep : {"second_half", "all"}, default="second_half"
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
        For each target a dict: share of each source in the weight of the last
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
      others are left to reach a stage's share, the source is scaled as a whole.

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
        keep: Literal["second_half", "all"] = "second_half",
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
        self.keep = keep
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
                rows = transfer.rows
                some = data.X if len(rows) == data.n_samples else data.X[rows]
                fit = self._fit_stages if self.two_stage else self._fit_once
                self.boosts_[names[target]], errors = fit(some, transfer, on_step)
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

    def _learner(self, X: Any) -> RegressorLearner:
        estimator = self.estimator
        if estimator is None:
            estimator = DecisionTreeRegressor(max_depth=3)
        return RegressorLearner(estimator, X, self._rng)

    def _fit_once(
        self,
        X: Any,
        transfer: Transfer,
        on_round: Callable[[int], AbstractContextManager[Any]],
        frozen: np.ndarray | None = None,
    ) -> tuple[Boosted, np.ndarray]:
        settings: dict[str, Any] = {"n_rounds": self.n_estimators, "keep": self.keep}
        boosted = boost_numbers(
            transfer, self._learner(X), on_round=on_round, frozen=frozen, **settings
        )
        own = transfer.is_target
        mute = not boosted.votes.any() and transfer.has_source
        if mute and frozen is None and own.sum() > 1:
            boosted = boost_numbers(
                transfer.some(own), self._learner(X[own]), on_round=no_round, **settings
            )
            boosted = replace(boosted, alone=True)
        if not boosted.votes.any():  # the first learner is better than none
            boosted = replace(boosted, votes=np.eye(1, len(boosted.votes))[0])
        return boosted, np.empty(0)

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
                boosted, _ = self._fit_once(X, transfer, no_round, weight)
                if best is None or error < min(errors):
                    best = boosted
                errors.append(error)
                if stage + 1 == self.n_stages or not transfer.has_source:
                    break
                share = first + (stage + 1) / (self.n_stages - 1) * (1 - first)
                model = self._learner(X)
                residual = np.abs(model.learn(transfer, weight) - transfer.y)
                weight = source_shrink(
                    weight,
                    residual / max(residual.max(), 1e-300),
                    is_target,
                    min(share, 1 - 1e-6),
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
            train = transfer.some(~out)
            boosted, _ = self._fit_once(X[~out], train, no_round, weight[~out])
            answer = _median_of(boosted, X[out])
            total += (transfer.start[out] * np.abs(answer - transfer.y[out])).sum()
            n += transfer.start[out].sum()
        return total / n if n else 0.0

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
        rows = self._predict_data(X)
        out = np.empty(rows.n_samples)
        for target, index in self._rows_of_targets(rows.task):
            out[index] = _median_of(self.boosts_[target], rows.X[index])
        unknown = np.flatnonzero(rows.task < 0)
        if len(unknown) and len(self.boosts_) > 1:
            some = rows.X[unknown]
            out[unknown] = np.mean(
                [_median_of(each, some) for each in self.boosts_.values()], axis=0
            )
        return out


def _median_of(boosted: Boosted, X: Any) -> np.ndarray:
    voting = np.flatnonzero(boosted.votes)
    answers = np.column_stack([boosted.learners[t].predict(X) for t in voting])
    return weighted_median(answers, boosted.votes[voting])
