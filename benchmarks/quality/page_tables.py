"""Tables of pages that modules draw from a file of records of their own."""

from functools import partial
from pathlib import Path

from benchmarks.jsonlines import read_records
from benchmarks.quality import (
    mtboost_penalties,
    papers_tables,
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


def _rows(names, folder, *, rows):
    """The table that a function draws by itself."""
    return markdown(rows(names, folder))


TABLES = {
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
