"""The estimators: choice of alpha, paths, relations, later tasks, and bad input."""

import re
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso, LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV, KFold

import kinlearn
from kinlearn import with_task
from kinlearn.linear import MultiTaskLinearClassifier, MultiTaskLinearRegressor

PENALTIES = ("l21", "trace", "graph", "clustered", "covariance", "shared_sparse")
BOTH = (MultiTaskLinearRegressor, MultiTaskLinearClassifier)


def make_tasks(n_tasks=8, n=25, d=12, noise=0.5, seed=0):
    """Two clusters of tasks, the first three of the features."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(n_tasks * n, d)), np.repeat(np.arange(n_tasks), n)
    centre = np.array([[2.0, 1.0, -1.0], [-1.0, 2.0, 1.0]])
    W = np.zeros((n_tasks, d))
    W[:, :3] = centre[np.arange(n_tasks) % 2] + 0.1 * rng.normal(size=(n_tasks, 3))
    y = np.einsum("ij,ij->i", X, W[task]) + task + noise * rng.normal(size=len(task))
    return with_task(X, task), y, W


def fit(kind, penalty, X, y, **options):
    if penalty == "graph":
        same = np.add.outer(np.arange(8), np.arange(8)) % 2 == 0
        options["graph"] = same.astype(float)
    y = y if kind is MultiTaskLinearRegressor else y > np.median(y)
    return kind(penalty, task=-1, **options).fit(X, y), y


@pytest.mark.parametrize("penalty", PENALTIES)
def test_the_choice_of_alpha_is_better_than_its_neighbours_ends(penalty):
    X, y, _ = make_tasks()
    model, _ = fit(MultiTaskLinearRegressor, penalty, X, y, n_alphas=12, n_folds=3)
    losses = model.path_losses_.mean(axis=1)
    assert losses.shape == model.alphas_.shape
    assert_array_equal(np.sort(model.alphas_)[::-1], model.alphas_)
    assert model.alpha_ == model.alphas_[np.argmin(losses)]
    assert losses.min() < 0.3 * losses[0]  # of the largest alpha
    # new rows of the tasks: near the noise
    X_new, y_new, _ = make_tasks(seed=0, noise=0.0)
    assert np.mean((model.predict(X_new) - y_new) ** 2) < 0.2


def test_joint_features_and_own_features_are_found():
    X, y, _ = make_tasks()
    y = y + 3 * X[:, 9] * (X[:, -1] == 5)
    model = MultiTaskLinearRegressor("shared_sparse", 0.6, task=-1).fit(X, y)
    assert_array_equal(np.flatnonzero((model.shared_coef_ != 0).any(axis=0)), [0, 1, 2])
    assert_array_equal(np.argwhere(model.own_coef_ != 0), [[5, 9]])
    model = MultiTaskLinearRegressor("l21", 1.0, task=-1).fit(*make_tasks()[:2])
    assert_array_equal(model.selected_features_, [0, 1, 2])


def test_clusters_and_relations_are_found():
    X, y, _ = make_tasks()
    model, _ = fit(MultiTaskLinearRegressor, "clustered", X, y, alpha=0.01)
    assert len(np.unique(model.clusters_[::2])) == 1
    assert len(np.unique(model.clusters_[1::2])) == 1
    assert model.clusters_[0] != model.clusters_[1]
    for penalty in ("covariance", "trace"):
        model, _ = fit(MultiTaskLinearRegressor, penalty, X, y, alpha=0.01)
        affinity = model.task_affinity_
        same = np.add.outer(np.arange(8), np.arange(8)) % 2 == 0
        assert affinity[same].min() > affinity[~same].max()
        assert_allclose(np.trace(model.task_covariance_), 1.0)
    model, _ = fit(MultiTaskLinearRegressor, "trace", X, y, alpha=0.5)
    assert np.linalg.matrix_rank(model.coef_, tol=1e-6) == 2


def test_the_learned_covariance_is_a_fixed_point_of_the_paper():
    X, y, _ = make_tasks()
    model = MultiTaskLinearRegressor("covariance", 0.05, task=-1, tol=1e-12)
    model.fit(X, y)
    W = model.coef_ * model.scale_
    omega = model.task_covariance_
    values, vectors = np.linalg.eigh(W @ W.T)
    root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    assert_allclose(omega, root / np.trace(root), atol=1e-7)
    # given it, the coefficients minimise the quadratic objective: their gradient is 0
    # in the space of the covariance, beyond which it is infinitely dear
    values, vectors = np.linalg.eigh(omega)
    space = vectors[:, values > 1e-6] @ vectors[:, values > 1e-6].T
    metric = np.linalg.pinv(omega, rcond=1e-6) + 0.1 * np.eye(8)
    Z, task = X[:, :-1] / model.scale_, X[:, -1].astype(int)
    residual = y - model.predict(X)
    slope = np.array([Z[task == t].T @ residual[task == t] / 25 for t in range(8)])
    assert_allclose(space @ slope, 0.05 * metric @ W, atol=1e-4)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", BOTH)
def test_a_path_has_the_fits_of_its_alphas(kind, penalty):
    X, y, _ = make_tasks()
    model, labels = fit(kind, penalty, X, y, alphas=[0.02, 0.3], alpha=0.3, tol=1e-7)
    path = model.coefficient_path(X, labels)
    assert_array_equal(path.alphas, [0.3, 0.02])
    assert path.coefs.shape == (2, 8, 12)
    assert (path.dual_gaps < 1e-5).all()
    for alpha, coef, intercept in zip(
        path.alphas, path.coefs, path.intercepts, strict=True
    ):
        one = model.set_params(alpha=float(alpha)).fit(X, labels)
        assert_allclose(coef, one.coef_, atol=1e-3)
        assert_allclose(intercept, one.intercept_, atol=1e-3)


def test_scaled_features_do_not_depend_on_units():
    X, y, _ = make_tasks()
    units = np.append(10.0 ** np.arange(-6, 6), 1.0)
    for penalty in PENALTIES:
        one, _ = fit(MultiTaskLinearRegressor, penalty, X, y, alpha=0.1, tol=1e-10)
        two, _ = fit(
            MultiTaskLinearRegressor, penalty, X * units, y, alpha=0.1, tol=1e-10
        )
        assert_allclose(two.predict(X * units), one.predict(X), atol=1e-4)
        assert_allclose(two.coef_ * units[:-1], one.coef_, atol=1e-4)


def test_constant_features_and_shifts_do_no_harm():
    X, y, _ = make_tasks()
    more = np.insert(X, [0, 3], 7.0, axis=1)
    for penalty in PENALTIES:
        one, _ = fit(MultiTaskLinearRegressor, penalty, X, y, alpha=0.1, tol=1e-10)
        two, _ = fit(MultiTaskLinearRegressor, penalty, more, y, alpha=0.1, tol=1e-10)
        assert_allclose(two.predict(more), one.predict(X), atol=1e-4)
        three, _ = fit(
            MultiTaskLinearRegressor, penalty, X, y + 1e6, alpha=0.1, tol=1e-10
        )
        assert_allclose(three.predict(X) - 1e6, one.predict(X), atol=1e-3)


# ------------------------------------------------------------------------ later tasks


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", BOTH)
def test_a_later_task_learns_from_the_others(kind, penalty):
    X, y, W = make_tasks(n=60)
    alpha = 0.02 if kind is MultiTaskLinearRegressor else 0.002
    model, _ = fit(kind, penalty, X, y, alpha=alpha)
    before = model.predict(X)
    rng = np.random.default_rng(9)
    few, many = rng.normal(size=(12, 12)), rng.normal(size=(2000, 12))
    target = few @ W[0] + 0.2 * rng.normal(size=12)
    if kind is MultiTaskLinearClassifier:
        target = target > 0
    model.add_task(with_task(few, np.full(12, 99)), target)
    assert_array_equal(model.tasks_, [0, 1, 2, 3, 4, 5, 6, 7, 99])
    assert_array_equal(model.predict(X), before)
    found = model.predict(with_task(many, np.full(2000, 99)))
    if kind is MultiTaskLinearClassifier:
        assert np.mean(found == (many @ W[0] > 0)) > 0.68
        return
    if penalty == "graph":
        # a new task has no links, and is drawn to the mean of all tasks: here, that
        # of two clusters, which is like none of them (see the next test)
        assert np.isfinite(found).all()
        return
    # twelve rows of twelve features alone say little
    alone = Ridge(0.1).fit(few, target).predict(many)
    error = np.mean((found - many @ W[0]) ** 2)
    assert error < 0.5 * np.mean((alone - many @ W[0]) ** 2)
    if penalty == "clustered":
        assert model.clusters_[8] == model.clusters_[0]


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_later_task_that_is_like_all_others_needs_few_rows(penalty):
    X, _, W = make_tasks(n=60)
    rng = np.random.default_rng(9)
    w = W[0]
    y = X[:, :-1] @ w + 0.5 * rng.normal(size=len(X))
    model, _ = fit(MultiTaskLinearRegressor, penalty, X, y, alpha=0.02)
    few, many = rng.normal(size=(12, 12)), rng.normal(size=(2000, 12))
    target = few @ w + 0.2 * rng.normal(size=12)
    model.add_task(with_task(few, np.full(12, 99)), target)
    error = np.mean((model.predict(with_task(many, np.full(2000, 99))) - many @ w) ** 2)
    alone = Ridge(0.1).fit(few, target).predict(many)
    assert error < 0.25 * np.mean((alone - many @ w) ** 2)


@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("kind", BOTH)
def test_the_same_rows_added_twice_are_the_same(kind, penalty):
    X, y, _ = make_tasks()
    X[:, -1] *= 2
    model, y = fit(kind, penalty, X, y, alpha=0.05)
    rows = np.r_[:6, 60:66]
    y[rows] = np.arange(12) % 2
    for name in (-3, 5, 99):  # before, between and after the others
        model.add_task(with_task(X[rows, :-1], np.full(12, name)), y[rows])
    new = model.coef_[[0, 4, -1]]
    assert_allclose(new, new[[1, 2, 0]], atol=1e-12)
    assert (new != 0).any()


@pytest.mark.parametrize("kind", BOTH)
def test_parts_of_coefficients_have_later_tasks(kind):
    X, y, _ = make_tasks()
    X[:, -1] *= 2
    model, y = fit(kind, "shared_sparse", X, y, alpha=0.02)
    own = model.own_coef_
    model.add_task(with_task(X[60:90, :-1], np.full(30, 5)), y[60:90])
    assert model.shared_coef_.shape == model.own_coef_.shape == (9, 12)
    assert_allclose(model.shared_coef_ + model.own_coef_, model.coef_)
    assert_array_equal(np.delete(model.own_coef_, 3, axis=0), own)
    assert (model.own_coef_[3] == 0).all()
    assert (model.shared_coef_[3] != 0).any()


def test_a_later_task_counts_where_others_lack_a_class():
    X, y, _ = make_tasks()
    labels = y > np.median(y)
    labels[X[:, -1] == 2] = True
    model = MultiTaskLinearClassifier("l21", 0.01, task=-1).fit(X, labels)
    before = model.predict_proba(X)
    model.add_task(with_task(X[60:90, :-1], np.full(30, 99)), labels[90:120])
    changed = np.abs(model.predict_proba(X) - before).max(axis=1) > 1e-12
    assert_array_equal(np.unique(X[changed, -1]), [2])


def test_a_path_leaves_nothing_of_an_earlier_fit():
    X, y, _ = make_tasks()
    model = MultiTaskLinearRegressor("l21", task=-1, n_alphas=5).fit(X, y)
    assert len(model.alphas_) == len(model.path_losses_)
    path = model.set_params(n_alphas=3).coefficient_path(X, y)
    assert model.alpha_ == path.alphas[-1]
    assert not hasattr(model, "alphas_")
    assert not hasattr(model, "path_losses_")


def test_known_tasks_cannot_be_added():
    X, y, _ = make_tasks()
    model, _ = fit(MultiTaskLinearRegressor, "l21", X, y, alpha=0.1)
    with pytest.raises(ValueError, match="add_task adds tasks that"):
        model.add_task(X[:5], y[:5])


def test_unknown_tasks_have_the_mean_of_the_coefficients():
    X, y, _ = make_tasks()
    model, _ = fit(MultiTaskLinearRegressor, "l21", X, y, alpha=0.1)
    new = with_task(X[:, :-1], np.full(len(X), 99))
    with pytest.warns(UserWarning, match="99"):
        found = model.predict(new)
    expected = X[:, :-1] @ model.coef_.mean(axis=0) + model.intercept_.mean()
    assert_allclose(found, expected)
    assert_allclose(model.common_coef_, model.coef_.mean(axis=0))


# ----------------------------------------------------------------------------- classes


def test_classes_that_only_some_tasks_have():
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(240, 5)), np.arange(240) % 4
    score = X[:, 0] + 0.3 * rng.normal(size=240)
    names = np.array([["a", "b"], ["a", "b"], ["b", "c"], ["x", "y"]])
    y = names[task, (score > 0).astype(int)]
    for penalty in PENALTIES:
        model = MultiTaskLinearClassifier(
            penalty, 0.01, task=-1, graph=np.ones((4, 4))
        ).fit(with_task(X, task), y)
        proba = model.predict_proba(with_task(X, task))
        assert_allclose(proba.sum(axis=1), 1.0)
        assert (proba[task == 3][:, :3] == 0).all()
        assert (proba[task < 3][:, 3:] == 0).all()
        # c is possible for the tasks that share b, though they never show it
        assert (proba[task == 0][:, 2] > 0).all()
        assert model.score(with_task(X, task), y) > 0.85
        scores = model.decision_function(with_task(X, task))
        assert_array_equal(
            model.classes_[scores.argmax(axis=1)], model.predict(with_task(X, task))
        )


def test_a_task_of_one_class_and_one_class_in_all():
    X, y, _ = make_tasks()
    labels = y > np.median(y)
    labels[X[:, -1] == 2] = True
    model, _ = MultiTaskLinearClassifier("l21", 0.01, task=-1).fit(X, labels), None
    lonely = X[:, -1] == 2
    proba = model.predict_proba(X[lonely])[:, 1]
    assert (proba > 0.9).all()
    assert (proba < 1).all()  # the other class is possible, as elsewhere
    assert (model.coef_[2] == 0).all()
    one = MultiTaskLinearClassifier("l21", task=-1).fit(X, np.full(len(X), "only"))
    assert set(one.predict(X)) == {"only"}


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("kind", BOTH)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"penalty": "l12"}, "'penalty' parameter of .* must be a str among"),
        ({"alpha": -1.0}, "'alpha' parameter"),
        ({"alpha": 0.0}, "'alpha' parameter"),
        ({"alphas": [0.1, -2.0]}, "alphas must be a list of finite numbers above 0"),
        ({"ridge": 0.0}, "'ridge' parameter"),
        ({"within_penalty": 0.5}, "'within_penalty' parameter"),
        ({"penalty": "graph"}, r'penalty="graph" of .* needs graph=: .* \(8, 8\)'),
        (
            {"penalty": "graph", "graph": np.ones((3, 3))},
            r"graph has shape \(3, 3\), but there are 8 tasks \(0, 1, 2",
        ),
        (
            {"penalty": "graph", "graph": np.triu(np.ones((8, 8)))},
            "graph is not symmetric: tasks 0 and 1 have 1 one way and 0 the other",
        ),
        (
            {"penalty": "graph", "graph": -np.ones((8, 8))},
            "the link of tasks 0 and 0 the weight -1",
        ),
        (
            {"penalty": "graph", "graph": {(0, 77): 1.0}},
            "graph links a task 77 that is not in the task column",
        ),
        (
            {"penalty": "graph", "graph": {(0, 1): 1.0, (1, 0): 5.0}},
            "link of tasks 0 and 1 the weight 1 one way and 5 the other",
        ),
    ],
)
def test_bad_parameters_are_refused(kind, options, message):
    X, y, _ = make_tasks()
    labels = y if kind is MultiTaskLinearRegressor else y > 0
    with pytest.raises(ValueError, match=message):
        kind(**options, task=-1).fit(X, labels)


def test_a_graph_may_be_given_by_pairs_of_tasks():
    X, y, _ = make_tasks()
    links = np.zeros((8, 8))
    links[0, 2] = links[2, 0] = 2.0
    one = MultiTaskLinearRegressor("graph", 0.1, graph=links, task=-1).fit(X, y)
    pairs = {(2, 0): 2.0}
    two = MultiTaskLinearRegressor("graph", 0.1, graph=pairs, task=-1).fit(X, y)
    assert_allclose(one.coef_, two.coef_)
    packed = sp.csr_array(links)
    two = MultiTaskLinearRegressor("graph", 0.1, graph=packed, task=-1).fit(X, y)
    assert_allclose(one.coef_, two.coef_)


@pytest.mark.parametrize("kind", BOTH)
def test_graphs_of_too_many_tasks_are_refused(kind):
    task = np.repeat(np.arange(10_001), 2)
    X = with_task(np.arange(20_002.0)[:, None], task)
    model = kind("graph", 0.1, graph={(0, 1): 1.0}, task=-1)
    with pytest.raises(ValueError, match=r"up to 10,000 tasks; here are 10,001\. Fit"):
        model.fit(X, np.arange(20_002) % 2)


def test_graphs_of_too_many_classes_of_tasks_are_refused():
    task = np.repeat(np.arange(3_334), 3)
    X = with_task(np.arange(10_002.0)[:, None], task)
    model = MultiTaskLinearClassifier("graph", 0.1, graph={(0, 1): 1.0}, task=-1)
    with pytest.raises(ValueError, match="classes of tasks; here are 10,002"):
        model.fit(X, np.arange(10_002) % 3)


@pytest.mark.parametrize("kind", BOTH)
def test_models_with_any_graph_can_be_saved(kind, tmp_path):
    X, y, _ = make_tasks()
    y = y if kind is MultiTaskLinearRegressor else y > np.median(y)
    links = np.zeros((8, 8))
    links[0, 2] = links[2, 0] = 2.0
    forms = [sp.csr_array, sp.csr_matrix, sp.coo_array, sp.lil_array, sp.dia_array]
    empty = sp.csr_array((8, 8))
    for graph in (links, {(0, 2): 2.0}, *[form(links) for form in forms], empty):
        model = kind("graph", 0.1, graph=graph, task=-1).fit(X, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            kinlearn.save(model, tmp_path / "model.skops")
        assert model.graph is graph
        again = kinlearn.load(tmp_path / "model.skops")
        assert type(again.graph) is type(graph)
        assert_array_equal(again.predict(X), model.predict(X))
        new = with_task(X[:9, :-1], np.full(9, 99))
        labels = y[::22][:9]
        for each in (model, again):
            each.add_task(new, labels)
        assert_array_equal(again.coef_, model.coef_)
        assert_array_equal(clone(again).fit(X, y).coef_, model.coef_[:8])


@pytest.mark.parametrize("form", ["pairs", "sparse", "dense"])
def test_searches_over_graphs_can_be_saved(form, tmp_path):
    X, y, _ = make_tasks()
    graphs = [{(0, 2): 2.0}, {(0, 2): 1.0, (1, 3): 1.0}]
    if form != "pairs":
        graphs = [np.zeros((8, 8)), np.ones((8, 8))]
    if form == "sparse":
        graphs = [sp.csr_array(graph) for graph in graphs]
    model = MultiTaskLinearRegressor("graph", 0.1, task=-1)
    folds = KFold(2, shuffle=True, random_state=0)
    search = GridSearchCV(model, {"graph": tuple(graphs)}, cv=folds).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kinlearn.save(search, tmp_path / "search.skops")
    assert search.param_grid["graph"][0] is graphs[0]
    assert search.cv_results_["params"][1]["graph"] is graphs[1]
    again = kinlearn.load(tmp_path / "search.skops")
    assert_array_equal(again.predict(X), search.predict(X))
    found = [
        again.param_grid["graph"],
        [each["graph"] for each in again.cv_results_["params"]],
        again.cv_results_["param_graph"].tolist(),
    ]
    for each in found:
        for one, two in zip(each, graphs, strict=True):
            assert type(one) is type(two)
            if form == "pairs":
                assert one == two
            else:
                assert abs(one - two).sum() == 0


def test_missing_values_are_refused_with_their_place():
    X, y, _ = make_tasks()
    X[30, 4] = np.nan
    with pytest.raises(ValueError, match=re.escape("row 30, task 1")):
        MultiTaskLinearRegressor("l21", 0.1, task=-1).fit(X, y)


@pytest.mark.parametrize("penalty", PENALTIES)
def test_a_task_of_one_row_and_constant_targets(penalty):
    X, y, _ = make_tasks()
    rows = np.flatnonzero(X[:, -1] != 3)[5:]
    rows = np.append(rows, np.flatnonzero(X[:, -1] == 3)[:1])
    y = np.where(X[:, -1] == 4, 2.5, y)
    model, _ = fit(
        MultiTaskLinearRegressor, penalty, X[rows], y[rows], n_alphas=5, n_folds=3
    )
    found = model.predict(X)
    assert np.isfinite(found).all()
    assert_allclose(found[rows[-1]], y[rows[-1]])  # its intercept is free
    same, _ = fit(MultiTaskLinearRegressor, penalty, X, np.full(len(X), 3.25))
    assert_allclose(same.predict(X), 3.25)
    assert_allclose(same.coef_, 0.0, atol=1e-12)


def test_rows_that_cannot_be_held_out_are_said():
    X = with_task(np.arange(8.0).reshape(4, 2), np.arange(4) // 2)
    with pytest.raises(ValueError, match="one sample at the most"):
        MultiTaskLinearClassifier("covariance", task=-1).fit(X, np.arange(4) % 2)


def test_an_unfinished_fit_is_said():
    X, y, _ = make_tasks()
    with pytest.warns(ConvergenceWarning, match="stopped after 1 iterations"):
        MultiTaskLinearRegressor(
            "trace", 0.01, alphas=[0.01], task=-1, max_iter=1, tol=1e-9
        ).fit(X, y)


def without_penalty(X, y):
    """Coefficients of each task alone."""
    found = []
    for t in range(8):
        rows = X[:, -1] == t
        found.append(LinearRegression().fit(X[rows, :-1], y[rows]).coef_)
    return np.array(found)


def test_joint_features_of_next_to_no_penalty_are_found():
    X, y, _ = make_tasks()
    model = MultiTaskLinearRegressor("l21", 1e-9, task=-1, tol=1e-8).fit(X, y)
    assert model.dual_gap_ < 1e-7
    assert_allclose(model.coef_, without_penalty(X, y), atol=1e-5)
    y = y + 10 * np.random.default_rng(0).normal(size=len(y)) > 0  # not separable
    model = MultiTaskLinearClassifier("l21", 1e-5, task=-1, tol=1e-8).fit(X, y)
    assert model.dual_gap_ < 1e-7


def test_joint_features_of_one_task_with_few_rows_are_found():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(15, 40)), rng.normal(size=15)
    for alpha in (3e-3, 3e-2):
        model = MultiTaskLinearRegressor("l21", alpha, tol=1e-8, scale=False)
        lasso = Lasso(alpha, tol=1e-12, max_iter=1_000_000).fit(X, y)
        assert_allclose(model.fit(X, y).coef_[0], lasso.coef_, atol=1e-5)


def test_a_gap_that_falls_no_further_is_said():
    X, y, _ = make_tasks()
    model = MultiTaskLinearRegressor("shared_sparse", 1e-9, task=-1)
    with pytest.warns(ConvergenceWarning, match="do not lower it: alpha=1e-09") as seen:
        model.fit(X, y)
    assert "Raise max_iter" not in str(seen[0].message)
    assert model.n_iter_ < model.max_iter
    assert_allclose(model.coef_, without_penalty(X, y), atol=1e-3)


def test_tasks_without_weight_are_refused():
    X, y, _ = make_tasks()
    weight = (X[:, -1] != 6).astype(float)
    with pytest.raises(ValueError, match=r"Task 6.* has no row of positive weight"):
        MultiTaskLinearRegressor("l21", 0.1, task=-1).fit(X, y, sample_weight=weight)


def test_a_hundred_thousand_sparse_features():
    rng = np.random.default_rng(0)
    shape = 400, 100_000
    X = sp.random_array(shape, density=2e-4, format="csr", random_state=rng)
    X.data -= 0.5
    X = sp.csr_array(X) + sp.csr_array(
        (rng.normal(size=400), (np.arange(400), np.arange(400) % 2)), shape=X.shape
    )
    task = np.arange(400) % 5
    y = np.asarray(X[:, [0, 1]] @ [3.0, -3.0]).ravel() + 0.1 * rng.normal(size=400)
    packed = with_task(X, task)
    model = MultiTaskLinearRegressor("l21", 0.3, task=-1, alphas=[0.6, 0.3])
    model.fit(packed, y)
    assert_array_equal(model.selected_features_, [0, 1])
    model = MultiTaskLinearClassifier("l21", 0.2, task=-1, alphas=[0.2])
    model.fit(packed, y > 0)
    assert_array_equal(model.selected_features_, [0, 1])
