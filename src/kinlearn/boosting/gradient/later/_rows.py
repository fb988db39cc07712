"""Rows that come after boosting: of new tasks, and further rounds for known ones.

Further rounds are for the tasks that have rows in them.
"""

from dataclasses import replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils import check_random_state

from kinlearn.boosting.gradient._bins import Binned
from kinlearn.boosting.gradient._model import Trees
from kinlearn.boosting.gradient._rounds import (
    Boosted,
    Problem,
    Rounds,
    Settings,
    Watch,
    counted_rows,
)
from kinlearn.boosting.gradient.later._insert import (
    insert_classes,
    insert_tasks,
    only_tasks,
)
from kinlearn.boosting.gradient.later._new_tasks import add_tasks

__all__ = ["take_later"]

_FOLDS = 5  # of later rows, by which the number of further rounds is chosen
_SURE = 2.0  # standard errors by which they must help: with 1, one in four did harm


def take_later(booster: Any, later: Any, weight: np.ndarray) -> None:
    """Add rows of positive weight to a fitted booster, which is changed."""
    model = Boosted(booster._start, booster.trees_)
    if later.is_new.any():
        model = insert_tasks(model, later.place, later.n_tasks)
    is_old = np.ones(later.n_samples, dtype=bool)
    booster._remember_later(later)
    if later.classes is not None and len(later.classes) > len(later.class_place):
        model = insert_classes(
            model, later.class_place, booster._label_sets.class_weight
        )
        is_old = np.isin(later.y, later.class_place)
    new = later.is_new[later.task]
    if new.any():
        model = add_tasks(
            model,
            _problem(booster, later.take(new), weight[new]),
            later.is_new,
            task_values=booster.task_values,
            direction=booster._feature_columns.directions(booster.monotonic_cst),
        )
    booster._start, booster.trees_ = model.start, model.trees
    # rounds are for known tasks, and for new ones with classes of their own
    some = ~new | np.isin(later.task, later.task[~is_old])
    if some.any():
        _add_rounds(booster, later.take(some), weight[some])


def _add_rounds(booster: Any, later: Any, weight: np.ndarray) -> None:
    """Further rounds, as many as predict rows left out of them best."""
    rng = check_random_state(booster.random_state)
    seed = int(rng.randint(2**31 - 1))
    problem = _problem(booster, later, weight)
    settings = booster._settings(seed, problem.binned.bins.shape[1])
    model = Boosted(booster._start, booster.trees_)
    label = None if later.classes is None else later.y
    races = [
        _race(booster, model, problem, settings, later, weight, held)
        for held in _deal_rows(later.task, label, rng)
    ]
    n_rounds = _best_rounds(races, booster.n_estimators, booster.n_iter_no_change)
    rounds = Rounds(
        problem,
        settings,
        start=model.start,
        before=model.trees,
        n_jobs=effective_n_jobs(booster.n_jobs),
    )
    found = [tree for _ in range(n_rounds) for tree in rounds.play()]
    here = np.unique(later.task)
    if len(here) < later.n_tasks:
        found = [only_tasks(tree, here, later.n_tasks) for tree in found]
    booster.trees_ = Trees.of([*model.trees, *found], later.n_tasks)
    booster.n_estimators_ = len(booster.trees_) // rounds.n_outputs


def _race(
    booster: Any,
    model: Boosted,
    problem: Problem,
    settings: Settings,
    later: Any,
    weight: np.ndarray,
    held: np.ndarray,
) -> tuple[Rounds, Watch]:
    """Rounds without some rows, and what watches them by these."""
    loss = booster._make_loss(later.y, np.where(held, 0.0, weight), later.task)
    part = replace(problem, loss=loss, n_rows=np.where(held, 0, problem.n_rows))
    rounds = Rounds(part, settings, start=model.start, before=model.trees)
    watch = Watch(
        problem.binned.bins[held],
        later.task[held],
        booster._make_loss(later.y[held], weight[held], later.task[held]),
        rounds.scores[held],
    )
    return rounds, watch


def _problem(booster: Any, later: Any, weight: np.ndarray) -> Problem:
    bins = np.ascontiguousarray(booster.bins_.assign(booster._used(later.X)))
    return Problem(
        binned=Binned(booster.bins_, bins),
        task=later.task,
        n_tasks=later.n_tasks,
        loss=booster._make_loss(later.y, weight, later.task),
        n_rows=np.maximum(counted_rows(later.sample_weight), 1),
        allowed=booster._allowed(),
        offset=booster._offset(later.X),
    )


def _deal_rows(
    task: np.ndarray, y: np.ndarray | None, rng: np.random.RandomState
) -> list[np.ndarray]:
    """Folds of the rows of each task and class, as masks; none of a single row."""
    cell = task.astype(np.int64)
    if y is not None:
        cell = cell * (int(y.max()) + 1) + y
    order = rng.permutation(len(task))
    order = order[np.argsort(cell[order], kind="stable")]
    n_folds = min(_FOLDS, len(task))
    fold = np.empty(len(task), dtype=np.intp)
    fold[order] = np.arange(len(task)) % n_folds
    return [fold == k for k in range(n_folds)] if n_folds > 1 else []


def _best_rounds(races: list[tuple[Rounds, Watch]], most: int, patience: int) -> int:
    """How many rounds predict the rows best that do not train.

    None, unless that many are better than none by two standard errors over the folds.
    """
    if not races:
        return 0
    losses = [np.array([watch.total() for _, watch in races])]
    best = 0
    while len(losses) <= most and len(losses) - best <= patience:
        for rounds, watch in races:
            watch.look(rounds.play(), rounds.problem.n_tasks)
        losses.append(np.array([watch.total() for _, watch in races]))
        best = int(np.argmin([each.sum() for each in losses]))
    gain = losses[0] - losses[best]
    error = gain.std(ddof=1) / np.sqrt(len(gain))
    return best if gain.mean() > _SURE * error else 0
