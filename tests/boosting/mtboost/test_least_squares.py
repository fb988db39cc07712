"""The three forms of the base learner against the normal equations."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from kinlearn.boosting.mtboost._least_squares import (
    CentredRows,
    TaskLevels,
    make_least_squares,
)
from tests.reference.mtboost import least_squares

FORMS = ["primal", "dual", "iterative"]


def _rows(n=40, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.4) + 0.5
    label = rng.choice([-1.0, 1.0], size=n)
    weight = rng.exponential(size=n) * (rng.random(n) < 0.8)
    return X, label, weight, rng.integers(1, 4, size=n).astype(float)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("shape", [(40, 12), (15, 60)])
@pytest.mark.parametrize("penalty", [1e-3, 1.0])
@pytest.mark.parametrize("by_task", [False, True])
def test_every_form_solves_the_normal_equations(form, kind, shape, penalty, by_task):
    X, label, weight, row_weight = _rows(*shape)
    tasks = np.arange(shape[0]) % 3
    levels = TaskLevels(tasks, 3, by_task)
    learner = make_least_squares(kind(X), row_weight, penalty, levels, form)
    root = np.sqrt(weight)
    scores, kept = learner.fit(label * root, root)
    task = tasks if by_task else None
    expected = least_squares(X, label, weight, penalty, row_weight, task)
    assert_allclose(scores, expected, atol=1e-6)
    # other labels and weights: what is left of the last fit does not show
    other = np.roll(weight, 1) ** 2
    scores, kept = learner.fit(-label * np.sqrt(other), np.sqrt(other))
    expected = least_squares(X, -label, other, penalty, row_weight, task)
    assert_allclose(scores, expected, atol=1e-6)
    found = learner.finish([kept], np.ones(1), "number")
    assert_allclose(found.outputs(X, tasks)[:, 0], scores, atol=1e-8)


@pytest.mark.parametrize("form", FORMS)
def test_the_scale_and_place_of_features_decide_nothing(form):
    X, label, weight, row_weight = _rows()
    root = np.sqrt(weight)
    scores = [
        make_least_squares(rows, row_weight, 0.5, form=form).fit(label * root, root)[0]
        for rows in (X, 1e3 * X + 50)
    ]
    assert_allclose(*scores, atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_products_are_those_of_centred_rows(kind):
    X, label, _, row_weight = _rows()
    rows = CentredRows(kind(X), row_weight)
    centred = X - np.average(X, axis=0, weights=row_weight)
    assert_allclose(rows.gram(), centred @ centred.T, atol=1e-10)
    learner = make_least_squares(kind(X), row_weight, 1.0)
    assert_allclose(learner.correlate(label), centred @ (centred.T @ label), atol=1e-9)
    spread = np.average((centred**2).sum(axis=1), weights=row_weight)
    assert_allclose(rows.spread, spread)


def test_constant_features_leave_the_intercept():
    X, label, weight, row_weight = _rows()
    root = np.sqrt(weight)
    for form in FORMS:
        learner = make_least_squares(np.ones_like(X), row_weight, 1.0, form=form)
        scores, _ = learner.fit(label * root, root)
        assert_allclose(scores, np.average(label, weights=weight), atol=1e-9)


def test_the_cheapest_form_is_chosen():
    def chosen(n, d, sparse=False):
        X = sp.random_array((n, d), density=0.01, format="csr", random_state=0)
        X = X if sparse else X.toarray()
        return make_least_squares(X, np.ones(n), 1.0)

    assert type(chosen(300, 5)).__name__ == "PrimalForm"
    assert type(chosen(50, 400)).__name__ == "DualForm"
    assert type(chosen(50, 4_000, sparse=True)).__name__ == "DualForm"


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("scale", [1e-40, 1e-20, 1e19, 1e60])
def test_the_unit_of_features_may_be_anything(form, kind, scale):
    X, label, weight, row_weight = _rows()
    root, levels = np.sqrt(weight), TaskLevels(np.arange(40) % 3, 3, True)
    scores = [
        make_least_squares(kind(rows), row_weight, 0.5, levels, form).fit(
            label * root, root
        )[0]
        for rows in (X, scale * X)
    ]
    assert_allclose(*scores, atol=1e-6)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_features_too_large_to_multiply_are_refused(kind):
    X, _, _, row_weight = _rows()
    with pytest.raises(ValueError, match=r"value of .e\+200, too large .* Scale the"):
        make_least_squares(kind(1e200 * X), row_weight, 1.0)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_a_large_constant_feature_changes_nothing(form, kind):
    X, label, weight, row_weight = _rows()
    root = np.sqrt(weight)
    with_it = np.column_stack([X, np.full(len(X), 1e9)])
    scores = [
        make_least_squares(kind(rows), row_weight, 0.5, form=form).fit(
            label * root, root
        )[0]
        for rows in (X, with_it)
    ]
    assert_allclose(*scores, atol=1e-6)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("penalty", [1e-300, 1e-12, 1e12, 1e300])
def test_extreme_penalties_have_finite_answers(form, penalty):
    X, label, weight, row_weight = _rows()
    root = np.sqrt(weight)
    X = np.column_stack([X, X])  # twice the same: not unique without a penalty
    learner = make_least_squares(X, row_weight, penalty, form=form)
    scores, _ = learner.fit(label * root, root)
    limit = least_squares(X, label, weight, 1e-9, row_weight)
    if penalty > 1:
        limit = np.average(label, weights=weight)
    assert_allclose(scores, limit, atol=1e-3)
