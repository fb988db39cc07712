"""What transfer refuses, or falls back to, instead of answering wrongly."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.report import WeightDriftDisplay
from kinlearn.transfer import (
    AuxiliaryOverSampler,
    TrAdaBoostClassifier,
    TrAdaBoostRegressor,
)


def _problem(n_source=60, n_target=20, n_rare=6, seed=0):
    rng = np.random.default_rng(seed)
    task = np.repeat([0, 1], [n_source, n_target])
    y = np.tile([0, 1], (n_source + n_target) // 2)
    y[n_source:] = np.arange(n_target) < n_rare
    X = np.column_stack([rng.normal(size=(len(y), 3)) + y[:, None], task])
    return X, y


def test_an_opposite_source_of_numbers_is_left_out():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(1340, 2))
    task = np.repeat([0, 1], [300, 1040])
    y = np.where(task == 0, -3.0, 3.0) * x[:, 0]
    X = np.column_stack([x, task])
    model = TrAdaBoostRegressor(task=-1, target=1, n_estimators=10, random_state=0)
    with pytest.warns(TaskFallbackWarning, match="task 1 .*boosted alone") as found:
        model.fit(X[:340], y[:340])
    assert found[0].filename == __file__
    own = TrAdaBoostRegressor(n_estimators=10, random_state=0)
    own.fit(x[300:340], y[300:340])
    assert model.score(X[340:], y[340:]) > 0.9
    assert model.score(X[340:], y[340:]) > own.score(x[340:], y[340:]) - 0.05


@pytest.mark.parametrize("n_rare", [0, 1])
def test_a_guarded_fold_may_lack_a_class(n_rare):
    X, y = _problem(n_rare=n_rare)
    model = TrAdaBoostClassifier(
        LogisticRegression(), task=-1, target=1, guard=5, n_estimators=5, random_state=0
    )
    model.fit(X, y)
    assert model.target_classes_[1].tolist() == [0, 1]
    assert n_rare or (model.predict_proba(X[60:]) > 0).all()
    assert np.isfinite(list(model.guard_errors_[1].values())).all()
    if n_rare:  # its only row is left out once, and cannot be known then
        assert model.guard_errors_[1]["alone"] >= 0.5


def test_the_kind_of_learner_is_checked():
    X, y = _problem()
    with pytest.raises(ValueError, match="DecisionTreeRegressor is no classifier"):
        TrAdaBoostClassifier(DecisionTreeRegressor(), task=-1, target=1).fit(X, y)
    with pytest.raises(ValueError, match="DecisionTreeClassifier is no regressor"):
        TrAdaBoostRegressor(DecisionTreeClassifier(), task=-1, target=1).fit(X, y)
    with pytest.raises(ValueError, match="Ridge is no classifier"):
        AuxiliaryOverSampler(Ridge(), task=-1, target=1).fit_resample(X, y)


def test_drift_of_a_source_that_is_named_target():
    pytest.importorskip("matplotlib")
    pd = pytest.importorskip("pandas")
    X, y = _problem()
    frame = pd.DataFrame(X[:, :3], columns=["a", "b", "c"])
    frame["site"] = np.where(X[:, 3] == 0, "target", "new")
    model = TrAdaBoostClassifier(task="site", target="new", n_estimators=4)
    display = WeightDriftDisplay.from_estimator(model.fit(frame, y))
    assert set(display.shares) == {"target", "target (new)"}


def test_drift_by_label_leaves_out_classes_without_weight():
    pytest.importorskip("matplotlib")
    X, y = _problem()
    y[70:75] = 2
    weight = np.where(y == 2, 0.0, 1.0)
    model = TrAdaBoostClassifier(task=-1, target=1, n_estimators=4, random_state=0)
    model.fit(X, y, weight)
    assert_array_equal(model.target_classes_[1], [0, 1])
    display = WeightDriftDisplay.from_estimator(model, by="label")
    assert set(display.shares) == {"source, 0", "source, 1", "target"}


@pytest.mark.parametrize("form", [sp.coo_matrix, sp.bsr_array, sp.dia_array])
def test_rows_are_taken_from_any_sparse_form(form):
    X, y = _problem()
    sampler = AuxiliaryOverSampler(task=-1, target=1, random_state=0)
    wanted, y_wanted = sampler.fit_resample(sp.csr_array(X), y)
    taken, y_taken = sampler.fit_resample(form(X), y)
    assert_array_equal(taken.toarray(), wanted.toarray())
    assert_array_equal(y_taken, y_wanted)


def test_how_many_rows_may_be_said_in_words_or_by_a_function():
    X, y = _problem()

    def resample(strategy):
        sampler = AuxiliaryOverSampler(
            task=-1, target=1, sampling_strategy=strategy, random_state=0
        )
        return sampler.fit_resample(X, y)[1]

    assert_array_equal(resample("not majority"), resample("auto"))
    counted = resample(lambda y_target: {1: int((y_target == 1).sum()) + 2})
    assert_array_equal(np.bincount(counted), [14, 8])


@pytest.mark.parametrize("n", [50.7, "x", float("nan")])
def test_numbers_of_rows_are_whole(n):
    X, y = _problem()
    sampler = AuxiliaryOverSampler(task=-1, target=1, sampling_strategy={1: n})
    with pytest.raises(ValueError, match="rows of class 1; it must be a whole number"):
        sampler.fit_resample(X, y)


@pytest.mark.parametrize("target", [1, None])
def test_sources_with_other_labels_are_told_of(target):
    X, y = _problem()
    labels = np.where(X[:, -1] == 0, np.where(y, "Yes", "No"), np.where(y, "yes", "no"))
    model = TrAdaBoostClassifier(task=-1, target=target, n_estimators=3)
    with pytest.warns(TaskFallbackWarning, match="No source has a class of") as found:
        model.fit(X, labels)
    assert [each.filename for each in found] == [__file__]
    told = "['no', 'yes'] (1 of 1" if target == 1 else "['No', 'Yes'] (2 of 2"
    assert told in str(found[0].message)
    assert model.source_weight_[1] == {0: 0.0}


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_weights_of_any_size_in_two_stages(scale):
    X, y = _problem()
    weight = np.where(X[:, -1] == 0, scale, 1.0)
    weight[0] = weight[-1] = 1.0
    model = TrAdaBoostRegressor(
        task=-1, target=1, n_estimators=3, two_stage=True, n_stages=3, random_state=0
    )
    assert np.isfinite(model.fit(X, 1.0 * y, weight).predict(X)).all()


def test_a_sparse_source_is_never_written_out():
    rng = np.random.default_rng(0)
    n, d = 4000, 8000
    X = sp.random_array((n, d), density=0.002, random_state=rng, format="csr")
    X.data[:] = rng.integers(1, 4, X.nnz)
    task = np.repeat([0.0, 1.0], [n - 60, 60])
    y = (np.asarray(X[:, :200].sum(axis=1)) > 1).astype(int)
    X = sp.hstack([X, sp.csr_array(task[:, None])], format="csr")
    model = TrAdaBoostClassifier(task=-1, target=1, n_estimators=2)
    tracemalloc.start()
    try:
        model.fit(X, y)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < n * d / 2  # of bytes: a byte for each cell is twice that
    dense = TrAdaBoostClassifier(task=-1, target=1, n_estimators=2)
    dense.fit(X[:, -1001:].toarray(), y)
    narrow = clone(dense).fit(X[:, -1001:], y)
    assert_array_equal(
        narrow.predict_proba(X[:, -1001:]), dense.predict_proba(X[:, -1001:].toarray())
    )
