"""A common part and one per task, against the same model written by hand."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge

from kinlearn import with_task
from kinlearn.sharing import PerTask, Pooled, SharedPlusOwn

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
TASK = RNG.integers(0, 4, size=150)
COEF = np.array([1.0, 2.0, 3.0]) + RNG.normal(size=(4, 3))
Y = (X * COEF[TASK]).sum(axis=1) + TASK + RNG.normal(size=150)
C = np.where(np.median(Y) < Y, "yes", "no")
XT = with_task(X, TASK)
EXACT = Ridge(solver="lsqr", tol=1e-12)


def widened(weight):
    """Every feature once for all, and once for each task, by loops."""
    wide = np.zeros((len(X), 3 + 4 * 4))
    for i, (x, t) in enumerate(zip(X, TASK, strict=True)):
        wide[i, :3] = x
        wide[i, 3 + 4 * t : 7 + 4 * t] = weight * np.r_[1.0, x]
    return wide


def test_numbers_are_those_of_widened_features():
    by_hand = Ridge().fit(widened(0.3), Y).predict(widened(0.3))
    model = SharedPlusOwn(EXACT, task=-1, own_weight=0.3).fit(XT, Y)
    assert_allclose(model.predict(XT), by_hand)


def test_classes_are_those_of_widened_features():
    by_hand = LogisticRegression(tol=1e-8).fit(widened(0.5), C)
    model = SharedPlusOwn(LogisticRegression(tol=1e-8), task=-1).fit(XT, C)
    assert_array_equal(model.classes_, ["no", "yes"])
    expected = by_hand.predict_proba(widened(0.5))
    assert_allclose(model.predict_proba(XT), expected, atol=1e-5)


def test_penalty_is_that_of_the_docstring():
    """The optimum of |y - X(w + v_t) - b - b_t|^2 + |w|^2 + sum |v_t|^2 / 0.3^2."""
    model = SharedPlusOwn(EXACT, task=-1, own_weight=0.3)
    coef = model.fit(XT, Y).estimator_.coef_
    w, own = coef[:3], 0.3 * coef[3:].reshape(4, 4)
    left = Y - model.predict(XT)
    assert_allclose(X.T @ left, w, atol=1e-6)
    for t in range(4):
        rows = t == TASK
        gradient = np.r_[left[rows].sum(), X[rows].T @ left[rows]]
        assert_allclose(gradient, own[t] / 0.3**2, atol=1e-6)


def test_limits_are_one_model_for_all_and_one_for_each():
    near = SharedPlusOwn(EXACT, task=-1, own_weight=1e-6).fit(XT, Y)
    assert_allclose(near.predict(XT), Pooled(Ridge(), task=-1).fit(XT, Y).predict(XT))
    far = SharedPlusOwn(EXACT, task=-1, own_weight=1e4).fit(XT, Y)
    each = PerTask(Ridge(alpha=1e-8), task=-1).fit(XT, Y)
    assert_allclose(far.predict(XT), each.predict(XT), atol=1e-4)


def test_unknown_tasks_get_the_shared_part():
    model = SharedPlusOwn(Ridge(), task=-1, unknown_task="share").fit(XT, Y)
    inner = model.estimator_
    assert_allclose(
        model.predict(with_task(X, np.full(150, 9))),
        X @ inner.coef_[:3] + inner.intercept_,
    )


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_matrix])
def test_sparse_rows_and_frames_give_the_same(kind):
    Z = X * (X > 0)
    dense = SharedPlusOwn(EXACT, task=-1).fit(with_task(Z, TASK), Y)
    rows = kind(with_task(Z, TASK))
    sparse = SharedPlusOwn(EXACT, task=-1).fit(rows, Y)
    assert_allclose(sparse.predict(rows), dense.predict(with_task(Z, TASK)))
    frame = pd.DataFrame(Z, columns=list("abc")).assign(g=TASK)
    framed = SharedPlusOwn(EXACT, task="g").fit(frame, Y)
    assert_allclose(framed.predict(frame), dense.predict(with_task(Z, TASK)))


def test_words_among_the_features_become_indicators():
    colour = np.where(np.median(Y) < Y, "red", "blue")
    frame = pd.DataFrame(X, columns=list("abc")).assign(g=TASK, colour=colour)
    model = SharedPlusOwn(Ridge(), task="g").fit(frame, Y)
    names = model.table_encoder_.get_feature_names_out().tolist()
    assert names == ["a", "b", "c", "colour=blue", "colour=red"]
    assert model.score(frame, Y) > SharedPlusOwn(Ridge(), task="g").fit(
        frame.drop(columns="colour"), Y
    ).score(frame.drop(columns="colour"), Y)


def test_gaps_are_refused_with_the_name_of_the_form():
    gaps = XT.copy()
    gaps[0, 0] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN\.\nSharedPlusOwn does"):
        SharedPlusOwn(EXACT, task=-1).fit(gaps, Y)
