"""Tables as people have them: what each oddity of a column must become.

Every line of ``ODDITIES`` is a column (repeated to forty rows), the meaning it must
get, and what its first cells must be as numbers: NaN for missing, codes of categories
in the order of the alphabet. pandas and polars read it alike.
"""

import json
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose

from kinlearn.tables import TableEncoder, find_meanings, unreadable_cells

N = 40
NAN = np.nan
AMOUNT = np.random.default_rng(0).normal(size=N).round(3)


def cycle(*values):
    return [values[i % len(values)] for i in range(N)]


def many_numbers(stranger):
    return [stranger, *(f"{i / 4}" for i in range(1, N))]


# name, cells, kind, first numbers that come out (None: nothing comes out)
ODDITIES = [
    ("numbers as text", cycle("1", "2.5", "-3e4"), "number", [1, 2.5, -3e4]),
    ("a missing number", cycle("1", None, "7"), "number", [1, NAN, 7]),
    ("empty text is missing", cycle("1", "", "7"), "number", [1, NAN, 7]),
    ("blank text is missing", cycle("1", "  ", "7"), "number", [1, NAN, 7]),
    ("spaces around numbers", cycle(" 1", "2 "), "number", [1, 2]),
    ("decimal comma", cycle("1,5", "2,25"), "number", [1.5, 2.25]),
    ("thousands", cycle("1,500", "22,250", "7"), "number", [1500, 22250, 7]),
    ("thousands and decimals", cycle("1,500.25", "7.5"), "number", [1500.25, 7.5]),
    ("German thousands", cycle("1.500,25", "7,5"), "number", [1500.25, 7.5]),
    ("points for thousands", cycle("1.234.567", "12.345"), "number", [1234567, 12345]),
    ("spaces for thousands", cycle("1 500", "12\u00a0000"), "number", [1500, 12000]),
    ("Swiss thousands", cycle("1'500", "7"), "number", [1500, 7]),
    ("percent", cycle("12%", "5 %", "0.5%"), "number", [12, 5, 0.5]),
    ("dollars", cycle("$1,200.50", "$7", "-$3"), "number", [1200.5, 7, -3]),
    ("euros after the number", cycle("1,50 €", "7 €"), "number", [1.5, 7]),
    ("a real minus sign", cycle("\u22125", "5"), "number", [-5, 5]),
    ("infinite text", cycle("1e3", "inf", "2"), "number", [1000, NAN, 2]),
    ("n/a among few numbers", cycle("1", "2", "n/a"), "number", [1, 2, NAN]),
    ("? among numbers", cycle("1", "?", "3"), "number", [1, NAN, 3]),
    ("a typing error", many_numbers("1o"), "number", [NAN, 0.25, 0.5]),
    ("words for numbers", cycle("1", "2", "three"), "category", [0, 1, 2]),
    ("codes with zeros", cycle("007", "012"), "category", [0, 1]),
    ("version numbers", cycle("1.2.3", "99.99.99"), "category", [0, 1]),
    ("true and false", cycle("true", "FALSE"), "yes/no", [1, 0]),
    ("yes and no", cycle("Yes", "no", None), "yes/no", [1, 0, NAN]),
    ("y, n and NA", cycle("Y", "N", "NA"), "yes/no", [1, 0, NAN]),
    ("yes, no and maybe", cycle("yes", "no", "maybe"), "category", [2, 1, 0]),
    ("truth", cycle(True, False), "yes/no", [1, 0]),
    ("truth with holes", cycle(True, None), "yes/no", [1, NAN]),
    ("one and zero stay numbers", cycle(1, 0), "number", [1, 0]),
    ("none is a category", cycle("none", "brick"), "category", [1, 0]),
    ("spaces around categories", cycle("a ", "b", " a"), "category", [0, 1, 0]),
    ("a missing category", cycle("a", None, "b"), "category", [0, NAN, 1]),
    ("capital letters differ", cycle("b", "B"), "category", [1, 0]),
    ("accents and emoji", cycle("é", "🙂"), "category", [0, 1]),
    ("a time of day", cycle("14:30", "09:15:36"), "number", [14.5, 9.26]),
    ("times", cycle(time(14, 30), time(9)), "number", [14.5, 9]),
    ("durations", cycle(timedelta(days=1), timedelta(hours=36)), "number", [1, 1.5]),
    ("decimals", cycle(Decimal("1.5"), Decimal(2)), "number", [1.5, 2]),
    ("dates", cycle(date(2020, 1, 31), date(2021, 12, 1)), "date", [2020, 2021]),
    ("dates as text", cycle("2020-01-31", "2021-12-01"), "date", [2020, 2021]),
    ("a date without a day", cycle("2020-01", "2021-12"), "date", [2020, 2021]),
    ("days first", cycle("31.12.2020", "01.02.2021"), "date", [2020, 2021]),
    ("months first", cycle("12/31/2020", "01/02/2021"), "date", [2020, 2021]),
    ("month names", cycle("5 Jan 2020", "17 Feb 2021"), "date", [2020, 2021]),
    ("a year first", cycle("2020/01/31", "2021/12/01"), "date", [2020, 2021]),
    ("dates with clocks", cycle("31.12.2020 10:30", "01.02.2021 00:00"), "date",
     [2020, 2021]),
    ("dates with zones", cycle("2020-12-31T23:30:00-05:00", "2020-12-31T00:00:00Z"),
     "date", [2021, 2020]),
    ("moments of a zone", cycle(datetime(2020, 12, 31, 23, tzinfo=timezone(timedelta(
        hours=-5))), datetime(2020, 1, 1, tzinfo=UTC)), "date", [2021, 2020]),
    ("missing dates", cycle("2020-01-31", "null", "2021-12-01"), "date",
     [2020, NAN, 2021]),
    ("no dates after all", cycle("99-99-2020", "31-12-2020"), "category", [1, 0]),
    ("ids", [f"id{i}" for i in range(N)], "dropped", None),
    ("rare names", [f"n{i // 2}" if i < 2 else f"m{i}" for i in range(N)],
     "category", None),
    ("identifiers", [str(uuid.UUID(int=i)) for i in range(N)], "dropped", None),
    ("nothing", [None] * N, "dropped", None),
    ("the same everywhere", ["x"] * N, "dropped", None),
    ("the same number everywhere", [7.5] * N, "dropped", None),
    ("lists", cycle([1], [2, 3]), "dropped", None),
    ("bytes", cycle(b"1", b"2"), "dropped", None),
    ("infinite numbers alone", cycle(np.inf, NAN), "dropped", None),
    ("infinite numbers", cycle(1.0, np.inf, 2.0), "number", [1, NAN, 2]),
    ("huge whole numbers", cycle(2**60, 1), "number", [2**60, 1]),
]  # fmt: skip


def frames(cells):
    yield pd.DataFrame({"a": pd.Series(cells), "amount": AMOUNT})
    zones = {cell.tzinfo for cell in cells if isinstance(cell, datetime)}
    if len(zones) < 2:  # a column of polars has one zone
        yield pl.DataFrame({"a": cells, "amount": AMOUNT}, strict=False)


@pytest.mark.parametrize(("name", "cells", "kind", "first"), ODDITIES)
def test_oddity(name, cells, kind, first):
    for frame in frames(cells):
        meaning = find_meanings(frame)[0]
        assert meaning["kind"] == kind, (name, meaning)
        json.dumps(meaning)
        encoder = TableEncoder().fit(frame)
        X = encoder.transform(frame)
        column = np.flatnonzero(encoder.origin_ == 0)
        assert (len(column) == 0) == (kind == "dropped")
        if first is not None:
            assert_allclose(X[: len(first), column[0]], first)
        if kind == "dropped":
            assert f"Column 'a' is not used: {meaning['why']}." in encoder.remarks_


TYPED = [
    ("nullable integers", pd.array([1, None] * 20, dtype="Int64"), [1, NAN]),
    ("nullable truth", pd.array([True, None] * 20, dtype="boolean"), [1, NAN]),
    ("nullable text", pd.array(["b", None] * 20, dtype="string"), [0, NAN]),
    ("categories", pd.Categorical(["b", "a"] * 20), [1, 0]),
    ("categories of numbers", pd.Categorical([2, 10] * 20), [1, 0]),
    ("ordered categories", pd.Categorical(
        ["low", "high"] * 20, ["low", "middle", "high"], ordered=True), [0, 1]),
    ("periods", pd.period_range("2020-12", periods=2, freq="M").tolist() * 20,
     [2020, 2021]),
    ("intervals", pd.arrays.IntervalArray.from_breaks(range(3)).tolist() * 20, [0, 1]),
    ("sparse columns", pd.arrays.SparseArray([0.0, 2.0] * 20), [0, 2]),
    ("mixed objects", pd.Series([1, "b", 2.0, "1"] * 10, dtype=object), [0, 2, 1, 0]),
    ("moments of a zone", pd.date_range("2020-12-31 23:00", periods=2, freq="365D",
                                        tz="Etc/GMT+5").tolist() * 20, [2021, 2022]),
    ("arrow dates", pd.Series([date(2020, 1, 1), date(2021, 1, 1)] * 20,
                              dtype="date32[pyarrow]"), [2020, 2021]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "cells", "first"), TYPED)
def test_types_of_pandas(name, cells, first):
    frame = pd.DataFrame({"a": cells, "amount": AMOUNT})
    assert_allclose(TableEncoder().fit_transform(frame)[: len(first), 0], first)


@pytest.mark.parametrize(
    ("cells", "first"),
    [
        (pl.Series(["b", "a"] * 20, dtype=pl.Categorical), [1, 0]),
        (pl.Series(["b", "a"] * 20, dtype=pl.Enum(["b", "a"])), [0, 1]),
        (pl.Series([timedelta(days=2), None] * 20), [2, NAN]),
        (pl.Series([Decimal("1.5"), None] * 20), [1.5, NAN]),
    ],
)
def test_types_of_polars(cells, first):
    frame = pl.DataFrame({"a": cells, "amount": AMOUNT})
    assert_allclose(TableEncoder().fit_transform(frame)[: len(first), 0], first)


def test_kinds_that_a_user_decides():
    frame = pd.DataFrame(
        {
            "id": [f"id{i}" for i in range(N)],
            "code": cycle(1, 2, 3),
            "gone": AMOUNT,
            "amount": AMOUNT,
        }
    )
    found = find_meanings(frame, keep=["id"], categorical=["code"], drop=[-2])
    assert [meaning["kind"] for meaning in found] == [
        "category",
        "category",
        "dropped",
        "number",
    ]


def test_numbers_with_a_few_strangers_are_numbers_with_a_remark():
    meaning = find_meanings(pd.DataFrame({"a": many_numbers("1o"), "b": AMOUNT}))[0]
    assert meaning["remark"] == "1 cells are no numbers ('1o'): missing"


def test_days_come_before_months_where_both_are_possible_with_a_remark():
    frame = pd.DataFrame({"a": cycle("01/02/2020", "03/04/2020"), "b": AMOUNT})
    meaning = find_meanings(frame)[0]
    assert meaning["format"] == "%d/%m/%Y"
    assert "day before the month" in meaning["remark"]
    frame = pd.DataFrame({"a": cycle("01/02/2020", "03/14/2020"), "b": AMOUNT})
    meaning = find_meanings(frame)[0]
    assert meaning["format"] == "%m/%d/%Y"
    assert "remark" not in meaning


def test_parts_of_a_date():
    days = [date(2024, 2, 29), date(2023, 12, 31)]
    frame = pd.DataFrame({"a": ["2024-02-29T18:00:00", "2023-12-31", None]})
    encoder = TableEncoder().fit(frame)
    names = ["a: year", "a: month", "a: weekday", "a: days", "a: hour"]
    assert encoder.get_feature_names_out().tolist() == names
    X = encoder.transform(frame)
    assert_allclose(X[0], [2024, 2, days[0].weekday(), (days[0] - days[1]).days, 18])
    assert_allclose(X[1], [2023, 12, days[1].weekday(), 0, 0])
    assert np.isnan(X[2]).all()


def test_parts_that_do_not_vary_stay_away():
    frame = pd.DataFrame({"a": ["2024-02-01", "2024-02-02"]})
    names = TableEncoder().fit(frame).get_feature_names_out()
    assert names.tolist() == ["a: weekday", "a: days"]


def test_text_and_types_of_new_rows_are_read_alike():
    frame = pd.DataFrame(
        {
            "n": cycle("1", "2.5"),
            "b": cycle("true", "false"),
            "d": cycle("31.01.2020", "01.12.2021"),
            "c": cycle("1", "x"),
        }
    )
    typed = frame.assign(
        n=frame["n"].astype(float),
        b=frame["b"] == "true",
        d=pd.to_datetime(frame["d"], format="%d.%m.%Y"),
        c=frame["c"].astype("category"),
    )
    encoder = TableEncoder().fit(frame)
    assert_allclose(encoder.transform(frame), encoder.transform(typed))


def test_cells_that_cannot_be_read_are_counted():
    meanings = [
        {"name": "n", "kind": "number"},
        {"name": "c", "kind": "category"},
        {"name": "away", "kind": "number"},
    ]
    frame = pd.DataFrame({"n": ["1", "two", None, "three"], "c": ["x"] * 4})
    assert unreadable_cells(frame, meanings) == {"n": (2, "two")}
