"""Boosting that begins with a line through the features."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit

from kinlearn._partitions import LocalPartitions
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
    export_text,
    shap_linear,
    shap_rows,
    to_shap,
)
from kinlearn.boosting.gradient import linear_part
from kinlearn.boosting.gradient._start import RowsHere, Totals, find_start
from kinlearn.boosting.gradient.internal import (
    REGRESSION,
    Binned,
    Problem,
    SameBins,
)
from kinlearn.boosting.gradient.partitions import fit_partitions
from tests.boosting.gradient.test_partitions import make_parts
from tests.reference import linear_start as twin
from tests.reference import shap_values

SMALL = {"task": -1, "n_estimators": 8, "random_state": 0, "unknown_task": "share"}
KINDS = ["squared_error", "quantile", "poisson", "gamma", "two", "three"]


def make_rows(kind="squared_error", *, n=400, n_tasks=5, seed=0):
    """Scores are a line, with missing values, and levels of tasks."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n, 4)), rng.permutation(np.arange(n) % n_tasks)
    f = X @ [1.0, -0.5, 0.3, 0.0] + 0.3 * task - 0.6
    X[rng.random(X.shape) < 0.05] = np.nan
    y = f + 0.3 * rng.normal(size=n)
    if kind == "poisson":
        y = rng.poisson(np.exp(f)).astype(float)
    elif kind == "gamma":
        y = rng.gamma(3, np.exp(f) / 3)
    elif kind == "two":
        y = (rng.random(n) < expit(2 * f)).astype(int)
    elif kind == "three":
        y = np.digitize(y, [-0.5, 0.5])
    return np.column_stack([X, task]), y


def make_model(kind="squared_error", **params):
    if kind in ("two", "three"):
        return MultiTaskGradientBoostingClassifier(**{**SMALL, **params})
    return MultiTaskGradientBoostingRegressor(kind, **{**SMALL, **params})


def scores_of(model, X):
    return model._scores(X)[1]


def test_slopes_are_those_of_explicit_least_squares():
    X, y = make_rows(n=150)
    weight = np.random.default_rng(1).integers(1, 3, size=150).astype(float)
    model = make_model().fit(X, y, weight)
    bins, scale = model.bins_, model._score_unit
    codes, task = bins.assign(X[:, :4]), X[:, 4].astype(np.int32)
    columns = []
    for f, n_bins in enumerate(bins.n_bins):
        counts = np.bincount(codes[:, f], weight, n_bins + 1)[:-1]
        edges = bins.edges[bins.indptr[f] : bins.indptr[f + 1]]
        values = twin.values_of_bins(edges, n_bins, counts)
        columns.append(np.append(values, 0.0)[codes[:, f]])
    columns = np.column_stack(columns)
    loss = REGRESSION["squared_error"](y, weight, scale=scale)
    problem = Problem(
        Binned(bins, codes), task, 5, loss, weight.astype(np.int64), None, None
    )
    here = RowsHere(problem)
    totals = Totals.of(here)
    start, n = find_start(here, loss, totals, 5, True), weight.sum()
    for _ in range(2):
        slopes = twin.best_slopes(columns, task, y / scale, weight, start.penalty[0], n)
        table = [columns[:, f] * slopes[f] for f in range(4)]
        line = _LineOfRows(codes, np.sum(table, axis=0))
        start = find_start(here, loss, totals, 5, True, line)
    assert_allclose(model._start.line.coef[:, 0], slopes, rtol=1e-5, atol=1e-9)
    assert_allclose(model._start.intercepts, start.intercepts, rtol=1e-4, atol=1e-8)


class _LineOfRows:
    """Adds numbers to all rows of a problem."""

    def __init__(self, bins, values):
        self.bins, self.values = bins, values

    def add(self, bins, scores):
        assert_array_equal(bins, self.bins)
        scores += self.values[:, None]


@pytest.mark.parametrize("kind", KINDS)
def test_lines_are_found_with_every_loss_and_help(kind):
    X, y = make_rows(kind, n=1500)
    X_test, y_test = make_rows(kind, n=3000, seed=1)
    found = [
        make_model(kind, linear_part=part, n_estimators=30).fit(X, y)
        for part in ("auto", False)
    ]
    assert [model.linear_part_ for model in found] == [True, False]
    if kind in ("two", "three"):
        losses = [
            -np.log(
                model.predict_proba(X_test)[np.arange(3000), y_test.astype(int)]
            ).mean()
            for model in found
        ]
    else:
        losses = [np.abs(m.predict(X_test) - y_test).mean() for m in found]
    assert losses[0] < losses[1]
    slope = found[0]._start.line.coef
    if slope.shape[1] == 1:
        # the outermost bins are wide, which counts of steep rates feel
        assert_allclose(slope[:3, 0] / slope[0, 0], [1.0, -0.5, 0.3], atol=0.15)


def test_noise_has_no_line_and_costs_nothing():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(300, 4)), np.arange(300) % 5])
    y = rng.normal(size=300)
    found = [make_model(linear_part=part).fit(X, y) for part in ("auto", False)]
    assert not found[0].linear_part_
    assert_array_equal(found[0].predict(X), found[1].predict(X))
    assert make_model(linear_part=True).fit(X, y).linear_part_


def test_large_tables_have_none_unless_they_must(monkeypatch):
    X, y = make_rows()
    monkeypatch.setattr(linear_part._fit, "_MOST_PRODUCTS", 400 * 4**2 - 1)
    assert not make_model().fit(X, y).linear_part_
    assert make_model(linear_part=True).fit(X, y).linear_part_
    monkeypatch.setattr(linear_part._fit, "_MOST_PRODUCTS", 400 * 4**2)
    assert make_model().fit(X, y).linear_part_
    monkeypatch.setattr(linear_part._fit, "_MOST_TASK_SUMS", 19)
    assert not make_model().fit(X, y).linear_part_


def test_tasks_of_one_row_each_and_no_numbers_have_none():
    X, y = make_rows(n=80, n_tasks=80)
    assert not make_model().fit(X, y).linear_part_
    rng = np.random.default_rng(0)
    codes = np.column_stack([rng.integers(0, 3, size=90), np.arange(90) % 3])
    model = make_model(linear_part=True, categorical_features=[0])
    assert not model.fit(codes, codes[:, 0]).linear_part_


def test_one_large_task_does_not_show_others_its_line():
    rng = np.random.default_rng(0)
    task = np.where(np.arange(1000) < 600, 0, 1 + np.arange(1000) % 20)
    X = np.column_stack([rng.normal(size=(1000, 2)), task])
    y = np.where(task == 0, 2 * X[:, 0], 0.0) + rng.normal(size=1000)
    line = make_model().fit(X, y)._start.line
    together = make_model(task_values=False).fit(X, y)._start.line
    assert together.coef[0, 0] > 0
    assert line is None or line.coef[0, 0] < 0.3 * together.coef[0, 0]


@pytest.mark.parametrize("kind", KINDS)
def test_partitions_and_orders_of_rows_have_the_same_line(kind):
    X, y = make_rows(kind)
    local = make_model(kind).fit(X, y)
    assert local.linear_part_
    order = np.random.default_rng(0).permutation(len(y))
    model = make_model(kind)
    parts = make_parts(X[order], y[order], None, (50, 320, 321), model)
    fit_partitions(model, LocalPartitions(), parts, lambda n: False)
    for name in ("features", "table", "first", "coef", "gain"):
        expected = getattr(local._start.line, name)
        assert_array_equal(getattr(model._start.line, name), expected, err_msg=name)
    assert_array_equal(scores_of(model, X), scores_of(local, X))


def test_a_weight_of_two_is_two_rows_and_of_none_is_absence():
    X, y = make_rows("two")
    weight = np.arange(400) % 3
    model = make_model("two").fit(X, y, weight)
    again = make_model("two").fit(np.repeat(X, weight, 0), np.repeat(y, weight))
    assert model.linear_part_
    assert_allclose(model._start.line.coef, again._start.line.coef, rtol=1e-6)
    assert_allclose(scores_of(model, X), scores_of(again, X), rtol=1e-5, atol=1e-8)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_done_with_models_knows_the_line(kind):
    X, y = make_rows(kind)
    model = make_model(kind).fit(X, y)
    expected = scores_of(model, X)
    assert_array_equal(scores_of(pickle.loads(pickle.dumps(model)), X), expected)
    *_, (_, last) = model._staged_scores(X)
    assert_array_equal(last, expected)
    more = make_model(kind, n_estimators=3, warm_start=True).fit(X, y)
    more.set_params(n_estimators=8)
    assert_array_equal(scores_of(more.fit(X, y), X), expected)
    trees = to_shap(model, X)
    got = shap_values.predict(trees, shap_rows(model, X)) + shap_linear(model, X).sum()
    assert_allclose(got, expected * model._score_unit, atol=1e-9)
    assert len(trees["trees"]) == 1 + len(model._start.line.features) + len(
        model.trees_
    )
    text = export_text(model)
    assert text.count("linear part") == expected.shape[1]
    assert text.count("\n    x0: ") == expected.shape[1]
    assert "linear part" not in export_text(model, rounds=0)
    assert model.feature_importances_[0] > model.feature_importances_[3]
    assert_allclose(model.feature_importances_.sum(), 1)


def test_same_bins_begin_with_the_same_line():
    X, y = make_rows()
    model = make_model().fit(X, y)
    rows = SameBins(X[:, :4], X[:, 4].astype(np.int32), y)
    [found] = rows.fit(model).predictions(np.arange(400))
    assert_array_equal(found, model.predict(X))


def test_sparse_rows_have_the_same_line():
    X, y = make_rows()
    X = np.nan_to_num(X)
    X[:, :4][np.abs(X[:, :4]) < 0.5] = 0.0
    y = X[:, 0] - X[:, 1] + 0.1 * y
    model = make_model().fit(X, y)
    assert model.linear_part_
    sparse = make_model().fit(sp.csr_array(X), y)
    assert_allclose(sparse.predict(sp.csr_array(X)), model.predict(X))


def test_rows_held_back_do_not_make_the_line():
    X, y = make_rows()
    model = make_model(n_estimators=4, early_stopping=True).fit(X, y)
    assert model.linear_part_
    given = make_model(n_estimators=4, early_stopping=True)
    given.fit(X, y, X_val=X[:50], y_val=y[:50])
    first = make_model(n_estimators=1).fit(X, y).predict(X[:50])
    assert_allclose(given.validation_losses_[0], ((first - y[:50]) ** 2).mean() / 2)


def test_directions_of_features_bind_slopes():
    X, y = make_rows(n=800)
    model = make_model(monotonic_cst={0: 1, 1: 1}, n_estimators=60).fit(X, y)
    coef = model._start.line.coef[:, 0]
    assert coef[0] > 0
    assert coef[1] == 0
    rows = np.tile([0.0, 0.0, 0.0, 0.0, 1.0], (200, 1))
    for f in range(2):
        grid = rows.copy()
        grid[:, f] = np.linspace(-4, 4, 200)
        assert (np.diff(model.predict(grid)) >= -1e-12).all()


@pytest.mark.parametrize("kind", ["squared_error", "two", "quantile"])
def test_later_tasks_and_rows_have_the_line(kind):
    X, y = make_rows(kind, n=600)
    new = X[:, -1] == 4
    model = make_model(kind).fit(X[~new], y[~new])
    line, before = model._start.line, scores_of(model, X[~new])
    y[new] = np.where(X[new, 0] > 0, y[~new].min(), y[~new].max())  # turned around
    model.add_task(X[new], y[new])
    assert model._start.line is line
    if kind != "quantile":
        lengths = model._start.lengths[:, 0]
        assert_array_equal(lengths[:4], 1)
        assert lengths[4] < 0
    assert_array_equal(scores_of(model, X[~new]), before)
    trees = to_shap(model, X[::7])
    got = shap_values.predict(trees, shap_rows(model, X[::3]))
    assert_allclose(got, scores_of(model, X[::3]) * model._score_unit, atol=1e-9)
    model.partial_fit(X[::2], y[::2])
    assert model._start.line is line


def test_later_classes_keep_the_line():
    X, y = make_rows("two", n=600)
    new = X[:, -1] == 4
    model = make_model("two").fit(X[~new], y[~new])
    before = model.predict_proba(X[~new])
    y = np.where(new, np.where(y == 1, 7, 0), y)
    model.add_task(X[new], y[new])
    assert model._start.line.table.shape[1] == 3
    after = model.predict_proba(X[~new])
    ratio = after[:, 1] / after[:, 0]
    assert_allclose(ratio, before[:, 1] / before[:, 0])


def test_warm_start_keeps_its_line():
    X, y = make_rows()
    model = make_model(warm_start=True).fit(X, y)
    model.set_params(linear_part=False, n_estimators=9)
    with pytest.raises(ValueError, match="linear_part=False cannot go on"):
        model.fit(X, y)


def test_extreme_numbers_give_finite_lines():
    X, y = make_rows()
    X[:, 0] *= 1e300
    X[:, 1] *= 1e-300
    X[:, 2] = np.where(np.arange(400) % 2, 1e308, -1e308)
    for kind in ("squared_error", "quantile"):
        found = make_model(kind, linear_part=True).fit(X, 1e150 * y).predict(X)
        assert np.isfinite(found).all()
    y[0] = 1e6
    assert np.isfinite(make_model().fit(X, y).predict(X)).all()


def test_booleans_of_numpy_are_those_of_python():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    for wanted in (False, True):
        model = MultiTaskGradientBoostingRegressor(
            n_estimators=2, linear_part=np.bool_(wanted)
        )
        assert model.fit(X, y if wanted else X[:, 0]).linear_part_ is wanted
