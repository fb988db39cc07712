"""The two-stage search, against the two searches made by hand."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC, SVR

from kinlearn import keep_task
from kinlearn.metrics import make_task_scorer
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.svm import (
    MultiTaskSVC,
    MultiTaskSVR,
    PrivilegedFeatureSelectionClassifier,
    SVMPlusClassifier,
    SVMPlusRegressor,
    tune_in_two_stages,
)
from kinlearn.tables.internal import append_rows
from tests.versions import HAS_CALLBACKS, needs_callbacks


def problem():
    rng = np.random.default_rng(0)
    x, privileged = rng.normal(size=(90, 3)), rng.normal(size=(90, 2))
    task = np.array(["a", "b", "c"])[np.arange(90) % 3]
    value = x[:, 0] + x[:, 1] * (np.arange(90) % 3 - 1) + privileged[:, 0]
    X = pd.DataFrame(np.column_stack([x, privileged]), columns=list("uvwpq"))
    return X.assign(task=task), value > 0, value


GRID = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}
SECOND = {"correction_penalty": [0.1, 10.0], "correction_gamma": [0.2, 2.0]}


def by_hand(estimator, plain, X, features, y, folds):
    first = GridSearchCV(plain, GRID, cv=folds).fit(X[features], y)
    model = estimator.set_params(**first.best_params_)
    second = GridSearchCV(model, SECOND, cv=folds).fit(X, y)
    return first, second


@pytest.mark.parametrize("columns", ["privileged", "group", "task"])
@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_the_stages_are_the_searches_made_by_hand(columns, kind):
    X, y, value = problem()
    if columns == "privileged":
        X = X.drop(columns="task")
        models = {"classes": SVMPlusClassifier, "numbers": SVMPlusRegressor}
        model = models[kind](privileged=["p", "q"])
        features = list("uvw")
    elif columns == "group":
        models = {"classes": SVMPlusClassifier, "numbers": SVMPlusRegressor}
        model = models[kind](group="task")
        features = list("uvwpq")
    else:
        models = {"classes": MultiTaskSVC, "numbers": MultiTaskSVR}
        model = models[kind](task="task")
        features = list("uvwpq")
    target = y if kind == "classes" else value
    if columns == "privileged":
        splitter = StratifiedKFold(3) if kind == "classes" else KFold(3)
    else:
        stratify = "classes" if kind == "classes" else None
        splitter = TaskStratifiedKFold(3, task="task", stratify=stratify)
    folds = list(splitter.split(X, target))
    result = tune_in_two_stages(
        model, X, target, plain_grid=GRID, correction_grid=SECOND, cv=3
    )
    plain = SVC() if kind == "classes" else SVR()
    first, second = by_hand(model, plain, X, features, target, folds)
    assert_allclose(
        result.plain_results["mean_test_score"],
        first.cv_results_["mean_test_score"],
        atol=0.02,  # two solvers, with their tolerances
    )
    assert_allclose(
        result.correction_results["mean_test_score"],
        second.cv_results_["mean_test_score"],
    )
    assert result.best_params == {**first.best_params_, **second.best_params_}
    assert_allclose(result.best_score, second.best_score_)
    assert_allclose(result.plain_score, first.best_score_, atol=0.02)
    assert result.best_estimator.get_params()["C"] == result.best_params["C"]


def test_default_grids_fit_the_kernels():
    X, y, value = problem()
    model = SVMPlusClassifier(group="task", correction_kernel="linear")
    result = tune_in_two_stages(model, X, y, cv=2)
    assert set(result.best_params) == {"C", "gamma", "correction_penalty"}
    model = MultiTaskSVR(task="task", kernel="linear")
    result = tune_in_two_stages(model, X, value, cv=2)
    assert set(result.best_params) == {"C", "epsilon", "correction_penalty"}


def test_scorers_by_task_see_the_task_in_both_stages():
    X, y, _ = problem()
    scorer = make_task_scorer("accuracy", task="task")
    result = tune_in_two_stages(
        MultiTaskSVC(task="task"), X, y, cv=2, scoring=scorer, plain_grid={"C": [1.0]}
    )
    assert 0.4 < result.plain_score <= 1


@needs_callbacks
def test_progress_is_shown_by_callbacks(capsys):
    from sklearn.callback import ProgressBar

    X, y, _ = problem()
    grids = {"plain_grid": {"C": [1.0]}, "correction_grid": SECOND}
    model = SVMPlusClassifier(group="task")
    tune_in_two_stages(model, X, y, cv=2, **grids, callbacks=[ProgressBar()])
    assert "GridSearchCV" in capsys.readouterr().out


@pytest.mark.skipif(HAS_CALLBACKS, reason="requires scikit-learn before 1.9")
def test_callbacks_that_scikit_learn_has_not_are_an_error():
    X, y, _ = problem()
    with pytest.raises(ValueError, match=r"need scikit-learn 1\.9 or newer; this is 1"):
        tune_in_two_stages(SVMPlusClassifier(group="task"), X, y, callbacks=[print])


def test_parameters_of_the_other_stage_are_told():
    X, y, _ = problem()
    model = SVMPlusClassifier(group="task")
    with pytest.raises(ValueError, match="'correction_penalty', which belongs into"):
        tune_in_two_stages(model, X, y, plain_grid={"correction_penalty": [1.0]})
    with pytest.raises(ValueError, match="'C', which belongs into plain_grid"):
        tune_in_two_stages(model, X, y, correction_grid=[{"C": [1.0]}])


def test_rows_sorted_by_task_are_dealt_out_task_by_task():
    """Ten tasks of six rows: plain folds would test tasks that training lacks."""
    rng = np.random.default_rng(0)
    x, task = rng.normal(size=(60, 2)), np.repeat(np.arange(10), 6)
    X = np.column_stack([x, task])
    grids = {"plain_grid": {"C": [1.0]}, "correction_grid": {"correction_penalty": [1]}}
    for make, y in ((MultiTaskSVC, x[:, 0] > 0), (MultiTaskSVR, x[:, 0])):
        result = tune_in_two_stages(make(task=-1), X, y, **grids)
        assert np.isfinite(result.plain_score)
        assert np.isfinite(result.best_score)


@pytest.mark.parametrize("named", [False, True])
def test_a_pipeline_is_tuned_in_its_last_step(named):
    X, y, _ = problem()
    X["u"] *= 50.0
    folds = list(TaskStratifiedKFold(3, task="task").split(X, y))
    plain, second = GRID, SECOND
    if named:  # as in scikit-learn's searches
        plain = {f"multitasksvc__{k}": v for k, v in GRID.items()}
        second = {f"multitasksvc__{k}": v for k, v in SECOND.items()}
    model = make_pipeline(
        keep_task(StandardScaler(), task="task"), MultiTaskSVC(task="task")
    )
    result = tune_in_two_stages(
        model, X, y, plain_grid=plain, correction_grid=second, cv=folds
    )
    long = {f"multitasksvc__{k}": v for k, v in result.best_params.items()}
    assert set(result.best_params) == {*GRID, *SECOND}
    best = result.best_estimator.get_params()
    assert {k: best[k] for k in long} == long
    by_hand = GridSearchCV(
        model.set_params(**{k: v for k, v in long.items() if "correction" not in k}),
        {f"multitasksvc__{k}": v for k, v in SECOND.items()},
        cv=folds,
    ).fit(X, y)
    assert_allclose(result.best_score, by_hand.best_score_)


def test_default_grids_go_by_features_as_the_last_step_sees_them():
    X, y, _ = problem()
    X["u"] *= 50.0
    model = make_pipeline(
        keep_task(StandardScaler(), task="task"), MultiTaskSVC(task="task")
    )
    result = tune_in_two_stages(
        model, X, y, cv=2, correction_grid={"correction_penalty": [1.0]}
    )
    gammas = {
        p["multitasksvc__estimator__gamma"] for p in result.plain_results["params"]
    }
    assert_allclose(sorted(gammas), [0.02, 0.2, 2.0])  # five features, variance 1


def test_other_estimators_are_refused():
    X, y, _ = problem()
    for other in (SVC(), GridSearchCV(SVC(), {})):
        with pytest.raises(
            TypeError, match=f"ends with one; got {type(other).__name__}"
        ):
            tune_in_two_stages(other, X, y)
    with pytest.raises(TypeError, match="ends with one; got SVC"):
        tune_in_two_stages(make_pipeline(StandardScaler(), SVC()), X, y)


def test_what_fails_is_told_instead_of_guessed():
    X, y, _ = problem()
    model = MultiTaskSVC(task="task", unknown_task="error")
    order = np.argsort(X["task"], kind="stable")
    X, y = X.iloc[order], y[order]
    with pytest.raises(ValueError, match="did not see in fit: 'a'"):
        tune_in_two_stages(model, X, y, cv=KFold(3), plain_grid={"C": [1.0]})
    nothing = make_scorer(lambda *_: np.nan)
    with pytest.raises(ValueError, match=r"3 scores .* for C=1.0 in split0"):
        tune_in_two_stages(model, X, y, cv=3, plain_grid={"C": [1.0]}, scoring=nothing)
    with pytest.raises(ValueError, match="cv=91 folds cannot be made of 90 rows"):
        tune_in_two_stages(model, X, y, cv=91)


FEW = {
    "plain_grid": {"C": [0.1, 10.0], "gamma": [0.1, 1.0]},
    "correction_grid": {"correction_penalty": [0.1, 10.0]},
}


@pytest.mark.parametrize("kind", ["frame", "array", "sparse"])
def test_rows_for_validation_are_a_predefined_split(kind):
    X, y, _ = problem()
    X = X.assign(task=np.arange(90) % 3)
    left, right = np.arange(60), np.arange(60, 90)
    if kind == "frame":
        split = X.iloc[left], X.iloc[right]
    else:
        X = X.to_numpy(dtype=float)
        X = sp.csr_array(X) if kind == "sparse" else X
        split = X[left], X[right]
    model = MultiTaskSVC(task=5)
    given = tune_in_two_stages(
        model, split[0], y[left], X_val=split[1], y_val=y[right], **FEW
    )
    folds = PredefinedSplit(np.where(np.arange(90) < 60, -1, 0))
    same = tune_in_two_stages(model, X, y, cv=folds, **FEW)
    assert given.best_params == same.best_params
    for name in ("plain_results", "correction_results"):
        one, two = getattr(given, name), getattr(same, name)
        assert_allclose(one["split0_test_score"], two["split0_test_score"])
    # the best one is fitted to the rows of training alone
    by_hand = MultiTaskSVC(task=5, **given.best_params).fit(split[0], y[left])
    assert_allclose(
        given.best_estimator.decision_function(split[1]),
        by_hand.decision_function(split[1]),
    )


def test_half_of_a_validation_set_is_an_error():
    X, y, _ = problem()
    model = MultiTaskSVC(task="task")
    with pytest.raises(ValueError, match="X_val is given without y_val"):
        tune_in_two_stages(model, X, y, X_val=X)
    with pytest.raises(ValueError, match="the other rows have 5"):
        tune_in_two_stages(model, X, y, X_val=X.drop(columns="u"), y_val=y)
    with pytest.raises(ValueError, match=r"X has 3 columns, the other rows have 2\. "):
        append_rows(np.zeros((2, 3)), np.zeros((2, 2)))
    with pytest.raises(ValueError, match="y holds numbers, y_val text"):
        tune_in_two_stages(model, X, y.astype(int), X_val=X, y_val=y.astype(str))
    with pytest.raises(TypeError, match=r"a table of pandas, the other .* of polars"):
        append_rows(X, pl.DataFrame({name: X[name].tolist() for name in X}))


def test_weights_for_validation_need_rows():
    X, y, _ = problem()
    with pytest.raises(ValueError, match="sample_weight_val is given without X_val"):
        tune_in_two_stages(MultiTaskSVC(task="task"), X, y, sample_weight_val=[1.0])


@pytest.mark.parametrize("make", [MultiTaskSVC, MultiTaskSVR, SVMPlusClassifier])
def test_kernels_by_task_are_tuned(make):
    X, y, value = problem()
    model = make(
        correction_kernel={"a": "linear", "b": "rbf"}, correction_gamma={"b": 2.0}
    )
    model.set_params(**{"group" if make is SVMPlusClassifier else "task": "task"})
    if make is MultiTaskSVC:
        model.set_params(label_sets={"a": [False, True]})
    y = value if make is MultiTaskSVR else y
    found = tune_in_two_stages(model, X, y, cv=2, **FEW)
    assert found.best_estimator.correction_kernel == model.correction_kernel
    one = clone(model).set_params(correction_kernel=None, correction_gamma=None)
    plain = tune_in_two_stages(one, X, y, cv=2, **FEW)
    assert found.plain_score == plain.plain_score


def test_default_grids_count_rows_by_their_weight():
    X, y, _ = problem()
    X, weight = X.drop(columns="task"), np.where(np.arange(90) < 45, 1, 3)
    X.loc[weight == 3] *= 2.0
    rows = np.repeat(np.arange(90), weight)
    fold = np.arange(90) % 2
    model = SVMPlusClassifier(privileged=["p", "q"])
    one = tune_in_two_stages(model, X, y, weight, cv=PredefinedSplit(fold))
    two = tune_in_two_stages(
        model, X.iloc[rows], y[rows], cv=PredefinedSplit(fold[rows])
    )
    for results, name in (
        ("plain_results", "param_estimator__gamma"),
        ("correction_results", "param_correction_gamma"),
    ):
        assert_allclose(
            np.array(getattr(one, results)[name], dtype=float),
            np.array(getattr(two, results)[name], dtype=float),
        )


@pytest.mark.parametrize("piped", [False, True])
def test_weights_count_rows_in_fits_and_scores(piped):
    X, y, _ = problem()
    X = X.drop(columns="task")
    weight = np.where(np.arange(90) < 45, 1, 2)
    rows = np.repeat(np.arange(90), weight)
    fold = np.arange(90) % 2
    model = SVMPlusClassifier(privileged=["p", "q"])
    if piped:
        model = make_pipeline(
            FunctionTransformer(feature_names_out="one-to-one"), model
        )
        model.set_output(transform="pandas")
    weighted = tune_in_two_stages(model, X, y, weight, cv=PredefinedSplit(fold), **FEW)
    repeated = tune_in_two_stages(
        model, X.iloc[rows], y[rows], cv=PredefinedSplit(fold[rows]), **FEW
    )
    assert weighted.best_params == repeated.best_params
    for name in ("plain_results", "correction_results"):
        one, two = getattr(weighted, name), getattr(repeated, name)
        assert_allclose(one["mean_test_score"], two["mean_test_score"], atol=0.01)
    plain = tune_in_two_stages(model, X, y, cv=PredefinedSplit(fold), **FEW)
    assert not np.allclose(
        plain.plain_results["mean_test_score"],
        weighted.plain_results["mean_test_score"],
    )
    assert_allclose(
        weighted.best_estimator.decision_function(X),
        repeated.best_estimator.decision_function(X),
        atol=0.01,
    )


@pytest.mark.parametrize("piped", [False, True])
def test_a_selector_is_tuned_with_its_machine(piped):
    X, y, _ = problem()
    X = X.drop(columns="task").to_numpy()
    selector = PrivilegedFeatureSelectionClassifier(SVMPlusClassifier(tol=1e-6), keep=1)
    model = make_pipeline(StandardScaler(), selector) if piped else selector
    folds = list(StratifiedKFold(3).split(X, y))
    result = tune_in_two_stages(
        model,
        X,
        y,
        cv=folds,
        plain_grid={"C": [1.0, 10.0], "gamma": [0.2], "n_features": [2, 4]},
        correction_grid={"correction_penalty": [0.1, 10.0]},
    )
    assert set(result.best_params) == {
        "C",
        "gamma",
        "n_features",
        "correction_penalty",
    }
    found = result.best_estimator[-1] if piped else result.best_estimator
    assert len(found.selected_) == result.best_params["n_features"]
    assert 1 in found.selected_
    assert result.best_params["C"] == found.estimator_.C
    # the plain SVM has the selected features alone
    best = int(np.argmin(result.plain_results["rank_test_score"]))
    scores = []
    for train, test in folds:
        scaler = StandardScaler() if piped else FunctionTransformer()
        here, there = scaler.fit_transform(X[train]), scaler.transform(X[test])
        chosen = clone(selector).set_params(n_features=result.best_params["n_features"])
        columns = chosen.fit(here, y[train]).selected_
        plain = SVC(C=result.best_params["C"], gamma=0.2, tol=1e-6)
        plain.fit(here[:, columns], y[train])
        scores.append(plain.score(there[:, columns], y[test]))
    assert_allclose(result.plain_results["mean_test_score"][best], np.mean(scores))


def test_default_grids_of_a_selector_and_of_a_matrix():
    X, y, value = problem()
    X = X.drop(columns="task").to_numpy()
    result = tune_in_two_stages(PrivilegedFeatureSelectionClassifier(), X, y, cv=2)
    assert set(result.best_params) == {
        "C",
        "gamma",
        "correction_penalty",
        "correction_gamma",
    }
    # no neighbours are looked for in a kernel matrix, nor grids made that are given
    K = X @ X.T
    result = tune_in_two_stages(MultiTaskSVR(kernel="precomputed"), K, value, cv=2)
    assert set(result.best_params) == {"C", "correction_penalty"}
