"""Tables of the pages on Cai 2011, from the records of the protocols ``svm-*``.

*Ours* in a table of gains is SVM+MTL. Each other contender has the mean of its error
less that of ours, on the splits of both, with the 95% interval: above 0 ours is better.
"""

from pathlib import Path

import numpy as np

from benchmarks.jsonlines import read_records
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.ranks import results_of
from benchmarks.quality.statistics import corrected_interval

__all__ = [
    "CONTROLS",
    "OURS",
    "PRINTED",
    "SEARCHED",
    "TITLES",
    "beside",
    "cells",
    "gains",
    "kind_of_control",
    "pairs",
    "results",
    "rival_mean",
    "verdicts",
]

OURS, SEARCHED = "kinlearn SVM+MTL", "kinlearn SVM+MTL, C searched"
# what the thesis compares with: columns, by the first part of contenders' names
PRINTED = ("one SVM", "SVM per task")
CONTROLS = (
    "linear",
    "linear, constant per task",
    "one SVM, tasks as features, C searched",
    "SVM per task, C searched",
)
_VARIANTS = ("C searched", "standardised", "equal costs", "not halved")
TITLES = {
    "svm-boston-rad": "Boston by RAD",
    "svm-boston-dis": "Boston by DIS",
    "svm-auto-mpg": "Auto MPG",
    "svm-table-5-4": "made numbers, 20 rows",
    "svm-table-5-5": "made numbers, 50 rows",
    "svm-table-5-6": "made numbers, 100 rows, little noise",
    "svm-heart": "heart",
    "svm-ljubljana": "Ljubljana by age",
    "svm-ljubljana-deg-malig": "Ljubljana by malignancy",
    "svm-ljubljana-inv-nodes": "Ljubljana by nodes",
    "svm-ljubljana-breast": "Ljubljana by side",
    "svm-wisconsin": "Wisconsin",
    "svm-hepatitis": "hepatitis",
    "svm-heart-costs": "heart, with costs",
    "svm-costs-made": "made classes, with costs",
    "svm-figure-4-2": "two features, with costs",
    **{f"svm-nine-ones-{n}": f"made classes, {n} rows" for n in (15, 50, 100)},
    **{
        f"svm-nine-ones-seven-{n}": f"made classes (other third task), {n} rows"
        for n in (15, 50, 100)
    },
    **{
        f"svm-landmine{mark}-{n}-{rows}": f"landmine{word}, {n} rows, {rows}"
        for mark, word in (("", ""), ("-third", ", a third mines"))
        for n in (40, 80, 160)
        for rows in ("first", "last", "random")
    },
    **{
        f"svm-table-6-1-{n}": f"made classes, noise, {n} rows"
        for n in (900, 1500, 2400)
    },
    **{f"svm-table-6-{k}": f"made numbers, table 6.{k}" for k in (3, 4, 5)},
}  # fmt: skip


def results(name, folder):
    """What the records have of a protocol."""
    protocol = PROTOCOLS[name]
    return results_of(protocol, read_records(Path(folder) / f"{name}.jsonl"))


def _selected(names, folder):
    found = [results(each.name, folder) for each in PROTOCOLS.select(names)]
    return [each for each in found if each.scores]


def _is_variant(name):
    return any(word in name for word in _VARIANTS)


def kind_of_control(name):
    """Which of the `CONTROLS` a contender is, if any."""
    if name.startswith(("logistic", "ridge")):
        return CONTROLS["constant per task" in name]
    return name if name in CONTROLS else None


def printed(found, start):
    """The best on average of the contenders of the thesis whose name begins so."""
    names = [
        name
        for name in found.scores
        if name.startswith(start) and not _is_variant(name)
    ]
    return min(names, key=lambda each: _mean(found, each), default=None)


def _mean(found, name):
    return float(np.mean(list(found.scores[name].values())))


def pairs(found, ours=OURS):
    """The gain of ours over each contender of the thesis, and each control.

    Returns
    -------
    dict of str to Interval
        By the names of `PRINTED` and `CONTROLS`, as far as there are records.
    """
    out = {}
    for key, rival in _rivals(found).items():
        values = found.difference(ours, rival)
        if len(values) > 1:
            out[key] = corrected_interval(values, found.test_ratio)
    return out


def _rivals(found):
    """Contenders by the names of `PRINTED` and `CONTROLS`."""
    rivals = {start: printed(found, start) for start in PRINTED}
    controls = {kind_of_control(name): name for name in found.scores}
    rivals |= {key: controls.get(key) for key in CONTROLS}
    return {key: name for key, name in rivals.items() if name}


def rival_mean(found, ours, key):
    """The rival's mean error over the splits of both."""
    rival = _rivals(found)[key]
    return found.means([ours, rival])[1]


def cells(names, folder):
    """All contenders, a column for each protocol: means and deviations over splits."""
    found = _selected(names, folder)
    if not found:
        return [["contender"]]
    rows = [["contender", *(f"`{each.name}`" for each in found)]]
    n_splits = [max(map(len, each.scores.values())) for each in found]
    rows.append(["splits", *map(str, n_splits)])
    declared = [PROTOCOLS[each.name] for each in found]
    for name in dict.fromkeys(c.name for each in declared for c in each.contenders):
        line = [
            _cell(list(each.scores.get(name, {}).values()), n, each.metric.digits)
            for each, n in zip(found, n_splits, strict=True)
        ]
        if any(line):
            rows.append([name, *line])
    theirs = [
        {p.name: p.values[each.metric.name] for p in protocol.published}
        for each, protocol in zip(found, declared, strict=True)
    ]
    for name in dict.fromkeys(name for each in theirs for name in each):
        values = (each.get(name) for each in theirs)
        rows.append(
            [f"published: {name}", *("" if v is None else f"{v:g}" for v in values)]
        )
    return rows


def _cell(values, n, digits):
    if not values:
        return ""
    fewer = f" ({len(values)})" if len(values) < n else ""
    spread = f" ± {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}{fewer}"


def gains(names, folder, ours=OURS):
    """How much better ours is than each rival of the thesis and each control."""
    rows = [["data", "splits", "SVM+MTL", *PRINTED, *CONTROLS]]
    for found in _selected(names, folder):
        if ours not in found.scores:
            continue
        digits = found.metric.digits
        line = pairs(found, ours)
        rows.append(
            [
                TITLES[found.name],
                str(len(found.scores[ours])),
                f"{_mean(found, ours):.{digits}f}",
                *(_interval(line.get(key), digits) for key in (*PRINTED, *CONTROLS)),
            ]
        )
    return rows


def _interval(interval, digits):
    if interval is None:
        return ""
    form = f"+.{digits}f"
    text = f"{interval.mean:{form}} [{interval.low:{form}}, {interval.high:{form}}]"
    return f"**{text}**" if interval.low > 0 or interval.high < 0 else text


def beside(names, folder):
    """The level: ours and the published figures of the thesis's three methods."""
    rows = [["data", "splits", "one SVM", "published", "SVM per task", "published",
             "SVM+MTL", "published"]]  # fmt: skip
    for found in _selected(names, folder):
        digits = found.metric.digits
        published = {
            p.name: p.values[found.metric.name] for p in PROTOCOLS[found.name].published
        }
        names = {start: printed(found, start) for start in (*PRINTED, OURS)}
        there = [name for name in names.values() if name]
        if not there:
            continue
        splits = set.intersection(*(set(found.scores[name]) for name in there))
        line = [TITLES[found.name], str(len(splits))]
        means = dict(zip(there, found.means(there) or (), strict=False))
        for start, name in names.items():
            line.append(f"{means[name]:.{digits}f}" if name in means else "")
            theirs = [
                value
                for method, value in published.items()
                if method.startswith(start.removeprefix("kinlearn "))
                and not _is_variant(method)
            ]
            if start == OURS and "GSMO" in published:
                theirs = [published["GSMO"]]
            line.append(f"{min(theirs):g}" if theirs else "")
        rows.append(line)
    return rows


def verdicts(names, folder):
    """On how many problems SVM+MTL is better and worse than each rival."""
    rows = [["SVM+MTL against", "problems", "significantly better", "level",
             "significantly worse"]]  # fmt: skip
    found = _selected(names, folder)
    for ours, keys in ((OURS, PRINTED), (OURS, CONTROLS), (SEARCHED, CONTROLS)):
        for key in keys:
            intervals = {
                each.name: pairs(each, ours)[key]
                for each in found
                if key in pairs(each, ours)
            }
            if not intervals:
                continue
            better = [TITLES[name] for name, i in intervals.items() if i.low > 0]
            worse = [TITLES[name] for name, i in intervals.items() if i.high < 0]
            level = len(intervals) - len(better) - len(worse)
            named = [f"{len(some)}: {'; '.join(some)}" if some else "0"
                     for some in (better, worse)]  # fmt: skip
            title = f"{key} (both C searched)" if ours == SEARCHED else key
            rows.append([title, str(len(intervals)), named[0], str(level), named[1]])
    return rows
