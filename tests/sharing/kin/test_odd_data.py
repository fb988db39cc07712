"""The Kin estimators on data that are odd but not wrong; all warnings are errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.exceptions import KinlearnWarning
from kinlearn.sharing.kin._features import Standardisation

QUICK = {"n_estimators": 5, "n_folds": 2, "random_state": 0}
SIZES = (30, 20, 15, 12)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), SIZES)
    X = rng.normal(size=(len(task), 3))
    return X, task, X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=len(task))


def fit(X, y, *, classes, families=("linear", "trees"), task=-1, **options):
    estimator = KinClassifier if classes else KinRegressor
    model = estimator(task=task, families=families, **QUICK)
    return model.fit(X, y, **options)


def check(model, X):
    """Finite numbers, or probabilities that sum to 1."""
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1)
        assert (proba >= 0).all()
    else:
        assert np.isfinite(model.predict(X)).all()


@pytest.mark.parametrize("classes", [True, False])
def test_tasks_of_one_row(rows, classes):
    X, task, y = rows
    y = (y > 0).astype(int) if classes else y
    some = np.where(np.arange(len(task)) < 70, task, 10 + np.arange(len(task)))
    check(fit(with_task(X, some), y, classes=classes), with_task(X, some))
    each = np.arange(len(task))
    check(fit(with_task(X, each), y, classes=classes), with_task(X, each))


def test_tasks_of_one_class(rows):
    X, task, y = rows
    one = np.where(task == 1, 1, y > 0)
    model = fit(with_task(X, task), one, classes=True)
    check(model, with_task(X, task))
    assert_array_equal(model.predict(with_task(X, task))[task == 1], 1)
    all_one = fit(with_task(X, task), task % 2, classes=True)
    assert_array_equal(all_one.predict(with_task(X, task)), task % 2)
    same = fit(with_task(X, task), np.ones(len(y)), classes=True)
    assert_array_equal(same.predict_proba(with_task(X, task)), 1)


def test_constant_numbers(rows):
    X, task, y = rows
    X = with_task(X, task)
    model = fit(X, np.full(len(y), 3.0), classes=False)
    assert_allclose(model.predict(X), 3)
    assert_allclose(model.weights_.sum(axis=1), 1)
    check(fit(X, np.where(task == 2, 5.0, y), classes=False), X)


@pytest.mark.parametrize("size", [1e-200, 1e-9, 1e30])
def test_features_of_any_size(rows, size):
    X, task, y = rows
    plain = fit(with_task(X, task), y, classes=False, families=["linear"])
    X = with_task(size * X, task)
    model = fit(X, y, classes=False, families=["linear"])
    check(model, X)
    # folds follow the values, so weights differ a little
    assert model.seen_score_ > plain.seen_score_ - 0.1


def test_features_too_large_for_trees_say_so(rows):
    X, task, y = rows
    X = with_task(1e200 * X, task)
    check(fit(X, y, classes=False, families=["linear"]), X)
    with pytest.raises(ValueError, match="Scale the feature"):
        fit(X, y, classes=False)


def test_standardisation_of_any_size():
    x = np.array([1.0, 2.0, 4.0, 5.0])
    for size in (1e-300, 1.0, 3e307):
        scale = Standardisation.of(size * x[:, None], np.ones(4))
        assert_allclose(scale.apply(size * x[:, None])[:, 0], (x - 3) / np.sqrt(2.5))


@pytest.mark.parametrize("classes", [True, False])
def test_a_task_whose_rows_have_no_weight(rows, classes):
    X, task, y = rows
    y = (y > 0).astype(int) if classes else y
    weight = np.random.default_rng(0).random(len(y))
    weight[task == 3] = 0
    X = with_task(X, task)
    model = fit(X, y, classes=classes, sample_weight=weight)
    check(model, X)
    assert_allclose(model.weights_[3], model.weights_[3].clip(0))
    assert np.isnan(model.unseen_task_scores_[3])
    assert np.isfinite(model.unseen_score_)


@pytest.mark.parametrize("classes", [True, False])
def test_weights_that_sum_to_little_are_said_once(rows, classes):
    X, task, y = rows
    y = (y > 0).astype(int) if classes else y
    with pytest.warns(KinlearnWarning, match="scale the weights") as caught:
        model = fit(
            with_task(X, task), y, classes=classes, sample_weight=np.full(len(y), 1e-6)
        )
    assert len(caught) == 1
    check(model, with_task(X, task))


def test_labels_of_any_type(rows):
    X, task, y = rows
    X, c = with_task(X, task), (y > 0).astype(int)
    plain = fit(X, c, classes=True, families=["linear"]).predict(X)
    for labels in (["no", "yes"], [False, True], [-1.0, 2.0]):
        labels = np.array(labels)
        model = fit(X.tolist(), labels[c].tolist(), classes=True, families=["linear"])
        assert_array_equal(model.predict(X), labels[plain])


def test_layout_of_arrays_does_not_matter(rows):
    X, task, y = rows
    X = with_task(X, task)
    wide = np.zeros((2 * len(X), 8))
    wide[::2, ::2] = X
    frozen = X.copy()
    frozen.flags.writeable = False
    expected = fit(X, y, classes=False).predict(X)
    for other in (np.asfortranarray(X), wide[::2, ::2], frozen):
        assert_allclose(fit(other, y, classes=False).predict(other), expected)


def test_frames_of_both_kinds_agree(rows):
    X, task, y = rows
    site = np.array(list("nesw"))[task]
    columns = {name: X[:, j] for j, name in enumerate("abc")}
    frame = pd.DataFrame({**columns, "site": pd.Categorical(site)})
    other = pl.DataFrame({**columns, "site": site.tolist()})
    one = fit(frame, pd.Series(y), classes=False, task="site")
    two = fit(other, pl.Series(y), classes=False, task="site")
    assert_allclose(one.predict(frame), two.predict(other))
    assert one.sharing_.keys() == two.sharing_.keys() == set("nesw")


@pytest.mark.parametrize("classes", [True, False])
def test_equal_rows_of_different_targets(rows, classes):
    X, task, y = rows
    y = (y > 0).astype(int) if classes else y
    X = with_task(0 * X, task)
    check(fit(X, y, classes=classes), X)


def test_models_are_asked_only_about_rows_that_they_count_for(rows):
    """Prediction costs what its parts cost."""
    X, task, y = rows
    X = with_task(X, task)
    model = fit(X, y, classes=False)
    asked = []

    class Counting:
        def __init__(self, inner):
            self.inner = inner

        def predict(self, rows):
            asked.append(len(rows))
            return self.inner.predict(rows)

    expected = model.predict(X)
    model.models_ = [m if m is None else Counting(m) for m in model.models_]
    assert_array_equal(model.predict(X), expected)
    used = [k for k, m in enumerate(model.models_) if m is not None]
    counts = [np.count_nonzero(model.weights_[task, k]) for k in used]
    assert asked == [n for n in counts if n]


@pytest.mark.parametrize("families", ["boosting", ["linear", "trees"]])
def test_columns_that_some_or_all_tasks_never_measure(families):
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(3), 200)
    X = rng.standard_normal((600, 4))
    y = X[:, 0] + 0.5 * rng.standard_normal(600)
    X[task == 1, 1] = np.nan
    X[:, 2] = np.nan
    X[1:, 3] = np.nan
    rows = with_task(X, task)
    model = KinRegressor(task=-1, families=families, **QUICK)
    answers = model.fit(rows, y).predict(rows)
    assert np.isfinite(answers).all()
    assert model.score(rows, y) > 0.5
