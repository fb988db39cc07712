"""The candidates of the Kin estimators, by kind and size of the data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn.boosting import MTBoostClassifier
from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing._pooled import Pooled
from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.sharing.kin._groups import LikeTasks
from kinlearn.sharing.kin._models import (
    BoostedOverLinear,
    StandardisedSVR,
    TaskByCoefficients,
)
from kinlearn.svm import MultiTaskSVC
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor

__all__ = ["CAUTIONS", "FAMILIES", "ROLES", "Candidate", "choose_candidates"]

FAMILIES = ("linear", "svm", "trees", "boosting")
ROLES = ("own", "pooled", "shared")
CAUTIONS = (1.0, 4.0)  # about groups of like tasks: fine, and coarse

_FEWEST_OWN = 8  # rows outside a fold from which a task gets a model of its own
_FEWEST_FOR_BOOSTING = 100
_MOST_TASKS_ALONE = {"linear": 1_000, "trees": 60, "boosting": 20}
_MOST_FOR_MTBOOST = {"rows": 20_000, "tasks": 200}
_FEWEST_POINTS = 5  # tasks from which it helps to know which are near each other
_ROWS_FOR_BOOSTING_ALONE = 200  # in the mean of the tasks
_ROUNDS = 100  # of multi-task boosting
_BOOSTERS = 4  # of a kind, in the end
_MANY_ROWS = 100_000  # from here, one setting instead of several
_TREES_ALONE = 100
_ROWS_FOR_MACHINES = 20_000  # of all machines together; classes have one each
# Below, boosters take longer steps, which is quick and as good, and there is time for
# machines and for more settings.
_FEW_ROWS = 5_000
# Iterations at which boosters are compared; the last is where they stop.
_STAGES_OF_SMALL_TREES = (25, 50, 75, 100, 150, 200, 250, 350, 500)
_STAGES_OF_LARGE_TREES = (12, 25, 40, 60, 80, 100, 120, 200)
_LARGE_TREES = 24  # leaves
# Of a leaf's value, where there are rows for more iterations: 30 rows' worth for
# numbers; rows of classes weigh p (1 - p).
_SHRINKAGE = {"classification": 3.0, "regression": 30.0}
# Of all models: X has the task's code as its last column, perhaps an unknown one.
_TASK: dict[str, Any] = {"task": -1, "unknown_task": "share"}
_TASK_BOOSTING, _TASK_TREES = (
    "gradient boosting, task as feature",
    "extra trees, multi-task",
)


def _without_task(params: dict[str, Any]) -> dict[str, Any]:
    """The same settings for a model that does not see the task."""
    blind = {"task_split_prob": 0.0, "task_offset": False}
    return {name: blind.get(name, value) for name, value in params.items()}


def _for_inner(params: dict[str, Any]) -> dict[str, Any]:
    """The same settings for the estimator inside a form."""
    return {f"estimator__{name}": value for name, value in params.items()}


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model that may take part in the combination.

    Attributes
    ----------
    name : str
        Family and form.
    role : {"own", "pooled", "shared"}
        Whether each task has its own model, all have one that does not see the
        task, or one that does.
    estimator : estimator
        For X with the task's code as its last column, ``unknown_task="share"``.
    scaled : bool
        Whether it takes features of mean 0 and variance 1, none missing.
    settings : tuple of dict
        Parameters to choose from, by their loss out of fold.
    stages : tuple of tuple of int
        For boosters, the numbers of iterations to choose from under each setting.
    variants : tuple of dict
        Parameters of the models whose mean predicts in the end: one, or several that
        differ in their seeds.
    like : str
        Name of a candidate whose choices this one takes over.
    adopt : callable
        What becomes of these choices.
    for_unseen : bool
        Whether it predicts for tasks that were not seen in fit.
    """

    name: str
    role: str
    estimator: Any
    scaled: bool = False
    settings: tuple[dict, ...] = ({},)
    stages: tuple[tuple[int, ...], ...] = ()
    variants: tuple[dict, ...] = ({},)
    like: str = ""
    adopt: Callable[[dict], dict] = _without_task
    for_unseen: bool = True

    def taking_over(self, params: dict[str, Any]) -> "Candidate":
        """The candidate with the settings that the one it is like has chosen.

        What is left to choose, if anything, are settings that only this one has.
        """
        settings: list[dict] = []
        for own in self.settings:
            both = {**own, **self.adopt(params)}
            if both not in settings:
                settings.append(both)
        return replace(self, settings=tuple(settings), stages=())


def choose_candidates(
    kind: str,
    task_rows: np.ndarray,
    n_rows: int,
    *,
    families: Sequence[str],
    n_estimators: int,
    seed: int,
    n_classes: int = 2,
    cautions: Sequence[float] = (),
) -> list[Candidate]:
    """The candidates for data of some size, the quick ones first; at least one.

    `task_rows` and `n_rows` count different rows; `cautions` are those with which tasks
    fall into groups.
    """
    make = _Maker(kind, task_rows, n_rows, n_estimators, seed, n_classes, cautions)
    by_family = (getattr(make, family) for family in FAMILIES if family in families)
    out = [candidate for family in by_family for candidate in family()]
    # too few rows for the requested families, or too many
    return out or [make.linear_pooled()]


class _Maker:
    """Builds candidates of one kind; a method for each family yields them."""

    def __init__(
        self,
        kind: str,
        task_rows: np.ndarray,
        n_rows: int,
        n_estimators: int,
        seed: int,
        n_classes: int,
        cautions: Sequence[float],
    ) -> None:
        self.classes = kind == "classification"
        self.n_rows, self.n_tasks, self.n_classes = n_rows, len(task_rows), n_classes
        self.n_estimators = n_estimators
        self.seed = seed
        self.several = self.n_tasks > 1
        self.own = self.several and task_rows.max() >= _FEWEST_OWN
        self.few = n_rows < _MANY_ROWS
        self.quick = n_rows < _FEW_ROWS
        self.cautions = cautions if self.few else ()
        self.rate = 0.12 if self.quick else 0.06
        self.small_trees = 4 if self.quick else 6
        self.careful = (
            {"max_features": 0.5}
            if self.quick
            else {"max_features": 0.25, "l2_regularization": _SHRINKAGE[kind]}
        )
        self.linear_name = "logistic regression" if self.classes else "ridge regression"

    def _alone(self, family: str) -> bool:
        """Whether tasks get models of their own."""
        return self.own and self.n_tasks <= _MOST_TASKS_ALONE[family]

    def _linear(self) -> Any:
        return LogisticRegression(max_iter=2_000) if self.classes else Ridge()

    def _grid(self, values: tuple[float, ...]) -> tuple[dict[str, Any], ...]:
        """Penalties: C falls where alpha rises."""
        if not self.few:
            values = values[1:2]
        if self.classes:
            return tuple({"estimator__C": 1.0 / v} for v in values)
        return tuple({"estimator__alpha": v} for v in values)

    def linear_pooled(self) -> Candidate:
        return Candidate(
            f"{self.linear_name}, pooled",
            "pooled",
            Pooled(self._linear(), **_TASK),
            scaled=True,
            settings=self._grid((0.3, 3.0, 30.0)),
        )

    def linear(self) -> Iterator[Candidate]:
        yield self.linear_pooled()
        if self.several:
            weights = [2.0, 0.6, 0.2] if self.classes else [0.6, 0.2, 0.06]
            weights = weights if self.few else weights[1:2]
            first = {} if self.classes else {"estimator__alpha": 10.0}
            yield Candidate(
                f"{self.linear_name}, multi-task",
                "shared",
                SharedPlusOwn(self._linear(), **_TASK),
                scaled=True,
                settings=tuple({**first, "own_weight": w} for w in weights),
            )
        if self._alone("linear"):
            yield Candidate(
                f"{self.linear_name}, alone",
                "own",
                PerTask(self._linear(), **_TASK, min_samples=_FEWEST_OWN),
                scaled=True,
                settings=self._grid((1.0, 10.0, 100.0)),
                for_unseen=False,
            )
        if self.cautions:
            # alike in their slopes, so they depart less than all tasks do
            weights = [0.6, 0.2] if self.classes else [0.6, 0.2, 0.06]
            yield Candidate(
                f"{self.linear_name}, like tasks",
                "shared",
                LikeTasks(SharedPlusOwn(self._linear(), **_TASK), **_TASK),
                scaled=True,
                settings=tuple(
                    {"caution": caution, "estimator__own_weight": w}
                    for caution in self.cautions
                    for w in weights
                ),
                for_unseen=False,
            )

    def svm(self) -> Iterator[Candidate]:
        n_machines = self.n_classes if self.n_classes > 2 else 1
        if not self.quick or self.n_rows * n_machines >= _ROWS_FOR_MACHINES:
            return
        # one machine for each class: their values can be compared
        model = (
            MultiTaskSVC(multi_class="ovr", **_TASK)
            if self.classes
            else StandardisedSVR(**_TASK)
        )
        penalties = (0.3, 3.0, 30.0) if self.several else (30.0,)
        grid = tuple(
            {"C": cost, "correction_penalty": penalty}
            for cost in (0.3, 3.0)
            for penalty in penalties
        )
        form, role = ("multi-task", "shared") if self.several else ("pooled", "pooled")
        name = f"support vector machine, {form}"
        yield Candidate(name, role, model, scaled=True, settings=grid)

    def _forest(self, n_estimators: int, **options: Any) -> Any:
        forest = (
            MultiTaskExtraTreesClassifier
            if self.classes
            else MultiTaskExtraTreesRegressor
        )
        return forest(n_estimators, random_state=self.seed, **options)

    def trees(self) -> Iterator[Candidate]:
        # for many rows pilots would take too long
        large = {} if self.few else {"task_split_prob": 0.5, "min_samples_leaf": 20}
        if self.several:
            model = self._forest(self.n_estimators, **_TASK, **large)
            yield Candidate(_TASK_TREES, "shared", model)
        blind = large | {"task_split_prob": 0.0}
        if not self.classes:
            blind["task_offset"] = False
        model = self._forest(self.n_estimators, **_TASK, **blind)
        like = _TASK_TREES if self.several else ""
        yield Candidate("extra trees, pooled", "pooled", model, like=like)
        n_trees = min(_TREES_ALONE, self.n_estimators)
        if self.cautions:
            # settings of the forest of all tasks, or, if it was left out, some
            inner = self._forest(
                n_trees, **_TASK, task_split_prob=0.5, min_samples_leaf=5
            )
            yield Candidate(
                "extra trees, like tasks",
                "shared",
                LikeTasks(inner, **_TASK),
                scaled=True,
                settings=tuple({"caution": caution} for caution in self.cautions),
                like=_TASK_TREES,
                adopt=_for_inner,
                for_unseen=False,
            )
        if self._alone("trees"):
            inner = self._forest(n_trees, task_split_prob=0.0, min_samples_leaf=3)
            # deep trees of the best of all features, for clear targets
            clear = {"estimator__min_samples_leaf": 1, "estimator__max_features": 1.0}
            yield Candidate(
                "extra trees, alone",
                "own",
                PerTask(inner, **_TASK, min_samples=_FEWEST_OWN),
                settings=({}, clear) if self.quick else ({},),
                for_unseen=False,
            )

    def _booster(self) -> Any:
        booster = (
            HistGradientBoostingClassifier
            if self.classes
            else HistGradientBoostingRegressor
        )
        return booster(
            learning_rate=self.rate,
            min_samples_leaf=self._leaf,
            early_stopping=False,
            random_state=self.seed,
            **self.careful,
        )

    @property
    def _leaf(self) -> int:
        """Rows of a booster's leaves."""
        return int(min(max(self.n_rows // 50, 5), 20))

    def _staged(self, name: str, role: str, model: Any, **options: Any) -> Candidate:
        stages_of = {
            self.small_trees: _STAGES_OF_SMALL_TREES,
            _LARGE_TREES: _STAGES_OF_LARGE_TREES,
        }
        leaves = tuple(stages_of) if self.few else (_LARGE_TREES,)
        # twice the rate, half the iterations
        half = 0.06 / self.rate
        stages = tuple(tuple(int(half * s) for s in stages_of[n]) for n in leaves)
        grid = tuple(
            {"estimator__max_leaf_nodes": n, "estimator__max_iter": s[-1]}
            for n, s in zip(leaves, stages, strict=True)
        )
        # with some of the features at a split, the mean of some is less noisy
        seeds = range(self.seed, self.seed + (_BOOSTERS if self.few else 1))
        return Candidate(
            name,
            role,
            model,
            settings=grid,
            stages=stages,
            variants=tuple({"estimator__random_state": seed} for seed in seeds),
            **options,
        )

    def boosting(self) -> Iterator[Candidate]:
        if self.n_rows < _FEWEST_FOR_BOOSTING:
            return
        if self.several:
            model: Any = TaskAsFeature(self._booster(), **_TASK)
            yield self._staged(_TASK_BOOSTING, "shared", model)
        like = _TASK_BOOSTING if self.several else ""
        model = Pooled(self._booster(), **_TASK)
        yield self._staged("gradient boosting, pooled", "pooled", model, like=like)
        most = _MOST_FOR_MTBOOST
        few = self.n_rows <= most["rows"] and self.n_tasks <= most["tasks"]
        # for classes alone: on numbers it did not earn its time
        if self.several and self.classes and few:
            yield Candidate(
                "gradient boosting, multi-task",
                "shared",
                MTBoostClassifier(
                    n_estimators=_ROUNDS, **_TASK, random_state=self.seed
                ),
                scaled=True,
                # what its tasks have in common is a linear model, which others are for
                for_unseen=False,
            )
        if self.cautions:
            name = "gradient boosting, like tasks"
            model = LikeTasks(self._booster(), **_TASK)
            out = self._staged(name, "shared", model, scaled=True, for_unseen=False)
            # groups have fewer rows: small trees
            small = out.settings[0]
            yield replace(
                out,
                settings=tuple({**small, "caution": each} for each in self.cautions),
                stages=(out.stages[0],) * len(self.cautions),
            )
        # for classes, groups of like tasks do the same, and better
        if self.n_tasks >= _FEWEST_POINTS and not (self.classes and self.cautions):
            name = "gradient boosting, tasks by coefficients"
            model = TaskByCoefficients(self._line(), self._booster(), **_TASK)
            yield self._staged(name, "shared", model, scaled=True)
        if self.several and not self.classes:
            name = "gradient boosting over ridge regression"
            model = BoostedOverLinear(self._line(), self._booster())
            yield self._staged(name, "shared", model, scaled=True)
        large = self.n_rows >= _ROWS_FOR_BOOSTING_ALONE * self.n_tasks
        if large and self._alone("boosting"):
            inner = self._booster().set_params(max_leaf_nodes=8)
            yield Candidate(
                "gradient boosting, alone",
                "own",
                PerTask(inner, **_TASK, min_samples=4 * self._leaf),
                settings=tuple({"estimator__max_iter": n} for n in (50, 150)),
                for_unseen=False,
            )

    def _line(self) -> SharedPlusOwn:
        """The multi-task linear model of middling settings, for others to build on."""
        linear = self._linear() if self.classes else Ridge(10.0)
        weight = 0.6 if self.classes else 0.2
        return SharedPlusOwn(linear, **_TASK, own_weight=weight)
