"""Partitions of the rows in this process."""

from collections.abc import Callable, Sequence
from typing import Any

from kinlearn._partitions._protocol import (
    Statistics,
)

__all__ = ["LocalPartitions"]


class LocalPartitions:
    """Carries out plans and requests for partitions of the rows.

    Other engines (Dask's) have the same methods. What they call *handles* are here the
    objects themselves.

    Attributes
    ----------
    shares : list of Share
        The partitions, when they are prepared.
    """

    # Rows that extra trees may bring together, as a share of those of a place.
    room = 1.0

    def __init__(self) -> None:
        self.shares: list[Any] = []
        self.places: list[Any] = []

    @property
    def n_places(self) -> int:
        """How many portions of the rows are in memory by themselves."""
        return len(self.shares)

    def map(
        self,
        function: Callable[..., Any],
        handles: Sequence[Any],
        *args: Any,
        each: Sequence[Any] | None = None,
    ) -> list[Any]:
        """Handles of ``function(thing, *args)`` for the things of some handles.

        `each` may have one more argument for each of them, the second of the function.
        """
        own = [()] * len(handles) if each is None else [(thing,) for thing in each]
        return [
            self._kept(function(thing, *first, *args))
            for thing, first in zip(handles, own, strict=True)
        ]

    def _kept(self, thing: Any) -> Any:
        """The thing, in the form in which it waits."""
        return thing

    def collect(
        self, function: Callable[..., Any], handles: Sequence[Any], *args: Any
    ) -> list[Any]:
        """The values of ``function(thing, *args)``, which are small."""
        return self.map(function, handles, *args)

    def keep(self, shares: list[Any], n_rows: int) -> None:
        """Take the shares that trees are grown from, and how many rows they have."""
        self.shares = shares

    def reduce(
        self,
        combine: Callable[[list[Any]], Any],
        function: Callable[..., Any],
        handles: Sequence[Any],
        *args: Any,
        each: Sequence[Any] | None = None,
    ) -> Any:
        """``combine(values)`` of the values of ``function(thing, *args)``.

        One after the other, so that never many of them are there. `each` is as in
        `map`.
        """
        merged = None
        own = [()] * len(handles) if each is None else [(thing,) for thing in each]
        for thing, first in zip(handles, own, strict=True):
            value = function(thing, *first, *args)
            merged = combine([value] if merged is None else [merged, value])
        return merged

    def begin(self, trees: Any) -> None:
        """Bring the rows to the roots of some trees."""
        self.places = [self._kept(share.begin(trees)) for share in self.shares]

    def move(self, plan: Any) -> None:
        """Carry out the splits of a level."""
        for i, share in enumerate(self.shares):
            self.places[i] = self._kept(share.move(self.places[i], plan))

    def ask(self, request: Any) -> Statistics:
        """The result of a request from all rows, partition by partition."""
        return self.reduce(
            Statistics.merge,
            lambda pair: pair[0].answer(pair[1], request),
            list(zip(self.shares, self.places, strict=True)),
        )

    def assemble(
        self, function: Callable[..., Any], jobs: Sequence[Any], *args: Any
    ) -> list[Any]:
        """The values of ``function(pieces, job, *args)`` for jobs that need rows.

        The pieces are what ``share.piece(places, job)`` gives of each partition.
        """
        return [
            function(
                [
                    share.piece(places, job)
                    for share, places in zip(self.shares, self.places, strict=True)
                ],
                job,
                *args,
            )
            for job in jobs
        ]
