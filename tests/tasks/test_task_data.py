"""What check_task_data and check_task_rows make of good input."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal

from kinlearn import with_task
from kinlearn.tasks import check_task_data, check_task_rows, split_task, task_codes

X = np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0], [3.5, 4.0]])
GROUP = np.array(["b", "a", "b", "c"])
FRAMES = {
    "pandas": lambda d: pd.DataFrame(d),
    "polars": lambda d: pl.DataFrame(d),
    "pyarrow": lambda d: pa.table(d),
}


def _frame(library, **columns):
    return FRAMES[library]({"u": X[:, 0], "v": X[:, 1], **columns})


@pytest.mark.parametrize("library", FRAMES)
@pytest.mark.parametrize(
    ("values", "tasks"),
    [
        (list("babc"), list("abc")),
        ([7, -3, 7, 2**60], [-3, 7, 2**60]),
        ([2.0, 1.0, 2.0, 9.0], [1, 2, 9]),
        ([True, False, True, True], [False, True]),
        (["", " ", "ä", "\U0001f600"], ["", " ", "ä", "\U0001f600"]),
    ],
)
def test_task_column_of_frames(library, values, tasks):
    data = check_task_data(_frame(library, g=values), task="g")
    assert data.tasks.tolist() == tasks
    assert data.tasks[data.task].tolist() == values
    assert_array_equal(data.X, X)
    assert data.feature_names.tolist() == ["u", "v"]


@pytest.mark.parametrize(
    "column",
    [
        pd.Categorical(GROUP),
        pd.Categorical(GROUP, categories=list("cbaz")),
        pd.array(GROUP, dtype="string"),
        np.array(GROUP, dtype=object),
        pl.Series(GROUP, dtype=pl.Categorical),
        pl.Series(GROUP, dtype=pl.Enum(list("cbaz"))),
    ],
)
def test_categories_and_string_types(column):
    library = "polars" if isinstance(column, pl.Series) else "pandas"
    tasks, codes = task_codes(_frame(library, g=column), "g")
    assert tasks.tolist() == ["a", "b", "c"]
    assert codes.tolist() == [1, 0, 1, 2]


def test_nullable_integers_and_integer_categories():
    for column in (pd.array([5, 3, 5, 5], dtype="Int64"), pd.Categorical([5, 3, 5, 5])):
        tasks, codes = task_codes(_frame("pandas", g=column), "g")
        assert tasks.tolist() == [3, 5]
        assert codes.tolist() == [1, 0, 1, 1]


@pytest.mark.parametrize("position", [0, 1, 2, -1, -3])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "u8", "O"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_task_column_of_arrays(position, dtype, order):
    codes = np.array([1, 0, 1, 2])
    whole = np.insert(X * 2, position % 3, codes, axis=1)
    data = check_task_data(whole.astype(dtype, order=order), task=position, order="F")
    assert_array_equal(data.task, codes)
    assert_array_equal(data.X, X * 2)
    assert data.X.dtype == ("f4" if dtype == "f4" else "f8")
    assert data.X.flags.f_contiguous


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("family", [sp.csr_matrix, sp.csr_array])
def test_task_column_of_sparse(kind, family):
    whole = family(with_task(X, [3, 0, 3, 1])).asformat(kind)
    data = check_task_data(whole, task=-1, accept_sparse="csr")
    assert data.tasks.tolist() == [0, 1, 3]  # an absent cell is task 0
    assert_array_equal(data.X.toarray(), X)
    assert data.X.format == "csr"


def test_sparse_duplicates_are_summed_without_touching_the_input():
    whole = sp.csr_matrix(([1.0, 2.0, 5.0], [0, 0, 1], [0, 3]), shape=(1, 2))
    data = check_task_data(whole, accept_sparse=True)
    assert_array_equal(data.X.toarray(), [[3.0, 5.0]])
    assert whole.nnz == 3


def test_no_copy_where_none_is_needed():
    whole = with_task(X, [1, 0, 1, 2])
    assert np.shares_memory(check_task_data(whole, task=-1).X, whole)
    assert np.shares_memory(check_task_data(X).X, X)
    fortran = np.asfortranarray(whole)
    assert np.shares_memory(check_task_data(fortran, task=-1, order="F").X, fortran)


def test_everything_is_read_only():
    data = check_task_data(X, [0, 1, 0, 1], np.ones(4), labels="classes", privileged=1)
    for name in ("X", "task", "tasks", "y", "classes", "sample_weight", "privileged"):
        assert not getattr(data, name).flags.writeable, name
    with pytest.raises(AttributeError):
        data.X = X
    assert X.flags.writeable


def test_rows_of_a_task():
    data = check_task_data(_frame("pandas", g=GROUP), task="g")
    assert [data.rows(t).tolist() for t in range(3)] == [[1], [0, 2], [3]]
    assert data.indptr.tolist() == [0, 1, 3, 4]


def test_labels_by_task():
    y = ["hot", "no", "cold", "yes"]
    data = check_task_data(_frame("pandas", g=GROUP), y, task="g", labels="classes")
    assert data.classes.tolist() == ["cold", "hot", "no", "yes"]
    assert data.classes[data.y].tolist() == y
    assert {k: v.tolist() for k, v in data.task_classes.items()} == {
        "a": ["no"],
        "b": ["cold", "hot"],
        "c": ["yes"],
    }
    assert data.y_in_task.tolist() == [1, 0, 0, 0]
    assert data.task_class_codes.tolist() == [2, 0, 1, 3]


def test_label_sets_restrict_probabilities():
    y = [0, 1, 2, 2]
    data = check_task_data(_frame("pandas", g=GROUP), y, task="g", labels="classes")
    proba = np.array([[0.2, 0.3, 0.5], [0.0, 0.0, 1.0], [0.2, 0.3, 0.5]])
    # task b has classes 0 and 2, task a has class 1; -1 is unknown
    out = data.label_sets.restrict(proba, np.array([1, 0, -1]))
    np.testing.assert_allclose(out, [[2 / 7, 0, 5 / 7], [0, 1, 0], [0.2, 0.3, 0.5]])


def test_numbers_and_weights():
    data = check_task_data(X, [1, 2, 3, 4], [1, 0, 2, 3], labels="numbers")
    assert data.y.dtype == np.float64
    assert data.classes is None
    assert data.sample_weight.tolist() == [1, 0, 2, 3]
    assert check_task_data(X).sample_weight is None


def test_target_task():
    frame = _frame("pandas", g=GROUP)
    assert check_task_data(frame, task="g", target="b").target == 1


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_privileged_columns_may_be_absent_afterwards(library):
    frame = _frame(library, g=GROUP, late=[9.0, 8.0, 7.0, 6.0])
    data = check_task_data(frame, task="g", privileged=["u", "late"])
    assert_array_equal(data.privileged, np.column_stack([X[:, 0], [9, 8, 7, 6]]))
    assert data.feature_names.tolist() == ["v"]
    known = {"columns": data.columns, "tasks": data.tasks}
    for names in (["u", "v", "g", "late"], ["v", "g"], ["v", "g", "late"]):
        rows = check_task_rows(frame[names], **known)
        assert_array_equal(rows.X[:, 0], X[:, 1])
        assert_array_equal(rows.task, data.task)


def test_privileged_positions_may_be_absent_afterwards():
    whole = np.column_stack([X, [9, 8, 7, 6], [1, 0, 1, 1]])
    data = check_task_data(whole, task=-1, privileged=[0, 2])
    known = {"columns": data.columns, "tasks": data.tasks}
    for new in (whole, whole[:, [1, 3]]):
        rows = check_task_rows(new, **known)
        assert_array_equal(rows.X[:, 0], X[:, 1])
        assert_array_equal(rows.task, [1, 0, 1, 1])


def test_unknown_tasks_are_minus_one_if_asked():
    data = check_task_data(with_task(X, [5, 3, 5, 5]), task=-1)
    rows = check_task_rows(
        with_task(X, [3, 4, 9, 5]),
        columns=data.columns,
        tasks=data.tasks,
        unknown_task="share",
    )
    assert rows.task.tolist() == [0, -1, -1, 1]


def test_signed_and_unsigned_tasks_meet():
    data = check_task_data(with_task(X.astype("u8"), [5, 3, 5, 5]), task=-1)
    rows = check_task_rows(
        np.array([[1, 1, -3], [1, 1, 5]]),
        columns=data.columns,
        tasks=np.array([3, 5], dtype=np.uint64),
        unknown_task="share",
    )
    assert rows.task.tolist() == [-1, 1]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_numeric_columns_of_frames_become_floats(library):
    frame = _frame(library, i=[1, 2, 3, 4], b=[True, False, True, False])
    data = check_task_data(frame)
    assert_array_equal(data.X[:, 2:], [[1, 1], [2, 0], [3, 1], [4, 0]])


def test_missing_cells_of_nullable_columns_become_nan():
    frame = _frame("pandas", i=pd.array([1, None, 3, 4], dtype="Int64"))
    assert np.isnan(check_task_data(frame, allow_nan=True).X[1, 2])
    frame = _frame("polars", i=[1, None, 3, 4])
    assert np.isnan(check_task_data(frame, allow_nan=True).X[1, 2])


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_float32_frames_stay_float32(library):
    narrow = {"u": X[:, 0].astype("f4"), "v": X[:, 1].astype("f4")}
    assert check_task_data(
        FRAMES[library]({**narrow, "g": GROUP}), task="g"
    ).X.dtype == (np.float32)


def test_split_task_keeps_the_container():
    frame = _frame("polars", g=GROUP)
    rest, tasks, codes, _ = split_task(frame, "g")
    assert isinstance(rest, pl.DataFrame)
    assert rest.columns == ["u", "v"]
    assert tasks[codes].tolist() == GROUP.tolist()


def test_fitted_names_with_an_array_at_predict_warn():
    data = check_task_data(_frame("pandas"))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        check_task_rows(X, columns=data.columns, tasks=data.tasks)
    data = check_task_data(X)
    with pytest.warns(UserWarning, match="fitted without feature names"):
        check_task_rows(_frame("pandas"), columns=data.columns, tasks=data.tasks)


def test_reading_rows_leaves_the_filters_of_warnings_alone():
    """They belong to all threads: fits in threads would leave each other's behind."""
    seen = []

    class Rows:
        def __array__(self, dtype=None, copy=None):
            seen.append(list(warnings.filters))
            return np.column_stack([X, [0, 1, 0, 1]])

        def __len__(self):
            return len(X)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        filters = list(warnings.filters)
        assert check_task_data(Rows(), task=-1).n_tasks == 2
    assert seen == [filters] * len(seen) != []
