"""Tables of pages that modules draw from a file of records of their own."""

from functools import partial
from pathlib import Path

from benchmarks.field.ranking import complete, means_table, pair_rows, rank_rows
from benchmarks.jsonlines import read_records
from benchmarks.quality import (
    al_stouhi_tables,
    cai_correlations,
    cai_tables,
    clustering_defaults,
    clustering_updates,
    headlines,
    mtboost_penalties,
    papers_tables,
    privileged_selection,
    transfer_noise,
    transfer_rows,
    transfer_targets,
    transfer_votes,
    transfer_weights,
)

__all__ = ["TABLES", "grouped", "markdown"]


def markdown(rows):
    """Rows as a table in Markdown.

    Parameters
    ----------
    rows : list of list of str
        The heading first.

    Returns
    -------
    str
        Lines.
    """
    rows = [rows[0], ["---"] * len(rows[0]), *rows[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in rows) + "\n"


def grouped(records, *keys):
    """Records by what they have under some keys.

    Parameters
    ----------
    records : iterable of dict
        Records.
    *keys : str
        What tells them apart.

    Returns
    -------
    dict of tuple to list of dict
        In the order of the records.
    """
    groups = {}
    for record in records:
        groups.setdefault(tuple(record[k] for k in keys), []).append(record)
    return groups


def _drawn(names, folder, *, module, **options):
    """The module's own table."""
    records = read_records(Path(folder) / module.RECORDS.name)
    return markdown(module.table(records, **options))


def _field(names, folder):
    """Mean ranks on data in small groups, and what the tests say of them."""
    rows, notes = rank_rows(complete(read_records(Path(folder) / "field.jsonl")))
    return markdown(rows) + "\n" + "".join(f"- {note}\n" for note in notes)


def _field_pairs(names, folder):
    """The contender of that name against each other one."""
    records = complete(read_records(Path(folder) / "field.jsonl"))
    return markdown(pair_rows(records, " ".join(names)))


def _field_means(names, folder):
    """Scores and seconds of each set of a regime."""
    records = complete(read_records(Path(folder) / "field.jsonl"))
    return markdown(means_table(records, *names))


def _headlines(names, folder):
    """The best figures of ours and of others; the first page."""
    return markdown(headlines.headlines(names, folder))


def _field_short(names, folder):
    return "".join(f"- {line}\n" for line in headlines.field_in_short(folder))


def _coverage_short(names, folder):
    """Coverage of Kin at level 0.9, in a sentence for numbers and one for classes."""
    lines = []
    for kind, what in (("regression", "intervals"), ("classification", "sets")):
        same, fewer = (
            headlines.coverage_in_short(folder, kind, condition)
            for condition in ("same", "fewer")
        )
        lines.append(
            f"- Asked for 90 %, {what} of Kin hold {same['tasks']:.1%} of new rows in "
            f"the mean of tasks, over {same['problems']} problems. In the tenth of "
            f"tasks that is covered least it is {same['worst']:.3f}, where chance "
            f"alone would give {same['chance']:.3f}; after a fit to a fifth of the "
            f"rows {fewer['tasks']:.1%} and {fewer['worst']:.3f}.\n"
        )
    return "".join(lines).replace("%", " %").replace("  %", " %")


def _protocols(names, folder, *, draw, **options):
    """A table of some protocols' records."""
    return markdown(draw(names, folder, **options))


def _privileged(names, folder):
    """SVM+ with the features that a selection drops, on the data that is named."""
    records = read_records(Path(folder) / privileged_selection.RECORDS.name)
    return markdown(privileged_selection.table(records, data=names[0]))


def _privileged_features(names, folder):
    """Which features the rankings choose."""
    records = read_records(Path(folder) / privileged_selection.RECORDS.name)
    return markdown(privileged_selection.features(records))


def _rows(names, folder, *, rows):
    """The table that a function draws by itself."""
    return markdown(rows(names, folder))


TABLES = {
    **al_stouhi_tables.TABLES,
    **transfer_weights.TABLES,
    "clustering-updates": partial(_drawn, module=clustering_updates),
    "clustering-defaults": partial(
        _drawn,
        module=clustering_defaults,
        settings=[s for s in clustering_defaults.SETTINGS if s[2] == 0.1],
    ),
    "headlines": _headlines,
    "field-short": _field_short,
    "coverage-short": _coverage_short,
    "field": _field,
    "field-means": _field_means,
    "field-pairs": _field_pairs,
    "cai-beside": partial(_protocols, draw=cai_tables.beside),
    "cai-cells": partial(_protocols, draw=cai_tables.cells),
    "cai-correlations": partial(_drawn, module=cai_correlations),
    "cai-gains": partial(_protocols, draw=cai_tables.gains),
    "cai-gains-searched": partial(
        _protocols, draw=cai_tables.gains, ours=cai_tables.SEARCHED
    ),
    "cai-verdicts": partial(_protocols, draw=cai_tables.verdicts),
    "privileged": _privileged,
    "privileged-features": _privileged_features,
    **{kind: partial(_rows, rows=each) for kind, each in papers_tables.TABLES.items()},
    "mtboost-penalties": partial(_drawn, module=mtboost_penalties),
    "transfer-noise": partial(_drawn, module=transfer_noise, noise=True),
    "transfer-near": partial(_drawn, module=transfer_noise, noise=False),
    "transfer-votes": partial(_drawn, module=transfer_votes),
    "transfer-targets": partial(_drawn, module=transfer_targets),
    "transfer-targets-accuracy": partial(_drawn, module=transfer_targets, which=1),
    "transfer-rows": partial(
        _drawn, module=transfer_rows, problems=transfer_rows.PLAYED
    ),
    "transfer-rows-apart": partial(
        _drawn, module=transfer_rows, problems=transfer_rows.APART
    ),
}
