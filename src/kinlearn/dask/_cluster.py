"""The cluster as an engine: plans and questions go out, merged answers come back.

Everything that runs on a worker is a pure function of its inputs, and everything that
is sent is a task as well. So when a worker is lost, Dask computes what it held again:
the rows from their source, and their places in the trees from the splits.
"""

import itertools
import pickle

from distributed import Client, default_client, wait

from kinlearn.trees.partitioned import Answer

__all__ = ["ClusterParts", "find_client"]

# What is smaller goes along with each task; larger things are sent once.
_SMALL_BYTES = 20_000
_MERGED_AT_ONCE = 8


def find_client(client=None):
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


def _same(thing):
    return thing


def _begin(share, trees):
    return share.begin(trees)


def _move(share, places, plan):
    return share.move(places, plan)


def _answer(shares, places, numbers, question):
    """The answer of some parts."""
    merged = None
    for share, at in zip(shares, places, strict=True):
        answer = share.answer(at, question)
        merged = answer if merged is None else Answer.merge([merged, answer])
    return merged


def _pieces(shares, places, numbers, job):
    """The pieces of some parts, with the numbers of these."""
    return [
        (number, share.piece(at, job))
        for number, share, at in zip(numbers, shares, places, strict=True)
    ]


def _together(function, groups, job, *args):
    """The value of a function of all pieces, in the order of the parts."""
    pieces = dict(itertools.chain(*groups))
    return function([pieces[number] for number in sorted(pieces)], job, *args)


class ClusterParts:
    """Parts of the rows on the workers of a cluster; see ``LocalParts``.

    Parameters
    ----------
    client : Client
        Of the cluster.
    """

    # A worker has its own rows too, and pieces for other jobs: with more room it takes
    # more than twice the memory of its rows, with less there are more messages.
    room = 1 / 6

    def __init__(self, client):
        self.client = client
        self.shares = []
        self.places = []
        self.homes = {}  # of a share's key, as Dask wants it: a list of workers

    def __enter__(self):
        return self

    def __exit__(self, *error):
        # workers forget what nobody wants
        self.shares, self.places, self.homes = [], [], {}

    @property
    def n_places(self):
        """Number of workers."""
        return max(len(self.client.nthreads()), 1)

    def read(self, parts):
        """Compute delayed parts on the workers; handles of them."""
        return self.client.compute(parts)

    def _submit(self, function, *args, home=None):
        """A handle of ``function(*args)``, at home while that worker lives."""
        return self.client.submit(
            function, *args, pure=False, workers=home, allow_other_workers=bool(home)
        )

    def _send(self, thing):
        """The thing itself if it is small, or a task that gives it.

        Not scattered: what is scattered to a worker is lost with it.
        """
        if len(pickle.dumps(thing, protocol=5)) <= _SMALL_BYTES:
            return thing
        return self._submit(_same, thing)

    def map(self, function, handles, *args, each=None):
        """Handles of ``function(thing, *args)``; see ``LocalParts.map``."""
        sent = [self._send(arg) for arg in args]
        own = [()] * len(handles) if each is None else [(thing,) for thing in each]
        return [
            self._submit(
                function, handle, *first, *sent, home=self.homes.get(handle.key)
            )
            for handle, first in zip(handles, own, strict=True)
        ]

    def collect(self, function, handles, *args):
        """The values of ``function(thing, *args)``, which are small."""
        return self.client.gather(self.map(function, handles, *args))

    def keep(self, shares, n_rows):
        """Settle shares: each gets a worker to stay on, and none too many rows.

        The larger ones choose first. One stays where it is if that worker has room,
        else it moves to the worker with the fewest rows so far.
        """
        wait(shares)
        where = self.client.who_has(shares)
        load = dict.fromkeys(self.client.nthreads(), 0)
        room = sum(n_rows) / len(load)
        self.shares = list(shares)
        for i in sorted(range(len(shares)), key=n_rows.__getitem__, reverse=True):
            holders = [w for w in where[shares[i].key] if w in load]
            fits = [w for w in holders if load[w] == 0 or load[w] + n_rows[i] <= room]
            home = min(fits or load, key=load.__getitem__)
            load[home] += n_rows[i]
            if home not in holders:
                self.shares[i] = self._submit(_same, shares[i], home=[home])
            self.homes[self.shares[i].key] = [home]

    def reduce(self, combine, function, handles, *args, each=None):
        """``combine(values)`` of ``function(thing, *args)``, merged on the workers."""
        return self._merged(combine, self.map(function, handles, *args, each=each))

    def _merged(self, combine, values):
        while True:
            values = [
                self._submit(combine, values[i : i + _MERGED_AT_ONCE])
                for i in range(0, len(values), _MERGED_AT_ONCE)
            ]
            if len(values) == 1:
                return values[0].result()

    def begin(self, trees):
        """Bring the rows to the roots of some trees."""
        self.places = self.map(_begin, self.shares, trees)

    def move(self, plan):
        """Carry out the splits of a level."""
        sent = self._send(plan)
        self.places = [
            self._submit(_move, share, places, sent, home=self.homes[share.key])
            for share, places in zip(self.shares, self.places, strict=True)
        ]

    def _at_home(self, function, thing):
        """Handles of ``function(shares, places, numbers, thing)``, one a worker.

        Parts whose worker is lost may be anywhere by now, so they are asked one by one.
        """
        workers, sent = self.client.nthreads(), self._send(thing)
        groups: dict = {}
        for i, share in enumerate(self.shares):
            (home,) = self.homes[share.key]
            groups.setdefault(home if home in workers else i, []).append(i)
        return [
            self._submit(
                function,
                [self.shares[i] for i in numbers],
                [self.places[i] for i in numbers],
                numbers,
                sent,
                home=self.homes[self.shares[numbers[0]].key],
            )
            for numbers in groups.values()
        ]

    def ask(self, question):
        """The answer of all rows, merged on the workers."""
        return self._merged(Answer.merge, self._at_home(_answer, question))

    def assemble(self, function, jobs, *args):
        """The values of ``function(pieces, job, *args)``; see ``LocalParts``.

        On the workers in turn, three at a time for two threads: those that wait keep
        threads busy, and take memory.
        """
        sent = [self._send(arg) for arg in args]
        workers = self.client.nthreads()
        at_once = max(2, 3 * sum(workers.values()) // 2)
        turns = itertools.cycle(workers)
        values: dict = {}
        waiting: dict = {}
        for i, job in enumerate(jobs):
            if len(waiting) == at_once:
                done = wait([*waiting], return_when="FIRST_COMPLETED").done
                values |= {waiting.pop(grown): grown.result() for grown in done}
            pieces = self._at_home(_pieces, job)
            grown = self._submit(
                _together, function, pieces, job, *sent, home=[next(turns)]
            )
            waiting[grown] = i
        values |= {i: grown.result() for grown, i in waiting.items()}
        return [values[i] for i in range(len(jobs))]
