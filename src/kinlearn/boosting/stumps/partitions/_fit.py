"""Boosting two-task stumps over rows that lie in partitions."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kinlearn._binning import find_bins, is_whole, weight_unit
from kinlearn._partitions import agree, remember_common, summarize
from kinlearn.boosting._start_weights import check_tasks_have_weight
from kinlearn.boosting.stumps._classifier import AbstainingAdaBoostClassifier
from kinlearn.boosting.stumps._model import StumpBuilder
from kinlearn.boosting.stumps._predictions import StumpScores
from kinlearn.boosting.stumps._rounds import (
    Boosted,
    Rounds,
    collect_rounds,
    make_search,
)
from kinlearn.boosting.stumps._rows import MOST_WHOLE
from kinlearn.boosting.stumps._search import BinarySearch
from kinlearn.boosting.stumps._table import search_ranges
from kinlearn.boosting.stumps.partitions._rows import (
    BinnedRows,
    PartitionRows,
    Start,
    WeighedRows,
)
from kinlearn.boosting.stumps.partitions._table import (
    CellSums,
    SummedLabels,
    merge_counts,
    table_of_sums,
)
from kinlearn.tasks import find_label_sets

__all__ = ["fit_partitions"]

# What is requested together: roots of MTAA; bytes of sums of MH.
_AT_ONCE = 4 * BinarySearch.n_lanes
_BYTES = 2**26


def _alike(mass: np.ndarray, init: str) -> tuple[np.ndarray, float]:
    """Mass of what has the same weight in the beginning, and how many there are."""
    if init == "uniform":
        return np.full_like(mass, mass.sum()), 1.0
    if init == "task":
        total = mass.sum(axis=1, keepdims=True)
        return np.broadcast_to(total, mass.shape), float((total > 0).sum())
    return mass, float((mass > 0).sum())


def fit_partitions(
    model: AbstainingAdaBoostClassifier,
    engine: Any,
    partitions: list[Any],
    on_round: Callable[[int], Any],
) -> None:
    """Fit a booster to partitions: the same stumps as of all rows in one place."""
    summaries, kept = summarize(engine, partitions)
    common = agree(summaries, label_rule=model.label_sets)
    remember_common(model, common)
    n_tasks, n_classes = len(common.tasks), len(common.classes)
    unit, whole = 1.0, True
    if summaries[0]["weighted"]:
        sums = engine.collect(_weight_sum, kept)
        total = math.fsum(weight for weight, _ in sums)
        if not total > 0:
            raise ValueError("The weights of all rows are 0; some must be positive.")
        whole = all(each for _, each in sums)
        unit = weight_unit(total, whole)
    rows = engine.map(WeighedRows.of, kept, common, unit)
    mass = engine.reduce(_sum, WeighedRows.mass, rows, n_tasks, n_classes)
    check_tasks_have_weight(common.tasks, mass.sum(axis=1))
    task, label = np.nonzero(mass > 0)
    label_sets = find_label_sets(
        task, label, common.tasks, common.classes, model.label_sets, mass[task, label]
    )
    model._seed = check_random_state(model.random_state).randint(2**31 - 1)
    model.algorithm_ = model._choose_algorithm(label_sets)
    n_features = len(common.table.features)
    dtype = np.result_type(*(s["dtype"] for s in summaries))
    bins = find_bins(engine, rows, n_features, dtype, model.max_bins)
    boosted = np.flatnonzero(np.diff(label_sets.indptr) > 1)
    code = np.full(n_tasks, -1, dtype=np.int32)
    code[boosted] = np.arange(len(boosted))
    allowed = label_sets.allowed(np.arange(n_tasks))
    numbers_of = np.cumsum(allowed, axis=1, dtype=np.int32) - 1
    sizes = np.diff(label_sets.indptr)[boosted].astype(np.int32)
    taking_part = np.where(code[:, None] >= 0, mass, 0.0)
    whole = whole and taking_part.sum() < MOST_WHOLE
    alike, n_alike = _alike(taking_part, model._start())
    settings = model._settings()
    binary = settings.algorithm == "mtaa"
    start = Start(bins, code, numbers_of, sizes, binary, alike, n_alike, whole)
    binned = engine.map(BinnedRows.of, rows, start)
    n_rows = [s["n_rows"] for s in summaries]
    partitions.clear()
    del rows, kept
    n_rounds = model._n_rounds(len(boosted))
    model._rounds_per_task = n_rounds / max(len(boosted), 1)
    builder = StumpBuilder(bins, boosted, model._sizes(label_sets))
    if not len(boosted):
        found = Boosted(*collect_rounds(None, builder, range(0), on_round), False)
        model._keep(found, StumpScores.of(mass, label_sets, found.stumps))
        return
    keys, counts = engine.reduce(merge_counts, BinnedRows.counts, binned)
    cells, arrays = CellSums.of(keys, counts, len(boosted), bins)
    engine.keep(engine.map(PartitionRows.of, binned, start, cells), n_rows)
    del binned
    table = table_of_sums(bins, len(boosted), arrays)
    of_task = taking_part[boosted].sum(axis=1)  # how many weights there are
    if not whole:
        of_task = np.bincount(keys // (256 * n_features), counts) / n_features
    options: dict[str, Any] = {"at_once": _AT_ONCE, "labels": None}
    if not binary:
        of_task = of_task * sizes
        width = 8 * (len(cells.keys) + 1) * (2 * int(sizes.max()) + 1)
        options["at_once"] = max(_BYTES // width, 1)
        options["labels"] = SummedLabels(bins, sizes, arrays)
    with search_ranges(table, 1) as run:
        search = make_search(
            settings, of_task.sum(), n_labels=sizes, table=table, run=run, **options
        )
        play = Rounds(engine, PartitionRows, search).play
        steps = collect_rounds(play, builder, range(n_rounds), on_round)
    found = Boosted(*steps, table.has_missing)
    model._keep(found, StumpScores.of(mass, label_sets, found.stumps))


def _weight_sum(partition: Any) -> tuple[float, bool]:
    return float(partition.sample_weight.sum()), is_whole(partition.sample_weight)


def _sum(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(arrays, axis=0)
