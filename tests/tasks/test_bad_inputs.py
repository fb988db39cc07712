"""What bad input gets: a table of inputs, each with the message it must give.

Each row is (name, call, kind of error, pattern). The pattern holds what was
found, where, and the way out.
"""

import datetime
import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from kinlearn import keep_task, with_task
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature
from kinlearn.tasks import (
    check_task_data,
    check_task_rows,
    encode_tasks,
    task_codes,
)

X = np.arange(12.0).reshape(6, 2)
Y = np.array([0, 1, 0, 1, 0, 1])
T = np.array([1, 1, 1, 2, 2, 2])
XT = with_task(X, T)
DF = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "g": list("uuuvvv")})
with warnings.catch_warnings():
    warnings.simplefilter("ignore", PendingDeprecationWarning)
    MATRIX = np.asmatrix(XT)


def _set(array, row, column, value):
    array = np.array(array)
    array[row, column] = value
    return array


def _rows(X, frame=False, **options):
    """Check rows against a model that was fitted on XT (or DF)."""
    data = check_task_data(DF if frame else XT, task="g" if frame else -1)
    return check_task_rows(X, columns=data.columns, tasks=data.tasks, **options)


def _fitted(form=PerTask, **params):
    return form(LogisticRegression(), task="g", **params).fit(DF, Y)


def fit(X, y=None, sample_weight=None, task=-1, labels=None, **options):
    if y is not None and labels is None:
        labels = "classes"
    return check_task_data(X, y, sample_weight, task=task, labels=labels, **options)


def _outside(form, index):
    """A sparse matrix by whose indices SciPy would read elsewhere."""
    found = sp.coo_array(XT).asformat(form)
    places = found.col if form == "coo" else found.indices
    places[0] = index
    return found


BAD = [
    # shapes
    ("scalar", lambda: fit(3.0), ValueError, "Expected 2D array, got scalar"),
    ("vector", lambda: fit(X[:, 0]), ValueError, "Expected 2D array, got 1D"),
    ("cube", lambda: fit(np.zeros((2, 2, 2))), ValueError, "dim 3"),
    ("series", lambda: fit(DF["a"]), ValueError, "Expected 2D array, got 1D"),
    ("no rows", lambda: fit(XT[:0]), ValueError, r"0 sample\(s\)"),
    ("no columns", lambda: fit(XT[:, :0], task=None), ValueError, r"0 feature\(s\)"),
    ("no rows in a frame", lambda: fit(DF[:0], task="g"), ValueError, r"0 sample\(s\)"),
    ("only the task", lambda: fit(XT[:, 2:]), ValueError, "besides the task"),
    ("empty list", lambda: fit([]), ValueError, "Expected 2D array, got 1D"),
    (
        "ragged list",
        lambda: fit([[1, 2], [3]]),
        ValueError,
        "cannot be read as a table",
    ),
    ("none", lambda: fit(None), ValueError, "Expected 2D array"),
    ("dict", lambda: fit({"a": [1]}), ValueError, "Expected 2D array"),
    ("a generator", lambda: fit(x for x in X), ValueError, "Expected 2D array"),
    ("sparse vector", lambda: fit(sp.coo_array([1.0])), ValueError, "2D sparse"),
    # types
    ("complex", lambda: fit(XT + 1j), ValueError, "Complex data not supported"),
    (
        "complex sparse",
        lambda: fit(sp.csr_array(XT + 1j), accept_sparse=True),
        ValueError,
        "Complex data",
    ),
    *[
        (
            f"{form} with index {index}",
            lambda form=form, index=index: fit(
                _outside(form, index), accept_sparse=True
            ),
            ValueError,
            "damaged sparse matrix.*Build it anew",
        )
        for form in ("csr", "csc", "bsr", "coo")
        for index in (-1, 10**6)
    ],
    ("text array", lambda: fit(XT.astype(str)), ValueError, "bytes/strings"),
    (
        "bytes array",
        lambda: fit(XT.astype("S"), task=None),
        ValueError,
        "bytes/strings",
    ),
    ("dates", lambda: fit(X.astype("M8[D]"), task=None), TypeError, "not numeric"),
    ("matrix", lambda: fit(MATRIX), TypeError, "np.matrix is not supported"),
    (
        "masked cells",
        lambda: fit(np.ma.masked_less(XT, 1)),
        ValueError,
        r"masked cells.*filled",
    ),
    (
        "dict in a cell",
        lambda: fit(_set(XT.astype(object), 4, 1, {})),
        TypeError,
        r"'x1' holds \{\} in row 4",
    ),
    (
        "word in a cell",
        lambda: fit(_set(XT.astype(object), 4, 1, "tall")),
        ValueError,
        "'x1' holds 'tall' in row 4, which is not a number",
    ),
    (
        "sparse refused",
        lambda: fit(sp.csr_array(XT)),
        TypeError,
        "dense data is required",
    ),
    ("lazy frame", lambda: fit(pl.LazyFrame({"a": [1]})), TypeError, r"\.collect\(\)"),
    (
        "text column",
        lambda: fit(DF.assign(c=list("xyzxyz")), task="g"),
        TypeError,
        r"no numbers: 'c' \(String\).*TableEncoder",
    ),
    (
        "category column",
        lambda: fit(DF.assign(c=pd.Categorical(Y)), task="g"),
        TypeError,
        "no numbers: 'c' .Categorical",
    ),
    (
        "date column",
        lambda: fit(DF.assign(c=pd.Timestamp("2020-01-01")), task="g"),
        TypeError,
        "no numbers: 'c' .Datetime",
    ),
    (
        "objects in a column",
        lambda: fit(DF.assign(c=[1, 2, [3], 4, 5, 6]), task="g"),
        TypeError,
        r"'c'.*(row 2|List)",
    ),
    # column names
    (
        "repeated names",
        lambda: fit(pd.concat([DF, DF[["a"]]], axis=1), task="g"),
        ValueError,
        "more than one column named 'a'",
    ),
    (
        "mixed names",
        lambda: fit(DF.rename(columns={"b": 7}), task="g"),
        TypeError,
        r"string names.*astype\(str\)",
    ),
    # the task parameter
    (
        "task too far right",
        lambda: fit(XT, task=3),
        ValueError,
        "3 is out of range: X has 3",
    ),
    ("task too far left", lambda: fit(XT, task=-4), ValueError, "from -3 to 2"),
    ("task by name in array", lambda: fit(XT, task="g"), ValueError, "no column names"),
    (
        "task not in frame",
        lambda: fit(DF, task="school"),
        ValueError,
        "'school' is not in X. X has the columns 'a', 'b', 'g'",
    ),
    ("task is a float", lambda: fit(XT, task=1.0), TypeError, "got 1.0 of type float"),
    ("task is a bool", lambda: fit(XT, task=True), TypeError, "got True of type bool"),
    ("task is a list", lambda: fit(XT, task=[1]), TypeError, "of type list"),
    ("task is a vector", lambda: fit(X, task=T), TypeError, "of type ndarray"),
    # the task column
    (
        "NaN tasks",
        lambda: fit(_set(XT, [1, 4], 2, np.nan)),
        ValueError,
        r"Task column -1 is missing in 2 of 6 rows \(first: row 1\)",
    ),
    (
        "None tasks",
        lambda: fit(DF.assign(g=["u", None, "v", None, "v", None]), task="g"),
        ValueError,
        "Task column 'g' is missing in 3 of 6 rows",
    ),
    (
        "NA tasks",
        lambda: fit(
            DF.assign(g=pd.array([1, None, 3, 4, 5, 6], dtype="Int64")), task="g"
        ),
        ValueError,
        "missing in 1 of 6 rows",
    ),
    (
        "null tasks of polars",
        lambda: fit(pl.DataFrame({"a": [1.0, 2.0], "g": ["u", None]}), task="g"),
        ValueError,
        "missing in 1 of 2 rows",
    ),
    (
        "missing category",
        lambda: fit(DF.assign(g=pd.Categorical(["u", None, "v"] * 2)), task="g"),
        ValueError,
        "missing in 2 of 6 rows",
    ),
    (
        "fractional task",
        lambda: fit(XT + 0.5),
        ValueError,
        r"found 1\.5 in row 0 of a float64 column\. Is this the task column\?",
    ),
    (
        "infinite task",
        lambda: fit(_set(XT, 3, 2, np.inf)),
        ValueError,
        "found inf in row 3",
    ),
    (
        "inexact float task",
        lambda: fit(_set(XT, 3, 2, 2.0**54)),
        ValueError,
        "integers beyond 9007199254740992 are not exact",
    ),
    (
        "inexact float32 task",
        lambda: fit(_set(XT.astype("f4"), 3, 2, 2.0**25)),
        ValueError,
        "float32 column, where integers beyond 16777216",
    ),
    (
        "huge integer task",
        lambda: fit(_set(XT.astype(int).astype(object), 3, 2, 2**70)),
        ValueError,
        "beyond 64 bits. Convert the column to str",
    ),
    (
        "mixed task column",
        lambda: fit(
            DF.assign(g=np.array([1, "u", 2, "v", 3, 4], dtype=object)), task="g"
        ),
        TypeError,
        r"mixes strings and numbers \('u' in row 1, 1 in row 0\)",
    ),
    (
        "date tasks",
        lambda: fit(DF.assign(g=pd.date_range("2020", periods=6)), task="g"),
        TypeError,
        r"Task column 'g' must hold integers or strings; found dtype datetime64",
    ),
    (
        "tuple tasks",
        lambda: fit(
            DF.assign(g=np.array([(1,), (2,), (3,), 4, 5, 6], dtype=object)), task="g"
        ),
        TypeError,
        "of type tuple in row 0",
    ),
    (
        "date object tasks",
        lambda: fit(_set(XT.astype(object), 2, 2, datetime.date(2020, 1, 1))),
        TypeError,
        "of type date in row 2",
    ),
    # features
    (
        "NaN feature",
        lambda: fit(_set(XT, 4, 1, np.nan)),
        ValueError,
        r"NaN for float64 in column 'x1' \(first: row 4, task 2; 1 such cells",
    ),
    (
        "inf feature",
        lambda: fit(DF.assign(b=np.inf), task="g"),
        ValueError,
        r"infinity.*column 'b' \(first: row 0, task 'u'; 6 such cells",
    ),
    (
        "inf where NaN may be",
        lambda: fit(_set(_set(XT, 1, 0, np.nan), 4, 1, -np.inf), allow_nan=True),
        ValueError,
        "infinity.*column 'x1'",
    ),
    (
        "NaN in sparse",
        lambda: fit(sp.csr_array(_set(XT, 4, 1, np.nan)), accept_sparse=True),
        ValueError,
        "NaN.*column 'x1'",
    ),
    (
        "too large for float32",
        lambda: fit(_set(XT, 4, 1, 1e60).astype("f4", casting="unsafe")),
        (ValueError, RuntimeWarning),
        "infinity|overflow",
    ),
    # targets
    ("y missing", lambda: fit(XT, None, labels="classes"), ValueError, "y is None"),
    (
        "y too short",
        lambda: fit(XT, Y[:5]),
        ValueError,
        "inconsistent numbers of samples",
    ),
    ("y of two columns", lambda: fit(XT, XT[:, :2]), ValueError, "1d array"),
    (
        "continuous classes",
        lambda: fit(XT, X[:, 0] + 0.5),
        ValueError,
        "Unknown label type",
    ),
    (
        "NaN class",
        lambda: fit(XT, [0, 1, np.nan, 1, 0, 1]),
        ValueError,
        "y contains NaN",
    ),
    (
        "None class",
        lambda: fit(XT, np.array(["a", None, "b", "a", "b", "a"], dtype=object)),
        ValueError,
        r"y contains None\. It stands in 1 of 6 rows, at position 1; .* task",
    ),
    (
        "mixed classes",
        lambda: fit(XT, np.array(["a", 1, "b", 2, "a", 1], dtype=object)),
        TypeError,
        r"y mixes labels that cannot be ordered \(int, str\)",
    ),
    (
        "list classes",
        lambda: fit(XT, np.array([[1], [2], [1, 2], [1], [2], [3]], dtype=object)),
        ValueError,
        "Unknown label type: y holds list",
    ),
    (
        "text numbers",
        lambda: fit(XT, list("abcabc"), labels="numbers"),
        ValueError,
        "y has dtype.*not numeric",
    ),
    (
        "infinite number",
        lambda: fit(XT, [0, 1, np.inf, 1, 0, 1], labels="numbers"),
        ValueError,
        "y contains infinity",
    ),
    (
        "complex numbers",
        lambda: fit(XT, Y + 1j, labels="numbers"),
        ValueError,
        "Complex data not supported",
    ),
    # weights
    ("negative weight", lambda: fit(XT, Y, -np.ones(6)), ValueError, "Negative values"),
    ("NaN weight", lambda: fit(XT, Y, np.full(6, np.nan)), ValueError, "contains NaN"),
    (
        "weights too short",
        lambda: fit(XT, Y, np.ones(5)),
        ValueError,
        r"sample_weight.shape",
    ),
    (
        "weights of two columns",
        lambda: fit(XT, Y, np.ones((6, 2))),
        ValueError,
        "1D array",
    ),
    # privileged columns and the target task
    (
        "privileged unknown",
        lambda: fit(DF, task="g", privileged=["c"]),
        ValueError,
        "Privileged column 'c' is not in X",
    ),
    (
        "privileged out of range",
        lambda: fit(XT, privileged=7),
        ValueError,
        "Privileged column 7 is out of range",
    ),
    (
        "privileged is the task",
        lambda: fit(DF, task="g", privileged="g"),
        ValueError,
        "'g' cannot be both task and privileged",
    ),
    (
        "privileged twice",
        lambda: fit(XT, privileged=[0, -3]),
        ValueError,
        "Privileged column -3 is given twice",
    ),
    (
        "all privileged",
        lambda: fit(DF, task="g", privileged=["a", "b"]),
        ValueError,
        "besides the task and privileged columns",
    ),
    (
        "NaN in a privileged column",
        lambda: fit(_set(XT, 0, 0, np.nan), privileged=0, allow_nan=True),
        ValueError,
        "NaN.*'x0'",
    ),
    (
        "target absent",
        lambda: fit(DF, task="g", target="w"),
        ValueError,
        "target task 'w' is not in the task column, which holds 'u', 'v'",
    ),
    (
        "target without task",
        lambda: fit(X, task=None, target=1),
        ValueError,
        "task=None",
    ),
    # new rows
    (
        "unseen task",
        lambda: _rows(with_task(X, [1, 9, 9, 8, 2, 1])),
        ValueError,
        r"2 task\(s\).*8, 9, in 3 of 6 rows. Fit saw 1, 2.*unknown_task=\"share\"",
    ),
    (
        "text tasks after numbers",
        lambda: _rows(with_task(X.astype(object), list("uuuvvv"))),
        TypeError,
        "holds strings but held integers in fit",
    ),
    ("task column lost", lambda: _rows(X), ValueError, "Is the task column missing"),
    (
        "one column too many",
        lambda: _rows(with_task(XT, T)),
        ValueError,
        "X has 4 features",
    ),
    (
        "task column of a frame lost",
        lambda: _rows(DF[["a", "b"]], frame=True),
        ValueError,
        "Task column 'g' is not in X, but .* was fitted with it",
    ),
    (
        "feature lost",
        lambda: _rows(DF[["a", "g"]], frame=True),
        ValueError,
        "yet now missing:\n- b",
    ),
    (
        "feature added",
        lambda: _rows(DF.assign(z=1), frame=True),
        ValueError,
        "unseen at fit time:\n- z",
    ),
    (
        "columns reordered",
        lambda: _rows(DF[["b", "a", "g"]], frame=True),
        ValueError,
        "same order as they were in fit",
    ),
    ("no new rows", lambda: _rows(XT[:0]), ValueError, r"0 sample\(s\)"),
    # with_task and keep_task
    (
        "too few tasks",
        lambda: with_task(X, T[:5]),
        ValueError,
        r"must have shape \(6,\)",
    ),
    ("tasks in a table", lambda: with_task(X, XT), ValueError, r"shape \(6, 3\)"),
    (
        "text into an array",
        lambda: with_task(X, list("uuuvvv")),
        TypeError,
        "Use a data frame",
    ),
    (
        "name is taken",
        lambda: with_task(DF, T, name="a"),
        ValueError,
        "named 'a' already",
    ),
    ("inexact task", lambda: with_task(X, T * 2**60), ValueError, "is not exact"),
    (
        "missing task",
        lambda: with_task(X, [1, None, 1, 1, 1, 1]),
        ValueError,
        "missing in 1",
    ),
    (
        "sparse into a frame",
        lambda: keep_task(OneHotEncoder(), task="g").fit_transform(DF),
        ValueError,
        "sparse_output=False",
    ),
    (
        "not a transformer",
        lambda: keep_task(Ridge(), task="g").fit(DF),
        ValueError,
        "'transformer' parameter",
    ),
    (
        "kept task is missing",
        lambda: keep_task(StandardScaler(), task=-1).fit_transform(
            _set(XT, 0, 2, np.nan)
        ),
        ValueError,
        "missing in 1 of 6 rows",
    ),
    (
        "kept task is lost",
        lambda: keep_task(StandardScaler(), task="g").fit(DF).transform(DF[["a", "b"]]),
        ValueError,
        "Task column 'g' is not in X",
    ),
    (
        "one task for all",
        lambda: with_task(X, 3),
        ValueError,
        "task is 3, a single value",
    ),
    (
        "unnamed columns",
        lambda: with_task(pd.DataFrame(X), T),
        ValueError,
        r"no string names.*astype\(str\)",
    ),
    (
        "no common integer type",
        lambda: with_task(np.full((2, 1), 2**63, dtype="u8"), [-1, 1]),
        ValueError,
        "No integer type holds both",
    ),
    ("vector of two columns", lambda: encode_tasks(X), ValueError, r"shape \(6, 2\)"),
    # numbers beyond all types, options beyond all lists
    (
        "huge cell",
        lambda: fit(_set(XT.astype(object), 4, 1, 10**400)),
        ValueError,
        "'x1' holds 1000.*in row 4, which is not a number",
    ),
    (
        "huge cell of a frame",
        lambda: fit(DF.assign(b=pd.Series([10**400] * 6, dtype=object)), task="g"),
        ValueError,
        "'b' holds 1000",
    ),
    (
        "huge float task",
        lambda: fit(_set(XT.astype(object), 3, 2, 10**400)),
        ValueError,
        "beyond 64 bits",
    ),
    (
        "huge target",
        lambda: fit(XT, np.array([10**400] * 6, dtype=object), labels="numbers"),
        ValueError,
        "too large for float64",
    ),
    (
        "NumPy's NaN among strings",
        lambda: encode_tasks(np.array(["a", np.float64("nan")], dtype=object)),
        ValueError,
        "missing in 1 of 2 rows",
    ),
    (
        "misspelt labels",
        lambda: fit(XT, Y, labels="clases"),
        ValueError,
        "got 'clases'",
    ),
    (
        "misspelt unknown_task",
        lambda: _rows(XT, unknown_task="shar"),
        ValueError,
        "got 'shar'",
    ),
    ("privileged number", lambda: fit(XT, privileged=0.5), TypeError, "of type float"),
    # the forms
    (
        "NaN target",
        lambda: PerTask(Ridge()).fit(X, Y * np.nan),
        ValueError,
        "y contains NaN",
    ),
    ("clusterer", lambda: Pooled(KMeans()).fit(X, Y), TypeError, "KMeans is neither"),
    ("form without y", lambda: Pooled(Ridge()).fit(X, None), ValueError, "y is None"),
    (
        "weights not taken",
        lambda: PerTask(KNeighborsClassifier(1), task=-1).fit(XT, Y, np.ones(6)),
        TypeError,
        "KNeighborsClassifier takes no sample_weight",
    ),
    (
        "small task",
        lambda: PerTask(KNeighborsClassifier(4), task="g").fit(DF, Y).predict(DF),
        ValueError,
        "n_neighbors",
    ),
    (
        "unseen task of a form",
        lambda: _fitted(unknown_task="error").predict(DF.assign(g="w")),
        ValueError,
        "that PerTask did not see in fit: 'w'",
    ),
    (
        "category of an array",
        lambda: TaskAsFeature(Ridge(), task=-1, encoding="category").fit(XT, Y),
        ValueError,
        "Ridge does not. Use a data frame",
    ),
    (
        "bad option",
        lambda: _fitted(unknown_task="guess"),
        ValueError,
        "'unknown_task' parameter of PerTask must be a str among",
    ),
    ("not fitted", lambda: Pooled(Ridge()).predict(X), Exception, "not fitted yet"),
    (
        "splitting an empty task",
        lambda: task_codes(X[:0], None),
        ValueError,
        "0 sample",
    ),
]


@pytest.mark.parametrize("case", BAD, ids=[case[0] for case in BAD])
def test_message(case):
    name, call, kind, pattern = case
    with pytest.raises(kind) as caught:
        call()
    assert re.search(pattern, str(caught.value), re.DOTALL), f"{name}: {caught.value}"


@pytest.mark.skipif(
    not hasattr(pl, "Int128"), reason="128-bit integers: requires a newer polars"
)
def test_tasks_of_128_bits():
    column = pl.Series([2**100], dtype=pl.Int128)
    with pytest.raises(ValueError, match="beyond 64 bits"):
        fit(pl.DataFrame({"a": [1.0], "g": column}), task="g")


def test_the_table_is_long_enough():
    assert len(BAD) >= 60
    assert len({case[0] for case in BAD}) == len(BAD)
