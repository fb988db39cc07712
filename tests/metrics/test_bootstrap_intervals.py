import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as skm

from kinlearn.metrics import TaskFrame, TaskIntervals
from kinlearn.metrics._task_frame import _percentiles


def problem(n=(40, 400)):
    rng = np.random.default_rng(0)
    tasks = np.repeat(["a", "b"], n)
    y_true = rng.integers(0, 2, size=len(tasks))
    y_pred = np.where(rng.random(len(tasks)) < 0.8, y_true, 1 - y_true)
    return y_true, y_pred, tasks


def test_accuracy_intervals_agree_with_the_binomial_distribution():
    y_true, y_pred, tasks = problem()
    frame = TaskFrame("accuracy", y_true, y_pred, tasks=tasks)
    found = frame.intervals(4000, random_state=0)
    share = frame.by_task["accuracy"]
    n_rows = {"a": 40, "b": 400}
    variance = {t: p * (1 - p) / n_rows[t] for t, p in share.items()}
    for task, (low, high) in found.by_task["accuracy"].items():
        assert low < share[task] < high
        assert_allclose(high - low, 2 * 1.96 * variance[task] ** 0.5, rtol=0.15)
    low, high = found.macro["accuracy"]
    width = 2 * 1.96 * (sum(variance.values()) / 4) ** 0.5
    assert_allclose(high - low, width, rtol=0.15)
    low, high = found.overall["accuracy"]
    parts = [(n_rows[t] / 440) ** 2 * v for t, v in variance.items()]
    assert_allclose(high - low, 2 * 1.96 * sum(parts) ** 0.5, rtol=0.15)


def test_draws_stay_within_their_task():
    # Within each task all rows are alike, so every draw gives the same scores.
    tasks = np.repeat([0, 1], 10)
    frame = TaskFrame("accuracy", np.zeros(20), tasks, tasks=tasks)
    found = frame.intervals(50, random_state=0)
    assert found.by_task["accuracy"] == {0: (1.0, 1.0), 1: (0.0, 0.0)}
    assert found.overall["accuracy"] == found.macro["accuracy"] == (0.5, 0.5)


def test_is_decided_by_the_seed_and_nothing_else():
    y_true, y_pred, tasks = problem()
    frame = TaskFrame("accuracy", y_true, y_pred, tasks=tasks)
    np.random.seed(0)  # noqa: NPY002
    first = frame.intervals(20, random_state=3)
    np.random.seed(1)  # noqa: NPY002
    assert frame.intervals(20, random_state=3) == first
    assert frame.intervals(20, random_state=4) != first


def test_a_function_called_by_task_gets_the_same_draws():
    y_true, y_pred, tasks = problem((10, 15))
    weight = np.random.default_rng(1).random(25)

    def accuracy(y_true, y_pred, sample_weight):
        return np.average(y_true == y_pred, weights=sample_weight)

    metrics = {"fast": skm.accuracy_score, "slow": accuracy}
    frame = TaskFrame(metrics, y_true, y_pred, tasks=tasks, sample_weight=weight)
    found = frame.intervals(50, random_state=0)
    for part in (found.overall, found.macro):
        assert_allclose(part["slow"], part["fast"])
    for task in "ab":
        assert_allclose(found.by_task["slow"][task], found.by_task["fast"][task])


def test_where_the_metric_is_mostly_undefined_there_is_no_interval():
    # task a: one class; b: the only row; c: well defined
    y_true = [1, 1, 0, *[0, 1] * 20]
    y_score = np.random.default_rng(0).random(43)
    tasks = ["a", "a", "b", *["c"] * 40]
    found = TaskFrame("roc_auc", y_true, y_score, tasks=tasks).intervals(
        100, random_state=0
    )
    assert np.isnan(found.by_task["roc_auc"]["a"]).all()
    assert np.isnan(found.by_task["roc_auc"]["b"]).all()
    low, high = found.by_task["roc_auc"]["c"]
    assert 0 <= low < high <= 1
    assert found.macro["roc_auc"] == found.by_task["roc_auc"]["c"]


def test_the_only_row_of_a_task_shows_no_false_certainty():
    frame = TaskFrame("accuracy", [0, 0, 1], [0, 0, 1], tasks=[0, 1, 1])
    found = frame.intervals(10, random_state=0)
    assert np.isnan(found.by_task["accuracy"][0]).all()


@pytest.mark.parametrize("n_draws", [1, 2, 37, 100])
def test_percentiles_equal_numpys_over_the_defined_draws(n_draws):
    rng = np.random.default_rng(n_draws)
    draws = rng.normal(size=(n_draws, 30))
    draws[rng.random(draws.shape) < 0.2] = np.nan
    defined = ~np.isnan(draws)
    for column, bounds in enumerate(_percentiles(draws, 0.9)):
        if 2 * defined[:, column].sum() < n_draws:
            assert np.isnan(bounds).all()
        else:
            kept = draws[defined[:, column], column]
            assert_allclose(bounds, np.quantile(kept, [0.05, 0.95]))


def test_to_frame():
    y_true, y_pred, tasks = problem()
    found = TaskFrame("accuracy", y_true, y_pred, tasks=tasks).intervals(10)
    assert isinstance(found, TaskIntervals)
    table = found.to_frame()
    assert table.index.names == ["metric", "task"]
    assert_array_equal(table.loc["accuracy", "b"], found.by_task["accuracy"]["b"])


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"n_boot": 0}, ValueError, "n_boot == 0"),
        ({"n_boot": 2.5}, TypeError, "n_boot must be an instance of int"),
        ({"confidence": 1}, ValueError, "confidence == 1"),
        ({"confidence": 95}, ValueError, "confidence == 95"),
    ],
)
def test_bad_settings_are_refused(params, error, message):
    frame = TaskFrame("accuracy", [0, 1], [0, 1], tasks=[0, 1])
    with pytest.raises(error, match=message):
        frame.intervals(**params)
