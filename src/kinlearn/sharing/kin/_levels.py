"""Known groups of like tasks: levels above the task, from coarse to fine.

A level takes part in two ways. Candidates that have its groups in place of the tasks
pool what a group's tasks have in common. And a new task of a known group is another
case than one of a group that is new too: each case has weights, a calibration and
scores of its own, from folds that hold out whole tasks, or whole groups.

Rows are coded by one number: that of their task; -1 if nothing is known; and from -2
on downwards the finest group that is known.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn.sharing.kin._candidates import ROLES, Candidate
from kinlearn.sharing.kin._folds import tasks_to_folds
from kinlearn.sharing.kin._groups import LikeTasks
from kinlearn.sharing.kin._scores import Scores
from kinlearn.sharing.kin._trials import Trial, Trials
from kinlearn.sharing.kin._weights import without_traces
from kinlearn.tasks import TaskRows
from kinlearn.tasks.internal import TaskPaths

__all__ = ["Levels", "NewTasks"]

_LEAST_FOR_GROUPS = 0.02  # weight for new tasks, to be tried for new groups

_VARIANTS = 2  # boosters of groups, in the end


@dataclass(frozen=True, eq=False)
class Levels:
    """The groups of the tasks, level by level.

    Attributes
    ----------
    names : tuple of str
        Names of the levels, coarse to fine; the task's own is last.
    groups : int32 array of shape (n_levels, n_tasks)
        Group of each task, at each level but the last.
    upper : list of int32 arrays of shape (level, n_groups)
        For the groups of each of these levels, those of the coarser ones.
    """

    names: tuple
    groups: np.ndarray
    upper: list

    @classmethod
    def of(cls, paths: TaskPaths) -> Self:
        """Those that a path of columns names."""
        names, groups = paths.names, paths.groups
        taken = [name for name in names[:-1] if name in ROLES]
        if taken:
            raise ValueError(
                f"Level column {taken[0]!r} is called as a role in sharing_ is. Give "
                "the column another name."
            )
        upper = []
        for level in range(len(groups)):
            above = np.zeros((level, paths.n_groups(level)), dtype=np.int32)
            above[:, groups[level]] = groups[:level]
            upper.append(above)
        return cls(names, groups, upper)

    @property
    def n_levels(self) -> int:
        """Number of levels above the task."""
        return len(self.groups)

    @property
    def n_cases(self) -> int:
        """Ways to be unknown: the task alone, the lowest level as well, and so on."""
        return self.n_levels + 1

    def name_of_case(self, case: int) -> str:
        """The coarsest level at which a row is new, if `case` groups are unknown."""
        return self.names[self.n_levels - case]

    @property
    def _offsets(self) -> np.ndarray:
        """Groups of coarser levels, before those of each level."""
        return np.cumsum([0, *(above.shape[1] for above in self.upper)])

    @property
    def _by_code(self) -> np.ndarray:
        """Group at each level for each code; negative codes count from the end."""
        blocks = []
        for level, above in enumerate(self.upper):
            n_groups = above.shape[1]
            block = np.full((self.n_levels, n_groups), -1, dtype=np.int32)
            block[:level] = above
            block[level] = np.arange(n_groups)
            blocks.append(block)
        unknown = np.full((self.n_levels, 1), -1, dtype=np.int32)
        negative = np.hstack([unknown, *blocks])[:, ::-1]
        return np.hstack([self.groups, negative])

    def codes(self, rows: TaskRows) -> np.ndarray:
        """One number for what is known of the task of each row."""
        out = rows.task.copy()
        groups: Any = rows.groups
        for level in range(self.n_levels):
            known = (rows.task < 0) & (groups[level] >= 0)
            out[known] = -2 - self._offsets[level] - groups[level][known]
        return out

    def groups_of(self, code: np.ndarray) -> np.ndarray:
        """Group of rows at each level; -1 is unknown."""
        return self._by_code[:, code]

    def cases(self, code: np.ndarray) -> np.ndarray:
        """Task of each row; of unknown ones -1, less the levels unknown besides."""
        n_unknown = (self.groups_of(code) < 0).sum(axis=0)
        return np.where(code >= 0, code, -1 - n_unknown)

    def add_candidates(self, candidates: list[Candidate]) -> list[Candidate]:
        """The candidates, and those that share by group."""
        return candidates + _group_candidates(candidates, self)

    def folds(
        self,
        n_rows: np.ndarray,
        task: np.ndarray,
        n_folds: int,
        rng: np.random.RandomState,
    ) -> list[np.ndarray]:
        """Folds of rows that hold out whole tasks, then whole groups, level by level.

        `n_rows` are those of each task, `task` that of each row. The first folds leave
        other tasks of a group, where there are any.
        """
        first = _tasks_in_groups_to_folds(n_rows, self.groups[-1], n_folds, rng)
        others = [
            _groups_to_folds(n_rows, group, n_folds, rng)
            for group in reversed(self.groups)
        ]
        return [fold[task] for fold in (first, *others)]

    def rows_of_known_groups(
        self, task: np.ndarray, fold: np.ndarray, level: int = -1
    ) -> np.ndarray:
        """Rows whose group at a level has rows in other folds too; all, if none has."""
        of_row = self.groups[level][task].astype(np.int64)
        n_folds = int(fold.max()) + 1
        rows = np.bincount(of_row)
        inside = np.bincount(of_row * n_folds + fold, minlength=len(rows) * n_folds)
        found = inside.reshape(-1, n_folds)[of_row, fold] < rows[of_row]
        return np.flatnonzero(found if found.any() else ~found)


def _group_candidates(
    candidates: Sequence[Candidate], levels: Levels
) -> list[Candidate]:
    """Candidates that share by group as others share by task, for each level.

    A linear one and a booster, where there are such; otherwise the first that shares.
    """
    shared = [c for c in candidates if c.role == "shared"]
    shared = [c for c in shared if not isinstance(c.estimator, LikeTasks)]
    shared = [c for c in shared if not c.given] or shared
    linear = [c for c in shared if "regression" in c.name]
    chosen = linear[:1] + [c for c in shared if c.stages][:1]
    out = []
    for level, name in enumerate(levels.names[:-1]):
        for candidate in chosen or shared[:1]:
            new = replace(
                candidate,
                name=f"{candidate.name.rpartition(', ')[0]}, by {name}",
                role=name,
                level=level,
                for_unseen=True,
                variants=candidate.variants[:_VARIANTS],
            )
            if candidate.stages:  # trees of groups need not be large
                new = replace(
                    new, settings=candidate.settings[:1], stages=candidate.stages[:1]
                )
            elif not candidate.may_fail:  # settings to choose, as for tasks
                new = replace(new, like=candidate.name, adopt=dict)
            out.append(new)
    return out


def _tasks_in_groups_to_folds(
    n_rows: np.ndarray, group: np.ndarray, n_folds: int, rng: np.random.RandomState
) -> np.ndarray:
    """Fold of each task, so that the others of its group are in other folds.

    As far as there are others; folds have about as many rows.
    """
    n_folds = min(n_folds, int(np.count_nonzero(n_rows)))
    fold = np.empty(len(n_rows), dtype=np.intp)
    load = np.zeros(n_folds)
    inside = np.zeros((int(group.max()) + 1, n_folds), dtype=np.intp)
    order = rng.permutation(len(n_rows))
    for t in order[np.argsort(-n_rows[order], kind="stable")]:
        fewest = np.flatnonzero(inside[group[t]] == inside[group[t]].min())
        fold[t] = fewest[load[fewest].argmin()]
        load[fold[t]] += n_rows[t]
        inside[group[t], fold[t]] += 1
    return fold


def _groups_to_folds(
    n_rows: np.ndarray, group: np.ndarray, n_folds: int, rng: np.random.RandomState
) -> np.ndarray:
    """Fold of each task, whole groups together."""
    sums = np.bincount(group, weights=n_rows)
    return tasks_to_folds(sums, min(n_folds, int(np.count_nonzero(sums))), rng)[group]


@dataclass(frozen=True, eq=False)
class _New:
    """What was learned for tasks that are new.

    Attributes
    ----------
    rows : intp array of shape (n_rows,)
        The rows that it was learned from.
    weights : float64 array of shape (n_candidates,)
        Weights of all candidates.
    mixed, honest : float64 arrays of shape (n_rows[, n_classes])
        The combination by weights of other folds, and the same calibrated.
    y, weight : arrays of shape (n_rows,)
        Targets and weights of the rows.
    """

    rows: np.ndarray
    weights: np.ndarray
    mixed: np.ndarray
    honest: np.ndarray
    y: np.ndarray
    weight: np.ndarray


class NewTasks:
    """Weights and scores of the Kin estimators for tasks that fit did not see."""

    _levels: Levels | None
    _corrections: list
    _columns: Any
    _weights_of_groups: Sequence[np.ndarray] = ()  # by case, from 1 on
    tasks_: np.ndarray
    crowd_weights_: np.ndarray
    weights_: np.ndarray
    # of the estimators
    _calibrated_in_turn: Any
    _remember_scores: Any
    _remember_unseen_errors: Any
    _remember_group_errors: Any
    _remember_group_temperature: Any

    def _cases(self, code: np.ndarray) -> np.ndarray:
        """Task of each row; of unknown ones -1, less the levels unknown besides."""
        return code if self._levels is None else self._levels.cases(code)

    def _row_weights(self, cases: np.ndarray) -> np.ndarray:
        """Weights of the candidates for each row; unknown tasks have their own."""
        new = [self.unseen_weights_, *self._weights_of_groups]
        return np.vstack([self.weights_, *reversed(new)])[cases]

    def _learn_for_new(
        self,
        trials: Trials,
        able: list[int],
        predictions: list[np.ndarray],
        fold: np.ndarray,
        rows: np.ndarray,
    ) -> _New:
        """Weights for tasks that are new, and what they would have been worth.

        `predictions` are those of the candidates `able`, by models that did not see the
        tasks of a row's fold.
        """
        evidence = trials.train.evidence(predictions, rows)
        evidence = evidence.corrected([self._corrections[k] for k in able])
        weights = np.zeros(len(trials.done))
        weights[able] = evidence.crowd()
        mixed = np.empty(evidence.predictions.shape[1:])
        fold = fold[rows]
        for f in np.unique(fold):
            test = fold == f
            crowd = evidence.only(~test).crowd()
            mixed[test] = evidence.only(test).mixed(np.tile(crowd, (test.sum(), 1)))
        found = mixed, evidence.y, evidence.weight
        honest = self._calibrated_in_turn(*found, fold)
        return _New(rows, without_traces(weights[None])[0], mixed, honest, *found[1:])

    def _weigh_for_unseen(
        self, trials: Trials, done: list[Trial], scores: Scores
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Learn what new tasks need, of known groups; own models take no part."""
        able = [k for k, trial in enumerate(done) if trial.unseen is not None]
        self.unseen_score_ = None
        self.unseen_task_scores_: dict[Any, float] = {}
        self.unseen_level_scores_: dict[str, float | None] = {}
        self.unseen_weights_ = without_traces(self.crowd_weights_[None])[0]
        if not able:
            return None
        task, fold = trials.train.table.task, trials.task_fold
        rows = np.arange(len(task))
        if self._levels is not None:
            rows = self._levels.rows_of_known_groups(task, fold)
        unseen = [np.asarray(done[k].unseen) for k in able]
        found = self._learn_for_new(trials, able, unseen, fold, rows)
        self.unseen_weights_ = found.weights
        self._remember_scores("unseen", found.honest, rows, scores)
        self._remember_unseen_errors(found.honest, found.y, task[rows], found.weight)
        self._score_unseen_tasks(found, task, scores)
        if self._columns.task is not None:
            name = self._columns.all_names[self._columns.task]
            self.unseen_level_scores_[name] = self.unseen_score_
        return found.mixed, found.y, found.weight

    def _score_unseen_tasks(
        self, found: _New, task: np.ndarray, scores: Scores
    ) -> None:
        """The score of each task that has none yet."""
        of_rows = task[found.rows]
        for t, name in enumerate(self.tasks_.tolist()):
            mine = of_rows == t
            score = scores.of_task(found.honest[mine], found.rows[mine])
            if np.isnan(self.unseen_task_scores_.get(name, np.nan)):
                self.unseen_task_scores_[name] = score

    def _weigh_for_new_groups(
        self,
        trials: Trials,
        done: list[Trial],
        scores: Scores,
        folds: Sequence[np.ndarray],
    ) -> None:
        """Learn what tasks need whose groups are new too, from the lowest level up.

        The candidates are those that have weight for new tasks without the help of
        these groups, and of those that share by them the quick ones.
        """
        self._weights_of_groups = []
        self._remember_group_errors(None)
        levels = self._levels
        if levels is None:
            return
        task = trials.train.table.task
        able = [k for k, trial in enumerate(done) if trial.unseen is not None]
        for case in range(1, levels.n_cases):
            level, name = levels.n_levels - case, levels.names[-1 - case]
            rough = self._without_groups(trials, done, level)
            self._weights_of_groups.append(without_traces(rough[None])[0])
            found = None
            if folds and folds[case - 1].max() > 0 and trials.clock.left > 0:
                fold, rows = folds[case - 1], np.arange(len(task))
                if level > 0:
                    rows = levels.rows_of_known_groups(task, fold, level - 1)
                of = [trial.candidate for trial in done]
                quick = [c.level >= level and not c.stages for c in of]
                tried = [k for k in able if rough[k] >= _LEAST_FOR_GROUPS or quick[k]]
                predictions = [trials.without_tasks(done[k], fold) for k in tried]
                found = self._learn_for_new(trials, tried, predictions, fold, rows)
                self._weights_of_groups[-1] = found.weights
                self._score_unseen_tasks(found, task, scores)
            if able:
                score = None if found is None else scores.of(found.honest, found.rows)
                self.unseen_level_scores_ = {name: score, **self.unseen_level_scores_}
            self._remember_group_errors(found, levels.groups[level][task])
            self._remember_group_temperature(found)

    def _without_groups(
        self, trials: Trials, done: list[Trial], level: int
    ) -> np.ndarray:
        """Weights for new tasks of the candidates that see no group from a level on."""
        able = [
            k
            for k, trial in enumerate(done)
            if trial.unseen is not None and trial.candidate.level < level
        ]
        weights = np.zeros(len(done))
        if able:
            evidence = trials.train.evidence([np.asarray(done[k].unseen) for k in able])
            evidence = evidence.corrected([self._corrections[k] for k in able])
            weights[able] = evidence.crowd()
            return weights
        return self.unseen_weights_.copy()
