"""What a missing or infinite target gets: its rows, their task and the way out."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone, is_classifier, is_regressor

from kinlearn.tasks import class_codes, numbers
from kinlearn.trees import MultiTaskExtraTreesRegressor
from tests.registry import ESTIMATORS

TASKS = np.array(["north", "north", "south", "south"] * 5, dtype=object)
FRAME = pd.DataFrame({"a": np.arange(20.0), "b": np.arange(20.0) % 3, "school": TASKS})
Y = np.tile([0.0, 1.0], 10)
LEARNERS = [e for e in ESTIMATORS if is_classifier(e) or is_regressor(e)]


def with_columns(estimator, task):
    """A copy that is told which column holds the tasks, and which is the target."""
    columns = {"task": task, "group": task, "target": "south"}
    if isinstance(task, int):
        columns["target"] = 1
    known = estimator.get_params(deep=False)
    return clone(estimator).set_params(
        **{name: value for name, value in columns.items() if name in known}
    )


def spoilt(value, *rows):
    y = Y.copy()
    y[list(rows)] = value
    return y


def message(call, *args):
    with pytest.raises(ValueError, match="y contains") as caught:
        call(*args)
    return str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("frame", [True, False], ids=["pandas", "numpy"])
@pytest.mark.parametrize("estimator", LEARNERS, ids=lambda e: str(e)[:40])
def test_every_estimator_names_rows_and_task(estimator, frame, value):
    X, y = FRAME.set_index(np.arange(100, 120)), pd.Series(spoilt(value, 2, 7, 8))
    task, first = "school", "'south'"
    if not frame:
        X = np.column_stack([FRAME[["a", "b"]], FRAME["school"] == "south"])
        task, first, y = -1, "1", y.to_numpy()
    model = with_columns(estimator, task)
    knows = model.get_params(deep=False)
    if frame and not {"task", "group"} & set(knows):
        X = X.drop(columns="school")
    told = message(model.fit, X, y)
    what = "NaN" if np.isnan(value) else "infinity or a value too large for"
    assert told.startswith(f"Input y contains {what}")
    assert "in 3 of 20 rows, at positions 2, 7, 8" in told
    assert "drop these rows" in told
    if "task" in knows:
        assert f"the first is of task {first}. {type(model).__name__} needs" in told


def test_message_in_full():
    model = MultiTaskExtraTreesRegressor(task="school")
    assert message(model.fit, FRAME, spoilt(np.nan, 3)) == (
        "Input y contains NaN. It stands in 1 of 20 rows, at position 3; the first is "
        "of task 'south'. MultiTaskExtraTreesRegressor needs a target in every row: "
        "drop these rows, or impute their targets."
    )
    assert message(model.fit, FRAME, spoilt(np.inf, *range(4, 12))) == (
        "Input y contains infinity or a value too large for dtype('float64'). It "
        "stands in 8 of 20 rows, at positions 4, 5, 6, 7, 8 and 3 more; the first is "
        "of task 'north'. MultiTaskExtraTreesRegressor needs finite targets: drop "
        "these rows, or put finite ones there."
    )


def test_nan_goes_before_infinity_and_has_its_own_rows():
    y = spoilt(np.inf, 1)
    y[5] = np.nan
    assert "NaN. It stands in 1 of 20 rows, at position 5" in message(numbers, y, "It")


@pytest.mark.parametrize(
    ("read", "y", "what"),
    [
        (numbers, pd.Series([1, None, 3], dtype="Int64"), "NaN"),
        (numbers, pd.Series([1.5, None, 3], dtype="float32"), "NaN"),
        (numbers, np.array([1.5, None, 3], dtype=object), "None"),
        (numbers, np.array([1.5, pd.NA, 3], dtype=object), "<NA>"),
        (numbers, pl.Series([1.5, None, 3]), "NaN"),
        (numbers, np.array([1.5, np.inf, 3], dtype=object), "infinity"),
        (class_codes, pd.Series([1, None, 3], dtype="Int64"), "NaN"),
        (class_codes, pd.Series([True, None, False], dtype="boolean"), "NaN|<NA>"),
        (class_codes, pd.Series(["a", None, "b"]), "NaN|None"),
        (class_codes, pd.Series(["a", None, "b"], dtype="string"), "<NA>|NaN"),
        (class_codes, pd.Series(["a", None, "b"], dtype="category"), "NaN"),
        (class_codes, np.array(["a", np.nan, "b"], dtype=object), "NaN"),
        (class_codes, np.array([1, np.float32("nan"), 2], dtype=object), "NaN"),
        (class_codes, np.array([1, np.inf, 2], dtype=object), "infinity"),
        (class_codes, pl.Series([1, None, 3]), "NaN"),
        (class_codes, pl.Series(["a", None, "b"]), "None"),
    ],
    ids=lambda case: str(getattr(case, "dtype", getattr(case, "__name__", None))),
)
def test_any_container_and_any_kind_of_missing(read, y, what):
    told = message(read, y, "It")
    assert re.match(f"Input y contains ({what})", told)
    assert "in 1 of 3 rows, at position 1. It needs" in told


def test_rows_that_come_later_are_named_as_well():
    model = MultiTaskExtraTreesRegressor(5, task="school").fit(FRAME, Y)
    told = message(model.partial_fit, FRAME[3:], spoilt(np.nan, 9)[3:])
    assert "in 1 of 17 rows, at position 6; the first is of task 'north'" in told


def test_task_is_left_out_where_the_lengths_differ():
    model = MultiTaskExtraTreesRegressor(task="school")
    assert "at position 19. Multi" in message(model.fit, FRAME[:5], spoilt(np.nan, 19))
