"""Training rows that lie in partitions, with the methods of rows in one place.

Nodes whose rows are few enough come together and are grown by the kernel that grows
whole trees; the levels above them by sums of the partitions.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn._partitions import (
    Coded,
    Common,
    Partition,
    Weighed,
    agree,
    remember_common,
    summarize,
)
from kinlearn.trees.extra._base import MultiTaskExtraTreesBase
from kinlearn.trees.extra._baseline import Baseline, Residuals
from kinlearn.trees.extra._growth import (
    Growth,
    Settings,
    Units,
    spread,
    weight_and_total,
)
from kinlearn.trees.extra._model import Forest
from kinlearn.trees.extra._tuning import Pooled, pilot_rows
from kinlearn.trees.extra.partitions._levels import LevelGrowth
from kinlearn.trees.extra.partitions._rows import RootRequest, Roots, TrainingRows
from kinlearn.trees.extra.partitions._subtrees import Totals, release_memory
from kinlearn.utils import row_hashes

__all__ = ["PartitionedGrowth", "fit_partitions"]

# The places of rows in the trees that grow together take this fraction of X's memory;
# with weights of their own, trees take 7 times as much.
_PLACES_FRACTION = 5
_DRAWN_PLACES = 7

# Rows of a node that may come together in one place, if the engine has space for them:
# below it a tree is grown there to the end.
_MOST_TOGETHER = 2**22


@dataclass(frozen=True, eq=False)
class PartitionedGrowth:
    """Training rows in partitions; see `Growth`.

    Attributes
    ----------
    engine : LocalPartitions or the like
        Where the partitions are.
    coded : list
        Handles of the rows. `grow` empties it, so that the rows are let go.
    n_rows : list of int
        Of each partition.
    common : Common
        What the partitions agreed on.
    weighted : bool
        Whether rows have weights.
    total_weight : float
        Of all rows.
    settings : Settings
        How to grow.
    leaf_smoothing : float or None
        Weight of a leaf's value in the values for its tasks.
    trees_at_once : int or None
        Trees that grow together; None: as many as take a fifth of the memory of X.
    """

    engine: Any
    coded: list[Any]
    n_rows: list[int]
    common: Common
    weighted: bool
    total_weight: float
    settings: Settings
    leaf_smoothing: float | None
    trees_at_once: int | None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.common.table.features)

    @property
    def n_tasks(self) -> int:
        """Number of tasks."""
        return len(self.common.tasks)

    @property
    def n_classes(self) -> int:
        """Number of classes; 0 for numbers."""
        return 0 if self.common.classes is None else len(self.common.classes)

    @property
    def _has_missing(self) -> np.ndarray:
        return self.common.has_missing.astype(np.uint8)

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """The values of ``function(rows, *args)`` of every partition."""
        return self.engine.collect(_value, self.coded, function, *args)

    def pilot_rows(self) -> Growth:
        """A sample of the rows: those that a pilot of all rows would hold out."""
        sample = _Sample.merge(self.engine.collect(_Sample.of, self.coded))
        return Growth(
            columns=sample.rows.columns,
            task=sample.rows.task,
            y=sample.rows.y,
            weight=sample.rows.weight,
            has_missing=self._has_missing,
            n_classes=self.n_classes,
            n_tasks=self.n_tasks,
            settings=self.settings,
            leaf_smoothing=self.leaf_smoothing,
            whole_weight=self.total_weight,
            rest=_Rest(self.engine, self.coded, sample.hashes.max()),
        )

    def without(self, baseline: Baseline, settings: Settings) -> Self:
        """What a baseline leaves of y, to be grown with these settings."""
        if not baseline:
            return replace(self, settings=settings)
        coded = self.engine.map(_take_off, self.coded, baseline)
        self.coded.clear()
        return replace(self, settings=settings, coded=coded)

    def grow(
        self, seeds: Sequence[int], *, bootstrap: bool, n_jobs: int
    ) -> Iterator[Forest]:
        """Yield trees, some at a time, in the order of their seeds."""
        units = Units()
        if not bootstrap:  # else trees have their own
            units = Units.of(
                self.collect(weight_and_total),
                lambda center: self.collect(spread, center),
                weighted=self.weighted,
                n_classes=self.n_classes,
            )
        n_all = sum(self.n_rows)
        rows = self.engine.map(
            TrainingRows.of,
            self.coded,
            n_all,
            self._has_missing,
            self.n_tasks,
            self.n_classes,
            units,
            each=np.cumsum([0, *self.n_rows[:-1]]).tolist(),
        )
        self.engine.keep(rows, self.n_rows)
        del rows
        self.coded.clear()
        most = min(
            _MOST_TOGETHER,
            int(self.engine.fraction_together * n_all / self.engine.n_places),
        )
        per_tree = _PLACES_FRACTION * (_DRAWN_PLACES if bootstrap else 1)
        at_once = self.trees_at_once or max(1, self.n_features // per_tree)
        try:
            for i in range(0, len(seeds), at_once):
                some = seeds[i : i + at_once]
                roots = Roots(None, [units] * len(some))
                if bootstrap:
                    roots = self._draw(some)
                self.engine.begin(roots)
                yield LevelGrowth(
                    self.engine,
                    self._totals(roots),
                    self.settings,
                    leaf_smoothing=self.leaf_smoothing,
                    most_together=most,
                ).grow(some)
        finally:
            release_memory()

    def _draw(self, seeds: Sequence[int | None]) -> Roots:
        """Trees that draw their rows, with the units of the weights drawn."""

        def of_trees(function: Callable[..., Any], *args: Any) -> list[tuple]:
            values = self.engine.collect(
                TrainingRows.of_trees, self.engine.partitions, seeds, function, *args
            )
            return list(zip(*values, strict=True))  # by tree

        sums = of_trees(weight_and_total)
        empty = [not math.fsum(w for w, _ in each) > 0 for each in sums]
        if any(empty):  # only rows of no weight were drawn: then take all
            pairs = zip(seeds, empty, strict=True)
            return self._draw([None if none else seed for seed, none in pairs])
        spreads: Any = [()] * len(sums)
        if self.n_classes == 0:
            spreads = of_trees(spread, [Units.center_of(each) for each in sums])
        units = [
            Units.of(
                each,
                lambda _center, known=of_tree: known,  # type: ignore[misc]
                weighted=True,
                n_classes=self.n_classes,
            )
            for each, of_tree in zip(sums, spreads, strict=True)
        ]
        return Roots(list(seeds), units)

    def _totals(self, roots: Roots) -> Totals:
        sums, n = self.engine.statistics(RootRequest()).by_node, len(roots.units)

        def by_tree(name: str) -> Any:
            values = sums.get(name)
            if values is None or len(values) == n:
                return values
            return np.repeat(values, n, axis=0)

        w_unit, b_unit, center = np.array(
            [[unit.w_unit, unit.b_unit, unit.center] for unit in roots.units]
        ).T.copy()
        return Totals(
            n_features=self.n_features,
            n_tasks=self.n_tasks,
            n_classes=self.n_classes if self.n_classes > 2 else 0,
            numbers=self.n_classes == 0,
            weighted=self.weighted or roots.seeds is not None,
            has_missing=self._has_missing,
            weight=by_tree("weight"),
            total=by_tree("total"),
            hist=by_tree("hist"),
            w_unit=w_unit,
            b_unit=b_unit,
            center=center,
        )


def fit_partitions(
    forest: MultiTaskExtraTreesBase,
    engine: Any,
    partitions: list[Any],
    *,
    trees_at_once: int | None = None,
    finished: Callable[[int], object] | None = None,
) -> None:
    """Fit a forest to partitions; the same trees as of all rows in one place.

    `partitions` are handles of what `read_partition` gave; the list is emptied, so that
    the rows are let go. `trees_at_once` grow together: more of them need more memory (4
    bytes for each row and tree, 28 with bootstrap) and fewer rounds; None: as many as
    take a fifth of the memory of X. `finished` is called with the number of trees just
    finished.
    """
    weights = getattr(forest, "class_weight", None)
    rule: Any = getattr(forest, "label_sets", "connected")
    summaries, kept = summarize(engine, partitions)
    common = agree(summaries, weights, rule, counting=True)
    coded = engine.map(Partition.coded, kept, common)
    del kept
    partitions.clear()
    total = math.fsum(engine.collect(_weight, coded))
    if not total > 0:
        raise ValueError("The weights of all rows are 0; some must be positive.")
    remember_common(forest, common)

    def counted(trees: Iterable[Forest]) -> Iterator[Forest]:
        for some in trees:
            yield some
            if finished is not None:
                finished(some.n_trees)

    if forest.n_cuts == "all":
        raise ValueError(
            'n_cuts="all" sorts the values of a node, whose rows lie in partitions '
            "here. Set a number of cuts, or take the multi-task random forest, which "
            "tries all cuts between bins."
        )
    rows = PartitionedGrowth(
        engine=engine,
        coded=coded,
        n_rows=[summary["n_rows"] for summary in summaries],
        common=common,
        weighted=common.class_weight is not None or summaries[0]["weighted"],
        total_weight=total,
        settings=forest._settings(len(common.table.features), total),
        leaf_smoothing=forest.leaf_smoothing,
        trees_at_once=trees_at_once,
    )
    del coded
    forest._fit_rows(rows, counted=counted)


# ----------------------------------------------------------------------------
# What is done with the rows of a partition
# ----------------------------------------------------------------------------


def _value(rows: Coded, function: Callable[..., Any], *args: Any) -> Any:
    return function(rows, *args)


def _weight(rows: Coded) -> float:
    return weight_and_total(rows)[0]


def _take_off(rows: Coded, baseline: Baseline) -> Coded:
    return replace(rows, y=baseline.take_off(rows.columns, rows.task, rows.y))


@dataclass(frozen=True, eq=False)
class _Sample(Weighed):
    """Rows for pilot forests; see `pilot_rows`."""

    hashes: np.ndarray
    rows: Coded

    @classmethod
    def of(cls, rows: Coded) -> Self:
        """Those of a partition that pilot forests may want."""
        return cls._chosen(rows, *_hashed(rows))

    @classmethod
    def merge(cls, samples: Sequence[Self]) -> Self:
        """The rows that a pilot takes of all partitions, in their order."""
        every = [sample.rows for sample in samples]
        weight = None
        if every[0].weight is not None:
            weight = np.concatenate([rows.weight for rows in every])
        rows = Coded(
            np.concatenate([rows.columns for rows in every], axis=1),
            np.concatenate([rows.task for rows in every]),
            np.concatenate([rows.y for rows in every]),
            weight,
        )
        hashes = np.concatenate([sample.hashes for sample in samples])
        return cls._chosen(rows, np.arange(len(hashes)), hashes)

    @classmethod
    def _chosen(cls, rows: Coded, numbers: np.ndarray, hashes: np.ndarray) -> Self:
        kept = pilot_rows(hashes)
        some = numbers[kept]
        weight = None if rows.weight is None else rows.weight[some]
        columns = np.ascontiguousarray(rows.columns[:, some])
        return cls(hashes[kept], Coded(columns, rows.task[some], rows.y[some], weight))


def _hashed(rows: Coded) -> tuple[np.ndarray, np.ndarray]:
    """The rows of weight, and their hashes."""
    numbers = np.arange(len(rows.y))
    if rows.weight is not None:
        numbers = np.flatnonzero(rows.weight > 0)
    return numbers, row_hashes(rows.columns[:, numbers], rows.y[numbers])


@dataclass(frozen=True, eq=False)
class _Rest:
    """The rows that are not in the sample, where they lie."""

    engine: Any
    coded: list[Any]
    last: np.uint64  # hash of a row in the sample

    def residuals(self, pooled: Pooled) -> list[Any]:
        """Handles of what pilot forests leave unexplained."""
        return self.engine.map(_residuals, self.coded, pooled, self.last)

    def collect_from(
        self, handles: list[Any], function: Callable[..., Any], *args: Any
    ) -> list[Any]:
        """The values of ``function(residuals, *args)`` of every partition."""
        return self.engine.collect(_value, handles, function, *args)


def _residuals(rows: Coded, pooled: Pooled, last: np.uint64) -> Residuals:
    numbers, hashes = _hashed(rows)
    return pooled.residuals(rows, numbers[hashes > last])
