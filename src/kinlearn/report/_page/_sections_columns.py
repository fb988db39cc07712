"""The part of the page on columns that may tell the models too much."""

from typing import Any

from kinlearn.report._page._html import Html, join, tag
from kinlearn.report._page._pieces import Reading, Section, paragraph

__all__ = ["suspects"]

_MOST = 20


def suspects(reading: Reading) -> Section | None:
    """Columns to look at before the result is believed.

    Parameters
    ----------
    reading : Reading
        The result.

    Returns
    -------
    Section or None
        None if there are no such.
    """
    found = reading.data.get("suspects", [])
    if not found:
        return None
    used = [entry for entry in found if not entry["left_out"]]
    gone = [entry for entry in found if entry["left_out"]]
    parts: list[Any] = []
    if used:
        parts.append(paragraph("These columns are used. If one of them is not known "
                               "when predictions are made, all scores below are too "
                               "good."))  # fmt: skip
        parts.append(_listed([entry["sentence"] for entry in used]))
    if gone:
        parts.append(paragraph("These columns were left out:"))
        parts.append(_listed([f"{entry['column']}: {entry['why']}." for entry in gone]))
    title = "Look at these columns first" if used else "Columns that were left out"
    return Section("columns", title, join(*parts))


def _listed(lines: list[str]) -> Html:
    more = len(lines) - _MOST
    rest = [f"and {more} more"] if more > 0 else []
    return tag("ul", [tag("li", line) for line in lines[:_MOST] + rest])
