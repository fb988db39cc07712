"""Run a case in fresh processes and report what came out.

Everybody is timed in the same process, because only then do all see the same
data at the same place, the same allocator and the same clock rate; and the
process is started anew a few times, because where memory happens to lie in one
process shifts all its figures together, which no number of rounds would show.
"""

from dataclasses import asdict

from benchmarks.environment import build_of_kinlearn, machine, missing, now, versions
from benchmarks.speed.measure import peak_memory, time_in_rounds
from benchmarks.speed.summary import fastest_peer, growth, ratio, verdicts
from benchmarks.workers import Failure, Worker

__all__ = ["run_case"]


class CaseFailed(Exception):
    """A process ended without figures."""


def run_case(case, *, runs, repeats, store, report):
    """Measure one case, write a record for each size, and print it.

    Parameters
    ----------
    case : Case
        What to measure.
    runs : int
        Number of fresh processes.
    repeats : int or None
        Rounds in each; None means what the case declares.
    store : JsonLines
        Takes the records.
    report : callable
        Prints a line.

    Returns
    -------
    bool
        False if the case could not be measured.
    """
    report(f"{case.name}: {case.title}")
    if lacking := missing(case.needs):
        report(f"  skipped: needs {', '.join(lacking)}")
        return True
    by_size = {}
    try:
        for size in case.sizes or (None,):
            seconds = _rounds(case, size, runs, repeats or case.repeats)
            peaks, data_bytes = _peaks(case, size, seconds)
            by_size[size] = seconds["ours"]
            _report(case, size, seconds, peaks, data_bytes, store, report)
    except CaseFailed as failed:
        report(f"  failed: {failed}")
        return False
    if len(by_size) > 1:
        exponent = growth(by_size)
        report(f"  growth: n^{exponent:.2f} from {min(by_size):,} to {max(by_size):,}")
        _report_verdicts(verdicts(case.limit, exponent=exponent), report)
        store.append({"case": case.name, "growth": exponent, **_circumstances(case)})
    return True


def _in_worker(case, function, *args):
    with Worker(case.threads) as worker:
        result = worker.call(function, case.name, *args)
    if isinstance(result, Failure):
        raise CaseFailed(result.error)
    return result


def _rounds(case, size, runs, repeats):
    """Seconds of all rounds of all processes, one after another."""
    seconds = {}
    for _ in range(runs):
        of_run = _in_worker(case, time_in_rounds, size, repeats)
        for who, values in of_run.items():
            seconds.setdefault(who, []).extend(values)
    return seconds


def _peaks(case, size, seconds):
    """Peak bytes by contender, and what the data takes."""
    if not case.memory:
        return {}, None
    found = {who: _in_worker(case, peak_memory, size, who) for who in seconds}
    peaks = {who: peak["peak_bytes"] for who, peak in found.items()}
    return peaks, found["ours"]["data_bytes"]


def _report(case, size, seconds, peaks, data_bytes, store, report):
    ratios = {who: ratio(seconds["ours"], seconds[who]) for who in seconds}
    del ratios["ours"]
    judged = verdicts(
        case.limit, seconds=seconds, peak_bytes=peaks.get("ours"), data_bytes=data_bytes
    )
    store.append(
        {
            "case": case.name,
            "size": size,
            "seconds": seconds,
            "ratios": {who: asdict(value) for who, value in ratios.items()},
            "peak_bytes": peaks,
            "data_bytes": data_bytes,
            "verdicts": [asdict(verdict) for verdict in judged],
            **_circumstances(case),
        }
    )
    if size is not None:
        report(f"  n = {size:,}")
    for who in seconds:
        report(
            f"  {who}: {_time_text(seconds[who])}{_peak_text(peaks, who, data_bytes)}"
        )
    fastest = fastest_peer(seconds)
    for who, value in ratios.items():
        mark = " (the fastest peer)" if who == fastest and len(ratios) > 1 else ""
        report(
            f"  {value.best:.3g} x the speed of {who}{mark}; median of "
            f"{len(seconds[who])} rounds {value.median:.3g}, "
            f"range {value.low:.3g} to {value.high:.3g}"
        )
    _report_verdicts(judged, report)


def _report_verdicts(judged, report):
    for verdict in judged:
        word = verdict.side if verdict.side == "within" else verdict.side.upper()
        report(f"  limit {verdict.limit}: {verdict.found}, {word}")


def _time_text(values):
    return f"best {_short(min(values))}, worst {_short(max(values))}"


def _short(seconds):
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= unit:
            return f"{seconds / unit:.3g} {name}"
    return f"{seconds / 1e-9:.3g} ns"


def _peak_text(peaks, who, data_bytes):
    if who not in peaks:
        return ""
    if peaks[who] is None:
        return ", peak memory cannot be measured here"
    text = f", peak memory {peaks[who] / 2**20:.1f} MiB"
    return text + (f" ({peaks[who] / data_bytes:.2f} x the data)" if data_bytes else "")


def _circumstances(case):
    return {
        "threads": case.threads,
        "versions": versions(name.partition(".")[0] for name in case.needs),
        "build": build_of_kinlearn(),
        "machine": machine(),
        "when": now(),
    }
