"""Fitting extra trees to rows that lie in many parts."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kinlearn._kernels._random import stream_state
from kinlearn._partitions import Common, remember_common
from kinlearn.trees.extra._base import MultiTaskExtraTreesBase
from kinlearn.trees.extra._growth import Growth, Settings
from kinlearn.trees.extra._model import Forest
from kinlearn.trees.extra.partitions._growth import LevelGrowth
from kinlearn.trees.extra.partitions._requests import Totals
from kinlearn.trees.extra.partitions._subtrees import release_memory
from kinlearn.trees.extra.partitions._tables import Sample, Units, coded_sample, prepare

__all__ = ["fit_partitions"]

# The places of rows in the trees that grow together take this share of X's memory.
_PLACES_SHARE = 5

# Rows of a node that may come together in one place, if the engine has space for them:
# below it a tree is grown there to the end.
_MOST_TOGETHER = 2**22


@dataclass(frozen=True, eq=False)
class _SampledGrowth(Growth):
    """The rows that pilots compare settings by, for the rows of all parts."""

    all_weight: float = 0.0

    @property
    def total_weight(self) -> float:
        """Sum of the weights of all rows."""
        return self.all_weight


def fit_partitions(
    forest: MultiTaskExtraTreesBase,
    engine: Any,
    parts: list[Any],
    *,
    criterion: int,
    trees_at_once: int | None = None,
    finished: Callable[[int], object] | None = None,
) -> None:
    """Fit a forest to partitions; the same trees as of all rows in one place.

    `parts` are handles of what `read_partition` gave; the list is emptied, so that the
    rows are let go. `trees_at_once` grow together: more of them need more memory (4
    bytes for each row and tree) and fewer rounds; None: as many as take a fifth of the
    memory of X. `finished` is called with the number of trees just finished.
    """
    weights = getattr(forest, "class_weight", None)
    rule: Any = getattr(forest, "label_sets", "connected")
    common, totals, units, coded = prepare(engine, parts, weights, rule)
    parts.clear()
    remember_common(forest, common)
    random = check_random_state(forest.random_state)
    forest._seed = int(random.randint(np.iinfo(np.int32).max))
    settings = forest._settings(totals.n_features, units.all_weight, criterion)
    growth = _growth(forest, engine, coded, common, totals, units, settings)
    del coded
    forest._choose_what_is_auto(growth)
    settings = forest._rest(growth).settings
    level = LevelGrowth(
        engine,
        totals,
        settings,
        has_missing=common.has_missing.astype(np.uint8),
        leaf_smoothing=forest.leaf_smoothing,
        most_together=min(
            _MOST_TOGETHER, int(engine.room * common.n_rows / engine.n_places)
        ),
    )
    seeds = [stream_state(forest._seed, i) for i in range(forest.n_estimators)]
    at_once = trees_at_once or max(1, totals.n_features // _PLACES_SHARE)
    grown = []
    try:
        for i in range(0, len(seeds), at_once):
            grown.append(level.grow(seeds[i : i + at_once]))
            if finished is not None:
                finished(grown[-1].n_trees)
    finally:
        release_memory()
    forest.forest_ = Forest.join(grown)


def _growth(
    forest: MultiTaskExtraTreesBase,
    engine: Any,
    coded: Sequence[Any],
    common: Common,
    totals: Totals,
    units: Units,
    settings: Settings,
) -> Growth:
    """A sample of the rows if there is something to choose by it, else none."""
    auto = "auto" in (forest.min_samples_leaf, forest.task_split_prob)
    sample = Sample(
        hashes=np.zeros(0, dtype=np.uint64),
        columns=np.zeros((totals.n_features, 0), dtype=np.float32),
        task=np.zeros(0, dtype=np.int32),
        y=np.zeros(0),
        weight=None,
    )
    if auto:
        sample = Sample.merge(engine.collect(coded_sample, coded))
    return _SampledGrowth(
        columns=sample.columns,
        by_row=None,
        codes=None,
        has_missing=common.has_missing.astype(np.uint8),
        y=sample.y,
        n_classes=0 if common.classes is None else len(common.classes),
        weight=sample.weight,
        task=sample.task,
        n_tasks=totals.n_tasks,
        settings=settings,
        leaf_smoothing=forest.leaf_smoothing,
        all_weight=units.all_weight,
    )
