"""Rows of a partition, from a checked table to bins, targets and weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn._binning import in_units
from kinlearn._partitions import Common, Partition, Statistics, Weighed
from kinlearn.boosting.gradient._bins import Binned, FeatureBins
from kinlearn.boosting.gradient._exact import weight_sums
from kinlearn.boosting.gradient._rounds import Problem, Settings, Watch, held_draws
from kinlearn.boosting.gradient._start import Start
from kinlearn.boosting.gradient.partitions._quantiles import (
    KeyedRows,
    Prefixes,
    as_keys,
)
from kinlearn.boosting.gradient.partitions._state import RoundRows

__all__ = ["BoostRows", "Features", "Held", "Scheme", "TargetRows"]


@dataclass(frozen=True, eq=False)
class Features:
    """Which columns are features, and what stands in the others."""

    used: np.ndarray  # int: columns of the checked table that are features
    categorical: np.ndarray  # bool: which of them are categories
    offset: int | None  # the column that is added to scores


@dataclass(frozen=True, eq=False)
class Scheme(Weighed):
    """What all partitions are told before the rounds."""

    bins: FeatureBins
    features: Features
    n_tasks: int
    make_loss: Any  # of targets, weights and tasks
    allowed: np.ndarray | None
    whole: bool  # whether weights count rows
    scale: float  # of the offset
    check_offset: Any  # refuses offsets
    settings: Settings
    held: "Held | None"


@dataclass(frozen=True, eq=False)
class Held(Weighed):
    """Which rows are held back: those of the least numbers, of each set."""

    seed: int
    n_classes: int  # 1 for numbers
    most: np.ndarray  # uint64 (n_sets,): the largest number that is held back
    some: np.ndarray  # bool (n_sets,): whether there is one


@dataclass(frozen=True, eq=False)
class TargetRows(Weighed):
    """Coded rows with weights, before bins are known."""

    columns: np.ndarray  # float (n_columns, n): feature by feature
    task: np.ndarray
    y: np.ndarray
    given: np.ndarray | None  # sample weights
    weight: np.ndarray  # with those of classes
    first: int  # number of the first row, of those of all partitions

    @classmethod
    def of(cls, table: Partition, first: int, common: Common) -> Self:
        """Code the rows as all partitions do."""
        coded = table.coded(common)
        weight = coded.weight
        return cls(
            columns=coded.columns,
            task=coded.task,
            y=coded.y,
            given=table.sample_weight,
            weight=np.ones(len(coded.task)) if weight is None else weight,
            first=first,
        )

    def weight_sums(self) -> np.ndarray:
        """Of sample weights; see `kinlearn.boosting.gradient._exact`."""
        return weight_sums(np.ones(0) if self.given is None else self.given)

    def total_weights(self) -> np.ndarray:
        """Of weights with those of classes."""
        return weight_sums(self.weight)

    def task_weights(self, n_tasks: int) -> np.ndarray:
        """Sum of the sample weights of each task, by which it is there or not."""
        return np.bincount(self.task, self.given, minlength=n_tasks).astype(np.float64)

    def mass(self, n_tasks: int, n_classes: int) -> np.ndarray:
        """Sample weight of each class in each task."""
        cell = self._sets(n_classes)
        mass = np.bincount(cell, self.given, minlength=n_tasks * n_classes)
        return mass.reshape(n_tasks, n_classes).astype(np.float64)

    def _sets(self, n_classes: int) -> np.ndarray:
        """Pairs of task and class as one number; tasks if there are no classes."""
        if n_classes == 1:
            return self.task.astype(np.int64)
        return self.task.astype(np.int64) * n_classes + self.y

    def extremes(self) -> np.ndarray:
        """Least and greatest target of rows that have weight; NaN for none."""
        y = self.y[self.weight > 0]
        return np.array([y.min(), y.max()]) if len(y) else np.full(2, np.nan)

    def check(self, check: Any) -> str | None:
        """What is wrong with the targets here."""
        try:
            check(self.y)
        except ValueError as error:
            return str(error)
        return None

    # ------------------------------------------------------------------- bins

    def weighed(self, features: Features, unit: float) -> "NumberColumns":
        """The features that are numbers, with whole weights."""
        return NumberColumns(
            self.columns,
            features.used[~features.categorical],
            in_units(self.given, unit),
        )

    def top_codes(self, features: Features) -> np.ndarray:
        """The greatest code of each feature that is a category."""
        places = features.used[features.categorical]
        return np.array([np.nanmax(self.columns[f], initial=0.0) for f in places])

    # ------------------------------------------------------------ rows held back

    def set_sizes(self, n_tasks: int, n_classes: int) -> np.ndarray:
        """Rows that may be held back, by task and class."""
        cell = self._sets(n_classes)[self.weight > 0]
        sizes = np.bincount(cell, minlength=n_tasks * n_classes)
        return sizes.reshape(n_tasks, n_classes)

    def count_draws(self, prefixes: Prefixes, seed: int, n_classes: int) -> Statistics:
        """Rows by the numbers that decide who is held back."""
        there = self.weight > 0
        draws = held_draws(seed, self.first, len(self.task))[there]
        ones = np.ones(len(draws), dtype=np.int64)
        return KeyedRows(draws, ones, self._sets(n_classes)[there]).counted(prefixes)

    def _held(self, held: Held | None) -> np.ndarray:
        if held is None:
            return np.zeros(len(self.task), dtype=bool)
        cell = self._sets(held.n_classes)
        draws = held_draws(held.seed, self.first, len(self.task))
        return (self.weight > 0) & held.some[cell] & (draws <= held.most[cell])

    # ------------------------------------------------------------------ boosting

    def binned(self, scheme: Scheme) -> "BoostRows":
        """The rows as rounds take them."""
        features = scheme.features
        n_rows = np.ones(len(self.task), dtype=np.int64)
        if self.given is not None:
            counts = self.given if scheme.whole else self.given > 0
            n_rows = counts.astype(np.int64)
        n_rows[self.weight == 0] = 0
        X = self.columns.T[:, features.used]
        return BoostRows(
            bins=scheme.bins.assign(X),
            task=self.task,
            # rows of weight 0 are absent, whatever their targets
            y=np.where(self.weight > 0, self.y, 0),
            weight=self.weight,
            n_rows=n_rows,
            held=self._held(scheme.held),
            offset=self._offset(features.offset, scheme),
            first=self.first,
            scheme=scheme,
        )

    def _offset(self, place: int | None, scheme: Scheme) -> np.ndarray | None:
        if place is None:
            return None
        offset = np.asarray(self.columns[place], dtype=np.float64)
        n_missing = np.isnan(offset).sum()
        if n_missing:
            raise ValueError(
                f"The offset is missing in {n_missing} of {len(offset)} rows of a "
                f"partition, the first of which is row {self.first}; it must be there "
                "in all."
            )
        scheme.check_offset(offset)
        return offset / scheme.scale


@dataclass(frozen=True, eq=False)
class NumberColumns(Weighed):
    """Features that are numbers, as `find_bins` takes them."""

    columns: np.ndarray
    place: np.ndarray
    whole: np.ndarray | None

    def feature(self, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Values of a feature, and their weights, of rows that count."""
        values = self.columns[self.place[number]]
        if self.whole is None:
            return values, None
        there = self.whole > 0
        return values[there], self.whole[there]


@dataclass(frozen=True, eq=False)
class BoostRows(Weighed):
    """Rows of a partition in rounds; engines call its methods."""

    bins: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    n_rows: np.ndarray
    held: np.ndarray
    offset: np.ndarray | None
    first: int
    scheme: Scheme

    def problem(self) -> Problem:
        """The rows that train; those held back do not count."""
        scheme = self.scheme
        weight = np.where(self.held, 0.0, self.weight)
        return Problem(
            binned=Binned(scheme.bins, self.bins),
            task=self.task,
            n_tasks=scheme.n_tasks,
            loss=scheme.make_loss(self.y, weight, self.task),
            n_rows=np.where(self.held, 0, self.n_rows),
            allowed=scheme.allowed,
            offset=self.offset,
        )

    def watch(self, start: Start) -> Watch | None:
        """The rows that are held back."""
        at = np.flatnonzero(self.held)
        if len(at) == 0:
            return None
        task = self.task[at]
        offset = None if self.offset is None else self.offset[at]
        return Watch(
            self.bins[at],
            task,
            self.scheme.make_loss(self.y[at], self.weight[at], task),
            start.scores(self.bins[at], task, offset),
        )

    def of_problem(self, function: Any, args: Sequence[Any]) -> Any:
        """What a function finds in the rows."""
        return function(self.problem(), *args)

    def count_values(
        self, function: Any, args: Sequence[Any], prefixes: Prefixes
    ) -> Statistics:
        """Weights of the values that a function finds; see `Prefixes`."""
        values, weight, group = self.of_problem(function, args)
        return KeyedRows(as_keys(values), weight, group).counted(prefixes)

    def has_values(self) -> np.ndarray:
        """Which features have a value here."""
        return Binned(self.scheme.bins, self.bins).has_values(self.weight > 0)

    def n_counting(self) -> int:
        """Rows that count for some output."""
        problem = self.problem()
        return sum(len(problem.rows(k)) for k in range(problem.loss.n_outputs))

    # -------------------------------------------------------- what engines call

    def lay_out(self, by_rows: bool) -> None:
        """Nothing: bins are small."""

    def begin(self, start: Start) -> RoundRows:
        """The rows before the first round."""
        return RoundRows(
            self.problem(), start, self.watch(start), self.scheme.settings, self.first
        )

    def move(self, places: RoundRows, plan: Any) -> RoundRows:
        """Carry out a round: add its trees to the scores."""
        places.add(plan)
        return places

    def statistics(self, places: RoundRows, request: Any) -> Statistics:
        """The result of a request, from the rows here."""
        return request.look(places)
