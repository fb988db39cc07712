"""What several parts of gradient boosting must agree on."""

import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import with_task
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.boosting.gradient import _departures, _start
from kinlearn.boosting.gradient._departures import leaf_values
from kinlearn.boosting.gradient._losses import REGRESSION
from kinlearn.exceptions import UnusedColumnWarning
from kinlearn.utils import Threads


def make_rows(n=300, seed=0):
    rng = np.random.default_rng(seed)
    task = np.arange(n) % 4
    X = rng.normal(size=(n, 3))
    y = X[:, 0] * (1 + task) + rng.normal(size=n) / 2
    return with_task(X, task), y


@pytest.mark.parametrize("far", [1e200, 1e300])
def test_targets_of_rows_without_weight_are_absent(far):
    X, y = make_rows()
    weight = np.ones(len(y))
    weight[0] = 0
    model = MultiTaskGradientBoostingRegressor(
        task=-1, n_estimators=20, random_state=0
    ).fit(X, y, weight)
    other = y.copy()
    other[0] = far
    expected = model.predict(X)
    assert_array_equal(model.fit(X, other, weight).predict(X), expected)


@pytest.mark.parametrize("whole", [True, False])
def test_one_large_weight_does_not_silence_the_others(whole):
    X, y = make_rows(20_000)
    weight = np.ones(len(y))
    weight[0] = 1e7 if whole else 1e7 + 0.5
    model = MultiTaskGradientBoostingRegressor(
        task=-1, n_estimators=20, max_features=1.0, random_state=0
    ).fit(X, y, weight)
    assert sum(tree.weight[0] for tree in model.trees_) / 20 == pytest.approx(
        weight.sum(), rel=1e-9
    )
    assert model.trees_.nodes["feature"].max() >= 0


def test_a_warm_start_keeps_no_round_that_is_worse():
    X, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(
        task=-1,
        random_state=0,
        n_estimators=500,
        learning_rate=0.3,
        early_stopping=True,
        warm_start=True,
    ).fit(X, y)
    n_rounds, expected = model.n_estimators_, model.predict(X)
    for _ in range(3):
        model.fit(X, y)
    assert model.n_estimators_ == n_rounds
    assert_array_equal(model.predict(X), expected)


@pytest.mark.parametrize("change", [{"loss": "poisson"}, {"offset": 0}])
def test_a_warm_start_refuses_another_loss_or_offset(change):
    X, y = make_rows()
    model = MultiTaskGradientBoostingRegressor(
        task=-1, n_estimators=3, warm_start=True, random_state=0
    ).fit(X, np.abs(y))
    before = model.predict(X)
    model.set_params(n_estimators=5, **change)
    name = next(iter(change))
    with pytest.raises(ValueError, match=f"{name}=.* cannot go on from a fit with"):
        model.fit(X, np.abs(y))
    model.set_params(loss="squared_error", offset=None)
    assert_allclose(model.predict(X), before)


def test_validation_rows_must_have_classes_of_their_tasks():
    X, y = make_rows()
    label = np.digitize(y, [-1, 1])
    label[X[:, -1] == 0] = np.minimum(label[X[:, -1] == 0], 1)
    model = MultiTaskGradientBoostingClassifier(
        task=-1, label_sets="observed", early_stopping=True, n_estimators=5
    )
    X_val = X[X[:, -1] == 0][:5]
    with pytest.raises(ValueError, match="y_val: y holds a class that task 0"):
        model.fit(X, label, X_val=X_val, y_val=np.full(5, 2))
    with pytest.raises(ValueError, match="y_val is given without X_val"):
        model.fit(X, label, y_val=np.full(5, 2))


def test_a_thread_that_cannot_start_leaves_none_waiting(monkeypatch):
    threads = Threads(3, 10**6)
    submit, calls = threads._pool.submit, []

    def fail(*args):
        calls.append(args)
        if len(calls) == 2:
            raise RuntimeError("can't start new thread")
        return submit(*args)

    monkeypatch.setattr(threads._pool, "submit", fail)
    with pytest.raises(RuntimeError, match="new thread"), threads.serving():
        pass
    monkeypatch.undo()
    threads._pool.shutdown(wait=True)  # ends


# ------------------------------------------------------------- columns without values


@pytest.mark.parametrize("names", [None, ["age", "weight", "height", "school"]])
def test_columns_that_are_missing_in_all_rows_are_named(names):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    X[:, 1], X[:, 3] = np.nan, np.arange(60) % 3
    X[:30, 2] = np.nan  # some values are enough
    table, task = X, 3
    if names is not None:
        pd = pytest.importorskip("pandas")
        table, task = pd.DataFrame(X, columns=names), "school"
    model = MultiTaskGradientBoostingRegressor(task=task, n_estimators=2)
    lost = "'x1'" if names is None else "'weight'"
    with pytest.warns(UnusedColumnWarning, match=f"in all rows: {lost}. Drop"):
        model.fit(table, y)


def test_a_column_without_values_in_rows_that_count_is_missing():
    X = np.c_[np.arange(40.0), np.where(np.arange(40) < 10, 1.0, np.nan)]
    weight = (np.arange(40) >= 10) * 1.0
    model = MultiTaskGradientBoostingRegressor(n_estimators=2)
    with pytest.warns(UnusedColumnWarning, match="in all rows: 'x1'"):
        model.fit(X, X[:, 0], sample_weight=weight)


def test_constant_columns_are_no_reason_to_warn():
    X = np.c_[np.arange(40.0), np.ones(40)]
    MultiTaskGradientBoostingRegressor(n_estimators=2).fit(X, X[:, 0])


# -------------------------------------------------------------------- blocks of rows


@pytest.mark.parametrize("loss", ["squared_error", "poisson", "gamma", "quantile"])
def test_blocks_of_rows_do_not_change_the_start(loss, monkeypatch):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(300, 3)), np.arange(300) % 7
    y = np.exp(X[:, 0] + 0.2 * task)
    weight = rng.uniform(0.5, 2.0, size=300)
    Z = with_task(X, task)
    model = MultiTaskGradientBoostingRegressor(
        loss, task=-1, n_estimators=5, random_state=0
    )
    whole = model.fit(Z, y, sample_weight=weight).predict(Z)
    monkeypatch.setattr(_start, "_ROWS", 37)
    in_blocks = model.fit(Z, y, sample_weight=weight).predict(Z)
    assert_array_equal(whole, in_blocks)


def test_blocks_of_rows_do_not_change_the_start_of_classes(monkeypatch):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(300, 3)), np.arange(300) % 7
    y = np.digitize(X[:, 0] + 0.2 * task, [0.0, 1.0])
    y[task == 3] += 3  # a label set of its own
    Z = with_task(X, task)
    model = MultiTaskGradientBoostingClassifier(task=-1, n_estimators=3, random_state=0)
    whole = model.fit(Z, y).predict_proba(Z)
    monkeypatch.setattr(_start, "_ROWS", 37)
    assert_array_equal(whole, model.fit(Z, y).predict_proba(Z))


def test_a_fit_needs_few_bytes_for_each_row():
    n = 400_000
    rng = np.random.default_rng(0)
    X = with_task(rng.integers(0, 9, size=(n, 2)).astype(np.float32), np.arange(n) % 9)
    y = X[:, 0] + rng.normal(size=n)
    model = MultiTaskGradientBoostingRegressor(task=-1, n_estimators=1, n_jobs=1)
    model.fit(X[:500], y[:500])
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 100 * n  # of which 64 are gradients, scores, targets and the like


# ------------------------------------------------------- leaves and tasks in blocks


def leaves_and_tasks(kind, n_leaves, n_tasks):
    """What `leaf_values` returns for leaves in which tasks differ."""
    rng = np.random.default_rng(0)
    h = rng.integers(0, 3, size=(n_leaves, n_tasks)).astype(float)
    values = rng.normal(size=n_leaves)
    own = rng.normal(size=n_leaves * n_tasks)
    sums = 2 * h * rng.normal(size=h.shape), h
    tracemalloc.start()
    try:
        found = leaf_values(
            values,
            np.column_stack([values - 1, values + 0.5]),
            sums,
            noise=0.1,
            mean_weight=0.01,
            learning_rate=0.1,
            loss=REGRESSION[kind](np.zeros(0), np.zeros(0)),
            quantiles=lambda by_task: own if by_task else values,
        )
        return found, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("kind", ["squared_error", "poisson", "quantile"])
def test_blocks_of_leaves_do_not_change_departures(kind, monkeypatch):
    (values, table, penalty), _ = leaves_and_tasks(kind, 30, 40)
    assert np.count_nonzero(table) > 100
    monkeypatch.setattr(_departures, "_CELLS", 130)
    (in_blocks, apart, same), _ = leaves_and_tasks(kind, 30, 40)
    assert_array_equal(in_blocks, values)
    assert_array_equal(apart, table)
    assert same == penalty


def test_departures_of_many_leaves_and_tasks_take_the_memory_of_one_table():
    _, peak = leaves_and_tasks("poisson", 2000, 2000)
    assert peak < 2.5 * 2000 * 2000 * 8


MEMORY_OF_A_FIT = """
from pathlib import Path
import sys
import numpy as np
from kinlearn.boosting import MultiTaskGradientBoostingRegressor


def high_water():  # ru_maxrss would begin with that of the parent
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if "VmHWM" in line)


n, d = int(sys.argv[1]), 50
rng = np.random.default_rng(0)
X = np.empty((n, d + 1), dtype=np.float32)
for i in range(0, n, 1000):
    X[i : i + 1000] = rng.standard_normal((1000, d + 1), dtype=np.float32)
X[:, -1] = np.arange(n) % 50
y = X[:, 0].astype(np.float64)
model = MultiTaskGradientBoostingRegressor(
    task=-1, n_estimators=2, max_leaf_nodes=31, max_bins=255, max_features=1.0
)
model.fit(X[:2000], y[:2000])
start = high_water()
model.fit(X, y)
print(high_water() - start, n * d, X.nbytes)
"""


def memory_of_a_fit(n):
    run = subprocess.run(
        [sys.executable, "-c", MEMORY_OF_A_FIT, str(n)],
        capture_output=True,
        text=True,
        check=True,
    )
    return np.array(run.stdout.split(), dtype=np.int64)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")
def test_a_fit_needs_a_byte_for_each_cell_and_a_quarter_of_float32_rows():
    # Of two sizes, so that the 5 MB that do not grow with the rows fall out.
    peak, cells, rows = memory_of_a_fit(900_000) - memory_of_a_fit(300_000)
    assert cells < peak <= cells + rows / 4
