"""Tables of pages that modules draw from a file of records of their own."""

from functools import partial
from pathlib import Path

from benchmarks.jsonlines import read_records
from benchmarks.quality import (
    al_stouhi_tables,
    clustering_defaults,
    clustering_updates,
    mtboost_penalties,
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


TABLES = {
    **al_stouhi_tables.TABLES,
    **transfer_weights.TABLES,
    "clustering-updates": partial(_drawn, module=clustering_updates),
    "clustering-defaults": partial(
        _drawn,
        module=clustering_defaults,
        settings=[s for s in clustering_defaults.SETTINGS if s[2] == 0.1],
    ),
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
