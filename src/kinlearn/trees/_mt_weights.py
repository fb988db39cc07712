"""Weights of rows as whole numbers, whose sums do not depend on the order of rows."""

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from kinlearn.tasks import LabelSets, check_class_weight

__all__ = [
    "cell_factors",
    "check_tasks_weigh",
    "in_units",
    "is_whole",
    "weighed_by_class",
    "weight_unit",
]

# Weights that are not whole numbers become multiples of a power of two, which their
# sum is some 2^50 of.
_BITS = 50

# A sum that is a power of two up to its rounding must not lie between two units.
_SLACK = 1 + 2.0**-20


def is_whole(weight: np.ndarray) -> bool:
    """Whether all weights are whole numbers."""
    return bool((weight == np.rint(weight)).all())


def weight_unit(total: float, whole: bool) -> float:
    """What weights are multiples of.

    Parameters
    ----------
    total : float
        Sum of the weights.
    whole : bool
        Whether they are whole numbers.

    Returns
    -------
    float
        A power of two; 1 for whole numbers.
    """
    if total < 2.0**31 and whole:
        return 1.0
    return float(2.0 ** (np.ceil(np.log2(total * _SLACK)) - _BITS))


def in_units(weight: np.ndarray | None, unit: float) -> np.ndarray | None:
    """Weights as multiples of a unit; those that are positive stay so.

    Parameters
    ----------
    weight : float array of shape (n,), or None
        None is 1 for all rows.
    unit : float
        See :func:`weight_unit`.

    Returns
    -------
    int64 array of shape (n,), or None
        Whole numbers; None if the weights are None.
    """
    if weight is None:
        return None
    return np.maximum(np.rint(weight / unit).astype(np.int64), weight > 0)


def cell_factors(
    class_weight: dict[Any, float] | Literal["balanced"] | None,
    classes: np.ndarray,
    label_sets: LabelSets,
    cell_weight: Callable[[], np.ndarray],
) -> np.ndarray | None:
    """What the class weights multiply each pair of a task and a label by.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        "balanced" gives the classes of a task equal weight within the task.
    classes : ndarray of shape (n_classes,)
        The labels.
    label_sets : LabelSets
        Which task has which of them.
    cell_weight : callable
        Gives the weight of each pair before, as whole numbers.

    Returns
    -------
    float64 array of shape (n_cells,), or None
        Factors; None if there are no class weights.
    """
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
    """Refuse tasks without a row that counts.

    Parameters
    ----------
    tasks : ndarray of shape (n_tasks,)
        Task values.
    weight : array of shape (n_tasks,)
        Weight of each task's rows.
    """
    without = np.flatnonzero(weight == 0)
    if len(without):
        name = tasks.tolist()[without[0]]
        raise ValueError(
            f"Task {name!r} has no row of positive weight ({len(without)} of "
            f"{len(tasks)} tasks are like that). Drop its rows, or weight them."
        )
