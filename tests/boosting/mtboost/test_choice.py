"""Penalties of learner and sharing that rows held out choose, against a grid search."""

from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from kinlearn import with_task
from kinlearn.boosting import MTBoostClassifier, MTBoostRegressor
from kinlearn.boosting.mtboost._choice import deal_rows

KINDS = {"classes": MTBoostClassifier, "numbers": MTBoostRegressor}


def _tasks(n=90, d=5, m=3, seed=0, noise=1.0, own=0.3):
    """Rows, tasks and scores around a common rule."""
    rng = np.random.default_rng(seed)
    X, task = rng.standard_normal((n, d)), np.arange(n) % m
    rule = rng.standard_normal(d) + own * rng.standard_normal((m, d))
    score = np.einsum("ij,ij->i", X, rule[task])
    return X, task, score + noise * score.std() * rng.standard_normal(n)


def _held_out(model, X, y, weight, held):
    """Mean loss of rows held out, in the unit of the rows that train."""
    weights = np.where(held, 0.0, weight)
    model.fit(X, y, sample_weight=weights)
    if hasattr(model, "classes_"):
        proba = model.predict_proba(X[held])
        return log_loss(y[held], proba, sample_weight=weight[held])
    left = y - model.offsets_[X[:, -1].astype(int)]
    unit = np.average(left**2, weights=weights)
    error = (y[held] - model.predict(X[held])) ** 2
    return 0.5 * np.average(error, weights=weight[held]) / unit


@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_path_is_that_of_a_slow_grid_search(kind, form):
    X, task, y = _tasks()
    y = (y > 0).astype(int) if kind == "classes" else y
    packed = with_task(X, task)
    weight = np.random.default_rng(1).integers(0, 3, size=len(y)).astype(float)
    plain = KINDS[kind](task=-1, n_estimators=4, form=form)
    rng = np.random.RandomState(0)
    model = clone(plain).set_params(penalties="auto", random_state=0)
    model.fit(packed, y, sample_weight=weight)
    fold = deal_rows(task, y if kind == "classes" else None, weight, rng)
    slow = np.empty_like(model.path_losses_)
    for i, (base, sharing) in enumerate(model.penalty_path_):
        alone = clone(plain).set_params(
            base_penalty=base, sharing_penalty=sharing, n_inner=1, random_state=rng
        )
        for k in range(slow.shape[1]):
            slow[i, k] = _held_out(clone(alone), packed, y, weight, fold == k)
    assert_allclose(model.path_losses_, slow, rtol=1e-5)
    best = model.penalty_path_[np.argmin(slow.mean(axis=1))]
    assert_array_equal([model.base_penalty_, model.sharing_penalty_], best)
    # the model is the one that has these penalties
    rng = np.random.RandomState(0)
    known = clone(plain).set_params(
        base_penalty=best[0], sharing_penalty=best[1], random_state=rng
    )
    known.fit(packed, y, sample_weight=weight)
    assert_array_equal(known.predict(packed), model.predict(packed))


def test_rows_are_dealt_evenly_by_task_and_class():
    rng = np.random.default_rng(0)
    task, y = rng.integers(0, 4, size=200), rng.integers(0, 2, size=200)
    task[:1], y[:1] = 4, 0  # the only row of its task
    weight = np.ones(200)
    weight[10:20] = 0
    fold = deal_rows(task, y, weight, np.random.RandomState(0))
    assert_array_equal(fold[10:20], -1)
    assert fold[0] == -1
    counts = np.zeros((5, 2, 3))
    dealt = fold >= 0
    np.add.at(counts, (task[dealt], y[dealt], fold[dealt]), 1)
    assert np.ptp(counts, axis=2).max() <= 1


def test_noise_wants_penalties_far_from_the_defaults():
    X, task, y = _tasks(n=900, d=40, m=4, noise=4.0, own=0.0)
    y = (y > 0).astype(int)
    packed, train = with_task(X, task), np.arange(900) < 200
    model = MTBoostClassifier(task=-1, n_estimators=40, random_state=0)
    losses = {}
    for penalties in ("given", "auto"):
        model.set_params(penalties=penalties).fit(packed[train], y[train])
        proba = model.predict_proba(packed[~train])
        losses[penalties] = log_loss(y[~train], proba)
    # much less of a model: as much sharing and as weak a learner as there is reason to
    outputs = model.base_penalty_ / 10 * model.sharing_penalty_
    assert outputs >= 10
    assert losses["auto"] < losses["given"] - 0.1


def test_an_estimator_has_its_sharing_chosen_alone():
    X, task, y = _tasks()
    model = MTBoostClassifier(
        LogisticRegression(), task=-1, n_estimators=3, penalties="auto", random_state=0
    ).fit(with_task(X, task), y > 0)
    assert_array_equal(model.penalty_path_[:, 0], model.base_penalty)
    assert model.sharing_penalty_ in model.penalty_path_[:, 1]
    assert model.base_penalty_ == model.base_penalty


def test_later_tasks_have_the_chosen_penalty():
    X, task, y = _tasks(n=160, m=4)
    packed, y, new = with_task(X, task), (y > 0).astype(int), task == 3
    auto = MTBoostClassifier(task=-1, n_estimators=5, penalties="auto", random_state=0)
    auto.fit(packed[~new], y[~new])
    known = clone(auto).set_params(
        penalties="given",
        base_penalty=auto.base_penalty_,
        sharing_penalty=auto.sharing_penalty_,
    )
    known.fit(packed[~new], y[~new])
    for model in (auto, known):
        model.add_task(packed[new], y[new])
    assert_array_equal(auto.predict_proba(packed), known.predict_proba(packed))


def test_a_fit_without_the_choice_forgets_the_path():
    X, task, y = _tasks()
    model = MTBoostRegressor(task=-1, n_estimators=2, penalties="auto", random_state=0)
    model.fit(with_task(X, task), y)
    assert model.path_losses_.shape == (len(model.penalty_path_), 3)
    model.set_params(penalties="given").fit(with_task(X, task), y)
    assert not hasattr(model, "penalty_path_")
    assert model.sharing_penalty_ == model.sharing_penalty


def test_early_stopping_judges_by_the_best_round():
    X, task, y = _tasks(noise=3.0)
    fit = partial(MTBoostClassifier, task=-1, n_estimators=12, penalties="auto")
    packed, y = with_task(X, task), (y > 0).astype(int)
    last = fit(random_state=0).fit(packed, y)
    best = fit(random_state=0, early_stopping=True, n_iter_no_change=12)
    best.fit(packed, y)
    shared = np.arange(16)  # before the neighbours of the best
    assert (best.path_losses_[shared] <= last.path_losses_[shared] + 1e-12).all()
    assert best.path_losses_[shared].mean() < last.path_losses_[shared].mean()


def test_tasks_of_single_rows_cannot_hold_any_out():
    X = with_task(np.arange(6.0)[:, None], np.arange(6))
    with pytest.raises(ValueError, match="holds rows out, but every "):
        MTBoostRegressor(task=-1, penalties="auto").fit(X, np.arange(6.0))
    one = MTBoostClassifier(task=-1, penalties="auto").fit(X, np.zeros(6))
    assert one.sharing_penalty_ == one.sharing_penalty


@pytest.mark.parametrize("penalties", ["given", "auto"])
@pytest.mark.parametrize("kind", KINDS)
def test_weights_that_sum_to_next_to_nothing_are_refused(kind, penalties):
    X, task, y = _tasks()
    y = (y > 0).astype(int) if kind == "classes" else y
    model = KINDS[kind](task=-1, n_estimators=2, penalties=penalties)
    with pytest.raises(ValueError, match=r"sums to 9e-199, too .* by its mean"):
        model.fit(with_task(X, task), y, sample_weight=np.full(len(y), 1e-200))
