"""What all distances have in common, and the matrix they come back in."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import squareform

from kinlearn import with_task
from kinlearn.relatedness import TaskDistances, task_distances

DIRECTED = ["kl_directed"]
SHIFTS = [
    *("ks", "kl", "kl_directed", "hellinger", "mutual_information"),
    *("mmd", "proxy_a", "label_shift"),
]
METHODS = [*SHIFTS, "logdet"]


def _problem(seed=0):
    """Tasks 0, 1 and 2 are alike; 3 is shifted a little, 4 a lot."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(5), [60, 80, 100, 70, 90])
    shift = np.array([0.0, 0.0, 0.0, 0.6, 3.0])[task]
    X = rng.normal(size=(400, 4)) + shift[:, None]
    y = (rng.normal(size=400) + shift > 0).astype(int)
    return X, y, task


def _distances(X, y, task, method, **options):
    options = {"random_state": 0, **options}
    return task_distances(with_task(X, task), y, task=-1, method=method, **options)


@pytest.mark.parametrize("method", METHODS)
def test_symmetric_non_negative_zero_diagonal(method):
    values = _distances(*_problem(), method).values
    assert values.shape == (5, 5)
    assert (values >= 0).all()
    if method not in DIRECTED:
        assert_array_equal(values, values.T)
    assert_array_equal(values.diagonal(), np.zeros(5))


@pytest.mark.parametrize("method", SHIFTS)
def test_shifted_tasks_are_farther_than_equal_ones(method):
    distances = _distances(*_problem(), method)
    alike = distances.values[:3, :3].max()
    assert alike < distances.values[:3, 3].min()
    assert distances.values[:3, 3].max() < distances.values[:3, 4].min()
    assert set(distances.nearest(0)[:2]) == {1, 2}


@pytest.mark.parametrize("method", METHODS)
def test_copies_of_a_task_are_at_no_distance(method):
    X, y, task = _problem()
    first = task == 0
    X, y = np.concatenate([X[first], X]), np.concatenate([y[first], y])
    task = np.concatenate([np.full(first.sum(), 9), task])
    values = _distances(X, y, task, method)
    assert_allclose(values[0, 9], 0.0, atol=1e-12)


@pytest.mark.parametrize("method", [m for m in METHODS if m != "proxy_a"])
def test_row_order_does_not_matter(method):
    X, y, task = _problem()
    order = np.random.default_rng(1).permutation(len(X))
    expected = _distances(X, y, task, method).values
    values = _distances(X[order], y[order], task[order], method).values
    assert_allclose(values, expected, rtol=1e-9, atol=1e-8)


@pytest.mark.parametrize("method", METHODS)
def test_task_names_do_not_matter(method):
    X, y, task = _problem()
    names = np.array(["e", "b", "d", "a", "c"], dtype=object)
    frame = pd.DataFrame(X).add_prefix("x").assign(place=names[task])
    renamed = task_distances(frame, y, task="place", method=method, random_state=0)
    expected = _distances(X, y, task, method)
    assert renamed.tasks.tolist() == ["a", "b", "c", "d", "e"]
    for a in range(5):
        for b in range(5):
            assert_allclose(
                renamed[names[a], names[b]], expected[a, b], rtol=1e-9, atol=1e-8
            )


@pytest.mark.parametrize("method", METHODS)
def test_frames_of_both_libraries_equal_arrays(method):
    X, y, task = _problem()
    expected = _distances(X, y, task, method).values
    columns = {f"x{j}": X[:, j] for j in range(4)}
    for library in (pd, pl):
        frame = library.DataFrame({"task": task, **columns})
        values = task_distances(frame, y, task="task", method=method, random_state=0)
        assert_allclose(values.values, expected, rtol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_one_task_is_a_matrix_of_one_zero(method):
    X, y, _ = _problem()
    distances = task_distances(X, y, task=None, method=method)
    assert_array_equal(distances.values, [[0.0]])
    assert_array_equal(distances.order(), [0])
    assert distances.nearest(0).tolist() == []


@pytest.mark.parametrize("method", ["mmd", "proxy_a"])
def test_methods_on_whole_rows_refuse_missing_values(method):
    X, y, task = _problem()
    X[5, 2] = np.nan
    with pytest.raises(ValueError, match=rf"NaN.*'x2'.*task_distances.*{method}"):
        _distances(X, y, task, method)


def test_read_only_input_is_taken_and_left_alone():
    X, y, task = _problem()
    table = with_task(X, task)
    table.flags.writeable = False
    before = table.copy()
    for method in METHODS:
        task_distances(table, y, task=-1, method=method)
    assert_array_equal(table, before)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"method": "cosine"}, ValueError, "method must be one of 'hellinger', 'kl'"),
        ({"method": "ks", "n_bins": 3}, TypeError, "'ks' has no option 'n_bins'"),
        ({"method": "mmd", "width": 1}, TypeError, "its options are 'biased'"),
        ({"task": "school"}, (ValueError, TypeError), "school"),
    ],
)
def test_bad_calls(options, error, match):
    X, y, task = _problem()
    with pytest.raises(error, match=match):
        task_distances(with_task(X, task), y, **{"task": -1, **options})


def test_more_tasks_than_a_matrix_can_hold_are_refused():
    X = np.column_stack([np.zeros(10_001), np.arange(10_001)])
    for method in ("ks", "label_shift"):
        with pytest.raises(ValueError, match=r"Found 10001 tasks.*0\.8 GB"):
            task_distances(X, np.zeros(10_001), task=1, method=method)


def _three():
    values = [[0.0, 0.1, 0.7], [0.1, 0.0, 0.4], [0.7, 0.4, 0.0]]
    return TaskDistances(values, ["a", "b", "c"], method="ks")


def test_look_up_by_name():
    distances = _three()
    assert distances["a", "c"] == distances["c", "a"] == 0.7
    assert distances["b", "b"] == 0.0
    assert type(distances["a", "c"]) is float
    assert distances.nearest("c").tolist() == ["b", "a"]
    assert distances.nearest("c", n=1).tolist() == ["b"]


@pytest.mark.parametrize("pair", [("a", "z"), (0, 1), ("a", ["b"])])
def test_unknown_names_are_told(pair):
    with pytest.raises(KeyError, match="the tasks are 'a', 'b', 'c'"):
        _three()[pair]


@pytest.mark.parametrize("pair", ["a", ("a",), ("a", "b", "c"), slice(None)])
def test_look_up_needs_two_names(pair):
    with pytest.raises(TypeError, match="Name two tasks"):
        _three()[pair]


def test_nothing_in_it_can_be_changed():
    source = np.zeros((2, 2))
    distances = TaskDistances(source, [1, 2], method="ks")
    source[0, 1] = 5.0
    assert distances[1, 2] == 0.0
    with pytest.raises(ValueError, match="read-only"):
        distances.values[0, 1] = 1.0
    with pytest.raises(ValueError, match="read-only"):
        distances.tasks[0] = 3
    with pytest.raises(AttributeError):
        distances.method = "kl"


def test_frame_has_names_on_both_axes():
    frame = _three().to_frame()
    assert frame.loc["a", "c"] == 0.7
    assert list(frame.index) == list(frame.columns) == ["a", "b", "c"]
    frame.loc["a", "c"] = 9.0  # a copy
    assert _three()["a", "c"] == 0.7


def test_order_puts_planted_clusters_side_by_side():
    rng = np.random.default_rng(0)
    cluster = rng.permutation(np.repeat([0, 1, 2], 5))
    points = 10.0 * cluster + rng.uniform(size=15)
    values = np.abs(points[:, None] - points)
    order = TaskDistances(values, np.arange(15), method="ks").order()
    assert sorted(order.tolist()) == list(range(15))
    assert (np.diff(cluster[order]) != 0).sum() == 2


def test_order_of_points_on_a_line_is_the_line():
    points = np.random.default_rng(1).permutation(12).astype(float)
    values = np.abs(points[:, None] - points)
    steps = np.diff(points[TaskDistances(values, np.arange(12), method="x").order()])
    assert set(steps) in ({1.0}, {-1.0})


def test_repr_of_many_tasks_is_short():
    values = squareform(np.arange(1.0, 1 + 30 * 29 / 2))
    text = repr(TaskDistances(values, np.arange(30), method="kl"))
    assert text.startswith("TaskDistances(method='kl', n_tasks=30)")
    assert len(text.splitlines()) == 11
    assert "..." in text


def test_pickle_round_trip():
    back = pickle.loads(pickle.dumps(_three()))
    assert_array_equal(back.values, _three().values)
    assert back["a", "b"] == 0.1


@pytest.mark.parametrize(
    ("values", "tasks", "match"),
    [
        ([[0.0, 1.0]], ["a", "b"], "square matrix"),
        (np.zeros((2, 2)), ["a", "b", "c"], "square matrix"),
        (np.zeros((0, 0)), [], "square matrix"),
        ([[0.0, np.nan], [np.nan, 0.0]], ["a", "b"], "2 NaN"),
        ([[0.0, -1.0], [-1.0, 0.0]], ["a", "b"], "2 negative"),
        ([[0.0, np.inf], [np.inf, 0.0]], ["a", "b"], "2 infinite"),
        ([[0.0, 1.0], [2.0, 0.0]], ["a", "b"], "symmetric"),
        ([[1.0, 0.5], [0.5, 1.0]], ["a", "b"], "affinity"),
        (np.zeros((2, 2)), ["a", "a"], "all be different"),
    ],
)
def test_bad_matrices(values, tasks, match):
    with pytest.raises(ValueError, match=match):
        TaskDistances(values, tasks, method="ks")
