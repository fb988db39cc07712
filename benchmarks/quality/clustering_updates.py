"""Which updates? All from the same starts, to lower the same objective.

``python -m benchmarks.quality.clustering_updates`` needs ``KINLEARN_DATA``. It takes
the thesis's objective with a fixed alpha, runs 400 passes of multiplicative updates,
of coordinates, and of projected gradients, and records the values they end at, and the
passes after which each is within 0.01% of where the multiplicative updates end. A pass
is one product with the affinity, or one sweep of coordinates, which costs the same.
"""

from pathlib import Path

import numpy as np

import benchmarks.quality.protocols  # noqa: F401 - declares the problems
from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.problems import load
from benchmarks.quality.clustering import text_affinity, text_rows
from benchmarks.quality.protocol import PROTOCOLS
from kinlearn.cluster._affinity import Affinity
from kinlearn.cluster._solver import Problem

RECORDS = Path(__file__).parents[1] / "records" / "clustering_updates.jsonl"
_PASSES = 400


def _multiplicative(W, V, task, alpha):
    H = np.eye(task.max() + 1)[task]
    push = (H @ (H.T @ V)) @ np.array([[1.0, -1], [-1, 1]])
    ratio = (W @ V - alpha * push) / np.maximum(V @ (V.T @ V), 1e-300)
    return np.maximum(0.5 * V * (1 + ratio), 0)


def _projected_gradients(problem, V):
    """The objective after each pass; steps by Barzilai and Borwein, halved to descend.

    A value must be below the greatest of the last five, as is usual with these steps.
    """
    value, gradient = problem.objectives(V).sum(), problem.gradient(V)
    step, values = 1.0 / max(np.abs(gradient).max(), 1e-300), []
    while len(values) < _PASSES:
        new = np.maximum(V - step * gradient, 0.0)
        found = problem.objectives(new).sum()
        allowed = max([value, *values[-5:]])
        values.append(min(found, value))
        if found > allowed + 1e-4 * np.vdot(gradient, new - V):
            step *= 0.5
            continue
        new_gradient = problem.gradient(new)
        moved, bent = new - V, new_gradient - gradient
        along = np.vdot(moved, bent)
        step = np.vdot(moved, moved) / along if along > 0 else 2.0 * step
        V, value, gradient = new, found, new_gradient
    return values


def _passes(values, target):
    reached = np.flatnonzero(np.array(values) <= target)
    return int(reached[0]) + 1 if len(reached) else None


def table(records):
    """Where each ends, and after how many passes; a row for each start.

    Parameters
    ----------
    records : list of dict
        Of the file.

    Returns
    -------
    list of list of str
        The heading first.
    """
    ways = ("multiplicative", "coordinates", "gradients")
    rows = [["problem", "rows", "start", *ways, "passes of each"]]
    for each in records:
        passes = (f"not in {_PASSES}" if n is None else str(n) for n in each["passes"])
        ends = [f"{value:.4f}" for value in each["ends"]]
        row = [each["problem"], str(each["rows"]), str(each["start"])]
        rows.append([*row, *ends, ", ".join(passes)])
    return rows


def main():
    """Run what the file lacks, and print a line for each start."""
    with JsonLines(RECORDS) as store:
        done = {(r["problem"], r["rows"]) for r in store.records}
        for name in ("rec-talk", "sci-comp"):
            protocol = PROTOCOLS[f"clustering-{name}"]
            data = load(protocol.problem)
            for number in (0, 3):  # 40 and 160 rows of each task
                X, task = text_rows(data.X[protocol.split(data, number)[1]])
                if (name, len(task)) not in done:
                    affinity = text_affinity(X, task, 0.25)
                    for record in _one_problem(name, affinity, task):
                        store.append(record)
        for row in table(store.records):
            print_line(" | ".join(row))


def _one_problem(name, W, task):
    alpha = 0.3 * W[task[:, None] == task].mean()
    n_tasks = task.max() + 1
    form = alpha * np.array([[1.0, -1], [-1, 1]])
    problem = Problem(
        affinity=Affinity(W, task.astype(np.int32)),
        task=task.astype(np.int32),
        order=np.arange(len(task)),
        weight=np.ones((n_tasks, n_tasks)),
        penalty=np.ascontiguousarray(np.tile(form, (n_tasks, 1, 1))),
        constant=np.array([0.5 * np.sum(W**2)]),
        component=np.zeros(n_tasks, dtype=int),
    )
    for start in range(3):
        V = problem.start(np.random.default_rng(start))
        U = V.copy()
        steps = _projected_gradients(problem, V.copy())
        slow, fast = [], []
        for _ in range(_PASSES):
            V = _multiplicative(W, V, task, alpha)
            slow.append(problem.objectives(V).sum())
            U = problem.minimise(U, tol=0.0, max_iter=1).V
            fast.append(problem.objectives(U).sum())
        target = slow[-1] * (1 + 1e-4)
        yield {
            "problem": name,
            "rows": len(task),
            "start": start,
            "ends": [round(float(v), 6) for v in (slow[-1], fast[-1], min(steps))],
            "passes": [_passes(each, target) for each in (slow, fast, steps)],
        }


if __name__ == "__main__":
    main()
