"""From tables in partitions to the rows that extra trees are grown from."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from kinlearn._partitions import Coded, Common, Partition, Weighed, agree, summarize
from kinlearn.trees.extra._growth import exact_unit, short_number, unit_labels
from kinlearn.trees.extra._tuning import pilot_rows
from kinlearn.trees.extra.partitions._requests import Totals
from kinlearn.trees.extra.partitions._rows import Share
from kinlearn.utils import row_hashes
from kinlearn.utils._typing import LabelRule

__all__ = ["Sample", "Units", "coded_sample", "prepare"]


@dataclass(frozen=True)
class Units:
    """What sums are integer multiples of, so that they add up in any order.

    Attributes
    ----------
    weight, total : float
        Powers of two.
    center : float
        What is taken off numbers first.
    all_weight : float
        Sum of the rows' weights.
    """

    weight: float
    total: float
    center: float
    all_weight: float

    @classmethod
    def of(
        cls,
        sums: Sequence[tuple[float, float]],
        spreads: Callable[[float], Iterable[float]],
        *,
        weighted: bool,
        numbers: bool,
    ) -> Self:
        """From the sums of all parts."""
        weight = math.fsum(w for w, _ in sums)
        w_unit = exact_unit(weight) if weighted else 1.0
        if not numbers:
            return cls(w_unit, w_unit, 0.0, weight)
        center = float(short_number(math.fsum(t for _, t in sums) / weight))
        total = math.fsum(spreads(center))
        return cls(w_unit, exact_unit(total), center, weight)


@dataclass(frozen=True, eq=False)
class Sample(Weighed):
    """Rows for pilot forests."""

    hashes: np.ndarray
    columns: np.ndarray
    task: np.ndarray
    y: np.ndarray
    weight: np.ndarray | None

    @classmethod
    def merge(cls, samples: Sequence[Self]) -> Self:
        """The rows that a pilot takes of all parts, in the order of the parts."""
        weight = None
        if samples[0].weight is not None:
            weight = np.concatenate([s.weight for s in samples])
        hashes = np.concatenate([s.hashes for s in samples])
        rows = np.flatnonzero(pilot_rows(hashes))
        columns = np.concatenate([s.columns for s in samples], axis=1)
        return cls(
            hashes[rows],
            np.ascontiguousarray(columns[:, rows]),
            np.concatenate([s.task for s in samples])[rows],
            np.concatenate([s.y for s in samples])[rows],
            None if weight is None else weight[rows],
        )


def coded_sums(rows: Coded) -> tuple[float, float]:
    """Weight of the rows, and weighted sum of y."""
    w = rows.weight
    weight = float(len(rows.y)) if w is None else float(w.sum())
    total = float(rows.y.sum() if w is None else w @ rows.y)
    return weight, total


def coded_spread(rows: Coded, center: float) -> float:
    """Sum of the magnitudes of ``weight * (y - center)``."""
    spread = np.abs(rows.y - center)
    return float((spread if rows.weight is None else rows.weight * spread).sum())


def coded_share(rows: Coded, common: "Common", units: "Units") -> Share:
    """The rows as the kernels take them."""
    n_classes = 0 if common.classes is None else len(common.classes)
    return Share(
        columns=rows.columns,
        has_missing=common.has_missing.astype(np.uint8),
        task=rows.task,
        n_tasks=len(common.tasks),
        n_classes=n_classes if n_classes > 2 else 0,
        **unit_labels(
            rows.y,
            rows.weight,
            n_classes,
            w_unit=units.weight,
            b_unit=units.total,
            center=units.center,
        ),
        weight=rows.weight,
        center=units.center,
    )


def coded_sample(coded: Coded) -> "Sample":
    """The rows that pilot forests may want; see `pilot_rows`."""
    rows = np.arange(len(coded.y))
    if coded.weight is not None:
        rows = np.flatnonzero(coded.weight > 0)
    hashes = row_hashes(coded.columns[:, rows], coded.y[rows])
    kept = pilot_rows(hashes)
    rows = rows[kept]
    return Sample(
        hashes[kept],
        coded.columns[:, rows],
        coded.task[rows],
        coded.y[rows],
        None if coded.weight is None else coded.weight[rows],
    )


def prepare(
    engine: Any,
    parts: list[Any],
    class_weight: dict[Any, float] | Literal["balanced"] | None = None,
    label_rule: LabelRule = "connected",
) -> tuple[Common, Totals, Units, list[Any]]:
    """Make shares of parts that were read."""
    summaries, parts = summarize(engine, parts)
    common = agree(summaries, class_weight, label_rule, counting=True)
    coded = engine.map(Partition.coded, parts, common)
    sums = engine.collect(coded_sums, coded)
    weighted = common.class_weight is not None or summaries[0]["weighted"]
    if not math.fsum(weight for weight, _ in sums) > 0:
        raise ValueError("The weights of all rows are 0; some must be positive.")
    numbers = common.classes is None
    units = Units.of(
        sums,
        lambda center: engine.collect(coded_spread, coded, center),
        weighted=weighted,
        numbers=numbers,
    )
    engine.keep(
        engine.map(coded_share, coded, common, units),
        [summary["n_rows"] for summary in summaries],
    )
    totals = Totals.of(
        engine.collect(Share.sums, engine.shares),
        n_features=len(common.table.features),
        n_tasks=len(common.tasks),
        n_classes=0 if numbers else len(common.classes),
        weighted=weighted,
        units=units,
    )
    return common, totals, units, coded
