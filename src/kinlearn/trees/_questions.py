"""What the driver requests of parts of the rows, sends them, and gets back."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

__all__ = [
    "Answer",
    "CutQuestion",
    "LeafQuestion",
    "Plan",
    "Question",
    "RowQuestion",
    "Totals",
    "Weighed",
    "entries",
]

_LEAST = (np.minimum, np.inf)
_GREATEST = (np.maximum, -np.inf)
_SUM = (np.add, 0)
# How the arrays of results are merged, and what stands for no rows.
_MERGES = {
    "low": _LEAST,
    "high": _GREATEST,
    "missing": (np.maximum, 0),
    "number_low": _LEAST,
    "number_high": _GREATEST,
    "weight": _SUM,
    "total": _SUM,
    "hist": _SUM,
    "squares": _SUM,
    "between": _SUM,
    "rows": _SUM,
}


def _n_bytes(thing: Any) -> int:
    if isinstance(thing, dict):
        return sum(map(_n_bytes, thing.values()))
    return getattr(thing, "nbytes", 0)


class Weighed:
    """Knows the size of its arrays: Dask weighs what it moves and spills."""

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + _n_bytes(vars(self))


@dataclass(frozen=True, eq=False)
class Question(Weighed):
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
class CutQuestion(Weighed):
    """Sums of the rows at or below cuts.

    Attributes
    ----------
    nodes, tree, start, feature : as in Question
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
class RowQuestion(Weighed):
    """How many rows open nodes have; only rows with weights need it.

    Attributes
    ----------
    nodes : int32 array of shape (n_nodes,)
        Which of the open nodes.
    """

    nodes: np.ndarray


@dataclass(frozen=True, eq=False)
class LeafQuestion(Weighed):
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
class Answer(Weighed):
    """Extremes and sums, of the nodes that have rows in a part.

    Attributes
    ----------
    start : int64 array of shape (n_nodes + 1,)
        Where the values of each node begin, of all that were requested.
    present : int array, or None
        Nodes with values here; None is all of them.
    by_request, by_node : dict of arrays
        Values by request or cut, and by node.
    by_group : dict of arrays
        Sums by node and task: ``key``, and ``weight`` and ``total``.
    """

    start: np.ndarray
    present: np.ndarray | None = None
    by_request: dict = field(default_factory=dict)
    by_node: dict = field(default_factory=dict)
    by_group: dict = field(default_factory=dict)

    def places(self, by_node: bool) -> np.ndarray | None:
        """Where values by node, or by request, belong; None is all places."""
        if self.present is None:
            return None
        return self.present if by_node else entries(self.start, self.present)

    @classmethod
    def merge(cls, answers: Sequence["Answer"]) -> Self:
        """One result for the rows of all parts.

        Parameters
        ----------
        answers : list of Answer
            Of the same request.

        Returns
        -------
        Answer
            With values for all nodes.
        """
        first = answers[0]
        merged = cls(start=first.start)
        for name in ("by_request", "by_node"):
            by_node = name == "by_node"
            length = len(first.start) - 1 if by_node else first.start[-1]
            places = [a.places(by_node) for a in answers]
            for key, like in getattr(first, name).items():
                combine, nothing = _MERGES[key]
                out = np.full((length, *like.shape[1:]), nothing, dtype=like.dtype)
                for answer, at in zip(answers, places, strict=True):
                    values = getattr(answer, name)[key]
                    if at is None:  # all: much faster than place by place
                        combine(out, values, out=out)
                    else:
                        out[at] = combine(out[at], values)
                getattr(merged, name)[key] = out
        if first.by_group:
            merged.by_group.update(_merged_groups([a.by_group for a in answers]))
        return merged


def entries(start: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The numbers start[i] .. start[i + 1] - 1 of some nodes, end to end."""
    length = start[nodes + 1] - start[nodes]
    shift = start[nodes] - np.concatenate([[0], np.cumsum(length)[:-1]])
    return np.arange(length.sum()) + np.repeat(shift, length)


def _merged_groups(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    key = np.concatenate([p["key"] for p in parts])
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    first = first[: len(key)]
    sums = {
        name: np.add.reduceat(np.concatenate([p[name] for p in parts])[order], first)
        if len(key)
        else parts[0][name]
        for name in parts[0]
        if name != "key"
    }
    return {"key": key[first], **sums}


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
        """From the sums of the parts.

        Parameters
        ----------
        sums : list
            Of each part; see ``Share.sums``.
        n_features, n_tasks, n_classes : int
            How many there are; `n_classes` is 0 for numbers.
        weighted : bool
            Whether rows have weights.
        units : Units
            Of the sums.

        Returns
        -------
        Totals
            Of all rows.
        """
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
