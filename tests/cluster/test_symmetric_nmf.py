"""The clusterer: what it finds, what it does not depend on, what it refuses."""

import _thread
import threading
import time
import unittest

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import estimator_checks_generator

from kinlearn import with_task
from kinlearn.cluster import MultiTaskSymmetricNMF, _affinity, _solver
from kinlearn.datasets import make_term_tasks
from kinlearn.metrics import clustering_accuracy_score
from kinlearn.testing import _checks
from tests.reference.symmetric_nmf import thesis_objective
from tests.versions import needs_callbacks


def _documents(n_tasks=3, n_classes=2, rows=15, shared=0.5, seed=0, **options):
    X, y = make_term_tasks(
        n_tasks,
        n_classes=n_classes,
        n_samples_per_class=rows,
        shared=shared,
        random_state=seed,
        **options,
    )
    task = X[:, [-1]].toarray().ravel().astype(int)
    return sp.csr_array(X[:, :-1]), y, task


def _fit(X, task, n_clusters=2, **params):
    params = {"task": -1, "random_state": 0, **params}
    return MultiTaskSymmetricNMF(n_clusters, **params).fit(with_task(X, task))


def _noisy(seed=0):
    return _documents(rows=20, focus=0.35, length=12, seed=seed)


@pytest.mark.parametrize(
    ("affinity", "weighting"),
    [
        ("shared", "loss"),
        ("cosine", "loss"),
        ("rbf", "loss"),
        ("shared", "affinity"),
        ("cosine", "affinity"),
    ],
)
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_planted_clusters_are_found_and_named_alike_in_all_tasks(
    affinity, n_clusters, weighting
):
    X, y, task = _documents(n_classes=n_clusters)
    model = _fit(X, task, n_clusters, affinity=affinity, weighting=weighting)
    assert clustering_accuracy_score(y, model.labels_) > 0.95
    assert model.embedding_.shape == (len(y), n_clusters)
    assert (model.embedding_ >= 0).all()
    assert model.optimality_ < 1e-2


def test_fit_predict_is_labels():
    X, _, task = _documents()
    model = MultiTaskSymmetricNMF(task=-1, random_state=0)
    assert_array_equal(model.fit_predict(with_task(X, task)), model.labels_)


@pytest.mark.parametrize("weighting", ["loss", "affinity"])
@pytest.mark.parametrize("sparse", [True, False])
def test_lambda_zero_is_each_task_alone(weighting, sparse):
    X, _, task = _noisy()
    X = X if sparse else X.toarray()
    options = {"weighting": weighting, "tol": 1e-12, "n_init": 8, "max_iter": 5000}
    together = _fit(X, task, lambda_inter=0.0, **options)
    total = 0.0
    for t in range(3):
        mine = np.flatnonzero(task == t)
        alone = MultiTaskSymmetricNMF(random_state=0, **options).fit(X[mine])
        total += alone.objective_
        assert adjusted_rand_score(alone.labels_, together.labels_[mine]) == 1
    assert_allclose(together.objective_, total, rtol=1e-6)


def test_a_task_that_no_lambda_reaches_is_clustered_alone():
    X, _, task = _noisy()
    lambdas = np.array([[1, 0.5, 0], [0.5, 1, 0], [0, 0, 1]])
    options = {"tol": 1e-12, "n_init": 8, "max_iter": 5000}
    model = _fit(X, task, lambda_inter=lambdas, **options)
    mine = task == 2
    alone = MultiTaskSymmetricNMF(random_state=0, **options).fit(
        X[np.flatnonzero(mine)]
    )
    assert adjusted_rand_score(alone.labels_, model.labels_[mine]) == 1


def test_affinity_weighting_minimises_the_thesis_objective():
    X, _, task = _noisy()
    model = _fit(
        X, task, weighting="affinity", balance=0.0, store_affinity=True, tol=1e-9
    )
    W = model.affinity_.toarray()
    assert_allclose(model.objective_, thesis_objective(W, model.embedding_, task, 0.0))


def test_without_the_penalty_the_thesis_form_cuts_between_tasks():
    # figure 6.3: tasks without a term in common, and nearly no weight between them
    X, y, task = _documents(n_tasks=2, rows=30, shared=0.1)
    options = {"weighting": "affinity", "lambda_inter": 0.01, "tol": 1e-7}
    plain = _fit(X, task, balance=0.0, **options)
    assert adjusted_rand_score(plain.labels_, task) > 0.9
    balanced = _fit(X, task, balance=1.0, **options)
    for t in range(2):
        mine = task == t
        assert clustering_accuracy_score(y[mine], balanced.labels_[mine]) > 0.95


@pytest.mark.parametrize("kind", ["sparse", "dense", "precomputed"])
def test_the_order_of_rows_does_not_matter(kind):
    X, _, task = _noisy()
    options = {"n_init": 2}
    if kind == "precomputed":
        X = _fit(
            X, task, store_affinity=True, normalize=False, lambda_inter=1
        ).affinity_
        X, options = X.toarray(), {"n_init": 2, "affinity": "precomputed"}
    elif kind == "dense":
        X = X.toarray()
    model = _fit(X, task, **options)
    order = np.random.default_rng(1).permutation(len(task))
    moved = X[order][:, order] if kind == "precomputed" else X[order]
    again = _fit(moved, task[order], **options)
    assert_array_equal(again.labels_, model.labels_[order])
    assert_allclose(again.objectives_, model.objectives_)


def test_the_names_of_tasks_do_not_matter():
    X, _, task = _noisy()
    model = _fit(X, task, n_init=2)
    renamed = _fit(X, np.array([40, -3, 7])[task], n_init=2)
    assert_array_equal(renamed.tasks_, [-3, 7, 40])
    assert_array_equal(renamed.labels_, model.labels_)


# The promises of our supervised estimators that make sense for a clusterer.
_TASK_CHECKS = [
    check
    for check in [*_checks.FOR_ALL, *_checks.FOR_N_JOBS]
    if check.__name__ != "check_cross_validation_and_search"  # there is no score
]


@pytest.mark.parametrize("check", _TASK_CHECKS, ids=lambda check: check.__name__)
def test_task_checks(check):
    check(MultiTaskSymmetricNMF(affinity="rbf", n_init=2))


def test_scikit_learn_checks_of_the_default():
    # rows of a few dense columns share all of them, and blobs have negative values
    excused = {"check_clustering": "negative values are refused by affinity='shared'"}
    checks = estimator_checks_generator(
        MultiTaskSymmetricNMF(), expected_failed_checks=excused, mark="skip"
    )
    ran = 0
    for estimator, check in checks:
        try:
            check(estimator)
        except unittest.SkipTest:
            continue
        ran += 1
    assert ran > 40


@pytest.mark.parametrize("affinity", ["shared", "cosine", "rbf"])
def test_new_rows_of_known_tasks(affinity):
    X, y, task = _documents(rows=40)
    old = np.arange(len(y)) % 2 == 0
    rows, new = np.flatnonzero(old), np.flatnonzero(~old)
    model = _fit(X[rows], task[rows], affinity=affinity)
    labels = model.predict(with_task(X[new], task[new]))
    match = {model.labels_[y[rows] == c][0]: c for c in (0, 1)}
    assert np.mean([match[label] for label in labels] == y[new]) > 0.95
    assert_array_equal(model.predict(with_task(X[rows], task[rows])), model.labels_)


def test_folding_in_is_non_negative_least_squares():
    from scipy.optimize import nnls

    X, _, task = _noisy()
    rows = np.arange(40)
    A = _fit(X, task, store_affinity=True, normalize=False, lambda_inter=1.0).affinity_
    A = A.toarray()
    model = _fit(
        A[np.ix_(rows, rows)],
        task[rows],
        affinity="precomputed",
        normalize=False,
        lambda_inter=0.5,
    )
    new = np.arange(40, len(task))
    predicted = model.predict(with_task(A[np.ix_(new, rows)], task[new]))
    for i, label in zip(new, predicted, strict=True):
        root = np.sqrt(np.where(task[rows] == task[i], 1.0, 0.5))
        v, _ = nnls(root[:, None] * model.embedding_, root * A[i, rows])
        assert label == v.argmax()


def test_rows_without_affinity_have_no_cluster():
    X, _, task = _documents()
    X = X.tolil()
    X[4] = 0
    X = sp.csr_array(X)
    for container in (X, X.toarray()):
        model = _fit(container, task)
        assert model.labels_[4] == -1
        assert_array_equal(np.flatnonzero(model.labels_ == -1), [4])
        assert_array_equal(model.embedding_[4], 0)
        empty = container[[4]]
        assert_array_equal(model.predict(with_task(empty, task[[4]])), [-1])


def test_a_row_of_terms_that_nobody_else_has_is_isolated():
    X, _, task = _documents()
    own = sp.csr_array((np.array([0.1, 0.7]), ([6, 6], [0, 1])), shape=(len(task), 2))
    X = X.tolil()
    X[6] = 0
    X = sp.csr_array(sp.hstack([X, own]))
    for normalize in (True, False):
        assert _fit(X, task, normalize=normalize).labels_[6] == -1


def test_all_rows_empty():
    model = _fit(sp.csr_array((6, 4)), np.arange(6) % 2)
    assert_array_equal(model.labels_, np.full(6, -1))
    assert model.objective_ == 0


def test_duplicates_go_together():
    X, _, task = _noisy()
    twice = sp.csr_array(sp.vstack([X, X]))
    labels = _fit(twice, np.tile(task, 2), n_init=3).labels_
    half = len(task)
    assert np.mean(labels[:half] == labels[half:]) == 1


def test_disconnected_graphs_in_one_task():
    X = np.kron(np.eye(3), np.ones((4, 5)))  # three groups without a common term
    model = MultiTaskSymmetricNMF(3, random_state=0).fit(X)
    assert adjusted_rand_score(model.labels_, np.repeat([0, 1, 2], 4)) == 1


def test_a_task_with_fewer_rows_than_clusters_follows_the_others():
    X, y, task = _documents(n_tasks=2, n_classes=3, rows=12)
    task = task.copy()
    task[0] = 5
    model = _fit(X, task, 3)
    assert clustering_accuracy_score(y, model.labels_) == 1


def _unequal(share, seed):
    X, y, task = _documents(rows=60, focus=0.3, length=15, seed=seed)
    rng = np.random.default_rng(0)
    kept = np.flatnonzero((y == 0) | (rng.random(len(y)) < share / (1 - share)))
    return X[kept], y[kept], task[kept]


@pytest.mark.parametrize("share", [0.15, 0.3])
def test_given_shares_are_those_of_the_clusters(share):
    found, asked = [], []
    for seed in range(4):
        X, y, task = _unequal(share, seed)
        first = np.mean([np.mean(y[task == t] == 1) for t in range(3)])
        options = {"balance": 1.0, "max_iter": 5000}
        given = _fit(X, task, shares=[first, 1 - first], **options)
        found.append(np.mean(given.labels_ == 0))
        asked.append(first)
    by_task = _fit(X, task, shares=[[first, 1 - first]] * 3, **options)
    assert_allclose(by_task.embedding_, given.embedding_)
    assert_allclose(np.mean(found), np.mean(asked), atol=0.08)


def test_given_shares_help_a_small_cluster():
    scores = []
    for seed in range(4):
        X, y, task = _unequal(0.15, seed)
        first = np.mean(y == 1)
        for shares in (None, [first, 1 - first]):
            labels = _fit(X, task, shares=shares, max_iter=5000).labels_
            scores.append(clustering_accuracy_score(y, labels))
    assert np.mean(scores[1::2]) > np.mean(scores[::2]) + 0.1


def test_the_best_start_is_kept():
    X, _, task = _noisy(seed=3)
    model = _fit(X, task, n_init=6, n_jobs=2)
    assert model.objectives_.shape == (6,)
    assert model.objective_ <= model.objectives_.min() * (1 + 1e-12)


def test_too_few_sweeps_are_reported():
    X, _, task = _noisy()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 sweeps"):
        _fit(X, task, max_iter=1, tol=1e-12)


@pytest.mark.parametrize("balance", [1, 100])
def test_a_slow_fall_of_the_objective_is_no_end(balance):
    X, _, task = _noisy()
    model = _fit(X, task, balance=balance, n_init=1, max_iter=20_000)
    assert model.optimality_ < 0.01


def test_an_end_far_from_a_minimum_is_reported(monkeypatch):
    monkeypatch.setattr(_solver, "_FINISHES", 0)
    X, _, task = _noisy()
    with pytest.warns(ConvergenceWarning, match="optimality_ is .*Lower tol") as found:
        _fit(X, task, balance=100, n_init=1)
    assert found[0].filename == __file__


def test_isolated_rows_do_not_count_as_far_from_a_minimum():
    X = np.zeros((12, 4))
    X[:8] = np.random.default_rng(0).random((8, 4))
    assert _fit(X, np.repeat([0, 1], 6), tol=0, max_iter=5000).optimality_ < 1e-6


@pytest.mark.parametrize("scale", [1e160, 1e-200])
def test_numbers_without_squares_are_refused(scale):
    X, _, task = _documents()
    with pytest.raises(ValueError, match="too large or too small for float64"):
        _fit(X * scale, task, affinity="cosine")


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"lambda_inter": 1e300 * np.ones((3, 3))}, r"lambda_inter.*at most 1e\+06"),
        ({"lambda_intra": 1e300}, r"lambda_intra is 1e\+300; at most 1e\+06"),
        ({"lambda_intra": 1e90, "normalize": False}, r"lambda_intra is 1e\+90"),
        ({"lambda_inter": np.ones((2, 2))}, r"shape \(2, 2\); with 3 tasks"),
        ({"lambda_inter": np.triu(np.ones((3, 3)))}, "symmetric.*tasks 0.* and .*1"),
        ({"lambda_inter": -np.ones((3, 3))}, "not negative"),
        ({"shares": [0.2, 0.3, 0.5]}, r"shape \(3,\); it must be \(2,\)"),
        ({"shares": [0.0, 1.0]}, "above 0 with sum 1"),
        ({"shares": [[0.5, 0.5], [0.5, 0.5], [0.9, 0.2]]}, r"task .*2.*\[0.9, 0.2\]"),
        ({"n_clusters": 91}, "n_samples=90 should be >= n_clusters=91"),
        ({"affinity": "precomputed"}, "square matrix besides the task column"),
    ],
)
def test_bad_settings_are_refused(params, message):
    X, _, task = _documents()
    with pytest.raises(ValueError, match=message):
        _fit(X, task, **params)


@pytest.mark.parametrize("params", [{}, {"normalize": False}, {"lambda_inter": 1e6}])
def test_the_largest_lambdas_can_be_computed_with(params):
    X, y, task = _documents()
    model = _fit(X, task, lambda_intra=1e6, **params)
    for t in range(3):
        mine = task == t
        assert clustering_accuracy_score(y[mine], model.labels_[mine]) == 1


@pytest.mark.parametrize(
    "texts",
    [
        ["lunch at noon", "dinner"],
        np.array(["lunch at noon", "dinner"]),
        np.array([["lunch at noon", "mail"], ["dinner", "news"]]),
        [["lunch at noon", 0], ["dinner", 1]],
        pd.Series(["lunch at noon", "dinner"]),
        pl.Series(["lunch at noon", "dinner"]),
    ],
    ids=["list", "array", "table", "rows", "pandas", "polars"],
)
def test_texts_are_told_the_way_to_numbers(texts):
    with pytest.raises(ValueError, match=r"such as 'lunch at noon'.*Tfidf"):
        MultiTaskSymmetricNMF().fit(texts)
    X, _, task = _documents()
    with pytest.raises(ValueError, match=r"such as 'lunch at noon'.*Tfidf"):
        _fit(X, task, n_init=1).predict(texts)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_negative_values_are_named(container):
    X, _, task = _documents()
    X = X.toarray()
    X[8, 2] = -3.5
    with pytest.raises(ValueError, match=r"row 8 has -3.5 in column 'x2'.*rbf"):
        _fit(container(X), task)


def test_an_affinity_must_be_symmetric():
    W = np.ones((6, 6))
    W[1, 4] = 2
    for container in (W, sp.csr_array(W)):
        with pytest.raises(ValueError, match="differ by up to 1 from those across"):
            MultiTaskSymmetricNMF(affinity="precomputed").fit(container)


def test_unknown_tasks_are_refused():
    X, _, task = _documents()
    model = _fit(X, task)
    with pytest.raises(
        ValueError, match=r"9.* Fit with these tasks, or drop the rows\."
    ):
        model.predict(with_task(X[:2], [0, 9]))


def test_input_is_left_alone():
    X, _, task = _documents()
    packed = with_task(X, task)
    before = packed.copy()
    MultiTaskSymmetricNMF(task=-1, random_state=0).fit(packed)
    assert_array_equal(packed.toarray(), before.toarray())


@needs_callbacks
def test_callbacks_see_every_start():
    seen = []

    class Record:
        def setup(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **data):
            pass

        def on_fit_task_end(self, estimator, context, **data):
            seen.append(context.task_name)

        def teardown(self, estimator, context):
            pass

    X, _, task = _documents()
    model = MultiTaskSymmetricNMF(task=-1, n_init=3, random_state=0)
    model.set_callbacks(Record()).fit(with_task(X, task))
    assert seen[:3] == ["start 0", "start 1", "start 2"]
    assert len(seen) == 4


def test_a_prediction_reads_the_rows_of_fit_at_most_twice(monkeypatch):
    X, _, task = _documents(20, rows=3)
    model = _fit(X, task, n_init=1)
    read = []
    halves = _affinity._halves

    def counted(X, kind):
        read.append(X.shape[0])
        return halves(X, kind)

    monkeypatch.setattr(_affinity, "_halves", counted)
    model.predict(with_task(X, task))
    assert sum(read) <= 2 * (120 + 120)  # not once for each task


def test_ctrl_c_ends_a_long_fit():
    X, _, task = _documents(rows=200, length=20, focus=0.1)
    model = MultiTaskSymmetricNMF(
        task=-1, n_init=500, tol=0.0, max_iter=10**6, random_state=0, n_jobs=2
    )
    pressed = []

    def press():
        pressed.append(time.perf_counter())
        _thread.interrupt_main()

    timer = threading.Timer(1.0, press)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        model.fit(with_task(X, task))
    timer.join()
    assert time.perf_counter() - pressed[0] < 5  # on a busy machine


def test_too_many_tasks_are_refused_before_the_work_begins():
    X = with_task(np.ones((5_001, 2)), np.arange(5_001))
    with pytest.raises(ValueError, match=r"5,000 tasks; here are 5,001\. .* join"):
        MultiTaskSymmetricNMF(task=-1).fit(X)
