"""Tables of the documentation that are drawn from records: nothing is run.

``python -m benchmarks.quality.pages`` draws them anew, in place; ``--check`` only tells
whether a page and the records differ. A page marks its tables so:

    <!-- table: paired kin-* landmine-75 -->
    <!-- end -->

The first word is a kind of table (a key of `KINDS`), the others are protocols or
patterns. Records are the files of ``benchmarks/records``, which
``python -m benchmarks.quality NAME --results benchmarks/records`` adds to. Pictures
(`benchmarks.quality.page_figures`) are drawn again where their figures changed.
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
from benchmarks.jsonlines import read_records
from benchmarks.quality.kin_tables import BESIDE_KIN, KIN_TABLES
from benchmarks.quality.ours import KIN
from benchmarks.quality.page_figures import FIGURES, is_drawn
from benchmarks.quality.page_tables import TABLES, grouped, markdown
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
_STATIC = _DOCS / "_static"
PAGES = tuple(
    page
    for folder in ("benchmarks", "papers")
    for page in sorted((_DOCS / folder).glob("*.md"))
    if "<!-- table: " in page.read_text(encoding="utf-8")
)

OURS = "kinlearn gradient boosting (defaults)"
TUNED = "kinlearn gradient boosting, tuned"
LIGHTGBM = ("lightgbm", "lightgbm-pooled")
SINGLE = (OURS, *LIGHTGBM, "catboost", "hist-gradient-boosting", "gpboost")
ALL = (*SINGLE, TUNED, "merf", "scikit-lego")

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
    text = text.replace(TUNED, "ours, tuned").replace(OURS, "ours")
    return text.replace(KIN.name, "Kin")


def _interval(values, test_ratio, digits, sign=""):
    found = corrected_interval(values, test_ratio)
    form = f"{sign}.{digits}f"
    if np.isnan(found.low):
        return format(found.mean, form)
    return f"{found.mean:{form}} [{found.low:{form}}, {found.high:{form}}]"


def _scores(names, folder):
    """Contenders of each protocol with intervals, and how much ours is better."""
    return "\n".join(
        _scores_of(each, folder, ours=OURS, others=ALL)
        for each in PROTOCOLS.select(names)
    )


def _kin_scores(names, folder):
    """The same of Kin and those beside it, under a heading for each protocol."""
    return "\n".join(
        f"## {each.name}: {each.title}\n\n"
        + _scores_of(each, folder, ours=KIN.name, others=BESIDE_KIN)
        for each in PROTOCOLS.select(names)
    )


def _scores_of(protocol, folder, *, ours, others):
    records = read_records(Path(folder) / f"{protocol.name}.jsonl")
    by_metric = [
        results_of(protocol, records, m).select((ours, *others))
        for m in protocol.metrics
    ]
    first = by_metric[0]
    sign = -1 if first.metric.greater_is_better else 1
    order = sorted(
        first.scores, key=lambda name: sign * np.mean(list(first.scores[name].values()))
    )
    heading = ["contender", "splits"]
    for metric in protocol.metrics:
        heading += [metric.label, f"gain of {'Kin' if ours == KIN.name else 'ours'}"]
    rows = [[*heading, "processor, s"]]
    seconds = _processor_seconds(protocol, records)
    for name in order:
        row = [name, str(len(first.scores[name]))]
        for each in by_metric:
            digits, ratio = each.metric.digits, each.test_ratio
            both = each.difference(ours, name)
            row.append(_interval(list(each.scores[name].values()), ratio, digits))
            gain = _interval(both, ratio, digits, "+") if both else "-"
            row.append("" if name == ours else gain)
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


def _mean_of(records, name):
    """Mean over the problems of means over splits; None without finite values."""
    by_problem = grouped(records, "problem").values()
    values = [[r[name] for r in each if r[name] is not None] for each in by_problem]
    means = [np.mean(each) for each in values if each]
    return np.mean(means) if means else None


def _coverage(names, folder):
    """Coverage at level 0.9 by condition and contender, over the problems."""
    found = list(_coverage_records(names, folder))
    rows = [["condition", "problems", "contender", "mean of tasks", "worst tenth",
             "the same by chance", "tasks clearly below", "size",
             "endless"]]  # fmt: skip
    groups = grouped(found, "condition", "contender")
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
    for (problem,), some in sorted(grouped(found, "problem").items()):
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


KINDS = {
    "kin-ranks": partial(_ranks, contenders=(KIN.name, *BESIDE_KIN)),
    "kin-scores": _kin_scores,
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
    **KIN_TABLES,
    **TABLES,
}


def main(arguments=None):
    """Draw tables and pictures; the exit code is 1 if --check finds another one."""
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
    for name, figure in FIGURES.items():
        picture = _STATIC / name
        if is_drawn(picture, figure):
            print_line(f"{name}: as the records")
            continue
        differ = True
        if options.check:
            print_line(f"{name}: not as the records")
        else:
            figure.draw_into(picture)
            print_line(f"{name}: drawn anew")
    return int(differ and options.check)


if __name__ == "__main__":
    raise SystemExit(main())
