"""Percentile intervals from rows drawn within tasks."""

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state, check_scalar

from kinlearn.utils import import_optional
from kinlearn.utils._typing import RandomState

__all__ = ["TaskIntervals", "bootstrap_intervals"]


@dataclass(frozen=True)
class TaskIntervals:
    """Intervals, as :meth:`TaskFrame.intervals` gives them.

    Attributes
    ----------
    overall : dict of str to (float, float)
        Lower and upper bound of all rows' score, by metric.
    macro : dict of str to (float, float)
        Bounds of the mean over tasks, by metric.
    by_task : dict of dict
        Bounds by metric and task.
    confidence : float
        Share of the draws inside.
    n_boot : int
        Number of draws.
    """

    overall: dict
    macro: dict
    by_task: dict
    confidence: float
    n_boot: int

    def to_frame(self) -> Any:
        """Bounds by metric and task as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            Columns ``low`` and ``high``, indexed by metric and task.
        """
        pandas = import_optional(
            "pandas", extra="report", purpose="TaskIntervals.to_frame"
        )
        index = [(metric, task) for metric, d in self.by_task.items() for task in d]
        return pandas.DataFrame(
            [bounds for d in self.by_task.values() for bounds in d.values()],
            index=pandas.MultiIndex.from_tuples(index, names=["metric", "task"]),
            columns=["low", "high"],
        )


def _percentiles(draws: np.ndarray, confidence: float) -> np.ndarray:
    """Bounds for each column of draws; NaN where most draws are undefined."""
    # NaN sorts last. numpy.nanquantile would take the columns one by one.
    draws = np.sort(draws, axis=0)
    n_defined = (~np.isnan(draws)).sum(axis=0)
    columns = np.arange(draws.shape[1])
    bounds = np.empty((draws.shape[1], 2))
    for side, level in enumerate(((1 - confidence) / 2, (1 + confidence) / 2)):
        place = level * np.maximum(n_defined - 1, 0)
        below = place.astype(np.intp)
        above = np.minimum(below + 1, len(draws) - 1)
        step = place - below
        low, high = draws[below, columns], draws[above, columns]
        bounds[:, side] = np.where(step > 0, low + step * (high - low), low)
    bounds[2 * n_defined < len(draws)] = np.nan
    return bounds


def bootstrap_intervals(
    evaluators: Mapping[str, Any],
    tasks: np.ndarray,
    sizes: np.ndarray,
    *,
    n_boot: int,
    confidence: float,
    random_state: RandomState,
) -> TaskIntervals:
    """See :meth:`TaskFrame.intervals`."""
    check_scalar(n_boot, "n_boot", numbers.Integral, min_val=1)
    check_scalar(
        confidence,
        "confidence",
        numbers.Real,
        min_val=0,
        max_val=1,
        include_boundaries="neither",
    )
    rng = check_random_state(random_state)
    start, size = np.repeat(np.cumsum(sizes) - sizes, sizes), np.repeat(sizes, sizes)
    by_task = {name: np.empty((n_boot, len(tasks))) for name in evaluators}
    # columns: overall, macro
    summary = {name: np.empty((n_boot, 2)) for name in evaluators}
    for draw in range(n_boot):
        sample = start + (rng.random_sample(len(size)) * size).astype(np.intp)
        for name, evaluator in evaluators.items():
            scores, _ = evaluator.by_task(sample)
            defined = ~np.isnan(scores)
            macro = scores[defined].mean() if defined.any() else np.nan
            summary[name][draw] = evaluator.overall(sample)[0], macro
            by_task[name][draw] = scores
    totals = {name: _percentiles(s, confidence).tolist() for name, s in summary.items()}
    bounds = {}
    for name, draws in by_task.items():
        bounds[name] = _percentiles(draws, confidence)
        bounds[name][sizes == 1] = np.nan
    keys = tasks.tolist()
    return TaskIntervals(
        overall={name: tuple(total[0]) for name, total in totals.items()},
        macro={name: tuple(total[1]) for name, total in totals.items()},
        by_task={
            name: dict(zip(keys, map(tuple, b.tolist()), strict=True))
            for name, b in bounds.items()
        },
        confidence=float(confidence),
        n_boot=int(n_boot),
    )
