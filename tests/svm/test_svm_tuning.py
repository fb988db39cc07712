"""The two-stage search, against the two searches made by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.callback import ProgressBar
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.svm import SVC, SVR

from kinlearn.metrics import make_task_scorer
from kinlearn.svm import (
    MultiTaskSVC,
    MultiTaskSVR,
    SVMPlusClassifier,
    SVMPlusRegressor,
    tune_in_two_stages,
)


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
    splitter = StratifiedKFold(3) if kind == "classes" else KFold(3)
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


def test_progress_is_shown_by_callbacks(capsys):
    X, y, _ = problem()
    grids = {"plain_grid": {"C": [1.0]}, "correction_grid": SECOND}
    model = SVMPlusClassifier(group="task")
    tune_in_two_stages(model, X, y, cv=2, **grids, callbacks=[ProgressBar()])
    assert "GridSearchCV" in capsys.readouterr().out


def test_parameters_of_the_other_stage_are_told():
    X, y, _ = problem()
    model = SVMPlusClassifier(group="task")
    with pytest.raises(ValueError, match="'correction_penalty', which belongs into"):
        tune_in_two_stages(model, X, y, plain_grid={"correction_penalty": [1.0]})
    with pytest.raises(ValueError, match="'C', which belongs into plain_grid"):
        tune_in_two_stages(model, X, y, correction_grid=[{"C": [1.0]}])
