"""What users pass, read once: kinds, names, hashes, and what is refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from kinlearn.audit._problem import open_problem

N = 60
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "a": RNG.normal(size=N),
        "b": RNG.choice(["x", "y"], N),
        "school": RNG.choice(["p", "q", "r"], N),
    }
)
Y = RNG.integers(0, 2, N)


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.arange(N) % 2, "classification"),
        (np.arange(N) % 20, "classification"),
        (np.arange(N) % 21, "regression"),
        (np.arange(N) % 2 == 0, "classification"),
        (np.arange(N) % 2 + 0.5, "regression"),
        ((np.arange(N) % 2).astype(float), "classification"),
        (np.array(["a", "b"] * (N // 2)), "classification"),
        ([f"c{i % 25}" for i in range(N)], "classification"),
        (np.array([1, 2.5] * (N // 2), dtype=object), "regression"),
        (pd.Series(["u", "v"] * (N // 2), dtype="category"), "classification"),
        (pl.Series([1.5, 2.0] * (N // 2)), "regression"),
    ],
)
def test_kind_is_guessed_from_the_target(y, kind):
    assert open_problem(FRAME, y, "school").kind == kind


def test_the_user_may_say_the_kind():
    ratings = np.arange(N) % 5
    assert open_problem(FRAME, ratings, "school", "regression").classes is None
    assert open_problem(FRAME, ratings, "school").kind == "classification"


def test_names_come_from_the_columns():
    problem = open_problem(FRAME, pd.Series(Y, name="passed"), "school")
    assert (problem.task_name, problem.target_name) == ("school", "passed")
    assert problem.n_features == 2
    plain = open_problem(np.c_[RNG.normal(size=(N, 2)), np.arange(N) % 3], Y, -1)
    assert (plain.task_name, plain.target_name) == ("task", None)


def _hash(X, y=Y, task="school"):
    return open_problem(X, y, task).fingerprint()


def test_equal_data_has_equal_hashes_however_it_is_laid_out():
    assert _hash(FRAME) == _hash(FRAME.copy()) == _hash(FRAME.set_index(np.arange(N)))
    A = np.c_[RNG.normal(size=(N, 3)), np.arange(N) % 3]
    assert _hash(A, task=-1) == _hash(np.asfortranarray(A), task=-1)
    S = sp.csr_array(A)
    assert _hash(S, task=-1) == _hash(sp.csc_array(S), task=-1)


@pytest.mark.parametrize("column", ["a", "b", "school"])
def test_one_changed_cell_changes_the_hash(column):
    changed = FRAME.copy()
    changed.loc[5, column] = {"a": 9.0, "b": "z", "school": "s"}[column]
    assert _hash(changed) != _hash(FRAME)


def test_names_types_and_targets_are_part_of_the_hash():
    other = [
        _hash(FRAME.rename(columns={"a": "c"})),
        _hash(FRAME.astype({"a": np.float32})),
        _hash(FRAME, 1 - Y),
        _hash(FRAME.iloc[::-1]),
        _hash(FRAME),
    ]
    assert len(set(other)) == len(other)


@pytest.mark.parametrize(
    ("X", "y", "task", "error", "message"),
    [
        (FRAME, Y, "clinic", ValueError, "Task column 'clinic' is not in X"),
        (FRAME, Y, None, ValueError, "task=None is one task for all rows"),
        (FRAME, Y, 1.5, TypeError, "Task column must be a column name"),
        (FRAME.assign(school="p"), Y, "school", ValueError, "single task, 'p'"),
        (FRAME.assign(school=range(N)), Y, "school", ValueError, "in each of the 60"),
        (FRAME, np.zeros(N, int), "school", ValueError, "y holds a single class, 0"),
        (FRAME, Y[:-1], "school", ValueError, "X has 60 rows, but y has 59"),
        (FRAME, None, "school", ValueError, "target y is None"),
        (FRAME, np.where(Y, np.nan, 1.5), "school", ValueError, "Input y contains NaN"),
        (pl.from_pandas(FRAME).lazy(), Y, "school", TypeError, "lazy frame"),
    ],
)
def test_bad_data_is_refused(X, y, task, error, message):
    with pytest.raises(error, match=message):
        open_problem(X, y, task)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ValueError, match="kind must be 'classification'"):
        open_problem(FRAME, Y, "school", "ranking")
