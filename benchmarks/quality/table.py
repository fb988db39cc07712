"""Ours, the peers and what was published, as one Markdown table."""

import math
from collections import Counter

import numpy as np

from benchmarks.environment import build_of_kinlearn, missing, versions
from benchmarks.quality.code import fingerprint
from benchmarks.quality.statistics import corrected_interval

__all__ = ["render"]


def render(protocol, runs, done, *, times=True):
    """The table of what is done, with its footnotes.

    Parameters
    ----------
    protocol : Protocol
        What was run.
    runs : list of Run
        The runs that the table is about; those not in `done` are missing.
    done : dict of str to dict
        Records by key.
    times : bool, default=True
        Whether to show how long a fit took; it differs from time to time.

    Returns
    -------
    str
        Markdown.
    """
    records = {each.name: {} for each in protocol.contenders}
    for run in runs:
        if run.key in done:
            records[run.contender][run.split] = done[run.key]
    succeeded = {
        name: {split: r for split, r in by_split.items() if r["error"] is None}
        for name, by_split in records.items()
    }
    rows = [_heading(protocol, times)]
    rows.append(["---"] * len(rows[0]))
    rows += [
        _contender_row(protocol, contender, succeeded, times)
        for contender in _in_order(protocol, succeeded)
    ]
    rows += [_published_row(protocol, each, times) for each in protocol.published]
    lines = [f"## {protocol.name}: {protocol.title}", ""]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    lines += ["", *_footnotes(protocol, runs, records, succeeded)]
    return "\n".join(lines) + "\n"


def _heading(protocol, times):
    heading = ["contender", "kind", "splits"]
    for metric in protocol.metrics:
        heading += [metric.label, f"against {protocol.baseline}"]
    return heading + (["fit, s"] if times else [])


def _in_order(protocol, succeeded):
    """Ours first, then the peers; each group by the first metric."""
    metric = protocol.metrics[0]

    def rank(contender):
        scores = _values(succeeded[contender.name], metric)
        mean = np.mean(list(scores.values())) if scores else -math.inf
        sign = -1 if metric.greater_is_better or not scores else 1
        return contender.kind != "ours", sign * mean

    return sorted(protocol.contenders, key=rank)


def _values(by_split, metric):
    return {split: record["scores"][metric.name] for split, record in by_split.items()}


def _test_ratio(records):
    return float(np.mean([record["n_test"] / record["n_train"] for record in records]))


def _contender_row(protocol, contender, succeeded, times):
    by_split = succeeded[contender.name]
    row = [contender.name, contender.kind, str(len(by_split))]
    if not by_split:
        lacking = missing(contender.needs)
        what = f"needs {', '.join(lacking)}" if lacking else "none finished"
        row[2] = f"0 ({what})"
        return row + ["-"] * (2 * len(protocol.metrics) + times)
    test_ratio = 0.0 if protocol.independent else _test_ratio(by_split.values())
    baseline = succeeded[protocol.baseline]
    for metric in protocol.metrics:
        scores = _values(by_split, metric)
        mean = corrected_interval(list(scores.values()), test_ratio)
        mark = ""
        if contender.kind == "ours":
            mark = _behind(protocol, contender, metric, mean.mean)
        row.append(_interval_text(mean, metric.digits) + mark)
        row.append(
            _difference(contender, protocol, metric, scores, baseline, test_ratio)
        )
    if times:
        seconds = [record["fit_seconds"] for record in by_split.values()]
        row.append(f"{np.median(seconds):.2f}")
    return row


def _difference(contender, protocol, metric, scores, baseline, test_ratio):
    if contender.name == protocol.baseline:
        return "baseline"
    theirs = _values(baseline, metric)
    both = [scores[split] - theirs[split] for split in scores if split in theirs]
    if not both:
        return "-"
    return _interval_text(corrected_interval(both, test_ratio), metric.digits, sign="+")


def _interval_text(interval, digits, sign=""):
    form = f"{sign}.{digits}f"
    if math.isnan(interval.low):
        return format(interval.mean, form)
    low, high = format(interval.low, form), format(interval.high, form)
    return f"{interval.mean:{form}} [{low}, {high}]"


def _behind(protocol, contender, metric, mean):
    """Which limits and figures our mean does not reach, as a note in its cell."""
    sign = 1 if metric.greater_is_better else -1
    marks = {"limit": {**protocol.limits, **contender.limits}.get(metric.name)}
    figures = [
        each.values[metric.name]
        for each in protocol.published
        if metric.name in each.values
    ]
    marks["published"] = max(figures, key=lambda v: sign * v, default=None)
    behind = [
        f"{what} {mark:g}"
        for what, mark in marks.items()
        if mark is not None and sign * (mean - mark) < -1e-12  # not by rounding
    ]
    side = "below" if metric.greater_is_better else "above"
    return f" **{side}** {', '.join(behind)}" if behind else ""


def _published_row(protocol, published, times):
    row = [published.name, "published", "-"]
    for metric in protocol.metrics:
        value = published.values.get(metric.name)
        row += ["-" if value is None else f"{value:g}", "-"]
    return row + (["-"] if times else [])


def _footnotes(protocol, runs, records, succeeded):
    interval = "corrected resampled t interval (Nadeau and Bengio 2003)"
    if protocol.independent:
        interval = "t interval, since no row trains in two splits"
    notes = [
        f"Mean over splits, with the 95% {interval}; differences are paired by split "
        f"with {protocol.baseline}."
    ]
    notes += _circumstances(succeeded)
    notes += [f"{each.name}: {each.source}." for each in protocol.published]
    expected = Counter(run.contender for run in runs)
    for contender in protocol.contenders:
        name = contender.name
        failed = [r for r in records[name].values() if r["error"] is not None]
        for error, count in Counter(r["error"] for r in failed).items():
            notes.append(f"{name}: {count} runs failed, {error}")
        if not missing(contender.needs) and len(records[name]) < expected[name]:
            notes.append(f"{name}: {len(records[name])} of {expected[name]} runs done.")
        older = sum(_is_older(contender, r) for r in succeeded[name].values())
        if older:
            notes.append(
                f"{name}: {older} runs were made by other versions than those "
                f"installed now; --again {name} redoes them."
            )
    return [f"- {note}" for note in notes]


def _circumstances(succeeded):
    """What the figures were measured with, and on."""
    records = [
        record for by_split in succeeded.values() for record in by_split.values()
    ]
    found = {}
    for record in records:
        for name, version in record["versions"].items():
            found.setdefault(name, set()).add(str(version))
    if not found:
        return []
    packages = (f"{name} {' / '.join(sorted(found[name]))}" for name in sorted(found))
    machines = sorted({record["machine"] for record in records})
    return [f"Measured with {', '.join(packages)} on {' / '.join(machines)}."]


def _is_older(contender, record):
    if "code" in record and contender.kind == "ours":
        return record["code"] != fingerprint(contender.make, contender.params)
    if contender.kind == "ours":
        return record["build"] != build_of_kinlearn()
    current = versions(contender.packages)
    return any(
        record["versions"].get(name) != current[name]
        for name in current
        if name != "kinlearn"
    )
