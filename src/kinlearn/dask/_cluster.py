"""The cluster as an engine: plans and requests go out, merged results come back.

Rows are read and prepared by tasks, which are pure functions of their inputs. So when a
worker is lost, Dask computes what it held again. Trees grow outside of tasks; see
:mod:`kinlearn.dask._residents`.
"""

import pickle
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, Self

from distributed import Client, default_client, wait

from kinlearn._partitions import Statistics
from kinlearn.dask._residents import (
    Groups,
    Lost,
    Resident,
    Step,
    serve,
    split_groups,
)

__all__ = ["ClusterPartitions", "find_client"]

# What is smaller goes along with each task; larger things are sent once.
_SMALL_BYTES = 20_000
_MERGED_AT_ONCE = 8
_FEW = 4  # workers that the driver calls by itself
# Jobs whose results a worker keeps until it returns them together.
_JOBS_AT_ONCE = 6
# Times in a row that an attempt fails because a worker is lost.
_MOST_LOSSES = 20


def find_client(client: Client | None = None) -> Client:
    """The client to work with.

    Parameters
    ----------
    client : Client or None
        None is the one that was made last.

    Returns
    -------
    Client
        A connected client.
    """
    if client is None:
        try:
            client = default_client()
        except ValueError as error:
            raise ValueError(
                "There is no Dask client. Make one before fit, for example with "
                "`from dask.distributed import Client; client = Client()`, or pass "
                "client=."
            ) from error
    if not isinstance(client, Client):
        raise TypeError(
            "client must be a dask.distributed.Client, OnDisk or None; got "
            f"{type(client).__name__}."
        )
    if client.asynchronous:
        raise TypeError(
            "client is asynchronous, but fit waits for results. Make the client with "
            "asynchronous=False."
        )
    if client.status != "running":
        raise ValueError(f"The Dask client is not running: it is {client.status}.")
    return client


def _same(thing: Any) -> Any:
    return thing


class ClusterPartitions:
    """Partitions of the rows on the workers of a cluster; see ``LocalPartitions``.

    Parameters
    ----------
    client : Client
        Of the cluster.
    """

    # A worker has its own rows too, and those for other jobs: with a larger fraction it
    # takes more than twice the memory of its rows, with less there are more messages.
    fraction_together = 1 / 6

    def __init__(self, client: Client) -> None:
        self.client = client
        self.partitions: list[Any] = []
        # of a partition's key, as Dask wants it: a list of workers
        self.homes: dict[Any, list[str]] = {}
        self._name: str | None = None  # of the residents, when there are some
        self._groups: Groups = {}  # where the partitions are, as far as is known
        self._batch = 0
        self._trees: Any = None
        self._plans: list[Any] = []
        self._n_sent = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        # workers forget what nobody wants
        self.partitions, self.homes = [], {}
        if self._name is not None and self.client.status == "running":
            self.client.unregister_worker_plugin(self._name)

    @property
    def n_places(self) -> int:
        """Number of workers."""
        return max(len(self.client.nthreads()), 1)

    def read(self, delayed: list[Any]) -> list[Any]:
        """Compute delayed partitions on the workers; handles of them."""
        return self.client.compute(delayed)

    def _submit(
        self, function: Callable[..., Any], *args: Any, home: list[str] | None = None
    ) -> Any:
        """A handle of ``function(*args)``, at home while that worker lives."""
        return self.client.submit(
            function, *args, pure=False, workers=home, allow_other_workers=bool(home)
        )

    def _send(self, thing: Any) -> Any:
        """The thing itself if it is small, or a task that returns it.

        Not scattered: what is scattered to a worker is lost with it.
        """
        if len(pickle.dumps(thing, protocol=5)) <= _SMALL_BYTES:
            return thing
        return self._submit(_same, thing)

    def map(
        self,
        function: Callable[..., Any],
        handles: Sequence[Any],
        *args: Any,
        each: Iterable[Any] | None = None,
    ) -> list[Any]:
        """Handles of ``function(thing, *args)``; see ``LocalPartitions.map``."""
        sent = [self._send(arg) for arg in args]
        own = [()] * len(handles) if each is None else [(thing,) for thing in each]
        return [
            self._submit(
                function, handle, *first, *sent, home=self.homes.get(handle.key)
            )
            for handle, first in zip(handles, own, strict=True)
        ]

    def collect(
        self, function: Callable[..., Any], handles: Sequence[Any], *args: Any
    ) -> list[Any]:
        """The values of ``function(thing, *args)``, which are small."""
        return self.client.gather(self.map(function, handles, *args))

    def keep(self, partitions: Sequence[Any], n_rows: Sequence[int]) -> None:
        """Settle partitions: each gets a worker to stay on, and none too many rows.

        The larger ones choose first. One stays where it is if that worker can hold it,
        else it moves to the worker with the fewest rows so far.
        """
        self._wait_for(partitions)
        where = self.client.who_has(partitions)
        load = dict.fromkeys(self.client.nthreads(), 0)
        most = sum(n_rows) / len(load)
        self.partitions = list(partitions)
        for i in sorted(range(len(partitions)), key=n_rows.__getitem__, reverse=True):
            holders = [w for w in where[partitions[i].key] if w in load]
            fits = [w for w in holders if load[w] == 0 or load[w] + n_rows[i] <= most]
            home = min(fits or load, key=load.__getitem__)
            load[home] += n_rows[i]
            if home not in holders:
                self.partitions[i] = self._submit(_same, partitions[i], home=[home])
            self.homes[self.partitions[i].key] = [home]

    def reduce(
        self,
        combine: Callable[[list[Any]], Any],
        function: Callable[..., Any],
        handles: Sequence[Any],
        *args: Any,
        each: Iterable[Any] | None = None,
    ) -> Any:
        """``combine(values)`` of ``function(thing, *args)``, merged on the workers."""
        return self._merged(combine, self.map(function, handles, *args, each=each))

    def _merged(self, combine: Callable[[list[Any]], Any], values: list[Any]) -> Any:
        while True:
            values = [
                self._submit(combine, values[i : i + _MERGED_AT_ONCE])
                for i in range(0, len(values), _MERGED_AT_ONCE)
            ]
            if len(values) == 1:
                return values[0].result()

    def begin(self, trees: Any) -> None:
        """Bring the rows to the roots of some trees."""
        if self._name is None:
            self._name = f"kinlearn-{uuid.uuid4().hex}"
            self.client.register_plugin(Resident(self._name), self._name)
        self._batch += 1
        self._trees, self._plans, self._n_sent = trees, [], 0

    def move(self, plan: Any) -> None:
        """Carry out the splits of a level, before the next request."""
        self._plans.append(plan)

    # ------------------------------------------------------------------------
    # The residents of the workers
    # ------------------------------------------------------------------------

    def _wait_for(self, futures: Sequence[Any]) -> None:
        with self.client.as_current():  # which need not be the default one
            wait(futures)

    def _where(self) -> Groups:
        """By worker: the keys of its partitions, by their numbers."""
        self._wait_for(self.partitions)
        where, workers = self.client.who_has(self.partitions), self.client.nthreads()
        groups: Groups = {}
        for number, partition in enumerate(self.partitions):
            holders = [w for w in where[partition.key] if w in workers]
            if partition.status == "error":
                partition.result()
            if not holders:
                raise Lost(f"Partition {number} is nowhere.")
            (home,) = self.homes[partition.key]
            at = home if home in holders else holders[0]
            groups.setdefault(at, {})[number] = partition.key
        return groups

    def _insist(self, call: Callable[[Groups, Step], Any]) -> Any:
        """The value of ``call(groups, step)``, once more if a worker is lost."""
        for n_failed in range(_MOST_LOSSES + 1):
            try:
                if not self._groups or self._groups.keys() - self.client.nthreads():
                    self._groups, self._n_sent = self._where(), 0
                new = self._plans[self._n_sent :]
                step = Step(self._batch, self._trees, self._n_sent, new)
                value = call(self._groups, step)
            except (Lost, OSError):
                if n_failed == _MOST_LOSSES:
                    raise
                self._groups = {}
                time.sleep(0.1 * n_failed)
            else:
                self._n_sent = len(self._plans)
                return value

    def _run(self, workers: Iterable[str], method: str, *args: Any) -> dict[str, Any]:
        """What a method of some workers' residents returns, by worker."""
        values = self.client.run(serve, self._name, method, *args, workers=[*workers])
        for value in values.values():
            if isinstance(value, Lost):
                raise value
        return values

    def _merged_by_worker(self, request: Any) -> list[Statistics]:
        """Results that were merged on the workers."""

        def call(groups: Groups, step: Step) -> dict[str, Statistics]:
            # one result comes here, or a few, which saves a trip
            runs = split_groups(groups, len(groups) if len(groups) <= _FEW else 1)
            return self._run(runs, "statistics", runs, step, request)

        return [*self._insist(call).values()]

    def statistics(self, request: Any) -> Statistics:
        """The merged result of all rows."""
        return Statistics.merge(self._merged_by_worker(request))

    def drive(self, function: Callable[..., Any], *args: Any) -> Any:
        """The value of ``function(engine, *args)``; see ``LocalPartitions``.

        One of the workers carries it out: from there, the way to the others is short.
        """

        def call(groups: Groups, step: Step) -> Any:
            leader = next(iter(groups))
            try:
                found = self._run([leader], "drive", function, groups, step, args)
            except (Lost, OSError):
                # the function may have moved some rows: all of them begin anew
                self._batch += 1
                raise
            return found[leader]

        return self._insist(call)

    def assemble(
        self, function: Callable[..., Any], jobs: Sequence[Any], *args: Any
    ) -> list[Any]:
        """The values of ``function(rows, job, *args)``; see ``LocalPartitions``."""
        values: dict[int, Any] = {}

        def call(groups: Groups, step: Step) -> None:
            self._run(groups, "get_ready", groups, step)
            workers = self.client.nthreads()
            left = _Left(set(range(len(jobs))) - set(values), sum(workers.values()))

            def keep_busy(worker: str) -> None:
                while mine := left.take():
                    some = [jobs[i] for i in mine]
                    done = self._run(
                        [worker], "grow", function, groups, step, some, args
                    )
                    values.update(zip(mine, done[worker], strict=True))

            left.run_all(keep_busy, workers)

        if jobs:
            self._insist(call)
        return [values[i] for i in range(len(jobs))]


class _Left:
    """Jobs that nobody has taken yet.

    Parameters
    ----------
    numbers : iterable of int
        Of the jobs.
    n_takers : int
        How many will take some.
    """

    def __init__(self, numbers: Iterable[int], n_takers: int) -> None:
        self._numbers = deque(sorted(numbers))
        self._n_takers = n_takers
        self._lock = threading.Lock()

    def take(self) -> list[int]:
        """The next few: fewer towards the end, so that all takers end at once."""
        with self._lock:
            few = min(_JOBS_AT_ONCE, -(-len(self._numbers) // (2 * self._n_takers)))
            return [self._numbers.popleft() for _ in range(few)]

    def run_all(
        self, keep_busy: Callable[[str], None], workers: Mapping[str, int]
    ) -> None:
        """Call ``keep_busy(worker)`` in a thread for each thread of each worker.

        Not waited for after an error, or Ctrl-C: then none takes any more.
        """
        pool = ThreadPoolExecutor(self._n_takers)
        try:
            busy = [
                pool.submit(keep_busy, worker)
                for worker, n_threads in workers.items()
                for _ in range(n_threads)
            ]
            for each in as_completed(busy):
                each.result()
        finally:
            with self._lock:
                self._numbers.clear()
            pool.shutdown(wait=False)
