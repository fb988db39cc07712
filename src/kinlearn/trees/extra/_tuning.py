"""Settings of a forest that are left to the data: small pilot forests compare them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.metrics import roc_auc_score

from kinlearn._kernels._random import stream_state
from kinlearn.trees.extra._baseline import LinearPart, Residuals, learn_offsets
from kinlearn.trees.extra._growth import Growth, Settings, grow_trees
from kinlearn.trees.extra._model import Forest
from kinlearn.utils import row_groups, stop_requested

__all__ = ["Candidate", "Part", "Pilot", "Pooled", "Space", "choose", "pilot_rows"]

LEAVES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40)
_COARSE = (3, 10, 30)
_STEPS = 2  # along LEAVES, from the best of _COARSE
_FOLDS = 4
_TREES = 12  # for each fold; with 6, chance decided between neighbours
_TREES_OF_FEW_ROWS, _FEW_ROWS = 24, 1_000  # where they cost little
# Of many rows, fewer trees are enough for squared error; not for the ROC curve.
_TREES_OF_MANY_ROWS, _MANY_ROWS = 8, 4_000
_SQUARED_ERROR = 0.2  # its part in the loss for classes
_MOST_ROWS = 10_000
_FEWEST_ROWS = 40  # below, a comparison would be noise
_STREAM = 2**40  # no tree of the forest itself has this number


@dataclass(frozen=True)
class Space:
    """The values that may be taken; what is fixed has one.

    Attributes
    ----------
    leaves : tuple of float
        Weights that a split must leave on each side, ascending.
    draws : tuple of (int, int)
        Numbers of features and of cuts of each that a node draws.
    probs : tuple of float
        Probabilities of task splits. The first is taken while others are compared.
    offsets : tuple of bool
        Whether the tasks have offsets.
    lines : tuple of bool
        Whether trees grow on what a line through the features leaves.
    """

    leaves: tuple
    draws: tuple
    probs: tuple
    offsets: tuple = (False,)
    lines: tuple = (False,)

    @staticmethod
    def leaves_for(total_weight: float) -> tuple[float, ...]:
        """The sizes of leaves to compare, for data of this weight."""
        return tuple(n for n in LEAVES if n == 1 or 8 * n <= total_weight)


@dataclass(frozen=True)
class Candidate:
    """What pilot forests compare.

    Attributes
    ----------
    settings : Settings
        How trees grow.
    offset : bool
        Whether the tasks' offsets are taken off first.
    line : bool
        Whether a line through the features is taken off first.
    """

    settings: Settings
    offset: bool = False
    line: bool = False


def pilot_rows(hashes: np.ndarray) -> np.ndarray:
    """Which rows a pilot would hold out in turn, and compare settings by."""
    distinct = np.unique(hashes)
    if len(distinct) <= _MOST_ROWS:
        return np.ones(len(hashes), dtype=bool)
    return hashes <= distinct[_MOST_ROWS - 1]


class Part(NamedTuple):
    """Some of the rows."""

    columns: np.ndarray
    y: np.ndarray
    task: np.ndarray
    weight: np.ndarray

    @classmethod
    def of(cls, rows: Any, some: np.ndarray) -> Self:
        """Those with these numbers."""
        weight = np.ones(len(some)) if rows.weight is None else rows.weight[some]
        return cls(rows.columns[:, some], rows.y[some], rows.task[some], weight)


@dataclass(frozen=True, eq=False)
class Pooled:
    """Forests of all tasks alike, each grown without one fold, and their lines."""

    forests: list[Forest]
    lines: list[LinearPart | None]

    def predict(self, k: int, rows: Part) -> np.ndarray:
        """By the forest without fold k."""
        forest, line = self.forests[k], self.lines[k]
        sums = forest.sum_values(np.ascontiguousarray(rows.columns.T), rows.task)
        base = 0.0 if line is None else line.predict(rows.columns)
        return sums[:, 0] / forest.n_trees + base

    def residuals(self, rows: Any, which: np.ndarray) -> Residuals:
        """Of rows in no fold, by all forests; few at a time, to save memory."""
        found = [Residuals(np.zeros(0), np.zeros(0, dtype=np.int32), np.zeros(0))]
        for i in range(0, len(which), _MOST_ROWS):
            some = Part.of(rows, which[i : i + _MOST_ROWS])
            prediction = np.zeros(len(some.y))
            for k in range(_FOLDS):
                prediction += self.predict(k, some) / _FOLDS
            found.append(Residuals(some.y - prediction, some.task, some.weight))
        return Residuals(*map(np.concatenate, zip(*found, strict=True)))


class Pilot:
    """Compares settings by predictions for rows that trees were not grown on.

    Trees are grown without a quarter of the rows in turn and predict it. From
    the squared error of a few trees the part is taken off that more trees would
    average away, so that small leaves are not blamed for it.

    The loss for numbers is the squared error. For classes it is the area over the
    ROC curve (each class against the rest) plus a fifth of the squared error: large
    leaves and few features draw all probabilities to the middle, which alters their
    order little; squared error or log loss alone would shun both.

    Attributes
    ----------
    enough : bool
        Whether there are rows enough to compare anything.
    """

    def __init__(
        self, growth: Growth, seed: int, *, bootstrap: bool, n_jobs: int
    ) -> None:
        self.growth = growth
        self.seed = stream_state(seed, _STREAM)
        self.how: dict[str, Any] = {"bootstrap": bootstrap, "n_jobs": n_jobs}
        rows, columns = np.arange(len(growth.y)), growth.columns
        if growth.weight is not None and not growth.weight.all():
            rows = rows[growth.weight > 0]
            columns = columns[:, rows]  # a copy, so only where rows drop out
        group = row_groups(columns, growth.y[rows])
        self.enough = group.max() + 1 >= _FEWEST_ROWS and growth.n_classes != 1
        fold = np.where(group < _MOST_ROWS, group % _FOLDS, _FOLDS)
        self.rows, self.fold = rows, fold  # those in no fold have the last number
        self.n_trees = _TREES
        if group.max() < _FEW_ROWS:
            self.n_trees = _TREES_OF_FEW_ROWS
        elif group.max() >= _MANY_ROWS and growth.n_classes == 0:
            self.n_trees = _TREES_OF_MANY_ROWS
        self.offsets: list[np.ndarray] = []  # by fold; see `learn_offsets`
        self._lines: dict[int, LinearPart] = {}  # by fold
        self._losses: dict[Candidate, float] = {}

    def best(self, candidates: Sequence[Candidate]) -> Candidate:
        """The candidate of the least loss; the first of these.

        If the search shall stop, the best of those compared so far, or the first.
        """
        if len(candidates) == 1:
            return candidates[0]
        for each in candidates:
            if each not in self._losses:
                if stop_requested():
                    break
                # Rounded, so that the order of a sum does not decide.
                self._losses[each] = float(f"{self._loss(each):.12g}")
        known = [each for each in candidates if each in self._losses]
        return min(known, key=self._losses.__getitem__, default=candidates[0])

    def learn_offsets(self, candidate: Candidate) -> np.ndarray:
        """Offsets of the tasks, from what a forest of all tasks left unexplained.

        For candidates with an offset, each fold has its own, learned from the rows
        outside of it.
        """
        g, fold = self.growth, self.fold
        settings = replace(candidate.settings, task_split_prob=0.0)
        start = Candidate(settings, line=candidate.line)
        forests = [forest for _, forest in self._forests(start)]
        lines = [self._line(k) if start.line else None for k in range(_FOLDS)]
        pooled = Pooled(forests, lines)
        inside = [Part.of(g, self.rows[fold == k]) for k in range(_FOLDS)]
        held_out = [
            Residuals(part.y - pooled.predict(k, part), part.task, part.weight)
            for k, part in enumerate(inside)
        ]
        outside = [pooled.residuals(g, self.rows[fold == _FOLDS])]
        elsewhere = None if g.rest is None else g.rest.residuals(pooled)

        def learned(folds: Sequence[Residuals]) -> np.ndarray:
            def collect(function: Callable[..., Any], *args: Any) -> list[Any]:
                here = [function(part, *args) for part in [*folds, *outside]]
                if elsewhere is None:
                    return here
                return here + g.rest.collect_from(elsewhere, function, *args)

            return learn_offsets(collect, g.n_tasks)

        self.offsets = [
            learned(held_out[:k] + held_out[k + 1 :]) for k in range(_FOLDS)
        ]
        return learned(held_out)

    def _line(self, k: int) -> LinearPart:
        """The line of the rows outside a fold."""
        if k not in self._lines:
            part = Part.of(self.growth, self._outside(k))
            self._lines[k] = LinearPart.fit(
                part.columns, part.y, part.weight, self.growth.settings.categorical
            )
        return self._lines[k]

    def _base(self, candidate: Candidate, k: int, rows: np.ndarray) -> np.ndarray:
        """What is added to the trees' values, learned from the rows outside a fold."""
        base = np.zeros(len(rows))
        if candidate.line:
            base += self._line(k).predict(self.growth.columns[:, rows])
        if candidate.offset:
            base += self.offsets[k][self.growth.task[rows]]
        return base

    def _outside(self, k: int) -> np.ndarray:
        """The rows that forests for a fold are grown on."""
        return self.rows[(self.fold != k) & (self.fold < _FOLDS)]

    def _forests(self, candidate: Candidate) -> Iterator[tuple[int, Forest]]:
        """The number of each fold, and the forest grown on the others."""
        g = self.growth
        for k in range(_FOLDS):
            train = self._outside(k)
            y = g.y[train]
            if candidate.offset or candidate.line:
                y = y - self._base(candidate, k, train)
            part = replace(
                g,
                columns=np.ascontiguousarray(g.columns[:, train]),
                by_row=None,
                feature_bytes=None,
                whole_weight=0.0,
                rest=None,
                y=y,
                weight=None if g.weight is None else g.weight[train],
                task=g.task[train],
                settings=candidate.settings,
            )
            first = k * self.n_trees
            seeds = [stream_state(self.seed, first + i) for i in range(self.n_trees)]
            yield k, Forest.join(grow_trees(part, seeds, **self.how))

    def _loss(self, candidate: Candidate) -> float:
        g = self.growth
        rows = self.rows[self.fold < _FOLDS]
        y = g.y[rows][:, None]
        if g.n_classes > 2:
            y = y == np.arange(g.n_classes)
        prediction = np.empty(y.shape)
        noise = np.empty(y.shape)
        for k, forest in self._forests(candidate):
            held_out = self.fold[self.fold < _FOLDS] == k
            X = np.ascontiguousarray(g.columns[:, rows[held_out]].T)
            task = g.task[rows[held_out]]
            by_tree = np.stack(
                [
                    forest.sum_values(X, task, first=i, last=i + 1)
                    for i in range(self.n_trees)
                ]
            )
            prediction[held_out] = by_tree.mean(axis=0)
            noise[held_out] = by_tree.var(axis=0, ddof=1) / self.n_trees
            prediction[held_out] += self._base(candidate, k, rows[held_out])[:, None]
        weight = np.ones(len(rows)) if g.weight is None else g.weight[rows]
        error = ((prediction - y) ** 2 - noise).sum(axis=1)
        loss = weight @ error / weight.sum()
        if g.n_classes == 0:
            return loss
        return 1.0 - _mean_auc(y, prediction, weight) + _SQUARED_ERROR * loss


def _mean_auc(
    is_class: np.ndarray, prediction: np.ndarray, weight: np.ndarray
) -> float:
    """Area under the ROC curve, the mean over the classes that are there."""
    areas = [
        roc_auc_score(is_c, a, sample_weight=weight)
        for is_c, a in zip(is_class.T, prediction.T, strict=True)
        if 0 < is_c.sum() < len(is_c)
    ]
    return np.mean(areas) if areas else 0.5


def choose(
    pilot: Pilot, settings: Settings, space: Space
) -> tuple[Candidate, np.ndarray | None]:
    """The settings that do best on rows held out.

    Leaves, draws and lines are compared together, a few of each, because few features
    want smaller leaves, and what a line leaves wants larger ones; then task splits and
    offsets; then leaves more closely.
    """
    leaves = space.leaves
    coarse = [n for n in leaves if n in _COARSE] or leaves[-1:]
    start = replace(settings, task_split_prob=space.probs[0])
    best = pilot.best(
        [
            Candidate(
                replace(start, min_weight_leaf=n, max_features=k, n_cuts=c), line=line
            )
            for line in space.lines
            for k, c in space.draws
            for n in coarse
        ]
    )
    offsets = None
    if True in space.offsets and not (False in space.offsets and stop_requested()):
        offsets = pilot.learn_offsets(best)
    best = pilot.best(
        [
            Candidate(replace(best.settings, task_split_prob=p), offset, best.line)
            for offset in space.offsets
            for p in space.probs
        ]
    )
    for _ in range(_STEPS):
        if stop_requested():
            break
        at = leaves.index(best.settings.min_weight_leaf)
        best = pilot.best(
            [
                replace(best, settings=replace(best.settings, min_weight_leaf=n))
                for n in leaves[max(0, at - 1) : at + 2]
            ]
        )
    return best, offsets if best.offset else None
