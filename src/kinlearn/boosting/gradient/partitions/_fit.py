"""Gradient boosting of rows that lie in partitions: the same model to the bit."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from kinlearn._binning import find_bins, join_bins
from kinlearn._partitions import Common, Statistics, agree, remember_common, summarize
from kinlearn.boosting._early_stopping import n_held_back
from kinlearn.boosting._start_weights import check_tasks_have_weight
from kinlearn.boosting.gradient._base import GradientBoostingBase
from kinlearn.boosting.gradient._bins import FeatureBins
from kinlearn.boosting.gradient._exact import as_number, exact_weight_unit
from kinlearn.boosting.gradient._model import Tree
from kinlearn.boosting.gradient._rounds import MOST_COUNTED
from kinlearn.boosting.gradient._start import (
    Totals,
    merge_largest,
    merge_sums,
)
from kinlearn.boosting.gradient.linear_part import find_start_with_line
from kinlearn.boosting.gradient.partitions._growth import RoundPlan, play_rounds
from kinlearn.boosting.gradient.partitions._quantiles import (
    Prefixes,
    find_keys,
    find_quantiles,
)
from kinlearn.boosting.gradient.partitions._rows import (
    BoostRows,
    Features,
    Held,
    Scheme,
    TargetRows,
)
from kinlearn.tasks import check_class_weight, check_total_weight, find_label_sets

__all__ = ["fit_partitions"]


def fit_partitions(
    model: GradientBoostingBase,
    engine: Any,
    partitions: list[Any],
    finished: Callable[[int], bool],
) -> None:
    """Fit a booster to partitions; `partitions` is emptied."""
    class_weight = getattr(model, "class_weight", None)
    check_class_weight(class_weight)
    summaries, kept = summarize(engine, partitions)
    label_rule: Any = getattr(model, "label_sets", "connected")
    common = agree(summaries, class_weight, label_rule)
    remember_common(model, common)
    n_rows = [s["n_rows"] for s in summaries]
    first = np.cumsum([0, *n_rows])[:-1].tolist()
    rows = engine.map(TargetRows.of, kept, common, each=first)
    partitions.clear()
    del kept
    weighted = summaries[0]["weighted"]
    common = _check_rows(model, engine, rows, common, weighted)
    rng = check_random_state(model.random_state)
    seed = int(rng.randint(2**31 - 1))
    model._find_features()
    features = _features(model, len(common.table.features))
    settings = model._settings(seed, len(features.used))
    sums = engine.reduce(merge_sums, TargetRows.weight_sums, rows)
    unit = exact_weight_unit(*sums)
    dtype = np.result_type(*(s["dtype"] for s in summaries))
    bins = _find_bins(engine, rows, features, dtype, unit, model.max_bins)
    scheme = Scheme(
        bins=bins,
        features=features,
        n_tasks=len(common.tasks),
        make_loss=model._loss_maker(),
        allowed=model._allowed(),
        whole=sums[1] == 0 and as_number(sums[0]) < MOST_COUNTED,
        scale=model._score_unit,
        check_offset=model._offset_check(),
        settings=settings,
        held=_hold_back(model, engine, rows, common, seed),
    )
    binned = engine.map(TargetRows.binned, rows, scheme)
    del rows
    engine.keep(binned, n_rows)
    has_values = engine.reduce(merge_largest, BoostRows.has_values, engine.partitions)
    model._feature_columns.warn_of_missing(has_values)
    _boost(model, engine, scheme, finished)


def _check_rows(
    model: Any, engine: Any, rows: Sequence[Any], common: Common, weighted: bool
) -> Common:
    """Check weights and targets, and find the classes of the tasks."""
    n_tasks = len(common.tasks)
    if weighted:
        total = engine.reduce(merge_sums, TargetRows.task_weights, rows, n_tasks)
        check_tasks_have_weight(common.tasks, total)
    total, _ = engine.reduce(merge_sums, TargetRows.total_weights, rows)
    check_total_weight(np.array([as_number(total)]))
    if common.classes is None:
        _check_targets(model, engine, rows)
        return common
    n_classes = len(common.classes)
    mass = engine.reduce(merge_sums, TargetRows.mass, rows, n_tasks, n_classes)
    task, label = np.nonzero(mass > 0)
    sets = find_label_sets(
        task, label, common.tasks, common.classes, model.label_sets, mass[task, label]
    )
    common = replace(common, label_sets=sets)
    remember_common(model, common)
    return common


def _check_targets(model: Any, engine: Any, rows: Sequence[Any]) -> None:
    """Refuse targets that the loss has no value for, and find their scale."""
    extremes = np.array(engine.collect(TargetRows.extremes, rows))
    for number, here in enumerate(extremes):
        if (
            np.isfinite(here).all()
            and _message(model._target_check(), np.append(here, 1.0)) is not None
        ):
            (found,) = engine.collect(
                TargetRows.check, [rows[number]], model._target_check()
            )
            raise ValueError(f"In partition {number} of the data: {found}")
    ends = extremes[np.isfinite(extremes)]
    model._target_check()(ends)
    model._find_scale(ends)


def _message(check: Callable[[np.ndarray], None], y: np.ndarray) -> str | None:
    try:
        check(y)
    except ValueError as error:
        return str(error)
    return None


def _features(model: Any, n_columns: int) -> Features:
    used = np.arange(n_columns)
    if model._offset_place is not None:
        used = np.delete(used, model._offset_place)
    return Features(used, model._feature_columns.categorical, model._offset_place)


def _find_bins(
    engine: Any,
    rows: Sequence[Any],
    features: Features,
    dtype: Any,
    unit: float,
    max_bins: int,
) -> FeatureBins:
    """The same bins as `FeatureBins.of` finds for all rows."""
    is_codes = features.categorical
    edges: list[Any] = [None] * len(is_codes)
    numbers = np.flatnonzero(~is_codes)
    if len(numbers):
        columns = engine.map(TargetRows.weighed, rows, features, unit)
        found = find_bins(engine, columns, len(numbers), dtype, max_bins)
        for i, f in enumerate(numbers):
            edges[f] = found.edges[found.indptr[i] : found.indptr[i + 1]]
    if is_codes.any():
        top = engine.reduce(merge_largest, TargetRows.top_codes, rows, features)
        for f, code in zip(np.flatnonzero(is_codes), top, strict=True):
            edges[f] = np.arange(int(code)) + 0.5
    bins = join_bins(edges)
    return FeatureBins(bins.edges, bins.indptr, is_codes)


def _hold_back(
    model: Any, engine: Any, rows: Sequence[Any], common: Common, seed: int
) -> Held | None:
    """The same rows as `hold_back` draws from all."""
    if not model.early_stopping:
        return None
    n_tasks, by_class = len(common.tasks), common.classes is not None
    n_classes = len(common.classes) if by_class else 1
    sizes = engine.reduce(merge_sums, TargetRows.set_sizes, rows, n_tasks, n_classes)
    if by_class:  # tasks of one class have nothing to watch
        sizes[np.count_nonzero(sizes, axis=1) < 2] = 0
    if not sizes.any():
        return None
    what = "task and class" if by_class else "task"
    wanted = n_held_back(sizes.ravel(), model.validation_fraction, what)

    def count(prefixes: Prefixes) -> Statistics:
        return engine.reduce(
            Statistics.merge, TargetRows.count_draws, rows, prefixes, seed, n_classes
        )

    most, _ = find_keys(count, np.maximum(wanted, 1), wanted > 0)
    return Held(seed, n_classes, most, wanted > 0)


class _Apart:
    """Rows in partitions, as `find_start` looks at them."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine

    def reduce(
        self, combine: Callable[[Sequence[Any]], Any], function: Any, *args: Any
    ) -> Any:
        """See `kinlearn.boosting.gradient._start.Gather`."""
        return self.engine.reduce(
            combine, BoostRows.of_problem, self.engine.partitions, function, args
        )

    def quantiles(
        self, q: float, n_groups: int, function: Any, *args: Any
    ) -> np.ndarray:
        """See `kinlearn.boosting.gradient._start.Gather`."""

        def count(prefixes: Prefixes) -> Statistics:
            return self.engine.reduce(
                Statistics.merge,
                BoostRows.count_values,
                self.engine.partitions,
                function,
                args,
                prefixes,
            )

        return find_quantiles(count, n_groups, q)


def _boost(
    model: Any, engine: Any, scheme: Scheme, finished: Callable[[int], bool]
) -> None:
    """Play the rounds and keep what they found."""
    apart, n_tasks = _Apart(engine), scheme.n_tasks
    nothing = np.empty(0)
    loss = scheme.make_loss(nothing, nothing, np.empty(0, dtype=np.int32))
    totals = Totals.of(apart)
    start = find_start_with_line(
        apart, loss, totals, n_tasks, scheme.bins, scheme.settings
    )
    plan = RoundPlan(scheme.bins, n_tasks, totals, scheme.settings, loss)
    found: list[Sequence[Tree]] = []
    losses: list[float] = []
    engine.begin(start)
    has_rows = engine.reduce(merge_sums, BoostRows.n_counting, engine.partitions) > 0
    n_rounds = model.n_estimators if has_rows else 0
    stop = False
    while len(found) < n_rounds and not stop:
        for played, watched in engine.drive(play_rounds, plan, len(found), n_rounds):
            engine.move(played)
            found.append([*played.trees])
            stop = finished(1)
            if scheme.held is not None:
                losses.append(loss.value_of(watched))
                n_worse = played.number - int(np.argmin(losses))
                stop = stop or n_worse >= model.n_iter_no_change
            if stop:
                break
    model._keep(found, losses, start, scheme.bins, loss)
