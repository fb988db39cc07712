"""What gradient boosting for classes and for numbers share."""

from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kinlearn.boosting._early_stopping import hold_back
from kinlearn.boosting._start_weights import row_weights
from kinlearn.boosting.gradient._bins import Binned, FeatureBins
from kinlearn.boosting.gradient._constraints import FeatureColumns
from kinlearn.boosting.gradient._exact import ones
from kinlearn.boosting.gradient._model import Tree, Trees
from kinlearn.boosting.gradient._rounds import (
    Problem,
    Rounds,
    Settings,
    Start,
    Watch,
    counted_rows,
    held_draws,
)
from kinlearn.boosting.gradient._same_bins import scores_of
from kinlearn.boosting.gradient.later import take_later
from kinlearn.tables.internal import CODES
from kinlearn.tasks import TaskData, TaskMixin, check_total_weight
from kinlearn.utils import Threads, rounds_with_callbacks
from kinlearn.utils._callbacks import CallbackSupportMixin, with_callbacks
from kinlearn.utils._loaded import check_below, check_numbers, demand
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, Table

__all__ = [
    "GradientBoostingBase",
    "Validation",
    "have_same_bins",
]

_MOST_TASKS = 1000  # of which the affinities are one matrix


@dataclass(frozen=True, eq=False)
class Validation:
    """Rows of a user, by whose loss rounds are judged."""

    X: Any
    y: Any
    sample_weight: Any

    @classmethod
    def of(cls, X: Any, y: Any, sample_weight: Any) -> "Validation | None":
        """The rows that a user gave; None for none."""
        if X is not None:
            return cls(X, y, sample_weight)
        for name, given in (("y_val", y), ("sample_weight_val", sample_weight)):
            if given is not None:
                raise ValueError(f"{name} is given without X_val, its rows.")
        return None


class GradientBoostingBase(
    CallbackSupportMixin, TaskMixin, BaseEstimator, metaclass=ABCMeta
):
    """Rounds of trees that split features and tasks."""

    _table_encoding = CODES

    _order = None

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        **TaskMixin._categorical_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "max_leaf_nodes": [Interval(Integral, 2, None, closed="left"), None],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_leaf": [Interval(Integral, 1, None, closed="left")],
        "l2_regularization": [Interval(Real, 0, None, closed="left")],
        "max_features": [Interval(Real, 0, 1, closed="right")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
        "max_bins": [Interval(Integral, 2, 255, closed="both")],
        "task_splits": ["boolean"],
        "task_values": ["boolean"],
        "linear_part": ["boolean", StrOptions({"auto"})],
        "monotonic_cst": ["array-like", Mapping, None],
        "interaction_cst": [
            list,
            tuple,
            StrOptions({"pairwise", "no_interactions"}),
            None,
        ],
        "early_stopping": ["boolean"],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_iter_no_change": [Interval(Integral, 1, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
    }

    trees_: Trees
    bins_: FeatureBins
    n_estimators_: int
    _start: Start
    _made_with: dict[str, Any]

    # --------------------------------------------------------------- fitting

    @abstractmethod
    def _loss_maker(self) -> Callable[[np.ndarray, np.ndarray, np.ndarray], Any]:
        """Makes the loss of rows: of targets, weights and tasks; can be pickled."""

    def _make_loss(self, y: np.ndarray, weight: np.ndarray, task: np.ndarray) -> Any:
        return self._loss_maker()(y, weight, task)

    def _allowed(self) -> np.ndarray | None:
        """Which outputs the rows of a task have; None is all."""
        return None

    @with_callbacks
    def _fit_bins(self, data: TaskData, binned: Binned) -> Self:
        """What `fit` does, with rows that are checked and binned already."""
        self._validate_params()
        self._check_settings()
        self._remember_data(data)
        return self._fit_checked(data.X, data.y, data, binned=binned)

    @abstractmethod
    def _fit_checked(
        self,
        X: Any,
        y: Any,
        data: Any,
        validation: Validation | None = None,
        goes_on: bool = False,
        binned: Binned | None = None,
    ) -> Self:
        """Fit to checked rows, whose bins may be there; X and y are for callbacks."""

    def _boost(
        self,
        X: Table,
        y: ArrayLike,
        data: Any,
        weight: np.ndarray,
        validation: Validation | None,
        goes_on: bool,
        binned: Binned | None,
    ) -> None:
        """Run the rounds and keep what they found; `binned` are bins that are there."""
        if validation is not None and not self.early_stopping:
            raise ValueError(
                "X_val is for early stopping, but early_stopping=False. Set it to "
                "True, or leave X_val out."
            )
        if goes_on:
            self._check_goes_on()
        check_total_weight(weight)
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        sample_weight = data.sample_weight
        n_rows = ones(data.n_samples, np.int64)
        if sample_weight is not None:
            n_rows = counted_rows(sample_weight)
        if not weight.all():
            n_rows = np.where(weight == 0, 0, n_rows)
        self._find_features()
        features = self._used(data.X)
        categorical = self._feature_columns.categorical
        threads = Threads(effective_n_jobs(self.n_jobs), data.n_samples)
        if goes_on:
            binned = Binned(self.bins_, self.bins_.assign(features, threads))
        else:
            if binned is None:
                binned = Binned.of(
                    features,
                    sample_weight,
                    max_bins=self.max_bins,
                    categorical=categorical,
                    threads=threads,
                )
            self._feature_columns.warn_of_missing(binned.has_values(weight > 0))
        settings = self._settings(seed, features.shape[1])
        offset = self._offset(data.X)
        held = np.zeros(data.n_samples, dtype=bool)
        if self.early_stopping and validation is None:
            label = data.y if hasattr(self, "classes_") else None
            draws = held_draws(seed, 0, data.n_samples)
            held = hold_back(
                data.task, label, weight, self.validation_fraction, None, draws
            )
        any_held = bool(held.any())
        problem = Problem(
            binned=binned,
            task=data.task,
            n_tasks=data.n_tasks,
            loss=self._make_loss(
                data.y, np.where(held, 0.0, weight) if any_held else weight, data.task
            ),
            n_rows=np.where(held, 0, n_rows) if any_held else n_rows,
            allowed=self._allowed(),
            offset=offset,
        )
        rounds = Rounds(
            problem,
            settings,
            start=self._start if goes_on else None,
            before=self.trees_ if goes_on else None,
            n_jobs=effective_n_jobs(self.n_jobs),
            threads=threads,
        )
        watch = None
        if any_held:
            watch = self._watch(
                rounds,
                binned.bins[held],
                data.task[held],
                data.y[held],
                weight[held],
                None if offset is None else offset[held],
            )
        elif self.early_stopping and validation is not None:
            watch = self._watch_given(rounds, validation)
        if watch is not None and goes_on:
            self.trees_.add_scores(watch.bins, watch.task, watch.scores)
        n_before = rounds.n_done
        with rounds_with_callbacks(
            self, X, y, max(self.n_estimators - n_before, 0)
        ) as on_round:
            loss_before = np.inf
            if watch is not None and goes_on:
                loss_before = watch.loss.value(watch.scores)
            found, losses = self._play(rounds, watch, on_round)
        if losses and loss_before <= min(losses):
            found.clear()
        before = [*self.trees_] if goes_on else []
        self._keep(
            found, losses, rounds.start, binned.features, problem.loss, before=before
        )

    def _keep(
        self,
        found: list[Sequence[Tree]],
        losses: list[float],
        start: Start,
        bins: FeatureBins,
        loss: Any,
        before: Sequence[Tree] = (),
    ) -> None:
        """Keep the rounds up to the best."""
        self.__dict__.pop("validation_losses_", None)  # of an earlier fit
        if losses:
            self.validation_losses_ = np.array(losses) * loss.unit
            del found[int(np.argmin(losses)) + 1 :]
        self._start, self.bins_ = start, bins
        self._made_with = self._kept_settings()
        trees = [*before, *(tree for one in found for tree in one)]
        self.trees_ = Trees.of(trees, len(start.intercepts))
        self.n_estimators_ = len(self.trees_) // loss.n_outputs

    def _play(
        self, rounds: Rounds, watch: Watch | None, on_round: Any
    ) -> tuple[list[Sequence[Tree]], list[float]]:
        found: list[Sequence[Tree]] = []
        losses: list[float] = []
        if not any(map(len, rounds.rows)):  # every task has one class
            return found, losses
        for number in range(self.n_estimators - rounds.n_done):
            with on_round(number) as told:
                trees = rounds.play()
            found.append(trees)
            if watch is not None:
                losses.append(watch.look(trees, rounds.problem.n_tasks))
                if number - int(np.argmin(losses)) >= self.n_iter_no_change:
                    break
            if told.stop:
                break
        return found, losses

    def _settings(self, seed: int, n_features: int) -> Settings:
        columns = self._feature_columns
        return Settings.of(
            self,
            seed,
            n_features,
            direction=columns.directions(self.monotonic_cst),
            groups=columns.groups(self.interaction_cst),
        )

    def _watch(
        self,
        rounds: Rounds,
        bins: np.ndarray,
        task: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        offset: np.ndarray | None,
    ) -> Watch:
        loss = self._make_loss(y, weight, task)
        return Watch(bins, task, loss, rounds.start.scores(bins, task, offset))

    def _watch_given(self, rounds: Rounds, validation: Validation) -> Watch:
        later = self._later_data(validation.X, validation.y, validation.sample_weight)
        check_total_weight(later.sample_weight)
        self._check_targets(later.y)
        try:
            self._check_label_sets(later.take(later.sample_weight > 0))
        except ValueError as error:
            raise ValueError(f"X_val, y_val: {error}") from None
        code = np.full(later.n_tasks, -1, dtype=np.int32)
        code[later.place] = np.arange(len(later.place))
        bins = rounds.problem.binned.features.assign(self._used(later.X))
        return self._watch(
            rounds,
            bins,
            code[later.task],
            later.y,
            self._row_weight(later.y, later.sample_weight),
            self._offset(later.X),
        )

    @property
    def _score_unit(self) -> float:
        """What scores are multiples of: losses may scale their targets."""
        return 1.0

    def _offset_check(self) -> Any:
        """What refuses offsets; None if there can be none."""
        return None

    def _kept_settings(self) -> dict[str, Any]:
        """Parameters that must not change between fits of `warm_start`."""
        return {"linear_part": self.linear_part}

    def _check_goes_on(self) -> None:
        """Refuse to go on from a model of other settings, or of more rounds."""
        if self.n_estimators < self.n_estimators_:
            raise ValueError(
                f"n_estimators={self.n_estimators} with warm_start=True must be at "
                f"least the {self.n_estimators_} rounds that are there."
            )
        for name, now in self._kept_settings().items():
            before = self._made_with.get(name, now)
            if now != before:
                raise ValueError(
                    f"{name}={now!r} cannot go on from a fit with {name}={before!r}. "
                    f"Set {name}={before!r} again, or warm_start=False."
                )

    def _check_settings(self) -> None:
        """Refuse parameters that do not go together."""

    def _check_targets(self, y: np.ndarray) -> None:
        """Refuse targets that the loss has no value for."""

    @staticmethod
    def _given_weight(data: Any) -> np.ndarray:
        """Sample weights; every task must have some."""
        if data.sample_weight is None:
            return ones(data.n_samples)
        return row_weights(data)

    def _row_weight(self, y: np.ndarray, sample_weight: np.ndarray) -> np.ndarray:
        """Weights of rows with those of their classes."""
        return sample_weight

    # ----------------------------------------------------------------- later

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit; predictions for the others do not change.

        The trees stay as they are. By the penalties that fit has learned, the task gets
        an intercept and, round by round, departures in the leaves from the gradients of
        its rows. At each task split it takes the side whose leaves fit its rows better,
        and with too few rows to tell that of more rows. If fit had one task, new ones
        must show themselves how far they depart. For classes that fit did not see,
        rounds are added that are for the new task alone.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Targets; a new task may have classes that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights; a weight of 2 is the same as two rows, 0 is absence.

        Returns
        -------
        self
            The booster with these tasks.
        """
        later = self._later_data(X, y, sample_weight, only_new=True, new_classes=True)
        return self._add_later(later)

    def _add_later(self, later: Any) -> Self:
        """Add rows; if that fails, nothing has changed."""
        weight = self._later_weight(later)
        check_total_weight(weight)
        self._check_targets(later.y)
        self._check_label_sets(later.take(weight > 0))
        with_them = copy(self)
        take_later(with_them, later.take(weight > 0), weight[weight > 0])
        self.__dict__ = with_them.__dict__
        return self

    def _later_weight(self, later: Any) -> np.ndarray:
        """Weights of later rows."""
        return row_weights(later)

    def _check_label_sets(self, later: Any) -> None:
        """Refuse classes that a known task did not have."""

    # -------------------------------------------------------------- features

    def _find_features(self) -> None:
        """Which columns of the checked X are features, and where they come from."""
        columns = np.asarray(self._columns.features)
        if self.table_encoder_ is not None:
            columns = columns[self.table_encoder_.origin_]
        categorical = np.zeros(len(columns), dtype=bool)
        if self.is_categorical_ is not None:
            categorical |= self.is_categorical_
        self._offset_place = self._find_offset(columns, categorical)
        used = np.ones(len(columns), dtype=bool)
        if self._offset_place is not None:
            used[self._offset_place] = False
        self._feature_columns = FeatureColumns(
            self._columns, columns[used], categorical[used]
        )

    def _find_offset(self, columns: np.ndarray, categorical: np.ndarray) -> int | None:
        """Where the column that is added to the scores stands, if there is one."""
        return None

    def _place(self, feature: int) -> int:
        """Where a feature stands among the columns of the checked X."""
        offset = self._offset_place
        return feature if offset is None or feature < offset else feature + 1

    def _used(self, X: Any) -> Any:
        """The features alone."""
        if sp.issparse(X):
            X = X.tocsr()
        if self._offset_place is None:
            return X
        return X[:, np.delete(np.arange(X.shape[1]), self._offset_place)]

    def _offset(self, X: Any) -> np.ndarray | None:
        """What is added to the scores of rows."""
        return None

    # ------------------------------------------------------------ prediction

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        used = n_features - (self._offset_place is not None)
        n_outputs = len(self._start.base)
        demand(n_outputs == (n_classes if n_classes > 2 else 1), "base")
        self.bins_.check(used)
        self._start.check(n_tasks, self.bins_.n_bins)
        self.trees_.check(used, n_tasks, n_outputs)
        origin = self._feature_columns.origin
        check_numbers("origin", origin, "i", (used,))
        check_below("origin", origin, self.n_features_in_)

    def _scores(self, X: Table) -> tuple[np.ndarray, np.ndarray]:
        """Task codes and scores of rows."""
        task, [scores] = scores_of([self], X)
        return task, scores

    def _staged_scores(self, X: Table) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        rows = self._predict_data(X)
        bins = self.bins_.assign(self._used(rows.X))
        scores = self._start.scores(bins, rows.task, self._offset(rows.X))
        size = scores.shape[1]
        for first in range(0, len(self.trees_), size):
            self.trees_.add_scores(
                bins, rows.task, scores, first=first, last=first + size
            )
            yield rows.task, scores.copy()

    # ------------------------------------------------------- what was learned

    def _gains(self) -> tuple[np.ndarray, float]:
        """Gain of each feature, with that of its slope, and of task splits."""
        of_features, of_task = self.trees_.gains(len(self._feature_columns.origin))
        if self._start.line is not None:
            of_features = of_features + self._start.line.gain
        return of_features, of_task

    @property
    def linear_part_(self) -> bool:
        """Whether scores begin with a line through the features."""
        check_is_fitted(self)
        return self._start.line is not None

    @property
    def feature_importances_(self) -> np.ndarray:
        """Fraction of each column of X in the gain; they sum to 1.

        The entry of the task column is what task splits account for. A slope of the
        linear part counts as what trees would have gained by it, a fraction in each
        round. All are 0 if no node was split.
        """
        check_is_fitted(self)
        of_features, of_task = self._gains()
        out = np.zeros(self.n_features_in_)
        np.add.at(out, self._feature_columns.origin, of_features)
        if self._columns.task is not None:
            out[self._columns.task] = of_task
        total = out.sum()
        return out / total if total > 0 else out

    @property
    def task_importance_(self) -> float:
        """Fraction of the gain that task splits account for."""
        check_is_fitted(self)
        of_features, of_task = self._gains()
        total = of_features.sum() + of_task
        return float(of_task / total) if total > 0 else 0.0

    @property
    def task_intercepts_(self) -> np.ndarray:
        """What each task adds to the scores from the start."""
        check_is_fitted(self)
        out = self._start.intercepts * self._score_unit
        return out[:, 0] if out.shape[1] == 1 else out

    @property
    def task_affinity_(self) -> np.ndarray:
        """How often task splits send two tasks to the same side.

        A split counts by its gain. Computed on access, of shape (n_tasks, n_tasks), in
        the order of ``tasks_``; 1 for all if no split is by tasks. With more than 1,000
        tasks it is not available.
        """
        check_is_fitted(self)
        if len(self.tasks_) > _MOST_TASKS:
            raise AttributeError(
                f"task_affinity_ of {len(self.tasks_)} tasks is too large a matrix; it "
                f"is there for at most {_MOST_TASKS}."
            )
        return self.trees_.affinity()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags


def have_same_bins(models: Sequence[Any]) -> bool:
    """Whether rows are the same bins of the same tasks to all of some models."""
    first = models[0]
    if not all(isinstance(model, GradientBoostingBase) for model in models):
        return False
    if first.table_encoder_ is not None:
        return False

    def what(model: Any) -> tuple[Any, ...]:
        return (
            model.bins_.edges,
            model.bins_.indptr,
            model.bins_.categorical,
            model.tasks_,
            getattr(model, "_known_codes", None),
        )

    return all(
        model.table_encoder_ is None
        and model._columns == first._columns
        and model._offset_place == first._offset_place
        and model.unknown_task == first.unknown_task
        and all(map(np.array_equal, what(model), what(first)))
        for model in models[1:]
    )
