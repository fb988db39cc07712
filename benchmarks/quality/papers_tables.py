"""Tables of the pages on trees and boosting: published figures beside the records'.

Kinds of tables, as marks on pages call them: ``by-task``, ``side-by-side``, ``gains``,
``draw-rules`` and ``correlations``. Each gives rows of cells, the heading first.
"""

from pathlib import Path

import numpy as np
from scipy.stats import ttest_rel

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.jsonlines import read_records
from benchmarks.quality import mtboost_correlations
from benchmarks.quality.abstaining import SETS, WAYS
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.ranks import results_of
from benchmarks.quality.statistics import corrected_interval

__all__ = ["GAINS", "TABLES", "scores_of", "short"]

# protocols: pairs of contenders whose difference is asked for
_BOOSTERS = (
    ("MTBoost, printed form, ridge 0.001", "alone, printed form, ridge 0.001"),
    ("MTBoost, printed form, ridge 10", "alone, printed form, ridge 10"),
    ("MTBoost, defaults", "alone, defaults"),
    ("MTBoost, auto", "alone, auto"),
    ("MTBoost, defaults", "pooled, defaults"),
    ("MTBoost, defaults", "MTRL"),
    ("MTBoost, auto", "MTRL"),
    ("MTBoost, defaults", "logistic, alone"),
    ("MTBoost, defaults", "logistic, pooled"),
)
_STUMPS = (
    ("MTMH NB", "AMH"),
    ("two levels, each task alone", "AMH"),
    ("MTMH NB", "two levels, each task alone"),
    ("MTMH NBPT", "two levels, each task alone"),
    ("MT-DT IG_M", "C4.5"),
    ("MT-DT IG_M", "MT-DT IG_J"),
    ("MT-DT IG_M", "MT-DT IG_U"),
    ("MTRF IG_M", "MTRF, each task alone"),
)
_DIGITS = (
    ("kinlearn MTAA, 500 rounds", "AdaBoost, 100 rounds"),
    ("kinlearn MTAA of one level, 500 rounds", "AdaBoost, 100 rounds"),
    ("kinlearn two-level trees alone, 100 rounds", "AdaBoost, 100 rounds"),
    ("kinlearn MTAA, 500 rounds", "kinlearn two-level trees alone, 100 rounds"),
)
_FOREST = "kinlearn, task split probability"
_FORESTS = (
    (f"{_FOREST} 0.25", "extra trees, one-hot tasks"),
    (f"{_FOREST} 0.25", f"{_FOREST} 0"),
    (f"{_FOREST} 0.25", "extra trees, each task alone"),
    (f"{_FOREST} 0.25", "one-hot tasks, K of the columns that vary"),
)
_DEFAULTS = tuple(
    ("kinlearn extra trees (defaults)", peer)
    for peer in ("lightgbm", "lightgbm-pooled", "catboost", "hist-gradient-boosting")
)
PAPERS = {
    "mtboost": _BOOSTERS,
    "bayesnet": _STUMPS,
    "boosting": _DIGITS,
    "simm": _FORESTS,
}
GAINS = {**PAPERS, "landmine": _DEFAULTS, "school": _DEFAULTS}


def short(name):
    """A contender as pages call it."""
    return name.removeprefix("kinlearn").removeprefix(",").strip()


def scores_of(protocol, folder, metric=None):
    """Scores of a metric by contender and split, as declared now.

    Parameters
    ----------
    protocol : Protocol
        Whose.
    folder : path-like
        Of the files of records.
    metric : Metric, default=None
        None is the first of the protocol.

    Returns
    -------
    Results
        Contenders in the order of the protocol.
    """
    records = read_records(Path(folder) / f"{protocol.name}.jsonl")
    found = results_of(protocol, records, metric)
    order = [each.name for each in protocol.contenders if each.name in found.scores]
    found.scores.update({name: found.scores.pop(name) for name in order})
    return found


def _with_deviation(values, digits):
    if not values:
        return "-"
    mean = f"{np.mean(values):.{digits}f}"
    if len(values) < 2:
        return mean
    return f"{mean} ± {np.std(values, ddof=1):.{digits}f}"


def _by_task(names, folder):
    """Each contender's mean and deviation over the splits, for each task."""
    (protocol,) = PROTOCOLS.select(names)
    found = [scores_of(protocol, folder, metric) for metric in protocol.metrics]
    rows = [["", "splits", *("mean", *(m.label for m in protocol.metrics[1:]))]]
    for name, of_splits in found[0].scores.items():
        cells = [
            _with_deviation(list(each.scores[name].values()), each.metric.digits)
            for each in found
        ]
        rows.append([short(name), str(len(of_splits)), *cells])
    for each in protocol.published:
        cells = [
            f"{each.values[m.name]:.{m.digits}f}" if m.name in each.values else "-"
            for m in protocol.metrics
        ]
        rows.append([f"*published: {each.name}*", "", *cells])
    return rows


def _side_by_side(names, folder):
    """A column for each protocol: means, deviations, and what was published."""
    protocols = PROTOCOLS.select(names)
    found = [scores_of(protocol, folder) for protocol in protocols]
    heading = [
        f"{_title(p.name)} ({_numbers(r.scores)} splits)"
        for p, r in zip(protocols, found, strict=True)
    ]
    rows = [["", *heading]]
    for name in dict.fromkeys(name for each in found for name in each.scores):
        row = [short(name)]
        for protocol, each in zip(protocols, found, strict=True):
            values = list(each.scores.get(name, {}).values())
            cell = _with_deviation(values, each.metric.digits)
            printed = _printed(protocol, name)
            row.append(cell if printed is None else f"{cell} ({printed:g})")
        rows.append(row)
    return rows


def _title(name):
    """A protocol's name, without its family if that is a paper's."""
    family, _, rest = name.partition("-")
    return rest.replace("-", " ") if family in PAPERS else name


def _numbers(scores):
    """How many splits there are, from and to where contenders differ."""
    numbers = sorted({len(each) for each in scores.values()}) or [0]
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def _printed(protocol, name):
    """The published figure of a contender of that name."""
    for each in protocol.published:
        if each.name == short(name):
            return each.values.get(protocol.metrics[0].name)
    return None


def _gains(names, folder):
    """Differences of pairs on the same splits, by protocol."""
    protocols = PROTOCOLS.select(names)
    rows = [["", "against", *(_title(each.name) for each in protocols)]]
    for ours, other in GAINS[protocols[0].name.partition("-")[0]]:
        cells = [
            _difference(
                scores_of(protocol, folder),
                ours,
                other,
                test=protocol.name.startswith("mtboost"),
            )
            for protocol in protocols
        ]
        if any(cell != "-" for cell in cells):
            rows.append([short(ours), short(other), *cells])
    return rows


def _difference(found, ours, other, test):
    """Mean with the corrected interval, on how many better, and the plain t test."""
    gains = found.difference(ours, other)
    if not gains:
        return "-"
    digits = found.metric.digits
    interval = corrected_interval(gains, found.test_ratio)
    text = f"{interval.mean:+.{digits}f}"
    if len(gains) > 1:
        better = sum(gain > 0 for gain in gains)
        limits = f"{interval.low:+.{digits}f}, {interval.high:+.{digits}f}"
        text += f" [{limits}], {better} of {len(gains)}"
        if test and np.ptp(gains):
            text += f", p {ttest_rel(gains, np.zeros(len(gains))).pvalue:.1g}"
    return text


def _draw_rules(names, folder):
    """MNIST by the way rows were drawn: means, and the distance to figures by digit."""
    shown = ("AdaBoost, 100 rounds", "kinlearn MTAA, 500 rounds",
             "kinlearn MTAA of one level, 500 rounds",
             "kinlearn two-level trees alone, 100 rounds")  # fmt: skip
    rows = [["rows of a task", "digits", *(short(name) for name in shown),
             "MTAA less AdaBoost", "both less the published"]]  # fmt: skip
    for n_tasks in SETS:
        for way in WAYS:
            protocol = PROTOCOLS[f"boosting-mnist-{n_tasks}-{way}"]
            found = scores_of(protocol, folder)
            cells = [
                _with_deviation(list(found.scores.get(name, {}).values()), 2)
                for name in shown
            ]
            gain = found.difference(shown[1], shown[0])
            more = f"{np.mean(gain):+.2f}" if gain else "-"
            away = ", ".join(_distance(protocol, each, folder) for each in shown[:2])
            rows.append([way, str(n_tasks), *cells, more, away])
        ada, mtaa = (each.values["accuracy"] for each in protocol.published[:2])
        rows.append(["*published*", str(n_tasks), f"{ada:.2f}", f"{mtaa:.2f}", "", "",
                     f"{mtaa - ada:+.2f}", ""])  # fmt: skip
    return rows


def _distance(protocol, name, folder):
    """Root mean square over the digits of ours less published."""
    printed = next(each for each in protocol.published if each.name == short(name))
    differences = []
    for metric in protocol.metrics[1:]:
        values = scores_of(protocol, folder, metric).scores.get(name, {})
        if values:
            mean = np.mean(list(values.values()))
            differences.append(mean - printed.values[metric.name])
    return f"{np.sqrt(np.mean(np.square(differences))):.1f}" if differences else "-"


def _correlations(names, folder):
    """Table 3 of Zhang and Yeung over the draws that there are."""
    records = read_records(Path(folder) / mtboost_correlations.RECORDS.name)
    return mtboost_correlations.table(records)


TABLES = {
    "by-task": _by_task,
    "side-by-side": _side_by_side,
    "gains": _gains,
    "draw-rules": _draw_rules,
    "correlations": _correlations,
}
