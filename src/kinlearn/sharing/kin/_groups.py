r"""Which tasks are alike: groups whose rows one linear model explains.

Each group :math:`g` of tasks has slopes :math:`b_g \sim N(0, \sigma^2/\lambda\, I)`,
each task a level of its own, and rows the noise :math:`\sigma^2`. With X and y centred
within each task, a group's evidence (marginal likelihood) needs no more than the sums
:math:`A = X^\top X` and :math:`c = X^\top y` of its tasks:

.. math::

    \log p(g) = -\tfrac12 \log |I + A/\lambda|
                + \frac{1}{2\sigma^2} c^\top (A + \lambda I)^{-1} c + \text{const} .

Groups begin as single tasks, and the two whose union gains most evidence are merged,
as long as none loses: hierarchical clustering by evidence. A group of fewer than 20
rows then joins the one that loses least. :math:`\lambda` and
:math:`\sigma^2` are those of the most evidence for all tasks apart. Classes count as
one column of 0 and 1 each, two classes as one.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier

from kinlearn.sharing._base import SharingForm
from kinlearn.sharing._per_task import PerTask
from kinlearn.sharing._task_as_feature import TaskAsFeature
from kinlearn.sharing.kin._features import Standardisation, indicators
from kinlearn.tasks import TaskData, with_task
from kinlearn.utils import group_rows
from kinlearn.utils._typing import LabelRule, TaskColumn

__all__ = ["LikeTasks", "find_groups", "groups_of_tasks"]

_PENALTIES = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0)
_FEWEST_ROWS = 20.0  # smaller groups join the one that loses least by it
_LEAST_NOISE = 1e-6  # as a fraction of the variance of y
_ROUNDING = 1e-10
# Limits that keep a search to a fifth of a second: candidates do some dozens of them.
_MOST_TASKS = 200
_MOST_WORK = 5e7  # tasks squared times features and targets cubed
_TIE = 1e-9  # gains that differ by less differ by rounding


def find_groups(data: TaskData, cautions: Sequence[float]) -> dict[float, np.ndarray]:
    """Groups of like tasks, by caution (see :func:`groups_of_tasks`).

    Empty if there are too many tasks or features, or one class.
    """
    n_classes = 2 if data.classes is None else len(data.classes)
    size = data.X.shape[1] + (n_classes if n_classes > 2 else 1)
    too_many = data.n_tasks > _MOST_TASKS or data.n_tasks**2 * size**3 > _MOST_WORK
    if too_many or n_classes < 2 or not data.X.shape[1]:
        return {}
    weight = data.sample_weight
    scale = Standardisation.of(
        data.X,
        np.ones(data.n_samples) if weight is None else weight,
        data.categorical,
    )
    X = scale.apply(data.X)
    if data.categorical is not None:  # there may be more columns now
        X = X[:, : X.shape[1] - scale.n_codes]
        size += X.shape[1] - data.X.shape[1]
        if data.n_tasks**2 * size**3 > _MOST_WORK or not X.shape[1]:
            return {}
    y = data.y if data.classes is None else indicators(data.y, len(data.classes))
    return {
        caution: groups_of_tasks(
            X, y, data.task, data.n_tasks, weight=weight, caution=caution
        )
        for caution in cautions
    }


def groups_of_tasks(
    X: np.ndarray,
    y: np.ndarray,
    task: np.ndarray,
    n_tasks: int,
    *,
    weight: np.ndarray | None = None,
    caution: float = 1.0,
) -> np.ndarray:
    """Number of each task's group of like slopes, in the order of their first tasks.

    Features have about mean 0 and variance 1, and none is missing. The noise counts
    `caution` times, so that more than 1 gives fewer groups: models that bend need more
    rows than linear ones.
    """
    sums = _Sums.of(X, y, task, n_tasks, weight)
    penalty, noise = sums.best_prior()
    noise *= caution
    rows = np.bincount(task, weights=weight, minlength=n_tasks)
    number = np.arange(n_tasks)
    evidence = sums.evidence(penalty, noise)
    gain = np.full((n_tasks, n_tasks), -np.inf)
    for t in range(n_tasks - 1):
        rest = np.arange(t + 1, n_tasks)
        both = sums.merged(t, rest).evidence(penalty, noise)
        gain[t, rest] = both - evidence[t] - evidence[rest]
    while (number > 0).any():
        kept, gone = _best(gain, rows)
        # a task whose rows hold no information gains nothing, and is merged
        if gain[kept, gone] < -_TIE:
            small = rows < _FEWEST_ROWS
            if not small[number].any():
                break
            kept, gone = _best(np.where(small[:, None] | small, gain, -np.inf), rows)
        number[number == gone] = kept
        sums.absorb(kept, gone)
        rows[kept] += rows[gone]
        evidence[kept] = sums.only([kept]).evidence(penalty, noise)[0]
        gain[gone], gain[:, gone] = -np.inf, -np.inf
        rest = np.setdiff1d(np.unique(number), kept)
        both = sums.merged(kept, rest).evidence(penalty, noise)
        low, high = np.minimum(rest, kept), np.maximum(rest, kept)
        gain[low, high] = both - evidence[kept] - evidence[rest]
    return np.unique(number, return_inverse=True)[1]


def _best(gain: np.ndarray, rows: np.ndarray) -> tuple[int, int]:
    """The pair of the most gain; of those within rounding, of most rows."""
    best = gain.max()
    kept, gone = np.nonzero(gain >= best - _TIE * max(1.0, abs(best)))
    # rounded, since sums of the same weights in another order may differ
    largest = np.round(rows[kept] + rows[gone], 6).argmax()
    return kept[largest], gone[largest]


class _Sums:
    """Sums over the rows of each task, which add up to those of groups.

    Parameters
    ----------
    squares : float64 array of shape (n_groups, n_features, n_features)
        Products of the features.
    products : float64 array of shape (n_groups, n_features, n_targets)
        Of features and targets.
    total, n_rows : float
        Sum of the squared targets of all tasks, and rows that are left when each
        task has its level.
    """

    def __init__(
        self, squares: np.ndarray, products: np.ndarray, total: float, n_rows: float
    ) -> None:
        self.squares, self.products = squares, products
        self.total, self.n_rows = total, n_rows

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        y: np.ndarray,
        task: np.ndarray,
        n_tasks: int,
        weight: np.ndarray | None,
    ) -> Self:
        """Centre features and targets within tasks, and sum up."""
        y = _in_units(y.reshape(len(y), -1), weight)
        n_features, n_targets = X.shape[1], y.shape[1]
        squares = np.zeros((n_tasks, n_features, n_features))
        products = np.zeros((n_tasks, n_features, n_targets))
        total = n_rows = 0.0
        indptr, order = group_rows(task, n_tasks)
        for t in np.flatnonzero(np.diff(indptr)):
            rows = order[indptr[t] : indptr[t + 1]]
            w = np.ones(len(rows)) if weight is None else weight[rows]
            x, z = X[rows].astype(np.float64), y[rows]
            x = x - np.average(x, axis=0, weights=w)
            z = z - np.average(z, axis=0, weights=w)
            weighted = w[:, None] * x
            squares[t], products[t] = weighted.T @ x, weighted.T @ z
            total += float(w @ (z**2).sum(axis=1))
            n_rows += max(w.sum() - 1.0, 0.0)
        return cls(squares, products, total, n_rows)

    def only(self, groups: Any) -> "_Sums":
        """The sums of some groups."""
        return _Sums(
            self.squares[groups], self.products[groups], self.total, self.n_rows
        )

    def merged(self, group: int, others: np.ndarray) -> "_Sums":
        """The sums of a group with each of others."""
        return _Sums(
            self.squares[group] + self.squares[others],
            self.products[group] + self.products[others],
            self.total,
            self.n_rows,
        )

    def absorb(self, kept: int, gone: int) -> None:
        """Add the sums of a group to those of another."""
        self.squares[kept] += self.squares[gone]
        self.products[kept] += self.products[gone]

    def _explained(self, penalty: float) -> tuple[np.ndarray, np.ndarray]:
        """Log determinant of I + A/penalty, and explained squares, by group.

        One Cholesky factor of [[A + penalty I, c], [c', d I]] has both: its lower left
        block is c' times the inverse factor. d is large enough for any c.
        """
        n_features, n_targets = self.products.shape[1:]
        size = n_features + n_targets
        table = np.zeros((len(self.squares), size, size))
        table[:, :n_features, :n_features] = self.squares
        table[:, n_features:, :n_features] = self.products.swapaxes(1, 2)
        # not less than rounding, which huge weights may have
        floor = _ROUNDING * np.trace(self.squares, axis1=1, axis2=2) / n_features
        table[:, range(n_features), range(n_features)] += np.maximum(penalty, floor)[
            :, None
        ]
        corner = range(n_features, size)
        table[:, corner, corner] = 2 * n_targets * self.total + 1.0
        factor = np.linalg.cholesky(table)
        diagonal = factor[:, range(n_features), range(n_features)]
        bits = 2 * np.log(diagonal).sum(axis=1) - n_features * np.log(penalty)
        return bits, (factor[:, n_features:, :n_features] ** 2).sum(axis=(1, 2))

    def evidence(self, penalty: float, noise: float) -> np.ndarray:
        """Log evidence of each group, but for what all partitions have in common."""
        bits, explained = self._explained(penalty)
        return (explained / noise - self.products.shape[2] * bits) / 2

    def best_prior(self) -> tuple[float, float]:
        """Penalty and noise of the most evidence, if all groups stay apart."""
        n_targets = self.products.shape[2]
        n_values = max(n_targets * self.n_rows, 1.0)
        least = max(_LEAST_NOISE * self.total / n_values, np.finfo(np.float64).tiny)
        found = []
        for penalty in _PENALTIES:
            bits, explained = self._explained(penalty)
            noise = max((self.total - explained.sum()) / n_values, least)
            log = -(n_values * np.log(noise) + n_targets * bits.sum()) / 2
            found.append((log, penalty, noise))
        return max(found)[1:]


def _in_units(y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Columns of variance 1, whatever their size."""
    y = y.astype(np.float64)
    size = np.abs(y).max(axis=0)
    y = y / np.where(size > 0, size, 1.0)
    off = y - np.average(y, axis=0, weights=weight)
    spread = np.sqrt(np.average(off**2, axis=0, weights=weight))
    return off / np.where(spread > 0, spread, 1.0)


class LikeTasks(SharingForm):
    """One model for each group of tasks that are alike, which sees the task.

    Where some tasks differ from the others, or there are several kinds of them, a
    model of all rows has to find that out by itself, and follows the largest. Here
    the groups come first, from the rows of all tasks (see `_groups`).

    Parameters
    ----------
    estimator : estimator
        Takes the task as its last column, if it has a parameter ``task``; any other
        gets it as a feature.
    caution : float, default=1.0
        More than 1 gives fewer groups.
    task, unknown_task, label_sets
        As in `PerTask`; X is an array, its features of mean 0 and variance 1, and its
        last column the task's code. For a task not seen in fit the group of the most
        rows predicts.

    Attributes
    ----------
    groups_ : int array of shape (n_tasks,)
        Number of each task's group.
    by_group_ : PerTask
        The models, with the group as their task.
    """

    def __init__(
        self,
        estimator: Any,
        *,
        caution: float = 1.0,
        task: TaskColumn = None,
        unknown_task: Literal["warn", "share", "error"] = "warn",
        label_sets: LabelRule = "connected",
    ) -> None:
        super().__init__(
            estimator, task=task, unknown_task=unknown_task, label_sets=label_sets
        )
        self.caution = caution

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the groups, then fit a model to the rows of each."""
        rows = self._open_for_fit(X, y, sample_weight)
        y = rows.y
        if is_classifier(self.estimator):
            y = indicators(np.searchsorted(self.classes_, y), len(self.classes_))
        weight = rows.sample_weight
        found, key = self.__dict__.pop("_found_before", ({}, None))
        if (key, self.caution) not in found:
            found[key, self.caution] = groups_of_tasks(
                rows.rest,
                y,
                rows.task,
                len(self.tasks_),
                weight=weight,
                caution=self.caution,
            )
        self.groups_ = found[key, self.caution]
        group = self.groups_[rows.task]
        self._largest = np.bincount(group, weights=weight).argmax()
        inner = self.estimator
        if "task" not in inner.get_params():
            inner = TaskAsFeature(
                inner, task=-1, unknown_task="share", label_sets=self.label_sets
            )
        # the tasks' label sets decide on what its rows do not show, not the groups'
        by_group = PerTask(inner, task=-1, label_sets="observed", unknown_task="error")
        self.by_group_ = by_group.fit(with_task(X, group), rows.y, weight)
        return self

    def remember_groups(self, found: dict[Any, np.ndarray], rows: Any) -> Self:
        """Look in `found` first, and keep there what the next fit finds.

        `rows` stands for the rows of that fit: other estimators, and other settings,
        are fitted to the same, and the groups do not depend on these.
        """
        self._found_before = found, rows
        return self

    def _groups_of(self, task: np.ndarray) -> np.ndarray:
        return np.where(task >= 0, self.groups_[task], self._largest)

    def rows_by_group(self, X: np.ndarray) -> Iterator[tuple[Any, np.ndarray]]:
        """Each group's model, and the rows of X that it predicts."""
        group = self._groups_of(self._open_for_predict(X)[1])
        for g, model in enumerate(self.by_group_.estimators_):
            yield model, np.flatnonzero(group == g)

    def _predict_by(self, method: str, rest: Any, task: np.ndarray) -> np.ndarray:
        values = np.where(task >= 0, self.tasks_[task], -1)
        X = with_task(with_task(rest, values), self._groups_of(task))
        return getattr(self.by_group_, method)(X)
