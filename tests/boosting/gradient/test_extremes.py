"""Input at the ends of what numbers can hold: a defined model, or a clear error."""

import numpy as np
import pytest

from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.tasks import with_task

SMALL = {"task": -1, "n_estimators": 12, "random_state": 0}
LOSSES = ["squared_error", "absolute_error", "quantile", "poisson", "gamma"]
RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 3))
TASK = np.arange(240) % 6
Z = with_task(X, TASK)
SIGNAL = X[:, 0] + 0.3 * TASK


def target(loss):
    return np.exp(SIGNAL) if loss in ("poisson", "gamma") else SIGNAL


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(
    "changed",
    [
        lambda y: np.ones_like(y),
        lambda y: 1.0 + TASK,
        lambda y: y * 1e-90,
        lambda y: y * 1e90,
        lambda y: np.where(np.arange(240) == 5, 1e90, y),
    ],
)
def test_targets(loss, changed):
    y = changed(target(loss))
    model = MultiTaskGradientBoostingRegressor(loss, **SMALL, early_stopping=True)
    found = model.fit(Z, y).predict(Z)
    assert np.isfinite(found).all()
    assert found.min() >= min(y.min(), 0) * 2
    assert np.isfinite(model.validation_losses_).all()


@pytest.mark.parametrize("scale", [1e-300, 1e200, 1e300])
def test_numbers_of_any_magnitude(scale):
    for loss in LOSSES[:3]:
        model = MultiTaskGradientBoostingRegressor(loss, **SMALL, early_stopping=True)
        found = model.fit(Z, SIGNAL * scale).predict(Z)
        plain = model.fit(Z, SIGNAL).predict(Z)
        assert np.corrcoef(found / scale, plain)[0, 1] > 0.95


@pytest.mark.parametrize("loss", LOSSES)
def test_features_weights_and_rates(loss):
    y = target(loss)
    wide = with_task(X * 1e300, TASK)
    model = MultiTaskGradientBoostingRegressor(loss, **SMALL, learning_rate=1.0)
    assert np.isfinite(model.fit(wide, y).predict(wide)).all()
    weight = 10.0 ** RNG.integers(-90, 90, size=240)
    assert np.isfinite(model.fit(Z, y, weight).predict(Z)).all()
    one = model.fit(Z[:1], y[:1]).predict(Z[:1])
    np.testing.assert_allclose(one, y[:1])
    model.set_params(n_estimators=300, subsample=0.5, min_samples_leaf=1)
    assert np.isfinite(model.fit(Z, y).predict(Z)).all()


def test_classes():
    for n_classes in (2, 3):
        y = np.digitize(SIGNAL, [0, 1][: n_classes - 1])
        params = {"min_samples_leaf": 1, "l2_regularization": 0.0, "learning_rate": 1.0}
        model = MultiTaskGradientBoostingClassifier(**SMALL, **params)
        model.set_params(n_estimators=200)  # long after all rows are right
        assert np.isfinite(model.fit(Z, y).decision_function(Z)).all()
        proba = model.predict_proba(Z)
        assert ((proba > 0) & (proba <= 1)).all()
        weight = 10.0 ** RNG.integers(-90, 90, size=240)
        assert np.isfinite(model.fit(Z, y, weight).predict_proba(Z)).all()


@pytest.mark.parametrize(
    ("params", "y", "words"),
    [
        ({"learning_rate": 1e6}, SIGNAL, r"'learning_rate' .* range \(0.0, 1.0\]"),
        ({"loss": "quantile", "quantile": 1.0}, SIGNAL, "'quantile' parameter"),
        ({"loss": "poisson"}, SIGNAL - 9, "at least 0 and not above"),
        ({"loss": "gamma"}, np.exp(SIGNAL) * 1e-200, "needs targets above 0"),
        ({"loss": "gamma"}, np.exp(SIGNAL) * 1e200, r"not above 1e\+100"),
        ({"loss": "poisson", "offset": 1}, np.exp(SIGNAL), "logarithm of an exposure"),
        ({"offset": 2}, SIGNAL, r"The offset is .* in row 0 \(240 of 240 rows"),
        ({"monotonic_cst": {9: 1}}, SIGNAL, "monotonic_cst names column 9"),
        ({"interaction_cst": [[0, 9]]}, SIGNAL, "interaction_cst names column 9"),
    ],
)
def test_what_is_refused(params, y, words):
    wide = with_task(X * [1, 1e3, 1e300], TASK)
    with pytest.raises(ValueError, match=words):
        MultiTaskGradientBoostingRegressor(**SMALL, **params).fit(wide, y)
