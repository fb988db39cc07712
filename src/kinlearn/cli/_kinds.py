"""What the columns of a table mean: number, yes/no, date, category, or nothing.

A column's meaning is a plain dict, so that it can stand in a model file:
``{"name", "kind"}``, for numbers perhaps ``"comma"`` (what a comma in them is), for
dates ``"format"``, ``"origin"`` and ``"hours"``, for dropped ones ``"why"``.
"""

from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd

__all__ = [
    "MISSING",
    "as_categories",
    "as_dates",
    "as_numbers",
    "as_text",
    "find_kinds",
]

MISSING = "(missing)"
_COMMA_DECIMAL = r"[-+]?\d*,\d+|[-+]?\d+"
_COMMA_THOUSANDS = r"[-+]?\d{1,3}(?:,\d{3})+|[-+]?\d{1,3}"
_ZERO_CODE = r"0\d+"
_DATE_LIKE = r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[ T].*)?"
# In this order: where days and months could be either, the day comes first.
_DATE_FORMATS = (
    "ISO8601",
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
    "%d.%m.%Y %H:%M",
    "%d/%m/%Y %H:%M",
    "%m/%d/%Y %H:%M",
)
_TRUE, _FALSE = (
    ("true", "t", "yes", "y", "1", "1.0"),
    ("false", "f", "no", "n", "0", "0.0"),
)
_MOSTLY = 0.9  # share of numbers that makes a column one of numbers


def as_text(column: pd.Series) -> pd.Series:
    """A column as trimmed text, missing cells left missing.

    Parameters
    ----------
    column : pandas.Series
        Of any type. Whole numbers lose their ``.0``, which they get and lose on
        the way through files.

    Returns
    -------
    pandas.Series
        Of strings (object) and None.
    """
    codes, values = pd.factorize(column)  # columns of text have few different cells
    texts = [_without_fraction(str(value).strip()) for value in values]
    cells = np.array([*texts, None], dtype=object)[codes]  # -1, the missing, is last
    return pd.Series(cells, index=column.index, dtype=object)


def _without_fraction(text: str) -> str:
    whole = text.endswith(".0") and text[:-2].lstrip("-").isdigit()
    return text[:-2] if whole else text


def as_categories(column: pd.Series) -> pd.Series:
    """Text in which a missing cell is a value of its own."""
    text = as_text(column)
    return text.where(text.notna(), MISSING)


def as_numbers(column: pd.Series, comma: str | None = None) -> np.ndarray:
    """A column as float64; what is no finite number becomes missing.

    Parameters
    ----------
    column : pandas.Series
        Numbers, booleans, durations (in days), or text.
    comma : {"decimal", "thousands"}, default=None
        What a comma in the text is.

    Returns
    -------
    float64 array
        One number for each row.
    """
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        column = column / pd.Timedelta(days=1)
    elif not pd.api.types.is_numeric_dtype(column.dtype):
        column = column.astype("str")
        if comma is not None:
            column = column.str.replace(",", "." if comma == "decimal" else "")
    numbers = pd.to_numeric(column, errors="coerce").to_numpy(
        np.float64, na_value=np.nan
    )
    return np.where(np.isfinite(numbers), numbers, np.nan)


def as_truth(column: pd.Series) -> np.ndarray:
    """A column of yes and no as 1, 0 and NaN."""
    text = as_text(column).map(str.lower, na_action="ignore")
    out = np.full(len(text), np.nan)
    out[text.isin(_TRUE)] = 1.0
    out[text.isin(_FALSE)] = 0.0
    return out


def as_dates(column: pd.Series, form: str) -> pd.Series:
    """A column as dates without time zones; what is none becomes missing.

    Parameters
    ----------
    column : pandas.Series
        Dates, or text.
    form : str
        How text is written, as ``pandas.to_datetime`` takes it.

    Returns
    -------
    pandas.Series
        Of datetime64.
    """
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = as_text(column)
    dates = pd.to_datetime(column, format=form, errors="coerce", utc=True)
    return dates.dt.tz_localize(None)


def find_kinds(
    frame: pd.DataFrame, *, keep: Sequence[str] = (), categorical: Sequence[str] = ()
) -> tuple[list[dict[str, Any]], list[str]]:
    """The meaning of every column, and which are of no use.

    Parameters
    ----------
    frame : pandas.DataFrame
        Features, without task and target.
    keep : sequence of str
        Columns to use although they look like names of the rows.
    categorical : sequence of str
        Columns that hold categories, whatever they look like.

    Returns
    -------
    kinds : list of dict
        One for each column.
    remarks : list of str
        What a user should know.
    """
    kinds, remarks = [], []
    for name in frame.columns:
        kind = _kind(frame[name], name in keep, name in categorical)
        remark = kind.pop("remark", None)
        kinds.append({"name": name, **kind})
        if remark:
            remarks.append(f"Column {name!r}: {remark}")
    return kinds, remarks


def _dropped(why: str) -> dict[str, Any]:
    return {"kind": "dropped", "why": why}


def _kind(column: pd.Series, keep: bool, categorical: bool) -> dict[str, Any]:
    present = column.dropna()
    if not len(present):
        return _dropped("no value in any row")
    if _holds_things(present):
        return _dropped(f"its values are of type {type(present.iloc[0]).__name__}")
    if len(present) == len(column) and present.astype(str).nunique() == 1:
        return _dropped("the same value in every row")
    if categorical:
        return _category(column, keep=True)
    dtype = column.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return {"kind": "yes/no"}
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return _date(column, "ISO8601")
    if isinstance(dtype, pd.CategoricalDtype):
        return _category(column, keep)
    if pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_timedelta64_dtype(dtype):
        return _number(column)
    if isinstance(present.iloc[0], date):
        return _date(column, "ISO8601")
    return _kind_of_text(column, keep)


def _holds_things(present: pd.Series) -> bool:
    """Whether cells are lists, bytes or the like, which are no values."""
    simple = str | bool | int | float | Decimal | date | np.generic
    if present.dtype != object:
        return not (
            pd.api.types.is_numeric_dtype(present.dtype)
            or pd.api.types.is_datetime64_any_dtype(present.dtype)
            or pd.api.types.is_timedelta64_dtype(present.dtype)
            or pd.api.types.is_string_dtype(present.dtype)
            or isinstance(present.dtype, pd.CategoricalDtype)
        )
    return not present.map(lambda v: isinstance(v, simple)).all()


def _kind_of_text(column: pd.Series, keep: bool) -> dict[str, Any]:
    if _plain_numbers(column):
        return _number(pd.Series(as_numbers(column)))
    text = as_text(column)
    present = text.dropna()
    levels = pd.Series(present.unique()).astype("str")
    if set(levels.str.lower()) <= {"true", "false"}:
        return {"kind": "yes/no"}
    if levels.str.fullmatch(_ZERO_CODE).any() and levels.str.fullmatch(r"\d+").all():
        kind = _category(column, keep)
        kind["remark"] = "codes with leading zeros, taken as categories"
        return kind
    comma = None
    if levels.str.contains(",").any():
        if levels.str.fullmatch(_COMMA_THOUSANDS).all():
            comma = "thousands"
        elif levels.str.fullmatch(_COMMA_DECIMAL).all():
            comma = "decimal"
    numbers = as_numbers(present, comma)
    is_number = ~np.isnan(numbers)
    infinite = present.str.lower().str.fullmatch(r"[-+]?inf(?:inity)?")
    # Ten numbers at least: 1, 2 and "three" are categories with odd names.
    enough = is_number.mean() > _MOSTLY and len(np.unique(numbers[is_number])) > 10
    if (is_number | infinite.to_numpy()).all() or enough:
        kind = _number(pd.Series(as_numbers(text, comma)))
        others = present[~is_number]
        if len(others) and kind["kind"] == "number":
            shown = ", ".join(repr(v[:20]) for v in others.unique()[:3])
            kind["remark"] = f"{len(others)} cells are no numbers ({shown}): missing"
        return kind if comma is None else {**kind, "comma": comma}
    if levels.str.fullmatch(_DATE_LIKE).all():
        for form in _DATE_FORMATS:
            if as_dates(present, form).notna().all():
                return _date(column, form)
    return _category(column, keep)


def _plain_numbers(column: pd.Series) -> bool:
    """Whether that is clear at once: most columns of most large tables."""
    present = column.dropna().astype("str")
    if np.isnan(as_numbers(present)).any():
        return False
    return not present.str.fullmatch(_ZERO_CODE).any()


def _number(column: pd.Series) -> dict[str, Any]:
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return {"kind": "number"}
    values = column.to_numpy(np.float64, na_value=np.nan)
    if not np.isfinite(values).any():
        return _dropped("no finite number in any row")
    infinite = int(np.isinf(values).sum())
    remark = f"{infinite} infinite values: missing" if infinite else None
    return {"kind": "number", "remark": remark}


def _date(column: pd.Series, form: str) -> dict[str, Any]:
    dates = as_dates(column, form).dropna()
    hours = bool((dates != dates.dt.normalize()).any())
    kind = {
        "kind": "date",
        "format": form,
        "origin": str(dates.min().date()),
        "hours": hours,
    }
    either = form in ("%d/%m/%Y", "%d-%m-%Y") and (dates.dt.day <= 12).all()
    remark = "dates read with the day before the month" if either else None
    return {**kind, "remark": remark}


def _category(column: pd.Series, keep: bool) -> dict[str, Any]:
    text = as_text(column)
    counts = text.value_counts()
    n_rows = len(text)
    if not keep and counts.iloc[0] == 1 and len(counts) > 1:
        return _dropped("another text in every row, like a name or an id")
    least = min_level_rows(n_rows)
    if not keep and counts.iloc[0] < least:
        return _dropped(f"no value stands in {least} rows or more")
    return {"kind": "category"}


def min_level_rows(n_rows: int) -> int:
    """Rows that a category needs for an indicator of its own."""
    return int(np.clip(n_rows // 200, 2, 10))
