"""Does sharing help? All contenders on the same folds, and an unbiased verdict."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from numbers import Integral
from os import PathLike
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from kinlearn.audit._assemble import Outcome, assemble
from kinlearn.audit._contenders import Entry, choose_contenders, default_entries
from kinlearn.audit._folds import Folds, folds_at_level, make_folds
from kinlearn.audit._problem import Problem, open_problem
from kinlearn.audit._relatedness import measure_relatedness, no_relatedness
from kinlearn.audit._result import SharingResult
from kinlearn.audit._scoring import choose_scoring
from kinlearn.audit.run import (
    Cell,
    Comparison,
    CurvePlan,
    LevelRecords,
    MemoryStore,
    describe,
    identity_of,
    open_store,
    plan_curve,
    run_cells,
)
from kinlearn.audit.statistics import (
    Contender,
    Headline,
    Summary,
    nested_selection,
    standing,
    summarise_scores,
)
from kinlearn.exceptions import SuspectColumnWarning
from kinlearn.tables import find_suspects
from kinlearn.utils._typing import ArrayLike, LabelRule, Table, TaskPath

__all__ = ["compare_sharing"]

_RELATEDNESS = "relatedness"  # key of its record
_SHOWN_SUSPECTS = 5  # in the warning


def compare_sharing(
    X: Table,
    y: ArrayLike,
    *,
    task: TaskPath,
    estimators: Mapping[str, Any] | None = None,
    cv: Any = None,
    scoring: str | Callable[..., float] | None = None,
    kind: Literal["classification", "regression"] | None = None,
    label_sets: LabelRule | None = None,
    n_splits: int = 5,
    n_repeats: int | None = None,
    curve: bool = True,
    n_jobs: int | None = None,
    random_state: int = 0,
    store: str | PathLike[str] | None = None,
    progress: Callable[[int, int, str], object] | None = None,
    so_far: Callable[[str], object] | None = None,
) -> SharingResult:
    """Find out whether tasks should share a model, and who is hurt by it.

    Models that keep the tasks apart, models that pool them, and models that
    share are fitted and scored on the same folds, in which every task has its
    part. The gain is estimated for each task.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
        Rows with the task column. Frames may hold numbers, strings, categories
        and missing values.
    y : array-like of shape (n_samples,)
        Class labels or numbers.
    task : str, int or list of them
        Name or position of the task column; or a path of columns from coarse to fine,
        ``["region", "clinic"]``. The finest column holds the tasks. The Kin estimators
        may take the whole path; all other contenders get the finest column, and no
        contender gets the others as features. The result can be read by region too, see
        :meth:`SharingResult.at_level`.
    estimators : dict of str to estimator, default=None
        Contenders by name: estimators of kinlearn with this `task`, or
        :class:`~kinlearn.sharing.PerTask`, :class:`~kinlearn.sharing.Pooled` and
        :class:`~kinlearn.sharing.TaskAsFeature` over any scikit-learn estimator. A
        plain scikit-learn estimator stands for its three forms. Open random states
        are set to `random_state`. None takes :func:`default_contenders`.
    cv : None, int, splitter or iterable of (train, test), default=None
        Folds. None draws `n_splits` by
        :class:`~kinlearn.model_selection.TaskStratifiedKFold`, `n_repeats` times.
    scoring : str or callable, default=None
        A name of scikit-learn's scorers, a scorer, or a function of `y_true` and
        `y_pred`; errors are turned negative, so that greater is better. None is
        "roc_auc" for two classes, "balanced_accuracy" for more, and for numbers
        the explained variance: one minus the squared error over the variance of
        the task's target (over all rows of the task).
    kind : {"classification", "regression"} or None, default=None
        What y is. None guesses: numbers with fractions, or integers of more than
        20 values, are regression.
    label_sets : {"connected", "observed"}, dict or None, default=None
        Which classes a task has, for all contenders that take this parameter; see
        :func:`kinlearn.tasks.find_label_sets`. None leaves it to them: "connected",
        unless you set it otherwise.
    n_splits : int, default=5
        Number of folds.
    n_repeats : int, default=None
        How often folds are drawn. None is twice up to 10,000 rows, once above.
    curve : bool, default=True
        Whether to find out how the gain depends on the rows of a task: their
        training rows are cut down, and those of the others kept.
    n_jobs : int, default=None
        Contenders and folds at a time, as in joblib; each has one thread. The
        scores do not depend on it.
    random_state : int, default=0
        Decides folds and models.
    store : path-like, default=None
        File, or folder for one, to which every finished fold goes at once. A run
        that was stopped or killed goes on where it was when it is called again in
        the same way; a file of another run is refused.
    progress : callable, default=None
        Called as ``progress(done, total, label)`` after each step.
    so_far : callable, default=None
        Called with a sentence, the mean scores without the Kin estimators, if there
        are any among others. They take long, and are evaluated last.

    Returns
    -------
    SharingResult
        Plain results, the verdict, and the best model.

    See Also
    --------
    default_contenders : The models that are compared.
    kinlearn.sharing.PerTask : One model for each task.

    Notes
    -----
    The model that the headline names in a fold was chosen on the other folds, so
    its score is not flattered by the choice. Intervals know that training sets
    overlap; tasks are called helped or hurt after Holm's correction.

    A task with fewer rows than folds is always in training and never tested. A
    metric that does not exist on a task's test rows, such as the AUC of one
    class, gives no score there. Both are listed in ``to_dict()["tasks"]`` with
    the reason.

    The curve compares the two models of the headline. The Kin estimators would take
    too long for that: the best of the others that share stands in for them, and
    without one there is no curve.

    Columns that are indices or ids, copies of the target or the task, or that alone
    predict the target nearly perfectly (:func:`kinlearn.tables.find_suspects`) are
    listed in ``suspects``, and a warning
    (:class:`~kinlearn.exceptions.SuspectColumnWarning`) names them. None is left out.

    A contender that fails on any fold takes no part in the comparison; its error
    is listed. Warnings of contenders are listed too, and not shown.

    Ctrl-C ends the run; what was finished is in the store.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from kinlearn.audit import compare_sharing
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.trees import MultiTaskExtraTreesClassifier
    >>> X, y = load_demo(as_frame=True, return_X_y=True)
    >>> result = compare_sharing(
    ...     X,
    ...     y,
    ...     task="clinic",
    ...     estimators={
    ...         "logistic": LogisticRegression(max_iter=5000),
    ...         "trees": MultiTaskExtraTreesClassifier(50, task="clinic"),
    ...     },
    ...     n_repeats=1,
    ...     curve=False,
    ... )
    >>> [contender["name"] for contender in result.contenders]
    ['trees', 'logistic, alone', ...]
    """
    _check_options(random_state, curve, progress=progress, so_far=so_far)
    problem = open_problem(X, y, task, kind)
    suspects = _suspects(problem)
    metric = choose_scoring(scoring, problem)
    folds = make_folds(
        problem,
        cv=cv,
        n_splits=n_splits,
        n_repeats=n_repeats,
        random_state=random_state,
        by_class=not metric.by_row,
    )
    comparison = Comparison(
        problem, folds, metric, dict(_at_levels(problem, folds, scoring))
    )
    entries = choose_contenders(
        estimators,
        problem,
        random_state=random_state,
        unknown_task="share" if folds.tests_unseen_tasks else "error",
    )
    if label_sets is not None:
        entries = [_with_label_sets(entry, label_sets) for entry in entries]
    identity = identity_of(comparison, entries, curve=curve, random_state=random_state)
    with open_store(store, identity) as records:
        run = _Run(comparison, entries, records, random_state, n_jobs, progress)
        data = run.play(curve, so_far)
    data["suspects"] = suspects
    best = data["contenders"][0]["name"]
    options = {
        "task": task,
        "kind": kind,
        "label_sets": label_sets,
        "random_state": random_state,
    }
    winner = next(entry for entry in entries if entry.name == best)
    data["run"]["code"] = _code(
        winner,
        options,
        given=estimators is not None,
        default=label_sets is None
        and (estimators is None or _is_default(winner, problem, random_state)),
    )
    result = SharingResult(data, refit=partial(run.refit, best))
    for name, level in data.get("levels", {}).items():
        level["suspects"] = suspects
        level["run"]["code"] = data["run"]["code"]
        best = level["contenders"][0]["name"]
        result._refit_at[name] = partial(run.refit, best)
    return result


def _check_options(random_state: Any, curve: Any, **callbacks: Any) -> None:
    if not isinstance(random_state, Integral) or isinstance(random_state, bool):
        raise TypeError(
            "random_state must be an integer, so that a run can be repeated and "
            f"continued; got {random_state!r}."
        )
    if not 0 <= int(random_state) < 2**32:
        raise ValueError(
            f"random_state must be between 0 and 2**32 - 1; got {random_state}."
        )
    if not isinstance(curve, bool):
        raise TypeError(f"curve must be True or False; got {curve!r}.")
    arguments = {"progress": "(done, total, label)", "so_far": "a sentence"}
    for name, callback in callbacks.items():
        if callback is not None and not callable(callback):
            raise TypeError(
                f"{name} must be a function of {arguments[name]}; got {callback!r}."
            )


class _Run:
    """One comparison from the first fit to the plain result."""

    def __init__(
        self,
        comparison: Comparison,
        entries: list[Entry],
        records: MemoryStore,
        random_state: int,
        n_jobs: int | None,
        progress: Callable[[int, int, str], object] | None,
    ) -> None:
        self.comparison = comparison
        self.entries = entries
        self.records = records
        self.random_state = int(random_state)
        self.n_jobs = n_jobs
        self.progress = progress
        self.done = self.total = 0

    def play(
        self, curve: bool, so_far: Callable[[str], object] | None
    ) -> dict[str, Any]:
        """Do what the store lacks, and return the result."""
        cells = self._cells(self.entries)
        quick = [entry for entry in self.entries if not entry.slow]
        slow = [entry for entry in self.entries if entry.slow]
        n_curve = self._length_of_curve(quick) if curve else 0
        self.total = len(cells) + 1 + n_curve
        self._run(self._cells(quick))
        before, line = self._standing(quick), None
        if before is None:
            self.total -= n_curve
        elif curve:
            line = self._curve(before)
        if slow:
            if before is not None and so_far is not None:
                metric = self.comparison.scoring.describe()
                so_far(standing(before, metric, self.comparison.problem.task_name))
            self._run(self._cells(slow))
        outcome = Outcome(self.comparison, self.entries, cells, self.records)
        self._check_survivors(outcome)
        levels = {
            name: self._read_level(name, cells) for name in self.comparison.levels
        }
        late = [entry.name for entry in slow if entry.name not in outcome.errors]
        summary = summarise_scores(
            outcome.scores,
            self.comparison.scoring,
            self.comparison.problem.task_name,
            without=(late, before) if late and before is not None else None,
            remarks=[text for text in [self.comparison.folds.remark] if text],
        )
        if _RELATEDNESS not in self.records:
            self.records.append(_RELATEDNESS, self._relatedness(summary))
        self._step("relatedness")
        data = assemble(
            comparison=self.comparison,
            entries=self.entries,
            outcome=outcome,
            summary=summary,
            relatedness=self.records[_RELATEDNESS],
            curve=line,
            run=self._about(),
        )
        return {**data, "levels": levels} if levels else data

    def _read_level(self, name: str, cells: list[Cell]) -> dict[str, Any]:
        """The same predictions, with the groups of a level for the tasks."""
        comparison = self.comparison.levels[name]
        records = LevelRecords(self.records, name)
        outcome = Outcome(comparison, self.entries, cells, records)
        summary = summarise_scores(
            outcome.scores,
            comparison.scoring,
            name,
            remarks=[text for text in [comparison.folds.remark] if text],
        )
        return assemble(
            comparison=comparison,
            entries=self.entries,
            outcome=outcome,
            summary=summary,
            relatedness=no_relatedness(comparison.problem),
            curve=None,
            run=self._about(),
        )

    def _cells(self, entries: list[Entry]) -> list[Cell]:
        """Fold by fold, so that a run that is stopped has all contenders on some."""
        folds = self.comparison.folds
        return [
            Cell(entry.name, repeat, split)
            for repeat in range(folds.n_repeats)
            for split in range(folds.n_splits)
            for entry in entries
        ]

    def _standing(self, entries: list[Entry]) -> Headline | None:
        """Headline of some contenders; None if there is nothing to compare."""
        cells = self._cells(entries)
        outcome = Outcome(self.comparison, entries, cells, self.records)
        if _kinds(outcome) != {True, False} or np.isnan(outcome.scores.values).all():
            return None
        return nested_selection(outcome.scores)

    def refit(self, name: str) -> Any:
        """A contender, fitted to all rows."""
        problem = self.comparison.problem
        return clone(self._estimators[name]).fit(problem.given, problem.y)

    @property
    def _estimators(self) -> dict[str, Any]:
        return {entry.name: entry.estimator for entry in self.entries}

    def _run(self, cells: list[Cell]) -> None:
        known = sum(cell.key in self.records for cell in cells)
        if known:
            self.done += known - 1
            self._step(f"{known} fits found in the store")
        run_cells(
            cells,
            self.comparison,
            self._estimators,
            self.records,
            n_jobs=self.n_jobs,
            report=lambda cell: self._step(cell.contender),
        )

    def _step(self, label: str) -> None:
        self.done += 1
        if self.progress is not None:
            self.progress(self.done, self.total, label)

    def _check_survivors(self, outcome: Outcome) -> None:
        """Raise an error without a sharing and a lone contender to compare."""
        kinds = _kinds(outcome)
        if kinds != {True, False}:
            lacking = "sharing" if True not in kinds else "lone"
            first = next(iter(outcome.errors.items()))
            raise RuntimeError(
                f"No {lacking} contender finished, so there is nothing to compare. "
                f"{len(outcome.errors)} of {len(self.entries)} contenders failed; "
                f"{first[0]!r}: {first[1]}"
            )
        if np.isnan(outcome.scores.values).all():
            some = next(iter(outcome.reasons.values()), "no task has test rows")
            raise ValueError(
                f"{self.comparison.scoring.name} exists on no task of any fold "
                f"({some}). Choose another scoring, or lower n_splits."
            )

    def _length_of_curve(self, entries: list[Entry]) -> int:
        some = {entry.contender.shares: entry.contender for entry in entries}
        if set(some) != {True, False}:
            return 0
        plan = self._plan_curve([some[True], some[False]])
        return 0 if plan is None else len(plan.cells)

    def _plan_curve(self, contenders: list[Contender]) -> CurvePlan | None:
        return plan_curve(self.comparison, contenders, random_state=self.random_state)

    def _curve(self, headline: Headline) -> dict[str, Any] | None:
        """The curve of the two models that the headline names."""
        if headline.sharing is None or headline.alone is None:
            return None
        by_name = {entry.name: entry.contender for entry in self.entries}
        plan = self._plan_curve([by_name[headline.sharing], by_name[headline.alone]])
        if plan is None:
            return None
        self._run(plan.cells)
        return plan.read(self.records, self.comparison.problem.tasks.tolist())

    def _relatedness(self, summary: Summary) -> dict[str, Any]:
        """Distances, and the affinity of the best contender that learns one."""
        slow = {entry.name: entry.slow for entry in self.entries}
        able = [c for c in summary.contenders if c.form == "multi-task"]
        able.sort(key=lambda c: (slow[c.name], -np.nan_to_num(c.macro)))  # quick first
        models = ((c.name, partial(self.refit, c.name)) for c in able)
        return measure_relatedness(self.comparison.problem, models, self.random_state)

    def _about(self) -> dict[str, Any]:
        folds = self.comparison.folds
        return {
            "parameters": {
                "scoring": self.comparison.scoring.name,
                "n_splits": folds.n_splits,
                "n_repeats": folds.n_repeats,
                "contenders": {
                    name: " ".join(repr(estimator).split())
                    for name, estimator in self._estimators.items()
                },
            },
            "random_state": self.random_state,
            "seconds": round(self.records.seconds, 3),
            "started": self.records.started,
            "code": None,
        }


def _at_levels(
    problem: Problem, folds: Folds, scoring: Any
) -> Iterator[tuple[str, Comparison]]:
    """The same rows and folds by the groups of each level, where there are several."""
    for name, (values, _) in problem.groups.items():
        if len(values) < 2:
            continue
        above = problem.at_level(name)
        metric = choose_scoring(scoring, above)
        yield name, Comparison(above, folds_at_level(folds, above), metric)


def _suspects(problem: Problem) -> list[dict[str, Any]]:
    """Columns that may tell the models too much; there is a warning if any do."""
    kind: Any = problem.kind
    found = find_suspects(problem.X, problem.y, task=problem.task, kind=kind)
    if found:
        shown = " ".join(suspect.sentence for suspect in found[:_SHOWN_SUSPECTS])
        more = len(found) - _SHOWN_SUSPECTS
        rest = f" And {more} more, in the result's suspects." if more > 0 else ""
        warnings.warn(shown + rest, SuspectColumnWarning, stacklevel=3)
    return [{**suspect.to_dict(), "left_out": False} for suspect in found]


def _kinds(outcome: Outcome) -> set[bool]:
    """Whether contenders that finished share: True, False, or both."""
    return {contender.shares for contender in outcome.scores.contenders}


def _is_default(entry: Entry, problem: Problem, random_state: int) -> bool:
    """Whether `default_contenders` gives the same under this name."""
    rules: tuple[Literal["warn", "error"], ...] = ("warn", "error")
    return describe(entry.estimator) in [
        describe(other.estimator)
        for rule in rules
        for other in default_entries(
            problem, random_state=random_state, unknown_task=rule, on_request=True
        )
        if other.name == entry.name
    ]


def _with_label_sets(entry: Entry, label_sets: LabelRule) -> Entry:
    """A contender whose model, however deep inside, has this rule of classes."""
    keys = (key for key in entry.estimator.get_params() if key.endswith("label_sets"))
    model = clone(entry.estimator)
    return Entry(entry.contender, model.set_params(**dict.fromkeys(keys, label_sets)))


def _code(winner: Entry, options: dict[str, Any], *, given: bool, default: bool) -> str:
    """Two lines that give the winner."""
    standard = {
        "kind": None,
        "label_sets": None,
        "random_state": 0,
        "on_request": False,
    }
    if default:
        options = {**options, "on_request": winner.slow}
    arguments = ", ".join(
        f"{key}={value!r}"
        for key, value in options.items()
        if key not in standard or value != standard[key]
    )
    if default:
        return (
            "from kinlearn.audit import default_contenders\n"
            f"model = default_contenders(X, y, {arguments})[{winner.name!r}].fit(X, y)"
        )
    arguments += ", estimators=estimators" if given else ""
    return (
        f"result = compare_sharing(X, y, {arguments})\n"
        f"model = result.best_estimator_  # {winner.name}"
    )
