"""Threads of a fit: over blocks of rows from Python, and inside of the kernels."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from itertools import pairwise
from typing import TypeVar

from kinlearn._kernels._team import Team

__all__ = ["Threads"]

_LEAST_ROWS = 10_000  # of a thread: with fewer, waking it takes longer than they do

Result = TypeVar("Result")


class Threads:
    """The threads of one fit; they end with it.

    Parameters
    ----------
    n_jobs : int
        How many there may be.
    n_rows : int
        How many rows there are: few have one thread.

    Attributes
    ----------
    n : int
        How many there are.
    team : Team
        The same for kernels.
    """

    def __init__(self, n_jobs: int, n_rows: int) -> None:
        self.n = max(min(n_jobs, n_rows // _LEAST_ROWS), 1)
        self.team = Team(self.n)
        self._pool = ThreadPoolExecutor(self.n - 1) if self.n > 1 else None

    def over_rows(self, work: Callable[[slice], Result], n_rows: int) -> list[Result]:
        """What `work` returns for blocks of the rows, one for each thread."""
        if self._pool is None:
            return [work(slice(0, n_rows))]
        ends = [n_rows * i // self.n for i in range(self.n + 1)]
        blocks = [slice(*pair) for pair in pairwise(ends)]
        others: list[Future[Result]] = []
        try:
            for block in blocks[1:]:
                others.append(self._pool.submit(work, block))
            first = work(blocks[0])
        finally:
            wait(others)
        return [first, *(other.result() for other in others)]

    def map(self, work: Callable[[int], Result], numbers: range) -> list[Result]:
        """What `work` returns for each of some numbers."""
        found = self.over_rows(lambda some: [*map(work, numbers[some])], len(numbers))
        return [result for some in found for result in some]

    @contextmanager
    def serving(self) -> Iterator[None]:
        """Kernels that are called here find helpers in the team."""
        if self._pool is None:
            yield
            return
        helpers: list[Future[None]] = []
        try:
            self.team.open()
            for i in range(self.n - 1):
                helpers.append(self._pool.submit(self.team.serve, i))
            yield
        finally:
            self.team.close()
            wait(helpers)
