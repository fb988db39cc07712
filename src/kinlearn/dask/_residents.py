"""What a fit keeps on the workers: where the rows of their partitions are in the trees.

Requests, and rows on their way from worker to worker, are not tasks: Dask's scheduler
would take more time for them than the workers do. A plugin on every worker handles
the requests, gets rows from the other workers and grows branches of them.

All that it keeps can be made again from the partitions, which are results of tasks, and
from the splits. When a worker is lost, Dask computes its partitions elsewhere, and the
driver sends the splits of these trees once more.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from distributed import WorkerPlugin
from distributed.protocol import to_serialize
from distributed.utils import offload

from kinlearn._partitions import Statistics
from kinlearn.trees.extra.partitions import release_memory

__all__ = ["Groups", "Lost", "Resident", "Step", "serve", "split_groups"]

_DEEPER = 8  # workers that a worker calls, if it is not the last

# By the address of a worker: Dask's keys of its partitions, by their numbers.
Groups: TypeAlias = dict[str, dict[int, Any]]


class Lost(Exception):
    """A worker does not have what the driver thinks it has."""


@dataclass(frozen=True)
class Step:
    """How far the growth of some trees has come."""

    batch: int  # number of these trees' growth within the fit
    trees: Any  # what partitions take to begin
    first: int  # number of the first of the plans
    plans: list  # plans up to now

    @property
    def reached(self) -> tuple[int, int]:
        """Trees and plans, by their numbers."""
        return self.batch, self.first + len(self.plans)


class Resident(WorkerPlugin):
    """Lives on a worker for the time of a fit.

    Its methods take *groups*: by the address of a worker, the partitions that a request
    is about, as a dict of their keys by their numbers.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def setup(self, worker: Any) -> None:
        """Begin to serve."""
        self.worker = worker
        self.stopped = False
        self.places: dict = {}  # by partition: (batch, number of plans), places
        worker.handlers[f"{self.name}-statistics"] = self._hear_statistics
        worker.handlers[f"{self.name}-rows"] = self._hear_rows

    def teardown(self, worker: Any) -> None:
        """Leave nothing behind."""
        self.stopped = True
        self.places = {}
        release_memory()
        del worker.handlers[f"{self.name}-statistics"]
        del worker.handlers[f"{self.name}-rows"]

    async def _in_thread(self, function: Callable[..., Any], *args: Any) -> Any:
        """The value of a function, in a thread that tasks run in."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self.worker.executor, function, *args)

    async def _call(self, address: str, method: str, message: tuple[Any, ...]) -> Any:
        """What the resident of another worker returns."""
        call = getattr(self.worker.rpc(address), f"{self.name}-{method}")
        return (await call(message=to_serialize(message)))["value"]

    def _partitions(self, keys: dict[int, Any]) -> dict[int, Any]:
        try:
            return {number: self.worker.data[key] for number, key in keys.items()}
        except KeyError as error:
            raise Lost(f"Rows are not on {self.worker.address}.") from error

    def _rows(
        self, keys: dict[int, Any], reached: tuple[int, int]
    ) -> dict[int, tuple[Any, Any]]:
        """Some partitions and their places, by their numbers."""
        found = {}
        for number, partition in self._partitions(keys).items():
            at, places = self.places.get(number, (None, None))
            if at != reached:
                raise Lost(f"Partition {number} is at {at}, not at {reached}.")
            found[number] = partition, places
        return found

    # ------------------------------------------------------------------------
    # Splits and requests
    # ------------------------------------------------------------------------

    async def get_ready(self, groups: Groups, step: Step) -> None:
        """Carry out all splits so far, before rows are requested."""
        await self._follow(groups[self.worker.address], step, by_rows=True)

    async def _follow(
        self, keys: dict[int, Any], step: Step, by_rows: bool = False
    ) -> None:
        """Carry out the plans that are new; see `lay_out` of the partitions."""
        await self._in_thread(self._catch_up, self._partitions(keys), step, by_rows)

    def _catch_up(self, partitions: dict[int, Any], step: Step, by_rows: bool) -> None:
        for number, partition in partitions.items():
            (batch, n_done), places = self.places.get(number, ((None, 0), None))
            n_done = n_done if batch == step.batch else 0
            if n_done < step.first:
                raise Lost(f"Partition {number} lacks some splits.")
            new = step.plans[n_done - step.first :]
            if not by_rows or new or batch != step.batch:
                partition.lay_out(by_rows=False)
            if batch != step.batch:
                self.places.pop(number, None)  # of trees that are finished
                places = partition.begin(step.trees)
            for plan in new:
                places = partition.move(places, plan)
            if by_rows:
                partition.lay_out(by_rows=True)
            self.places[number] = step.reached, places

    async def statistics(
        self, runs: dict[str, Groups], step: Step, request: Any
    ) -> Statistics:
        """The result of the workers of a run, this one and others; `split_groups`."""
        (_, keys), *below = runs[self.worker.address].items()
        deeper = split_groups(dict(below))
        found = await asyncio.gather(
            self._statistics_here(keys, step, request),
            *(
                self._call(leader, "statistics", (deeper, step, request))
                for leader in deeper
            ),
        )
        return found[0] if len(found) == 1 else Statistics.merge(found)

    async def _hear_statistics(self, message: tuple[Any, ...]) -> dict[str, Any]:
        # in a dict: a bare value would not be unwrapped between threads
        return {"value": to_serialize(await self.statistics(*message))}

    async def _statistics_here(
        self, keys: dict[int, Any], step: Step, request: Any
    ) -> Statistics:
        return await self._in_thread(self._look, self._partitions(keys), step, request)

    def _look(self, partitions: dict[int, Any], step: Step, request: Any) -> Statistics:
        self._catch_up(partitions, step, by_rows=False)
        rows = {n: (one, self.places[n][1]) for n, one in partitions.items()}
        return _statistics(rows, request)

    async def drive(
        self,
        function: Callable[..., Any],
        groups: Groups,
        step: Step,
        args: tuple[Any, ...],
    ) -> Any:
        """The value of ``function(engine, *args)``, whose requests go out from here."""
        loop, here = asyncio.get_running_loop(), self.worker.address
        others = {address: keys for address, keys in groups.items() if address != here}
        near = _Near(self, loop, {here: {here: groups[here], **others}}, step)
        # not in a thread that tasks run in: these carry out the requests
        return await loop.run_in_executor(None, function, near, *args)

    # ------------------------------------------------------------------------
    # Branches
    # ------------------------------------------------------------------------

    async def _hear_rows(self, message: tuple[Any, ...]) -> dict[str, Any]:
        keys, reached, job = message
        rows = self._rows(keys, reached)
        return {"value": to_serialize(await offload(_pack, rows, job))}

    async def _fetch(
        self, groups: Groups, reached: tuple[int, int], job: Any
    ) -> list[Any]:
        """The rows of a job that other workers have."""
        return await asyncio.gather(
            *(
                self._call(address, "rows", (keys, reached, job))
                for address, keys in groups.items()
                if address != self.worker.address
            )
        )

    async def grow(
        self,
        function: Callable[..., Any],
        groups: Groups,
        step: Step,
        jobs: Sequence[Any],
        args: tuple[Any, ...],
    ) -> list[Any]:
        """The values of ``function(rows, job, *args)``, one after the other.

        The rows for the next job come while one is at work.
        """
        here = self._rows(groups.get(self.worker.address, {}), step.reached)
        grown = []
        coming = asyncio.create_task(self._fetch(groups, step.reached, jobs[0]))
        try:
            for job, following in zip(jobs, [*jobs[1:], None], strict=True):
                elsewhere = await coming
                if self.stopped:
                    raise Lost("The fit is over.")
                if following is not None:
                    coming = asyncio.create_task(
                        self._fetch(groups, step.reached, following)
                    )
                grown.append(
                    await self._in_thread(
                        _together, function, here, elsewhere, job, args
                    )
                )
                del elsewhere
        finally:
            coming.cancel()
        return grown


class _Near:
    """An engine on a worker, for a function that runs in a thread."""

    def __init__(
        self, resident: Resident, loop: Any, runs: dict[str, Groups], step: Step
    ) -> None:
        self.resident, self.loop, self.runs, self.step = resident, loop, runs, step

    def statistics(self, request: Any) -> Statistics:
        """The merged result of all rows."""
        if self.resident.stopped:
            raise Lost("The fit is over.")
        coming = self.resident.statistics(self.runs, self.step, request)
        found = asyncio.run_coroutine_threadsafe(coming, self.loop).result()
        # the plans are known now
        batch, n_plans = self.step.reached
        self.step = Step(batch, self.step.trees, n_plans, [])
        return found


def split_groups(groups: Groups, n: int = _DEEPER) -> dict[str, Groups]:
    """Groups in n runs at the most, by the first worker of each.

    A worker replies for itself and those of its run, which it calls.
    """
    runs = [list(groups)[i::n] for i in range(min(n, len(groups)))]
    return {run[0]: {address: groups[address] for address in run} for run in runs}


# ----------------------------------------------------------------------------
# In threads
# ----------------------------------------------------------------------------


def _statistics(rows: dict[int, tuple[Any, Any]], request: Any) -> Statistics:
    found = (
        partition.statistics(places, request) for partition, places in rows.values()
    )
    merged = next(found)
    for one in found:
        merged = Statistics.merge([merged, one])
    return merged


def _pack(rows: dict[int, tuple[Any, Any]], job: Any) -> tuple[list[int], Any]:
    rows_here = [partition.rows_of(places, job) for partition, places in rows.values()]
    return list(rows), job.pack(rows_here)


def _together(
    function: Callable[..., Any],
    here: dict[int, tuple[Any, Any]],
    elsewhere: list[Any],
    job: Any,
    args: tuple[Any, ...],
) -> Any:
    """The value of a function of all rows, in the order of the partitions.

    The function may clear the list, and no one else holds what came from elsewhere.
    """
    gathered = {
        number: partition.rows_of(places, job)
        for number, (partition, places) in here.items()
    }
    while elsewhere:
        numbers, packed = elsewhere.pop()
        gathered |= zip(numbers, job.unpack(packed), strict=True)
        del packed
    return function([gathered.pop(number) for number in sorted(gathered)], job, *args)


async def serve(name: str, method: str, *args: Any, dask_worker: Any = None) -> Any:
    """Call a method of the resident of a worker, for the driver.

    A `Lost` is not raised but returned, for Dask logs the errors that are raised.
    """
    if name not in dask_worker.plugins:
        return Lost(f"{dask_worker.address} does not know of the fit.")
    try:
        return await getattr(dask_worker.plugins[name], method)(*args)
    except (Lost, OSError) as error:
        return Lost(f"At {dask_worker.address}: {error}")
