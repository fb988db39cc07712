"""with_task and keep_task in front of estimators."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MinMaxScaler,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from kinlearn import keep_task, with_task
from kinlearn.sharing import PerTask
from kinlearn.svm import SVMPlusClassifier
from kinlearn.tasks import check_task_data, encode_tasks

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
GROUP = np.array(["north", "south"])[np.arange(60) % 2]
Y = (X[:, 0] * np.where(GROUP == "north", 1, -1) > 0).astype(int)
FRAME = pd.DataFrame(X, columns=list("abc"), index=np.arange(100, 160))


def test_float32_stays_while_it_is_exact():
    assert with_task(X.astype("f4"), np.arange(60)).dtype == np.float32
    wide = with_task(X.astype("f4"), np.arange(60) + 2**24 + 1)
    assert wide.dtype == np.float64
    assert_array_equal(wide[:, -1], np.arange(60) + 2**24 + 1)


def test_integers_and_sparse_keep_their_kind():
    assert with_task(np.ones((2, 1), dtype="u1"), [1, 2]).dtype == np.uint8
    assert with_task(np.ones((2, 1), dtype="u1"), [1, 300]).dtype == np.uint16
    assert with_task(np.ones((2, 1), dtype="u1"), [-1, 2]).dtype == np.int16
    assert with_task(np.ones((2, 1), dtype=bool), [0, 1]).tolist() == [[1, 0], [1, 1]]
    packed = with_task(sp.csc_matrix(X), np.arange(60))
    assert packed.format == "csc"
    assert_array_equal(packed.toarray()[:, -1], np.arange(60))


def test_text_arrays_take_the_task_as_an_object():
    whole = with_task(np.array([["a"], ["b"]]), [10, 11])
    assert whole.tolist() == [["a", 10], ["b", 11]]


def test_large_unsigned_tasks_stay_exact():
    tasks, _ = encode_tasks([2**63 + 1, 1])
    assert tasks.tolist() == [1, 2**63 + 1]


def test_sparse_columns_of_pandas_are_numbers():
    frame = pd.DataFrame({"a": pd.arrays.SparseArray([0.0, 2.0]), "g": ["u", "v"]})
    assert_array_equal(check_task_data(frame, task="g").X, [[0.0], [2.0]])


def test_frame_keeps_its_index():
    whole = with_task(FRAME, GROUP, name="side")
    assert whole.index.tolist() == FRAME.index.tolist()
    assert whole["side"].tolist() == GROUP.tolist()


def test_series_goes_by_position_not_by_index():
    whole = with_task(FRAME, pd.Series(GROUP), name="side")
    assert whole["side"].tolist() == GROUP.tolist()


def test_array_goes_out_with_the_task_last_whatever_the_width():
    whole = np.column_stack([np.arange(60) % 4, X])
    out = keep_task(PolynomialFeatures(2), task=0).fit_transform(whole)
    assert out.shape == (60, 11)
    assert_array_equal(out[:, -1], np.arange(60) % 4)
    assert_allclose(out[:, :-1], PolynomialFeatures(2).fit_transform(X))


def test_sparse_goes_out_sparse():
    coded = with_task(np.array([[0], [1], [2]]), [5, 0, 9])
    out = keep_task(OneHotEncoder(), task=-1).fit_transform(coded)
    assert sp.issparse(out)
    assert_array_equal(out.toarray(), [[1, 0, 0, 5], [0, 1, 0, 0], [0, 0, 1, 9]])


@pytest.mark.parametrize("output", ["default", "pandas", "polars"])
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frame_goes_out_as_frame(library, output):
    whole = with_task(FRAME, GROUP, name="side")
    whole = whole if library == "pandas" else pl.from_pandas(whole)
    inner = StandardScaler().set_output(transform=output)
    kept = keep_task(inner, task="side").fit(whole)
    out = kept.transform(whole)
    assert list(out.columns) == ["a", "b", "c", "side"]
    assert kept.get_feature_names_out().tolist() == list(out.columns)
    assert list(out["side"]) == GROUP.tolist()
    assert_allclose(out[["a", "b", "c"]].to_numpy(), StandardScaler().fit_transform(X))


def test_categories_and_index_of_pandas_survive():
    whole = FRAME.assign(side=pd.Categorical(GROUP))
    out = keep_task(StandardScaler(), task="side").fit_transform(whole)
    assert out["side"].dtype == "category"
    assert out.index.equals(whole.index)


def test_column_transformer_with_imputer_and_encoder():
    whole = FRAME.assign(
        colour=np.where(X[:, 1] > 0, "red", "blue"),
        a=np.where(X[:, 0] > 1, np.nan, 0.5),
    )
    whole = with_task(whole, GROUP, name="side")
    inner = make_column_transformer(
        (SimpleImputer(), ["a", "b"]),
        (OneHotEncoder(sparse_output=False), ["colour"]),
        verbose_feature_names_out=False,
    )
    out = keep_task(inner, task="side").fit_transform(whole)
    assert list(out.columns) == ["a", "b", "colour_blue", "colour_red", "side"]
    assert out["a"].notna().all()


def test_set_output_of_the_wrapper():
    coded = with_task(X, np.arange(60) % 2)
    kept = keep_task(StandardScaler(), task=-1).set_output(transform="pandas")
    out = kept.fit_transform(coded)
    assert list(out.columns) == ["x0", "x1", "x2", "task"]


def test_search_over_a_whole_pipeline():
    whole = with_task(FRAME, GROUP, name="side")
    pipe = make_pipeline(
        keep_task(StandardScaler(), task="side"),
        PerTask(LogisticRegression(), task="side"),
    )
    grid = {
        "keeptask__transformer": [StandardScaler(), MinMaxScaler()],
        "pertask__estimator__C": [0.01, 100.0],
    }
    search = GridSearchCV(pipe, grid, cv=3).fit(whole, Y)
    assert search.best_score_ > 0.9  # pooled, the two sides cancel out
    assert search.best_estimator_[-1].tasks_.tolist() == ["north", "south"]


def test_without_the_wrapper_the_tasks_would_be_lost():
    coded = with_task(X, np.arange(60) % 2)
    pipe = make_pipeline(StandardScaler(), PerTask(LogisticRegression(), task=-1))
    # scaled to -1 and 1, the two tasks live on by luck; three would not
    pipe.fit(coded, Y)
    coded[::3, -1] = 7
    with pytest.raises(ValueError, match="must hold integers or strings"):
        pipe.fit(coded, Y)


def _with_privileged(container):
    """Rows of training, and what new rows have: without column "p"."""
    extra = np.column_stack([100 * X, 1000 * Y + RNG.normal(size=60)])
    old = pd.DataFrame(extra[:, [0, 3, 1, 2]], columns=["a", "p", "b", "c"])
    if container == "polars":
        old = pl.from_pandas(old)
        return old, old.drop("p"), "p", "p"
    if container == "pandas":
        return old, old.drop(columns="p"), "p", "p"
    old = old.to_numpy()
    return old, np.delete(old, 1, axis=1), 1, 3


@pytest.mark.parametrize("container", ["pandas", "polars", "array"])
def test_privileged_columns_are_scaled_and_may_be_absent(container):
    old, new, name, name_out = _with_privileged(container)
    model = make_pipeline(
        keep_task(StandardScaler(), privileged=name),
        SVMPlusClassifier(kernel="linear", privileged=[name_out]),
    )
    assert np.isfinite(cross_val_score(model, old, Y, cv=3)).all()
    model.fit(old, Y)
    assert_array_equal(model.predict(new), model.predict(old))
    scaled = np.asarray(model[0].transform(old), dtype=float)
    assert_allclose(scaled.std(axis=0), 1)
    assert_allclose(np.asarray(model[0].transform(new)), scaled[:, :3])
    # the same as scaling by hand
    by_hand = SVMPlusClassifier(kernel="linear", privileged=3)
    order = [0, 2, 3, 1]
    by_hand.fit(StandardScaler().fit_transform(np.asarray(old)[:, order]), Y)
    assert_array_equal(by_hand.predict(scaled), model.predict(old))


def test_privileged_columns_beside_a_task():
    old, _, _, _ = _with_privileged("pandas")
    old.insert(1, "group", GROUP)
    keep = keep_task(StandardScaler(), task="group", privileged=["p", "c"])
    out = keep.fit_transform(old)
    assert list(out) == ["a", "b", "p", "c", "group"]
    assert keep.get_feature_names_out().tolist() == list(out)
    pd.testing.assert_frame_equal(out, keep.fit(old).transform(old))
    assert list(keep.transform(old.drop(columns=["p"]))) == ["a", "b", "group"]
    assert list(keep.transform(old[["a", "group", "b"]])) == ["a", "b", "group"]
    with pytest.raises(ValueError, match="now missing"):
        keep.transform(old.drop(columns=["a"]))


def test_missing_columns_lead_to_privileged():
    old, new, _, _ = _with_privileged("pandas")
    keep = keep_task(StandardScaler(), task=None).fit(old)
    with pytest.raises(ValueError, match=r"privileged=\[") as raised:
        keep.transform(new)
    assert "- p\n" in str(raised.value)
    keep = keep_task(StandardScaler(), task=None).fit(old.to_numpy())
    with pytest.raises(ValueError, match=r"privileged=\["):
        keep.transform(new.to_numpy())


@pytest.mark.parametrize("method", ["fit", "fit_transform", "transform"])
def test_text_before_a_scaler_is_an_error_with_a_remedy(method):
    X = pd.DataFrame({"x": [1.0, 2.0], "task": ["a", "b"]})
    text = X.assign(x=["low", "high"])
    scaler = keep_task(StandardScaler(), task="task").fit(X)
    with pytest.raises(
        ValueError, match=r"StandardScaler takes numbers.*'low'.*Encode"
    ):
        getattr(scaler, method)(text)
