"""The end of the page: how to get the winner, what failed, what was run."""

import csv
import io
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from kinlearn.report.page._html import (
    Html,
    Reading,
    Section,
    code_block,
    details,
    join,
    paragraph,
    seconds,
    tag,
    task_label,
    terms,
)
from kinlearn.utils import no_formula

__all__ = ["failed", "numbers_file", "what_was_run", "winner"]

_LONGEST_ERROR = 4000
_LONGEST_VALUE = 1000
# of the file of numbers that travels in the page
_LARGEST_FILE = 700_000


def winner(reading: Reading) -> Section | None:
    """How to get the winner."""
    code = reading.data["run"]["code"]
    command = reading.data["run"].get("command")
    if not code:
        return None
    return Section(
        "winner",
        "Take the winner",
        join(
            paragraph("Fitted on all rows, ready to predict:"),
            code_block(code),
            command
            and [
                paragraph("The same at the command line, saved for kin predict:"),
                code_block(command),
            ],
        ),
    )


def failed(reading: Reading) -> Section | None:
    """Contenders that failed, with their errors."""
    losers = [c for c in reading.data["contenders"] if c["error"] is not None]
    if not losers:
        return None
    entries = [
        join(
            tag("h3", contender["name"]),
            code_block(contender["error"][:_LONGEST_ERROR]),
        )
        for contender in losers
    ]
    return Section(
        "failed",
        "Contenders that failed",
        join(
            paragraph(
                f"{len(losers)} of {len(reading.data['contenders'])} contenders ended "
                "with an error and are not in the comparison. The others are not "
                "affected."
            ),
            entries,
        ),
    )


def what_was_run(reading: Reading) -> Section:
    """Data, folds, parameters, seeds, versions, time."""
    data, run = reading.data, reading.data["run"]
    about = data["data"]
    classes = about["classes"]
    entries = [
        ("Question", f"{data['kind']}, scored by {data['metric']['name']}"),
        ("Data", f"{about['n_rows']:,} rows, {about['n_features']:,} features"),
        ("Tasks", join(f"{about['n_tasks']:,}, in ", task_label(about["task_name"]))),
        ("Classes", _listed(classes) if classes else None),
        ("Folds", f"{reading.folds()}, by {data['cv']['splitter']}"),
        ("Random state", run["random_state"]),
        ("Started", run["started"]),
        ("Time", seconds(run["seconds"])),
        ("Parameters", _pairs(run["parameters"])),
        ("Versions", _pairs(run["versions"])),
    ]
    known = [
        (term, "none" if value is None else value)
        for term, value in entries
        if value is not None or term == "Random state"
    ]
    return Section("run", "What was run", join(terms(known), _download(data)))


def _pairs(mapping: Mapping[str, Any] | None) -> Html | None:
    """Short values in a row; what is a mapping itself opens on a click."""
    if not mapping:
        return None
    short, long = [], []
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            items = [(name, str(item)[:_LONGEST_VALUE]) for name, item in value.items()]
            long.append(details(key, terms(items, "terms stacked")))
        else:
            short.append(tag("li", f"{key} = {str(value)[:_LONGEST_VALUE]}"))
    return join(tag("ul", short, class_="pairs"), long)


def _listed(values: Sequence[Any], limit: int = 12) -> str:
    more = f", and {len(values) - limit} more" if len(values) > limit else ""
    return ", ".join(map(str, values[:limit])) + more


def _download(data: Mapping[str, Any]) -> Html | None:
    text = numbers_file(data)
    if text is None:
        return paragraph(
            "The numbers of all tasks are too many for this page; get them with "
            "result.to_frame()."
        )
    link = tag(
        "a",
        "All numbers by task (CSV)",
        href=f"data:text/csv;charset=utf-8,{quote(text, safe=',:;', errors='replace')}",
        download="sharing-by-task.csv",
    )
    return tag("p", link, class_="download")


def numbers_file(data: Mapping[str, Any]) -> str | None:
    """Gains, and every contender's score, by task, as CSV."""
    names = [c["name"] for c in data["contenders"] if c["macro"] is not None]
    score = {(s["task"], s["contender"]): s["mean"] for s in data["scores"]}
    keys = (
        *("task", "n_rows", "alone", "sharing", "gain", "low", "high", "p", "p_holm"),
        *("verdict", "n_folds", "reason"),
    )
    for columns in (names, []):
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow([*keys, *map(no_formula, columns)])
        for gain in data["gains"]:
            scores = (score.get((gain["task"], name)) for name in columns)
            writer.writerow([*map(_short, (gain[key] for key in keys)),
                             *map(_short, scores)])  # fmt: skip
        if stream.tell() <= _LARGEST_FILE:
            return stream.getvalue()
    return None


def _short(value: Any) -> Any:
    return f"{value:.5g}" if isinstance(value, float) else no_formula(value)
