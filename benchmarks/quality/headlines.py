"""The few figures that stand on the first page of the benchmarks, from records."""

from pathlib import Path

import numpy as np

from benchmarks.field.ranking import complete, ranking
from benchmarks.field.sets import REGIMES
from benchmarks.jsonlines import read_records
from benchmarks.quality import kin_versions
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.ranks import results_of
from benchmarks.quality.statistics import corrected_interval

__all__ = ["coverage_in_short", "field_in_short", "headlines"]

_BOOSTING = "kinlearn gradient boosting (defaults)"
_FEWEST = 10  # splits of a contender that is compared
_FIELD = {"rows": "new rows of known groups", "groups": "new groups"}


def _kin_scores(folder, protocol, metric):
    """Of Kin's latest version, by split."""
    return {
        record["split"]: record["scores"][metric.name]
        for record in read_records(Path(folder) / kin_versions.RECORDS.name)
        if record["protocol"] == protocol.name
    }


def _peers(found):
    """Contenders of others that have enough splits."""
    return {
        name: scores
        for name, scores in found.scores.items()
        if not name.startswith("kinlearn") and len(scores) >= _FEWEST
    }


def headlines(names, folder):
    """Ours beside the best of the others on the splits that all have.

    Parameters
    ----------
    names : list of str
        Protocols or patterns.
    folder : path-like
        Of the files of records.

    Returns
    -------
    list of list of str
        The heading first.
    """
    heading = ["measured", "splits", "Kin", "gradient boosting", "the best of others",
               "all others", "Kin less the best"]  # fmt: skip
    rows = [heading]
    for protocol in PROTOCOLS.select(names):
        records = read_records(Path(folder) / f"{protocol.name}.jsonl")
        metric = protocol.metrics[0]
        sign = 1 if metric.greater_is_better else -1
        found = results_of(protocol, records, metric)
        peers, ours = _peers(found), found.scores.get(_BOOSTING, {})
        kin = _kin_scores(folder, protocol, metric)
        splits = sorted(set.intersection(*map(set, (kin, ours, *peers.values()))))
        if not peers or not splits:
            continue

        def mean(scores, splits=splits):
            return float(np.mean([scores[s] for s in splits]))

        order = sorted(peers, key=lambda name: -sign * mean(peers[name]))
        form = f".{metric.digits}f"
        gains = [sign * (kin[s] - peers[order[0]][s]) for s in splits]
        gain = corrected_interval(gains, found.test_ratio)
        named = [f"{name} {mean(peers[name]):{form}}" for name in order]
        rows.append(
            [
                f"{protocol.name}, {metric.label}",
                str(len(splits)),
                f"{mean(kin):{form}}",
                f"{mean(ours):{form}}",
                named[0],
                ", ".join(named[1:]),
                f"{gain.mean:+{form}} [{gain.low:+{form}}, {gain.high:+{form}}]",
            ]
        )
    return rows


def field_in_short(folder):
    """Who ranks best on the multilevel sets, and who is not told apart from it.

    Parameters
    ----------
    folder : path-like
        Of the files of records.

    Returns
    -------
    list of str
        A line for each regime.
    """
    records = complete(read_records(Path(folder) / "field.jsonl"))
    lines = []
    for regime in REGIMES:
        found = ranking(records, regime)
        if found is None:
            continue
        of = dict(zip(found.contenders, found.mean, strict=True))
        ours = [name for name in found.contenders if name.startswith("kinlearn")]
        others = [name for name in found.contenders if name not in ours]
        first = "; ".join(f"{name} {of[name]:.1f}" for name in ours)
        then = "; ".join(f"{name} {of[name]:.1f}" for name in others[:3])
        alike = [each for each in found.alike(found.contenders[0]) if each in others]
        lines.append(
            f"{_FIELD[regime]}, mean rank of {len(of)} contenders over {found.n_sets} "
            f"sets: {first}. The best of others: {then}. Of all others, not "
            f"significantly behind the first: {'; '.join(alike) or 'none'}."
        )
    return lines


def coverage_in_short(folder, kind, condition="same", contender="Kin"):
    """Mean coverage of tasks, that of the worst tenth, and what chance gives there.

    Parameters
    ----------
    folder : path-like
        Of the files of records.
    kind, condition, contender : str
        Of the records.

    Returns
    -------
    dict of str to float
        tasks, worst and chance, means over the problems, and their number.
    """
    problems = {}
    for record in read_records(Path(folder) / "coverage.jsonl"):
        wanted = (record["kind"], record["condition"], record["contender"])
        if wanted == (kind, condition, contender):
            problems.setdefault(record["problem"], []).append(record)
    found = {
        key: float(np.mean([np.mean([r[key] for r in of]) for of in problems.values()]))
        for key in ("tasks", "worst", "chance")
    }
    return found | {"problems": len(problems)}
