"""Boosting two-task stumps over rows that lie in many parts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from kinlearn._binning import Bins, find_bins, in_units, is_whole, weight_unit
from kinlearn._partitions import (
    Coded,
    Common,
    Partition,
    Weighed,
    agree,
    remember_common,
    summarize,
)
from kinlearn.boosting._start_weights import check_tasks_have_weight
from kinlearn.boosting.stumps._classifier import AbstainingAdaBoostClassifier
from kinlearn.boosting.stumps._model import StumpBuilder
from kinlearn.boosting.stumps._rounds import Boosted, collect_rounds
from kinlearn.boosting.stumps.partitions._rows import MISSING, BinnedShare, StumpShare
from kinlearn.boosting.stumps.partitions._rows_multiclass import ScoreShare
from kinlearn.boosting.stumps.partitions._search_binary import PartRounds
from kinlearn.boosting.stumps.partitions._search_multiclass import PartScoreRounds
from kinlearn.boosting.stumps.partitions._table import PartCells
from kinlearn.tasks import find_label_sets

__all__ = ["fit_partitions"]

_MOST_WHOLE = 2.0**28  # as in BoostedRows


@dataclass(frozen=True, eq=False)
class WeighedRows(Weighed):
    """Coded rows of a part, with weights as whole numbers for bins."""

    rows: Coded
    whole: np.ndarray | None

    @classmethod
    def of(cls, part: Partition, common: Common, unit: float) -> Self:
        """Code the rows of a part as all parts do."""
        rows = part.coded(common)
        return cls(rows, in_units(rows.weight, unit))

    def feature(self, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Values of a feature, and their weights, of rows that count."""
        if self.whole is None:
            return self.rows.columns[number], None
        there = self.whole > 0
        return self.rows.columns[number, there], self.whole[there]

    def mass(self, n_tasks: int, n_classes: int) -> np.ndarray:
        """Weight of each class in each task."""
        cell = self.rows.task.astype(np.int64) * n_classes + self.rows.y
        mass = np.bincount(cell, self.rows.weight, minlength=n_tasks * n_classes)
        return mass.reshape(n_tasks, n_classes).astype(np.float64)

    def share(self, start: "Start") -> StumpShare | ScoreShare:
        """The rows that are boosted."""
        task, y, weight = self.rows.task, self.rows.y, self.rows.weight
        weight = np.ones(len(task)) if weight is None else weight
        kept = np.flatnonzero((weight > 0) & (start.code[task] >= 0))
        task, y, weight = task[kept], y[kept], weight[kept]
        columns = self.rows.columns[:, kept]
        common = {
            "codes": np.ascontiguousarray(start.bins.assign(columns.T)),
            "task": start.code[task],
            "start": weight / start.mass[task, y] / start.n_alike,
            "unit": weight if start.whole else None,
            "n_tasks": int(start.code.max()) + 1,
        }
        label = start.label[task, y]
        if start.n_labels is not None:
            return ScoreShare(**common, label=label, n_labels=start.n_labels)
        return StumpShare(**common, sign=np.where(label == 1, 1, -1).astype(np.int8))


@dataclass(frozen=True, eq=False)
class Start:
    """What parts need to know to begin."""

    bins: Bins  # edges of the bins
    # (n_tasks,) number of each task among those that are boosted; -1 for others
    code: np.ndarray
    # (n_tasks, n_classes) number of each class among those of the task
    label: np.ndarray
    # (n boosted tasks,) labels of each boosted task; None if predictions are
    # signs
    n_labels: np.ndarray | None
    # (n_tasks, n_classes) weight of the rows that share what a row's class and
    # task have
    mass: np.ndarray
    n_alike: float  # how many have the same weight
    whole: bool  # whether weights are whole numbers, and count rows


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
    parts: list[Any],
    on_round: Callable[[int], Any],
) -> None:
    """Fit a booster to parts; the same stumps as of all rows in one place."""
    summaries, kept = summarize(engine, parts)
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
    signs = model.algorithm_ == "mtaa"
    taking_part = np.where(code[:, None] >= 0, mass, 0.0)
    whole = whole and taking_part.sum() < _MOST_WHOLE
    alike, n_alike = _alike(taking_part, model._start())
    n_labels = None if signs else sizes
    start = Start(bins, code, numbers_of, n_labels, alike, n_alike, whole)
    engine.keep(
        engine.map(WeighedRows.share, rows, start), [s["n_rows"] for s in summaries]
    )
    parts.clear()
    del rows, kept
    n_rounds = model._n_rounds(len(boosted))
    model._rounds_per_task = n_rounds / max(len(boosted), 1)
    builder = StumpBuilder(bins, boosted, model._sizes(label_sets))
    play: Any = None
    counts = np.zeros((0, n_features, 256), dtype=np.int64)
    if len(boosted):
        counts = engine.reduce(_sum, BinnedShare.counts, engine.shares)
        settings = model._settings()
        n_weights = counts[:, 0].sum(axis=1)
        if whole:
            n_weights = taking_part[boosted].sum(axis=1)
        table = PartCells.of(counts, bins.n_bins)
        if signs:
            smoothing = settings.epsilon(n_weights.sum())
            play = PartRounds(engine, table, settings, smoothing).play
        else:
            smoothing = settings.epsilon((n_weights * sizes).sum())
            rounds = PartScoreRounds(engine, table, settings, smoothing, sizes)
            play = rounds.play
    numbers = range(n_rounds if len(boosted) else 0)
    stumps, weights, normalizers = collect_rounds(play, builder, numbers, on_round)
    saw_missing = bool(counts[:, :, MISSING].any())
    found = Boosted(stumps, weights, normalizers, saw_missing)
    model._keep(found, label_sets, mass)


def _weight_sum(part: Any) -> tuple[float, bool]:
    return float(part.sample_weight.sum()), is_whole(part.sample_weight)


def _sum(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(arrays, axis=0)
