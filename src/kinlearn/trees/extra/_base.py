"""What the multi-task extra-trees estimators share: growth, prediction, explanation."""

import warnings
from abc import ABCMeta, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from kinlearn._binning import check_cells
from kinlearn._kernels._random import stream_state
from kinlearn.exceptions import KinlearnWarning
from kinlearn.tables.internal import CODES
from kinlearn.tasks import TaskData, TaskMixin, TaskRows, check_total_weight
from kinlearn.trees._sparse import INSTEAD, dense_blocks
from kinlearn.trees.extra._baseline import Baseline, LinearPart, add_offsets
from kinlearn.trees.extra._growth import Growth, Settings, draw_rows
from kinlearn.trees.extra._importances import ForestImportances
from kinlearn.trees.extra._later import add_rows, insert_tasks
from kinlearn.trees.extra._model import Forest
from kinlearn.trees.extra._shrinkage import shrunk
from kinlearn.trees.extra._tuning import Candidate, Pilot, Space, choose
from kinlearn.utils import as_float32
from kinlearn.utils._callbacks import (
    CallbackSupportMixin,
    has_listeners,
    with_callbacks,
)
from kinlearn.utils._loaded import check_finite, check_numbers
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import ArrayLike, Table
from kinlearn.utils._values import plain_option

__all__ = ["MultiTaskExtraTreesBase"]


_LARGEST = 1e100  # in y: a sum of squares is finite
_MOST_FEATURES = 1_000  # of a line that is not requested
_NO_LIMIT = 2**31 - 1


def _count(value: float, total: float) -> float:
    """A number of features or of rows' weight: as it is, or a fraction of all."""
    return value if isinstance(value, Integral) else value * total


def _unpacked(X: Any) -> Any:
    """Rows as trees read them: sparse ones with every cell."""
    if not sp.issparse(X):
        return X
    check_cells(X, "a forest of extra trees", INSTEAD, 4)
    with np.errstate(over="ignore"):
        narrow = X.astype(np.float32)
    too_large = np.isinf(narrow.data).any()  # an error, which wants to know where
    return as_float32(X.toarray()) if too_large else narrow.toarray(order="C")


def _largest_number(rows: Any) -> float:
    return np.abs(rows.y).max(initial=0.0)


def _check_size(largest: float) -> None:
    if largest > _LARGEST:
        raise ValueError(
            f"y holds numbers up to {largest:g} in size, whose squares cannot be "
            "added up. Scale y."
        )


class MultiTaskExtraTreesBase(
    CallbackSupportMixin, ForestImportances, BaseEstimator, metaclass=ABCMeta
):
    """What the classifier and the regressor share."""

    _table_encoding = CODES

    _parameter_constraints: dict = {
        **TaskMixin._task_parameter_constraints,
        **TaskMixin._categorical_constraints,
        "n_estimators": [Interval(Integral, 1, None, closed="left")],
        "task_split_prob": [Interval(Real, 0, 1, closed="both"), StrOptions({"auto"})],
        "task_smoothing": [Interval(Real, 0, None, closed="left")],
        "leaf_smoothing": [Interval(Real, 0, None, closed="left"), None],
        "max_features": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
            StrOptions({"sqrt", "log2"}),
            None,
        ],
        "n_cuts": [Interval(Integral, 1, None, closed="left"), StrOptions({"all"})],
        "max_depth": [Interval(Integral, 1, None, closed="left"), None],
        "min_samples_split": [
            Interval(Integral, 2, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
        ],
        "min_samples_leaf": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="neither"),
            StrOptions({"auto"}),
        ],
        "shrinkage": [Interval(Real, 0, None, closed="left")],
        "min_impurity_decrease": [Interval(Real, 0, None, closed="left")],
        "bootstrap": ["boolean"],
        "oob_score": ["boolean"],
        "warm_start": ["boolean"],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    _line: LinearPart | None
    # with `shrinkage`, the forest before its values were drawn together
    _grown: Forest | None = None
    _offsets: np.ndarray
    # Where a subclass has no such parameters.
    task_offset: bool | str = False
    linear_part: bool | str = False

    @property
    @abstractmethod
    def _task_split_probs(self) -> tuple[float, ...]:
        """Probabilities to choose from; the first is taken if nothing is compared."""

    def _draws(
        self, settings: Settings, n_features: int
    ) -> tuple[tuple[int, int], ...]:
        """Numbers of features and of cuts to choose from."""
        return ((settings.max_features, settings.n_cuts),)

    @property
    @abstractmethod
    def _criterion(self) -> int:
        """The kernel's."""

    @abstractmethod
    def _open_labels(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[TaskData, int, np.ndarray | None]:
        """Checked data, number of classes (0 for numbers), weights."""

    @abstractmethod
    def _score(self, y_true: np.ndarray, prediction: np.ndarray) -> float:
        """The score of `score`, for a prediction out of the bag."""

    @abstractmethod
    def _finish(
        self,
        sums: np.ndarray,
        n_trees: int | np.ndarray,
        rows: np.ndarray,
        task: np.ndarray,
        unknown: Callable[[np.ndarray], np.ndarray],
    ) -> np.ndarray:
        """The prediction from the sum of the trees' values.

        `unknown` gives the sums of some of the rows if their task were unknown.
        """

    @with_callbacks
    def fit(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Grow the forest.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; NaN in features is a missing value.
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. All counts (such as `min_samples_leaf`) are sums of weights, so a
            weight of 2 is the same as two rows, and 0 the same as none.

        Returns
        -------
        self
            The fitted forest.
        """
        self._validate_params()
        if self.oob_score and not self.bootstrap:
            raise ValueError(
                "oob_score=True needs rows out of the bag; set bootstrap=True too."
            )
        data, n_classes, weight = self._open_labels(X, y, sample_weight)
        data = replace(data, X=_unpacked(data.X))
        check_total_weight(weight)
        total = data.n_samples if weight is None else weight.sum()
        settings = self._settings(data.X.shape[1], total)
        self._warn_of_light_rows(data, weight, settings)
        growth = Growth.from_data(
            data, n_classes, weight, settings, self.leaf_smoothing
        )
        old = self._trees_to_keep(data)
        n_old = old[0].n_trees if old else 0
        progress = self._init_callback_context(max_subtasks=self.n_estimators - n_old)
        progress.call_on_fit_task_begin(estimator=self, X=X, y=y)

        def counted(trees: Iterable[Forest]) -> Iterator[Forest]:
            for i, tree in enumerate(trees):
                step = progress.subcontext(task_name=f"tree {n_old + i}")
                step.call_on_fit_task_begin(estimator=self)
                yield tree
                step.call_on_fit_task_end(estimator=self)

        self._fit_rows(growth, old, counted if has_listeners(progress) else iter)
        self._grown_with = self._fixed_settings(data)
        del growth  # with its copy of X
        if self.oob_score:
            self._score_out_of_bag(data)
        progress.call_on_fit_task_end(estimator=self, X=X, y=y)
        return self

    def _fit_rows(
        self,
        rows: Any,
        old: Sequence[Forest] = (),
        counted: Callable[[Iterable[Forest]], Iterable[Forest]] = iter,
    ) -> None:
        """Grow the forest from rows in one place, or in partitions.

        `rows` is a `Growth` or a `PartitionedGrowth`; `counted` sees the trees as they
        come.
        """
        if self.shrinkage and self.leaf_smoothing is not None:
            raise ValueError(
                f"shrinkage={self.shrinkage!r} and leaf_smoothing="
                f"{self.leaf_smoothing!r} both change the leaves' values. Set one of "
                "them: shrinkage=0, or leaf_smoothing=None."
            )
        if rows.n_classes == 0:
            _check_size(max(rows.collect(_largest_number)))
        if not old:
            random = check_random_state(self.random_state)
            self._seed = int(random.randint(np.iinfo(np.int32).max))
            self._choose_what_is_auto(rows)
        rows = self._rest(rows)
        n_old = old[0].n_trees if old else 0
        seeds = [stream_state(self._seed, i) for i in range(n_old, self.n_estimators)]
        trees = rows.grow(
            seeds, bootstrap=self.bootstrap, n_jobs=effective_n_jobs(self.n_jobs)
        )
        self._keep(Forest.join(chain(old, counted(trees))))

    def _keep(self, grown: Forest) -> None:
        """Set the forest, with the values that it predicts."""
        self.forest_ = shrunk(grown, self.shrinkage)
        self._grown = grown if self.shrinkage else None

    @property
    def _as_grown(self) -> Forest:
        return self.forest_ if self._grown is None else self._grown

    def add_task(
        self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Add tasks that come after fit, without growing the trees anew.

        The splits stay as they are. At each task split the task takes the side that
        the mean of its own rows there gives, and the leaves' values become those of
        old and new rows together, for all tasks. Classes that fit did not see get
        values of their own in the leaves; other tasks do not get them.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows of new tasks only, with the columns of fit.
        y : array-like of shape (n_samples,)
            Targets; a new task may have classes that fit did not see.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights.

        Returns
        -------
        self
            The forest with these tasks.
        """
        later = self._later_data(X, y, sample_weight, only_new=True, new_classes=True)
        return self._add_later(later)

    def _add_later(self, later: Any) -> Self:
        if self.leaf_smoothing is not None:
            raise ValueError(
                f"leaf_smoothing={self.leaf_smoothing!r} needs the rows of each task "
                "in each leaf, which the forest does not keep. Fit anew with all rows, "
                "or set leaf_smoothing=None before fit."
            )
        weight = self._weigh_later(later)
        later = replace(later, X=_unpacked(later.X), sample_weight=weight)
        offsets = np.zeros(len(later.tasks))
        offsets[later.place] = self._offsets
        y = later.y
        if self._line is not None:
            y = y - self._line.predict(as_float32(later.X).T)
        if self._offsets.any():
            trees = self.forest_.sum_values(later.X, np.full_like(later.task, -1))
            rest = y - trees[:, 0] / self.forest_.n_trees
            add_offsets(offsets, later.is_new, rest, later.task, weight)
            y = y - offsets[later.task]
        grown = add_rows(
            insert_tasks(self._widened(later), later.place),
            (later.X, later.task, y, weight),
            is_new=later.is_new,
            criterion=self._criterion,
            n_classes=0 if later.classes is None else len(later.classes),
            task_smoothing=self.task_smoothing,
        )
        self._keep(grown)
        self._offsets = offsets
        self._remember_later(later)
        return self

    def _widened(self, later: Any) -> Forest:
        """The forest as it was grown, with values for new classes."""
        return self._as_grown

    @abstractmethod
    def _weigh_later(self, later: Any) -> np.ndarray:
        """Weights of later rows."""

    @property
    def _goes_on(self) -> bool:
        """Whether there are trees that a warm start keeps."""
        return self.warm_start and hasattr(self, "forest_")

    def _warn_of_light_rows(
        self, data: TaskData, weight: np.ndarray | None, settings: Settings
    ) -> None:
        """Weights are counts of rows; of fractions of 1, no tree can be grown."""
        enough = max(settings.min_weight_split, 2 * settings.min_weight_leaf)
        if weight is None or weight.sum() >= enough or data.n_samples < enough:
            return
        warnings.warn(
            f"The weights of {data.n_samples} rows sum to {weight.sum():g}; a split "
            f"needs {enough:g}: every prediction will be the same. A weight counts as "
            "that many rows; scale the weights to a mean of 1.",
            KinlearnWarning,
            stacklevel=4,
        )

    def _fixed_settings(self, data: TaskData) -> dict[str, Any]:
        """What trees of one forest must have in common."""
        fixed = {
            "leaf_smoothing": self.leaf_smoothing,
            "linear_part": self.linear_part,
            "task_offset": self.task_offset,
            "number of categorical features": 0
            if data.categorical is None
            else int(data.categorical.sum()),
        }
        if self.oob_score:  # bags are drawn again to know who was in them
            fixed |= {"bootstrap": self.bootstrap, "number of rows": data.n_samples}
        return fixed

    def _trees_to_keep(self, data: TaskData) -> list[Forest]:
        if not self._goes_on:
            return []
        n_old = self.forest_.n_trees
        for name, new in self._fixed_settings(data).items():
            if new != (old := self._grown_with.get(name, "not kept")):
                raise ValueError(
                    f"warm_start=True adds trees to a forest of the same kind, but "
                    f"{name} is {new!r} now and was {old!r}. Keep it, or set "
                    "warm_start=False to begin anew."
                )
        if self.n_estimators < n_old:
            raise ValueError(
                f"n_estimators={self.n_estimators} is less than the {n_old} trees that "
                "are there (warm_start=True). Raise it, or set warm_start=False."
            )
        return [self._as_grown]

    def _settings(self, d: int, total: float) -> Settings:
        named = {"sqrt": np.sqrt(d), "log2": np.log2(d), None: d}
        named["auto"] = named["sqrt"]
        k = (
            named[self.max_features]
            if self.max_features in named
            else _count(self.max_features, d)
        )
        cuts: dict[Any, int] = {"auto": 1, "all": 0}
        leaf, prob = self.min_samples_leaf, self.task_split_prob
        mask = self.is_categorical_
        return Settings(
            criterion=self._criterion,
            max_features=min(max(1, int(k)), d),
            n_cuts=cuts[self.n_cuts]
            if self.n_cuts in cuts
            else min(self.n_cuts, _NO_LIMIT),
            max_depth=min(_NO_LIMIT, self.max_depth or _NO_LIMIT),
            task_split_prob=self._task_split_probs[0] if prob == "auto" else prob,
            task_smoothing=self.task_smoothing,
            min_weight_split=_count(self.min_samples_split, total),
            min_weight_leaf=1 if leaf == "auto" else _count(leaf, total),
            min_impurity_decrease=self.min_impurity_decrease,
            categorical=None if mask is None else mask.astype(np.uint8),
        )

    def _choose_what_is_auto(self, rows: Any) -> None:
        """Fix settings, line and offsets, by pilot forests where "auto" is set."""
        best, offsets = (
            Candidate(rows.settings, line=plain_option(self.linear_part) is True),
            None,
        )
        auto_leaf = self.min_samples_leaf == "auto"
        auto_prob = self.task_split_prob == "auto" and rows.n_tasks > 1
        auto = auto_leaf or auto_prob
        if auto or (plain_option(self.task_offset) is True and rows.n_tasks > 1):
            growth = rows.pilot_rows()
            pilot = Pilot(
                growth,
                self._seed,
                bootstrap=self.bootstrap,
                n_jobs=effective_n_jobs(self.n_jobs),
            )
            if pilot.enough:
                space = self._space(growth, auto_leaf, auto_prob)
                best, offsets = choose(pilot, growth.settings, space)
        self.min_samples_leaf_ = best.settings.min_weight_leaf
        self.task_split_prob_ = best.settings.task_split_prob
        self.max_features_ = best.settings.max_features
        self.n_cuts_ = best.settings.n_cuts
        self._offsets = np.zeros(rows.n_tasks) if offsets is None else offsets
        self._line = None
        if best.line:
            self._line = LinearPart.fit_partitions(
                rows.collect, rows.settings.categorical
            )

    def _rest(self, rows: Any) -> Any:
        """What line and offsets leave for the trees, with the settings chosen."""
        chosen: dict[str, dict] = {
            "min_samples_leaf": {"min_weight_leaf": self.min_samples_leaf_},
            "task_split_prob": {"task_split_prob": self.task_split_prob_},
            "max_features": {"max_features": self.max_features_},
            "n_cuts": {"n_cuts": self.n_cuts_},
        }
        settings = rows.settings
        for name, value in chosen.items():
            if getattr(self, name) == "auto":
                settings = replace(settings, **value)
        baseline = Baseline(self._line, self._offsets)
        self._variance_of_base = baseline.variance(rows)
        return rows.without(baseline, settings)

    def _space(self, growth: Growth, auto_leaf: bool, auto_prob: bool) -> Space:
        """What the pilot forests choose from."""
        s = growth.settings
        leaves: tuple[float, ...] = (s.min_weight_leaf,)
        probs: tuple[float, ...] = (s.task_split_prob,)
        draws: tuple = ((s.max_features, s.n_cuts),)
        offsets: tuple = (plain_option(self.task_offset) is True,)
        lines: tuple = (plain_option(self.linear_part) is True,)
        if auto_leaf:
            leaves = Space.leaves_for(growth.total_weight)
        if auto_prob:
            probs = self._task_split_probs
        if auto_leaf or auto_prob:
            draws = self._draws(s, growth.n_features)
            if self.task_offset == "auto":
                offsets = (False, True)
            if self.linear_part == "auto" and growth.n_features <= _MOST_FEATURES:
                lines = (False, True)
        if growth.n_tasks == 1:
            offsets = (False,)
        return Space(leaves, draws, probs, offsets, lines)

    def _predict_values(self, X: Table) -> np.ndarray:
        rows = self._predict_data(X)
        parts = [
            self._values_of(dense, rows.task[some])
            for some, dense in dense_blocks(rows.X)
        ]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _values_of(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        n_jobs = effective_n_jobs(self.n_jobs)

        def unknown(some: np.ndarray) -> np.ndarray:
            nobody = np.full_like(task[some], -1)
            return self.forest_.sum_values(X[some], nobody, n_jobs=n_jobs)

        sums = self.forest_.sum_values(X, task, n_jobs=n_jobs)
        return self._finish(sums, self.forest_.n_trees, X, task, unknown)

    def _dense_rows(self, X: Table) -> TaskRows:
        """Checked rows as trees read them, all at once."""
        rows = self._predict_data(X)
        return replace(rows, X=_unpacked(rows.X))

    def _score_out_of_bag(self, data: TaskData) -> None:
        """Predict each row by the trees that did not see it."""
        sums, n_trees = self._sum_out_of_bag(data, data.task)
        seen = n_trees > 0

        def unknown(some: np.ndarray) -> np.ndarray:
            all_rows, _ = self._sum_out_of_bag(data, np.full_like(data.task, -1))
            return all_rows[seen][some]

        prediction = self._finish(
            sums[seen], n_trees[seen, None], data.X[seen], data.task[seen], unknown
        )
        all_rows = np.full((data.n_samples, *prediction.shape[1:]), np.nan)
        all_rows[seen] = prediction
        setattr(self, self._oob_name, all_rows)
        self.oob_score_ = self._score(data.y[seen], prediction)
        self.oob_task_scores_ = {
            name: self._score(data.y[rows], all_rows[rows])
            for t, name in enumerate(data.tasks.tolist())
            if len(rows := data.rows(t)[seen[data.rows(t)]]) > 1
        }

    def _sum_out_of_bag(
        self, data: TaskData, task: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Sums over the trees that did not see the rows, and their numbers."""
        sums = np.zeros((data.n_samples, self.forest_.values.shape[1]))
        n_trees = np.zeros(data.n_samples)
        for i in range(self.forest_.n_trees):
            seed = stream_state(self._seed, i)
            out = np.flatnonzero(draw_rows(seed, data.n_samples) == 0)
            sums[out] += self.forest_.sum_values(
                data.X[out], task[out], first=i, last=i + 1
            )
            n_trees[out] += 1
        return sums, n_trees

    def _check_arrays(self, n_features: int, n_tasks: int, n_classes: int) -> None:
        n_values = max(n_classes - 1, 1) if n_classes < 3 else n_classes
        self.forest_.check(n_features, n_tasks, n_values)
        if self._grown is not None:
            self._grown.check(n_features, n_tasks, n_values)
        check_numbers("offsets", self._offsets, np.float64, (n_tasks,))
        check_finite("offsets", self._offsets)
        if self._line is not None:
            self._line.check(n_features)

    def apply(self, X: Table) -> np.ndarray:
        """The leaf that each row reaches in each tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        int32 array of shape (n_samples, n_estimators)
            Number of the leaf's node, counted from the start of its tree.
        """
        rows = self._dense_rows(X)
        return self.forest_.apply(rows.X, rows.task)

    def decision_path(self, X: Table) -> tuple[csr_array, np.ndarray]:
        """The nodes that each row passes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column.

        Returns
        -------
        indicator : csr_array of shape (n_samples, n_nodes)
            1 where a row passes a node.
        n_nodes_ptr : int64 array of shape (n_estimators + 1,)
            The nodes of tree i are the columns ``n_nodes_ptr[i]`` to
            ``n_nodes_ptr[i + 1]``.
        """
        rows = self._dense_rows(X)
        return self.forest_.decision_path(rows.X, rows.task), self.forest_.tree_start

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
