"""What all generators have in common: one interface, seeds, and errors."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.utils import check_random_state

from kinlearn.datasets import (
    make_bayesnet_tasks,
    make_clustered_classification,
    make_clustered_regression,
    make_linear_classification,
    make_linear_regression,
    make_term_tasks,
    make_transfer_pair,
)
from kinlearn.tasks import task_codes

# generator, its number of tasks and of features, labels (None: regression)
GENERATORS = [
    (make_linear_classification, 3, 20, [0, 1]),
    (make_linear_regression, 3, 30, None),
    (make_bayesnet_tasks, 2, 2, [0, 1, 2, 3, 4]),
    (make_transfer_pair, 2, 5, [0, 1]),
    (make_clustered_classification, 12, 10, [0, 1]),
    (make_clustered_regression, 12, 10, None),
    (make_term_tasks, 2, 120, [0, 1]),
]
each = pytest.mark.parametrize(
    ("make", "n_tasks", "n_features", "labels"),
    GENERATORS,
    ids=[make.__name__ for make, *_ in GENERATORS],
)
every = pytest.mark.parametrize("make", [make for make, *_ in GENERATORS])


def dense(X):
    return X.toarray() if sp.issparse(X) else X


@each
def test_X_carries_the_task_in_its_last_column(make, n_tasks, n_features, labels):
    X, y = make(random_state=0)
    assert X.shape == (len(y), n_features + 1)
    assert X.dtype == np.float64
    tasks, _ = task_codes(X, -1)
    assert_array_equal(tasks, np.arange(n_tasks))
    if labels is None:
        assert y.dtype == np.float64
    else:
        assert y.dtype == np.int64
        assert_array_equal(np.unique(y), labels)


@every
def test_the_seed_decides_everything(make):
    X, y = make(random_state=7)
    X_again, y_again = make(random_state=7)
    assert_array_equal(dense(X), dense(X_again))
    assert_array_equal(y, y_again)
    X_other, _ = make(random_state=8)
    assert not np.array_equal(dense(X), dense(X_other))


@every
def test_generators_of_numpy_are_taken_as_seeds(make):
    for new in (np.random.default_rng, np.random.RandomState):
        X, _ = make(random_state=new(3))
        X_again, _ = make(random_state=new(3))
        assert_array_equal(dense(X), dense(X_again))


@every
def test_the_global_generator_is_neither_read_nor_moved(make):
    shared = check_random_state(None)  # NumPy's own, which everybody shares
    before = shared.get_state()[1].copy()
    X, _ = make(random_state=None)
    X_next, _ = make(random_state=None)
    assert_array_equal(shared.get_state()[1], before)
    assert not np.array_equal(dense(X), dense(X_next))
    shared.seed(0)
    X, _ = make(random_state=None)
    shared.seed(0)
    X_next, _ = make(random_state=None)
    assert not np.array_equal(dense(X), dense(X_next))


@each
def test_a_frame_holds_the_same_data_by_name(make, n_tasks, n_features, labels):
    X, y = make(random_state=1)
    frame, target = make(random_state=1, as_frame=True)
    assert isinstance(frame, pd.DataFrame)
    assert isinstance(target, pd.Series)
    assert frame.columns[-1] == "task"
    assert frame.shape == X.shape
    assert_array_equal(frame.iloc[:, :-1].to_numpy(), dense(X)[:, :-1])
    assert_array_equal(target.to_numpy(), y)
    _, codes = task_codes(X, -1)
    _, named = task_codes(frame, "task")
    assert_array_equal(named, codes)


@every
def test_shuffling_only_changes_the_order_of_rows(make):
    X, y, truth = make(random_state=2, return_truth=True)
    X_sorted, y_sorted, truth_sorted = make(
        random_state=2, return_truth=True, shuffle=False
    )
    X, X_sorted = dense(X), dense(X_sorted)
    assert (np.diff(X_sorted[:, -1]) >= 0).all()
    assert not (np.diff(X[:, -1]) >= 0).all()
    columns = [X, y[:, None]], [X_sorted, y_sorted[:, None]]
    by_row = {"clean_y", "pattern", "upper"} & set(truth)
    for key in by_row:
        columns[0].append(np.asarray(truth[key], dtype=float)[:, None])
        columns[1].append(np.asarray(truth_sorted[key], dtype=float)[:, None])
    left, right = (np.hstack(part) for part in columns)
    assert_array_equal(left[np.lexsort(left.T)], right[np.lexsort(right.T)])


WRONG = [
    (make_linear_classification, {"design": "d21"}, ValueError, "design must be one"),
    (make_linear_classification, {"design": [1, 2]}, ValueError, "design must be one"),
    (make_linear_classification, {"n_samples_per_task": 0}, ValueError, "at least 1"),
    (make_linear_classification, {"n_samples_per_task": 2.0}, TypeError, "whole"),
    (make_linear_classification, {"n_samples_per_task": True}, TypeError, "whole"),
    (
        make_linear_classification,
        {"n_samples_per_task": [5, 5]},
        ValueError,
        "has 2 numbers, but there are 3 tasks",
    ),
    (
        make_linear_classification,
        {"n_samples_per_task": [5, -1, 5]},
        ValueError,
        r"n_samples_per_task\[1\]",
    ),
    (make_linear_classification, {"coef": [1.0, 2.0]}, ValueError, "coef must hold"),
    (make_linear_classification, {"coef": [[np.nan]]}, ValueError, "coef must hold"),
    (make_linear_classification, {"coef": [[]]}, ValueError, "coef must hold"),
    (make_linear_classification, {"low": 1, "high": 1}, ValueError, "below high"),
    (make_linear_regression, {"noise": -1}, ValueError, "noise must be a finite"),
    (make_linear_regression, {"noise": np.nan}, ValueError, "noise must be a finite"),
    (make_linear_regression, {"offset": "1"}, TypeError, "offset must be a number"),
    (make_linear_regression, {"design": None}, ValueError, "design must be one"),
    (make_linear_regression, {"random_state": -1}, ValueError, "random_state"),
    (make_linear_regression, {"random_state": "1"}, TypeError, "random_state"),
    (make_linear_regression, {"random_state": True}, TypeError, "random_state"),
    (make_bayesnet_tasks, {"design": "DS4"}, ValueError, "'DS1', 'DS2', 'DS3'"),
    (make_bayesnet_tasks, {"n_classes": 3}, ValueError, "labels of each task"),
    (make_bayesnet_tasks, {"n_classes": []}, ValueError, "labels of each task"),
    (make_bayesnet_tasks, {"n_classes": [2, 0]}, ValueError, r"n_classes\[1\]"),
    (
        make_bayesnet_tasks,
        {"n_patterns": 2},
        ValueError,
        "n_patterns must be at least 3",
    ),
    (make_bayesnet_tasks, {"label_noise": 1.1}, ValueError, r"in \[0.0, 1.0\]"),
    (make_bayesnet_tasks, {"cut_prob": -0.1}, ValueError, "cut_prob"),
    (make_bayesnet_tasks, {"class_sep": np.inf}, ValueError, "class_sep"),
    (make_bayesnet_tasks, {"task_shift": None}, TypeError, "task_shift"),
    (make_bayesnet_tasks, {"n_features": 0}, ValueError, "n_features"),
    (make_bayesnet_tasks, {"n_samples_per_class": 1.5}, TypeError, "per_class"),
    (make_transfer_pair, {"n_source": 1}, ValueError, "n_source must be at least 2"),
    (make_transfer_pair, {"n_target": 1}, ValueError, "n_target must be at least 2"),
    (make_transfer_pair, {"imbalance_ratio": 0}, ValueError, r"in \(0, 1\]"),
    (make_transfer_pair, {"imbalance_ratio": 2}, ValueError, "imbalance_ratio"),
    (make_transfer_pair, {"source_imbalance_ratio": 0}, ValueError, "source_imb"),
    (make_transfer_pair, {"shift": -1}, ValueError, "shift"),
    (make_transfer_pair, {"shift": (1, 2, 3)}, ValueError, "one number, or two"),
    (make_transfer_pair, {"shift": (1, -2)}, ValueError, r"shift\[1\]"),
    (make_transfer_pair, {"source_label_noise": 2}, ValueError, "source_label_noise"),
    (make_transfer_pair, {"n_sources": 0}, ValueError, "n_sources"),
    (make_clustered_classification, {"n_tasks": 3}, ValueError, "leaves 1 tasks"),
    (make_clustered_classification, {"n_outliers": -1}, ValueError, "n_outliers"),
    (make_clustered_classification, {"n_clusters": 0}, ValueError, "n_clusters"),
    (make_clustered_classification, {"n_features": "3"}, TypeError, "n_features"),
    (make_clustered_regression, {"spread": -0.1}, ValueError, "spread"),
    (make_clustered_regression, {"noise": None}, TypeError, "noise"),
    (make_clustered_regression, {"n_negative": 12}, ValueError, "leaves -1 tasks"),
    (make_term_tasks, {"shared": 1.5}, ValueError, "shared"),
    (make_term_tasks, {"focus": -1}, ValueError, "focus"),
    (make_term_tasks, {"length": 0}, ValueError, "length"),
    (make_term_tasks, {"n_tasks": 0}, ValueError, "n_tasks"),
    (make_term_tasks, {"n_terms_per_class": 0}, ValueError, "n_terms_per_class"),
]


@pytest.mark.parametrize(("make", "wrong", "error", "message"), WRONG)
def test_wrong_parameters_are_named(make, wrong, error, message):
    with pytest.raises(error, match=message):
        make(**wrong)
