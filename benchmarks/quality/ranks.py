"""Who is best over many protocols: ``python -m benchmarks.quality.ranks 'kin-*'``.

Reads what `benchmarks.quality` ran, and runs nothing. In each protocol contenders
are ranked by the mean of its first metric over the splits that all of them finished; a
contender without any finished split there is left out of the table. Then come the
protocols on which a contender is significantly better than ours: the 95% interval of
the paired difference, corrected for overlapping training rows, lies on its side.
``--ours`` names another of ours than Kin, and ``--only``, which may be repeated, the
contenders to be ranked. ``--better-of A --better-of B`` pairs ours with the better of
these on each protocol, by their means.
"""

import sys
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.commandline import make_parser, print_line, with_one_line_errors
from benchmarks.jsonlines import read_records
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.runner import finished
from benchmarks.quality.statistics import (
    Interval,
    corrected_interval,
    nemenyi_difference,
)
from benchmarks.registry import BenchmarkError

__all__ = [
    "Results",
    "against_better",
    "better_than",
    "paired_table",
    "rank_table",
    "results_of",
    "stored_results",
]

OURS = "kinlearn Kin (defaults)"


@dataclass(frozen=True)
class Results:
    """What is there of a protocol.

    Attributes
    ----------
    name : str
        Of the protocol.
    metric : Metric
        One of its metrics, the first if none was named.
    scores : dict of str to dict of int to float
        By contender and split; contenders without any are absent.
    test_ratio : float
        Test rows over training rows; 0 if splits are independent.
    """

    name: str
    metric: object
    scores: dict
    test_ratio: float

    def means(self, contenders):
        """Means over the splits that all have; None if there is no such split."""
        splits = set.intersection(*(set(self.scores[name]) for name in contenders))
        if not splits:
            return None
        return [
            float(np.mean([self.scores[name][s] for s in splits]))
            for name in contenders
        ]

    def select(self, patterns):
        """With the contenders alone whose names fit one of the patterns."""
        chosen = {
            name: found
            for name, found in self.scores.items()
            if any(fnmatchcase(name, pattern) for pattern in patterns)
        }
        return replace(self, scores=chosen)

    def difference(self, ours, other):
        """Ours less the other on the splits of both, in the good direction."""
        mine, theirs = self.scores.get(ours, {}), self.scores.get(other, {})
        sign = 1 if self.metric.greater_is_better else -1
        return [sign * (mine[s] - theirs[s]) for s in sorted(mine) if s in theirs]


def results_of(protocol, records, metric=None):
    """The scores of a protocol's contenders as they are declared now.

    Parameters
    ----------
    protocol : Protocol
        Whose.
    records : list of dict
        Of its file; failed runs and those of other parameters do not count.
    metric : Metric, default=None
        One of the protocol's; None is the first.

    Returns
    -------
    Results
        Scores of the metric.
    """
    metric = metric or protocol.metrics[0]
    params = {each.name: dict(each.params) for each in protocol.contenders}
    scores: dict[str, dict[int, float]] = {}
    ratios = []
    for record in finished(records).values():
        name = record["contender"]
        if record["error"] is None and params.get(name) == record["params"]:
            scores.setdefault(name, {})[record["split"]] = record["scores"][metric.name]
            ratios.append(record["n_test"] / record["n_train"])
    test_ratio = 0.0 if protocol.independent or not ratios else float(np.mean(ratios))
    return Results(protocol.name, metric, scores, test_ratio)


def rank_table(results):
    """Means and ranks of the contenders that all protocols have.

    Parameters
    ----------
    results : list of Results
        The protocols.

    Returns
    -------
    str
        Markdown: a line for each protocol, the contender of the best mean rank first.
    """
    common = [
        name
        for name in results[0].scores
        if all(name in each.scores for each in results)
    ]
    lines = [(each, each.means(common)) for each in results] if common else []
    lines = [(each, means) for each, means in lines if means is not None]
    if not lines or len(common) < 2:
        return "Fewer than two contenders have a split in common.\n"
    ranks = np.array(
        [
            rankdata([-m if each.metric.greater_is_better else m for m in means])
            for each, means in lines
        ]
    )
    mean_rank = ranks.mean(axis=0)
    order = np.argsort(mean_rank, kind="stable")
    rows = [["protocol", "splits", *(common[k] for k in order)]]
    rows.append(["---"] * len(rows[0]))
    for (each, means), rank in zip(lines, ranks, strict=True):
        n_splits = len(set.intersection(*(set(each.scores[name]) for name in common)))
        cells = [f"{means[k]:.{each.metric.digits}f} ({rank[k]:g})" for k in order]
        rows.append([each.name, str(n_splits), *cells])
    rows.append(["mean rank", "", *(f"{mean_rank[k]:.2f}" for k in order)])
    wins = (ranks == ranks.min(axis=1, keepdims=True)).sum(axis=0)
    rows.append(["best on", "", *(str(wins[k]) for k in order)])
    text = "\n".join("| " + " | ".join(row) + " |" for row in rows)
    n, k = ranks.shape
    critical = nemenyi_difference(n, k)
    return (
        f"{text}\n\nMean ranks differ significantly from {critical:.2f} on (Nemenyi, "
        f"5%, {n} protocols, {k} contenders).\n"
    )


def better_than(results, ours=OURS):
    """Who is significantly better than ours, and by how much.

    Parameters
    ----------
    results : Results
        A protocol.
    ours : str
        A contender.

    Returns
    -------
    dict of str to Interval
        By contender: our score less its, in the metric's good direction.
    """
    found: dict[str, Interval] = {}
    for name in results.scores:
        both = results.difference(ours, name)
        if name == ours or len(both) < 2:
            continue
        interval = corrected_interval(both, results.test_ratio)
        if interval.high < 0:
            found[name] = interval
    return found


def against_better(results, ours, others):
    """Ours against the better of some others, by their means on common splits.

    Parameters
    ----------
    results : Results
        A protocol.
    ours : str
        A contender.
    others : list of str
        Contenders.

    Returns
    -------
    name : str
        The better one; None if they and ours have no split in common.
    interval : Interval
        Our score less its on the splits of both, in the metric's good direction.
    """
    if not all(name in results.scores for name in (ours, *others)):
        return None, None
    means = results.means([ours, *others])
    if means is None:
        return None, None
    sign = 1 if results.metric.greater_is_better else -1
    best = max(range(len(others)), key=lambda k: sign * means[1 + k])
    both = results.difference(ours, others[best])
    return others[best], corrected_interval(both, results.test_ratio)


def paired_table(results, ours, others):
    """A line for each protocol: ours, the others, and ours less the better of them.

    Parameters
    ----------
    results : list of Results
        The protocols; those that lack a contender are left out.
    ours : str
        A contender.
    others : list of str
        Contenders.

    Returns
    -------
    table : str
        Markdown.
    worse : list of str
        Protocols on which ours is significantly worse than the better one.
    """
    heading = ["protocol", "splits", ours, *others, "gain over the better", ""]
    rows = [heading, ["---"] * len(heading)]
    worse = []
    for each in results:
        better, interval = against_better(each, ours, others)
        if better is None:
            continue
        digits = each.metric.digits
        n_splits = len(each.difference(ours, better))
        means = [f"{mean:.{digits}f}" for mean in each.means([ours, *others])]
        limits = f"[{interval.low:+.{digits}f}, {interval.high:+.{digits}f}]"
        verdict = ""
        if interval.low > 0:
            verdict = "better"
        elif interval.high < 0:
            verdict = "**worse**"
            worse.append(each.name)
        difference = f"{interval.mean:+.{digits}f} {limits}"
        rows.append([each.name, str(n_splits), *means, difference, verdict])
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n", worse


def stored_results(names, folder):
    """What a folder of records has of the protocols, in the order of declaration.

    Parameters
    ----------
    names : list of str
        Protocols or patterns.
    folder : path-like
        Of the files of records.

    Returns
    -------
    list of Results
        Without scores where nothing was run.
    """
    return [
        results_of(protocol, read_records(Path(folder) / f"{protocol.name}.jsonl"))
        for protocol in PROTOCOLS.select(names)
    ]


def _show(title, results):
    print_line(f"## {title}\n\n{rank_table(results)}")


def _run(options):
    if not options.names:
        raise BenchmarkError("Name protocols, such as 'kin-*'.")
    results = {}
    for found in stored_results(options.names, options.results):
        found = found.select(options.only or ["*"])
        if found.scores:
            results[found.name] = found
        else:
            print_line(f"not run yet: {found.name}")
    if not results:
        raise BenchmarkError(f"No finished runs in {options.results}.")
    _show("All protocols", list(results.values()))
    by_metric: dict[str, list] = {}
    for each in results.values():
        by_metric.setdefault(each.metric.label, []).append(each)
    if len(by_metric) > 1:
        for label, group in by_metric.items():
            _show(label, group)
    print_line(f"## Significantly better than {options.ours}\n")
    lines = [
        f"- {each.name}: {name}, {i.mean:+.4f} [{i.low:+.4f}, {i.high:+.4f}]"
        for each in results.values()
        for name, i in better_than(each, options.ours).items()
    ]
    print_line("\n".join(lines) or "Nobody, on no protocol.")
    if options.better_of:
        table, worse = paired_table(
            list(results.values()), options.ours, options.better_of
        )
        print_line(f"\n## Against the better of {' and '.join(options.better_of)}\n")
        print_line(f"{table}\nSignificantly worse: {', '.join(worse) or 'nowhere'}.")
    return 0


def main(arguments=None):
    """Show the ranks; the exit code."""
    parser = make_parser("quality.ranks", "protocols")
    many = {"metavar": "CONTENDER", "action": "append"}
    parser.add_argument("--ours", default=OURS, help="the contender that is compared")
    parser.add_argument("--only", help="rank these only; may be repeated", **many)
    parser.add_argument("--better-of", help="pair ours with the best of these", **many)
    return with_one_line_errors(_run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
