"""The forest or booster of one machine against the same on a Dask cluster.

    python -m benchmarks.scale --rows 1000000 --trees 10 --workers 2

Rows lie in a file that the workers read their partitions from. Prints whether the
trees are the same, wall and processor time on as many threads as workers, the growth
of the workers' memory over their part of the rows and, with --bytes, what requests
and statistics take by level. With --kills, a worker is killed somewhere in each fit.
"""

import argparse
import itertools
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import dask
import dask.array as da
import numpy as np
import psutil
from dask.sizeof import sizeof
from distributed import Client, LocalCluster

from benchmarks.problems import load
from kinlearn import boosting, trees
from kinlearn import dask as on_dask
from kinlearn.dask import _cluster, _on_dask


def _read(path, first, last):
    return np.load(path, mmap_mode="r")[first:last].copy()


def read_rows(path, n_parts):
    """The rows of a file as a Dask array of so many partitions."""
    rows = np.load(path, mmap_mode="r")
    ends = np.linspace(0, len(rows), n_parts + 1).astype(int)
    parts = [
        da.from_delayed(
            dask.delayed(_read)(path, int(a), int(b)),
            (int(b - a), *rows.shape[1:]),
            rows.dtype,
        )
        for a, b in itertools.pairwise(ends)
    ]
    return da.concatenate(parts)


class CountedPartitions(_cluster.ClusterPartitions):
    """Notes the bytes of each request and of the workers' statistics."""

    log: list = []

    def _merged_by_worker(self, request):
        statistics = super()._merged_by_worker(request)
        sizes = sum(map(sizeof, statistics))
        self.log.append((type(request).__name__, sizeof(request), sizes))
        return statistics

    def move(self, plan):
        self.log.append(("Plan", sizeof(plan), 0))
        super().move(plan)


class Peak(threading.Thread):
    """The largest memory of some processes while it runs."""

    def __init__(self, pids):
        super().__init__(daemon=True)
        self.processes = {pid: psutil.Process(pid) for pid in pids}
        self.first = {p: q.memory_info().rss for p, q in self.processes.items()}
        self.most = dict(self.first)
        self.stop = threading.Event()

    def run(self):
        while not self.stop.wait(0.05):
            for pid, process in self.processes.items():
                rss = process.memory_info().rss
                self.most[pid] = max(self.most[pid], rss)


class Forest(NamedTuple):
    """What is measured: the name of the class, and arrays that make up the model."""

    name: str
    arrays: tuple
    params: dict

    @property
    def local(self):
        """The local class."""
        return getattr(trees, self.name, None) or getattr(boosting, self.name)

    def trees(self, model):
        """The trees of a model, or all in one."""
        found = getattr(model, "trees_", None) or model.forest_
        return found if isinstance(found, list) else [found]

    def same(self, a, b):
        """Whether two models have the same splits and predictions, to the bit."""
        return all(
            np.array_equal(getattr(s, name), getattr(t, name))
            for s, t in zip(self.trees(a), self.trees(b), strict=True)
            for name in self.arrays
        )

    def n_nodes(self, model):
        return sum(len(getattr(t, self.arrays[0])) for t in self.trees(model))


FORESTS = {
    "extra-trees": Forest(
        "MultiTaskExtraTreesClassifier",
        ("nodes", "default_left", "exceptions", "exception_start", "values"),
        {"task_split_prob": 0.5},
    ),
    "random-forest": Forest(
        "MultiTaskRandomForestClassifier",
        ("steps", "decision_indptr", "decision_task", "value_label", "value_share"),
        {},
    ),
    "gradient-boosting": Forest(
        "MultiTaskGradientBoostingClassifier",
        ("nodes", "sets", "values", "departure_task", "departures"),
        {"max_leaf_nodes": 31, "max_bins": 255, "max_features": 1.0},
    ),
}


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--forest", choices=FORESTS, default="extra-trees")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--tasks", type=int, default=1_000)
    parser.add_argument("--trees", type=int, default=10)
    parser.add_argument("--leaf", type=int, default=10)
    parser.add_argument("--workers", type=int, nargs="+", default=[2])
    parser.add_argument("--parts", type=int, default=1, help="for each worker")
    parser.add_argument("--bytes", action="store_true", help="count; slower")
    parser.add_argument("--kills", type=int, default=0)
    args = parser.parse_args(arguments)
    sizes = {
        "n_rows": args.rows,
        "n_features": args.features,
        "n_tasks": args.tasks,
    }
    data = load("dense-classification", **sizes)
    params = {
        "n_estimators": args.trees,
        "task": -1,
        "random_state": 0,
        "min_samples_leaf": args.leaf,
        **FORESTS[args.forest].params,
    }
    local = None
    seconds = {}
    for n in args.workers:
        model = FORESTS[args.forest].local(**params, n_jobs=n)
        start, busy = time.perf_counter(), time.process_time()
        local = model.fit(data.X, data.y)
        seconds[n] = time.perf_counter() - start, time.process_time() - busy
        print(
            "local, {} thread(s): {:.1f} s, processors {:.1f} s".format(n, *seconds[n])
        )
    with tempfile.TemporaryDirectory() as folder:
        paths = [str(Path(folder) / name) for name in ("X.npy", "y.npy")]
        for path, array in zip(paths, (data.X, data.y), strict=True):
            np.save(path, array)
        n_bytes = data.X.nbytes
        del data
        if args.kills:
            survive(args, paths, params, local)
            return
        for n in args.workers:
            run_on_dask(args, n, paths, n_bytes, params, local, seconds[n])


def run_on_dask(args, n, paths, n_bytes, params, local, seconds):
    """Fit on a cluster of n workers and print what came of it."""
    cluster = LocalCluster(
        n_workers=n, threads_per_worker=1, dashboard_address=":0", memory_limit=0
    )
    if args.bytes:
        CountedPartitions.log.clear()
        _on_dask.ClusterPartitions = CountedPartitions
    with cluster, Client(cluster) as client:
        X, y = (read_rows(path, n * args.parts) for path in paths)
        kind = FORESTS[args.forest]
        forest = getattr(on_dask, kind.name)(**params)
        pids = client.run(_warm)
        peak = Peak(pids.values())
        peak.start()
        start, busy = time.perf_counter(), time.process_time()
        workers = sum(client.run(time.process_time).values())
        forest.fit(X, y)
        took = time.perf_counter() - start
        workers = sum(client.run(time.process_time).values()) - workers
        busy = time.process_time() - busy
        peak.stop.set()
    share = n_bytes / n
    growth = [(peak.most[p] - peak.first[p]) / share for p in peak.first]
    print(
        f"Dask, {n} worker(s): {took:.1f} s, {took / seconds[0]:.2f} times the local "
        f"fit; processors: workers {workers:.1f} s, driver and scheduler {busy:.1f} s, "
        f"{(workers + busy) / seconds[1]:.2f} times",
        end="",
    )
    print(f"; memory over a worker's rows: {max(growth):.2f}", end="")
    same = kind.same(forest, local)
    print(f"; same trees: {same} ({kind.n_nodes(local)} nodes)", flush=True)
    if args.bytes:
        level = 0
        for kind, sent, received in CountedPartitions.log:
            level += kind == "Plan"
            print(f"  level {level} {kind}: {sent:,} down, {received:,} up")


class KillingPartitions(_cluster.ClusterPartitions):
    """Kills a worker before one of its requests, or while branches grow."""

    number = 0
    when = 0
    n_requests = 0

    def _kill(self):
        pids = sorted(self.client.run(os.getpid).values())
        os.kill(pids[type(self).number % len(pids)], signal.SIGKILL)

    def statistics(self, request):
        cls = type(self)
        cls.n_requests += 1
        if cls.n_requests == cls.when:
            self._kill()
        return super().statistics(request)

    def assemble(self, *args):
        cls = type(self)
        if cls.n_requests < cls.when:
            pause = 0.02 * (cls.when - cls.n_requests)
            cls.when = cls.n_requests
            threading.Timer(pause, self._kill).start()
        return super().assemble(*args)


def survive(args, paths, params, local):
    """Kill a worker in each of several fits, and count those that end well."""
    _on_dask.ClusterPartitions = KillingPartitions
    rng = np.random.default_rng(0)
    good = 0
    n, kind = args.workers[0], FORESTS[args.forest]
    for number in range(args.kills):
        KillingPartitions.number, KillingPartitions.n_requests = number, 0
        when = KillingPartitions.when = int(rng.integers(1, 41))
        cluster = LocalCluster(
            n_workers=n, threads_per_worker=1, dashboard_address=":0", memory_limit=0
        )
        start = time.perf_counter()
        with cluster, Client(cluster):
            X, y = (read_rows(path, n * args.parts) for path in paths)
            forest = getattr(on_dask, kind.name)(**params).fit(X, y)
        took = time.perf_counter() - start
        killed = KillingPartitions.n_requests >= KillingPartitions.when
        good += killed and kind.same(forest, local)
        print(
            f"killed at moment {when} (requests: {KillingPartitions.n_requests}): "
            f"{took:.1f} s; {good} of {number + 1} fits ended with the same trees",
            flush=True,
        )


def _warm():
    """The process; what a fit imports, this module has imported."""
    return os.getpid()


if __name__ == "__main__":
    sys.exit(main())
