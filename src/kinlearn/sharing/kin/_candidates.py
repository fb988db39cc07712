"""The candidates of the Kin estimators, by kind and size of the data."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.utils import get_tags

from kinlearn.boosting import (
    MTBoostClassifier,
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.linear import MixedLinearRegressor, MixedLogisticClassifier
from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing._pooled import Pooled
from kinlearn.sharing._shared_plus_own import SharedPlusOwn
from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.sharing.kin._groups import LikeTasks
from kinlearn.sharing.kin._models import StandardisedSVR
from kinlearn.svm import MultiTaskSVC
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor

__all__ = [
    "CAUTIONS",
    "EFFORTS",
    "FAMILIES",
    "FORMS",
    "ROLES",
    "Candidate",
    "Size",
    "choose_candidates",
    "chosen_settings",
    "own_candidates",
    "plain_settings",
]

# in the order of trials: those that come late are soon seen to be needless
FAMILIES = ("linear", "svm", "boosting", "trees")
ROLES = ("own", "pooled", "shared")
FORMS = ("pooled", "task as feature", "own")  # of estimators that users give
EFFORTS = ("fast", "standard", "best")
CAUTIONS = (1.0, 4.0)  # about groups of like tasks: fine, and coarse

_FEWEST_OWN = 8  # rows outside a fold from which a task gets a model of its own
_FEWEST_FOR_TREES_ALONE = 30  # in the largest task
_FEWEST_FOR_BOOSTING = 60
_MOST_TASKS_ALONE = {"linear": 10_000, "trees": 60, "boosting": 20}
_MOST_FOR_MTBOOST = {"rows": 20_000, "tasks": 200}
_ROWS_FOR_BOOSTING_ALONE = 200  # in the mean of the tasks
_ROUNDS = 100  # of multi-task boosting
_BOOSTERS = {"fast": 1, "standard": 4, "best": 8}  # of a kind, in the end
_MANY_ROWS = 100_000  # from here, one setting, and forests of so many drawn rows
_ROWS_A_FEATURE = 500  # more would not make a pooled linear model better
_ROWS_A_TASK = 300  # nor, in the mean of the tasks, a mixed one
_TREES_ALONE = 100
_TREES_IN_FOLDS = 60  # of a forest: enough to weigh it
_ROWS_FOR_MACHINES = 20_000  # of all machines together; classes have one each
_FEW_ROWS = 5_000  # below, there is time for machines, and rows for small trees alone
_MOST_SLOPES = 40  # features up to which each task has a slope of each
_MOST_QUICK_SLOPES = 20  # the same of classes with the least effort
_MOST_LEVELS = 300  # and up to which mixed models take part at all
# Iterations at which boosters are compared; the last is where they stop.
_RATE = 0.12  # on landmine and school, rates from 0.06 to 0.15 were as good
# What else was chosen with it, whatever the boosters' own defaults.
_BOOSTER: dict[str, Any] = {
    "learning_rate": _RATE,
    "l2_regularization": 3.0,
    "max_features": 0.3,
    "min_samples_leaf": 10,
    "max_bins": 64,
    "max_depth": None,
    "subsample": 1.0,
    "early_stopping": False,
    # linear candidates do what a line does: with it, losses were 0.4 % higher
    "linear_part": False,
}
_STAGES = (12, 25, 37, 50, 75, 100, 125, 175, 250)
_STAGES_OF_LARGE_TREES = (6, 12, 20, 30, 40, 50, 60, 100)
_LARGE_TREES = 24  # leaves
# Of groups of few rows each, and many: half the time, and as good for numbers.
_RATE_OF_GROUPS = 0.2
_STAGES_OF_GROUPS = (7, 15, 22, 30, 45, 60, 75, 105, 150)
# Of all models: X has the task's code as its last column, perhaps an unknown one.
_TASK: dict[str, Any] = {"task": -1, "unknown_task": "share"}
_TASK_BOOSTING, _TASK_TREES = (
    "gradient boosting, multi-task",
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
    role : {"own", "pooled", "shared"} or str
        Whether each task has its own model, all have one that does not see the
        task, or one that does; or the name of a level, whose groups it sees.
    estimator : estimator
        For X with the task's code as its last column, ``unknown_task="share"``.
    scaled : bool
        Whether it takes features of mean 0 and variance 1, none missing.
    settings : tuple of dict
        Parameters to choose from, by their loss out of fold.
    stages : tuple of tuple of int
        For boosters, the numbers of iterations to choose from under each setting.
    iterations : str
        The parameter that holds the number of iterations.
    variants : tuple of dict
        Parameters of the models whose mean predicts in the end: one, with more trees
        than in the folds, say, or several that differ in their seeds.
    final_cost : float
        How many times as long as in the folds one of these takes for as many rows.
    like : str
        Name of a candidate whose choices this one takes over.
    adopt : callable
        What becomes of these choices.
    for_unseen : bool
        Whether it predicts for tasks that were not seen in fit.
    given : bool
        Whether a user gave it: an error in its fit is the user's to see.
    may_fail : bool
        Whether others do where it cannot be fitted: rows of little weight, say.
    level : int
        Which level's groups it takes in place of the tasks; -1 is none.
    most_rows : int
        It is fitted to no more, drawn within the tasks; 0 is no limit.
    """

    name: str
    role: str
    estimator: Any
    scaled: bool = False
    settings: tuple[dict, ...] = ({},)
    stages: tuple[tuple[int, ...], ...] = ()
    iterations: str = ""
    variants: tuple[dict, ...] = ({},)
    final_cost: float = 1.0
    like: str = ""
    adopt: Callable[[dict], dict] = _without_task
    for_unseen: bool = True
    given: bool = False
    may_fail: bool = False
    level: int = -1
    most_rows: int = 0

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


@dataclass(frozen=True, eq=False)
class Size:
    """What decides which candidates take part.

    Attributes
    ----------
    task_rows : int array of shape (n_tasks,)
        Different rows of each task.
    n_features : int
        Features of the scaled table.
    n_classes : int
        2 for numbers.
    cautions : sequence of float
        Those with which tasks fall into groups.
    sparse : bool
        Whether X is sparse.
    """

    task_rows: np.ndarray
    n_features: int
    n_classes: int = 2
    cautions: Sequence[float] = ()
    sparse: bool = False


def choose_candidates(
    kind: str,
    size: Size,
    *,
    families: Sequence[str],
    effort: str = "standard",
    n_estimators: int,
    seed: int,
) -> list[Candidate]:
    """The candidates for data of some size, the quick ones first; at least one."""
    make = _Maker(kind, size, n_estimators, seed, effort)
    by_family = (getattr(make, family) for family in FAMILIES if family in families)
    out = [candidate for family in by_family for candidate in family()]
    # too few rows for the requested families, or too many
    return out or [make.linear_pooled()]


def own_candidates(estimators: Mapping[str, Any], several: bool) -> list[Candidate]:
    """Candidates of a user's estimators, each in the forms that are wanted.

    With one task there is one form. An estimator that takes no missing values gets
    the scaled features, which have none.
    """
    make: dict[str, tuple[Any, str, dict[str, Any]]] = {
        "pooled": (Pooled, "pooled", {}),
        "task as feature": (TaskAsFeature, "shared", {}),
        "own": (PerTask, "own", {"min_samples": _FEWEST_OWN}),
    }
    out = []
    for name, value in estimators.items():
        estimator, forms = value if isinstance(value, tuple) else (value, FORMS[:2])
        for form in forms if several else ("pooled",):
            wrap, role, options = make[form]
            out.append(
                Candidate(
                    f"{name}, {form}",
                    role,
                    wrap(estimator, **_TASK, **options),
                    scaled=not get_tags(estimator).input_tags.allow_nan,
                    for_unseen=form != "own",
                    given=True,
                )
            )
    return out


class _Maker:
    """Builds candidates of one kind; a method for each family yields them.

    Which ones take part was decided by leaving each out, on 14 made problems and on
    training rows of 10 real ones (``python -m benchmarks.quality.kin_ablation``): the
    loss without boosters of like tasks is 2.2 % higher in the mean, without own forests
    0.5 %; without shared plus own linear models, beside mixed ones, 0.04 % lower.
    """

    def __init__(
        self, kind: str, size: Size, n_estimators: int, seed: int, effort: str
    ) -> None:
        self.classes = kind == "classification"
        self.n_rows = n_rows = int(size.task_rows.sum())
        self.n_tasks, self.n_classes = len(size.task_rows), size.n_classes
        self.n_features, self.sparse = size.n_features, size.sparse
        self.n_estimators = n_estimators
        self.seed = seed
        self.effort, self.fast, self.best = effort, effort == "fast", effort == "best"
        self.several = self.n_tasks > 1
        self.largest = int(size.task_rows.max())
        self.own = self.several and self.largest >= _FEWEST_OWN
        self.few = n_rows < _MANY_ROWS
        self.quick = n_rows < _FEW_ROWS
        self.cautions = size.cautions if self.few else ()
        if self.fast:
            self.cautions = self.cautions[-1:]
        self.small_trees = 4 if self.quick else 6
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
            most_rows=max(_MANY_ROWS, _ROWS_A_FEATURE * self.n_features),
        )

    def _mixed(self, form: str, for_unseen: bool, **options: Any) -> Candidate:
        model = MixedLogisticClassifier if self.classes else MixedLinearRegressor
        return Candidate(
            f"mixed {'logistic' if self.classes else 'linear'} regression, {form}",
            "shared",
            model(alpha=1.0, **options, **_TASK),
            scaled=True,
            for_unseen=for_unseen,
            may_fail=True,
            most_rows=max(_MANY_ROWS, _ROWS_A_TASK * self.n_tasks),
        )

    def linear(self) -> Iterator[Candidate]:
        if not self.fast or not self.several:
            yield self.linear_pooled()
        if not self.several:
            return
        mixed = self.n_features <= _MOST_LEVELS and not self.sparse
        quick = self.fast and self.classes  # numbers need no steps of Newton's
        most = _MOST_QUICK_SLOPES if quick else _MOST_SLOPES
        slopes = mixed and self.n_features <= most
        if slopes:
            # for unseen tasks it is what the one without slopes is
            yield self._mixed(
                "slopes", self.fast, slopes="all", covariance="scaled_identity"
            )
        if mixed and not (slopes and self.fast):
            yield self._mixed("levels", True)
        if self.best or not slopes:  # elsewhere it is one of slopes, a little worse
            weights = [2.0, 0.6, 0.2] if self.classes else [0.6, 0.2, 0.06]
            first = {} if self.classes else {"estimator__alpha": 10.0}
            yield Candidate(
                f"{self.linear_name}, multi-task",
                "shared",
                SharedPlusOwn(self._linear(), **_TASK),
                scaled=True,
                settings=tuple({**first, "own_weight": w} for w in weights),
            )
        if self._alone("linear") and not self.fast:
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
        large = self.n_rows * n_machines >= _ROWS_FOR_MACHINES
        if self.fast or large or not self.quick:
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
        in_folds = n_estimators if self.best else min(n_estimators, _TREES_IN_FOLDS)
        return forest(in_folds, random_state=self.seed, **options)

    def _all_trees(self, n_estimators: int, inner: str = "") -> dict[str, Any]:
        """What a candidate has that has fewer trees in the folds."""
        if self.best or n_estimators <= _TREES_IN_FOLDS:
            return {"most_rows": _MANY_ROWS}
        return {
            "most_rows": _MANY_ROWS,
            "variants": ({f"{inner}n_estimators": n_estimators},),
            "final_cost": n_estimators / _TREES_IN_FOLDS,
        }

    def trees(self) -> Iterator[Candidate]:
        if self.fast:
            return
        # for many rows pilots would take too long
        large = {} if self.few else {"task_split_prob": 0.5, "min_samples_leaf": 20}
        if self.several:
            model = self._forest(self.n_estimators, **_TASK, **large)
            all_trees = self._all_trees(self.n_estimators)
            yield Candidate(_TASK_TREES, "shared", model, **all_trees)
        if self.best or not self.several:
            blind = large | {"task_split_prob": 0.0}
            if not self.classes:
                blind["task_offset"] = False
            model = self._forest(self.n_estimators, **_TASK, **blind)
            like = _TASK_TREES if self.several else ""
            all_trees = self._all_trees(self.n_estimators)
            name = "extra trees, pooled"
            yield Candidate(name, "pooled", model, like=like, **all_trees)
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
                **self._all_trees(n_trees, "estimator__"),
            )
        if self._alone("trees") and self.largest >= _FEWEST_FOR_TREES_ALONE:
            inner = self._forest(n_trees, task_split_prob=0.0, min_samples_leaf=3)
            # deep trees of the best of all features, for clear targets
            clear = {"estimator__min_samples_leaf": 1, "estimator__max_features": 1.0}
            yield Candidate(
                "extra trees, alone",
                "own",
                PerTask(inner, **_TASK, min_samples=_FEWEST_OWN),
                settings=({}, clear) if self.quick else ({},),
                for_unseen=False,
                **self._all_trees(n_trees, "estimator__"),
            )

    def _booster(self, **options: Any) -> Any:
        booster = (
            MultiTaskGradientBoostingClassifier
            if self.classes
            else MultiTaskGradientBoostingRegressor
        )
        defaults = {**_TASK, **_BOOSTER, "random_state": self.seed}
        return booster(**{**defaults, **options})

    @property
    def _leaf(self) -> int:
        """Rows of the leaves of a booster that does not see the task."""
        return int(min(max(self.n_rows // 50, 5), 20))

    def _staged(self, name: str, role: str, model: Any, **options: Any) -> Candidate:
        stages_of = {self.small_trees: _STAGES, _LARGE_TREES: _STAGES_OF_LARGE_TREES}
        leaves = tuple(stages_of) if self.few else (_LARGE_TREES,)
        if self.fast:
            leaves = leaves[:1]
        inner = "estimator__" if hasattr(model, "estimator") else ""
        stages = tuple(stages_of[n] for n in leaves)
        grid = tuple(
            {f"{inner}max_leaf_nodes": n, f"{inner}n_estimators": s[-1]}
            for n, s in zip(leaves, stages, strict=True)
        )
        # with some of the features at a split, the mean of some is less noisy
        n_boosters = _BOOSTERS[self.effort] if self.few else 1
        seeds = range(self.seed, self.seed + n_boosters)
        return Candidate(
            name,
            role,
            model,
            settings=grid,
            stages=stages,
            iterations=f"{inner}n_estimators",
            variants=tuple({f"{inner}random_state": seed} for seed in seeds),
            **options,
        )

    def boosting(self) -> Iterator[Candidate]:
        if self.n_rows < _FEWEST_FOR_BOOSTING:
            return
        blind: dict[str, Any] = {"task_splits": False, "task_values": False}
        careful: dict[str, Any] = {"min_samples_leaf": self._leaf}
        careful |= (
            {"l2_regularization": 0.0, "max_features": 0.5}
            if self.quick
            else {"l2_regularization": 3.0, "max_features": 0.25}
        )
        if self.several:
            yield self._staged(_TASK_BOOSTING, "shared", self._booster())
        if not (self.several and self.fast):
            model = self._booster(**blind, **careful)
            yield self._staged("gradient boosting, pooled", "pooled", model)
        most = _MOST_FOR_MTBOOST
        few = self.n_rows <= most["rows"] and self.n_tasks <= most["tasks"]
        # for classes alone: on numbers it did not earn its time
        if (self.best or self.sparse) and self.several and self.classes and few:
            yield Candidate(
                "MTBoost, multi-task",
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
            rate = _RATE if self.classes else _RATE_OF_GROUPS
            inner = self._booster(**blind, **careful, learning_rate=rate)
            model = LikeTasks(inner, **_TASK)
            out = self._staged(name, "shared", model, scaled=True, for_unseen=False)
            # groups have fewer rows: small trees
            small = {**out.settings[0], out.iterations: _STAGES_OF_GROUPS[-1]}
            yield replace(
                out,
                settings=tuple({**small, "caution": each} for each in self.cautions),
                stages=(_STAGES_OF_GROUPS,) * len(self.cautions),
            )
        large = self.n_rows >= _ROWS_FOR_BOOSTING_ALONE * self.n_tasks
        if self.best and large and self._alone("boosting"):
            inner = self._booster(task=None, max_leaf_nodes=8, **careful)
            yield Candidate(
                "gradient boosting, alone",
                "own",
                PerTask(inner, **_TASK, min_samples=4 * self._leaf),
                settings=tuple({"estimator__n_estimators": n} for n in (50, 150)),
                for_unseen=False,
            )


def chosen_settings(forest: Any) -> dict[str, Any]:
    """Settings that a forest chose in fit, so that folds need not choose again."""
    params = {
        "min_samples_leaf": int(forest.min_samples_leaf_),
        "task_split_prob": float(forest.task_split_prob_),
        "max_features": int(forest.max_features_),
        "n_cuts": int(forest.n_cuts_),
    }
    if hasattr(forest, "task_offsets_"):
        params["task_offset"] = bool(forest.task_offsets_.any())
        params["linear_part"] = bool(forest.linear_coef_.any())
    return params


def plain_settings(candidate: Candidate) -> dict[str, Any]:
    """Settings without a search, to see how long a fit takes."""
    if getattr(candidate.estimator, "min_samples_leaf", None) == "auto":
        fixed = {"min_samples_leaf": 5, "task_split_prob": 0.5}
        given = candidate.estimator.task_split_prob
        return fixed if given == "auto" else {**fixed, "task_split_prob": given}
    return candidate.settings[0]
