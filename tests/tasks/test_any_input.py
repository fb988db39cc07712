"""Any mixture of frames, types and task values round-trips or is refused."""

import datetime

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from hypothesis import given, settings
from numpy.testing import assert_array_equal
from sklearn.preprocessing import FunctionTransformer

from kinlearn import keep_task, with_task
from kinlearn.tasks import check_task_data, check_task_rows, task_codes

TASK_VALUES = st.one_of(
    st.text(max_size=5),
    st.integers(),
    st.just(10**400),
    st.integers(-5, 5),
    st.booleans(),
    st.none(),
    st.floats(),
    st.dates(),
    st.binary(max_size=3),
    st.sampled_from([np.int8(3), np.float32(2), np.str_("z"), pd.NA, pd.NaT, (1, 2)]),
)
COLUMNS = st.one_of(
    st.lists(st.text(max_size=5), min_size=1, max_size=12),
    st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=12),
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=12),
    st.lists(st.booleans(), min_size=1, max_size=12),
    st.lists(TASK_VALUES, min_size=1, max_size=12),
)
FEATURE_DTYPES = [
    "f2",
    "f4",
    "f8",
    "g",
    "i1",
    "i8",
    "u8",
    "?",
    "O",
    "c8",
    "M8[s]",
    "U3",
]


def _equal(found, given):
    """Equal as values: 1, 1.0 and True are one task, "1" is another."""
    return all(
        isinstance(a, str) == isinstance(b, str) and a == b
        for a, b in zip(found, given, strict=True)
    )


def _objects(values):
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _assert_round_trip(X, task, values):
    try:
        tasks, codes = task_codes(X, task)
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 20, "a message must say something"
        return False
    assert _equal(tasks[codes].tolist(), values)
    assert sorted(set(tasks.tolist())) == tasks.tolist()
    data = check_task_data(X, task=task)
    rows = check_task_rows(X, columns=data.columns, tasks=data.tasks)
    assert_array_equal(rows.task, codes)
    return True


def _inferred(values):
    column = pd.Series(_objects(values), dtype=object)
    try:
        return column.infer_objects()
    except OverflowError:  # pandas 2 cannot look at very large integers
        return column


@given(values=COLUMNS, as_category=st.booleans())
@settings(max_examples=300, deadline=None)
def test_pandas_columns(values, as_category):
    column = _inferred(values)
    if as_category:
        try:
            column = column.astype("category")
        except (TypeError, ValueError, OverflowError, Warning):
            # pandas cannot order them
            return
    frame = pd.DataFrame({"x": np.arange(len(values)), "g": column})
    _assert_round_trip(frame, "g", values)


@given(values=COLUMNS)
@settings(max_examples=200, deadline=None)
def test_polars_columns(values):
    try:
        frame = pl.DataFrame({"x": range(len(values)), "g": values}, strict=True)
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError):
        return
    _assert_round_trip(frame, "g", frame["g"].to_list())


@given(values=COLUMNS, position=st.integers(0, 2))
@settings(max_examples=200, deadline=None)
def test_object_arrays(values, position):
    X = np.insert(np.ones((len(values), 2), dtype=object), position, 0, axis=1)
    X[:, position] = _objects(values)
    _assert_round_trip(X, position, values)


@given(
    values=st.lists(st.integers(-200, 200), min_size=1, max_size=12),
    dtype=st.sampled_from(FEATURE_DTYPES),
    order=st.sampled_from("CF"),
    step=st.sampled_from([1, 2, -1]),
    sparse=st.booleans(),
)
@settings(max_examples=300, deadline=None)
def test_arrays_of_any_type_and_layout(values, dtype, order, step, sparse):
    X = np.ones((len(values), 3), dtype="i8")
    X[:, 1] = values
    try:
        X = X.astype(dtype, order=order)
    except (TypeError, ValueError):
        return
    X = np.repeat(X, abs(step), axis=0)[::step]  # not contiguous
    X.flags.writeable = False
    if sparse:
        try:
            X = sp.csr_array(X)
        except (TypeError, ValueError):
            return
    try:
        data = check_task_data(X, task=1, accept_sparse=True, order="F")
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 20
        return
    given = X[:, [1]].toarray().ravel() if sparse else X[:, 1]
    assert data.tasks[data.task].tolist() == [int(v) for v in given]
    assert data.X.dtype in (np.float32, np.float64)
    features = data.X.toarray() if sparse else data.X
    assert_array_equal(features, np.ones((len(values), 2)))


@given(values=COLUMNS, library=st.sampled_from([pd.DataFrame, pl.DataFrame]))
@settings(max_examples=150, deadline=None)
def test_with_task_then_read_back(values, library):
    X = library({"x": np.arange(len(values)), "z": np.ones(len(values))})
    try:
        whole = with_task(X, values, name="g")
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 20
        return
    assert isinstance(whole, library)
    assert _assert_round_trip(whole, "g", values)

    kept = (
        keep_task(FunctionTransformer(np.asarray), task="g").fit(whole).transform(whole)
    )
    assert isinstance(kept, library)
    assert _assert_round_trip(kept, "g", values)


def test_dates_are_refused_in_every_container():
    days = [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)]
    for X in (
        pd.DataFrame({"x": [1, 2], "g": days}),
        pl.DataFrame({"x": [1, 2], "g": days}),
    ):
        assert not _assert_round_trip(X, "g", days)
