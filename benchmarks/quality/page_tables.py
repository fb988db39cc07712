"""Tables of pages that modules draw from a file of records of their own."""

from functools import partial
from pathlib import Path

from benchmarks.jsonlines import read_records
from benchmarks.quality import (
    cai_correlations,
    cai_tables,
    mtboost_penalties,
    privileged_selection,
    transfer_noise,
    transfer_rows,
    transfer_targets,
    transfer_votes,
)

__all__ = ["TABLES", "markdown"]


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


def _drawn(names, folder, *, module, **options):
    """The module's own table."""
    records = read_records(Path(folder) / module.RECORDS.name)
    return markdown(module.table(records, **options))


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


TABLES = {
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
