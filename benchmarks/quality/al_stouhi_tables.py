"""Tables of transfer, rare classes and clustering (Al-Stouhi 2013) from records.

Each kind of table takes the names of protocols, or patterns of them, and gives
Markdown. Means are over the splits that all shown contenders have.
"""

from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.jsonlines import read_records
from benchmarks.quality.al_stouhi_scores import (
    BEST,
    FIXED,
    best_of,
    common_splits,
    f_lambda,
    mean_of,
    played,
    scores_by_size,
    scores_of,
)
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.runner import finished
from benchmarks.quality.statistics import corrected_interval

__all__ = ["TABLES"]

_TRANSFER_PAIRS = (
    ("kinlearn dynamic", "kinlearn none"),
    ("kinlearn dynamic", "AdaBoost, target"),
    ("kinlearn dynamic", "kinlearn dynamic, source labels shuffled"),
    ("kinlearn dynamic", "logistic regression, target"),
)
_RARE_PAIRS = (
    ("kinlearn rare", "AdaBoost, target"),
    ("kinlearn rare", "SMOTE + AdaBoost, target"),
    ("kinlearn rare", "kinlearn none"),
    ("kinlearn rare", "AdaBoost, target, second half votes"),
    ("kinlearn rare", "kinlearn rare, source labels shuffled"),
)
_ADOS_PAIRS = (
    ("kinlearn ADOS + AdaBoost", "AdaBoost, target"),
    ("kinlearn ADOS + AdaBoost", "SMOTE + AdaBoost, target"),
    ("kinlearn ADOS + AdaBoost", "random source rows + AdaBoost"),
)
_CLUSTER_PAIRS = (
    ("kinlearn", "kinlearn, each task alone"),
    ("kinlearn, cosine", "kinlearn, cosine, each task alone"),
    ("kinlearn", "single-task NMF"),
    ("kinlearn, cosine", "kinlearn"),
)


def _table(rows):
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def _title(name):
    return name.removeprefix("kinlearn ")


def _number(value, digits):
    return "-" if value is None else f"{value:.{digits}f}"


def _means(names, folder, *, contenders, metric=None):
    """Means of some contenders, a row for each protocol."""
    rows = [["protocol", "splits", *(_title(name) for name in contenders)]]
    for protocol, found in played(names, folder, metric):
        splits = common_splits(found, contenders)
        means = [mean_of(found, name, splits) for name in contenders]
        cells = [_number(mean, found.metric.digits) for mean in means]
        rows.append([protocol.name, str(len(splits)), *cells])
    return _table(rows)


def _triples(names, folder, *, contenders):
    """G-mean / balanced accuracy / accuracy of the rare class."""
    rows = [["protocol", "splits", *(_title(name) for name in contenders)]]
    for protocol in PROTOCOLS.select(names):
        each = [scores_of(protocol, folder, m) for m in ("g_mean", "bac", "rare")]
        splits = common_splits(each[0], contenders)
        if not splits:
            continue
        cells = [
            " / ".join(_number(mean_of(found, name, splits), 2) for found in each)
            for name in contenders
        ]
        rows.append([protocol.name, str(len(splits)), *cells])
    return _table(rows)


def _beside(names, folder, metric=None):
    """The published methods, measured, with the published figure in brackets."""
    rows = [["protocol", "splits", "measured (published)", "commit"]]
    for protocol, found in played(names, folder, metric):
        digits = found.metric.digits
        cells, n_splits = [], []
        for each in protocol.published:
            best = best_of(found, each.name)
            if best is None or found.metric.name not in each.values:
                continue
            published = each.values[found.metric.name]
            cells.append(f"{each.name} {best[1]:.{digits}f} ({published:.{digits}f})")
            n_splits.append(best[2])
        if not cells:
            continue
        splits = sorted(set(n_splits))
        count = " to ".join(map(str, [splits[0], splits[-1]][: len(splits)]))
        rows.append(
            [
                protocol.name,
                f"{count} of {protocol.n_splits}",
                f"{found.metric.label}: {', '.join(cells)}",
                _commits(protocol, folder),
            ]
        )
    return _table(rows)


def _commits(protocol, folder):
    records = read_records(Path(folder) / f"{protocol.name}.jsonl")
    found = {r["commit"] for r in finished(records).values() if r.get("commit")}
    return ", ".join(sorted(found)) or "-"


def _short(names, folder):
    """Table 3.2: measured with the published figure, and the controls."""
    methods = (
        "AdaBoost, target",
        "TrAdaBoost",
        "best fixed cost",
        "Dynamic-TrAdaBoost",
    )
    controls = {
        "printed box": "kinlearn printed box",
        "shuffled source": "kinlearn dynamic, source labels shuffled",
        "second half votes, no source": "AdaBoost, target, second half votes",
        "logistic regression, target": "logistic regression, target",
        "logistic regression, all rows": "logistic regression, all rows",
    }
    rows = [["problem", *methods, *controls]]
    for protocol, found in played(names, folder):
        published = {each.name: each.values["accuracy"] for each in protocol.published}
        row = [protocol.name.removeprefix("transfer-")]
        for method in methods:
            best = best_of(found, method)
            beside = f" ({published[method]:.3f})" if method in published else ""
            row.append("-" if best is None else f"{best[1]:.3f}{beside}")
        for name in controls.values():
            mean = mean_of(found, name, sorted(found.scores.get(name, {})))
            row.append(_number(mean, 3))
        rows.append(row)
    return _table(rows)


def _short_rare(names, folder):
    """G-mean of table 4.3: measured with the published figure, and the controls."""
    methods = ("AdaBoost, target", "SMOTE, target", "Rare-Transfer")
    controls = {
        "TrAdaBoost": "kinlearn none",
        "shuffled source": "kinlearn rare, source labels shuffled",
        "second half votes, no source": "AdaBoost, target, second half votes",
        "balanced logistic, target": "balanced logistic regression, target",
        "balanced logistic, all rows": "balanced logistic regression, all rows",
    }
    rows = [["problem", *methods, *controls]]
    for protocol, found in played(names, folder, "g_mean"):
        published = {each.name: each.values["g_mean"] for each in protocol.published}
        published.setdefault("SMOTE, target", published.get("SMOTE"))
        row = [protocol.name.removeprefix("rare-")]
        for method in methods:
            best = best_of(found, method)
            row.append(
                "-" if best is None else f"{best[1]:.3f} ({published[method]:.3f})"
            )
        for name in controls.values():
            mean = mean_of(found, name, sorted(found.scores.get(name, {})))
            row.append(_number(mean, 3))
        rows.append(row)
    return _table(rows)


def _pairs(names, folder, *, pairs, metric=None):
    """Differences by split with corrected intervals, bold where they exclude 0."""
    rows = [["protocol", *(f"{_title(a)} less {_title(b)}" for a, b in pairs)]]
    for protocol, found in played(names, folder, metric):
        digits = found.metric.digits
        row = [protocol.name]
        for first, second in pairs:
            values = found.difference(first, second)
            if len(values) < 2:
                row.append("-")
                continue
            each = corrected_interval(values, found.test_ratio)
            text = f"{each.mean:+.{digits}f}"
            if each.low > 0 or each.high < 0:
                text = f"**{text}**"
            ahead = f"{sum(v > 0 for v in values)}/{len(values)}"
            row.append(
                f"{text} [{each.low:+.{digits}f}, {each.high:+.{digits}f}] {ahead}"
            )
        rows.append(row)
    return _table(rows)


# ------------------------------------------------------------ by the number of rows


def _by_size(names, folder, *, contenders, sizes, metric=None):
    """Means by the number of rows, a row for each protocol and number."""
    rows = [["protocol", "rows", "splits", *(_title(name) for name in contenders)]]
    for protocol in PROTOCOLS.select(names):
        found = scores_by_size(protocol, folder, sizes, metric)
        digits = {each.name: each.digits for each in protocol.metrics}
        digits = digits[metric or protocol.metrics[0].name]
        for size in sizes:
            some = [found.get(name, {}).get(size, []) for name in contenders]
            if any(some):
                cells = [f"{np.mean(v):.{digits}f}" if v else "-" for v in some]
                counts = str(max(map(len, some)))
                rows.append([protocol.name, str(size), counts, *cells])
    return _table(rows)


def _f_lambda(names, folder, *, contenders, sizes):
    """F of beta from 1/10 to 10 at one number of rare rows, means over splits."""
    size, *names = names
    betas = {x: 10.0**x for x in (-1.0, -0.5, 0.0, 0.5, 1.0)}
    rows = [["protocol", "contender", *(f"F at {x:+g}" for x in betas)]]
    for protocol in PROTOCOLS.select(names):
        rare = scores_by_size(protocol, folder, sizes, "rare")
        both = scores_by_size(protocol, folder, sizes, "bac")
        for name in contenders:
            pairs = list(
                zip(
                    rare.get(name, {}).get(int(size), []),
                    both.get(name, {}).get(int(size), []),
                    strict=True,
                )
            )
            if pairs:
                means = [
                    np.mean([f_lambda(r, 2 * b - r, beta) for r, b in pairs])
                    for beta in betas.values()
                ]
                cells = [f"{mean:.3f}" for mean in means]
                rows.append([protocol.name, _title(name), *cells])
    return _table(rows)


_ALL_TRANSFER = (
    "AdaBoost, target",
    "kinlearn none",
    *FIXED,
    "kinlearn dynamic",
    "kinlearn printed box",
    "kinlearn balanced",
    "kinlearn dynamic, guard",
    "kinlearn default",
    "AdaBoost, target, second half votes",
    "logistic regression, target",
    "logistic regression, all rows",
    "kinlearn dynamic, source labels shuffled",
)
_ALL_RARE = (
    "AdaBoost, target",
    "AdaBoost, all rows",
    "SMOTE + AdaBoost, target",
    "SMOTE + AdaBoost, all rows",
    "kinlearn none",
    "kinlearn dynamic",
    "kinlearn rare",
    "kinlearn rare, kept",
    "kinlearn default",
    "AdaBoost, target, second half votes",
    "balanced logistic regression, target",
    "balanced logistic regression, all rows",
    "kinlearn rare, source labels shuffled",
)
_ALL_CURVE = (
    "AdaBoost, target",
    "AdaBoost, all rows",
    "SMOTE + AdaBoost, target",
    "kinlearn none",
    "kinlearn rare",
    "kinlearn ADOS + AdaBoost",
    "random source rows + AdaBoost",
    "AdaBoost, target, second half votes",
    "balanced logistic regression, target",
    "balanced logistic regression, all rows",
)
_SHORT_ADOS = (
    "AdaBoost, target",
    "SMOTE + AdaBoost, target",
    "kinlearn ADOS + AdaBoost",
    "random source rows + AdaBoost",
    "balanced logistic regression, target",
)
_ALL_ADOS = (
    *_SHORT_ADOS,
    "likely in the target + AdaBoost",
    "AdaBoost, all rows",
    "kinlearn rare",
    "AdaBoost, target, second half votes",
    "balanced logistic regression, all rows",
)
_ALL_CLUSTERS = (
    "kinlearn",
    "kinlearn, each task alone",
    "kinlearn, cosine",
    "kinlearn, cosine, each task alone",
    "kinlearn, lambda 0.25",
    "kinlearn, lambda 0.5",
    *BEST["SMT-NMF"],
    "thesis updates, lambda 0.25, normalised",
    "single-task NMF",
    "single-task NMF, normalised",
    "all-task NMF",
    "single-task k-means",
    "all-task k-means",
    "single-task N-cut",
    "all-task N-cut",
)


def _clusters(names, folder):
    """Accuracy within tasks: ours, the thesis's methods with the published figures."""
    ours = (
        "kinlearn",
        "kinlearn, each task alone",
        "kinlearn, cosine",
    )
    methods = ("SMT-NMF", "best single-task method", "best all-task method")
    rows = [
        [
            "problem",
            "samples",
            "kinlearn",
            "each task alone",
            "cosine",
            "thesis updates, best weight",
            *methods[1:],
        ]
    ]
    for protocol, found in played(names, folder):
        published = {each.name: each.values["accuracy"] for each in protocol.published}
        splits = common_splits(found, _ALL_CLUSTERS)
        row = [protocol.name.removeprefix("clustering-"), str(len(splits))]
        row += [_number(mean_of(found, name, splits), 1) for name in ours]
        for method in methods:
            best = best_of(found, method)
            beside = f" ({published[method]:.1f})" if method in published else ""
            row.append("-" if best is None else f"{best[1]:.1f}{beside}")
        rows.append(row)
    return _table(rows)


_CURVE = (5, 10, 20, 46)
_NEWS_ROWS = (40, 80, 120, 160)

TABLES = {
    "beside": _beside,
    "beside-g-mean": partial(_beside, metric="g_mean"),
    "transfer-short": _short,
    "transfer-accuracy": partial(_means, contenders=_ALL_TRANSFER),
    "transfer-by-ratio": partial(
        _means,
        contenders=(
            "AdaBoost, target",
            "kinlearn none",
            "kinlearn dynamic",
            "kinlearn dynamic, source labels shuffled",
            "logistic regression, target",
        ),
    ),
    "transfer-headers": partial(
        _means,
        contenders=(
            "AdaBoost, target",
            "kinlearn none",
            "kinlearn dynamic",
            "kinlearn printed box",
        ),
    ),
    "transfer-pairs": partial(_pairs, pairs=_TRANSFER_PAIRS),
    "rare-short": _short_rare,
    **{
        f"rare-{metric.replace('_', '-')}": partial(
            _means, contenders=_ALL_RARE, metric=metric
        )
        for metric in ("g_mean", "bac", "f", "rare")
    },
    "rare-pairs": partial(_pairs, pairs=_RARE_PAIRS, metric="g_mean"),
    "rare-curve": partial(
        _by_size, contenders=_ALL_CURVE, sizes=_CURVE, metric="g_mean"
    ),
    "rare-curve-recall": partial(
        _by_size, contenders=_ALL_CURVE, sizes=_CURVE, metric="rare"
    ),
    "rare-curve-employment": partial(
        _by_size, contenders=_ALL_CURVE, sizes=(5, 7, 14, 28), metric="g_mean"
    ),
    "f-lambda": partial(
        _f_lambda,
        sizes=_CURVE,
        contenders=(
            "AdaBoost, target",
            "SMOTE + AdaBoost, target",
            "kinlearn ADOS + AdaBoost",
            "random source rows + AdaBoost",
            "balanced logistic regression, target",
        ),
    ),
    "ados": partial(_triples, contenders=_SHORT_ADOS),
    "ados-all": partial(_triples, contenders=_ALL_ADOS),
    "ados-pairs": partial(_pairs, pairs=_ADOS_PAIRS, metric="g_mean"),
    "clusters": _clusters,
    "clusters-all": partial(_means, contenders=_ALL_CLUSTERS),
    "clusters-one-naming": partial(
        _means, contenders=_ALL_CLUSTERS, metric="one_naming"
    ),
    "clusters-nmi": partial(_means, contenders=_ALL_CLUSTERS, metric="nmi"),
    "clusters-pairs": partial(_pairs, pairs=_CLUSTER_PAIRS),
    "clusters-rows": partial(
        _by_size,
        sizes=_NEWS_ROWS,
        contenders=(
            "kinlearn",
            "kinlearn, each task alone",
            "kinlearn, cosine",
            "single-task NMF",
            "single-task N-cut",
        ),
    ),
}
