"""Do the runs of a protocol that are not done yet.

A run is one contender on one split. The parent alone writes; workers fit and
predict, with one thread each. A worker that dies costs one run, which is
recorded as failed, and a new worker takes its place.
"""

import functools
import math
import resource
from collections import Counter, deque
from dataclasses import dataclass
from multiprocessing import connection
from time import perf_counter, process_time

import numpy as np

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.environment import (
    build_of_kinlearn,
    commit_of_source,
    machine,
    missing,
    now,
    versions,
)
from benchmarks.problems import load
from benchmarks.quality.code import fingerprint
from benchmarks.quality.protocol import PROTOCOLS, run_key, split_fingerprint
from benchmarks.registry import BenchmarkError
from benchmarks.workers import Failure, Worker

__all__ = ["Run", "finished", "forget", "plan", "run_protocol"]


@dataclass(frozen=True)
class Run:
    """One contender on one split, and the key it is found by."""

    protocol: str
    contender: str
    split: int
    key: str


def plan(protocol, n_splits):
    """All runs of the first `n_splits` splits, split by split.

    Contenders take turns, so that a stopped benchmark has all of them on the
    splits that it got to.
    """
    try:
        problem = _problem(protocol.problem)
    except OSError as error:
        raise BenchmarkError(f"{protocol.name}: {error}") from error
    data = problem.fingerprint()
    runs = []
    for number in range(n_splits):
        split = split_fingerprint(*protocol.split(problem, number))
        for contender in protocol.contenders:
            key = run_key(protocol, contender, data=data, split=split, number=number)
            runs.append(Run(protocol.name, contender.name, number, key))
    return runs


def finished(records):
    """The last record of each key that was not forgotten since."""
    found = {}
    for record in records:
        if "forget" in record:
            found.pop(record["forget"], None)
        else:
            found[record["key"]] = record
    return found


def forget(store, runs):
    """Mark finished runs as to be done again, durably; how many there were."""
    done = finished(store.records)
    again = [run.key for run in runs if run.key in done]
    for key in again:
        store.append({"forget": key})
    return len(again)


def run_protocol(protocol, runs, store, *, jobs, report, seconds=None):
    """Do the runs that the store does not hold, and append each as it ends.

    Runs whose contender has other code than when they were done are done again; the
    older records stay in the file.

    Parameters
    ----------
    protocol : Protocol
        What they belong to.
    runs : list of Run
        From `plan`; those of contenders that cannot be imported are left out.
    store : JsonLines
        Takes the records.
    jobs : int
        Number of workers.
    report : callable
        Prints a line.
    seconds : int, default=None
        Processor time that a run may take; one that needs more is recorded as failed.
    """
    done = finished(store.records)
    lacking = {each.name: missing(each.needs) for each in protocol.contenders}
    for name, modules in lacking.items():
        if modules:
            report(f"left out: {name} needs {', '.join(modules)}")
    changed = _changed(protocol, runs, done)
    for name, number in Counter(run.contender for run in changed).items():
        report(f"{name}: its code changed since {number} runs, which are done again")
    again = {run.key for run in changed}
    waiting = deque(
        run
        for run in runs
        if (run.key not in done or run.key in again) and not lacking[run.contender]
    )
    before = sum(run.key in done and run.key not in again for run in runs)
    report(f"{len(waiting)} runs to do, {before} done before")
    for number, (run, result) in enumerate(_results(waiting, jobs, seconds), start=1):
        if seconds and isinstance(result, Failure) and "SIGXCPU" in result.error:
            result = Failure(f"No result within {seconds} s of processor time.")
        record = _record(protocol, run, result)
        store.append(record)
        outcome = record["error"] or _scores_text(protocol, record["scores"])
        report(f"{number}: split {run.split}, {run.contender}: {outcome}")


def _changed(protocol, runs, done):
    """Finished runs whose contender has other code now; records without are kept."""
    now = {
        each.name: fingerprint(each.make, each.params) for each in protocol.contenders
    }
    return [
        run
        for run in runs
        if run.key in done
        and done[run.key].get("code", now[run.contender]) != now[run.contender]
    ]


def _results(waiting, jobs, seconds):
    """(run, result) as the workers return them, one worker for each job."""
    workers = {}
    try:
        while waiting or workers:
            while waiting and len(workers) < jobs:
                worker = Worker()
                run = _send(worker, waiting, seconds)
                workers[worker.connection] = (worker, run)
            for ready in connection.wait(list(workers)):
                worker, run = workers.pop(ready)
                result = worker.receive()
                if waiting and worker.alive:
                    workers[ready] = (worker, _send(worker, waiting, seconds))
                else:
                    worker.close()
                yield run, result
    finally:
        for worker, _ in workers.values():
            worker.close()


def _send(worker, waiting, seconds):
    run = waiting.popleft()
    worker.send(_run_one, run, seconds)
    return run


@functools.lru_cache(maxsize=1)
def _problem(name):
    return load(name)


def _run_one(run, seconds):
    """In the worker: fit, predict and score."""
    protocol = PROTOCOLS[run.protocol]
    contender = protocol.contender(run.contender)
    problem = _problem(protocol.problem)
    train, test = protocol.split(problem, run.split)
    model = contender.make(problem, run.split, **contender.params)
    _limit_processor_time(seconds)
    start, used = perf_counter(), process_time()
    if protocol.methods != ("fit_predict",):
        model = model.fit(problem.X[train], problem.y[train])
    fitted = perf_counter()
    prediction = _predict(model, problem.X[test], protocol.methods)
    predicted, used = perf_counter(), process_time() - used
    y, task = problem.y[test], problem.task[test]
    scores = {}
    for metric in protocol.metrics:
        scores[metric.name] = float(metric.score(y, prediction, task))
        if not math.isfinite(scores[metric.name]):
            raise ValueError(f"{metric.name} is {scores[metric.name]}")
    return {
        "scores": scores,
        "n_train": len(train),
        "n_test": len(test),
        "fit_seconds": round(fitted - start, 3),
        "predict_seconds": round(predicted - fitted, 3),
        "processor_seconds": round(used, 3),
    }


def _limit_processor_time(seconds):
    """From now on; the system ends the process that uses more."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = math.ceil(process_time()) + seconds if seconds else hard
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _predict(model, X, methods):
    method = next((name for name in methods if hasattr(model, name)), None)
    if method is None:
        raise TypeError(f"{type(model).__name__} has none of {', '.join(methods)}")
    prediction = np.asarray(getattr(model, method)(X))
    if method == "predict_proba" and prediction.shape[1] == 2:
        return prediction[:, 1]
    return prediction


def _record(protocol, run, result):
    contender = protocol.contender(run.contender)
    record = {
        "key": run.key,
        "protocol": run.protocol,
        "contender": run.contender,
        "params": dict(contender.params),
        "split": run.split,
        "versions": versions(contender.packages),
        **_code(contender),
        "machine": machine(),
        "when": now(),
        "error": None,
    }
    if isinstance(result, Failure):
        return record | {"error": result.error, "details": _place(result.details)}
    return record | result


def _code(contender):
    """What it runs, and what ours was compiled from; peers have versions."""
    code = fingerprint(contender.make, contender.params)
    if contender.kind != "ours":
        return {"build": None, "code": code}
    return {"build": build_of_kinlearn(), "commit": commit_of_source(), "code": code}


def _place(traceback):
    """The innermost call of a traceback: files of records stay small."""
    return "\n".join(traceback.splitlines()[-4:])


def _scores_text(protocol, scores):
    return ", ".join(
        f"{metric.name} {scores[metric.name]:.{metric.digits}f}"
        for metric in protocol.metrics
    )
