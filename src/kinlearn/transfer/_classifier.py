"""TrAdaBoost and its corrections (Dai et al. 2007, Al-Stouhi 2013)."""

import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager
from numbers import Integral, Real
from typing import Any, Literal, Self, cast

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_random_state

from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.tasks import TaskData
from kinlearn.transfer._base import TransferBase, fold_of_target, rows_of
from kinlearn.transfer._boost import Boosted, Transfer, Weights, boost
from kinlearn.transfer._learners import (
    BinnedRows,
    ModelLearner,
    TreeLearner,
    add_votes_of,
)
from kinlearn.transfer._weight_updates import (
    CORRECTIONS,
    Update,
    find_correction,
    is_wrong,
)
from kinlearn.utils import quiet_round, rounds_with_callbacks
from kinlearn.utils._callbacks import with_callbacks
from kinlearn.utils._loaded import check_numbers, demand
from kinlearn.utils._sklearn import HasMethods, Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, LabelRule, RandomState, Table, TaskColumn

__all__ = ["TrAdaBoostClassifier"]

# Corrections that are for a rare class, whose learners are those of later rounds.
_VOTE_LATE = {"rare", "rare_printed"}
# Mean recall above chance of a model that finds something.
_BETTER_THAN_CHANCE = 0.05
# Rows of the target that are to be left out before a source is judged.
_LEAST_LEFT_OUT = 50


class TrAdaBoostClassifier(ClassifierMixin, TransferBase):
    r"""Boosting that takes from a large source what fits a small target.

    Every round fits a classifier to all rows, source and target, by weight. Then
    wrong rows of the target gain weight, as in AdaBoost, and wrong rows of the
    source lose weight: what disagrees with the target fades. With the round's
    target error :math:`\epsilon` (by weight, within the target),

    .. math::

        w_{tar} \leftarrow w_{tar} \left(\frac{1 - \epsilon}{\epsilon}\right)
            ^{[wrong]}, \qquad
        w_{src} \leftarrow w_{src}\, C\, \beta_{src}^{[wrong]}, \qquad
        \beta_{src} = \frac{1}{1 + \sqrt{2 \ln n / N}},

    for n source rows and N rounds; then all weights are normalised together.
    Learners vote with :math:`\ln((1 - \epsilon) / \epsilon)`.

    Parameters
    ----------
    estimator : classifier, default=None
        What each round fits: any scikit-learn classifier whose `fit` takes
        `sample_weight`. None is our own weighted tree (Gini), over bins that are
        computed once; see `trim`.
    task : str, int or None, default=None
        Name or position of the task column; None is one task, no source, and
        plain AdaBoost.
    target : task value, default=None
        The task that is to be learned; all others are sources. None makes every
        task the target in turn, with the others as sources: one boosted model
        for each.
    n_estimators : int, default=30
        Number of rounds.
    correction : str, float, callable or None, default="dynamic"
        The factor C of source rows.

        - None: 1, TrAdaBoost. Source rows lose their fraction of the weight even
          where they are always right ("weight drift").
        - a number: that factor for all; the thesis tries 1.1, 1.2 and 1.3.
        - "dynamic": :math:`2 (1 - \epsilon)`, Dynamic-TrAdaBoost. A right source
          row keeps its fraction.
        - "dynamic_printed": :math:`2 (1 - \epsilon_{src})` with the error on the
          source, as the thesis prints the algorithm; its theorem has the former.
        - "rare": that of "rare_printed", times what lets the target's rarest label
          keep its fraction of all weight in the source. Other labels fade, if their
          wrong weight is larger; none gains.
        - "rare_printed": :math:`1 - \epsilon^l_{src}`, Rare-Transfer, with the wrong
          weight of label l as a fraction of all source weight. The common label
          falls faster, and both fall faster than under None.
        - "balanced": :math:`2 (1 - \epsilon) / (1 - e^l (1 - \beta_{src}))`,
          with the error :math:`e^l` within label l of the source. Each label of
          the source keeps its fraction.
        - a callable: from what a round got wrong to a positive factor, or to one for
          each label. It has the attributes ``target`` (:math:`\epsilon`), ``source``
          (array, by label: wrong weight as a fraction of all source weight),
          ``within`` (:math:`e^l`) and ``beta_source``.
    target_share : float or None, default=0.7
        Fraction of all weight that the target has to begin with. None is that of its
        rows, as in the papers: a large source then decides what is learned. The n
        in :math:`\beta_{src}` is that of the rows all the same.
    voters : {"auto", "all", "second_half"}, default="auto"
        Which rounds vote: all, or from N/2 to N, when the source has settled, as in
        the papers. The same with a source and without. "auto" is the second half under
        the corrections "rare" and "rare_printed", all rounds under any other: what
        finds a rare class is learned late. The late vote finds more of the rare class
        and costs accuracy; "all" is better where rare rows are not very few.
    balance_start : bool, default=False
        Begin with equal weight for each class within each task.
    balance_rounds : bool, default=False
        Give each class equal weight, in the target and in the source, at the begin of
        every round.
    max_depth : int, default=None
        Largest depth of our own trees; None is no limit.
    trim : bool, default=True
        End our own trees at the first depth with a target error below 1/2. A
        stump seldom gets there, as most rows are the source's. False grows full
        trees: set `max_depth` then, since a tree that gets no row wrong changes
        no weight.
    guard : int or None, default=None
        Folds of the target's rows by which the sources have to prove themselves.
        Each fold is left out once, with the sources and without; where the
        balanced error on the rows left out is larger with them, the target is
        boosted alone; the same rounds vote in both. It takes `guard` + 1 times as
        long; a target of fewer than 50 rows is dealt into folds several times, and
        takes as many times as long. None trusts the sources, as the papers do.
    unknown_task : {"warn", "share", "error"}, default="warn"
        What to do about tasks not seen in fit: predict with the target's model (the
        average over all models if ``target=None``); "warn" names them in a warning,
        "share" does not, "error" refuses them.
    label_sets : {"connected", "observed"} or mapping, default="connected"
        Which classes a task may get: its own and those of all tasks that it has one in
        common with, from task to task; its own alone; or those that a mapping from
        tasks to classes gives it. See :ref:`label-sets`.
    random_state : int, RandomState instance or None, default=None
        Seeds an `estimator` that has a random state, and deals the folds of
        `guard`. Our own trees have none.

    Attributes
    ----------
    boosts_ : dict
        For each target the learners, their votes and the history.
    source_weight_ : dict
        For each target a dict: fraction of each source in the weight of the last
        round. A useless source falls behind the useful ones, soon with
        ``correction=None`` and slowly with the others: compare sources with each
        other, or use `guard`. One that `guard` refused is at 0.
    voters_ : {"all", "second_half"}
        Which rounds vote.
    target_classes_ : dict
        Target: its classes that its rows or those of its sources have, with weight.
    guard_errors_ : dict
        For each target a dict: balanced error on rows left out, ``"with source"``
        and ``"alone"``; empty without `guard`.
    weight_history_ : dict
        For each target a history: ``task_share``, ``source_share`` and
        ``target_share`` (by label), ``target_error`` and ``vote``, by round.
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
    TrAdaBoostRegressor : The same for numbers.
    AuxiliaryOverSampler : Takes source rows into the target, for any classifier.
    kinlearn.model_selection.TargetKFold : Folds over the target alone.
    kinlearn.report.WeightDriftDisplay : The weight history as a picture.

    Notes
    -----
    Where this differs from the papers, or they are silent:

    - The thesis prints :math:`2 (1 - \epsilon_{src})` in the algorithm, and
      derives the target error in its theorem. The theorem counts for "dynamic". Where
      no row of the target is wrong, its weight does not change, and C is 1.
    - The thesis does not define what the error of "rare_printed" is a fraction of.
      Within the label, the rare label would collapse; of all source weight, as in its
      own simulation, it falls the least. C is at least 1e-6.
    - The papers begin with equal weight for all rows, and the second half votes:
      ``target_share=None, voters="second_half"``. A useless source costs far more so.
    - *Target error of 1/2 or more.* The learner gets no vote, the weight of the
      target is spread as in the beginning, and all source rows are multiplied by
      :math:`\beta_{src}`, wrong ones twice: the source fades until the target
      can be learned. Without a source, boosting ends there, as AdaBoost does.
      If no round is below 1/2, the classes' fractions of the target are predicted,
      with a warning.
    - *Target error of 0.* AdaBoost would end, and here every later learner would
      be the same one. So the weight of the target is spread as in the beginning,
      and boosting goes on; without a source, it ends.
    - The vote is limited to that of half a wrong row, so that one learner
      without a fault on a few rows does not outvote all others.
    - *A source that does harm.* Trees learn noise by heart, so rows of a useless
      source are right too often to fade within the rounds, under any correction.
      `guard` is ours, and judges by rows that no learner has seen.
    - Fractions of the votes are the probabilities; they rank, but are not calibrated.
    - Source rows of classes outside of the target's label set are left out. A class
      that no row of the target shows is learned from the sources, and its fraction of
      the votes is mixed with the fractions of the classes in all rows, as by one row
      more of the target, so that it is never 0.
    - Sample weights count rows: n and half a row are in their unit.
    - More than two classes are boosted as in AdaBoost.M1.

    References
    ----------
    W. Dai, Q. Yang, G. Xue, Y. Yu, "Boosting for transfer learning", ICML 2007.

    S. Al-Stouhi, "Learning with an insufficient supply of data via knowledge
    transfer and sharing", thesis, Wayne State University, 2013.

    Examples
    --------
    >>> from kinlearn.datasets import make_transfer_pair
    >>> from kinlearn.transfer import TrAdaBoostClassifier
    >>> X, y = make_transfer_pair(500, 40, as_frame=True, random_state=0)
    >>> model = TrAdaBoostClassifier(task="task", target="target").fit(X, y)
    >>> model.predict(X[X["task"] == "target"]).shape
    (40,)
    >>> sorted(model.source_weight_["target"])
    ['source']
    """

    _parameter_constraints: dict = {
        **TransferBase._parameter_constraints,
        **TransferBase._label_parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "correction": [
            Interval(Real, 0, None, closed="neither"),
            StrOptions(CORRECTIONS),
            callable,
            None,
        ],
        "target_share": [Interval(Real, 0, 1, closed="neither"), None],
        "voters": [StrOptions({"auto", "all", "second_half"})],
        "balance_start": ["boolean"],
        "balance_rounds": ["boolean"],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "trim": ["boolean"],
        "guard": [Interval(Integral, 2, None, closed="left"), None],
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        task: TaskColumn = None,
        target: Any = None,
        n_estimators: int = 30,
        correction: str | float | Callable[[Any], Any] | None = "dynamic",
        target_share: float | None = 0.7,
        voters: Literal["auto", "all", "second_half"] = "auto",
        balance_start: bool = False,
        balance_rounds: bool = False,
        max_depth: int | None = None,
        trim: bool = True,
        guard: int | None = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.task = task
        self.target = target
        self.n_estimators = n_estimators
        self.correction = correction
        self.target_share = target_share
        self.voters = voters
        self.balance_start = balance_start
        self.balance_rounds = balance_rounds
        self.max_depth = max_depth
        self.trim = trim
        self.guard = guard
        self.unknown_task = unknown_task
        self.label_sets = label_sets
        self.random_state = random_state

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Boost on source and target.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN is a missing value for our own trees.
        y : array-like of shape (n_samples,)
            Labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights to begin with; weight 0 is absence. A weight of 2 is as good as
            two rows, so the scale matters: weights that sum to 1 are one row.

        Returns
        -------
        TrAdaBoostClassifier
            The fitted classifier.
        """
        self._validate_params()
        self._check_estimator("classifier")
        data = self._fit_data(X, y, sample_weight, labels="classes")
        start = _start_weights(data, self.balance_start)
        rng = check_random_state(self.random_state)
        new_learner = self._learners(data, start, rng)
        self.voters_ = voters = _find_voters(self.voters, self.correction)

        update = Update(
            is_wrong,
            find_correction(self.correction),
            ends=False,
            balance=self.balance_rounds,
        )

        def boost_rows(
            transfer: Transfer,
            on_round: Callable[[int], AbstractContextManager[Any]] = quiet_round,
        ) -> Boosted:
            return boost(
                Weights(transfer, _shared_out(transfer, self.target_share)),
                new_learner(transfer),
                update,
                n_rounds=self.n_estimators,
                voters=voters,
                on_round=on_round,
            )

        targets = self._target_codes(data)
        names = data.tasks.tolist()
        self.boosts_, self.guard_errors_, self._class_fractions = {}, {}, {}
        self.target_classes_ = {}
        foreign = []
        n_rounds = len(targets) * self.n_estimators
        with rounds_with_callbacks(self, X, y, n_rounds) as on_round:
            for target in targets:
                transfer = self._transfer(data, target, start)
                codes = np.unique(data.y[transfer.rows])
                self.target_classes_[names[target]] = data.classes[codes]
                if not transfer.has_source and (start[data.task != target] > 0).any():
                    foreign.append(names[target])
                if self.guard is not None and transfer.has_source:
                    transfer, errors = self._guarded(transfer, data.X, boost_rows, rng)
                    self.guard_errors_[names[target]] = errors
                self.boosts_[names[target]] = boost_rows(transfer, on_round)
                rows = data.rows(target)
                fractions = _class_fractions(
                    data.y[rows], start[rows], len(data.classes)
                )
                self._class_fractions[names[target]] = fractions
        self._warn_of_foreign_labels(foreign)
        self._warn_of_mute_targets()
        self._warn_of_losing_targets(data, start)
        return self

    def _guarded(
        self,
        transfer: Transfer,
        X: Any,
        boost_rows: Callable[[Transfer], Boosted],
        rng: np.random.RandomState,
    ) -> tuple[Transfer, dict[str, float]]:
        """The transfer, without its source where that does harm; and the errors."""
        alone = transfer.some(transfer.is_target)
        n_rows = len(alone.rows)
        if n_rows < 2:  # nothing of the target would be left
            return transfer, {}
        n_folds = min(cast(int, self.guard), n_rows)
        n_deals = -(-_LEAST_LEFT_OUT // n_rows)
        errors = {"with source": 0.0, "alone": 0.0}
        for _ in range(n_deals):
            fold = fold_of_target(transfer, n_folds, rng)
            for name, rows in (("with source", transfer), ("alone", alone)):
                dealt = fold if rows is transfer else fold[transfer.is_target]
                error = _held_out_error(rows, X, dealt, boost_rows)
                errors[name] += error / n_deals
        harm = errors["with source"] > errors["alone"] + 1e-9  # not by rounding
        return (alone if harm else transfer), errors

    def _learners(
        self, data: TaskData, start: np.ndarray, rng: np.random.RandomState
    ) -> Callable[[Transfer], ModelLearner | TreeLearner]:
        """What makes a new base learner for the rows of a transfer."""
        if self.estimator is not None:
            return lambda transfer: ModelLearner(
                self.estimator, rows_of(data.X, transfer), rng
            )
        # Bins that are quantiles weigh each task alike, however many rows it has:
        # otherwise a large source would leave the target a few coarse bins.
        size = np.bincount(data.task, minlength=data.n_tasks)
        binned = BinnedRows.of(data.X, (start > 0) / size[data.task])
        return lambda _: TreeLearner(binned, self.max_depth, self.trim)

    def _warn_of_foreign_labels(self, targets: list[Any]) -> None:
        if targets:
            warnings.warn(
                f"No source has a class of task {targets[0]!r}, whose classes are "
                f"{self.target_classes_[targets[0]].tolist()} ({len(targets)} of "
                f"{len(self.boosts_)} targets): it was boosted alone. Are the labels "
                "of the tasks written alike?",
                TaskFallbackWarning,
                stacklevel=4,
            )

    def _warn_of_mute_targets(self) -> None:
        mute = [name for name, b in self.boosts_.items() if not b.votes.any()]
        if mute:
            warnings.warn(
                f"No learner had a target error below 1/2 for task {mute[0]!r} "
                f"({len(mute)} of {len(self.boosts_)} targets): the fractions of "
                "the classes in the target are predicted for it. Try a stronger "
                "estimator, or more rounds.",
                TaskFallbackWarning,
                stacklevel=4,
            )

    def _warn_of_losing_targets(self, data: TaskData, start: np.ndarray) -> None:
        """Where the most frequent class alone would be right more often.

        A model that finds a rare class may be right less often: it is no loss.
        """
        losing = []
        names = data.tasks.tolist()
        for target, boosted in self.boosts_.items():
            if not boosted.votes.any():
                continue
            rows = data.rows(names.index(target))
            proba = self._predict_target(target, data.X[rows])
            hit = start[rows] * (proba.argmax(axis=1) == data.y[rows])
            fractions = self._class_fractions[target]
            found = np.bincount(data.y[rows], hit, minlength=len(fractions))
            found = found / start[rows].sum()
            shown = fractions > 0
            recall = (found[shown] / fractions[shown]).mean()
            right, most = found.sum(), fractions.max()
            if right < most - 1e-9 and recall < 1 / shown.sum() + _BETTER_THAN_CHANCE:
                losing.append((target, right, most))
        if losing:
            target, right, most = losing[0]
            why, remedy = "", ""
            if self.voters_ == "second_half":  # finds rare classes at that price
                why, remedy = "the second half of the rounds votes, ", 'voters="all", '
            warnings.warn(
                f"The model is right on {right:.0%} of the training rows of task "
                f"{target!r}, where its most frequent class is {most:.0%} of them "
                f"({len(losing)} of {len(self.boosts_)} targets): {why}"
                f"the sources do harm, or the trees are too weak. Set {remedy}"
                "guard=5, a larger target_share, or another estimator.",
                TaskFallbackWarning,
                stacklevel=4,
            )

    def predict_proba(self, X: Table) -> np.ndarray:
        """Fraction of the votes for each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column for each of ``classes_``; zero for classes outside of the target's
            label set. They rank rows, but are not calibrated.
        """
        return self._by_target(X, self._predict_target, by_class=True)

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        known = set(self.tasks_.tolist())
        for target, boosted in self.boosts_.items():
            demand(target in known, "boosts_")
            present = self.target_classes_[target]
            demand(np.isin(present, self.classes_).all(), "target_classes_")
            fractions = self._class_fractions[target]
            check_numbers("class_fractions", fractions, np.float64, (n_classes,))
            boosted.check(n_features, len(present))

    def _predict_target(self, target: object, X: Any) -> np.ndarray:
        fractions = self._class_fractions[target]
        present = np.searchsorted(self.classes_, self.target_classes_[target])
        out = np.zeros((X.shape[0], len(fractions)))
        out[:, present] = _vote_fractions(self.boosts_[target], X, fractions[present])
        code = self.tasks_.tolist().index(target)
        return self._label_sets.fill(out, np.full(X.shape[0], code))

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
            Classes.
        """
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]


def _find_voters(voters: str, correction: Any) -> str:
    """Which rounds vote: as the parameter says, or by the correction."""
    if voters != "auto":
        return voters
    late = isinstance(correction, str) and correction in _VOTE_LATE
    return "second_half" if late else "all"


def _start_weights(data: TaskData, balanced: bool) -> np.ndarray:
    """Weights to begin with; balanced, each class of a task has the same sum."""
    start = np.ones(data.n_samples)
    if data.sample_weight is not None:
        start = np.array(data.sample_weight)
    if not balanced:
        return start
    cell = data.task_class_indptr[data.task] + data.y_in_task
    of_cell = np.bincount(cell, start, minlength=len(data.task_class_codes))
    of_task = np.bincount(data.task, start, minlength=data.n_tasks)
    owner = np.repeat(np.arange(data.n_tasks), np.diff(data.task_class_indptr))
    n_classes = np.bincount(owner, of_cell > 0, minlength=data.n_tasks)
    wanted = of_task[owner] / np.maximum(n_classes[owner], 1)
    return start * (wanted / np.where(of_cell > 0, of_cell, 1.0))[cell]


def _shared_out(transfer: Transfer, target_share: float | None) -> np.ndarray:
    """Weights to begin with, so many of them the target's."""
    start = transfer.start
    if target_share is None or not transfer.has_source:
        return start
    of_target = start[transfer.is_target].sum()
    wanted = target_share / (1.0 - target_share) * (start.sum() - of_target)
    return np.where(transfer.is_target, start * (wanted / of_target), start)


def _class_fractions(y: np.ndarray, weight: np.ndarray, n_classes: int) -> np.ndarray:
    """Fraction of each class in the weight of some rows."""
    total = np.bincount(y, weight, minlength=n_classes)
    return total / total.sum()


def _vote_fractions(boosted: Boosted, X: Any, default: np.ndarray) -> np.ndarray:
    """Fractions of the votes for the transfer's classes; `default` if none votes."""
    total = boosted.votes.sum()
    if not total > 0:
        return np.tile(default, (X.shape[0], 1))
    out = np.zeros((X.shape[0], len(default)))
    add_votes_of(boosted.learners, X, boosted.votes, out)
    return out / total


def _held_out_error(
    transfer: Transfer,
    X: Any,
    fold: np.ndarray,
    boost_rows: Callable[[Transfer], Boosted],
) -> float:
    """Balanced error on rows of the target, each left out once; fold -1 never is."""
    n_classes = transfer.n_classes
    wrong, total = np.zeros(n_classes), np.zeros(n_classes)
    for k in range(fold.max() + 1):
        out = fold == k
        kept = transfer.some(~out)
        in_target = kept.is_target
        default = _class_fractions(kept.y[in_target], kept.start[in_target], n_classes)
        y, weight = transfer.y[out], transfer.start[out]
        votes = _vote_fractions(boost_rows(kept), X[transfer.rows[out]], default)
        missed = votes.argmax(axis=1) != y
        wrong += np.bincount(y, weight * missed, minlength=n_classes)
        total += np.bincount(y, weight, minlength=n_classes)
    shown = total > 0  # the target may have classes that only its sources show
    return float(np.mean(wrong[shown] / total[shown]))
