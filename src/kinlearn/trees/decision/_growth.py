"""The data that multi-task decision trees are grown from, and their growth."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np

from kinlearn._binning import Bins, bin_features, in_units, is_whole, weight_unit
from kinlearn._kernels.trees.decision._grow_tree import grow_tree
from kinlearn.tasks import LabelSets, TaskData, check_class_weight, check_total_weight
from kinlearn.trees.decision._model import MultiTaskTree, tree_of, with_categories

__all__ = [
    "CRITERIA",
    "GrowthData",
    "cell_factors",
    "check_tasks_weigh",
    "weighed_by_class",
]

CRITERIA = ("joint", "sum", "max")  # in the order of the kernel's numbers


@dataclass(frozen=True, eq=False)
class GrowthData:
    """Training rows in the form in which trees are grown."""

    bins: Bins  # edges of the bins
    # uint8 (n, n_features): bins, column-major and row-major
    columns: np.ndarray
    lines: np.ndarray
    cells: np.ndarray  # int32 (n,): pair of task and label of each row
    # int32 (n_cells,): what the pairs are
    cell_task: np.ndarray
    cell_label: np.ndarray
    weight: np.ndarray  # int64 (n,): whole weights
    unit: float  # what a whole weight of 1 stands for
    n_tasks: int  # number of tasks
    # uint8 (n_features,), or None: which features are categories
    categorical: np.ndarray | None = None

    @classmethod
    def of(
        cls, data: TaskData, class_weight: dict[Any, float] | Literal["balanced"] | None
    ) -> Self:
        """Bin the features and encode the rest."""
        cells = (data.task_class_indptr[data.task] + data.y_in_task).astype(np.int32)
        given, unit = _whole(data.sample_weight)
        bins, columns = bin_features(data.X, given)
        n_cells = len(data.task_class_codes)
        factor = cell_factors(
            class_weight,
            data.classes,
            data.label_sets.observed,
            lambda: np.bincount(cells, given, minlength=n_cells),
        )
        weight = given
        if factor is not None:
            weight, unit = _whole(weighed_by_class(data.sample_weight, factor, cells))
        if weight is None:
            weight = np.ones(data.n_samples, dtype=np.int64)
        else:
            of_task = np.bincount(data.task, weight, minlength=data.n_tasks)
            check_tasks_weigh(data.tasks, of_task)
        sizes = np.diff(data.task_class_indptr)
        return cls(
            bins=bins,
            columns=columns,
            lines=np.ascontiguousarray(columns),
            cells=cells,
            cell_task=np.repeat(np.arange(data.n_tasks, dtype=np.int32), sizes),
            cell_label=data.task_class_codes.astype(np.int32),
            weight=weight,
            unit=unit,
            n_tasks=data.n_tasks,
            categorical=None
            if data.categorical is None
            else data.categorical.astype(np.uint8),
        )

    def cell_weight(self) -> np.ndarray:
        """Weight of each pair of task and label; exact, as weights are whole."""
        n_cells = len(self.cell_task)
        return np.bincount(self.cells, self.weight, minlength=n_cells) * self.unit

    def grow(
        self,
        seed: int,
        counts: np.ndarray | None = None,
        *,
        criterion: str,
        purity: float,
        max_depth: int | None,
        min_samples_split: int,
        min_samples_leaf: int,
        min_weight_fraction_leaf: float,
        max_features: int,
    ) -> MultiTaskTree:
        """Grow one tree."""
        weight = self.weight if counts is None else self.weight * counts
        nodes, decisions, values, sets = grow_tree(
            self.columns,
            self.lines,
            self.bins.n_bins,
            self.cells,
            weight,
            self.cell_task,
            self.cell_label,
            self.n_tasks,
            CRITERIA.index(criterion),
            purity,
            len(self.cells) if max_depth is None else max_depth,
            min_samples_split,
            min_samples_leaf,
            int(np.ceil(min_weight_fraction_leaf * weight.sum())),
            max_features,
            seed,
            categorical=self.categorical,
            # a row of a bootstrap sample is there 1.6 times on average
            row_weight=(1.0 if counts is None else 1.5) / self.unit,
        )
        tree = tree_of(nodes, decisions, values, self.bins, self.unit)
        if self.categorical is None:
            return tree
        return with_categories(tree, nodes, sets, self.bins, self.categorical)


def _whole(weight: np.ndarray | None) -> tuple[np.ndarray | None, float]:
    """Weights as whole numbers, and what one of them stands for."""
    check_total_weight(weight)
    if weight is None:
        return None, 1.0
    unit = weight_unit(weight.sum(), is_whole(weight))
    return in_units(weight, unit), unit


def cell_factors(
    class_weight: dict[Any, float] | Literal["balanced"] | None,
    classes: np.ndarray,
    label_sets: LabelSets,
    cell_weight: Callable[[], np.ndarray],
) -> np.ndarray | None:
    """What the class weights multiply each pair of a task and a label by."""
    check_class_weight(class_weight)
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        of_cell = cell_weight()
        first, n_labels = label_sets.indptr[:-1], np.diff(label_sets.indptr)
        of_task = np.repeat(np.add.reduceat(of_cell, first), n_labels)
        with np.errstate(invalid="ignore", divide="ignore"):
            factor = of_task / (np.repeat(n_labels, n_labels) * of_cell)
        return np.where(of_cell > 0, factor, 0.0)
    names = classes.tolist()
    strange = [c for c in class_weight if c not in names]
    if strange and not all(c in class_weight for c in names):
        raise ValueError(
            f"class_weight names classes that are not in y, {strange!r}, and lacks "
            f"some that are: y has {names!r}. Name the classes as in y."
        )
    return np.array([class_weight.get(c, 1.0) for c in names])[label_sets.codes]


def weighed_by_class(
    weight: np.ndarray | None, factor: np.ndarray | None, cells: np.ndarray
) -> np.ndarray | None:
    """Weights times the factors of the rows' cells; either may be None, for 1."""
    if factor is None:
        return weight
    return factor[cells] if weight is None else weight * factor[cells]


def check_tasks_weigh(tasks: np.ndarray, weight: np.ndarray) -> None:
    """Refuse tasks without a row that counts."""
    without = np.flatnonzero(weight == 0)
    if len(without):
        name = tasks.tolist()[without[0]]
        raise ValueError(
            f"Task {name!r} has no row of positive weight ({len(without)} of "
            f"{len(tasks)} tasks are like that). Drop its rows, or weight them."
        )
