"""TableEncoder: what comes out, alone and inside of estimators."""

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from kinlearn import TableEncoder, keep_task
from kinlearn.sharing import Pooled

N = 40
SEEDS = st.integers(0, 2**32 - 1)


def cycle(*values):
    return [values[i % len(values)] for i in range(N)]


def draw_columns(seed, n_rows=60):
    """Columns of every kind, with holes, as plain lists."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2020-01-01")
    dates = [str(day + int(d)) for d in rng.integers(0, 900, n_rows)]
    columns = {
        "number": rng.normal(size=n_rows).round(3).tolist(),
        "text": [f"{x:.2f}".replace(".", ",") for x in rng.normal(size=n_rows)],
        "truth": rng.choice(["yes", "no"], n_rows).tolist(),
        "date": dates,
        "few": rng.choice(list("abcde"), n_rows).tolist(),
        "many": [f"town {i}" for i in rng.integers(0, 45, n_rows)],
    }
    for name in columns:
        if rng.random() < 0.5:
            for row in np.flatnonzero(rng.random(n_rows) < 0.1):
                columns[name][row] = None
    order = rng.permutation(list(columns)).tolist()
    return {name: columns[name] for name in order[: rng.integers(2, 7)]}


WAYS = [
    {"categories": "codes"},
    {"categories": "codes", "fill": True},
    {"categories": "indicators", "fill": True, "scale": True},
    {"categories": "target", "fill": True, "scale": True, "target_type": "numbers"},
]


@pytest.mark.parametrize("way", WAYS)
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_pandas_and_polars_give_the_same(way, seed):
    columns = draw_columns(seed)
    y = np.random.default_rng(seed).normal(size=60)
    one = TableEncoder(**way)
    two = TableEncoder(**way)
    X = one.fit_transform(pd.DataFrame(columns), y)
    assert_array_equal(X, two.fit_transform(pl.DataFrame(columns), y))
    assert one.meanings_ == two.meanings_
    assert json.loads(json.dumps(one.meanings_)) == one.meanings_
    assert_array_equal(one.get_feature_names_out(), two.get_feature_names_out())
    assert X.shape[1] == len(one.get_feature_names_out()) == len(one.origin_)


@pytest.mark.parametrize("way", WAYS[:3])
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_fitting_and_transforming_at_once_is_the_same(way, seed):
    frame = pd.DataFrame(draw_columns(seed))
    encoder = TableEncoder(**way)
    X = encoder.fit_transform(frame)
    assert_array_equal(X, encoder.transform(frame))
    rows = [3, 1, 3]
    assert_array_equal(X[rows], encoder.transform(frame.iloc[rows]))


@pytest.mark.parametrize("way", WAYS)
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_no_holes_where_they_are_filled_even_in_new_rows(way, seed):
    frame = pd.DataFrame(draw_columns(seed))
    encoder = TableEncoder(**way).fit(frame, np.arange(60.0))
    strange = pd.DataFrame({name: ["never seen", None] for name in frame})
    X = encoder.transform(strange)
    assert X.shape == (2, len(encoder.origin_))
    assert not np.isinf(X).any()
    if encoder.fill:
        assert not np.isnan(X).any()
    else:
        assert np.isnan(X).all()


@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_the_order_of_columns_decides_the_order_alone(seed):
    frame = pd.DataFrame(draw_columns(seed))
    way = {"categories": "indicators", "fill": True}
    one = TableEncoder(**way).set_output(transform="pandas")
    two = clone(one)
    X = one.fit_transform(frame)
    moved = two.fit_transform(frame[frame.columns[::-1]])
    pd.testing.assert_frame_equal(X, moved[X.columns])
    with pytest.raises(ValueError, match="same order"):
        one.transform(frame[frame.columns[::-1]])


def test_codes_keep_to_a_byte_and_the_rarest_share_one():
    levels = [f"v{i:03d}" for i in range(300) for _ in range(1 + (i < 253))]
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": levels, "b": rng.normal(size=len(levels))})
    encoder = TableEncoder().fit(frame)
    X = encoder.transform(frame)
    assert_array_equal(encoder.categorical_, [True, False])
    assert X[:, 0].max() == 253
    rare = frame["a"] >= "v253"
    assert_array_equal(np.unique(X[rare, 0]), [253])
    new = pd.DataFrame({"a": ["never seen", None], "b": [0.0, 0.0]})
    assert_array_equal(encoder.transform(new)[:, 0], [253, np.nan])


def test_a_new_value_without_others_that_share_is_missing():
    frame = pd.DataFrame({"a": cycle("x", "y"), "b": np.arange(N) / 3})
    new = frame.head(1).assign(a="z")
    assert np.isnan(TableEncoder().fit(frame).transform(new)[0, 0])
    encoder = TableEncoder(categories="indicators").fit(frame)
    assert_array_equal(encoder.transform(new)[0], [0, 0, 0])


def test_filling_scales_and_keeps_the_task():
    frame = pd.DataFrame({"n": [1.0, None, 3.0, 4.0] * 10, "task": ["a", "b"] * 20})
    frame.index += 7
    out = TableEncoder("task", fill=True, scale=True).fit_transform(frame)
    assert out.columns.tolist() == ["n", "n=(missing)", "task"]
    filled = frame["n"].fillna(3.0)
    assert_allclose(out["n"], (filled - filled.mean()) / filled.std(ddof=0))
    pd.testing.assert_series_equal(out["task"], frame["task"])


def test_holes_stay_where_a_model_takes_them():
    frame = pd.DataFrame({"n": [1.0, None, 3.0, 4.0] * 10, "task": ["a", "b"] * 20})
    assert_allclose(TableEncoder("task").fit_transform(frame)["n"], frame["n"])


def test_many_categories_become_thirty_columns_and_rare_ones_one():
    towns = [f"t{i}" for i in range(100) for _ in range(i + 1)]
    frame = pd.DataFrame({"town": towns})
    encoder = TableEncoder(categories="indicators").set_output(transform="pandas")
    out = encoder.fit_transform(frame)
    assert out.shape[1] == 30
    assert_allclose(out.sum(axis=1), 1)
    assert out["town=t99"].sum() == 100
    row = encoder.transform(pd.DataFrame({"town": ["never seen"]})).iloc[0]
    assert row[row == 1].index.tolist() == ["town=(infrequent)"]


def test_many_categories_become_cross_fitted_mean_targets():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 200, 2000)
    frame = pd.DataFrame({"town": [f"t{i}" for i in town]})
    noise = rng.normal(size=2000)
    encoder = TableEncoder(categories="target")
    X = encoder.fit_transform(frame, noise)
    assert encoder.get_feature_names_out().tolist() == ["town: target"]
    # targets that mean nothing tell nothing: no row knows its own
    assert abs(np.corrcoef(X[:, 0], noise)[0, 1]) < 0.1
    effect = rng.normal(size=200)[town]
    X = encoder.fit_transform(frame, effect + 0.1 * noise)
    assert np.corrcoef(X[:, 0], effect)[0, 1] > 0.95
    new = encoder.transform(pd.DataFrame({"town": ["never seen"]}))
    assert_allclose(new, np.mean(effect + 0.1 * noise), atol=1e-6)


@pytest.mark.parametrize(
    ("y", "n_columns"),
    [
        (np.arange(300) % 2, 1),
        (np.array(["a", "b", "c"])[np.arange(300) % 3], 3),
        (np.arange(300) % 30, 1),
        (np.linspace(0, 1, 300), 1),
    ],
)
def test_mean_targets_follow_what_the_target_is(y, n_columns):
    frame = pd.DataFrame({"town": [f"t{i % 50}" for i in range(300)]})
    X = TableEncoder(categories="target").fit_transform(frame, y)
    assert X.shape == (300, n_columns)
    assert TableEncoder(categories="target", target_type="classes").fit_transform(
        frame, y
    ).shape[1] == (1 if len(np.unique(y)) == 2 else len(np.unique(y)))


def test_mean_targets_need_a_target():
    with pytest.raises(ValueError, match="requires y to be passed"):
        TableEncoder(categories="target").fit(pd.DataFrame({"a": cycle("x", "y")}))


def test_a_missing_category_is_one_of_its_own():
    frame = pd.DataFrame({"c": cycle("x", "y", None)})
    names = TableEncoder(categories="indicators").fit(frame).get_feature_names_out()
    assert names.tolist() == ["c=x", "c=y", "c=(missing)"]


def test_names_that_would_clash_are_told_apart():
    frame = pd.DataFrame({"c": cycle("x", "y"), "c=x": cycle(1.0, 2.0, 3.0)})
    encoder = TableEncoder(categories="indicators").fit(frame)
    names = encoder.get_feature_names_out().tolist()
    assert names == ["c=x", "c=y", "c=x'"]


@pytest.mark.parametrize("library", [pd, pl])
def test_categories_may_stay_what_they_are(library):
    frame = library.DataFrame(
        {"c": cycle("x", "y", None), "d": cycle(1, 2), "g": cycle("a", "b")}
    )
    encoder = TableEncoder("g", categories="category", categorical=["d"])
    out = encoder.fit_transform(frame)
    assert isinstance(out, library.DataFrame)
    assert list(out.columns) == ["c", "d", "g"]
    kinds = {str(out[name].dtype).lower()[:7] for name in ("c", "d")}
    assert kinds == {"categor"}
    assert out["d"].to_list()[:3] == ["1", "2", "1"]
    assert_array_equal(encoder.categorical_, [True, True])


def test_arrays_of_objects_and_their_tasks():
    X = np.array([["red", 1.5, "u"], ["blue", 2.5, "v"]] * 5, dtype=object)
    out = TableEncoder(task=-1).fit_transform(X)
    assert out[:2].tolist() == [[1.0, 1.5, "u"], [0.0, 2.5, "v"]]
    numbers = np.array([[1, 1.5], [2, 2.5]] * 5)
    assert_array_equal(
        TableEncoder(task=0).fit_transform(numbers)[:2], [[1.5, 1], [2.5, 2]]
    )


def test_a_table_of_constants_keeps_them():
    frame = pd.DataFrame({"a": ["x"] * 5, "b": [1.0] * 5, "c": [None] * 5})
    encoder = TableEncoder().fit(frame)
    assert encoder.transform(frame).tolist() == [[0.0, 1.0]] * 5


def test_nothing_to_learn_from_is_an_error_that_says_why():
    with pytest.raises(ValueError, match=r"left to learn from.*'a'.*no value in any"):
        TableEncoder().fit(pd.DataFrame({"a": [None, None]}))


def test_the_models_of_a_file_are_the_same(tmp_path):
    frame = pd.DataFrame(draw_columns(0)).assign(g=np.arange(60) % 3)
    encoder = TableEncoder("g", categories="target", fill=True)
    encoder.fit(frame, np.arange(60.0))
    again = pickle.loads(pickle.dumps(encoder))
    pd.testing.assert_frame_equal(again.transform(frame), encoder.transform(frame))


def test_in_a_pipeline():
    frame = pd.DataFrame(
        {"c": cycle("x", "y"), "n": cycle("1", "2", "4"), "task": cycle("a", "b")}
    )
    model = make_pipeline(
        TableEncoder("task", categories="indicators", fill=True),
        Pooled(LogisticRegression(), task="task"),
    )
    y = frame["c"] == "x"
    assert (clone(model).fit(frame, y).predict(frame) == y).all()


@pytest.mark.parametrize("library", [pd, pl])
def test_skrub_behind_keep_task(library):
    skrub = pytest.importorskip("skrub")
    frame = library.DataFrame(
        {
            "colour": cycle("red", "blue"),
            "day": [f"2024-01-{1 + i % 28:02d}" for i in range(N)],
            "g": cycle("a", "b", "c"),
        }
    )
    y = np.array(cycle(1, 0))
    model = make_pipeline(
        keep_task(skrub.TableVectorizer(), task="g"),
        Pooled(DecisionTreeClassifier(), task="g"),
    )
    assert (model.fit(frame, y).predict(frame) == y).all()
