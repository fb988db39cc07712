"""Beside the gains: which tasks are near each other, and does it predict the gain?"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy.stats import spearmanr
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from kinlearn.audit._contenders import find_scaler
from kinlearn.audit._problem import Problem
from kinlearn.audit._result import plain
from kinlearn.relatedness import task_distances
from kinlearn.sharing.internal import FinestLevel
from kinlearn.tasks import keep_task

__all__ = [
    "describe_relatedness",
    "measure_relatedness",
    "no_relatedness",
    "predicts_gain",
]

_METHODS = ("mmd", "ks", "label_shift")
_MOST_TASKS = 200  # of a matrix that goes into a result
_MOST_MEASURED = 2_000
_FEWEST_FOR_CORRELATION = 4


def measure_distances(
    problem: Problem, random_state: int
) -> tuple[dict[str, np.ndarray], list[str]]:
    """Distances between the tasks, by several measures."""
    if problem.n_tasks > _MOST_MEASURED:
        return {}, [f"Distances are measured for up to {_MOST_MEASURED} tasks."]
    found, notes = {}, []
    try:
        prepare = keep_task(find_scaler(problem.X, problem.task), task=problem.task)
        X = prepare.fit_transform(problem.X)
        task = problem.task if problem.is_frame else -1
    except (TypeError, ValueError) as error:
        return {}, [f"Distances between tasks were not measured: {error}"]
    kind = "wasserstein" if problem.kind == "regression" else "total_variation"
    for method in _METHODS:
        options: dict[str, Any] = {"distance": kind} if method == "label_shift" else {}
        try:
            distances = task_distances(
                X,
                problem.y,
                task=task,
                method=method,
                random_state=random_state,
                **options,
            )
        except (TypeError, ValueError) as error:
            notes.append(f"{method} was not measured: {error}")
            continue
        found[method] = distances.values
    return found, notes


def learned_affinity(model: Any) -> np.ndarray | None:
    """The affinity between tasks that a fitted model learned."""
    while isinstance(model, Pipeline | FinestLevel):
        model = model[-1] if isinstance(model, Pipeline) else model.estimator_
    affinity = getattr(model, "task_affinity_", None)
    if affinity is None or not np.isfinite(affinity).all():
        return None
    return np.asarray(affinity, dtype=np.float64)


def measure_relatedness(
    problem: Problem,
    models: Iterable[tuple[str, Callable[[], Any]]],
    random_state: int,
) -> dict[str, Any]:
    """The record of distances, and of the first affinity that a model learned."""
    distances, notes = measure_distances(problem, random_state)
    # the largest tasks, in their own order
    shown = np.sort(np.argsort(-problem.sizes, kind="stable")[:_MOST_TASKS])
    square = np.ix_(shown, shown)
    learned = None
    for name, fit in models:
        try:
            with threadpool_limits(1):  # as on the folds
                affinity = learned_affinity(fit())
        except Exception:  # noqa: BLE001 - a contender may fail here as well
            continue
        if affinity is not None:
            learned = {"contender": name, "matrix": affinity[square]}
            break
    return plain(
        {
            "shown": shown,
            "distances": {m: matrix[square] for m, matrix in distances.items()},
            "mean_distance": {
                method: matrix.sum(axis=1) / (problem.n_tasks - 1)
                for method, matrix in distances.items()
            },
            "affinity": learned,
            "notes": notes,
        }
    )


def no_relatedness(problem: Problem) -> dict[str, Any]:
    """The record of groups of tasks: distances are between tasks."""
    return {
        "shown": list(range(problem.n_tasks)),
        "distances": {},
        "mean_distance": {},
        "affinity": None,
        "notes": ["Distances are measured between tasks, not between their groups."],
    }


def describe_relatedness(
    record: dict[str, Any], problem: Problem, gains: np.ndarray
) -> dict[str, Any]:
    """Distances and affinity; of the largest tasks only, where there are many."""
    tasks = problem.tasks.tolist()
    shown = [tasks[code] for code in record["shown"]]
    affinity = record["affinity"]
    notes = list(record["notes"])
    if len(shown) < len(tasks):
        notes.append(
            f"Matrices are of the {_MOST_TASKS} largest of {len(tasks)} tasks."
        )
    return {
        "distances": {
            method: {"tasks": shown, "matrix": matrix}
            for method, matrix in record["distances"].items()
        },
        "affinity": affinity and {**affinity, "tasks": shown},
        "predicts_gain": predicts_gain(record["mean_distance"], gains),
        "note": " ".join(notes) or None,
    }


def predicts_gain(
    means: dict[str, list[float]], gains: np.ndarray
) -> list[dict[str, Any]]:
    """Whether tasks far from all others gain less by sharing."""
    scored = ~np.isnan(gains)
    found = []
    for method, mean in means.items():
        entry: dict[str, Any] = {
            "distance": method,
            "spearman": None,
            "p": None,
            "n_tasks": int(scored.sum()),
        }
        x, y = np.asarray(mean)[scored], gains[scored]
        if len(x) >= _FEWEST_FOR_CORRELATION and np.ptp(x) > 0 and np.ptp(y) > 0:
            result = spearmanr(x, y)
            entry |= {"spearman": float(result.statistic), "p": float(result.pvalue)}
        found.append(entry)
    return found
