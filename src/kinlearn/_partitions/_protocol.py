"""What partitions of the rows send to the driver, and how it is merged."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

__all__ = ["Statistics", "Weighed", "entries"]

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
    "tasks": _SUM,
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
class Statistics(Weighed):
    """Extremes and sums, of the nodes that have rows in a partition.

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
    def merge(cls, statistics: Sequence["Statistics"]) -> Self:
        """One result for the rows of all partitions.

        Parameters
        ----------
        statistics : list of Statistics
            Of the same request.

        Returns
        -------
        Statistics
            With values for all nodes.
        """
        first = statistics[0]
        merged = cls(start=first.start)
        for name in ("by_request", "by_node"):
            by_node = name == "by_node"
            length = len(first.start) - 1 if by_node else first.start[-1]
            places = [a.places(by_node) for a in statistics]
            for key, like in getattr(first, name).items():
                combine, nothing = _MERGES[key]
                out = np.full((length, *like.shape[1:]), nothing, dtype=like.dtype)
                for one, at in zip(statistics, places, strict=True):
                    values = getattr(one, name)[key]
                    if at is None:  # all: much faster than place by place
                        combine(out, values, out=out)
                    else:
                        out[at] = combine(out[at], values)
                getattr(merged, name)[key] = out
        if first.by_group:
            merged.by_group.update(_merged_groups([a.by_group for a in statistics]))
        return merged


def entries(start: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The numbers start[i] .. start[i + 1] - 1 of some nodes, end to end."""
    length = start[nodes + 1] - start[nodes]
    shift = start[nodes] - np.concatenate([[0], np.cumsum(length)[:-1]])
    return np.arange(length.sum()) + np.repeat(shift, length)


def _merged_groups(
    partitions: Sequence[dict[str, np.ndarray]],
) -> dict[str, np.ndarray]:
    key = np.concatenate([p["key"] for p in partitions])
    order = np.argsort(key, kind="stable")
    key = key[order]
    first = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
    first = first[: len(key)]
    sums = {
        name: np.add.reduceat(
            np.concatenate([p[name] for p in partitions])[order], first
        )
        if len(key)
        else partitions[0][name]
        for name in partitions[0]
        if name != "key"
    }
    return {"key": key[first], **sums}
