"""What columns mean, and what becomes of them."""

from datetime import date, timedelta

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from kinlearn.cli._kinds import MISSING, find_kinds
from kinlearn.cli._prepare import TableColumns, make_preparation, unreadable_cells
from kinlearn.sharing import Pooled

N = 40


def _kind(values, **options):
    values = list(values)
    frame = pd.DataFrame({"a": pd.Series(values)})
    (kind,), remarks = find_kinds(frame, **options)
    return kind, remarks


def _cycle(*values):
    return [values[i % len(values)] for i in range(N)]


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (_cycle("1", "2.5", "-3e4"), "number"),
        (_cycle("1", None, "7"), "number"),
        (_cycle("1,5", "2,25"), "number"),
        (_cycle("1,500", "22,250", "7"), "number"),
        (_cycle("true", "FALSE"), "yes/no"),
        (_cycle(True, False), "yes/no"),
        (_cycle(True, None), "yes/no"),
        (_cycle("yes", "no"), "category"),
        (_cycle("007", "012"), "category"),
        (_cycle("1", "2", "three"), "category"),
        (_cycle("2020-01-31", "2021-12-01"), "date"),
        (_cycle("2020-01-31T10:30:00Z", "2021-12-01T00:00:00Z"), "date"),
        (_cycle("31.12.2020", "01.02.2021"), "date"),
        (_cycle("12/31/2020", "01/02/2021"), "date"),
        (_cycle(date(2020, 1, 1), date(2021, 1, 1)), "date"),
        (_cycle(pd.Timestamp("2020-01-01"), pd.NaT), "date"),
        (_cycle(timedelta(days=1), timedelta(days=3)), "number"),
        (_cycle("1.2.3", "99.99.99"), "category"),
        ([f"id{i}" for i in range(N)], "dropped"),
        (range(N), "number"),
        ([str(i + 1) for i in range(N)], "number"),
        ([None] * N, "dropped"),
        (["x"] * N, "dropped"),
        (_cycle([1], [2]), "dropped"),
        (_cycle(b"1", b"2"), "dropped"),
        ([np.inf, np.nan] * (N // 2), "dropped"),
    ],
)
def test_kind_of_a_column(values, kind):
    assert _kind(values)[0]["kind"] == kind


def test_kinds_that_are_told():
    ids = [f"id{i}" for i in range(N)]
    assert _kind(ids, keep=["a"])[0]["kind"] == "category"
    assert _kind(range(N), keep=["a"])[0]["kind"] == "number"
    assert _kind(_cycle("1", "2"), categorical=["a"])[0]["kind"] == "category"


def test_numbers_with_a_few_strangers_are_numbers_and_it_is_said():
    values = [str(i * 1.5) for i in range(N)]
    values[3] = "?"
    kind, remarks = _kind(values)
    assert kind["kind"] == "number"
    assert remarks == ["Column 'a': 1 cells are no numbers ('?'): missing"]


def test_days_come_before_months_where_both_are_possible_and_it_is_said():
    kind, remarks = _kind(_cycle("01/02/2020", "03/04/2020"))
    assert kind["format"] == "%d/%m/%Y"
    assert "day before the month" in remarks[0]
    kind, remarks = _kind(_cycle("01/02/2020", "03/14/2020"))
    assert (kind["format"], remarks) == ("%m/%d/%Y", [])


@pytest.mark.parametrize(
    ("values", "numbers"),
    [
        (["1,5", "2,25", "-1,0"], [1.5, 2.25, -1.0]),
        (["1,500", "22,250", "7"], [1500, 22250, 7]),
        (["1e3", "inf", "2"], [1000, np.nan, 2]),
    ],
)
def test_numbers_are_read_by_what_a_comma_is(values, numbers):
    frame = pd.DataFrame({"a": values})
    kinds, _ = find_kinds(frame)
    assert_allclose(TableColumns(kinds).fit_transform(frame)["a"], numbers)


def test_parts_of_a_date():
    text = ["2024-02-29T18:00:00", "2023-12-31", None]
    days = [date(2024, 2, 29), date(2023, 12, 31)]
    frame = pd.DataFrame({"a": text})
    kinds, _ = find_kinds(frame)
    found = TableColumns(kinds).fit_transform(frame)
    assert_allclose(found["a: year"], [2024, 2023, np.nan])
    assert_allclose(found["a: month"], [2, 12, np.nan])
    weekdays = [d.weekday() for d in days]
    assert_allclose(found["a: weekday"], [*weekdays, np.nan])
    assert_allclose(found["a: days"], [(days[0] - days[1]).days, 0, np.nan])
    assert_allclose(found["a: hour"], [18, 0, np.nan])


def test_text_and_types_of_new_rows_are_read_alike():
    frame = pd.DataFrame(
        {
            "n": _cycle("1", "2.5"),
            "b": _cycle("true", "false"),
            "d": _cycle("2020-01-31", "2021-12-01"),
            "c": _cycle("1", "x"),
        }
    )
    kinds, _ = find_kinds(frame)
    typed = frame.assign(
        n=frame["n"].astype(float),
        b=frame["b"] == "true",
        d=pd.to_datetime(frame["d"]),
        c=frame["c"].astype("category"),
    )
    reader = TableColumns(kinds).fit(frame)
    pd.testing.assert_frame_equal(reader.transform(frame), reader.transform(typed))


def test_cells_that_cannot_be_read_are_counted():
    kinds = [{"name": "n", "kind": "number"}, {"name": "c", "kind": "category"}]
    frame = pd.DataFrame({"n": ["1", "two", None, "three"], "c": ["x"] * 4})
    assert unreadable_cells(frame, kinds) == {"n": (2, "two")}


def _prepared(frame, **options):
    kinds, _ = find_kinds(frame.drop(columns="task"))
    preparation = make_preparation(kinds, len(frame), task="task", **options)
    return preparation.fit(frame)


def test_preparation_fills_scales_and_keeps_the_task():
    frame = pd.DataFrame({"n": [1.0, None, 3.0, 4.0] * 10, "task": ["a", "b"] * 20})
    out = _prepared(frame, scale=True).transform(frame)
    assert out.columns.tolist() == ["n", "missingindicator_n", "task"]
    filled = frame["n"].fillna(3.0)
    assert_allclose(out["n"], (filled - filled.mean()) / filled.std(ddof=0))
    assert out["task"].tolist() == frame["task"].tolist()


def test_preparation_leaves_holes_where_the_model_takes_them():
    frame = pd.DataFrame({"n": [1.0, None, 3.0, 4.0] * 10, "task": ["a", "b"] * 20})
    out = _prepared(frame, fill=False).transform(frame)
    assert_allclose(out["n"], frame["n"])


def test_many_categories_become_thirty_columns_and_rare_ones_one():
    towns = [f"t{i}" for i in range(100) for _ in range(i + 1)]
    frame = pd.DataFrame({"town": towns, "task": ["a", "b"] * (len(towns) // 2)})
    preparation = _prepared(frame)
    out = preparation.transform(frame).drop(columns="task")
    assert out.shape[1] == 30
    assert_allclose(out.sum(axis=1), 1)
    assert out["town_t99"].sum() == 100
    new = frame.head(1).assign(town="never seen")
    row = preparation.transform(new).drop(columns="task").iloc[0]
    assert row[row == 1].index.tolist() == ["town_infrequent_sklearn"]


def test_a_missing_category_is_one_of_its_own():
    frame = pd.DataFrame({"c": _cycle("x", "y", None), "task": _cycle(1, 2)})
    assert f"c_{MISSING}" in _prepared(frame).transform(frame).columns


def test_names_that_would_clash_are_told_apart():
    frame = pd.DataFrame(
        {"c": _cycle("x", "y"), "c_x": _cycle(1.0, 2.0, 3.0), "task": _cycle(1, 2)}
    )
    out = _prepared(frame).transform(frame)
    assert out.columns.is_unique
    assert out.shape == (N, 4)


def test_preparation_works_in_a_pipeline_without_the_command_line():
    frame = pd.DataFrame(
        {"c": _cycle("x", "y"), "n": _cycle("1", "2", "4"), "task": _cycle("a", "b")}
    )
    kinds, _ = find_kinds(frame[["c", "n"]])
    model = make_pipeline(
        make_preparation(kinds, N, task="task"),
        Pooled(LogisticRegression(), task="task"),
    )
    y = frame["c"] == "x"
    assert (clone(model).fit(frame, y).predict(frame) == y).all()
