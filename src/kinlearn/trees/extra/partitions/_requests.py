"""What the driver of extra trees requests of partitions of the rows, and sends them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn._partitions import Weighed

__all__ = ["CutRequest", "LeafRequest", "Plan", "RowRequest", "SplitRequest", "Totals"]


@dataclass(frozen=True, eq=False)
class SplitRequest(Weighed):
    """Extremes of features, sums by task and extremes of numbers, at open nodes.

    Attributes
    ----------
    nodes : int32 array of shape (n_nodes,)
        Which of the open nodes this is about.
    tree : int32 array of shape (n_nodes,)
        Their trees.
    start : int64 array of shape (n_nodes + 1,)
        Where each node's requests begin.
    feature : int32 array
        Requested features.
    wants_task : uint8 array of shape (n_nodes,)
        Whether sums by task are wanted.
    """

    nodes: np.ndarray
    tree: np.ndarray
    start: np.ndarray
    feature: np.ndarray
    wants_task: np.ndarray


@dataclass(frozen=True, eq=False)
class CutRequest(Weighed):
    """Sums of the rows at or below cuts.

    Attributes
    ----------
    nodes, tree, start, feature : as in SplitRequest
        The nodes, and the features of their cuts.
    cut : float32 array
        The cuts.
    """

    nodes: np.ndarray
    tree: np.ndarray
    start: np.ndarray
    feature: np.ndarray
    cut: np.ndarray


@dataclass(frozen=True, eq=False)
class RowRequest(Weighed):
    """How many rows open nodes have; only rows with weights need it.

    Attributes
    ----------
    nodes : int32 array of shape (n_nodes,)
        Which of the open nodes.
    """

    nodes: np.ndarray


@dataclass(frozen=True, eq=False)
class LeafRequest(Weighed):
    """What leaves need beyond what splits know: sums of numbers, and by task.

    Attributes
    ----------
    tree : int32 array of shape (n_leaves,)
        Trees of the leaves that the last move closed.
    by_task : bool
        Whether sums by task are wanted.
    """

    tree: np.ndarray
    by_task: bool


@dataclass(frozen=True, eq=False)
class Plan(Weighed):
    """The splits of open nodes; see the kernel `move_rows`.

    Attributes
    ----------
    nodes : int32 array of shape (n_nodes,)
        Which of the open nodes split or end.
    waiting : int32 array of shape (n_waiting,)
        The others: they stay as they are, and come behind the new ones.
    tree, feature, ... : arrays by node
        What happens to `nodes`.
    """

    nodes: np.ndarray
    waiting: np.ndarray
    tree: np.ndarray
    feature: np.ndarray
    threshold: np.ndarray
    default_left: np.ndarray
    exception_start: np.ndarray
    exceptions: np.ndarray
    left: np.ndarray
    right: np.ndarray
    n_opened: int
    n_closed: int


@dataclass(frozen=True, eq=False)
class Totals:
    """What is known of the rows of all parts together.

    Attributes
    ----------
    n_features, n_tasks : int
        How many there are.
    n_classes : int
        Number of classes if it is more than two, else 0.
    numbers, weighted : bool
        Whether labels are numbers, and rows have weights.
    weight, total, hist : int, int or None, int64 array of shape (n_classes,) or None
        Sums over all rows; those that the kind of label has.
    w_unit, b_unit : float
        What the sums are multiples of.
    center : float
        What was taken off numbers before they were summed.
    """

    n_features: int
    n_tasks: int
    n_classes: int
    numbers: bool
    weighted: bool
    weight: int
    total: int | None
    hist: np.ndarray | None
    w_unit: float
    b_unit: float
    center: float = 0.0

    @classmethod
    def of(
        cls,
        sums: Iterable[tuple],
        *,
        n_features: int,
        n_tasks: int,
        n_classes: int,
        weighted: bool,
        units: Any,
    ) -> Self:
        """From the sums of the parts."""
        weight, total, hist = zip(*sums, strict=True)
        many = n_classes > 2
        return cls(
            n_features=n_features,
            n_tasks=n_tasks,
            n_classes=n_classes if many else 0,
            numbers=n_classes == 0,
            weighted=weighted,
            weight=sum(weight),
            total=None if many else sum(total),
            hist=np.sum(hist, axis=0) if many else None,
            w_unit=units.weight,
            b_unit=units.total,
            center=units.center,
        )
