"""How many rows until sharing stops paying?

The training rows of a few tasks are cut down to n, while all other tasks keep
theirs; the sharing and the lone model are fitted to what is left, and scored on
the test rows of the tasks that were cut. Tasks take turns in groups.
"""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import t as student

from kinlearn.audit._problem import Problem
from kinlearn.audit.run._cells import Cell, Comparison
from kinlearn.audit.run._store import MemoryStore
from kinlearn.audit.statistics import Contender
from kinlearn.utils import group_rows

__all__ = ["CurvePlan", "Cut", "plan_curve"]

_FIRST = 5  # fewest rows of a task
_MOST_POINTS = 6
_MOST_TASKS = 12
_GROUPS = 3
# Rows up to which so many folds are used.
_SPLITS = ((5_000, 3), (20_000, 2))
_LEVEL = 0.95


@dataclass(frozen=True)
class Cut:
    """Which training rows are left.

    - `tasks`: Codes of the tasks that are cut.
    - `n_rows`: Rows that each of them keeps.
    - `alone`: Whether the other tasks are left out altogether, as they make no
      difference to a model that does not share.
    - `seed`: Decides which rows stay.
    """

    tasks: tuple[int, ...]
    n_rows: int
    alone: bool
    seed: int

    @property
    def key(self) -> str:
        """Names the cut in the key of a record."""
        return json.dumps([list(self.tasks), self.n_rows])

    def rows(
        self, problem: Problem, train: np.ndarray, test: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Training and test rows after the cut."""
        indptr, order = group_rows(problem.codes[train], problem.n_tasks)
        kept = []
        for code in self.tasks:
            rows = train[order[indptr[code] : indptr[code + 1]]]
            rng = np.random.RandomState([self.seed, code])
            labels = problem.y[rows] if problem.kind == "classification" else None
            kept.append(rows[nested_sample(labels, len(rows), self.n_rows, rng)])
        if not self.alone:
            kept.append(train[~np.isin(problem.codes[train], self.tasks)])
        test = test[np.isin(problem.codes[test], self.tasks)]
        return np.sort(np.concatenate(kept)), test


def nested_sample(
    labels: np.ndarray | None, n_rows: int, n_kept: int, rng: np.random.RandomState
) -> np.ndarray:
    """Some rows of a task: more of them contain fewer of them, and every class."""
    order = rng.permutation(n_rows)
    if labels is not None:
        _, first = np.unique(labels[order], return_index=True)
        first = np.sort(first)
        order = np.concatenate([order[first], np.delete(order, first)])
    return order[:n_kept]


@dataclass(frozen=True, eq=False)
class CurvePlan:
    """What the curve is made of.

    - `sizes`: Rows of a task, ascending.
    - `tasks`: Codes of the tasks that are cut.
    - `contenders`: The sharing one and the lone one.
    - `cells`: The fits.
    """

    sizes: list[int]
    tasks: list[int]
    contenders: list
    cells: list[Cell]

    def read(self, store: MemoryStore, task_values: list[Any]) -> dict[str, Any] | None:
        """The curve as plain data, from the records of its cells."""
        lines, means = [], []
        for contender in self.contenders:
            by_task = self._by_task(store, contender.name)
            if by_task is None:
                return None
            mean, low, high = _interval(by_task)
            means.append(mean)
            lines.append(
                {
                    "contender": contender.name,
                    "form": contender.form,
                    "mean": mean.tolist(),
                    "low": low.tolist(),
                    "high": high.tolist(),
                }
            )
        return {
            "rows": self.sizes,
            "lines": lines,
            "tasks": [task_values[code] for code in self.tasks],
            "crossing": crossing(self.sizes, means[0] - means[1]),
        }

    def _by_task(self, store: MemoryStore, name: str) -> np.ndarray | None:
        """Mean score over folds, by size and task; tasks without any are left out."""
        found = np.full((len(self.sizes), len(self.tasks)), np.nan)
        sums, counts = np.zeros_like(found), np.zeros_like(found)
        for cell in self.cells:
            if cell.contender != name:
                continue
            record = store[cell.key]
            if record["error"] is not None:
                return None
            row = self.sizes.index(cell.cut.n_rows)
            for code in cell.cut.tasks:
                value = record["values"][code]
                if value is not None:
                    sums[row, self.tasks.index(code)] += value
                    counts[row, self.tasks.index(code)] += 1
        scored = (counts > 0).all(axis=0)
        if not scored.any():
            return None
        return sums[:, scored] / counts[:, scored]


def _interval(by_task: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over tasks, and an interval for it."""
    n_tasks = by_task.shape[1]
    mean = by_task.mean(axis=1)
    if n_tasks < 2:
        return mean, mean, mean
    error = by_task.std(axis=1, ddof=1) / np.sqrt(n_tasks)
    reach = student.ppf(0.5 + _LEVEL / 2, n_tasks - 1) * error
    return mean, mean - reach, mean + reach


def crossing(sizes: list[int], gain: np.ndarray) -> float | None:
    """Rows per task at which sharing stops paying."""
    above = np.flatnonzero(gain > 0)
    if not len(above) or above[-1] == len(gain) - 1:
        return None
    last = above[-1]
    fraction = gain[last] / (gain[last] - gain[last + 1])
    low, high = np.log(sizes[last]), np.log(sizes[last + 1])
    return float(np.exp(low + fraction * (high - low)))


def plan_curve(
    comparison: Comparison, contenders: list[Contender], *, random_state: int
) -> CurvePlan | None:
    """Choose sizes, tasks and folds by the size of the data."""
    problem, folds = comparison.problem, comparison.folds
    n_splits = next((n for limit, n in _SPLITS if problem.n_rows <= limit), 1)
    splits = range(min(n_splits, folds.n_splits))
    tested = (folds.n_test[0, list(splits)] > 0).all(axis=0)
    rows = folds.n_train[0, list(splits)].min(axis=0)
    sizes = _sizes(rows[tested])
    if len(sizes) < 2:
        return None
    large = np.flatnonzero(tested & (rows >= sizes[-1]))
    # Some tasks must keep their rows, or there is nothing to borrow from.
    most = min(_MOST_TASKS, max(1, problem.n_tasks * (_GROUPS - 1) // _GROUPS))
    rng = np.random.RandomState(random_state)
    tasks = rng.permutation(large)[:most]
    n_groups = min(_GROUPS, len(tasks))
    cells = []
    for contender in contenders:
        for split in splits:
            for size in sizes:
                for group in range(n_groups):
                    codes = tuple(sorted(map(int, tasks[group::n_groups])))
                    cut = Cut(codes, size, not contender.shares, random_state)
                    cells.append(Cell(contender.name, 0, split, cut))
    return CurvePlan(sizes, sorted(map(int, tasks)), list(contenders), cells)


def _sizes(rows: np.ndarray) -> list[int]:
    """Rows per task to try: doubling from the first up to what half of them have."""
    if not len(rows):
        return []
    most = int(np.median(rows))
    sizes = []
    size = _FIRST
    while size <= most:
        sizes.append(size)
        size *= 2
    while len(sizes) > _MOST_POINTS:
        sizes = sizes[::-1][::2][::-1]  # every other one, with the last
    return sizes
