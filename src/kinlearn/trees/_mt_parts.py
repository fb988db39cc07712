"""From parts of a table to binned shares that multi-task forests are grown from."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np

from kinlearn.trees._bin_parts import find_bins
from kinlearn.trees._mt_shares import BinnedShare, Scheme
from kinlearn.trees._mt_weights import (
    cell_factors,
    check_tasks_weigh,
    in_units,
    is_whole,
    weighed_by_class,
    weight_unit,
)
from kinlearn.trees._parts import Common, Part, agree, summarize
from kinlearn.trees._questions import Weighed
from kinlearn.utils._typing import LabelRule

__all__ = ["prepare_binned"]


@dataclass(frozen=True, eq=False)
class CellRows(Weighed):
    """Rows of a part with their cells, before the weights and bins are known.

    Attributes
    ----------
    columns : float array of shape (n_features, n_rows)
        X, feature by feature.
    cells : int32 array of shape (n_rows,)
        Pair of task and label.
    given : float64 array of shape (n_rows,), or None
        Sample weights.
    whole : int64 array of shape (n_rows,), or None
        The same as whole numbers.
    """

    columns: np.ndarray
    cells: np.ndarray
    given: np.ndarray | None
    whole: np.ndarray | None

    @classmethod
    def of(cls, part: Part, common: Common, unit: float) -> Self:
        """Code the rows of a part as all parts do."""
        coded = part.coded(common)
        sets = common.label_sets.observed
        n_classes = np.int64(sets.n_classes)
        task = np.repeat(np.arange(sets.n_tasks), np.diff(sets.indptr))
        cells: np.ndarray = np.searchsorted(
            task * n_classes + sets.codes, coded.task * n_classes + coded.y
        )
        return cls(
            coded.columns,
            cells.astype(np.int32),
            coded.weight,
            in_units(coded.weight, unit),
        )

    def feature(self, number: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Values of a feature, and their weights, of rows with a sample weight."""
        if self.whole is None:
            return self.columns[number], None
        there = self.whole > 0
        return self.columns[number, there], self.whole[there]

    def cell_weight(self, n_cells: int) -> np.ndarray:
        """Weight of each cell, in units of the sample weights."""
        return np.bincount(self.cells, self.whole, minlength=n_cells)

    def weighed_cells(
        self, factor: np.ndarray | None, unit: float, n_cells: int
    ) -> np.ndarray:
        """The same with class weights, in other units."""
        return np.bincount(self.cells, self._weight(factor, unit), minlength=n_cells)

    def weight_sum(self, factor: np.ndarray | None) -> tuple[float, bool]:
        """Sum of the rows' weights, and whether all are whole numbers."""
        weight: Any = weighed_by_class(self.given, factor, self.cells)
        return float(weight.sum()), is_whole(weight)

    def _weight(self, factor: np.ndarray | None, unit: float) -> np.ndarray | None:
        return in_units(weighed_by_class(self.given, factor, self.cells), unit)

    def task_rows(
        self, factor: np.ndarray | None, unit: float, cell_task: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Tasks with rows that count, and their numbers of such rows."""
        weight = self._weight(factor, unit)
        cells = self.cells if weight is None else self.cells[weight > 0]
        return np.unique(cell_task[cells], return_counts=True)

    def share(
        self,
        bag: tuple[np.ndarray, np.ndarray],
        factor: np.ndarray | None,
        scheme: Scheme,
    ) -> BinnedShare:
        """The rows as the kernels take them.

        Parameters
        ----------
        bag : tuple of two arrays
            Tasks that are here, and how many rows of each come before.
        factor : float64 array of shape (n_cells,), or None
            Of the class weights.
        scheme : Scheme
            What all parts share.

        Returns
        -------
        BinnedShare
            The rows.
        """
        tasks, before = bag
        return BinnedShare(
            bins=scheme.bins.assign(self.columns.T),
            cells=self.cells,
            weight=self._weight(factor, scheme.unit),
            tasks=tasks,
            before=before,
            scheme=scheme,
        )


def prepare_binned(
    engine: Any,
    parts: list[Any],
    class_weight: dict[Any, float] | Literal["balanced"] | None,
    label_rule: LabelRule,
) -> tuple[Common, Scheme, list[int]]:
    """Make binned shares of parts that were read.

    Parameters
    ----------
    engine : LocalParts or the like
        Gets the shares.
    parts : list
        Handles of what `read_part` gave. Emptied, so that these rows are let go of.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    label_rule : {"connected", "observed"} or mapping
        Which classes a task has.

    Returns
    -------
    common : Common
        What the parts agreed on.
    scheme : Scheme
        Bins and codes.
    n_rows : list of int
        Of each share.
    """
    summaries, kept = summarize(engine, parts)
    common = agree(summaries, label_rule=label_rule)
    sets = common.label_sets.observed
    unit = 1.0
    if summaries[0]["weighted"]:
        unit = _unit(engine.collect(_given_sum, kept))
    rows = engine.map(CellRows.of, kept, common, unit)
    n_cells = len(sets.codes)
    factor = cell_factors(
        class_weight,
        common.classes,
        sets,
        lambda: engine.reduce(_sum, CellRows.cell_weight, rows, n_cells),
    )
    if factor is not None:
        unit = _unit(engine.collect(CellRows.weight_sum, rows, factor))
    in_cells = engine.reduce(_sum, CellRows.weighed_cells, rows, factor, unit, n_cells)
    label_sets = common.label_sets.weighed(in_cells * unit)
    dtype = np.result_type(*(s["dtype"] for s in summaries))
    bins = find_bins(engine, rows, len(common.table.features), dtype)
    n_tasks = len(common.tasks)
    cell_task = np.repeat(np.arange(n_tasks, dtype=np.int32), np.diff(sets.indptr))
    of_parts = engine.collect(CellRows.task_rows, rows, factor, unit, cell_task)
    so_far, bags = np.zeros(n_tasks, dtype=np.int64), []
    for tasks, count in of_parts:
        bags.append((tasks, so_far[tasks]))
        so_far[tasks] += count
    check_tasks_weigh(common.tasks, so_far)
    scheme = Scheme(
        bins=bins,
        cell_task=cell_task,
        cell_label=sets.codes.astype(np.int32),
        bag_indptr=np.concatenate([[0], np.cumsum(so_far)]),
        unit=unit,
    )
    shares = engine.map(CellRows.share, rows, factor, scheme, each=bags)
    n_rows = [s["n_rows"] for s in summaries]
    engine.keep(shares, n_rows)
    parts.clear()
    return replace(common, label_sets=label_sets), scheme, n_rows


def _given_sum(part: Any) -> tuple[float, bool]:
    return float(part.sample_weight.sum()), is_whole(part.sample_weight)


def _unit(sums: Sequence[tuple[float, bool]]) -> float:
    total = math.fsum(weight for weight, _ in sums)
    if not total > 0:
        raise ValueError(
            "The weights of all rows are 0; some must be positive. Look at "
            "sample_weight and class_weight."
        )
    return weight_unit(total, all(whole for _, whole in sums))


def _sum(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(arrays, axis=0)
