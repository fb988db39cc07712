"""What a speed case declares: our work, the peers' work, and the limit."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from time import process_time

from benchmarks.registry import Registry

__all__ = ["CASES", "Case", "Limit", "Seconds", "Work", "case", "cpu_timed"]

CASES = Registry("speed case")


@dataclass(frozen=True)
class Limit:
    """The limit of a case; every figure that is set must hold.

    Parameters
    ----------
    times_faster : float, optional
        The fastest peer's time over ours, at least.
    times_as_long : float, optional
        Our time over the fastest peer's, at most.
    seconds : float, optional
        Our time, at most.
    memory_of_data : float, optional
        Our peak memory over what the data takes, at most.
    gibibytes : float, optional
        Our peak memory, at most.
    growth : float, optional
        Exponent of our time in the size, over a case's `sizes`, at most.
    """

    times_faster: float | None = None
    times_as_long: float | None = None
    seconds: float | None = None
    memory_of_data: float | None = None
    gibibytes: float | None = None
    growth: float | None = None


class Seconds(float):
    """The time of a call that measures itself, as the time of an import."""


def cpu_timed(call, *, clock=process_time):
    """The call, answering with the time it took.

    Parameters
    ----------
    call : callable
        Without arguments.
    clock : callable, default=process_time
        The processor time of the process, so that other programs on the machine
        disturb the figures less; `perf_counter` for work on several threads.

    Returns
    -------
    callable
        Answers with `Seconds`.
    """

    def timed():
        start = clock()
        call()
        return Seconds(clock() - start)

    return timed


@dataclass(frozen=True)
class Work:
    """The calls to be timed, with their data made and their modules imported.

    Parameters
    ----------
    ours : callable
        Our work, without arguments.
    peers : dict of callables
        The same work by each peer.
    data_bytes : int, optional
        What the data takes in memory; peaks are then also given in its units.
    check : callable, optional
        ``check(ours, peer)`` of two results; it raises if the work differs, so
        that nobody is fast by doing something else.
    """

    ours: Callable[[], object]
    peers: Mapping[str, Callable[[], object]] = field(default_factory=dict)
    data_bytes: int | None = None
    check: Callable[[object, object], None] | None = None


@dataclass(frozen=True)
class Case:
    """One line of the speed table. See `case` for the fields."""

    name: str
    title: str
    build: Callable[..., Work]
    limit: Limit
    needs: tuple[str, ...]
    sizes: tuple[int, ...]
    threads: int
    repeats: int
    memory: bool


def case(name, *, limit=None, needs=(), sizes=(), threads=1, repeats=5, memory=False):
    """Declare the decorated function, which returns `Work`, as a case.

    Parameters
    ----------
    name : str
        How the command line calls it.
    limit : Limit, optional
        What must hold; without one the case is for information.
    needs : tuple of str
        Modules it cannot run without; it is skipped where one is missing.
    sizes : tuple of int
        The function is called with each of them; without any, with nothing.
    threads : int
        Threads that BLAS and OpenMP may use.
    repeats : int
        Rounds in each process; fewer where one takes minutes.
    memory : bool
        Whether to measure peak memory too, in a process for each contender.

    Returns
    -------
    callable
        The decorator. The first line of the docstring becomes the title.
    """

    def declare(build):
        title = build.__doc__.strip().splitlines()[0].removesuffix(".")
        CASES.add(
            name,
            Case(
                name=name,
                title=title,
                build=build,
                limit=limit or Limit(),
                needs=tuple(needs),
                sizes=tuple(sizes),
                threads=threads,
                repeats=repeats,
                memory=memory,
            ),
        )
        return build

    return declare
