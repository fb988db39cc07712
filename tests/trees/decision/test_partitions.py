"""Random forests grown from parts of the rows are those of all rows in one place."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._binning import bin_features, find_bins
from kinlearn._kernels._random import stream_state
from kinlearn._partitions import LocalPartitions, read_partition
from kinlearn.trees import MultiTaskRandomForestClassifier, export_text
from kinlearn.trees.decision._growth import Sampler
from kinlearn.trees.decision.partitions import fit_partitions
from tests.partitions import ENDS, read


def problem(n_classes, *, n=300, missing=False, weights=None):
    """Rows with binary, rounded and constant features, and tasks of unequal size."""
    rng = np.random.default_rng(7)
    X = rng.normal(size=(n, 7))
    X[:, 1], X[:, 2], X[:, 3] = rng.integers(0, 2, n), np.round(X[:, 2]), 1.0
    task = (rng.random(n) ** 2 * 6).astype(int)
    y = X[:, 0] + X[:, 1] * (task % 3) + 0.5 * rng.normal(size=n)
    y = np.digitize(y, np.quantile(y, np.arange(1, n_classes) / n_classes))
    y[(task == 5) & (y == 0)] = 1  # a task that lacks a class
    if missing:
        X[rng.random(X.shape) < 0.1] = np.nan
    weight = None
    if weights is not None:
        weight = rng.integers(0, 4, n) * weights
    return np.column_stack([X, task]), y, weight


def fit_both(X, y, weight, *, ends=ENDS, **params):
    params = {"n_estimators": 3, "task": -1, "random_state": 3, **params}
    whole = MultiTaskRandomForestClassifier(**params).fit(X, y, weight)
    divided = MultiTaskRandomForestClassifier(**params)
    parts = read(X, y, weight, ends, params.get("categorical_features"))
    fit_partitions(divided, LocalPartitions(), parts, trees_at_once=2)
    assert not parts  # the rows as they were read have been let go of
    return whole, divided


def assert_same_forest(found, expected):
    """The same to the bit, but for sums of entropies, which are not integers."""
    assert len(found.trees_) == len(expected.trees_)
    for tree, other in zip(found.trees_, expected.trees_, strict=True):
        for name, array in vars(other).items():
            if name == "stats":
                for column in array.dtype.names:
                    assert_allclose(
                        tree.stats[column], array[column], rtol=1e-9, atol=1e-9
                    )
            elif array is None:
                assert getattr(tree, name) is None
            else:
                assert getattr(tree, name).dtype == array.dtype
                for column in array.dtype.names or [...]:  # NaN is a threshold too
                    assert_array_equal(getattr(tree, name)[column], array[column], name)


@pytest.mark.parametrize("together", [0, 25, 10_000])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"criterion": "sum", "max_features": None, "min_samples_leaf": 1},
        {"criterion": "joint", "bootstrap": False, "purity": 0.8, "max_depth": 4},
        {"min_weight_fraction_leaf": 0.02, "min_samples_split": 10},
    ],
)
@pytest.mark.parametrize(
    "rows", [{}, {"missing": True}, {"missing": True, "weights": 0.7}]
)
def test_trees_do_not_depend_on_where_the_rows_lie(
    together, n_classes, params, rows, monkeypatch
):
    monkeypatch.setattr(
        "kinlearn.trees.decision.partitions._growth._MOST_TOGETHER", together
    )
    X, y, weight = problem(n_classes, **rows)
    whole, divided = fit_both(X, y, weight, **params)
    assert whole.trees_[0].node_count > 10
    assert_same_forest(divided, whole)
    assert_array_equal(divided.predict_proba(X), whole.predict_proba(X))
    assert_allclose(divided.feature_importances_, whole.feature_importances_)


@pytest.mark.parametrize("together", [0, 25, 10_000])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize(
    "params", [{}, {"criterion": "sum"}, {"criterion": "joint", "bootstrap": False}]
)
def test_categories_are_split_as_those_of_all_rows(
    together, n_classes, params, monkeypatch
):
    monkeypatch.setattr(
        "kinlearn.trees.decision.partitions._growth._MOST_TOGETHER", together
    )
    X, y, weight = problem(n_classes, n=400, missing=True, weights=0.7)
    rng = np.random.default_rng(0)
    X[:, 4] = rng.integers(0, 12, 400) * 3
    X[:, 5] = np.where(rng.random(400) < 0.1, np.nan, rng.integers(0, 4, 400))
    y = np.where((X[:, 4] % 2 == 1) & (rng.random(400) < 0.8), y[0], y)
    weight[X[:, 4] == 33] = 0  # a category without rows that count
    params |= {"categorical_features": [4, 5], "max_features": None}
    whole, divided = fit_both(X, y, weight, **params)
    assert len(whole.trees_[0].category_sets) > 1
    assert_same_forest(divided, whole)
    assert_array_equal(divided.is_categorical_, whole.is_categorical_)
    strange = X.copy()
    strange[:, 4] += 1
    for rows in (X, strange):
        assert_array_equal(divided.predict_proba(rows), whole.predict_proba(rows))
    assert export_text(divided) == export_text(whole)


def test_codes_of_categories_are_checked_in_each_partition():
    X, y, _ = problem(2, n=100)
    X[70, 2] = 0.5
    with pytest.raises(ValueError, match=r"(?s)In partition 1 .* holds 0.5 in row 20"):
        read(np.abs(X), y, None, [50], [1, 2])


def test_class_weights_are_those_of_all_rows():
    X, y, weight = problem(4, weights=0.3)
    order = np.argsort(y, kind="stable")  # parts of few classes each
    X, y, weight = X[order], y[order], weight[order]
    for class_weight in ("balanced", {0: 1.0, 1: 3.3, 2: 0.0, 3: 0.5}):
        for given in (None, weight):
            whole, divided = fit_both(
                X, y, given, class_weight=class_weight, n_estimators=1
            )
            assert_same_forest(divided, whole)
            assert_array_equal(divided.predict_proba(X), whole.predict_proba(X))


def test_values_are_drawn_together_as_those_of_all_rows():
    X, y, weight = problem(3, weights=1.0)
    whole, divided = fit_both(X, y, weight, shrinkage=5.0)
    assert_array_equal(divided.predict_proba(X), whole.predict_proba(X))
    plain, _ = fit_both(X, y, weight)
    assert not np.allclose(plain.predict_proba(X), whole.predict_proba(X))


def test_sums_are_asked_for_in_portions(monkeypatch):
    monkeypatch.setattr("kinlearn.trees.decision.partitions._growth._MOST_TOGETHER", 0)
    X, y, _ = problem(2)
    asked, ask = [], LocalPartitions.statistics
    monkeypatch.setattr(
        LocalPartitions,
        "statistics",
        lambda self, q: asked.append(q.start[-1]) or ask(self, q),
    )
    _, expected = fit_both(X, y, None)
    n_rounds = len(asked)
    monkeypatch.setattr("kinlearn.trees.decision.partitions._growth._MOST_SUMS", 300)
    _, found = fit_both(X, y, None)
    assert len(asked) - n_rounds > n_rounds
    # one feature of the root at a time, after the first question
    assert asked[0] == asked[n_rounds] > 1
    assert asked[1] > asked[n_rounds + 1] == 1
    assert_same_forest(found, expected)


def test_no_more_rows_come_together_than_may(monkeypatch):
    X, y, _ = problem(2)
    most, assemble = [], LocalPartitions.assemble

    def look(self, function, jobs, *args):
        for job in jobs:
            start, end = np.sum([p.opened[:, job.nodes] for p in self.places], axis=0)
            most.append(np.sum(end - start))
        return assemble(self, function, jobs, *args)

    monkeypatch.setattr(LocalPartitions, "assemble", look)
    fit_both(X, y, None, ends=[40, 100, 170, 200])  # 60 rows in an average part
    assert len(most) > 5
    assert max(most) <= 60


class Columns:
    """What `find_bins` asks of a part."""

    def __init__(self, X, weight):
        self.X, self.weight = X, weight

    def feature(self, number):
        if self.weight is None:
            return self.X[:, number], None
        there = self.weight > 0
        return self.X[there, number], self.weight[there]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("most", [255, 4096])
def test_bins_of_parts_are_those_of_all_rows(dtype, weighted, most, monkeypatch):
    monkeypatch.setattr("kinlearn._binning._partitions._MOST_VALUES", most)
    monkeypatch.setattr(
        "kinlearn._binning._partitions._FEW_FEATURES", 1
    )  # several lots
    rng = np.random.default_rng(0)
    n = 2000
    X = np.column_stack(
        [
            rng.normal(size=n),
            1e-300 * rng.normal(size=n) if dtype == np.float64 else rng.random(n),
            np.round(rng.normal(size=n) * 100),  # more than 255 values, with ties
            rng.integers(-3, 4, n),
            np.where(rng.random(n) < 0.9, 0.0, rng.normal(size=n)),  # most are 0
            np.where(rng.random(n) < 0.5, -0.0, 0.0),
            np.full(n, np.nan),
        ]
    ).astype(dtype)
    X[rng.random(X.shape) < 0.05] = np.nan
    weight = rng.integers(0, 5, n) if weighted else None
    expected, _ = bin_features(X, weight)
    parts = [
        Columns(X[rows], None if weight is None else weight[rows])
        for rows in np.split(np.arange(n), [3, 800, 800, 801])
    ]
    found = find_bins(LocalPartitions(), parts, X.shape[1], np.dtype(dtype))
    assert_array_equal(found.indptr, expected.indptr)
    assert_array_equal(found.edges, expected.edges)
    assert [*found.n_bins[:2]] == [255, 255]


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_of_parts_are_those_of_all_rows(weighted, monkeypatch):
    monkeypatch.setattr("kinlearn.trees.decision._growth._PORTION", 37)
    X, y, weight = problem(2, weights=1.0 if weighted else None)
    forest = MultiTaskRandomForestClassifier(2, task=-1, random_state=0)
    engine = LocalPartitions()
    order = np.argsort(X[:, -1] == 2, kind="stable")  # parts without some tasks
    X, y = X[order], y[order]
    weight = None if weight is None else weight[order]
    fit_partitions(forest, engine, read(X, y, weight, [90, 200, 290]))
    counts = np.concatenate([places.counts for places in engine.places], axis=1)
    whole = np.ones(len(y)) if weight is None else weight
    task = X[:, -1].astype(np.int32)
    sampler = Sampler(task, whole, np.bincount(task[whole > 0]))
    for tree, found in enumerate(counts):
        seed = stream_state(forest._seed, tree)
        assert_array_equal(found, sampler.counts(seed))


def test_string_tasks_and_labels_of_single_parts():
    pd = pytest.importorskip("pandas")
    X, y, _ = problem(2)
    names = np.array(["ash", "beech", "cedar", "date", "elm", "fir"], object)
    frame = pd.DataFrame(X[:, :-1]).rename(columns=str)
    frame["tree"] = names[X[:, -1].astype(int)]
    label = np.array(["no", "yes"])[y]
    order = np.argsort(y, kind="stable")  # a part for each label
    options = {"task": "tree", "labels": "classes", "allow_nan": True}
    parts = [
        read_partition(frame.iloc[r], label[r], None, i, options, narrow=False)
        for i, r in enumerate(np.split(order, [int(np.sum(y == 0))]))
    ]
    for rule, of_fir in [
        ("connected", ["no", "yes"]),
        ("observed", ["yes"]),
        ({"fir": ["yes", "never"]}, ["yes"]),
    ]:
        params = {"n_estimators": 2, "task": "tree", "random_state": 0}
        divided = MultiTaskRandomForestClassifier(**params, label_sets=rule)
        fit_partitions(divided, LocalPartitions(), list(parts))
        whole = MultiTaskRandomForestClassifier(**params, label_sets=rule)
        assert_same_forest(divided, whole.fit(frame.iloc[order], label[order]))
        assert [*divided.tasks_] == [*names]
        assert [*divided.task_classes_["fir"]] == of_fir
        assert_array_equal(divided.predict_proba(frame), whole.predict_proba(frame))


def test_weights_that_leave_nothing_are_refused():
    X, y, _ = problem(2, n=100)
    forest = MultiTaskRandomForestClassifier(2, task=-1)
    with pytest.raises(ValueError, match="weights of all rows are 0"):
        fit_partitions(forest, LocalPartitions(), read(X, y, np.zeros(100), [50]))
    weight = (X[:, -1] != 2).astype(float)
    with pytest.raises(
        ValueError, match=r"Task 2 has no row of positive weight \(1 of"
    ):
        fit_partitions(forest, LocalPartitions(), read(X, y, weight, [50]))
    forest.set_params(class_weight={7: 1.0})
    with pytest.raises(ValueError, match=r"class_weight names classes that are not"):
        fit_partitions(forest, LocalPartitions(), read(X, y, None, [50]))
