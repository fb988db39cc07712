"""``kin relate``: how far apart the tasks are."""

from pathlib import Path

import numpy as np
import pandas as pd
from rich.table import Table

from kinlearn.cli._console import Output, make_table
from kinlearn.cli._errors import UserError, data_errors, suggest
from kinlearn.cli._files import write_table
from kinlearn.cli._training import Training
from kinlearn.relatedness import TaskDistances, task_distances

__all__ = ["METHODS", "check_methods", "relate_tasks"]

METHODS = {
    "mmd": "maximum mean discrepancy",
    "ks": "Kolmogorov-Smirnov",
    "kl": "symmetric Kullback-Leibler",
    "kl_directed": "directed Kullback-Leibler",
    "hellinger": "Hellinger",
    "logdet": "LogDet of covariances",
    "mutual_information": "mutual information",
    "proxy_a": "proxy A-distance",
    "label_shift": "label shift",
}
_SHOWN = 20


def check_methods(text: str, target: str | None) -> list[str]:
    """The methods of a list such as ``mmd,ks``."""
    names = list(dict.fromkeys(n.strip().replace("-", "_") for n in text.split(",")))
    for name in names:
        if name not in METHODS:
            raise UserError(f"There is no method {name!r}. {suggest(name, METHODS)}")
    if "label_shift" in names and target is None:
        raise UserError("label_shift compares targets: name the column by --target.")
    return names


def relate_tasks(
    training: Training,
    output: Output,
    *,
    methods: list[str],
    out: Path | None = None,
    n_jobs: int | None = None,
    seed: int = 0,
) -> None:
    """Measure and show the distances between all tasks."""
    output.note(f"{training.describe()}.")
    found = {}
    with data_errors():
        encoder = training.encoder(categories="indicators", fill=True)
        X = encoder.fit_transform(training.X)
        for method in methods:
            found[method] = task_distances(
                X,
                training.y,
                task=training.task,
                method=method,
                n_jobs=n_jobs,
                random_state=seed,
            )
    rows = training.X[training.task].value_counts()
    for method, distances in found.items():
        output.show(_table(distances, rows, training.task, METHODS[method]))
    pairs = _pairs(found)
    if out is not None:
        write_table(pairs, out, output)
        output.show(f"Distances of all {len(pairs)} pairs in {out}.")
    output.print_json(
        {
            "task": training.task,
            "rows": {str(t): int(rows[t]) for t in training.tasks},
            "tasks": training.tasks.tolist(),
            "suspects": training.suspect_records,
            "distances": {m: d.values.tolist() for m, d in found.items()},
        }
    )


def _table(distances: TaskDistances, rows: pd.Series, task: str, title: str) -> Table:
    """A line for each task, the one farthest from all others on top."""
    values, tasks = distances.values, distances.tasks
    mean = values.sum(axis=1) / (len(tasks) - 1)
    lines = []
    for t in np.argsort(-mean, kind="stable")[:_SHOWN]:
        order = distances.nearest(tasks[t])
        near, far = order[0], order[-1]
        lines.append(
            (
                str(tasks[t]),
                f"{rows[tasks[t]]}",
                f"{mean[t]:.3f}",
                f"{near} ({distances[tasks[t], near]:.3f})",
                f"{far} ({distances[tasks[t], far]:.3f})",
            )
        )
    more = len(tasks) - _SHOWN
    return make_table(
        f"Distance between tasks: {title}",
        (task, ">rows", ">mean distance", "nearest", "farthest"),
        lines,
        f"and {more} tasks that are nearer to the others" if more > 0 else None,
    )


def _pairs(found: dict[str, TaskDistances]) -> pd.DataFrame:
    """Every pair once, with a column for each method, or two where ways differ."""
    first = next(iter(found.values()))
    a, b = np.triu_indices(first.n_tasks, k=1)
    columns = {"task": first.tasks[a], "other": first.tasks[b]}
    for method, d in found.items():
        columns[method] = d.values[a, b]
        if d.directed:
            columns[f"{method}_back"] = d.values[b, a]
    return pd.DataFrame(columns)
