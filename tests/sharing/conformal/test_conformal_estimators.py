"""Intervals and sets of the wrappers and of Kin: coverage, errors, files."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import skops.io
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

import kinlearn
from kinlearn import KinClassifier, KinRegressor
from kinlearn.exceptions import KinlearnWarning, UnknownTaskWarning
from kinlearn.sharing import (
    ConformalClassifier,
    ConformalRegressor,
    PerTask,
    Pooled,
    SharedPlusOwn,
)

SIZES = (4, 12, 60, 150)
QUICK = {"task": "shop", "random_state": 0, "unknown_task": "share"}


def make_tasks(seed=0, sizes=SIZES, n_test=0, classes=False):
    """Tasks of different slopes and noise, and new rows of the same."""
    rng = np.random.default_rng(seed)
    frames, targets = [], []
    for t, size in enumerate(sizes):
        n = size + n_test
        x = rng.normal(size=(n, 3))
        noise = (0.3 + t) * rng.standard_t(5, size=n)
        y = x @ (1 + 0.3 * rng.normal(size=3)) + rng.normal() + noise
        frames.append(pd.DataFrame(x, columns=["a", "b", "c"]).assign(shop=f"s{t}"))
        targets.append(np.digitize(y, [-1, 1]) if classes else y)
    X, y = pd.concat(frames, ignore_index=True), np.concatenate(targets)
    if not n_test:
        return X, y
    new = np.concatenate([np.arange(size + n_test) >= size for size in sizes])
    return X[~new], y[~new], X[new], y[new]


def models(classes):
    if classes:
        return [
            ConformalClassifier(SharedPlusOwn(LogisticRegression()), **QUICK),
            KinClassifier(families="linear", n_folds=3, **QUICK),
        ]
    return [
        ConformalRegressor(SharedPlusOwn(Ridge()), **QUICK),
        KinRegressor(families="linear", n_folds=3, **QUICK),
    ]


@pytest.mark.parametrize("which", [0, 1], ids=["wrapper", "kin"])
def test_intervals_cover_each_task_at_its_own_width(which):
    X, y, X_new, y_new = make_tasks(n_test=400, sizes=(20, 60, 150, 150))
    model = models(False)[which].fit(X, y)
    found = model.coverage(X_new, y_new, level=0.8)
    assert_allclose(found.overall, 0.8, atol=0.06)
    assert (found.coverage > 0.65).all()
    assert (np.diff(found.size) > 0).all()  # more noise, wider
    interval = model.predict_interval(X_new, 0.8)
    assert interval.shape == (len(X_new), 2)
    assert_allclose(interval.mean(axis=1), model.predict(X_new))
    wider = model.predict_interval(X_new, 0.9)
    assert (wider[:, 0] <= interval[:, 0]).all()
    assert (wider[:, 1] >= interval[:, 1]).all()


@pytest.mark.parametrize("which", [0, 1], ids=["wrapper", "kin"])
def test_sets_cover_and_keep_to_the_likeliest(which):
    X, y, X_new, y_new = make_tasks(n_test=300, sizes=(20, 60, 150, 150), classes=True)
    model = models(True)[which].fit(X, y)
    found = model.coverage(X_new, y_new, level=0.8)
    assert found.overall > 0.75
    sets = model.predict_set(X_new, 0.8)
    assert sets.dtype == bool
    assert sets.shape == (len(X_new), 3)
    best = np.searchsorted(model.classes_, model.predict(X_new))
    assert sets[np.arange(len(sets)), best].all()
    assert (sets <= model.predict_set(X_new, 0.9)).all()
    assert_allclose(found.size @ found.n_rows / len(X_new), sets.sum(axis=1).mean())


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("which", [0, 1], ids=["wrapper", "kin"])
def test_new_tasks_have_wider_intervals_or_the_whole_set(classes, which):
    X, y = make_tasks(classes=classes)
    model = models(classes)[which].fit(X, y)
    new = X.assign(shop="other")
    predict = model.predict_set if classes else model.predict_interval
    with pytest.warns(KinlearnWarning, match=r"4 task\(s\) were left out.*0\.800"):
        found = predict(new, 0.9)
    assert found.all() if classes else np.isinf(found).all()
    if not classes:  # four tasks are enough for a half
        width = np.ptp(model.predict_interval(new, 0.6), axis=1)
        assert np.isfinite(width).all()


def test_widths_of_new_tasks_are_those_of_tasks_left_out():
    X, y = make_tasks(seed=3, sizes=[30] * 12)
    y = y + 20 * X["shop"].astype("category").cat.codes.to_numpy()
    model = ConformalRegressor(Pooled(Ridge()), **QUICK).fit(X, y)
    linear = ConformalRegressor(SharedPlusOwn(Ridge()), **QUICK).fit(X, y)
    for each in (model, linear):
        known = np.ptp(each.predict_interval(X, 0.8), axis=1)
        new = np.ptp(each.predict_interval(X.assign(shop="z"), 0.8), axis=1)
        assert new.min() > known.mean()
    assert linear.coverage(level=0.8, unseen=True).mean_of_tasks > 0.6


@pytest.mark.parametrize("level", [0, 1, -0.1, 1.5, True, "0.9", None, np.nan])
def test_levels_out_of_range_are_refused(level):
    X, y = make_tasks()
    model = ConformalRegressor(Pooled(Ridge()), **QUICK).fit(X, y)
    with pytest.raises(ValueError, match="level must be a number between 0 and 1"):
        model.predict_interval(X, level)
    with pytest.raises(ValueError, match="level must be"):
        model.coverage(X, y, level=level)


def test_levels_beyond_the_rows_warn_and_hold_everything():
    X, y = make_tasks(sizes=(5, 6))
    model = ConformalRegressor(Pooled(Ridge()), **QUICK).fit(X, y)
    with pytest.warns(KinlearnWarning, match="'s0', 's1', hold everything.*0.9"):
        assert np.isinf(model.predict_interval(X, 0.99)).all()
    X, y = make_tasks(sizes=(5, 6), classes=True)
    label_sets = {"s0": [0, 1, 2], "s1": [0, 1, 2]}
    classifier = ConformalClassifier(
        Pooled(LogisticRegression()), **QUICK, label_sets=label_sets
    ).fit(X, y % 2)
    with pytest.warns(KinlearnWarning, match="the sets of 2"):
        assert classifier.predict_set(X, 0.99).all()


def test_sets_hold_no_class_that_the_task_cannot_have():
    X, y = make_tasks(sizes=(40, 40), classes=True)
    y = np.where(X["shop"] == "s0", "x", "y") + y.astype(str)
    model = ConformalClassifier(Pooled(LogisticRegression()), **QUICK).fit(X, y)
    for task, sets in zip(X["shop"], model.predict_set(X, 0.95), strict=True):
        assert set(model.classes_[sets]) <= set(model.task_classes_[task])


def test_the_estimator_gets_what_it_has_in_common():
    X, y = make_tasks()
    model = ConformalRegressor(PerTask(Ridge()), **QUICK).fit(X, y)
    assert model.estimator_.task == "shop"
    assert model.estimator.task is None
    inner = ConformalRegressor(PerTask(Ridge(), task="shop"), random_state=0).fit(X, y)
    assert_array_equal(inner.tasks_, model.tasks_)
    assert_allclose(inner.predict_interval(X), model.predict_interval(X))
    with pytest.raises(ValueError, match="task='shop', but PerTask has task='a'"):
        ConformalRegressor(PerTask(Ridge(), task="a"), task="shop").fit(X, y)
    with pytest.warns(UnknownTaskWarning) as caught:
        inner.set_params(unknown_task="warn").predict(X[:3].assign(shop="new"))
    assert len(caught) == 1


def test_estimators_of_the_wrong_kind_are_refused():
    X, y = make_tasks(classes=True)
    with pytest.raises(TypeError, match="Ridge is no classifier"):
        ConformalClassifier(Ridge()).fit(X[["a"]], y)
    with pytest.raises(TypeError, match="LogisticRegression is no regressor"):
        ConformalRegressor(LogisticRegression()).fit(X[["a"]], y)
    with pytest.raises(TypeError, match="LinearSVC has no predict_proba"):
        ConformalClassifier(LinearSVC()).fit(X[["a"]], y)


def test_estimators_without_tasks_get_the_whole_table():
    X, y = make_tasks()
    code = X.assign(shop=X["shop"].str[1:].astype(float)).to_numpy()
    booster = HistGradientBoostingRegressor(max_iter=10)
    model = ConformalRegressor(booster, task=-1, random_state=0).fit(code, y)
    assert model.estimator_.n_features_in_ == 4
    assert_array_equal(model.tasks_, [0, 1, 2, 3])
    one = ConformalRegressor(booster, random_state=0).fit(code[:, :3], y)
    assert np.isfinite(one.predict_interval(code[:, :3])).all()


def test_refusing_new_tasks_saves_their_fits():
    X, y = make_tasks()
    model = ConformalRegressor(Pooled(Ridge()), task="shop", unknown_task="error")
    model.fit(X, y)
    assert model._conformal.unseen is None
    with pytest.raises(ValueError, match="new"):
        model.predict_interval(X.assign(shop="new"))
    kin = KinRegressor(task="shop", families="linear", unknown_task="error").fit(X, y)
    assert kin._conformal.unseen is None
    one = KinRegressor(families="linear", n_folds=2).fit(X[["a", "b"]], y)
    assert np.isfinite(one.predict_interval(X[["a", "b"]])).all()


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("which", [0, 1], ids=["wrapper", "kin"])
def test_models_come_back_and_tables_of_all_kinds_agree(classes, which):
    X, y = make_tasks(classes=classes)
    model = models(classes)[which].fit(X, y)
    predict = "predict_set" if classes else "predict_interval"
    expected = getattr(model, predict)(X)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(getattr(again, predict)(X), expected)
    file = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=file)
    loaded = skops.io.loads(file, trusted=trusted)
    assert_array_equal(getattr(loaded, predict)(X), expected)
    assert_allclose(getattr(model, predict)(pl.from_pandas(X)), expected)
    polars = clone(model).fit(pl.from_pandas(X), y)
    assert_allclose(getattr(polars, predict)(pl.from_pandas(X)), expected)
    assert not hasattr(clone(model), "_conformal")


def test_models_come_back_by_our_own_files(tmp_path):
    X, y = make_tasks()
    for number, model in enumerate(models(False)):
        model.fit(X, y)
        kinlearn.save(model, tmp_path / f"{number}.kin")
        again = kinlearn.load(tmp_path / f"{number}.kin")
        assert_allclose(again.predict_interval(X), model.predict_interval(X))


def test_sparse_rows():
    X, y = make_tasks()
    dense = X.assign(shop=X["shop"].str[1:].astype(float)).to_numpy()
    options = {**QUICK, "task": -1}
    for model in (
        ConformalRegressor(SharedPlusOwn(Ridge()), **options),
        KinRegressor(families="linear", n_folds=3, **options),
    ):
        found = model.fit(sp.csr_array(dense), y).predict_interval(sp.csr_array(dense))
        assert_allclose(found, clone(model).fit(dense, y).predict_interval(dense))


def test_coverage_of_the_rows_of_fit_and_its_table():
    X, y = make_tasks(sizes=(30, 60, 90))
    model = models(False)[0].fit(X, y)
    found = model.coverage(level=0.8)
    assert_allclose(found.overall, 0.8, atol=0.05)
    assert_array_equal(found.n_rows, [30, 60, 90])
    frame = found.to_frame()
    assert list(frame.columns) == [
        "n_rows", "coverage", "low", "high", "size", "known"
    ]  # fmt: skip
    assert (np.diff(frame["coverage"]) >= 0).all()
    assert (
        (frame["low"] <= frame["coverage"]) & (frame["coverage"] <= frame["high"])
    ).all()
    assert_allclose(found.size, 2 * model._conformal.radius(0.8)[:-1])
    new = pd.concat([X[:40], X[:10].assign(shop="new")])
    mixed = model.coverage(new, np.r_[y[:40], y[:10]], level=0.6)
    assert_array_equal(mixed.tasks, ["new", "s0", "s1"])
    assert_array_equal(mixed.known, [False, True, True])
    weight = np.r_[np.ones(40), np.zeros(10)]
    lighter = model.coverage(
        new, np.r_[y[:40], y[:10]], level=0.6, sample_weight=weight
    )
    assert np.isnan(lighter.coverage[0])
    assert_allclose(lighter.mean_of_tasks, lighter.coverage[1:].mean())
    with pytest.raises(ValueError, match="both X and y"):
        model.coverage(X)


def test_models_of_older_versions_say_so():
    X, y = make_tasks()
    model = models(False)[1].fit(X, y)
    del model._conformal
    with pytest.raises(ValueError, match="Fit it again"):
        model.predict_interval(X)


def test_weights_count():
    X, y = make_tasks(sizes=(40, 40))
    weight = np.where(X["shop"] == "s0", 1.0, 0.0)
    weight[-2:] = 1.0
    model = ConformalRegressor(Pooled(Ridge()), **QUICK).fit(X, y, sample_weight=weight)
    assert model._conformal.weight.sum() == 42
    assert_array_equal(model.coverage(level=0.5).n_rows, [40, 2])


def test_two_rows_are_the_least():
    with pytest.raises(ValueError, match="n_samples=1"):
        ConformalRegressor(Ridge()).fit([[1.0]], [1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ConformalRegressor(Ridge()).fit([[1.0], [2.0]], [1.0, 2.0])


@pytest.mark.slow
def test_coverage_over_many_draws():
    """Mean coverage of seen tasks by size, and of new tasks, is near the level."""
    by_size = {4: [], 15: [], 120: []}
    new = []
    sizes = [4] * 8 + [15] * 8 + [120] * 6
    rng = np.random.default_rng(0)
    for seed in range(60):
        slopes = 1 + 0.4 * rng.normal(size=(23, 3))
        levels, noise = rng.normal(size=23), np.exp(0.5 * rng.normal(size=23))

        def draw(t, n, slopes=slopes, levels=levels, noise=noise):
            x = rng.normal(size=(n, 3))
            y = x @ slopes[t] + levels[t] + noise[t] * rng.standard_t(5, size=n)
            return np.c_[x, np.full(n, t)], y

        parts = [draw(t, n) for t, n in enumerate(sizes)]
        X, y = (np.concatenate(each) for each in zip(*parts, strict=True))
        model = ConformalRegressor(
            SharedPlusOwn(Ridge()), task=-1, random_state=seed, unknown_task="share"
        ).fit(X, y)
        for t, size in enumerate(sizes):
            by_size[size].append(model.coverage(*draw(t, 200)).coverage[0])
        new.append(model.coverage(*draw(22, 200)).coverage[0])
    for size, found in by_size.items():
        # three standard errors of the mean over draws; tasks of one draw hang together
        slack = 3 * np.std(found) / np.sqrt(60)
        assert abs(np.mean(found) - 0.9) < slack + 0.02, size
    # at least the level: 22 tasks and the new one give up to 0.9 * 23 / 22
    assert 0.9 - 3 * np.std(new) / np.sqrt(60) < np.mean(new) < 0.98


@pytest.mark.parametrize("method", ["coverage", "calibration"])
@pytest.mark.parametrize("classes", [False, True])
def test_what_does_not_fit_together_is_told(classes, method):
    X, y = make_tasks(classes=classes)
    model = models(classes)[0].fit(X, y)
    found = getattr(model, method)
    with pytest.raises(ValueError, match=f"X has {len(y)} rows, y has 5"):
        found(X, y[:5])
    with pytest.raises(ValueError, match="sample_weight is for new rows"):
        found(sample_weight=np.ones(len(y)))
    with pytest.raises(ValueError, match="both X and y"):
        found(X)
    with pytest.raises(ValueError, match="unseen=True is for the rows of fit"):
        model.coverage(X, y, unseen=True)


class Empty(Ridge):
    def predict(self, X):
        return np.where(X[:, 0] > 0, np.nan, 0.0)


class Short(Ridge):
    def predict(self, X):
        return np.zeros(3)


def test_predictions_that_are_not_finite_make_no_intervals():
    X, y = make_tasks()
    X = X[["a", "b", "c"]].to_numpy()
    with pytest.raises(ValueError, match=r"Empty predicted values .* for \d+ of \d+"):
        ConformalRegressor(Empty()).fit(X, y)
    with pytest.raises(ValueError, match=r"shape \(3,\) for \d+ rows"):
        ConformalRegressor(Short()).fit(X, y)


def test_a_task_of_text_as_a_feature_is_told():
    with pytest.raises(ValueError, match=r"no parameter `task`.*Pooled\(Ridge\(\)\)"):
        ConformalRegressor(Ridge(), task="shop").fit(*make_tasks())
