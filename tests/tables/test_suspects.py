"""Columns that are indices, ids, or know the target."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from kinlearn.tables import find_suspects
from kinlearn.tables._suspect_evidence import name_kind

SEEDS = st.integers(0, 2**32 - 1)
INDEX_NAMES = (
    "",
    "Unnamed: 0",
    "Unnamed: 0.1",
    "index",
    "Index",
    "level_0",
    "__index_level_0__",
    "rownames",
    "row.names",
    "row_id",
    "...1",
    "id",
    "ID",
    "patient_id",
    "PatientID",
    "patientid",
    "idcase",
    "uuid",
)
# all hold measurements, also where a word or its end looks like an index
MEASURES = (
    "income",
    "uric acid",
    "acid",
    "bid",
    "paid",
    "solid",
    "body_mass_index",
    "price.index",
    "covid",
    "time",
    "year",
    "x1",
    "rank",
    "ideal",
    "a",
)


def _only(values, name, y=None, **options):
    frame = pd.DataFrame({name: values})
    if y is not None:
        options = {"kind": "classification", **options}
    return find_suspects(frame, y, **options)


def _certain(values, name, **options):
    return [s.what for s in _only(values, name, **options) if s.certain] == ["index"]


@settings(deadline=None, max_examples=50)
@given(name=st.sampled_from(INDEX_NAMES), data=st.data(), seed=SEEDS)
def test_row_numbers_under_the_name_of_an_index_are_surely_one(name, data, seed):
    rng = np.random.default_rng(seed)
    whole = data.draw(st.integers(3, 400))
    n_rows = data.draw(st.integers(3, whole))
    values = rng.permutation(whole)[:n_rows] + data.draw(st.integers(0, 1))
    form = data.draw(st.sampled_from([int, float, str]))
    assert _certain([form(v) for v in values], name)


@settings(deadline=None, max_examples=50)
@given(
    name=st.sampled_from(["X", "V1", "no", "Obs", "case", "Subject", "#"]), seed=SEEDS
)
def test_a_name_that_may_mean_rows_needs_a_count_of_all(name, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(20, 300))
    lost = int(rng.integers(0, n_rows // 20 + 1))
    count = rng.permutation(n_rows + lost)[:n_rows] + 1
    assert _certain(count, name)
    assert not _certain(rng.choice(10**6, n_rows, replace=False), name)


@settings(deadline=None, max_examples=50)
@given(name=st.sampled_from(MEASURES), seed=SEEDS)
def test_measurements_are_never_dropped(name, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(3, 300))
    columns = (
        rng.normal(size=n_rows),
        np.sort(rng.normal(size=n_rows)),
        rng.choice(10**6, n_rows, replace=False),
        np.arange(n_rows),
        rng.permutation(n_rows),
        1900 + np.arange(n_rows),
    )
    for values in columns:
        assert not any(s.certain for s in _only(values, name))


@settings(deadline=None, max_examples=50)
@given(name=st.sampled_from(INDEX_NAMES), seed=SEEDS)
def test_numbers_with_fractions_and_dates_are_no_index_whatever_their_name(name, seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(3, 300))
    numbers = rng.normal(size=n_rows)
    days = pd.date_range("2020-01-01", periods=n_rows)
    texts = days.strftime("%d.%m.%Y")
    commas = [f"{v:.6f}".replace(".", ",") for v in numbers]
    for values in (numbers, days, texts, days.strftime("%Y-%m-%d"), commas):
        assert not any(s.certain for s in _only(values, name))


def test_a_group_is_no_index():
    schools = np.repeat(np.arange(20), 15)
    assert _only(schools, "school_id") == []
    assert _only(schools.astype(str), "id") == []


def test_the_index_of_files_below_each_other_is_one():
    count = np.concatenate([np.arange(40), np.arange(25), np.arange(60)])
    assert _certain(count, "Unnamed: 0")
    rng = np.random.default_rng(0)
    order = rng.permutation(len(count))
    frame = pd.DataFrame(
        {"Unnamed: 0": count, "file": np.repeat(list("abc"), [40, 25, 60])}
    )
    (found,) = find_suspects(frame.iloc[order], task="file")
    assert found.certain
    assert "again and again" in found.why


def test_small_counts_without_a_name_are_a_column_like_others():
    rng = np.random.default_rng(0)
    assert _only(rng.poisson(2, 300), "Unnamed: 0") == []


@pytest.mark.parametrize("name", ["code", "score"])
def test_a_count_under_any_other_name_is_only_remarked_on(name):
    rng = np.random.default_rng(0)
    (found,) = _only(rng.permutation(205)[:200] + 1, name)
    assert (found.what, found.certain) == ("row number", False)
    assert found.figures["rows"] == 200


def test_years_and_days_may_count():
    assert _only(np.arange(1, 201), "day") == []
    assert _only(1800 + np.arange(200), "year") == []


def test_ids_of_nearly_all_rows_are_remarked_on():
    ids = [f"p{i}" for i in range(200)]
    (found,) = _only(ids, "name")
    assert (found.what, found.certain) == ("id", False)
    assert _certain(ids, "pupil_id")
    (found,) = _only([*ids[:-2], "p0", "p1"], "pupil_id")
    assert (found.what, found.certain) == ("id", False)
    (found,) = _only([*range(500, 698), 500, 501], "pupil_id")
    assert (found.what, found.certain) == ("id", False)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("unnamed: 0", "index"),
        ("Unnamed: 3", "number"),
        ("sample index", "index"),
        ("refractive index", "other"),
        ("customer-id", "id"),
        ("steroid", "other"),
        ("Row Number", "index"),
        ("case no", "number"),
        (3, "other"),
        ("day_number", "time"),
    ],
)
def test_what_a_name_means(text, kind):
    assert name_kind(text) == kind


def _classes(rng, n_rows=300):
    return rng.permutation(np.arange(n_rows) % 2)


def test_a_copy_of_the_target_is_noticed():
    rng = np.random.default_rng(0)
    y = _classes(rng)
    names = np.array(["no", "yes"])
    for values in (y, 1 - y, names[y], y == 1, np.where(np.arange(300) == 7, 1 - y, y)):
        (found,) = _only(values, "a", y)
        assert (found.what, found.certain) == ("target", False)
    three = np.arange(300) % 3
    (found,) = _only(np.array([5, 1, 3])[three], "a", three)
    assert found.what == "target"


def test_a_monotone_function_of_the_target_is_noticed():
    y = np.random.default_rng(0).normal(size=100)
    for values in (y, np.exp(y), -(y**3)):
        (found,) = _only(values, "a", y, kind="regression")
        assert found.what == "target"
    (found,) = _only(np.floor(20 * y), "a", y, kind="regression")
    assert found.what == "prediction"
    assert found.figures["r2"] > 0.99


def test_a_column_that_predicts_the_target_is_noticed_and_how_well():
    rng = np.random.default_rng(0)
    y = _classes(rng)
    (found,) = _only(y + 0.25 * rng.normal(size=300), "x", y)
    assert found.what == "prediction"
    auc = found.figures["auc"]
    assert 0.99 <= auc < 1
    sentence = f"Column 'x' alone predicts the target with AUC {auc - 0.0005:.3f}."
    assert sentence in found.sentence
    assert _only(y + 0.7 * rng.normal(size=300), "x", y) == []


def test_what_is_missing_may_tell_the_target():
    rng = np.random.default_rng(0)
    y = _classes(rng)
    values = np.where(y == 1, rng.normal(size=300), np.nan)
    (found,) = _only(values, "date of death", y)
    assert found.figures["auc"] == 1


def test_the_order_of_a_file_sorted_by_class_and_task_is_noticed():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(10), 40)
    y = np.tile(np.repeat([0, 1], 20), 10)
    frame = pd.DataFrame({"entry time": 10.5 * np.arange(400), "task": task})
    order = rng.permutation(400)
    (found,) = find_suspects(
        frame.iloc[order], y[order], task="task", kind="classification"
    )
    assert found.what == "prediction"


def test_repeated_rows_do_not_predict_each_other():
    rng = np.random.default_rng(0)
    values, y = rng.normal(size=100), rng.integers(0, 2, 100)
    assert _only(np.tile(values, 3), "a", np.tile(y, 3)) == []


def test_another_name_of_the_task_is_noticed():
    rng = np.random.default_rng(0)
    task = rng.integers(0, 8, 300)
    frame = pd.DataFrame(
        {
            "task": task,
            "name": np.array(list("hgfedcba"))[task],
            "number": 100 + task,
            "mean income": rng.normal(size=8)[task],
            "region": task // 2,
        }
    )
    frame.loc[3, "name"] = "a"
    found = find_suspects(frame, task="task")
    assert [(s.column, s.what, s.certain) for s in found] == [
        ("name", "task", False),
        ("number", "task", False),
    ]


@settings(deadline=None, max_examples=50)
@given(seed=SEEDS)
def test_noise_raises_no_alarm(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(30, 300))
    levels = rng.integers(2, 500, 20)
    X = np.hstack(
        [rng.normal(size=(n_rows, 20)), rng.integers(0, levels, (n_rows, 20))]
    )
    X[rng.random(X.shape) < 0.02] = np.nan
    targets = (
        (rng.integers(0, 2, n_rows), "classification"),
        (rng.permutation(n_rows) < 8, "classification"),
        (rng.integers(0, 4, n_rows), "classification"),
        (rng.normal(size=n_rows), "regression"),
    )
    for y, kind in targets:
        assert find_suspects(X, y, kind=kind) == []


@pytest.mark.slow
def test_in_eighty_thousand_columns_of_noise_there_is_no_suspect():
    rng = np.random.default_rng(0)
    for _ in range(100):
        n_rows = int(rng.integers(30, 400))
        levels = rng.integers(2, 500, 200)
        X = np.where(
            rng.random(200) < 0.3,
            rng.integers(0, levels, (n_rows, 200)),
            rng.normal(size=(n_rows, 200)),
        )
        targets = (
            (rng.integers(0, 2, n_rows), "classification"),
            (rng.permutation(n_rows) < 8, "classification"),
            (rng.integers(0, 3, n_rows), "classification"),
            (rng.normal(size=n_rows), "regression"),
        )
        for y, kind in targets:
            assert find_suspects(X, y, kind=kind) == []


def test_few_rows_prove_nothing():
    y = np.arange(20) % 2
    assert _only(y + 0.5, "a", y) == []


def _mixed(n_rows):
    rng = np.random.default_rng(0)
    y = _classes(rng, n_rows)
    columns = {
        "id": rng.permutation(n_rows),
        "school": np.array(list("abcd"))[rng.integers(0, 4, n_rows)],
        "leak": y + 0.01 * rng.normal(size=n_rows),
        "noise": rng.normal(size=n_rows),
    }
    return columns, y


@pytest.mark.parametrize("n_rows", [200, 12_000])
def test_all_kinds_of_frames_are_read_alike(n_rows):
    columns, y = _mixed(n_rows)
    options = {"task": "school", "kind": "classification"}
    expected = [("id", "index", True), ("leak", "prediction", False)]
    texts = {name: [str(v) for v in values] for name, values in columns.items()}
    frames = (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        pd.DataFrame(columns).convert_dtypes(),
        pd.DataFrame(texts),
        pd.DataFrame(texts).astype(object),
        pl.DataFrame(texts),
    )
    for frame in frames:
        found = find_suspects(frame, y, **options)
        assert [(s.column, s.what, s.certain) for s in found] == expected


def test_columns_of_arrays_go_by_their_place_and_are_never_certain():
    columns, y = _mixed(200)
    school = np.unique(columns["school"], return_inverse=True)[1]
    X = np.column_stack([columns["id"], columns["leak"], columns["noise"], school])
    found = find_suspects(X, y, task=-1, kind="classification")
    assert [(s.column, s.what, s.certain) for s in found] == [
        (0, "row number", False),
        (1, "prediction", False),
    ]
    assert find_suspects(sp.csr_array(X), y, task=-1, kind="classification") == []


def test_columns_that_are_kept_are_not_remarked_on():
    columns, y = _mixed(200)
    options = {"task": "school", "kind": "classification", "keep": ["id", "leak"]}
    assert find_suspects(pd.DataFrame(columns), y, **options) == []


def test_odd_columns_are_passed_over():
    n_rows = 50
    frame = pd.DataFrame(
        {
            "lists": [[i] for i in range(n_rows)],
            "empty": [None] * n_rows,
            "id": [pd.NA, *range(1, n_rows)],
            "same": [1] * n_rows,
            "mixed": [1, "a"] * 25,
            "span": pd.to_timedelta(np.arange(n_rows) % 7, "D"),
        }
    )
    y = np.repeat([0, 1], 25)
    found = find_suspects(frame, y, kind="classification")
    assert [s.column for s in found] == ["id"]


def test_a_task_may_be_missing():
    columns, y = _mixed(200)
    frame = pd.DataFrame(columns).assign(id=np.tile(np.arange(100), 2))
    frame.loc[:3, "school"] = None
    found = find_suspects(frame, y, task="school", kind="classification")
    assert [s.column for s in found] == ["leak"]


def test_a_suspect_is_plain_data():
    columns, y = _mixed(200)
    found = find_suspects(pd.DataFrame(columns), y, kind="classification")
    record = json.loads(json.dumps([s.to_dict() for s in found]))[0]
    assert set(record) == {"column", "what", "why", "certain", "figures", "sentence"}


def test_what_y_is_must_be_known():
    with pytest.raises(ValueError, match="kind is needed"):
        find_suspects(np.zeros((10, 2)), np.zeros(10))
