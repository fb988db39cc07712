"""Rounds of MTBoost against the slow twin, and what they promise."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal, assert_array_less
from scipy.optimize import minimize, minimize_scalar
from sklearn.tree import DecisionTreeClassifier

import kinlearn
from kinlearn.boosting import MTBoostClassifier, MTBoostRegressor
from kinlearn.boosting.mtboost import _rounds
from kinlearn.boosting.mtboost._learners import EstimatorLearner
from tests.reference.mtboost import boost
from tests.seeds import seeds


def _problem(seed=0, n=90, d=6, m=3, numbers=False):
    """Tasks around a common rule; the last one turned around."""
    rng = np.random.default_rng(seed)
    X, task = rng.standard_normal((n, d)), np.arange(n) % m
    rule = rng.standard_normal(d) + 0.4 * rng.standard_normal((m, d))
    rule[-1] *= -1
    score = np.einsum("ij,ij->i", X, rule[task]) + rng.standard_normal(n)
    return X, task, score if numbers else np.where(score > 0, 1, -1)


@pytest.fixture
def fixed_starts(monkeypatch):
    """Give the rounds the weights to begin with, so that the twin has the same."""
    starts = np.random.default_rng(5).standard_normal((6, 3))
    left = iter(starts)
    monkeypatch.setattr(_rounds, "_first_weights", lambda *_: next(left).copy())
    return starts


def _log_odds(y, task, s):
    return np.array(
        [
            np.log(
                (s[(task == i) & (y > 0)].sum() + 0.5)
                / (s[(task == i) & (y < 0)].sum() + 0.5)
            )
            for i in range(task.max() + 1)
        ]
    )


@pytest.mark.parametrize("how", ["majorized", "paper"])
@pytest.mark.parametrize("output", ["clipped", "sign"])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_classifier_is_the_slow_twin(fixed_starts, how, output, form):
    X, task, y = _problem()
    s = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float)
    model = MTBoostClassifier(
        task=-1, n_estimators=6, step=how, output=output, form=form, n_inner=4,
        inner_tol=0, sharing_penalty=20.0, tol=0,
    )  # fmt: skip
    packed = kinlearn.with_task(X, task)
    model.fit(packed, y, sample_weight=s)
    W, _, objectives, F = boost(
        X, y, task, s, _log_odds(y, task, s)[task], fixed_starts, lam=20.0,
        base_penalty=10.0, ridge=0.1, n_inner=4, how=how, output=output,
    )  # fmt: skip
    assert_allclose(model.weights_, W, rtol=1e-5, atol=1e-8)
    assert_allclose(model.objective_, objectives, rtol=1e-6)
    assert_allclose(model.decision_function(packed), F, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("form", ["primal", "dual"])
def test_regressor_is_the_slow_twin(fixed_starts, form):
    X, task, y = _problem(numbers=True)
    s = np.random.default_rng(1).integers(1, 4, size=len(y)).astype(float)
    model = MTBoostRegressor(
        task=-1, n_estimators=6, form=form, n_inner=4, inner_tol=0, tol=0
    )
    packed = kinlearn.with_task(X, task)
    model.fit(packed, y, sample_weight=s)
    mean = np.average(y, weights=s)
    level = np.array(
        [
            (np.sum((s * y)[task == i]) + mean) / (s[task == i].sum() + 1)
            for i in range(3)
        ]
    )
    left = y - level[task]
    unit = np.sqrt(np.average(left**2, weights=s))
    W, _, objectives, F = boost(
        X, left / unit, task, s, np.zeros(len(y)), fixed_starts, lam=1.0,
        base_penalty=10.0, ridge=0.1, n_inner=4, how="majorized", output="number",
    )  # fmt: skip
    assert_allclose(model.weights_, W, rtol=1e-5, atol=1e-8)
    assert_allclose(model.objective_, objectives, rtol=1e-6)
    assert_allclose(model.predict(packed), level[task] + unit * F, rtol=1e-5, atol=1e-7)


PENALTIES = [1e-3, 1e-2, 0.1, 1.0, 10.0, 100.0, 1e3]


@pytest.mark.parametrize("step", ["majorized", "exact"])
@pytest.mark.parametrize("start", ["gradient", "random"])
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("seed", seeds(1, 3))
def test_no_round_raises_loss_or_objective(seed, penalty, start, step):
    for output in ("clipped", "sign"):
        X, task, y = _problem(seed, n=60 + 20 * seed, d=3 + 2 * seed, m=2 + seed)
        model = MTBoostClassifier(
            task=-1, n_estimators=25, n_inner=3, sharing_penalty=penalty,
            step=step, start=start, output=output, random_state=seed, tol=0,
        ).fit(kinlearn.with_task(X, task), y)  # fmt: skip
        first = _first_loss(y, task)
        ridge = penalty / 2 * (0.1 * (task.max() + 1)) ** 2
        _assert_falls(np.append(first, model.train_loss_))
        _assert_falls(np.append(first + ridge, model.objective_))


def _first_loss(y, task):
    s = np.ones(len(y))
    return np.logaddexp(0, -y * _log_odds(y, task, s)[task]).sum()


def _assert_falls(values):
    assert_array_less(np.diff(values), 1e-9 * np.abs(values[:-1]) + 1e-300)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_no_round_of_the_regressor_raises_loss_or_objective(penalty):
    for seed in range(3):
        X, task, y = _problem(seed, m=2 + seed, numbers=True)
        model = MTBoostRegressor(
            task=-1, n_estimators=25, n_inner=3, sharing_penalty=penalty,
            random_state=seed, tol=0,
        ).fit(kinlearn.with_task(X, task), y)  # fmt: skip
        _assert_falls(model.train_loss_)
        _assert_falls(model.objective_)


def test_the_papers_step_diverges_where_ours_does_not():
    X, task, y = _problem()
    packed = kinlearn.with_task(X, task)
    settings = {
        "task": -1,
        "n_estimators": 30,
        "output": "sign",
        "sharing_penalty": 0.01,
        "random_state": 0,
    }
    paper = MTBoostClassifier(step="paper", **settings).fit(packed, y)
    ours = MTBoostClassifier(**settings).fit(packed, y)
    assert paper.train_loss_.max() > 100 * _first_loss(y, task)
    assert ours.train_loss_[-1] < 0.5 * _first_loss(y, task)


@pytest.mark.parametrize("seed", range(3))
def test_the_exact_step_falls_further_in_one_round(seed):
    X, task, y = _problem(seed)
    packed = kinlearn.with_task(X, task)
    one = MTBoostClassifier(task=-1, n_estimators=1, step="exact", random_state=0)
    bound = MTBoostClassifier(task=-1, n_estimators=1, random_state=0)
    assert one.fit(packed, y).objective_ < bound.fit(packed, y).objective_ - 1e-6


def _stumps():
    return DecisionTreeClassifier(max_depth=1, random_state=0)


@pytest.mark.parametrize("penalty", [1e-6, 1e-3, 1.0, 100.0])
def test_the_exact_step_ends_at_the_minimum(penalty):
    """A stump that tells the classes apart: w = 4.5 was taken for 9.9."""
    x = np.linspace(-1, 1, 200)[:, None]
    model = MTBoostClassifier(
        _stumps(), n_estimators=1, step="exact", output="sign", random_state=0,
        sharing_penalty=penalty,
    ).fit(x, x[:, 0] > 0)  # fmt: skip

    def objective(w):
        return 200 * np.logaddexp(0, -w) + penalty / 2 * (w**2 + 0.1**2)

    best = minimize_scalar(objective, bounds=(0, 50), options={"xatol": 1e-10})
    assert_allclose(np.abs(model.weights_[0, 0]), best.x, rtol=1e-5)
    assert_allclose(model.objective_, best.fun, rtol=1e-9)


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_the_exact_step_has_the_covariance_that_belongs_to_it(penalty):
    X, task, y = _problem()
    model = MTBoostClassifier(
        task=-1, n_estimators=1, step="exact", sharing_penalty=penalty, random_state=0
    ).fit(kinlearn.with_task(X, task), y)
    output = model.hypotheses_.outputs(X, task)[:, 0]
    offset = _log_odds(y, task, np.ones(len(y)))[task]

    def objective(w):
        trace = np.hypot(np.linalg.norm(w), 0.1) + 0.1 * (len(w) - 1)
        loss = np.logaddexp(0, -y * (offset + w[task] * output)).sum()
        return loss + penalty / 2 * trace**2

    best = minimize(objective, np.zeros(3), tol=1e-9)
    assert_allclose(model.objective_[0], best.fun, rtol=1e-7)


def test_with_an_estimator_a_round_starts_by_the_gradient():
    """One fit in a round, so the start decides whose labels are exchanged."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, task = rng.normal(size=(240, 4)), np.arange(240) % 4
        y = (X[:, 0] > 0) ^ (task >= 2) ^ (rng.random(240) < 0.2)
        model = MTBoostClassifier(
            _stumps(), task=-1, n_estimators=1, n_inner=1, random_state=seed
        ).fit(kinlearn.with_task(X, task), y)
        signs = np.sign(model.weights_[0])
        assert_array_equal(signs, signs[0] * np.array([1, 1, -1, -1]))


def test_the_stop_looks_at_the_covariance_after_the_round():
    X, task, y = _problem()
    loss = _rounds.LogisticLoss(
        np.arange(len(y)), task, y.astype(float), np.ones(len(y)), 3
    )
    settings = _rounds.Settings(3, 0.01, "majorized", 1.0, 0.1, "gradient", "sign")
    rng = np.random.RandomState(0)
    learner = EstimatorLearner(_stumps(), X, rng, "sign")
    scores = np.zeros(len(y))
    for k, found in enumerate(
        _rounds.play_rounds(loss, learner, scores, settings, rng)
    ):
        output = found.kept.predict(X)
        before = scores - found.weights[task] * output
        slope = loss.slope(loss.residual(before), output)
        expected = slope @ found.covariance.matrix() @ slope / len(y) ** 2
        assert_allclose(found.progress, expected, rtol=1e-9)
        if k == 2:
            break


@pytest.mark.filterwarnings("ignore:(overflow|invalid value):RuntimeWarning")
@pytest.mark.parametrize("form", ["primal", "dual"])
@pytest.mark.parametrize("penalty", [1e-300, 1e-3])
def test_the_papers_step_ends_where_numbers_end(penalty, form):
    X, task, y = _problem(numbers=True)
    packed = kinlearn.with_task(X, task)
    model = MTBoostRegressor(
        task=-1, step="paper", sharing_penalty=penalty, tol=0, form=form, random_state=0
    ).fit(packed, y)
    assert model.n_estimators_ < 100
    assert np.isfinite(model.train_loss_).all()
    assert np.isfinite(model.predict(packed)).all()


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("estimator", [MTBoostClassifier, MTBoostRegressor])
def test_primal_dual_and_iterative_forms_are_the_same_model(estimator, kind):
    X, task, y = _problem(d=40, numbers=estimator is MTBoostRegressor)
    packed = kinlearn.with_task(kind(X), task)
    answers = []
    for form in ("primal", "dual", "iterative"):
        model = estimator(task=-1, n_estimators=10, form=form, random_state=0)
        model.fit(packed, y)
        ask = getattr(model, "decision_function", model.predict)
        answers.append(ask(packed))
    assert_allclose(answers[1], answers[0], rtol=1e-4, atol=1e-5)
    assert_allclose(answers[2], answers[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", ["primal", "dual", "iterative"])
def test_one_matrix_of_slopes_is_a_walk_through_all_rows(monkeypatch, form, n_classes):
    X, task, y = _problem()
    y = y + (n_classes == 3) * (X[:, 0] > 0.5)
    model = MTBoostClassifier(task=-1, n_estimators=8, form=form, random_state=0)
    packed = kinlearn.with_task(X, task)
    by_matrix = model.fit(packed, y).decision_function(packed)
    monkeypatch.setattr(_rounds, "_MATRIX_PROBLEMS", 0)
    by_rows = model.fit(packed, y).decision_function(packed)
    assert_allclose(by_matrix, by_rows, rtol=1e-6, atol=1e-9)
