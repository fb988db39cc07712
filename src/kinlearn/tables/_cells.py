"""The cells of one column, whatever library and type they are of.

Typed numbers, truth values, dates and durations stay arrays. All else becomes its
distinct values as text, and for each row a code: text is parsed once for each distinct
value, not once for each row.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Literal

import narwhals.stable.v2 as nw
import numpy as np

from kinlearn.tables._containers import AnyTable, FrameTable, SparseTable
from kinlearn.utils._values import are_missing

__all__ = [
    "Cells",
    "number_parser",
    "parse_clock",
    "parse_date",
    "read_cells",
    "text_of",
    "to_levels",
    "to_moments",
    "to_numbers",
    "to_truth",
]

_DAY = 86_400e6  # microseconds
_TRUE = frozenset(("true", "t", "yes", "y", "1"))
_FALSE = frozenset(("false", "f", "no", "n", "0"))
_SIMPLE = (str, bool, int, float, Decimal, date, time, timedelta, np.generic)
_WITH_TEXT = {"Period", "Interval", "UUID"}  # whose text is all there is to them
_PLAIN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?", re.ASCII)
_SPACES = str.maketrans(
    {"\u00a0": " ", "\u202f": " ", "\u2009": " ", "\u2212": "-", "\u2019": "'"}
)


@dataclass(frozen=True, eq=False)
class Cells:
    """One column.

    Attributes
    ----------
    type : {"number", "truth", "moment", "text", "category", "thing"}
        What its type says; "thing" is a list, bytes or the like, which no model reads.
    numbers : float64 array of shape (n_rows,), or None
        Numbers, durations in days, truth as 1 and 0, moments in microseconds since
        1970 (of UTC); NaN is missing.
    levels : list of str
        Distinct texts, in their order where the type has one.
    codes : intp array of shape (n_rows,), or None
        Places among `levels`; -1 is missing.
    example : object
        A thing.
    ordered : bool
        Whether the order of the levels means something.
    """

    type: Literal["number", "truth", "moment", "text", "category", "thing"]
    numbers: Any = None
    levels: Any = ()
    codes: Any = None
    example: Any = None
    ordered: bool = False

    @property
    def missing(self) -> np.ndarray:
        """Which rows have no value."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        return self.codes < 0


def text_of(value: Any) -> str:
    """A value as text; whole numbers lose the ``.0`` that files give and take."""
    if isinstance(value, date | time):
        return value.isoformat()
    text = str(value).strip()
    whole = text.endswith(".0") and text[:-2].lstrip("-").isdigit()
    return text[:-2] if whole else text


def read_cells(table: AnyTable, position: int) -> Cells:
    """Read one column of a table."""
    if isinstance(table, FrameTable):
        return _from_series(table.frame[:, position])
    if isinstance(table, SparseTable):
        return Cells("number", table.column(position).astype(np.float64))
    return _from_array(table.column(position))


def _from_series(series: Any) -> Cells:
    dtype = series.dtype
    if dtype.is_numeric():
        return Cells("number", _floats(series))
    if dtype == nw.Boolean:
        return Cells("truth", _floats(series))
    if dtype in (nw.Datetime, nw.Date):
        return Cells("moment", _floats(series.dt.timestamp("us")))
    if dtype == nw.Duration:
        return Cells("number", _floats(series.dt.total_microseconds()) / _DAY)
    if dtype in (nw.List, nw.Array, nw.Struct, nw.Binary):
        return Cells("thing", example=next(iter(series.head(1).to_list()), None))
    if dtype == nw.Unknown:  # such as pandas' sparse columns
        values = np.asarray(series.to_native())
        if values.ndim == 1 and values.dtype.kind in "fiub":
            return Cells("number", values.astype(np.float64))
    cells = _from_list(series.to_list(), dtype in (nw.Categorical, nw.Enum))
    if dtype == nw.Enum and cells.type == "category":
        return _in_order(cells, [text_of(value) for value in dtype.categories])
    return cells


def _floats(series: Any) -> np.ndarray:
    # a cast alone may leave what has no NaN (nulls) as objects
    return np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _from_array(values: np.ndarray) -> Cells:
    kind = values.dtype.kind
    if kind in "fiu":
        return Cells("number", values.astype(np.float64))
    if kind == "b":
        return Cells("truth", values.astype(np.float64))
    if kind in "mM":
        unit = "datetime64[us]" if kind == "M" else "timedelta64[us]"
        numbers = values.astype(unit).astype(np.float64)
        numbers[np.isnat(values)] = np.nan
        return (
            Cells("moment", numbers) if kind == "M" else Cells("number", numbers / _DAY)
        )
    cells = _from_list(values.tolist(), category=False)
    if cells.type == "thing":
        float(cells.example)  # raises, in the words of a failed conversion
        raise TypeError(f"X holds {cells.example!r}, which is no value of a table.")
    return cells


def _from_list(cells: list, category: bool) -> Cells:
    try:
        distinct = dict.fromkeys(cells)
    except TypeError:  # lists, dicts
        thing = next(v for v in cells if getattr(v, "__hash__", None) is None)
        return Cells("thing", example=thing)
    values = list(distinct)
    there = ~are_missing(values)
    present = [value for value, is_there in zip(values, there, strict=True) if is_there]
    odd = [v for v in present if not _is_simple(v)]
    if odd:
        return Cells("thing", example=odd[0])
    types = set(map(type, present))
    if present and not category and all(issubclass(t, bool | np.bool_) for t in types):
        lookup = {
            v: float(v) if t else np.nan for v, t in zip(values, there, strict=True)
        }
        return Cells("truth", _look_up(lookup, cells, np.float64))
    if present and all(issubclass(t, timedelta) for t in types):
        day = timedelta(days=1)
        lookup = {
            v: v / day if t else np.nan for v, t in zip(values, there, strict=True)
        }
        return Cells("number", _look_up(lookup, cells, np.float64))
    texts = [text_of(v) if t else "" for v, t in zip(values, there, strict=True)]
    levels = list(dict.fromkeys(text for text in texts if text))
    place = {text: i for i, text in enumerate(levels)} | {"": -1}
    lookup = {value: place[text] for value, text in zip(values, texts, strict=True)}
    codes = _look_up(lookup, cells, np.intp)
    return Cells("category" if category else "text", levels=levels, codes=codes)


def _is_simple(value: Any) -> bool:
    if isinstance(value, _SIMPLE):
        return not isinstance(value, bytes)
    return type(value).__name__ in _WITH_TEXT


def _look_up(table: dict, cells: list, dtype: Any) -> np.ndarray:
    return np.fromiter(map(table.__getitem__, cells), dtype=dtype, count=len(cells))


def _in_order(cells: Cells, order: list[str]) -> Cells:
    place = {level: i for i, level in enumerate(dict.fromkeys(order))}
    moved = np.array([*(place[level] for level in cells.levels), -1], dtype=np.intp)
    codes = moved[cells.codes]
    used = np.unique(codes[codes >= 0])
    lookup = np.full(len(place) + 1, -1, dtype=np.intp)
    lookup[used] = np.arange(len(used))
    levels = list(place)
    chosen = [levels[i] for i in used]
    return Cells("category", levels=chosen, codes=lookup[codes], ordered=True)


def to_levels(cells: Cells) -> tuple[list[str], np.ndarray]:
    """A column of any type as distinct texts, and places among them; -1 is missing."""
    if cells.numbers is None:
        return list(cells.levels), cells.codes
    there = ~np.isnan(cells.numbers)
    values, places = np.unique(cells.numbers[there], return_inverse=True)
    if cells.type == "moment":
        levels = [str(moment) for moment in values.astype("datetime64[us]")]
    elif cells.type == "truth":
        levels = [str(bool(value)) for value in values]
    else:
        levels = [text_of(value) for value in values.tolist()]
    codes = np.full(len(there), -1, dtype=np.intp)
    codes[there] = places
    return levels, codes


def _by_level(cells: Cells, parse: Callable[[str], float]) -> np.ndarray:
    parsed = np.array([*map(parse, cells.levels), np.nan])
    return parsed[cells.codes]  # -1, the missing, is the last


def number_parser(
    decimal: str = ".", thousands: str = "", affix: str = ""
) -> Callable[[str], float]:
    """A function that reads a number, NaN if a text is none.

    `affix` is a sign before or after the number, such as ``%``.
    """
    pattern = _PLAIN
    if thousands:
        groups = rf"[-+]?\d{{1,3}}(?:{re.escape(thousands)}\d{{3}})*"
        pattern = re.compile(
            rf"{groups}(?:{re.escape(decimal)}\d+)?|[-+]?\d+", re.ASCII
        )
    elif decimal != ".":
        pattern = re.compile(r"[-+]?\d*,\d+|[-+]?\d+,?", re.ASCII)

    def parse(text: str) -> float:
        text = text.translate(_SPACES)
        if affix:
            text = text.replace(affix, "").strip()
        if not pattern.fullmatch(text):
            plain = decimal == "." or not thousands  # a dot is a dot
            return float(text) if plain and _PLAIN.fullmatch(text) else np.nan
        if thousands:
            text = text.replace(thousands, "")
        return float(text.replace(decimal, "."))

    return parse


def parse_clock(text: str) -> float:
    """A time of day such as ``14:30`` in hours, NaN if it is none."""
    found = _CLOCK.fullmatch(text)
    if not found:
        return np.nan
    hours, minutes, seconds = found.groups(default="0")
    return int(hours) + int(minutes) / 60 + float(seconds) / 3600


def to_numbers(cells: Cells, meaning: dict[str, Any]) -> np.ndarray:
    """A column as float64; what is no finite number becomes NaN.

    `meaning` has ``decimal``, ``thousands`` and ``affix`` if its text is not written as
    in Python, or ``"format": "clock"``.
    """
    if cells.numbers is not None:
        return np.where(np.isfinite(cells.numbers), cells.numbers, np.nan)
    if meaning.get("format") == "clock":
        return _by_level(cells, parse_clock)
    style = {k: meaning[k] for k in ("decimal", "thousands", "affix") if k in meaning}
    numbers = _by_level(cells, number_parser(**style))
    return np.where(np.isfinite(numbers), numbers, np.nan)  # 1e999


def to_truth(cells: Cells) -> np.ndarray:
    """A column of yes and no as 1, 0 and NaN."""
    if cells.numbers is not None:
        return np.where(np.isin(cells.numbers, (0.0, 1.0)), cells.numbers, np.nan)
    table = dict.fromkeys(_TRUE, 1.0) | dict.fromkeys(_FALSE, 0.0)
    return _by_level(cells, lambda text: table.get(text.lower(), np.nan))


def parse_date(text: str, form: str) -> float:
    """A date in microseconds since 1970, NaN if a text is none.

    `form` is ``"ISO8601"``, or what ``datetime.strptime`` takes. A time zone is heeded.
    """
    try:
        if form == "ISO8601":
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.strptime(text, form)
    except ValueError:
        return np.nan
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC).replace(tzinfo=None)
    return float(np.datetime64(moment, "us").astype(np.int64))


def to_moments(cells: Cells, form: str) -> np.ndarray:
    """A column as microseconds since 1970; what is no date becomes NaN.

    Text is written in `form`; text in ISO 8601 is read too.
    """
    if cells.type == "moment":
        return cells.numbers
    if cells.numbers is not None:
        return np.full(len(cells.numbers), np.nan)

    def parse(text: str) -> float:
        moment = parse_date(text, form)
        return parse_date(text, "ISO8601") if np.isnan(moment) else moment

    return _by_level(cells, parse)
