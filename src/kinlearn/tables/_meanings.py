"""What the columns of a table mean: number, yes/no, date, category, or nothing.

A column's meaning is a plain dict, so that it can stand in a model file:
``{"name", "kind"}``; for numbers written as text perhaps ``"decimal"``,
``"thousands"``, ``"affix"`` or ``"format"``; for dates ``"format"``, ``"origin"`` (the
earliest day in training) and ``"parts"``; for dropped columns ``"why"``.
"""

import re
from collections.abc import Collection
from typing import Any

import numpy as np

from kinlearn.exceptions import UnusedColumnWarning
from kinlearn.tables._cells import (
    Cells,
    number_parser,
    parse_clock,
    parse_date,
    read_cells,
    to_levels,
    to_moments,
    to_numbers,
    to_truth,
)
from kinlearn.tables._containers import AnyTable, find_column, open_table
from kinlearn.utils._typing import Table, TaskColumn
from kinlearn.utils._values import show_values, warn_caller

__all__ = [
    "column_parts",
    "find_meaning",
    "find_meanings",
    "min_level_rows",
    "read_meanings",
    "remarks_on",
    "unreadable_cells",
    "warn_of_unused",
]

# why a column is left out that has nothing to learn from
_EMPTY, _CONSTANT, _REQUESTED = _NOTHING = (
    "no value in any row",
    "the same value in every row",
    "it is to be left out",
)
_DAY = 86_400e6  # microseconds
_MOSTLY = 0.9  # fraction of numbers that makes a column one of numbers
_MANY = 10  # different ones, at least, for that
# What people write where a number or a date is missing. As a category each of these
# keeps its meaning: "none" may be a kind of garage.
_MISSING_WORDS = {
    "na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none", "-", "--", ".", "?",
}  # fmt: skip
_TRUTH_PAIRS = ({"true", "false"}, {"yes", "no"}, {"y", "n"}, {"t", "f"})
# In this order: the first that reads most values is taken.
_NUMBER_STYLES: tuple[dict[str, str], ...] = (
    {},
    {"thousands": ","},
    {"decimal": ","},
    {"decimal": ",", "thousands": "."},
    {"thousands": " "},
    {"decimal": ",", "thousands": " "},
    {"thousands": "'"},
)
_AFFIXES = "%$€£¥"
_ZERO_CODE = re.compile(r"0\d+", re.ASCII)
_INFINITE = re.compile(r"[-+]?inf(?:inity)?")
_DATE_LIKE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}(?:[-/.]\d{1,4})?(?:[ T].*)?"
    r"|\d{1,2}[- ][A-Za-z]{3,9}[- ]\d{4}|[A-Za-z]{3,9} \d{1,2},? \d{4}",
    re.ASCII,
)
# In this order: where days and months could be either, the day comes first.
_DAYS = ("%Y/%m/%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
_DATE_FORMATS = (
    "ISO8601",
    *(f"{day}{clock}" for clock in ("", " %H:%M", " %H:%M:%S") for day in _DAYS),
    "%Y-%m",
    "%d-%b-%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d, %Y",
    "%B %d, %Y",
)
_PARTS = ("year", "month", "weekday", "days", "hour")


def min_level_rows(n_rows: int) -> int:
    """Rows that a category needs for an indicator of its own."""
    return int(np.clip(n_rows // 200, 2, 10))


def find_meanings(
    X: Table,
    *,
    task: TaskColumn = None,
    drop: Collection[str | int] = (),
    keep: Collection[str | int] = (),
    categorical: Collection[str | int] = (),
) -> list[dict[str, Any]]:
    """What the columns of a table mean, as :class:`TableEncoder` takes them.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, n_columns)
        The table.
    task : str, int or None, default=None
        A column that is no feature.
    drop : collection of str or int
        Columns to leave out.
    keep : collection of str or int
        Columns to use although they look like names of the rows.
    categorical : collection of str or int
        Columns that hold categories, whatever they look like.

    Returns
    -------
    list of dict
        One for each column but the task, of plain values: ``name`` and ``kind``, which
        is "number", "yes/no", "date", "category" or "dropped"; ``why`` if it is
        dropped; ``remark`` if it might have been read otherwise; how numbers and dates
        are written.

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn.tables import find_meanings
    >>> frame = pd.DataFrame({"a": ["1,5", "2"], "b": ["yes", "no"], "c": [None, None]})
    >>> for meaning in find_meanings(frame):
    ...     print(meaning)
    {'name': 'a', 'kind': 'number', 'decimal': ','}
    {'name': 'b', 'kind': 'yes/no'}
    {'name': 'c', 'kind': 'dropped', 'why': 'no value in any row'}
    """
    table = open_table(X)
    skip = None if task is None else find_column(task, table, "Task")
    return read_meanings(table, skip, drop, keep, categorical)


def read_meanings(
    table: AnyTable,
    skip: int | None,
    drop: Collection[str | int],
    keep: Collection[str | int],
    categorical: Collection[str | int],
    *,
    constants: bool = False,
) -> list[dict[str, Any]]:
    """What :func:`find_meanings` finds, of an open table; `skip` is a position.

    Of a table that has nothing else, `constants` are used: a small task may have no
    other columns.
    """
    names = table.names or [f"x{i}" for i in range(table.n_columns)]
    meanings, constant = [], []
    for position, name in enumerate(names):
        if position == skip:
            continue
        left, kept, forced = (
            any(key in (name, position, position - table.n_columns) for key in keys)
            for keys in (drop, keep, categorical)
        )
        if left:
            meanings.append({"name": name, **_dropped(_REQUESTED)})
            continue
        cells = read_cells(table, position)
        found = {"name": name, **find_meaning(cells, keep=kept, categorical=forced)}
        meaning = {key: value for key, value in found.items() if value is not None}
        if meaning["kind"] != "dropped" and _is_constant(cells):
            constant.append(len(meanings))
        meanings.append(meaning)
    n_used = sum(meaning["kind"] != "dropped" for meaning in meanings)
    if constants and len(constant) == n_used:
        return meanings
    for i in constant:
        name = meanings[i]["name"]
        meanings[i] = {"name": name, **_dropped(_CONSTANT)}
    return meanings


def remarks_on(meanings: list[dict[str, Any]]) -> list[str]:
    """Sentences on what was left out or might have been read otherwise."""
    remarks = []
    for meaning in meanings:
        if meaning["kind"] == "dropped":
            remarks.append(f"Column {meaning['name']!r} is not used: {meaning['why']}.")
        elif "remark" in meaning:
            remarks.append(f"Column {meaning['name']!r}: {meaning['remark']}.")
    return remarks


def warn_of_unused(meanings: list[dict[str, Any]]) -> None:
    """Name the columns that hold something, and are not used all the same."""
    lost = [
        meaning
        for meaning in meanings
        if meaning["kind"] == "dropped" and meaning["why"] not in _NOTHING
    ]
    if lost:
        warn_caller(
            f"{' '.join(remarks_on(lost))} Drop such a column to be rid of this "
            "warning; to use it, make numbers or categories of it.",
            UnusedColumnWarning,
        )


def _dropped(why: str) -> dict[str, Any]:
    return {"kind": "dropped", "why": why}


def _is_constant(cells: Cells) -> bool:
    if len(cells.missing) < 2 or cells.missing.any():
        return False
    values = cells.numbers if cells.numbers is not None else cells.codes
    return bool((values == values[0]).all())


def find_meaning(
    cells: Cells, *, keep: bool = False, categorical: bool = False
) -> dict[str, Any]:
    """The meaning of one column: its ``"kind"``, and perhaps a ``"remark"``.

    `keep` uses it although it looks like names of the rows; `categorical` takes it for
    categories, whatever it looks like.
    """
    if cells.type == "thing":
        return _dropped(f"its values are of type {type(cells.example).__name__}")
    if cells.missing.all():
        return _dropped(_EMPTY)
    if categorical:
        return _category(cells, keep=True)
    if cells.type == "truth":
        return {"kind": "yes/no"}
    if cells.type == "moment":
        return _date(cells, "ISO8601")
    if cells.type == "category":
        return _category(cells, keep)
    if cells.type == "number":
        return _number(cells.numbers)
    return _meaning_of_text(cells, keep)


def _meaning_of_text(cells: Cells, keep: bool) -> dict[str, Any]:
    real = [level for level in cells.levels if level.lower() not in _MISSING_WORDS]
    lower = {level.lower() for level in real}
    if any(lower and lower <= pair for pair in _TRUTH_PAIRS):
        return {"kind": "yes/no"}
    if any(map(_ZERO_CODE.fullmatch, real)) and all(level.isdigit() for level in real):
        remark = "codes with leading zeros, taken as categories"
        return {"remark": remark, **_category(cells, keep)}
    numbers = _numbers(cells, real)
    if numbers is not None:
        return numbers
    if real and all(not np.isnan(parse_clock(level)) for level in real):
        return {"kind": "number", "format": "clock"}
    return _dates(cells, real) or _category(cells, keep)


def _mostly(found: np.ndarray, n_different: int) -> bool:
    """Whether the strangers among so many values are just errors."""
    # 1, 2 and "three" are categories with odd names
    return bool(found.all() or (found.mean() > _MOSTLY and n_different > _MANY))


def _numbers(cells: Cells, real: list[str]) -> dict[str, Any] | None:
    """The meaning of text as numbers, None if it holds none or too few."""
    style = _number_style(real)
    if style is None:
        return None
    parse = number_parser(**style)
    parsed = np.array([parse(level) for level in cells.levels])
    there = cells.codes >= 0
    words = np.array([level.lower() in _MISSING_WORDS for level in cells.levels])
    infinite = np.array([bool(_INFINITE.fullmatch(x.lower())) for x in cells.levels])
    read = ~np.isnan(parsed)
    # cells that are a word for a missing value speak for nothing
    counted = cells.codes[there & ~words[cells.codes]]
    different = len(np.unique(parsed[read]))
    if not _mostly((read | infinite)[counted], different) or not read.any():
        return None
    meaning = {**_number(np.append(parsed, np.nan)[cells.codes]), **style}
    others = cells.codes[there & ~read[cells.codes]]
    if len(others) and meaning["kind"] == "number":
        shown = show_values(
            [cells.levels[i][:20] for i in dict.fromkeys(others.tolist())], 3
        )
        meaning["remark"] = f"{len(others)} cells are no numbers ({shown}): missing"
    return meaning


def _number_style(levels: list[str]) -> dict[str, str] | None:
    """How numbers are written here; None if hardly any level looks like one."""
    affix = next((a for a in _AFFIXES if any(a in level for level in levels)), "")
    begins = sum(level.replace(affix, "", 1).lstrip(" +-\u2212.,")[:1].isdigit()
                 if affix else level.lstrip("+-\u2212.,")[:1].isdigit()
                 for level in levels)  # fmt: skip
    if 2 * begins < len(levels) or not levels:
        return None
    extra = {"affix": affix} if affix else {}
    best, most = None, 0
    for style in _NUMBER_STYLES:
        parse = number_parser(**style, **extra)
        count = sum(not np.isnan(parse(level)) for level in levels)
        if count > most:
            best, most = {**style, **extra}, count
        if most == len(levels):
            break
    return best


def _number(values: np.ndarray) -> dict[str, Any]:
    if not np.isfinite(values).any():
        return _dropped("no finite number in any row")
    infinite = int(np.isinf(values).sum())
    remark = f"{infinite} infinite values: missing" if infinite else None
    return {"kind": "number", "remark": remark}


def _dates(cells: Cells, real: list[str]) -> dict[str, Any] | None:
    like = np.array([bool(_DATE_LIKE.fullmatch(level)) for level in real])
    if not len(like) or not _mostly(like, len(real)):
        return None
    candidates = [level for level, is_like in zip(real, like, strict=True) if is_like]
    for form in _DATE_FORMATS:
        first = parse_date(candidates[0], form)
        if np.isnan(first) and len(candidates) <= _MANY:
            continue
        read = np.array([not np.isnan(parse_date(level, form)) for level in candidates])
        if _mostly(read, int(read.sum())):
            return _date(cells, form)
    return None


def _date(cells: Cells, form: str) -> dict[str, Any]:
    moments = to_moments(cells, form)
    present = moments[~np.isnan(moments)]
    origin = str(present.min().astype("datetime64[us]").astype("datetime64[D]"))
    meaning: dict[str, Any] = {"kind": "date", "format": form, "origin": origin}
    parts = _date_parts(present, origin)
    varying = [part for part in _PARTS if np.ptp(parts[part]) > 0]
    meaning["parts"] = varying or ["days"]
    remark = None
    lost = int((~cells.missing & np.isnan(moments)).sum())
    either = form.startswith(("%d/%m/%Y", "%d-%m-%Y"))
    if lost:
        remark = f"{lost} cells are no dates: missing"
    elif either and (_civil(present)[2] <= 12).all():
        remark = "dates read with the day before the month"
    return {**meaning, "remark": remark}


def _civil(moments: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Year, month and day of the month of moments that are there."""
    days = moments.astype("datetime64[us]").astype("datetime64[D]")
    months = days.astype("datetime64[M]")
    year = months.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12 + 1
    return year, month, (days - months).astype(np.int64) + 1


def _date_parts(moments: np.ndarray, origin: str) -> dict[str, np.ndarray]:
    """Parts of dates by name, NaN where there is none; Monday is weekday 0."""
    there = ~np.isnan(moments)
    present = moments[there]
    year, month, _ = _civil(present)
    days = np.floor(present / _DAY)
    start = np.datetime64(origin, "D").astype(np.int64)
    hour = np.floor((present - days * _DAY) / 3600e6)
    # 1970-01-01 was a Thursday
    found = (year, month, (days + 3) % 7, days - start, hour)
    parts = {}
    for name, values in zip(_PARTS, found, strict=True):
        parts[name] = np.full(len(moments), np.nan)
        parts[name][there] = values
    return parts


def _category(cells: Cells, keep: bool) -> dict[str, Any]:
    levels, codes = to_levels(cells)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    if not keep and len(levels) > 1:
        if counts.max() == 1:
            return _dropped("another text in every row, like a name or an id")
        least = min_level_rows(len(codes))
        if counts.max() < least:
            return _dropped(f"no value stands in {least} rows or more")
    return {"kind": "category"}


def column_parts(cells: Cells, meaning: dict[str, Any]) -> list[tuple[str, np.ndarray]]:
    """The numbers that a column becomes, by the ending of their names.

    One for numbers and yes/no, with an empty ending; some for dates. The meaning is
    neither dropped nor a category.
    """
    if meaning["kind"] == "yes/no":
        return [("", to_truth(cells))]
    if meaning["kind"] == "number":
        return [("", to_numbers(cells, meaning))]
    parts = _date_parts(to_moments(cells, meaning["format"]), meaning["origin"])
    return [(f": {part}", parts[part]) for part in meaning["parts"]]


def unreadable_cells(
    X: Table, meanings: list[dict[str, Any]]
) -> dict[str, tuple[int, str]]:
    """Cells that are there but cannot be read as what their column means.

    Parameters
    ----------
    X : data frame of shape (n_samples, n_columns)
        New rows; columns that are not there are passed over.
    meanings : list of dict
        As :func:`find_meanings` gives.

    Returns
    -------
    dict of str to (int, str)
        For each column that has any, their number and the first of them.

    Examples
    --------
    >>> import pandas as pd
    >>> from kinlearn.tables import unreadable_cells
    >>> new = pd.DataFrame({"a": ["1", "two", "3"]})
    >>> unreadable_cells(new, [{"name": "a", "kind": "number"}])
    {'a': (1, 'two')}
    """
    table = open_table(X)
    places = {name: i for i, name in enumerate(table.names or ())}
    found = {}
    for meaning in meanings:
        name = meaning["name"]
        if meaning["kind"] in ("dropped", "category") or name not in places:
            continue
        cells = read_cells(table, places[name])
        if cells.type == "thing":
            found[name] = table.n_rows, str(cells.example)
            continue
        _, values = column_parts(cells, meaning)[0]
        lost = ~cells.missing & np.isnan(values)
        if lost.any():
            levels, codes = to_levels(cells)
            found[name] = int(lost.sum()), levels[codes[lost][0]]
    return found
