"""Tables of Kin's pages: versions, peers, candidates, tasks hurt, few labels."""

from functools import partial
from pathlib import Path

import numpy as np

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.jsonlines import read_records
from benchmarks.quality import kin_ablation, kin_suite, kin_versions
from benchmarks.quality.ours import KIN
from benchmarks.quality.page_tables import grouped, markdown
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.ranks import results_of

__all__ = ["BESIDE_KIN", "KIN_TABLES"]

BESIDE_KIN = (
    *("lightgbm", "catboost", "hist-gradient-boosting", "gpboost"),
    *(f"linear-{form}" for form in ("pooled", "one-hot", "alone")),
    *(f"extra-trees-{form}" for form in ("pooled", "one-hot", "alone")),
    *(f"boosting-{form}" for form in ("pooled", "alone")),
    "kinlearn extra trees (defaults)",
    *(f"kinlearn {name}" for name in ("SVM+MTL", "MTBoost")),
    "kinlearn shared plus own, linear",
)


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


def _kin_now(names, folder):
    """Kin as it is and tuned peers, on the same splits.

    As it is: in the records of the protocol, or else the latest of the versions.
    """
    latest = {}  # scores by protocol and split
    for r in read_records(Path(folder) / kin_versions.RECORDS.name):
        latest.setdefault(r["protocol"], {})[r["split"]] = r["scores"]
    rows = [["protocol", "metric", "splits", "Kin", *BESIDE_KIN[:4]]]
    for protocol in PROTOCOLS.select(names):
        records = read_records(Path(folder) / f"{protocol.name}.jsonl")
        for metric in protocol.metrics:
            scores = results_of(protocol, records, metric).scores
            version = latest.get(protocol.name, {})
            version = {split: each[metric.name] for split, each in version.items()}
            now = scores.get(KIN.name, version)
            if not now:
                continue
            peers = [scores.get(name, {}) for name in BESIDE_KIN[:4]]
            some = [[found.get(split) for split in now] for found in (now, *peers)]
            means = map(_mean_of_some, some)
            rows.append([protocol.name, metric.name, str(len(now)), *means])
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


def _kin_hurt(names, folder):
    """Kin's loss over that of the better of alone and pooled, by kind of tasks."""
    records = read_records(Path(folder) / kin_suite.RECORDS.name)
    rows, n_hurt, n_tasks = kin_suite.table(records, ",".join(names))
    return (
        f"{markdown(rows)}\n**{n_hurt} of {n_tasks} tasks are hurt significantly.**\n"
    )


def _scarce_labels(names, folder):
    """Areas under the curve where labels are scarce, by model and version."""
    records = read_records(Path(folder) / "scarce_labels.jsonl")
    groups = grouped(records, "model", "version")
    cases = [f"landmine {share}" for share in names]
    n_splits = max((r["split"] + 1 for r in records), default=0)
    rows = [["model", *(f"{float(share):.0%} of the rows" for share in names)]]
    for (model, version), some in sorted(groups.items()):
        by_case = grouped(some, "case")
        row = [model if version == "any" else f"{model}, {version}"]
        for case in cases:
            of = by_case.get((case,), [])
            means = [np.mean([r[k] for r in of]) for k in ("auc", "log_loss") if of]
            cell = " / ".join(f"{mean:.3f}" for mean in means) or "-"
            fewer = f" ({len(of)})" if 0 < len(of) < n_splits else ""
            row.append(cell + fewer)
        rows.append(row)
    return markdown(rows)


KIN_TABLES = {
    "kin-now": _kin_now,
    "kin-versions": _kin_versions,
    "kin-hurt": _kin_hurt,
    "kin-ablation": _kin_ablation,
    "kin-ablation-penalties": partial(_kin_ablation, effort="standard and penalties"),
    "scarce-labels": _scarce_labels,
}
