import sys
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import metrics as skm

from kinlearn.metrics import (
    TaskFrame,
    UndefinedScore,
    WorstTask,
    clustering_accuracy_score,
    cost_weighted_error,
    explained_variance_percent,
    f_lambda_curve,
    g_mean_score,
    rare_class_recall_score,
    sensitivity_specificity_f_score,
)
from tests.reference import scores


def problem(seed=0, n=90):
    rng = np.random.default_rng(seed)
    tasks = np.array(["north", "south", "west"])[rng.permutation(np.arange(n) % 3)]
    y_true = rng.integers(0, 2, size=n)
    y_pred = np.where(rng.random(n) < 0.7, y_true, 1 - y_true)
    return y_true, y_pred, tasks, rng.random(n)


def mean_difference(y_true, y_pred, sample_weight=None, shift=None):
    """A metric that nobody knows, with a second parameter by row."""
    shift = 0 if shift is None else shift
    return np.average(np.abs(y_true - y_pred) + shift, weights=sample_weight)


def test_by_task_and_overall_equal_picking_the_rows():
    y_true, y_pred, tasks, weight = problem()
    frame = TaskFrame(g_mean_score, y_true, y_pred, tasks=tasks, sample_weight=weight)
    expected = scores.by_task(scores.g_mean, y_true, y_pred, tasks, weight)
    assert list(frame.by_task["g_mean_score"]) == list(expected)
    assert_allclose(
        list(frame.by_task["g_mean_score"].values()), list(expected.values())
    )
    assert_allclose(
        frame.overall["g_mean_score"], scores.g_mean(y_true, y_pred, weight)
    )
    assert_array_equal(frame.n_rows, [30, 30, 30])


def test_macro_worst_and_spread():
    # accuracies 1, 0.5, 0.75
    y_true = np.zeros(12, dtype=int)
    y_pred = np.array([0, 0, 0, 0, 0, 0, 1, 1, 0, 0, 0, 1])
    tasks = np.repeat([7, 3, 5], 4)
    frame = TaskFrame(["accuracy", skm.zero_one_loss], y_true, y_pred, tasks=tasks)
    assert frame.by_task["accuracy"] == {3: 0.5, 5: 0.75, 7: 1.0}
    assert frame.macro == {"accuracy": 0.75, "zero_one_loss": 0.25}
    assert frame.worst["accuracy"] == WorstTask(3, 0.5)
    assert frame.worst["zero_one_loss"] == WorstTask(3, 0.5)
    assert frame.spread == {"accuracy": 0.5, "zero_one_loss": 0.5}
    assert frame.n_defined == {"accuracy": 3, "zero_one_loss": 3}
    assert frame.undefined == []


def test_tasks_of_different_size_make_macro_and_overall_differ():
    y_true, y_pred = np.ones(10), np.r_[np.ones(9), 0]
    frame = TaskFrame("accuracy", y_true, y_pred, tasks=[0] * 9 + [1])
    assert_allclose(frame.overall["accuracy"], 0.9)
    assert_allclose(frame.macro["accuracy"], 0.5)


@pytest.mark.parametrize(
    "auc", ["roc_auc", skm.roc_auc_score, lambda y, s: skm.roc_auc_score(y, s)]
)
def test_auc_of_one_class_is_undefined_and_listed_never_a_half(auc):
    y_true, y_score = [0, 1, 0, 1, 1, 1], [0.1, 0.9, 0.8, 0.3, 0.4, 0.6]
    tasks = ["a", "a", "b", "b", "c", "c"]
    frame = TaskFrame({"auc": auc}, y_true, y_score, tasks=tasks)
    assert_array_equal(list(frame.by_task["auc"].values()), [1, 0, np.nan])
    assert frame.n_defined == {"auc": 2}
    assert_allclose(frame.macro["auc"], 0.5)
    assert frame.worst["auc"] == WorstTask("b", 0)
    assert_allclose(frame.spread["auc"], 1)
    (undefined,) = frame.undefined
    assert (undefined.metric, undefined.task) == ("auc", "c")
    assert "class" in undefined.reason
    assert "2 of 3" in repr(frame)
    assert "undefined on 1 task: 'c'" in repr(frame)


@pytest.mark.parametrize(
    ("metric", "y_true", "y_pred"),
    [
        (skm.average_precision_score, [0, 0, 1, 0], [0.2, 0.3, 0.4, 0.1]),
        (partial(skm.f1_score, average="binary"), [0, 0, 1, 0], [0, 0, 1, 0]),
        (partial(skm.fbeta_score, beta=2), [0, 0, 1, 0], [0, 0, 1, 0]),
        (skm.d2_absolute_error_score, [0.5, 1, 2], [0.5, 1, 2]),
    ],
)
def test_what_scikit_learn_warns_of_refuses_or_makes_up_is_undefined(
    metric, y_true, y_pred
):
    tasks = [0, 0] + [1] * (len(y_true) - 2)
    if metric is skm.d2_absolute_error_score:
        tasks = [1, 1, 0]
    frame = TaskFrame({"m": metric}, y_true, y_pred, tasks=tasks)
    assert_array_equal(np.isnan(frame.values["m"]), [True, False])
    assert [u.task for u in frame.undefined] == [0]


def test_everything_undefined_is_nan_not_an_error():
    frame = TaskFrame("roc_auc", [1, 1], [0.3, 0.4], tasks=["a", "b"])
    assert np.isnan(frame.overall["roc_auc"])
    assert np.isnan(frame.macro["roc_auc"])
    assert np.isnan(frame.spread["roc_auc"])
    assert frame.worst["roc_auc"].task is None
    assert [u.task for u in frame.undefined] == [None, "a", "b"]
    assert "0 of 2" in repr(frame)


def test_tasks_with_labels_of_their_own_have_scores_though_all_rows_have_none():
    y_true = np.array(["ill", "well", "ill", "mild", "severe", "mild"])
    frame = TaskFrame(
        {"auc": "roc_auc", "f": sensitivity_specificity_f_score},
        y_true,
        ["ill", "well", "well", "mild", "severe", "mild"],
        y_score=[0.1, 0.9, 0.2, 0.3, 0.1, 0.6],
        tasks=list("aaabbb"),
    )
    assert frame.by_task["auc"] == {"a": 1.0, "b": 0.0}
    assert_allclose(list(frame.by_task["f"].values()), [2 * 0.5 / 1.5, 1.0])
    assert np.isnan(list(frame.overall.values())).all()
    assert [(u.metric, u.task) for u in frame.undefined] == [("auc", None), ("f", None)]
    assert "two classes" in frame.undefined[1].reason
    assert np.isnan(frame.intervals(20, random_state=0).overall["f"]).all()


def test_nan_of_a_users_metric_is_undefined():
    frame = TaskFrame(
        {"odd": lambda y, p: np.nan if y[0] else 1.0}, [0, 1], [0, 1], tasks=[0, 1]
    )
    assert frame.undefined == [UndefinedScore("odd", 1, "the metric gave NaN")]


def test_an_error_that_no_class_is_to_blame_for_is_raised():
    def broken(y_true, y_pred):
        raise ValueError("the metric is broken")

    frame = TaskFrame(broken, [0, 1, 0, 1], [0, 1, 0, 1], tasks=[0, 0, 1, 1])
    with pytest.raises(ValueError, match="is broken"):
        frame.by_task  # noqa: B018


def test_a_metrics_own_warning_is_given_once():
    def chatty(y_true, y_pred):
        import warnings

        warnings.warn("mind the gap", UserWarning, stacklevel=1)
        return 1.0

    frame = TaskFrame(chatty, [0, 1, 0, 1], [0, 1, 0, 1], tasks=[0, 1, 2, 3])
    with pytest.warns(UserWarning, match="mind the gap") as caught:
        frame.by_task  # noqa: B018
    assert len(caught) == 1


def test_scores_and_predictions_go_to_the_metrics_that_take_them():
    y_true, y_pred, tasks, _ = problem(1)
    y_score = np.random.default_rng(1).random(len(y_true))
    proba = np.c_[1 - y_score, y_score]
    metrics = ["accuracy", "roc_auc", skm.average_precision_score, "neg_brier_score"]
    frame = TaskFrame(metrics, y_true, y_pred, y_score=y_score, tasks=tasks)
    assert_allclose(
        list(frame.overall.values()),
        [
            skm.accuracy_score(y_true, y_pred),
            skm.roc_auc_score(y_true, y_score),
            skm.average_precision_score(y_true, y_score),
            -skm.brier_score_loss(y_true, y_score),
        ],
    )
    loss = TaskFrame("neg_log_loss", y_true, y_score=proba, tasks=tasks)
    assert_allclose(loss.overall["neg_log_loss"], -skm.log_loss(y_true, proba))


@pytest.mark.parametrize(
    ("name", "y_true", "y_pred"),
    [
        ("neg_mean_squared_error", [1.0, 2.0, 4.0, 4.0], [1.0, 3.0, 4.0, 6.0]),
        ("f1", [0, 1, 1, 1], [0, 1, 1, 0]),
        ("f1_macro", [0, 1, 1, 0], [0, 1, 1, 1]),
        ("adjusted_rand_score", [0, 1, 1, 0], [0, 1, 1, 1]),
    ],
)
def test_names_mean_what_they_mean_to_scikit_learn(name, y_true, y_pred):
    frame = TaskFrame(name, y_true, y_pred, tasks=[0, 0, 1, 1])
    if name.startswith("neg"):
        expected = -skm.mean_squared_error(y_true, y_pred)
        assert frame.worst[name] == WorstTask(1, -2.0)
    elif name == "adjusted_rand_score":
        expected = skm.adjusted_rand_score(y_true, y_pred)
    else:
        average = "macro" if name.endswith("macro") else "binary"
        expected = skm.f1_score(y_true, y_pred, average=average)
    assert_allclose(frame.overall[name], expected)


def test_a_scorer_is_taken_for_its_metric():
    scorer = skm.make_scorer(skm.fbeta_score, beta=2)
    frame = TaskFrame(scorer, [0, 1, 1, 0], [0, 1, 0, 1], tasks=[0, 0, 1, 1])
    assert frame.metrics == ["fbeta_score"]
    expected = skm.fbeta_score([0, 1, 1, 0], [0, 1, 0, 1], beta=2)
    assert_allclose(frame.overall["fbeta_score"], expected)


def test_parameters_by_row_are_split_with_the_rows():
    y_true, y_pred, tasks, weight = problem(2)
    shift = np.random.default_rng(2).random(len(y_true))
    frame = TaskFrame(
        {"d": mean_difference, "accuracy": "accuracy"},
        y_true,
        y_pred,
        tasks=tasks,
        sample_params={"d": {"sample_weight": weight, "shift": shift}},
    )
    for task, value in frame.by_task["d"].items():
        rows = tasks == task
        expected = mean_difference(
            y_true[rows], y_pred[rows], weight[rows], shift[rows]
        )
        assert_allclose(value, expected)
    assert_allclose(frame.overall["accuracy"], skm.accuracy_score(y_true, y_pred))


def test_what_is_worse_can_be_said():
    y_true, y_pred, tasks = [0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]
    metrics = {"d": mean_difference}
    assert TaskFrame(metrics, y_true, y_pred, tasks=tasks).worst["d"].task == 0
    for says in (False, {"d": False}):
        frame = TaskFrame(metrics, y_true, y_pred, tasks=tasks, greater_is_better=says)
        assert frame.worst["d"].task == 1


@pytest.mark.parametrize(
    "wrap",
    [list, pd.Series, pl.Series, lambda v: pd.Series(v).astype("category")],
    ids=["list", "pandas", "polars", "categories"],
)
def test_columns_of_any_library(wrap):
    y_true, y_pred, tasks, weight = problem()
    expected = TaskFrame(
        "accuracy", y_true, y_pred, tasks=tasks, sample_weight=weight
    ).by_task
    got = TaskFrame(
        "accuracy",
        list(y_true) if wrap is list else y_true,
        y_pred,
        tasks=wrap(tasks.tolist()),
        sample_weight=weight,
    ).by_task
    assert got == expected


def test_the_order_of_rows_does_not_matter():
    y_true, y_pred, tasks, weight = problem(3)
    mixed = np.random.default_rng(0).permutation(len(y_true))
    metrics = ["accuracy", g_mean_score, mean_difference]
    first = TaskFrame(metrics, y_true, y_pred, tasks=tasks, sample_weight=weight)
    second = TaskFrame(
        metrics,
        y_true[mixed],
        y_pred[mixed],
        tasks=tasks[mixed],
        sample_weight=weight[mixed],
    )
    for name in first.metrics:
        assert_allclose(first.values[name], second.values[name])
        assert_allclose(first.overall[name], second.overall[name])


def test_to_frame():
    y_true, y_pred, tasks, _ = problem()
    frame = TaskFrame(["accuracy", g_mean_score], y_true, y_pred, tasks=tasks)
    table = frame.to_frame()
    assert list(table.columns) == ["n_rows", "accuracy", "g_mean_score"]
    assert table.index.name == "task"
    assert table["accuracy"].to_dict() == frame.by_task["accuracy"]


def test_to_frame_says_how_to_get_pandas(monkeypatch):
    frame = TaskFrame("accuracy", [0, 1], [0, 1], tasks=[0, 1])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install 'kinlearn\[report\]'"):
        frame.to_frame()


def test_many_tasks_take_one_pass():
    # A call per task would take minutes; this takes well under a second.
    rng = np.random.default_rng(0)
    tasks = rng.integers(0, 20_000, size=200_000)
    y_true, y_pred = rng.integers(0, 2, size=(2, 200_000))
    frame = TaskFrame(["accuracy", "roc_auc"], y_true, y_pred, tasks=tasks)
    n_rows = np.bincount(tasks)
    expected = np.bincount(tasks, weights=y_true == y_pred)[n_rows > 0]
    assert_allclose(frame.values["accuracy"], expected / n_rows[n_rows > 0])


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metrics": []}, ValueError, "No metric is given"),
        ({"metrics": 7}, TypeError, "metrics must be a metric"),
        ({"metrics": [7]}, TypeError, "must be a function of y_true and y_pred"),
        ({"metrics": "accuracies"}, ValueError, "not a valid scoring value"),
        (
            {"metrics": [skm.accuracy_score, skm.accuracy_score]},
            ValueError,
            "Two metrics are named 'accuracy_score'",
        ),
        ({"tasks": [0, 1]}, ValueError, "inconsistent numbers of samples"),
        ({"tasks": [0, 1, None]}, ValueError, "'tasks' is missing in 1 of 3 rows"),
        ({"tasks": ["a", 1, 2]}, TypeError, "'tasks' mixes strings and numbers"),
        ({"y_true": [], "y_pred": [], "tasks": []}, ValueError, "no rows"),
        ({"y_pred": None}, ValueError, "'accuracy' needs y_pred"),
        ({"y_pred": [0, 1]}, ValueError, "inconsistent numbers of samples"),
        ({"y_pred": [0.1, 0.2, 0.7]}, ValueError, "Unknown label type"),
        ({"sample_weight": [1, 2]}, ValueError, "inconsistent numbers of samples"),
        ({"sample_params": {"auc": {}}}, ValueError, "sample_params must be a dict"),
        ({"sample_params": [1]}, ValueError, "sample_params must be a dict"),
        (
            {"sample_params": {"accuracy": {"shift": [1, 2, 3]}}},
            ValueError,
            "takes no shift",
        ),
        ({"greater_is_better": {"auc": True}}, ValueError, "greater_is_better names"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    given = {
        "metrics": "accuracy",
        "y_true": [0, 1, 0],
        "y_pred": [0, 1, 1],
        "tasks": ["a", "a", "b"],
    }
    with pytest.raises(error, match=message):
        TaskFrame(**{**given, **arguments})


def test_a_metric_must_give_one_number():
    frame = TaskFrame(skm.confusion_matrix, [0, 1], [0, 1], tasks=[0, 0])
    with pytest.raises(TypeError, match="a single number is needed"):
        frame.overall  # noqa: B018


ONE_CLASS_TASK = {
    "y_true": np.array([0, 1, 1, 0, 1, 1, 1]),
    "tasks": ["a", "a", "a", "a", "b", "b", "b"],
}


@pytest.mark.parametrize(
    "metric",
    [
        skm.matthews_corrcoef,
        skm.cohen_kappa_score,
        skm.balanced_accuracy_score,
        partial(skm.balanced_accuracy_score, adjusted=True),
        "balanced_accuracy",
    ],
)
@pytest.mark.parametrize("last", [[1, 1, 1], [1, 0, 1]])
def test_agreement_is_undefined_on_a_task_of_one_class(metric, last):
    y_pred = np.array([0, 1, 0, 0, *last])
    frame = TaskFrame({"score": metric}, y_pred=y_pred, **ONE_CLASS_TASK)
    function = skm.balanced_accuracy_score if isinstance(metric, str) else metric
    expected = function(ONE_CLASS_TASK["y_true"][:4], y_pred[:4])
    assert_allclose(frame.values["score"], [expected, np.nan])
    assert [(u.task, u.reason) for u in frame.undefined] == [
        ("b", "y_true has fewer than two classes")
    ]


@pytest.mark.parametrize("columns", [1, 2])
def test_log_loss_knows_the_classes_of_all_rows(columns):
    chance = np.array([0.2, 0.7, 0.6, 0.4, 0.9, 0.8, 0.5])
    y_score = chance if columns == 1 else np.c_[1 - chance, chance]
    frame = TaskFrame("neg_log_loss", y_score=y_score, **ONE_CLASS_TASK)
    right = np.where(ONE_CLASS_TASK["y_true"] == 1, chance, 1 - chance)
    expected = [np.log(right[:4]).mean(), np.log(right[4:]).mean()]
    assert_allclose(frame.values["neg_log_loss"], expected)
    assert frame.undefined == []


@pytest.mark.parametrize(
    ("metric", "setting"),
    [
        (explained_variance_percent, {"total_variance": -5}),
        (explained_variance_percent, {"total_variance": np.inf}),
        (g_mean_score, {"correction": -1}),
        (g_mean_score, {"correction": 1.5}),
        (sensitivity_specificity_f_score, {"beta": np.nan}),
        (sensitivity_specificity_f_score, {"beta": -1}),
    ],
)
def test_bad_settings_are_refused_as_in_a_direct_call(metric, setting):
    y_true, y_pred = [0, 1, 1, 0], [0, 1, 0, 0]
    (name,) = setting
    with pytest.raises(ValueError, match=f"{name} must be a finite number") as direct:
        metric(y_true, y_pred, **setting)
    frame = TaskFrame(partial(metric, **setting), y_true, y_pred, tasks=[0, 0, 1, 1])
    for attribute in ("overall", "by_task"):
        with pytest.raises(ValueError) as error:
            getattr(frame, attribute)
        assert str(error.value) == str(direct.value)


def test_metrics_that_are_none():
    with pytest.raises(
        TypeError, match=r"metrics must be a metric, a list .* got None"
    ):
        TaskFrame(None, [0, 1], [0, 1], tasks=[0, 0])


@pytest.mark.parametrize(
    "metric",
    [
        clustering_accuracy_score,
        cost_weighted_error,
        explained_variance_percent,
        f_lambda_curve,
        g_mean_score,
        rare_class_recall_score,
        sensitivity_specificity_f_score,
    ],
)
def test_no_rows(metric):
    with pytest.raises(ValueError, match="y_true has no rows"):
        metric([], [])
