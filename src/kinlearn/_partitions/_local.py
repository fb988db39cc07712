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
    partitions : list
        The partitions, when they are prepared.
    """

    # Rows that extra trees may bring together, as a fraction of those of a place.
    fraction_together = 1.0

    def __init__(self) -> None:
        self.partitions: list[Any] = []
        self.places: list[Any] = []

    @property
    def n_places(self) -> int:
        """How many portions of the rows are in memory by themselves."""
        return len(self.partitions)

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

    def keep(self, partitions: list[Any], n_rows: Sequence[int]) -> None:
        """Take the partitions to grow trees from, and the number of rows of each."""
        self.partitions = partitions

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
        self.places = [
            self._kept(partition.begin(trees)) for partition in self.partitions
        ]

    def move(self, plan: Any) -> None:
        """Carry out the splits of a level."""
        for i, partition in enumerate(self.partitions):
            self.places[i] = self._kept(partition.move(self.places[i], plan))

    def statistics(self, request: Any) -> Statistics:
        """The result of a request from all rows, partition by partition."""
        return self.reduce(
            Statistics.merge,
            lambda pair: pair[0].statistics(pair[1], request),
            list(zip(self.partitions, self.places, strict=True)),
        )

    def drive(self, function: Callable[..., Any], *args: Any) -> Any:
        """The value of ``function(engine, *args)``, which makes many small requests.

        The engine there may have `statistics` alone. Elsewhere it is near the rows.
        """
        return function(self, *args)

    def assemble(
        self, function: Callable[..., Any], jobs: Sequence[Any], *args: Any
    ) -> list[Any]:
        """The values of ``function(rows, job, *args)`` for jobs that need rows.

        The rows are what ``partition.rows_of(places, job)`` gives of each partition.
        """
        return [
            function(
                [
                    partition.rows_of(places, job)
                    for partition, places in zip(
                        self.partitions, self.places, strict=True
                    )
                ],
                job,
                *args,
            )
            for job in jobs
        ]
