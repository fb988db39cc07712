"""Boosting over two-task stumps: the thesis's theorems, known models, and promises."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV

from kinlearn import with_task
from kinlearn.boosting import AbstainingAdaBoostClassifier
from kinlearn.boosting._start_weights import start_weights
from kinlearn.boosting.stumps._search import vote
from kinlearn.exceptions import TaskFallbackWarning
from tests.interrupt import seconds_to_stop
from tests.reference import two_task_stumps as twin
from tests.versions import needs_callbacks


def make_tasks(seed, n=90, n_tasks=4, n_classes=2, noise=0.3, d=5):
    """Related tasks: one direction, turned a little for each, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    task = rng.permutation(np.arange(n) % n_tasks)
    common = rng.normal(size=d)
    turned = common + 0.5 * rng.normal(size=(n_tasks, d))
    score = (X * turned[task]).sum(axis=1) + noise * rng.normal(size=n)
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return X, task, y


def fit(X, task, y, n_estimators=40, sample_weight=None, **params):
    model = AbstainingAdaBoostClassifier(n_estimators, task=-1, **params)
    return model.fit(with_task(X, task), y, sample_weight=sample_weight)


# --------------------------------------------------------------------- theorems


@pytest.mark.parametrize("weighting", ["optimal", "conservative"])
@pytest.mark.parametrize("root", ["best", "best_per_task", "stochastic"])
@pytest.mark.parametrize("init", ["uniform", "task", "task_class"])
@pytest.mark.parametrize("seed", range(3))
def test_training_error_is_at_most_the_product_of_normalizers(
    seed, init, root, weighting
):
    X, task, y = make_tasks(seed, noise=2.0)
    model = fit(
        X, task, y, 60, init_weights=init, root=root, weighting=weighting,
        n_roots=5, random_state=seed,
    )  # fmt: skip
    start = start_weights(task, y, np.ones(len(y)), init)
    bounds = np.cumprod(model.normalizers_)
    margins = model.staged_decision_function(with_task(X, task))
    for bound, margin in zip(bounds, margins, strict=True):
        wrong = np.where(y == 1, margin, -margin) <= 1e-8  # no vote is an error here
        assert start[wrong].sum() <= bound + 1e-9


@pytest.mark.parametrize("seed", range(5))
def test_hamming_error_of_mh_is_at_most_the_product_of_normalizers(seed):
    X, task, y = make_tasks(seed, n=120, n_classes=4, noise=2.0)
    model = fit(X, task, y, 40, n_roots=5)
    assert model.algorithm_ == "mh"
    packed = with_task(X, task)
    n_labels = np.array([len(model.task_classes_[t]) for t in range(4)])
    start = 1 / (np.bincount(task)[task] * n_labels[task] * 4)
    bounds = np.cumprod(model.normalizers_)
    for bound, scores in zip(
        bounds, model.staged_decision_function(packed), strict=True
    ):
        error = 0.0
        for label in range(4):
            has = np.isin(label, model.task_classes_[0])  # all tasks have all classes
            sign = np.where(y == label, 1, -1)
            error += (start * has * (sign * scores[:, label] <= 1e-8)).sum()
        assert error <= bound + 1e-9


def test_conservative_normalizer_is_never_smaller():
    rng = np.random.default_rng(0)
    for right, wrong, abstained in rng.dirichlet(np.ones(3), size=200):
        if right <= wrong:
            right, wrong = wrong, right
        optimal = vote(right, wrong, abstained, "optimal", 0.0)
        careful = vote(right, wrong, abstained, "conservative", 0.0)
        assert careful <= optimal
        z_optimal = abstained + right * np.exp(-optimal) + wrong * np.exp(optimal)
        z_careful = (
            abstained * np.cosh(careful)
            + right * np.exp(-careful)
            + wrong * np.exp(careful)
        )
        assert_allclose(z_optimal, abstained + 2 * np.sqrt(right * wrong))
        assert_allclose(
            z_careful**2 - z_optimal**2,
            2 * abstained * (np.sqrt(right) - np.sqrt(wrong)) ** 2,
            atol=1e-12,
        )


# ------------------------------------------------------------------ the algorithm


def replay(model, X, task, y, start):
    """Check each round by the spec: vote, normaliser and update, from its answers."""
    packed, n = with_task(X, task), len(y)
    share, before = start / start.sum(), np.zeros(n)
    sign = np.where(y == 1, 1, -1)
    for number, margin in enumerate(model.staged_decision_function(packed)):
        margin = np.where(np.abs(margin) < 1e-8, 0.0, margin)
        step = margin - before
        answer = np.sign(np.where(np.abs(step) < 1e-7, 0, step))
        right, wrong, abstained = (share[answer * sign == k].sum() for k in (1, -1, 0))
        alpha = vote(right, wrong, abstained, model.weighting, model.smoothing)
        assert_allclose(model.estimator_weights_[number], alpha, rtol=1e-5)
        assert_allclose(step, alpha * answer, rtol=1e-5, atol=1e-7)
        factor = np.exp(-alpha * sign * answer)
        if model.weighting == "conservative":
            factor[answer == 0] = np.cosh(alpha)
        assert_allclose(model.normalizers_[number], (share * factor).sum(), rtol=1e-5)
        yield share, answer
        share = share * factor / (share * factor).sum()
        before = margin


@pytest.mark.parametrize("weighting", ["optimal", "conservative"])
@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_rounds_follow_the_thesis(weighting, smoothing):
    X, task, y = make_tasks(0, noise=2.0)
    model = fit(
        X, task, y, 30, weighting=weighting, smoothing=smoothing,
        init_weights="task_class",
    )  # fmt: skip
    start = start_weights(task, y, np.ones(len(y)), "task_class")
    for _, answer in replay(model, X, task, y, start):
        # a row is answered for at most two tasks; a stump knows three at most
        assert 1 <= len(np.unique(task[answer != 0])) <= 3
    assert model.n_estimators_ == 30


@pytest.mark.parametrize("seed", range(2))
def test_every_stump_is_the_best_there_is_when_all_roots_are_tried(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(4, size=(26, 2)).astype(float)
    task = rng.permutation(np.arange(26) % 3)
    y = rng.integers(2, size=26)
    model = fit(X, task, y, 5, n_roots=1000, smoothing=0.0, init_weights="task_class")
    start = start_weights(task, y, np.ones(26), "task_class")
    codes = np.searchsorted(np.unique(X), X)
    sign = np.where(y == 1, 1, -1)
    for share, answer in replay(model, X, task, y, start):

        def edge(_, left, right, share=share):
            return twin.sign_edge(share, sign, left, right)

        roots = twin.all_roots(codes.tolist(), [4, 4], task.tolist(), edge)
        best = max(
            twin.best_of_root(
                codes.tolist(), [4, 4], task.tolist(), edge, root, lambda i: 1.0
            )
            for root in roots
        )
        assert_allclose((share * sign * answer).sum(), best, rtol=1e-6)


@pytest.mark.parametrize(
    ("n_roots", "levels"), [(1, 2), (5, 2), (1000, 2), (1, 1), (9, 1)]
)
def test_one_task_is_adaboost_over_small_trees(n_roots, levels):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(40, 3)).round(1)
    y = (X[:, 0] + X[:, 1] ** 2 + rng.normal(size=40) > 0.5).astype(int)
    weight = rng.random(40) + 0.5  # no two stumps are equal
    model = AbstainingAdaBoostClassifier(
        8, n_roots=n_roots, levels=levels, smoothing=0.0, init_weights="uniform"
    ).fit(X, y, sample_weight=weight)
    expected = twin.adaboost_of_small_trees(
        X.tolist(),
        np.where(y == 1, 1, -1).tolist(),
        weight.tolist(),
        8,
        n_roots,
        levels,
    )
    assert_allclose(model.decision_function(X), expected, rtol=1e-5, atol=1e-7)


def test_start_weights_balance_what_they_say():
    rng = np.random.default_rng(0)
    task, y, weight = rng.integers(3, size=50), rng.integers(2, size=50), rng.random(50)
    cells = task * 2 + y
    assert_allclose(start_weights(task, y, weight, "uniform"), weight / weight.sum())
    by_task = start_weights(task, y, weight, "task")
    assert_allclose(np.bincount(task, by_task), 1 / 3)
    by_cell = start_weights(task, y, weight, "task_class")
    assert_allclose(np.bincount(cells, by_cell), 1 / 6)
    for out in (by_task, by_cell):  # within a cell, in proportion to the weights
        assert_allclose(np.ptp((out / weight)[cells == 0]), 0, atol=1e-12)


# ------------------------------------------------------------------- equivalences


@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
def test_integer_weights_are_repeated_rows(algorithm):
    X, task, y = make_tasks(1)
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    times = np.repeat(np.arange(len(y)), weight)
    settings = {"algorithm": algorithm, "n_roots": 5}
    one = fit(X, task, y, sample_weight=weight, **settings)
    two = fit(X[times], task[times], y[times], **settings)
    packed = with_task(X, task)
    assert_allclose(
        one.decision_function(packed), two.decision_function(packed), atol=1e-9
    )


@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
def test_order_of_rows_decides_nothing(algorithm):
    X, task, y = make_tasks(2)
    order = np.random.default_rng(0).permutation(len(y))
    one = fit(X, task, y, algorithm=algorithm, n_roots=5)
    two = fit(X[order], task[order], y[order], algorithm=algorithm, n_roots=5)
    packed = with_task(X, task)
    assert_allclose(
        one.decision_function(packed), two.decision_function(packed), atol=1e-9
    )


@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
@pytest.mark.parametrize("root", ["best", "stochastic"])
def test_threads_decide_nothing(algorithm, root, monkeypatch):
    from kinlearn.boosting.stumps import _table

    monkeypatch.setattr(_table, "_FEW_CELLS", 0)
    X, task, y = make_tasks(3, n=200)
    models = [
        fit(X, task, y, 10, algorithm=algorithm, root=root, n_jobs=n, random_state=0)
        for n in (1, 3)
    ]
    assert_array_equal(models[0].stumps_.nodes, models[1].stumps_.nodes)
    assert_array_equal(models[0].stumps_.values, models[1].stumps_.values)


def test_sparse_rows_are_dense_rows_with_zeros():
    X, task, y = make_tasks(4, n=150, d=80)
    X[np.random.default_rng(0).random(X.shape) < 0.8] = 0
    dense, packed = with_task(X, task), with_task(sp.csr_array(X), task)
    for algorithm in ("mtaa", "mh"):
        model = AbstainingAdaBoostClassifier(
            20, task=-1, algorithm=algorithm, n_roots=5
        )
        expected = model.fit(dense, y).decision_function(dense)
        assert_array_equal(model.decision_function(packed), expected)
        again = model.fit(packed, y)
        assert_array_equal(again.decision_function(packed), expected)


def test_binary_mh_has_opposite_scores():
    X, task, y = make_tasks(5)
    model = fit(X, task, y, algorithm="mh", n_roots=5)
    scores = model._class_scores.scores(
        model.stumps_, model._predict_data(with_task(X, task))
    )
    assert_allclose(scores[:, 0], -scores[:, 1], atol=1e-8)


# ----------------------------------------------------------------------- answers


def test_staged_predictions_end_with_the_final_ones():
    X, task, y = make_tasks(6, n_classes=3)
    model = fit(X, task, y, 15, n_roots=5)
    packed = with_task(X, task)
    for method in ("decision_function", "predict_proba", "predict"):
        stages = list(getattr(model, f"staged_{method}")(packed))
        assert len(stages) == model.n_estimators_ == 15
        assert_array_equal(stages[-1], getattr(model, method)(packed))


def test_probabilities_are_logistic_in_the_margin():
    X, task, y = make_tasks(7)
    model = fit(X, task, y)
    packed = with_task(X, task)
    margin = model.decision_function(packed)
    assert_allclose(model.predict_proba(packed)[:, 1], 1 / (1 + np.exp(-2 * margin)))


def test_a_task_without_a_vote_gets_its_majority_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    task = np.repeat([0, 1, 2], 30)
    y = (X[:, 0] > 0).astype(int)
    X[task == 2] = 1.0  # nothing to tell its rows apart
    y[task == 2] = np.arange(30) < 21
    with pytest.warns(TaskFallbackWarning, match="abstained on task 2 .1 of 3"):
        model = fit(X, task, y, 10)
    assert model.fallback_tasks_ == {2: 1}
    packed = with_task(X, task)
    assert (model.predict(packed)[task == 2] == 1).all()
    assert_allclose(model.predict_proba(packed)[task == 2], [[0.3, 0.7]] * 30)


def test_a_row_without_a_vote_gets_the_majority_class_of_its_task():
    # Where x is 1, both labels of task 1 weigh the same, and nothing tells them apart.
    X = np.array([[0.0], [1], [0], [0], [0], [1], [1]])
    task = np.array([0, 0, 1, 1, 1, 1, 1])
    y = np.array([0, 1, 0, 0, 0, 1, 0])
    model = fit(X, task, y, 1, init_weights="uniform")
    packed = with_task(X, task)
    silent = np.abs(model.decision_function(packed)) < 1e-8
    assert_array_equal(silent, (task == 1) & (X[:, 0] == 1))
    assert (model.predict(packed)[silent] == 0).all()
    assert not model.fallback_tasks_


def test_constant_features_leave_the_majority_class():
    with pytest.warns(TaskFallbackWarning):
        model = AbstainingAdaBoostClassifier(5).fit(np.ones((6, 2)), [0, 1, 1, 1, 0, 1])
    assert model.n_estimators_ == 0
    assert (model.predict(np.zeros((3, 2))) == 1).all()


@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
def test_tasks_of_one_class_alone_need_no_rounds(algorithm):
    X, task, _ = make_tasks(7)
    names = np.array(["a", "b", "c", "d"])
    options = {"algorithm": algorithm, "label_sets": "observed"}
    model = fit(X, task, names[task], **options)
    assert model.n_estimators_ == 0
    packed = with_task(X, task)
    assert_array_equal(model.predict(packed), names[task])
    assert_array_equal(model.predict_proba(packed), np.eye(4)[task])


def test_unknown_tasks_get_the_mean_probability_of_the_known():
    X, task, y = make_tasks(8)
    model = fit(X, task, y, unknown_task="share")
    mean = np.mean(
        [model.predict_proba(with_task(X, np.full(len(y), t))) for t in range(4)],
        axis=0,
    )
    strange = with_task(X, np.full(len(y), 77))
    assert_allclose(model.predict_proba(strange), mean, rtol=1e-9)


def test_many_tasks_at_once_change_nothing_for_unknown_ones(monkeypatch):
    X, task, y = make_tasks(8)
    model = fit(X, task, y, unknown_task="share")
    strange = with_task(X, np.full(len(y), 77))
    at_once = model.predict_proba(strange)
    for most in (1, 2 * len(y)):
        monkeypatch.setattr("kinlearn.boosting.stumps._predictions._MOST_ROWS", most)
        assert_allclose(model.predict_proba(strange), at_once, rtol=1e-12)
        sparse = sp.csr_array(strange)
        assert_allclose(model.predict_proba(sparse), at_once, rtol=1e-12)


def test_tasks_keep_to_their_own_labels():
    X, task, y = make_tasks(9, n=200, n_classes=3)
    names = np.array(
        [["a", "b", "c"], ["b", "c", "d"], ["x", "y", "z"], ["a", "d", "z"]]
    )
    labels = names[task, y]
    model = fit(X, task, labels, 30, n_roots=5)
    packed = with_task(X, task)
    answer, scores = model.predict(packed), model.decision_function(packed)
    assert np.isfinite(scores).all()
    assert_array_equal(model.classes_[scores.argmax(axis=1)], answer)
    for t in range(4):
        assert set(answer[task == t]) <= set(names[t])
    assert (answer == labels).mean() > 0.7


def test_missing_values_have_a_side():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    task = np.arange(200) % 2
    y = (X[:, 0] > 0.3).astype(int)
    X[y == 1, 0] = np.where(rng.random(y.sum()) < 0.5, np.nan, X[y == 1, 0])
    model = fit(X, task, y, 10)
    assert (model.predict(with_task(X, task)) == y).all()
    X[:, 1:] = np.nan  # features that say nothing may be gone altogether
    assert np.isfinite(model.decision_function(with_task(X, task))).all()


def test_float32_gives_the_model_of_the_same_numbers():
    X, task, y = make_tasks(10)
    X = X.astype(np.float32)
    one, two = fit(X, task, y), fit(X.astype(np.float64), task, y)
    assert_array_equal(one.stumps_.nodes, two.stumps_.nodes)


# ----------------------------------------------------------------------- settings


def test_affinity_counts_stumps_that_tasks_share():
    X, task, y = make_tasks(11, n=200)
    model = fit(X, task, y, 30)
    rounds = [set(line["task"].tolist()) - {-1} for line in model.stumps_.nodes]
    expected = np.eye(4)
    for a in range(4):
        for b in range(4):
            if a != b:
                each = [sum(t in r for r in rounds) for t in (a, b)]
                both = sum({a, b} <= r for r in rounds)
                expected[a, b] = both / np.sqrt(each[0] * each[1])
    assert_allclose(model.task_affinity_, expected)


def test_early_stopping_keeps_the_best_round():
    X, task, y = make_tasks(12, n=400, noise=1.0)
    model = fit(
        X, task, y, 300, early_stopping=True, n_iter_no_change=15, random_state=0
    )
    losses = model.validation_errors_
    assert model.n_estimators_ == np.argmin(losses) + 1 == len(model.stumps_)
    assert len(losses) == model.n_estimators_ + 15 < 300
    assert len(model.normalizers_) == len(model.estimator_weights_)
    assert len(model.normalizers_) == model.n_estimators_


@pytest.mark.parametrize("root", ["best", "best_per_task", "stochastic"])
@pytest.mark.parametrize("algorithm", ["mtaa", "mh"])
def test_more_roots_than_there_are_cost_no_memory(algorithm, root):
    X, task, y = make_tasks(17, n=40, d=2)
    X[::5, 0] = np.nan
    every, more = (
        fit(X, task, y, 4, n_roots=n, root=root, algorithm=algorithm, random_state=0)
        for n in (2_000, 2**62)
    )
    assert_array_equal(every.stumps_.nodes, more.stumps_.nodes)


def test_auto_rounds_grow_with_the_tasks():
    for n_tasks, expected in ((1, 100), (4, 200)):
        X, task, y = make_tasks(13, n=120, n_tasks=n_tasks, noise=3.0)
        assert fit(X, task, y, "auto").n_estimators_ == expected


def test_boosting_ends_when_a_stump_is_right_on_every_row():
    X = np.array([[0.0], [1], [2], [3]])
    model = AbstainingAdaBoostClassifier(50).fit(X, [0, 0, 1, 1])
    assert model.n_estimators_ == 1


def test_a_random_state_decides_stochastic_roots():
    X, task, y = make_tasks(14, noise=2.0)
    settings = {"root": "stochastic", "n_roots": 2}
    one, again, other = (
        fit(X, task, y, 10, random_state=seed, **settings) for seed in (0, 0, 1)
    )
    assert_array_equal(one.stumps_.nodes, again.stumps_.nodes)
    assert (one.stumps_.nodes != other.stumps_.nodes).any()


def test_mtaa_refuses_three_classes_and_names_the_task():
    X, task, y = make_tasks(15, n_classes=3)
    with pytest.raises(ValueError, match=r"task 0 has 3\. Use algorithm='mh'"):
        fit(X, task, y, algorithm="mtaa")


def test_a_task_without_weight_is_named():
    X, task, y = make_tasks(16)
    with pytest.raises(ValueError, match="Task 2 has no row of positive weight"):
        fit(X, task, y, sample_weight=(task != 2).astype(float))


def test_works_in_a_search():
    X, y = load_iris(return_X_y=True)
    search = GridSearchCV(
        AbstainingAdaBoostClassifier(5), {"n_roots": [1, 3]}, cv=2
    ).fit(X, y)
    assert search.best_score_ > 0.8


@needs_callbacks
def test_shows_a_bar():
    from sklearn.callback import ProgressBar

    X, y = load_iris(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the bar's own
        model = AbstainingAdaBoostClassifier(5).set_callbacks(ProgressBar())
        assert model.fit(X, y).n_estimators_ == 5


def test_ctrl_c_stops_within_a_second():
    rng = np.random.default_rng(0)
    X = with_task(
        rng.normal(size=(60_000, 20)).astype(np.float32), np.arange(60_000) % 5
    )
    y = rng.integers(2, size=60_000)
    model = AbstainingAdaBoostClassifier(5000, task=-1)
    assert seconds_to_stop(lambda: model.fit(X, y), after=1.0) < 1
