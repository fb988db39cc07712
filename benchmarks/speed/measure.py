"""What runs in the fresh process: timing in rounds, and peak memory.

Peak memory is the high-water mark of the resident set, which counts what the
kernels allocate by themselves; `tracemalloc` sees only what goes through
Python's allocators, and slows the code down. The mark is set back before the
call (Linux, ``/proc/self/clear_refs``), so that neither the making of the data
nor an import counts. It is read as VmHWM: `ru_maxrss` starts at the mark of
the parent process, which would hide smaller peaks.
"""

import ctypes
import gc
import math
from contextlib import suppress
from time import perf_counter

import benchmarks.speed.cases  # noqa: F401 - declares the cases
from benchmarks.speed.case import CASES, Seconds

__all__ = ["peak_memory", "time_in_rounds"]

# A shorter measurement is mostly noise of the clock and the scheduler.
SHORTEST = 0.02


def _build(name, size):
    case = CASES[name]
    return case.build() if size is None else case.build(size)


def _timed(call, number):
    gc.collect()
    gc.disable()
    try:
        start = perf_counter()
        for _ in range(number):
            result = call()
        elapsed = perf_counter() - start
    finally:
        gc.enable()
    if isinstance(result, Seconds):
        return float(result), result
    return elapsed / number, result


def _warm_up(call):
    """Run until caches and lazy imports are done; how often to call per timing."""
    seconds, result = _timed(call, 1)
    if isinstance(result, Seconds):
        return 1, result
    if seconds < SHORTEST:
        seconds, result = _timed(call, 1)
    return max(1, math.ceil(SHORTEST / max(seconds, 1e-9))), result


def time_in_rounds(name, size, repeats):
    """Seconds per call of everybody, in alternating rounds.

    Parameters
    ----------
    name : str
        A case.
    size : int or None
        One of its sizes.
    repeats : int
        Number of rounds. In each, everybody is timed once; who begins changes
        from round to round, so that a slow second hits nobody always.

    Returns
    -------
    dict of str to list of float
        ``"ours"`` and the peers' names; entry i of each list is of round i.
    """
    work = _build(name, size)
    calls = {"ours": work.ours, **work.peers}
    numbers = {}
    results = {}
    for who, call in calls.items():
        numbers[who], results[who] = _warm_up(call)
        if work.check is not None and who != "ours":
            work.check(results["ours"], results.pop(who))
    results.clear()
    order = list(calls)
    seconds = {who: [] for who in order}
    for _ in range(repeats):
        for who in order:
            seconds[who].append(_timed(calls[who], numbers[who])[0])
        order = order[1:] + order[:1]
    return seconds


def peak_memory(name, size, who):
    """Bytes that one call of `who` needs beyond what was there before it.

    Returns
    -------
    dict
        ``peak_bytes`` (None where the system cannot set the mark back) and
        ``data_bytes``.
    """
    work = _build(name, size)
    call = work.ours if who == "ours" else work.peers[who]
    call()  # lazy imports and lasting caches are not the call's own memory
    gc.collect()
    with suppress(OSError, AttributeError):  # freed memory goes back first
        ctypes.CDLL(None).malloc_trim(0)
    peak = None
    if _reset_high_water():
        before = _high_water()
        result = call()
        peak = _high_water() - before
        del result
    return {"peak_bytes": peak, "data_bytes": work.data_bytes}


def _reset_high_water():
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        return False
    return True


def _high_water():
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024
