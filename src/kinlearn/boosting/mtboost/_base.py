"""What MTBoost has in common for classes and for numbers."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import (
    check_consistent_length,
    check_random_state,
    check_scalar,
    column_or_1d,
    get_tags,
)
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting._early_stopping import hold_back
from kinlearn.boosting._start_weights import row_weights
from kinlearn.boosting.mtboost._choice import (
    Begin,
    check_weights,
    choose_penalties,
    deal_rows,
)
from kinlearn.boosting.mtboost._correlations import (
    TaskCorrelations,
    study_correlations,
)
from kinlearn.boosting.mtboost._covariance import TaskCovariance
from kinlearn.boosting.mtboost._learners import EstimatorLearner
from kinlearn.boosting.mtboost._least_squares import TaskLevels, make_least_squares
from kinlearn.boosting.mtboost._rounds import (
    Learner,
    Loss,
    Settings,
    find_later_weights,
    play_rounds,
)
from kinlearn.tables.internal import NUMBERS
from kinlearn.tasks import LabelSets, TaskMixin
from kinlearn.utils import check_takes_weights, quiet_round, rounds_with_callbacks
from kinlearn.utils._callbacks import CallbackSupportMixin
from kinlearn.utils._loaded import check_finite, check_numbers, demand
from kinlearn.utils._sklearn import (
    HasMethods,
    Interval,
    StrOptions,
    check_sample_weight,
)
from kinlearn.utils._typing import ArrayLike, RandomState, Table

__all__ = ["MTBoostBase"]

_CHUNK = 2**22  # outputs of learners that are held at a time


@dataclass(frozen=True, eq=False)
class _Played:
    """What rounds came to; `rounds` are those that are kept."""

    learner: Learner
    rounds: list[tuple]  # what is kept of the fit, scale, weights, loss, objective
    losses: list[float]  # of rows held back, after each round
    covariance: TaskCovariance | None
    n_problems: int


class MTBoostBase(CallbackSupportMixin, TaskMixin, BaseEstimator, metaclass=ABCMeta):
    """Rounds that all tasks share, and the relations that they find."""

    _table_encoding = NUMBERS

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        "estimator": [HasMethods(["fit", "predict"]), None],
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "penalties": [StrOptions({"given", "auto"})],
        "sharing_penalty": [Interval(Real, 0, None, closed="neither")],
        "n_inner": [Interval(Integral, 1, None, closed="left")],
        "inner_tol": [Interval(Real, 0, None, closed="left")],
        "step": [StrOptions({"majorized", "exact", "paper"})],
        "start": [StrOptions({"gradient", "random"})],
        "base_penalty": [Interval(Real, 0, None, closed="neither")],
        "task_levels": ["boolean"],
        "form": [StrOptions({"auto", "primal", "dual", "iterative"})],
        "covariance_ridge": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    hypotheses_: Any

    @property
    @abstractmethod
    def _kind(self) -> str:
        """What outputs of learners are: "sign", "clipped" or "number"."""

    # --------------------------------------------------------------- fitting

    def _check_estimator(self, kind: str | None = None) -> None:
        if self.estimator is not None:
            check_takes_weights(self.estimator, kind)

    def _labels_of(self, data: Any) -> np.ndarray | None:
        """Codes of the classes, if there are any."""
        return data.y if hasattr(self, "classes_") else None

    def _hold_back(
        self, data: Any, rng: np.random.RandomState
    ) -> tuple[np.ndarray, Any]:
        """Weights of the rows that train, and of those held back; None without."""
        weight = row_weights(data)
        if not self.early_stopping:
            return weight, None
        held = hold_back(
            data.task, self._labels_of(data), weight, self.validation_fraction, rng
        )
        return np.where(held, 0.0, weight), np.where(held, weight, 0.0)

    def _learner(
        self, data: Any, weight: np.ndarray, rng: np.random.RandomState
    ) -> Learner:
        """What fits the rounds."""
        if self.estimator is not None:
            return EstimatorLearner(self.estimator, data.X, rng, self._kind)
        levels = TaskLevels(data.task, data.n_tasks, self.task_levels)
        return make_least_squares(data.X, weight, self.base_penalty_, levels, self.form)

    def _settings(self) -> Settings:
        """How rounds are run, with the penalty that was chosen."""
        return Settings(
            n_inner=self.n_inner,
            inner_tol=self.inner_tol,
            step=self.step,
            penalty=self.sharing_penalty_,
            ridge=self.covariance_ridge,
            start=self.start,
            kind=self._kind,
        )

    def _choose_penalties(self, data: Any, begin: Begin) -> None:
        """Set the penalties: those that were given, or that rows held out choose."""
        self.base_penalty_ = float(self.base_penalty)
        self.sharing_penalty_ = float(self.sharing_penalty)
        self.__dict__.pop("penalty_path_", None)  # of an earlier fit
        self.__dict__.pop("path_losses_", None)
        weight = row_weights(data)
        check_weights(weight)
        if self.penalties == "given" or not begin(weight)[0](weight).n_problems:
            return
        rng = check_random_state(self.random_state)
        fold = deal_rows(data.task, self._labels_of(data), weight, rng)
        if (fold < 0).all():
            raise ValueError(
                f'penalties="auto" of {type(self).__name__} holds rows out, but every '
                "task (and class) has one sample at the most. Set base_penalty and "
                'sharing_penalty, with penalties="given".'
            )
        self.penalty_path_, self.path_losses_ = choose_penalties(
            begin,
            lambda weight: self._learner(data, weight, rng),
            fold,
            weight,
            self._settings(),
            rng,
            base_penalty=None if self.estimator is None else self.base_penalty_,
            n_rounds=self.n_estimators,
            tol=self.tol,
            patience=self.n_iter_no_change if self.early_stopping else None,
        )
        best = int(np.argmin(self.path_losses_.mean(axis=1)))
        self.base_penalty_, self.sharing_penalty_ = self.penalty_path_[best].tolist()

    def _boost(self, X: Table, y: ArrayLike, data: Any, begin: Begin) -> None:
        """Run the rounds and keep what they found."""
        self._choose_penalties(data, begin)
        make_loss, scores = begin(row_weights(data))
        with rounds_with_callbacks(self, X, y, self.n_estimators) as on_round:
            played = self._play(data, make_loss, scores, on_round)
        self._covariance = played.covariance
        self.__dict__.pop("validation_losses_", None)  # of an earlier fit
        self._keep(played)

    def _play(
        self,
        data: Any,
        make_loss: Callable[[np.ndarray], Loss],
        scores: np.ndarray,
        on_round: Callable[[int], Any],
        covariance: TaskCovariance | None = None,
    ) -> "_Played":
        """Run rounds.

        Rows that are held back take part with weight 0, so that their scores come
        along with those of the others.
        """
        rng = check_random_state(self.random_state)
        weight, held = self._hold_back(data, rng)
        loss = make_loss(weight)
        watched = None if held is None else make_loss(held)
        learner = self._learner(data, weight, rng)
        found, losses = [], []
        rounds = play_rounds(loss, learner, scores, self._settings(), rng, covariance)
        for number in range(self.n_estimators if loss.n_problems else 0):
            with on_round(number) as callbacks:
                one = next(rounds, None)
            if one is None:
                break
            found.append((one.kept, one.scale, one.weights, one.loss, one.objective))
            if watched is not None:
                losses.append(watched.value(scores) / held.sum())
            best = int(np.argmin(losses)) if losses else number
            if best == number:
                covariance = one.covariance
            no_better = number - best >= self.n_iter_no_change
            if no_better or callbacks.stop or one.progress <= self.tol:
                break
        if losses:
            del found[int(np.argmin(losses)) + 1 :]
        return _Played(learner, found, losses, covariance, loss.n_problems)

    def _keep(self, played: "_Played") -> None:
        """Set what the rounds found."""
        found = zip(*played.rounds, strict=True) if played.rounds else [()] * 5
        kept, scales, weights, losses, objectives = (list(column) for column in found)
        if played.losses:
            self.validation_losses_ = np.array(played.losses)
        self.n_estimators_ = len(kept)
        self.weights_ = np.array(weights).reshape(len(kept), played.n_problems)
        self.train_loss_ = np.array(losses)
        self.objective_ = np.array(objectives)
        self.hypotheses_ = None
        if kept:
            self.hypotheses_ = played.learner.finish(kept, np.array(scales), self._kind)

    # ----------------------------------------------------- what comes later

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit: the learners stay as they are.

        Found are the weights that the new tasks give to the learners: those that
        minimise the objective of fit with the learners and the weights of the other
        tasks held, so a new task may follow its relatives, or contradict them.
        Predictions for other tasks do not change; the covariance gets rows for the new
        ones. Of learners with an intercept for each task, new tasks have the mean.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Targets; they may be of classes that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows.

        Returns
        -------
        self
            The model with these tasks. `train_loss_` and `objective_` stay those of
            fit.
        """
        later = self._later_data(X, y, sample_weight, only_new=True, new_classes=True)
        self._add_tasks(later)
        return self

    def _add_tasks(self, later: Any) -> None:
        label_sets = self._add_later(later, row_weights(later))
        if self.hypotheses_ is not None:
            self.hypotheses_ = self.hypotheses_.with_tasks(later.place, later.n_tasks)
        self._remember_later(later)
        if label_sets is not None:
            self._label_sets = label_sets
            self.task_classes_ = label_sets.by_task(self.tasks_, self.classes_)

    def _add_rows(self, later: Any) -> Self:
        """New tasks as by `add_task`, then further rounds for rows of known ones."""
        self._check_rows(later)
        row_weights(later)
        is_new = later.is_new[later.task]
        known = later.take(np.flatnonzero(~is_new))
        if is_new.any():
            self._add_tasks(later.take(np.flatnonzero(is_new)))
        if known.n_samples == 0:
            return self
        make_loss, scores, here = self._further(known)
        before = None
        if self.n_estimators_:
            before = TaskCovariance.of(self.weights_[:, here], self.covariance_ridge)
        played = self._play(known, make_loss, scores, quiet_round, before)
        if played.rounds:
            self._append(played, here)
        return self

    def _check_rows(self, later: Any) -> None:
        """Refuse rows that further rounds cannot be fitted to."""

    @abstractmethod
    def _further(
        self, known: Any
    ) -> tuple[Callable[[np.ndarray], Loss], np.ndarray, np.ndarray]:
        """Loss, scores so far, and which problems have rows."""

    def _append(self, played: "_Played", here: np.ndarray) -> None:
        """Keep further rounds, in which other problems have no weight."""
        n_problems = self.weights_.shape[1]
        old = self.weights_, self.train_loss_, self.objective_, self.hypotheses_
        self._keep(played)
        weights = np.zeros((len(played.rounds), n_problems))
        weights[:, here] = self.weights_
        self.weights_ = np.concatenate([old[0], weights])
        self.train_loss_ = np.concatenate([old[1], self.train_loss_])
        self.objective_ = np.concatenate([old[2], self.objective_])
        if old[3] is not None:
            self.hypotheses_ = old[3].followed_by(self.hypotheses_)
        self.n_estimators_ = len(self.weights_)
        self._covariance = TaskCovariance.of(self.weights_, self.covariance_ridge)

    def _known_scores(
        self, rows: Any, row: np.ndarray, problem: np.ndarray
    ) -> np.ndarray:
        """Scores of pairs of row and problem by the learners so far."""
        out = np.zeros(len(row))
        for some, outputs in self._outputs(rows):
            at = np.flatnonzero((row >= some.start) & (row < some.stop))
            out[at] = np.einsum(
                "ij,ij->i", outputs[row[at] - some.start], self.weights_.T[problem[at]]
            )
        return out

    @abstractmethod
    def _add_later(self, later: Any, weight: np.ndarray) -> LabelSets | None:
        """Find and keep the weights of new tasks; the classes of tasks, or None."""

    def _add_weights(
        self,
        later: Any,
        loss: Loss,
        scores: np.ndarray,
        new: np.ndarray,
    ) -> None:
        """Weights of new problems, put in their places (`new`) among the old ones."""
        outputs = np.zeros((later.n_samples, self.n_estimators_))
        if self.hypotheses_ is not None:
            nobody = np.full(later.n_samples, -1)
            outputs = self.hypotheses_.outputs(later.X, nobody)
        found = find_later_weights(
            loss,
            scores,
            outputs,
            self.weights_,
            self.sharing_penalty_,
            self.covariance_ridge,
        )
        weights = np.empty((self.n_estimators_, len(new)))
        weights[:, new], weights[:, ~new] = found, self.weights_
        self.weights_ = weights
        if self.n_estimators_:
            self._covariance = TaskCovariance.of(weights, self.covariance_ridge)

    # ------------------------------------------------------------- relations

    def _between_tasks(self, matrix: np.ndarray) -> np.ndarray:
        """A covariance of problems as one of tasks."""
        return matrix

    @property
    def task_covariance_(self) -> np.ndarray:
        """Covariance of the tasks' weights, of trace 1."""
        check_is_fitted(self)
        if self._covariance is None:
            return np.eye(len(self.tasks_)) / len(self.tasks_)
        out = self._between_tasks(self._covariance.matrix())
        return out / np.trace(out)

    @property
    def task_correlation_(self) -> np.ndarray:
        """The covariance with a diagonal of 1."""
        out = self.task_covariance_
        root = np.sqrt(np.diag(out))
        root[root == 0] = 1.0  # a task of one class, which has no weights
        out = out / np.outer(root, root)
        np.fill_diagonal(out, 1.0)
        return np.clip(out, -1.0, 1.0)

    @property
    def task_affinity_(self) -> np.ndarray:
        """The correlation, under the name that all models give to what they learn."""
        return self.task_correlation_

    def task_correlations(
        self,
        X: Table,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        n_permutations: int = 19,
        n_resamples: int = 20,
        level: float = 0.9,
        random_state: RandomState = None,
    ) -> TaskCorrelations:
        """How sure the correlations are, by fits of copies of this model.

        Few learners tie all tasks together, so that tasks without any relation have
        correlations as well. What these are is found with labels that are permuted
        within each task; rows drawn again within each task (and class) give intervals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            The rows of fit, with the task column.
        y : array-like of shape (n_samples,)
            Their targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.
        n_permutations, n_resamples : int, default=19, 20
            Fits to permuted labels, and to rows drawn again. No p-value is less than 1
            over the number of permutations and 1 more.
        level : float, default=0.9
            Coverage of the intervals.
        random_state : int, RandomState instance or None, default=None
            Decides permutations and draws.

        Returns
        -------
        TaskCorrelations
            Correlations, intervals, p-values, and the mean size by chance.
        """
        check_is_fitted(self)
        for name, value in (
            ("n_permutations", n_permutations),
            ("n_resamples", n_resamples),
        ):
            check_scalar(value, name, Integral, min_val=1)
        check_scalar(
            level, "level", Real, min_val=0, max_val=1, include_boundaries="neither"
        )
        task = self._predict_data(X).task
        labels = np.asarray(column_or_1d(y))
        weight = check_sample_weight(sample_weight, labels, dtype=np.float64)
        check_consistent_length(task, labels)
        unknown = len(self.tasks_) - len(np.unique(task[task >= 0]))
        if unknown or (task < 0).any():
            raise ValueError(
                f"task_correlations of {type(self).__name__} needs the rows of fit; X "
                f"lacks {unknown} of its {len(self.tasks_)} tasks, and has "
                f"{(task < 0).sum()} rows of tasks that fit did not see."
            )
        return study_correlations(
            self,
            X,
            labels,
            weight,
            task,
            n_permutations=n_permutations,
            n_resamples=n_resamples,
            level=level,
            random_state=random_state,
        )

    # ------------------------------------------------------------ prediction

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        check_numbers("weights_", self.weights_, np.float64, (None, None))
        check_finite("weights_", self.weights_)
        if self.hypotheses_ is None:  # no round helped
            demand(len(self.weights_) == 0, "weights_")
        else:
            self.hypotheses_.check(n_features, n_tasks, len(self.weights_))

    def _outputs(self, rows: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Outputs of the learners, some rows at a time: (slice of rows, outputs)."""
        if self.hypotheses_ is None:
            return
        size = max(_CHUNK // self.n_estimators_, 1)
        for start in range(0, rows.n_samples, size):
            some = slice(start, min(start + size, rows.n_samples))
            yield some, self.hypotheses_.outputs(rows.X[some], rows.task[some])

    def _all_outputs(self, rows: Any) -> np.ndarray:
        """The same of all rows, for what goes round by round."""
        out = np.empty((rows.n_samples, self.n_estimators_))
        for some, outputs in self._outputs(rows):
            out[some] = outputs
        return out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = None if self.estimator is None else get_tags(self.estimator).input_tags
        tags.input_tags.sparse = True if inner is None else inner.sparse
        tags.input_tags.allow_nan = False if inner is None else inner.allow_nan
        return tags
