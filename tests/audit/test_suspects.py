"""The audit names columns that may tell the models too much, and uses them."""

import json
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

from kinlearn.audit import SharingResult, compare_sharing
from kinlearn.exceptions import KinlearnWarning, SuspectColumnWarning
from kinlearn.report import write_page


def _rows(n_rows=160):
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], n_rows // 2)
    X = {
        "size": y + rng.normal(0, 2, n_rows),
        "task": rng.integers(0, 2, n_rows),
        "Unnamed: 0": np.arange(n_rows),
        "a <b>": 100 * y + rng.normal(size=n_rows),
    }
    return X, y


def _compare(X, y, **options):
    return compare_sharing(
        X,
        y,
        estimators={"logistic": LogisticRegression(max_iter=10_000)},
        n_splits=2,
        n_repeats=1,
        curve=False,
        **{"task": "task", **options},
    )


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_suspects_are_warned_about_listed_and_kept(frame, tmp_path):
    X, y = _rows()
    with pytest.warns(SuspectColumnWarning, match="'Unnamed: 0' is an index") as found:
        result = _compare(frame(X), y)
    assert len(found) == 1
    assert found[0].filename == __file__
    assert issubclass(SuspectColumnWarning, KinlearnWarning)
    assert "Column 'a <b>' alone predicts the target with AUC 1.000." in str(
        found[0].message
    )
    assert [s["column"] for s in result.suspects] == ["Unnamed: 0", "a <b>"]
    assert not any(s["left_out"] for s in result.suspects)
    assert result.to_dict()["data"]["n_features"] == 3
    again = SharingResult.from_json(result.to_json())
    assert again.suspects == result.suspects

    write_page(result, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Look at these columns first" in page
    assert "Column 'a &lt;b&gt;' alone predicts" in page


def test_good_columns_are_passed_over_in_silence(tmp_path):
    X, y = _rows()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = _compare(pd.DataFrame(X)[["size", "task"]], y)
    assert result.suspects == []
    write_page(result, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert 'id="columns"' not in page


def test_columns_of_arrays_go_by_their_place():
    X, y = _rows()
    table = np.column_stack([X["size"], X["a <b>"], X["task"]])
    with pytest.warns(SuspectColumnWarning, match="Column 1 alone predicts"):
        result = _compare(table, y, task=-1)
    assert [s["column"] for s in result.suspects] == [1]


def test_a_result_from_before_there_were_suspects_can_be_read(tmp_path):
    X, y = _rows()
    result = _compare(pd.DataFrame(X)[["size", "task"]], y)
    data = json.loads(result.to_json())
    del data["suspects"]
    old = SharingResult(data)
    assert old.suspects == []
    write_page(old, tmp_path / "page.html")


def test_many_suspects_are_named_in_part():
    X, y = _rows()
    leaks = {f"leak {i}": X["a <b>"] + i for i in range(7)}
    with pytest.warns(SuspectColumnWarning, match="And 2 more, in the result") as found:
        result = _compare(pd.DataFrame({"task": X["task"], **leaks}), y)
    assert len(result.suspects) == 7
    assert "leak 5" not in str(found[0].message)
