"""Tables of the documentation that are drawn from records: nothing is run.

``python -m benchmarks.quality.pages`` draws them anew, in place; ``--check`` only tells
whether a page and the records differ. A page marks its tables so:

    <!-- table: paired kin-* landmine-75 -->
    <!-- end -->

The first word is a kind of table (a key of `KINDS`), the others are protocols or
patterns. Records are the files of ``benchmarks/records``, which
``python -m benchmarks.quality NAME --results benchmarks/records`` adds to.
"""

import argparse
import re
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.commandline import print_line
from benchmarks.environment import RECORDS
from benchmarks.field import ranks
from benchmarks.jsonlines import read_records
from benchmarks.quality import kin_ablation, kin_versions
from benchmarks.quality.page_tables import TABLES, markdown
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.ranks import (
    against_better,
    paired_table,
    rank_table,
    results_of,
    stored_results,
)
from benchmarks.quality.runner import finished
from benchmarks.quality.statistics import corrected_interval

__all__ = ["KINDS", "PAGES", "redrawn"]

_DOCS = Path(__file__).parents[2] / "docs"
PAGES = tuple(
    _DOCS / f"{name}.md"
    for name in (
        "benchmarks/gradient_boosting",
        "benchmarks/boosting",
        "benchmarks/boosting_cells",
        "benchmarks/extra_trees",
        "benchmarks/index",
        "benchmarks/intervals",
        "benchmarks/kin",
        "benchmarks/kin_cells",
        "benchmarks/mtboost",
        "benchmarks/mtboost_cells",
        "benchmarks/transfer",
        "papers/reproduced",
    )
)

OURS = "kinlearn gradient boosting (defaults)"
TUNED = "kinlearn gradient boosting, tuned"
LIGHTGBM = ("lightgbm", "lightgbm-pooled")
SINGLE = (OURS, *LIGHTGBM, "catboost", "hist-gradient-boosting", "gpboost")
ALL = (*SINGLE, TUNED)

_MARKED = re.compile(r"(<!-- table: ([^\n]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def redrawn(text, folder=RECORDS):
    """The text of a page with its tables as the records have them.

    Parameters
    ----------
    text : str
        Markdown with marks.
    folder : path-like, default=RECORDS
        Of the files of records.

    Returns
    -------
    str
        The same text but for the tables.
    """

    def draw(match):
        kind, *names = match[2].split()
        return f"{match[1]}\n{_short(KINDS[kind](names, folder))}\n{match[3]}"

    return _MARKED.sub(draw, text)


def _short(text):
    """Ours by short names: the columns of a table are narrow."""
    return text.replace(TUNED, "ours, tuned").replace(OURS, "ours")


def _interval(values, test_ratio, digits, sign=""):
    found = corrected_interval(values, test_ratio)
    form = f"{sign}.{digits}f"
    if np.isnan(found.low):
        return format(found.mean, form)
    return f"{found.mean:{form}} [{found.low:{form}}, {found.high:{form}}]"


def _scores(names, folder):
    """Contenders of each protocol with intervals, and how much ours is better."""
    return "\n".join(_scores_of(each, folder) for each in PROTOCOLS.select(names))


def _scores_of(protocol, folder):
    records = read_records(Path(folder) / f"{protocol.name}.jsonl")
    by_metric = [results_of(protocol, records, m).select(ALL) for m in protocol.metrics]
    first = by_metric[0]
    sign = -1 if first.metric.greater_is_better else 1
    order = sorted(
        first.scores, key=lambda name: sign * np.mean(list(first.scores[name].values()))
    )
    heading = ["contender", "splits"]
    for metric in protocol.metrics:
        heading += [metric.label, "gain of ours"]
    rows = [[*heading, "processor, s"]]
    seconds = _processor_seconds(protocol, records)
    for name in order:
        row = [name, str(len(first.scores[name]))]
        for each in by_metric:
            digits, ratio = each.metric.digits, each.test_ratio
            both = each.difference(OURS, name)
            row.append(_interval(list(each.scores[name].values()), ratio, digits))
            gain = _interval(both, ratio, digits, "+") if both else "-"
            row.append("" if name == OURS else gain)
        rows.append([*row, f"{np.median(seconds[name]):.1f}"])
    return markdown(rows) + _failures(records)


def _processor_seconds(protocol, records):
    found = {each.name: [] for each in protocol.contenders}
    for record in finished(records).values():
        if record["error"] is None and record["contender"] in found:
            found[record["contender"]].append(record["processor_seconds"])
    return found


def _failures(records):
    failed = Counter(
        (record["contender"], record["error"])
        for record in finished(records).values()
        if record["error"] is not None
    )
    lines = [f"- {name}: {n} failed. {why}" for (name, why), n in failed.items()]
    return "\n" + "\n".join(lines) + "\n" if lines else ""


def _stored(names, folder, contenders):
    found = [each.select(contenders) for each in stored_results(names, folder)]
    return [each for each in found if each.scores]


def _ranks(names, folder, *, contenders=SINGLE):
    """Means and ranks of single models."""
    return rank_table(_stored(names, folder, contenders))


def _mean_ranks(names, folder):
    """The last lines of the table of ranks, in one."""
    lines = _ranks(names, folder).splitlines()
    rows = [line[2:-2].split(" | ") for line in lines if line.startswith("| ")]
    ranks = next(row for row in rows if row[0] == "mean rank")
    pairs = zip(rows[0][2:], ranks[2:], strict=True)
    return f"- Mean rank: {', '.join(f'{name} {rank}' for name, rank in pairs)}.\n"


def _paired(names, folder, *, ours=OURS, others=LIGHTGBM):
    """Ours against the better of LightGBM with the task and without it."""
    found = _stored(names, folder, (ours, *others))
    table, worse = paired_table(found, ours, list(others))
    return f"{table}\nSignificantly worse: {', '.join(worse) or 'nowhere'}.\n"


def _means(names, folder):
    """What ours and LightGBM with the task have on each protocol."""
    lines = []
    for protocol in PROTOCOLS.select(names):
        records = read_records(Path(folder) / f"{protocol.name}.jsonl")
        for metric in protocol.metrics:
            scores = results_of(protocol, records, metric).scores
            means = [
                f"{title} {np.mean(list(scores[name].values())):.{metric.digits}f}"
                for title, name in (("ours", OURS), ("LightGBM", LIGHTGBM[0]))
                if scores.get(name)
            ]
            lines.append(f"- {protocol.name}, {metric.label}: {', '.join(means)}.")
    return "\n".join(lines) + "\n"


def _verdicts(names, folder):
    """On how many protocols ours is better than the better LightGBM, and worse."""
    found = _stored(names, folder, (OURS, *LIGHTGBM))
    pairs = {each.name: against_better(each, OURS, LIGHTGBM)[1] for each in found}
    pairs = {name: i for name, i in pairs.items() if i is not None}
    better = [name for name, i in pairs.items() if i.low > 0]
    worse = [name for name, i in pairs.items() if i.high < 0]
    return (
        f"- Against the better of LightGBM with the task and without it, ours is "
        f"significantly better on {len(better)} of {len(pairs)} protocols and "
        f"significantly worse on {len(worse)}"
        f"{': ' if worse else ''}{', '.join(worse)}.\n"
    )


def _published(names, folder):
    """What contenders have on each protocol, beside the published figures."""
    rows = [["protocol", "splits", "measured", "published", "commit"]]
    for protocol in PROTOCOLS.select(names):
        records = read_records(Path(folder) / f"{protocol.name}.jsonl")
        metric = protocol.metrics[0]
        scores = results_of(protocol, records, metric).scores
        if not scores:
            continue
        # the splits that all of these have: others would not compare
        common = set.intersection(*(set(each) for each in scores.values()))
        measured = [
            f"{name} {np.mean([each[s] for s in common]):.{metric.digits}f}"
            for name, each in scores.items()
            if common
        ]
        published = [
            f"{each.name} {each.values[metric.name]:g}"
            for each in protocol.published
            if metric.name in each.values
        ]
        commits = {
            record["commit"]
            for record in finished(records).values()
            if record.get("commit") and record["contender"] in scores
        }
        row = [protocol.name, f"{len(common)} of {protocol.n_splits}",
               f"{metric.label}: {', '.join(measured)}", ", ".join(published) or "-",
               ", ".join(sorted(commits)) or "-"]  # fmt: skip
        rows.append(row)
    return markdown(rows)


def _field(names, folder):
    """Mean ranks on data in small groups, by regime."""
    records = read_records(Path(folder) / "field.jsonl")
    found = ranks(records)
    contenders = {
        name
        for sets in found.values()
        for name in set.intersection(*(set(scores) for scores in sets.values()))
    }
    means = {
        name: [
            np.mean([scores[name][1] for scores in sets.values()])
            for sets in found.values()
        ]
        for name in contenders
    }
    rows = [["contender", *(f"mean rank, {regime}" for regime in found)]]
    for name in sorted(means, key=lambda each: (means[each], each)):
        rows.append([name, *(f"{rank:.1f}" for rank in means[name])])
    sets = ", ".join(dict.fromkeys(name for each in found.values() for name in each))
    splits = {(record["set"], record["split"]) for record in records}
    return f"{markdown(rows)}\n- {sets}; {len(splits)} splits in each regime.\n"


def _measured(names, folder):
    """Versions, commits and machines of the records."""
    versions, commits, machines = {}, set(), set()
    for protocol in PROTOCOLS.select(names):
        for record in finished(
            read_records(Path(folder) / f"{protocol.name}.jsonl")
        ).values():
            if record["contender"] in ALL:
                for name, version in record["versions"].items():
                    versions.setdefault(name, set()).add(str(version))
                commits |= {record["commit"]} if record.get("commit") else set()
                machines.add(record["machine"])
    versions.pop("kinlearn", None)
    packages = ", ".join(
        f"{k} {' / '.join(sorted(v))}" for k, v in sorted(versions.items())
    )
    return (
        f"Measured with kinlearn as of commit {', '.join(sorted(commits)) or 'none'}; "
        f"{packages}; on {' / '.join(sorted(machines))}.\n"
    )


_CONDITIONS = {
    "same": "rows like those of fit",
    "fewer": "a fifth of the rows in fit",
    "shifted": "features shifted",
    "new": "new tasks",
}


def _coverage_records(names, folder):
    """Records of coverage, of regression or classification, of some conditions."""
    kind, *conditions = names
    for record in read_records(Path(folder) / "coverage.jsonl"):
        wanted = not conditions or record["condition"] in conditions
        if record["kind"] == kind and wanted:
            yield record


def _grouped(records, *keys):
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[k] for k in keys), []).append(record)
    return groups


def _mean_of(records, name):
    """Mean over the problems of means over splits; None without finite values."""
    by_problem = _grouped(records, "problem").values()
    values = [[r[name] for r in each if r[name] is not None] for each in by_problem]
    means = [np.mean(each) for each in values if each]
    return np.mean(means) if means else None


def _coverage(names, folder):
    """Coverage at level 0.9 by condition and contender, over the problems."""
    found = list(_coverage_records(names, folder))
    rows = [["condition", "problems", "contender", "mean of tasks", "worst tenth",
             "the same by chance", "tasks clearly below", "size",
             "endless"]]  # fmt: skip
    groups = _grouped(found, "condition", "contender")
    order = list(_CONDITIONS)
    for condition, contender in sorted(groups, key=lambda each: order.index(each[0])):
        some = groups[condition, contender]
        figures = [f"{_mean_of(some, k):.3f}" for k in ("tasks", "worst", "chance")]
        below, n_tasks = (sum(r[k] for r in some) for k in ("below", "n_tasks"))
        size = _mean_of(some, "size")
        rows.append(
            [
                _CONDITIONS[condition],
                str(len({r["problem"] for r in some})),
                contender,
                *figures,
                f"{below} of {n_tasks} ({below / n_tasks:.0%})",
                "-" if size is None else f"{size:.2f}",
                f"{_mean_of(some, 'endless'):.0%}",
            ]
        )
    return markdown(rows)


def _coverage_by_problem(names, folder):
    """Mean of tasks / worst tenth / size of each contender, by problem."""
    found = list(_coverage_records(names, folder))
    contenders = list(dict.fromkeys(r["contender"] for r in found))
    rows = [["problem", "splits", "tasks", "training rows", *contenders]]
    for (problem,), some in sorted(_grouped(found, "problem").items()):
        row = [problem.removeprefix("kin-"), str(len({r["split"] for r in some})),
               str(some[0]["n_tasks"]), str(some[0]["n_train"])]  # fmt: skip
        for contender in contenders:
            own = [r for r in some if r["contender"] == contender]
            size = _mean_of(own, "size")
            size = "-" if size is None else f"{size:.2f}"
            row.append(
                f"{_mean_of(own, 'tasks'):.3f} / {_mean_of(own, 'worst'):.3f} / {size}"
            )
        rows.append(row)
    return markdown(rows)


def _kin_versions(names, folder):
    """Versions of Kin on the same splits, each beside the first; some protocols."""
    records = read_records(Path(folder) / kin_versions.RECORDS.name)
    rows = [["protocol", "metric", "version", "splits", "before", "now",
             "seconds before", "seconds now"]]  # fmt: skip
    for protocol, metric, version, n, before, now, *seconds in kin_versions.compare(
        records
    ):
        if not names or protocol in names:
            figures = [f"{before:.4f}", f"{now:.4f}", *(f"{s:.1f}" for s in seconds)]
            rows.append([protocol, metric, version, str(n), *figures])
    return markdown(rows)


def _mean_of_some(values):
    """The mean of those that are not None, with their number if some are."""
    known = [value for value in values if value is not None]
    if not known:
        return "-"
    fewer = f" ({len(known)})" if len(known) < len(values) else ""
    return f"{np.mean(known):.4f}{fewer}"


_BESIDE_KIN = ("lightgbm", "catboost", "gpboost", "hist-gradient-boosting")


def _kin_now(names, folder):
    """Kin's latest version, its first one and tuned peers, on the same splits."""
    versions = {}  # by protocol and split: scores of the first version, and the last
    for r in read_records(Path(folder) / kin_versions.RECORDS.name):
        key = r["protocol"], r["split"]
        first = versions.get(key, (None, None))[0]
        versions[key] = (r if r["which"] == "before" else first, r)
    rows = [["protocol", "metric", "splits", "Kin", "its first version",
             *_BESIDE_KIN]]  # fmt: skip
    for protocol in PROTOCOLS.select(names):
        splits = [split for name, split in versions if name == protocol.name]
        if not splits:
            continue
        records = read_records(Path(folder) / f"{protocol.name}.jsonl")
        peers = {m: results_of(protocol, records, m).scores for m in protocol.metrics}
        for metric in protocol.metrics:
            of = [versions[protocol.name, split] for split in splits]
            some = [[pair[i] and pair[i]["scores"][metric.name] for pair in of]
                    for i in (1, 0)]  # fmt: skip
            for name in _BESIDE_KIN:
                found = peers[metric].get(name, {})
                some.append([found.get(split) for split in splits])
            means = map(_mean_of_some, some)
            rows.append([protocol.name, metric.name, str(len(splits)), *means])
    return markdown(rows)


def _kin_ablation(names, folder, effort="standard"):
    """What each candidate of Kin is worth, or those that names are parts of."""
    records = read_records(Path(folder) / kin_ablation.RECORDS.name)
    rows = [["left out", "problems", "loss, %", "standard error", "worst problem, %",
             "part of the seconds", "weight"]]  # fmt: skip
    for name, n, *figures in kin_ablation.table(
        r for r in records if r["effort"] == effort
    ):
        if names and not any(part in name for part in names):
            continue
        loss, error, worst, seconds, weight = figures
        parts = ["" if np.isnan(v) else f"{v:.0f} %" for v in (seconds, weight)]
        rows.append(
            [name, str(n), f"{loss:+.2f}", f"{error:.2f}", f"{worst:+.2f}", *parts]
        )
    return markdown(rows)


def _scarce_labels(names, folder):
    """Areas under the curve where labels are scarce, by model and version."""
    records = read_records(Path(folder) / "scarce_labels.jsonl")
    groups = _grouped(records, "model", "version")
    cases = [f"landmine {share}" for share in names]
    rows = [["model", *(f"{float(share):.0%} of the rows" for share in names)]]
    for (model, version), some in sorted(groups.items()):
        by_case = _grouped(some, "case")
        row = [model if version == "any" else f"{model}, {version}"]
        for case in cases:
            of = by_case[case,]
            means = (np.mean([r[k] for r in of]) for k in ("auc", "log_loss"))
            row.append(" / ".join(f"{mean:.3f}" for mean in means))
        rows.append(row)
    return markdown(rows)


KINDS = {
    "kin-now": _kin_now,
    "kin-versions": _kin_versions,
    "kin-ablation": _kin_ablation,
    "kin-ablation-penalties": partial(_kin_ablation, effort="standard and penalties"),
    "scarce-labels": _scarce_labels,
    "coverage": _coverage,
    "coverage-by-problem": _coverage_by_problem,
    "scores": _scores,
    "ranks": _ranks,
    "ranks-tuned": partial(_ranks, contenders=(TUNED, *SINGLE[1:])),
    "paired": _paired,
    "paired-tuned": partial(_paired, ours=TUNED),
    "mean-ranks": _mean_ranks,
    "means": _means,
    "verdicts": _verdicts,
    "measured": _measured,
    "published": _published,
    "field": _field,
    **TABLES,
}


def main(arguments=None):
    """Draw the tables; the exit code is 1 if --check finds another one."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.pages")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    differ = False
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = redrawn(before)
        differ |= after != before
        if after == before:
            print_line(f"{page.name}: as the records")
        elif options.check:
            print_line(f"{page.name}: not as the records")
        else:
            page.write_text(after, encoding="utf-8")
            print_line(f"{page.name}: drawn anew")
    return int(differ and options.check)


if __name__ == "__main__":
    raise SystemExit(main())
