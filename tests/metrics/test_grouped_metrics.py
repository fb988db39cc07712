"""Metrics for all tasks in one go equal the same functions called task by task."""

import warnings
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import metrics as skm

from kinlearn.metrics import (
    TaskFrame,
    cost_weighted_error,
    explained_variance_percent,
    g_mean_score,
    rare_class_recall_score,
    sensitivity_specificity_f_score,
)
from kinlearn.metrics._evaluate import GROUPED, CallEvaluator, GroupedEvaluator

BINARY = [
    g_mean_score,
    partial(g_mean_score, correction=0.05),
    sensitivity_specificity_f_score,
    partial(sensitivity_specificity_f_score, beta=3, pos_label=0),
    rare_class_recall_score,
    partial(rare_class_recall_score, label=1),
    partial(rare_class_recall_score, label=9),
    cost_weighted_error,
    partial(cost_weighted_error, cost_fp=0, cost_fn=2, pos_label=1),
    partial(cost_weighted_error, cost_fp=3, pos_label=0, normalize=False),
    partial(cost_weighted_error, cost_matrix=[[0, 2], [1, 0]], labels=[1, 0]),
    skm.accuracy_score,
    skm.zero_one_loss,
    skm.balanced_accuracy_score,
    skm.precision_score,
    skm.recall_score,
    skm.f1_score,
    partial(skm.f1_score, pos_label=0),
    partial(skm.precision_score, average="binary"),
]
MANY_CLASSES = [
    g_mean_score,
    rare_class_recall_score,
    skm.accuracy_score,
    skm.zero_one_loss,
    skm.balanced_accuracy_score,
]
NUMBERS = [
    explained_variance_percent,
    partial(explained_variance_percent, total_variance=2.0),
    skm.mean_squared_error,
    skm.root_mean_squared_error,
    skm.mean_absolute_error,
    skm.r2_score,
]


def both_ways(metric, y_true, y_pred, tasks, weight):
    """By-task and overall values in one go, and with one call for each task."""
    params = {} if weight is None else {"sample_weight": weight}
    fast = TaskFrame({"m": metric}, y_true, y_pred, tasks=tasks, **params)
    assert isinstance(fast._evaluators["m"], GroupedEvaluator)

    def hidden(y_true, y_pred, **params):
        if metric is skm.balanced_accuracy_score and len(np.unique(y_true)) < 2:
            return np.nan  # where scikit-learn makes up a value
        return metric(y_true, y_pred, **params)

    slow = TaskFrame({"m": hidden}, y_true, y_pred, tasks=tasks, **params)
    assert isinstance(slow._evaluators["m"], CallEvaluator)
    with warnings.catch_warnings():
        # of confusion matrices with one class
        warnings.simplefilter("ignore", UserWarning)
        slow.by_task, slow.overall  # noqa: B018
    return fast, slow


def tasks_of(rng, n):
    return rng.permutation(np.r_[np.arange(12), rng.integers(0, 12, size=n - 12)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("metric", BINARY)
def test_binary(metric, weighted, seed):
    rng = np.random.default_rng(seed)
    y_true, y_pred = rng.integers(0, 2, size=(2, 60))
    weight = rng.integers(1, 4, size=60).astype(float) if weighted else None
    fast, slow = both_ways(metric, y_true, y_pred, tasks_of(rng, 60), weight)
    assert_allclose(fast.values["m"], slow.values["m"], atol=1e-12)
    assert_allclose(fast.overall["m"], slow.overall["m"], atol=1e-12)
    assert [u.task for u in fast.undefined] == [u.task for u in slow.undefined]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", MANY_CLASSES)
def test_many_classes(metric, seed):
    rng = np.random.default_rng(seed)
    y_true, y_pred = np.array(list("abcd"))[rng.integers(0, 4, size=(2, 60))]
    weight = rng.random(60)
    fast, slow = both_ways(metric, y_true, y_pred, tasks_of(rng, 60), weight)
    assert_allclose(fast.values["m"], slow.values["m"], atol=1e-12)
    assert_allclose(fast.overall["m"], slow.overall["m"], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("metric", NUMBERS)
def test_numbers(metric, seed):
    rng = np.random.default_rng(seed)
    tasks = np.arange(60) % 12  # no task of one row, whose R2 scikit-learn makes up
    y_true = 5 * rng.normal(size=12)[tasks] + rng.normal(size=60)
    y_pred = y_true + rng.normal(size=60)
    fast, slow = both_ways(metric, y_true, y_pred, tasks, rng.random(60))
    assert_allclose(fast.values["m"], slow.values["m"])
    assert_allclose(fast.overall["m"], slow.overall["m"])


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("weighted", [False, True])
def test_auc_with_ties(weighted, seed):
    rng = np.random.default_rng(seed)
    y_true = rng.integers(0, 2, size=80)
    y_score = np.round(rng.random(80), 1)
    weight = rng.random(80) if weighted else None
    fast, slow = both_ways(
        skm.roc_auc_score, y_true, y_score, tasks_of(rng, 80), weight
    )
    assert_allclose(fast.values["m"], slow.values["m"], atol=1e-12)
    assert_allclose(fast.overall["m"], slow.overall["m"])


def test_constant_truth_has_no_r2_though_scikit_learn_gives_one():
    y_true, y_pred, tasks = [3.0, 3.0, 1.0, 2.0], [3.0, 3.0, 1.0, 2.0], list("aabb")
    frame = TaskFrame("r2", y_true, y_pred, tasks=tasks)
    assert skm.r2_score(y_true[:2], y_pred[:2]) == 1.0
    assert np.isnan(frame.by_task["r2"]["a"])
    assert "no variance" in frame.undefined[0].reason


def test_every_grouped_metric_is_tested_here():
    tested = {getattr(m, "func", m) for m in BINARY + MANY_CLASSES + NUMBERS}
    assert tested | {skm.roc_auc_score} == set(GROUPED)


@pytest.mark.parametrize(
    ("metric", "y_pred"),
    [
        (partial(skm.accuracy_score, normalize=False), np.array([0, 1, 1, 0])),
        (partial(skm.f1_score, average="macro"), np.array([0, 1, 1, 0])),
        (partial(skm.roc_auc_score, max_fpr=0.5), np.array([0.2, 0.8, 0.3, 0.4])),
    ],
)
def test_settings_that_are_not_known_are_left_to_the_function(metric, y_pred):
    y_true = np.array([0, 1, 0, 1])
    frame = TaskFrame(metric, y_true, y_pred, tasks=[0, 0, 1, 1])
    assert isinstance(next(iter(frame._evaluators.values())), CallEvaluator)
    expected = [metric(y_true[:2], y_pred[:2]), metric(y_true[2:], y_pred[2:])]
    assert_allclose(next(iter(frame.values.values())), expected)
