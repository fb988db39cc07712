"""How much to share between tasks, judged without labels: by stability."""

from collections.abc import Callable

import numpy as np
from sklearn.metrics import adjusted_rand_score

from kinlearn.utils import group_rows

__all__ = ["CANDIDATES", "agreement", "choose_lambda"]

# Not 0: clusters would be those of each task alone, but without common names.
CANDIDATES = (0.01, 0.1, 0.25, 0.5, 1.0)
_PAIRS = 5
_FRACTION = 0.7


def agreement(
    one: np.ndarray, two: np.ndarray, task: np.ndarray, n_tasks: int
) -> float:
    """How well two clusterings of the same rows agree, within tasks.

    The mean over tasks of the adjusted Rand index; 0 for a task that either clustering
    leaves in one cluster, which would agree by doing nothing.
    """
    values = []
    for t in range(n_tasks):
        a, b = one[task == t], two[task == t]
        if len(a) < 2:
            continue
        whole = len(np.unique(a)) == 1 or len(np.unique(b)) == 1
        values.append(0.0 if whole else adjusted_rand_score(a, b))
    return float(np.mean(values)) if values else 0.0


def choose_lambda(
    cluster: Callable[[np.ndarray, float], np.ndarray],
    task: np.ndarray,
    n_tasks: int,
    order: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float | None, dict[float, float]]:
    """The least weight between tasks at which clusters depend little on the rows drawn.

    Pairs of samples of 70% of each task are clustered with each candidate, by
    ``cluster(rows, lambda_inter)``, and compared on the rows that both have. Common
    clusters are found from more rows, so they are more stable even where they are wrong
    for the tasks; therefore the smallest candidate within one standard error of the
    best is taken.

    Returned are the choice (None if no candidate's clusters agree better than chance,
    as with tasks of one row) and the mean agreement by candidate. `order`, of the rows,
    depends on their values alone.
    """
    scores: dict[float, list[float]] = {value: [] for value in CANDIDATES}
    for _ in range(_PAIRS):
        samples = [_draw(task, n_tasks, order, rng) for _ in range(2)]
        both, first, second = np.intersect1d(
            samples[0], samples[1], return_indices=True
        )
        for value, found in scores.items():
            one, two = (cluster(rows, value) for rows in samples)
            found.append(agreement(one[first], two[second], task[both], n_tasks))
    means = {value: float(np.mean(found)) for value, found in scores.items()}
    top = max(means, key=lambda value: means[value])
    if means[top] <= 0:
        return None, means
    error = np.std(scores[top], ddof=1) / np.sqrt(_PAIRS)
    best = min(value for value in means if means[value] >= means[top] - error)
    return best, means


def _draw(
    task: np.ndarray, n_tasks: int, order: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Rows of every task, as many as the fraction, in ascending order."""
    indptr, by_task = group_rows(np.ascontiguousarray(task[order]), n_tasks)
    drawn = []
    _, first = np.unique(task[order], return_index=True)
    for t in task[order][np.sort(first)]:  # their codes must not matter
        rows = order[by_task[indptr[t] : indptr[t + 1]]]
        count = max(min(2, len(rows)), round(_FRACTION * len(rows)))
        drawn.append(rng.choice(rows, count, replace=False))
    return np.sort(np.concatenate(drawn))
