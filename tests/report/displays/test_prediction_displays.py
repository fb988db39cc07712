"""Pictures of coverage and calibration by task."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn.report import CalibrationDisplay, CoverageDisplay
from kinlearn.sharing import ConformalClassifier, ConformalRegressor, Pooled


@pytest.fixture(autouse=True)
def _no_figure_is_left():
    yield
    plt.close("all")


def make_tasks(seed=0, n=40, n_tasks=3):
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), n)
    x = rng.normal(size=len(task))
    X = pd.DataFrame({"x": x, "shop": [f"<b>{t}" for t in task]})
    return X, x + 3 * (task == 2) + rng.normal(size=len(task))


def regressor(X, y):
    return ConformalRegressor(Pooled(Ridge()), task="shop", random_state=0).fit(X, y)


def test_coverage_is_drawn_least_first():
    X, y = make_tasks()
    model = regressor(X, y)
    display = CoverageDisplay.from_estimator(model, level=0.8)
    found = model.coverage(level=0.8)
    assert display.tasks_ == found.to_frame().index.tolist()
    drawn = display.ax_.get_lines()[0].get_xdata()
    assert_allclose(drawn, np.sort(found.coverage))
    assert "level 0.8" in display.ax_.get_xlabel()
    few = CoverageDisplay(found).plot(max_tasks=2)
    assert len(few.tasks_) == 2
    unseen = CoverageDisplay.from_estimator(model, level=0.5, unseen=True)
    assert_array_equal(unseen.coverage.n_rows, 40)
    with pytest.warns(UserWarning, match="new"):
        new = CoverageDisplay.from_estimator(model, X.assign(shop="new"), y, level=0.5)
    assert new.ax_.get_yticklabels()[0].get_text() == "new (new)"


def test_calibration_marks_tasks_that_are_off():
    X, y = make_tasks()
    display = CalibrationDisplay.from_estimator(regressor(X, y))
    assert "<b>2" in display.off_  # the pooled model does not know its level
    found = display.calibration
    rows = X["shop"] == "<b>2"
    assert_allclose(found.observed[2], y[rows].mean())
    assert found.predicted[2] < found.low[2]
    frame = found.to_frame()
    assert frame.index[0] == "<b>2"


def test_calibration_of_classes():
    X, y = make_tasks()
    labels = np.where(y > 1, "yes", "no")
    model = ConformalClassifier(
        Pooled(LogisticRegression()), task="shop", random_state=0
    ).fit(X, labels)
    found = model.calibration()
    assert found.what == "probability of yes"
    other = model.calibration(label="no")
    assert_allclose(found.predicted + other.predicted, 1.0)
    assert_allclose(found.observed + other.observed, 1.0)
    new = model.calibration(X, labels)
    rows = (X["shop"] == "<b>1").to_numpy()
    assert_allclose(new.predicted[1], model.predict_proba(X)[rows, 1].mean())
    assert ((found.low >= 0) & (found.high <= 1)).all()
    display = CalibrationDisplay.from_estimator(model, X, labels, label="no")
    assert display.ax_.get_xlabel() == "mean probability of no"
    with pytest.raises(
        ValueError, match="label='maybe' is no class; found 'no', 'yes'"
    ):
        model.calibration(label="maybe")
    three = model.fit(X, np.digitize(y, [0, 1])).calibration()
    assert three.what == "probability of the likeliest class"
    with pytest.raises(ValueError, match="both X and y"):
        model.calibration(X)


def test_other_estimators_are_refused():
    with pytest.raises(TypeError, match=r"Ridge has no coverage\(\)"):
        CoverageDisplay.from_estimator(Ridge())
    with pytest.raises(TypeError, match=r"Ridge has no calibration\(\)"):
        CalibrationDisplay.from_estimator(Ridge())


def test_hostile_names_are_drawn_as_they_are_written():
    X, y = make_tasks()
    names = {"<b>0": r"$\frac{$", "<b>1": "red \x1b[31m", "<b>2": "left \u202e tfel"}
    X["shop"] = X["shop"].map(names)
    model = regressor(X, y)
    for display in (
        CoverageDisplay.from_estimator(model),
        CalibrationDisplay.from_estimator(model),
    ):
        display.figure_.draw_without_rendering()  # would read $ as a formula
    drawn = CoverageDisplay.from_estimator(model).ax_.get_yticklabels()
    labels = {label.get_text() for label in drawn}
    assert labels == {r"$\frac{$", r"red \x1b[31m", r"left \u202e tfel"}


def test_both_axes_of_the_calibration_have_one_scale():
    X, y = make_tasks()
    ax = CalibrationDisplay.from_estimator(regressor(X, y)).ax_
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_aspect() == 1.0
