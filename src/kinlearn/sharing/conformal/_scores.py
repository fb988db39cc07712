r"""How far off predictions out of fold were, and how far new ones may be.

Numbers have the score :math:`|y_i - f(x_i)| / s_t`, where f did not see the row and
:math:`s_t` is the mean error of its task, shrunk towards that of all tasks by
Bühlmann's credibility [1]_: the fewer rows a task has, and the less tasks differ, the
more. Classes have the score :math:`1 - p(y_i \mid x_i)`.

The quantile of a task counts its own rows fully, rows of other tasks as few, and one
row more of an infinite score, which stands for the new row. So a small task borrows and
a large one has a quantile of its own. These are the weights of conformal prediction
beyond exchangeability [2]_.

A row of a task that is not known yet is judged by scores of tasks that were left out as
a whole. Each task counts alike, and the new one is an infinite score more [3]_.

References
----------
.. [1] H. Bühlmann, E. Straub. Glaubwürdigkeit für Schadensätze. Bulletin of the Swiss
   Association of Actuaries, 1970.
.. [2] R. Barber, E. Candès, A. Ramdas, R. Tibshirani. Conformal prediction beyond
   exchangeability. Annals of Statistics, 2023.
.. [3] Y. Lee, R. Barber, R. Willett. Distribution-free inference with hierarchical
   data. arXiv:2306.06342, 2023.
"""

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

__all__ = ["ConformalScores", "errors_of_classes", "errors_of_numbers", "task_scales"]

# Beyond a quantile there are so many borrowed rows, however high the level.
_ROWS_BEYOND = 10.0
_TOLERANCE = 1e-9  # of sums of weights
_LEAST_CREDIBILITY = 1.0  # rows that the mean of all tasks counts like, at least


def errors_of_numbers(predictions: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Absolute errors."""
    return np.abs(y - predictions)


def errors_of_classes(proba: np.ndarray, y: np.ndarray) -> np.ndarray:
    """What the probability of the true class lacks to 1; y holds class codes."""
    return 1.0 - proba[np.arange(len(y)), y]


def task_scales(
    error: np.ndarray, task: np.ndarray, weight: np.ndarray, n_tasks: int
) -> tuple[np.ndarray, np.ndarray]:
    r"""Mean errors of the tasks, shrunk, and for each row the same without it.

    .. math:: s_t = \frac{\sum_{i \in t} e_i + k S}{n_t + k},
        \qquad k = \sigma^2 / \tau^2 ,

    where :math:`\sigma^2` is the variance of errors within tasks, :math:`\tau^2` that
    of the tasks' means, by Bühlmann and Straub, and S the mean of the tasks' means by
    their credibility. Tasks that do not differ beyond chance all have the same.
    """
    rows = np.bincount(task, weight, n_tasks)
    total = rows.sum()
    size = error.max(initial=0.0) or 1.0  # so that squares are of any size of y
    error = error / size
    sums = np.bincount(task, weight * error, n_tasks)
    mean = np.divide(sums, rows, out=np.zeros(n_tasks), where=rows > 0)
    overall = sums.sum() / total
    free = np.maximum(rows - 1, 0).sum()
    n_seen = np.count_nonzero(rows)
    within = (weight * (error - mean[task]) ** 2).sum() / max(free, 1.0)
    spread = (rows * (mean - overall) ** 2).sum() - (n_seen - 1) * within
    between = spread / max(total - (rows**2).sum() / total, 1e-300)
    if n_seen < 2 or free <= 0 or not between > 0:
        scale = size * (overall or 1.0)
        return np.full(n_tasks, scale), np.full(len(error), scale)
    k = max(within / between, _LEAST_CREDIBILITY)
    credibility = rows / (rows + k)
    centre = credibility @ mean / credibility.sum()
    scale = size * (sums + k * centre) / (rows + k)
    unit = np.minimum(weight, 1.0)  # a row of weight 2 is two rows, of which one leaves
    rest = sums[task] - unit * error + k * centre
    return scale, size * rest / (rows[task] - unit + k)


@dataclass(frozen=True, eq=False)
class ConformalScores:
    """Scores of rows out of fold, ascending, and what is left out with whole tasks.

    Attributes
    ----------
    score : float64 array of shape (n_scores,)
        How far off, in units of the task's scale; ascending.
    task : int32 array of shape (n_scores,)
        Task codes.
    weight : float64 array of shape (n_scores,)
        Weights.
    scale : float64 array of shape (n_tasks,)
        Units of the tasks.
    unseen : ConformalScores or None
        The same by models that have not seen the row's task, in units of 1.
    """

    score: np.ndarray
    task: np.ndarray
    weight: np.ndarray
    scale: np.ndarray
    unseen: Any = None

    @classmethod
    def of(
        cls,
        error: np.ndarray,
        task: np.ndarray,
        weight: np.ndarray | None,
        n_tasks: int,
        *,
        scaled: bool = False,
    ) -> Self:
        """Scores of rows; `scaled` by the tasks' mean errors."""
        task = np.asarray(task, dtype=np.int32)
        weight = np.ones(len(error)) if weight is None else weight
        scale, score = np.ones(n_tasks), np.asarray(error, dtype=np.float64)
        if scaled and len(error):
            scale, each = task_scales(score, task, weight, n_tasks)
            score = score / each
        counts = weight > 0
        score, task, weight = score[counts], task[counts], weight[counts]
        order = np.argsort(score, kind="stable")
        return cls(score[order], task[order], weight[order], scale)

    def with_unseen(
        self, error: np.ndarray, task: np.ndarray, weight: np.ndarray | None
    ) -> "ConformalScores":
        """The same, with scores of tasks that were left out."""
        unseen = ConformalScores.of(error, task, weight, self.n_tasks)
        return replace(self, unseen=unseen)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.scale)

    @property
    def _rows(self) -> np.ndarray:
        return np.bincount(self.task, self.weight, self.n_tasks)

    def _crowd_weight(self) -> np.ndarray:
        """Weights in the crowd: a task above the median one counts as both's mean."""
        rows = self._rows
        typical = np.median(rows[rows > 0]) if len(self.score) else 1.0
        return self.weight * np.sqrt(typical / np.maximum(rows, typical))[self.task]

    def _borrowed(self, level: float, others: np.ndarray) -> np.ndarray:
        """What part of its weight in the crowd a row of another task has."""
        wanted = _ROWS_BEYOND / (1.0 - level)
        return np.minimum(wanted / np.maximum(others, _TOLERANCE), 1.0)

    def radius(self, level: float) -> np.ndarray:
        """How far off a new row may be, by task; the last is for an unknown task.

        Infinite if there are too few rows, or tasks, for the level.
        """
        return np.append(self.scale * self._quantiles(level), self._unseen(level))

    def _masses(self, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Borrowed part, and own and all weight, of the tasks."""
        crowd, own = self._crowd_weight(), self._rows
        in_crowd = np.bincount(self.task, crowd, self.n_tasks)
        part = self._borrowed(level, crowd.sum() - in_crowd)
        return part, in_crowd, own + part * (crowd.sum() - in_crowd)

    def _quantiles(self, level: float) -> np.ndarray:
        n, n_tasks = len(self.score), self.n_tasks
        part, _, mass = self._masses(level)
        target = level * (mass + 1.0) * (1.0 - _TOLERANCE)
        below = self._below(part)
        # the first score up to which there is enough, by bisection for all tasks
        low, high = np.zeros(n_tasks, dtype=np.intp), np.full(n_tasks, n)
        code = np.arange(n_tasks)
        while (open_ := low < high).any():
            middle = np.minimum((low + high) // 2, n - 1)
            enough = below(code, middle + 1) >= target
            low = np.where(open_ & ~enough, middle + 1, low)
            high = np.where(open_ & enough, middle, high)
        return np.append(self.score, np.inf)[low]

    def _below(self, part: np.ndarray) -> Any:
        """A function: the weight that a task gives the first so many scores."""
        n = len(self.score)
        order = np.argsort(self.task, kind="stable")
        key = self.task[order].astype(np.int64) * (n + 1) + order
        crowd = self._crowd_weight()
        start = np.searchsorted(self.task[order], np.arange(self.n_tasks + 1))
        of_own = np.append(0.0, np.cumsum(self.weight[order]))
        of_own_in_crowd = np.append(0.0, np.cumsum(crowd[order]))
        of_all = np.append(0.0, np.cumsum(crowd))

        def weight_of(code: np.ndarray, count: np.ndarray) -> np.ndarray:
            until = np.searchsorted(key, code.astype(np.int64) * (n + 1) + count)
            own = of_own[until] - of_own[start[code]]
            in_crowd = of_own_in_crowd[until] - of_own_in_crowd[start[code]]
            return own + part[code] * (of_all[count] - in_crowd)

        return weight_of

    def _task_weight(self) -> np.ndarray:
        """Weights by which each task counts as one."""
        return self.weight / self._rows[self.task]

    def _unseen(self, level: float) -> float:
        found = self.unseen
        if found is None or not len(found.score):
            return np.inf
        weight = found._task_weight()
        n_tasks = np.count_nonzero(found._rows)
        target = level * (n_tasks + 1.0) * (1.0 - _TOLERANCE)
        first = np.searchsorted(np.cumsum(weight), target)
        return float(np.append(found.score, np.inf)[first])

    def highest_levels(self) -> np.ndarray:
        """Up to which level there are finite radii, by task and for unknown ones."""
        mass = self._masses(1.0 - 1e-12)[2]
        found = self.unseen
        n_unseen = 0 if found is None else np.count_nonzero(found._rows)
        mass = np.append(mass, n_unseen)
        return mass / (mass + 1.0)

    def covered(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """Weights of rows of each task, and of those that are covered, out of fold.

        Each row is judged by the scores of the others.
        """
        part, _, mass = self._masses(level)
        less = np.searchsorted(self.score, self.score)  # rows of strictly lower scores
        below = self._below(part)(self.task, less)
        unit = np.minimum(self.weight, 1.0)
        target = level * (mass[self.task] - unit + 1.0)
        return self._sums(below < target * (1.0 - _TOLERANCE))

    def covered_unseen(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        """The same of tasks left out, each judged by the scores of the other tasks."""
        found = self.unseen
        if found is None:
            return np.zeros(self.n_tasks), np.zeros(self.n_tasks)
        weight = found._task_weight()
        n_tasks = np.count_nonzero(found._rows)
        less = np.searchsorted(found.score, found.score)
        below = np.append(0.0, np.cumsum(weight))[less]
        alone = replace(found, weight=weight)
        own = alone._below(np.zeros(self.n_tasks))(found.task, less)
        return found._sums(below - own < level * n_tasks * (1.0 - _TOLERANCE))

    def _sums(self, inside: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        hits = np.bincount(self.task, self.weight * inside, self.n_tasks)
        return self._rows, hits
