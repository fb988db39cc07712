"""Trees grown from partitions of the rows are those of all rows in one place."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._partitions import Coded, LocalPartitions, read_partition
from kinlearn.trees import (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
)
from kinlearn.trees.extra._growth import Units
from kinlearn.trees.extra.partitions import fit_partitions
from kinlearn.trees.extra.partitions._rows import TrainingRows
from kinlearn.trees.extra.partitions._subtrees import BranchJob, NodeRows

NUMBERS = {"task_offset": False, "linear_part": False}


def problem(n_classes, *, n=200, missing=False, weights=False):
    """Rows with binary and rounded features, so that constants are met early."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 6))
    X[:, 1], X[:, 2] = rng.integers(0, 2, n), np.round(X[:, 2])
    task = rng.integers(0, 7, n)
    y = X[:, 0] + X[:, 1] * (task % 3) + 0.3 * rng.normal(size=n)
    if n_classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = rng.integers(0, 4, n) * 0.7 if weights else None
    return np.column_stack([X, task]), y, weight


def grow_together(monkeypatch, n_rows):
    """Let branches of so many rows be grown in one place."""
    monkeypatch.setattr(
        "kinlearn.trees.extra.partitions._growth._MOST_TOGETHER", n_rows
    )
    monkeypatch.setattr(LocalPartitions, "fraction_together", 1e9)


def fit_both(X, y, weight, *, ends, numbers, **params):
    cls = MultiTaskExtraTreesRegressor if numbers else MultiTaskExtraTreesClassifier
    params = {"n_estimators": 3, "task": -1, "random_state": 3, **params}
    if numbers:
        params = NUMBERS | params
    whole = cls(**params).fit(X, y, weight)
    kind = "numbers" if numbers else "classes"
    options = {"task": -1, "labels": kind, "allow_nan": True}
    parts = [
        read_partition(
            X[rows], y[rows], None if weight is None else weight[rows], i, options
        )
        for i, rows in enumerate(np.split(np.arange(len(y)), ends))
    ]
    divided = cls(**params)
    fit_partitions(divided, LocalPartitions(), parts, trees_at_once=2)
    return whole, divided


def assert_same_forest(found, expected):
    """The same to the bit, but for sums of numbers that are not integers."""
    for name, array in vars(expected).items():
        other = getattr(found, name)
        if array is None:
            assert other is None
        elif name in ("values", "impurity", "own_values"):
            assert_allclose(other, array, rtol=1e-9, atol=1e-12, err_msg=name)
        else:
            assert other.dtype == array.dtype
            assert_array_equal(other, array, err_msg=name)


@pytest.mark.parametrize("together", [0, 30, 10_000])
@pytest.mark.parametrize("n_classes", [0, 2, 4])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"task_split_prob": 1.0, "min_samples_leaf": 3, "n_cuts": 3, "max_features": 2},
        {"task_split_prob": 0.0},
        {"leaf_smoothing": 2.0},
        {"min_samples_leaf": 0.01, "min_impurity_decrease": 1e-3, "max_depth": 6},
        {"bootstrap": True},
        {"bootstrap": True, "leaf_smoothing": 0.5, "min_impurity_decrease": 1e-3},
    ],
)
@pytest.mark.parametrize(
    "rows", [{}, {"missing": True}, {"missing": True, "weights": True}]
)
def test_trees_do_not_depend_on_where_the_rows_lie(
    together, n_classes, params, rows, monkeypatch
):
    grow_together(monkeypatch, together)
    X, y, weight = problem(n_classes, **rows)
    params = {"task_split_prob": 0.7, "min_samples_leaf": 1, **params}
    ends, numbers = (
        [0, 50, 51, 130],
        n_classes == 0,
    )  # an empty partition, one of one row
    whole, divided = fit_both(X, y, weight, ends=ends, numbers=numbers, **params)
    assert len(whole.forest_.nodes) > 20
    assert_same_forest(divided.forest_, whole.forest_)
    assert_array_equal(divided.tasks_, whole.tasks_)
    answer = "predict" if numbers else "predict_proba"
    assert_allclose(
        getattr(divided, answer)(X), getattr(whole, answer)(X), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("n_classes", [0, 2])
@pytest.mark.parametrize("weights", [False, True])
def test_pilots_choose_the_same_from_a_sample(n_classes, weights, monkeypatch):
    monkeypatch.setattr("kinlearn.trees.extra._tuning._MOST_ROWS", 120)
    monkeypatch.setattr("kinlearn.trees.extra._tuning._TREES_OF_FEW_ROWS", 3)
    X, y, weight = problem(n_classes, weights=weights)
    X = np.vstack([X, X[:50]])  # rows that come twice
    y = np.concatenate([y, y[:50]])
    weight = None if weight is None else np.concatenate([weight, weight[:50]])
    whole, divided = fit_both(X, y, weight, ends=[60, 110], numbers=n_classes == 0)
    for name in ("min_samples_leaf_", "task_split_prob_", "max_features_", "n_cuts_"):
        assert getattr(divided, name) == getattr(whole, name)
    assert_same_forest(divided.forest_, whole.forest_)


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1.0, 1: 3.0, 2: 1.0, 3: 0.5}])
def test_class_weights_are_those_of_all_rows(class_weight):
    X, y, _ = problem(4)
    order = np.argsort(y, kind="stable")  # partitions of few classes each
    whole, divided = fit_both(
        X[order],
        y[order],
        None,
        ends=[50, 80, 140],
        numbers=False,
        class_weight=class_weight,
        criterion="gini",
        min_samples_leaf=1,
        task_split_prob=0.5,
    )
    assert_same_forest(divided.forest_, whole.forest_)


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("connected", [0, 1, 2, 3]),
        ("observed", [2, 3]),
        ({3: [1, 2, 3, 9]}, [1, 2, 3]),
    ],
)
@pytest.mark.parametrize("class_weight", [None, "balanced", {2: 3.0}])
def test_labels_that_differ_from_task_to_task(rule, expected, class_weight):
    X, y, _ = problem(4)
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    keep = (X[:, -1] != 3) | (y > 1)  # task 3 has two of the classes
    whole, divided = fit_both(
        X[keep],
        y[keep],
        weight[keep],
        ends=[90, 120],
        numbers=False,
        min_samples_leaf=1,
        task_split_prob=0.5,
        label_sets=rule,
        class_weight=class_weight,
    )
    assert [*divided.task_classes_[3]] == expected
    assert_allclose(divided.predict_proba(X), whole.predict_proba(X), rtol=1e-14)


def test_values_are_drawn_together_as_those_of_all_rows():
    X, y, weight = problem(2, weights=True)
    whole, divided = fit_both(X, y, weight, ends=[70], numbers=False, shrinkage=4.0)
    assert_array_equal(divided.forest_.values, whole.forest_.values)


def test_all_cuts_need_rows_in_one_place():
    X, y, weight = problem(2)
    with pytest.raises(ValueError, match="whose rows lie in partitions"):
        fit_both(X, y, weight, ends=[70], numbers=False, n_cuts="all")


def test_nodes_are_requested_in_portions(monkeypatch):
    monkeypatch.setattr("kinlearn.trees.extra.partitions._levels._MOST_ENTRIES", 30)
    X, y, _ = problem(2, n=200)
    whole, divided = fit_both(
        X, y, None, ends=[60], numbers=False, min_samples_leaf=1, task_split_prob=1.0
    )
    assert_same_forest(divided.forest_, whole.forest_)


@pytest.mark.parametrize("weights", [False, True])
def test_no_more_rows_come_together_than_may(weights, monkeypatch):
    most, assemble = [], LocalPartitions.assemble

    def look(self, function, jobs, *args):
        for job in jobs:
            start, end = np.sum([p.opened[:, job.nodes] for p in self.places], axis=0)
            most.append(np.sum(end - start))
        return assemble(self, function, jobs, *args)

    monkeypatch.setattr(LocalPartitions, "assemble", look)
    monkeypatch.setattr(LocalPartitions, "fraction_together", 0.5)
    X, y, weight = problem(2, n=400, weights=weights)
    params = {"min_samples_leaf": 1, "task_split_prob": 0.5}
    fit_both(X, y, weight, ends=[40, 150, 180], numbers=False, **params)
    assert len(most) > 10
    # each row comes once in each of 3 trees, unless leaves have ended before
    n_rows = np.sum(weight > 0) if weights else 400
    assert 2 * n_rows < np.sum(most) <= 3 * n_rows
    assert max(most) <= 50  # half of an average partition


def test_string_tasks_and_labels_of_single_partitions():
    X, y, _ = problem(2, n=200)
    names = np.array(["ash", "beech", "cedar", "date", "elm", "fir", "gum"], object)
    table = [
        read_partition(
            _frame(X[rows], names[X[rows, -1].astype(int)]),
            np.array(["no", "yes"])[y[rows]],
            None,
            i,
            {"task": "tree", "labels": "classes", "allow_nan": True},
        )
        for i, rows in enumerate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)])
    ]
    forest = MultiTaskExtraTreesClassifier(2, task="tree", min_samples_leaf=1)
    fit_partitions(forest, LocalPartitions(), table)
    assert [*forest.classes_] == ["no", "yes"]
    assert [*forest.tasks_] == [*names]


def _frame(X, task):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame(X[:, :-1]).rename(columns=str).assign(tree=task)


def test_partitions_that_do_not_fit_together_are_refused():
    X, y, _ = problem(2, n=100)
    options = {"task": -1, "labels": "classes", "allow_nan": True}
    with pytest.raises(ValueError, match=r"Partition 3 of X has 100 rows.*y has 99"):
        read_partition(X, y[1:], None, 3, options)
    bad = X.copy()
    bad[4, 2] = np.inf
    with pytest.raises(ValueError, match=r"In partition 2 of the data: .*infinity"):
        read_partition(bad, y, None, 2, options)
    parts = [
        read_partition(X, y, None, 0, options),
        read_partition(X[:, 1:], y, None, 1, options),
    ]
    forest = MultiTaskExtraTreesClassifier(2, task=-1)
    with pytest.raises(ValueError, match="do not have the same columns"):
        fit_partitions(forest, LocalPartitions(), parts)
    with pytest.raises(ValueError, match=r"Found no rows in the 2 partition\(s\)"):
        fit_partitions(forest, LocalPartitions(), [None, None])
    part = read_partition(X, y, np.zeros(100), 0, options)
    with pytest.raises(ValueError, match="weights of all rows are 0"):
        fit_partitions(forest, LocalPartitions(), [part])


def test_numbers_whose_squares_have_no_sum_are_refused():
    X, y, _ = problem(0)
    options = {"task": -1, "labels": "numbers", "allow_nan": True}
    rows = [read_partition(X, y * 1e200, None, 0, options)]
    model = MultiTaskExtraTreesRegressor(2, task=-1)
    with pytest.raises(ValueError, match=r"e\+200 in size.*Scale y"):
        fit_partitions(model, LocalPartitions(), rows)


@pytest.mark.parametrize("by_rows", [False, True])
@pytest.mark.parametrize("n_features", [1, 5, 21])
def test_packed_rows_are_the_rows_of_the_partitions(n_features, by_rows):
    rng = np.random.default_rng(0)
    pieces = []
    for n in (70, 2, 40):
        columns = rng.random((n_features, n), dtype=np.float32)
        rows = np.sort(rng.choice(n, n // 2, replace=False)).astype(np.int32)
        pieces.append(
            NodeRows(
                start=np.array([0, len(rows) // 3, len(rows)]),
                rows=rows,
                columns=np.asfortranarray(columns) if by_rows else columns,
                task=rng.integers(0, 9, n).astype(np.int32),
                y=rng.normal(size=n),
                weight=rng.random(len(rows)),
            )
        )
    packed = pickle.loads(pickle.dumps(BranchJob.pack(pieces)))
    for piece, other in zip(pieces, BranchJob.unpack(packed), strict=True):
        for i in range(2):
            rows = piece.rows[piece.start[i] : piece.start[i + 1]]
            found = piece.arrays(len(rows))
            other.copy(other.start[i], other.start[i + 1], found, 0)
            assert_array_equal(found["columns"], piece.columns[:, rows])
            for name in ("task", "y"):
                assert_array_equal(found[name], getattr(piece, name)[rows])
            weight = piece.weight[piece.start[i] : piece.start[i + 1]]
            assert_array_equal(found["weight"], weight)


def test_rows_have_the_same_values_in_both_layouts():
    X, y, _ = problem(2, missing=True)
    columns = np.ascontiguousarray(X.T[:-1], dtype=np.float32)
    coded = Coded(columns, X[:, -1].astype(np.int32), y.astype(np.int32), None)
    missing = np.isnan(columns).any(axis=1).astype(np.uint8)
    rows = TrainingRows.of(coded, 0, len(y), missing, 7, 2, Units())
    before = rows.columns.copy()
    rows.lay_out(by_rows=True)
    assert rows.columns.flags.f_contiguous
    assert_array_equal(rows.columns, before)
    rows.lay_out(by_rows=False)
    assert rows.columns.flags.c_contiguous
    assert_array_equal(rows.columns, before)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
@pytest.mark.parametrize("weights", [False, True])
def test_bootstrap_is_that_of_all_rows_to_the_bit(n_classes, weights, monkeypatch):
    grow_together(monkeypatch, 40)
    X, y, weight = problem(n_classes, missing=True, weights=weights)
    whole, divided = fit_both(
        X,
        y,
        None if weight is None else np.round(weight),  # whole numbers: exact sums
        ends=[0, 50, 51, 130],
        numbers=n_classes == 0,
        bootstrap=True,
        min_samples_leaf=1,
        task_split_prob=0.5,
    )
    for name, array in vars(whole.forest_).items():
        if n_classes == 0 and name in ("values", "impurity"):
            assert_allclose(
                getattr(divided.forest_, name), array, rtol=1e-9, atol=1e-12
            )
        else:
            assert_array_equal(getattr(divided.forest_, name), array, err_msg=name)


def test_a_sample_of_rows_without_weight_is_replaced_by_all_rows():
    X, y, _ = problem(2)
    weight = np.zeros(len(y))
    weight[[3, 160]] = 1.0
    y[[3, 160]] = 0, 1
    whole, divided = fit_both(
        X,
        y,
        weight,
        ends=[60],
        numbers=False,
        n_estimators=6,
        bootstrap=True,
        min_samples_leaf=1,
        task_split_prob=0.5,
    )
    for name, array in vars(whole.forest_).items():
        assert_array_equal(getattr(divided.forest_, name), array, err_msg=name)


@pytest.mark.parametrize("bootstrap", [False, True])
@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize(
    "params",
    [
        {"linear_part": True, "min_samples_leaf": 3, "task_split_prob": 0.5},
        {"task_offset": True, "min_samples_leaf": 3, "task_split_prob": 0.5},
        {"linear_part": "auto", "task_offset": "auto"},
        {"linear_part": True, "task_offset": True},
    ],
)
def test_line_and_offsets_are_those_of_all_rows(
    params, weights, bootstrap, monkeypatch
):
    # pilots see some of the rows; the others have their part in the offsets
    monkeypatch.setattr("kinlearn.trees.extra._tuning._MOST_ROWS", 120)
    monkeypatch.setattr("kinlearn.trees.extra._tuning._TREES_OF_FEW_ROWS", 3)
    X, y, weight = problem(0, missing=True, weights=weights)
    y = y + 2 * np.nan_to_num(X[:, 4]) + 3 * (X[:, -1] % 3 == 1)
    whole, divided = fit_both(
        X, y, weight, ends=[0, 50, 51, 130], numbers=True, bootstrap=bootstrap, **params
    )
    if params["linear_part" if "linear_part" in params else "task_offset"] is True:
        assert whole.linear_coef_.any() or whole.task_offsets_.any()
    assert_array_equal(divided.task_offsets_, whole.task_offsets_)
    assert_array_equal(divided.linear_coef_, whole.linear_coef_)
    assert_allclose(divided._variance_of_base, whole._variance_of_base, rtol=1e-12)
    assert_same_forest(divided.forest_, whole.forest_)
    assert_allclose(divided.predict(X), whole.predict(X), rtol=1e-9, atol=1e-12)
