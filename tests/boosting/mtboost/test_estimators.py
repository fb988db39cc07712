"""MTBoost as its users meet it: relations, classes, weights, stops."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import kinlearn
from kinlearn.boosting import MTBoostClassifier, MTBoostRegressor
from tests.interrupt import seconds_to_stop
from tests.versions import needs_callbacks


def _related(n=600, d=10, m=4, seed=0, noise=0.5):
    """Tasks that share a rule; features, tasks and signs of the score."""
    rng = np.random.default_rng(seed)
    X, task = rng.standard_normal((n, d)), rng.integers(m, size=n)
    rule = rng.standard_normal(d) + 0.2 * rng.standard_normal((m, d))
    score = np.einsum("ij,ij->i", X, rule[task])
    score += noise * score.std() * rng.standard_normal(n)
    return X, task, (score > 0).astype(int)


def _accuracy(model, X, task, y, rows):
    return np.mean(model.predict(kinlearn.with_task(X[rows], task[rows])) == y[rows])


@pytest.mark.parametrize("estimator", [None, DecisionTreeClassifier(max_depth=3)])
def test_a_task_with_flipped_labels_is_as_good_and_negatively_related(estimator):
    X, task, y = _related()
    flipped = np.where(task == 1, 1 - y, y)
    train, test = np.arange(300), np.arange(300, 600)
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(estimator, task=-1, n_estimators=30, random_state=0)
    plain = model.fit(packed[train], y[train])
    right = [_accuracy(plain, X, task, y, test[task[test] == i]) for i in range(4)]
    model = MTBoostClassifier(estimator, task=-1, n_estimators=30, random_state=0)
    model.fit(packed[train], flipped[train])
    correlation = model.task_correlation_
    others = [0, 2, 3]
    assert (correlation[1, others] < -0.3).all()
    assert (correlation[np.ix_(others, others)] > 0.3).all()
    got = [_accuracy(model, X, task, flipped, test[task[test] == i]) for i in range(4)]
    assert_allclose(got, right, atol=0.03 if estimator is None else 0.1)


@pytest.mark.slow
def test_an_unrelated_task_does_not_hurt_the_others():
    change = []
    for seed in range(6):
        X, task, y = _related(n=900, seed=seed)
        rng = np.random.default_rng(100 + seed)
        X = np.column_stack([X, rng.standard_normal((900, 4))])
        strange = (X[:, 10:].sum(axis=1) > 0).astype(int)  # nothing to do with y
        mixed = np.where(task == 3, strange, y)
        train = np.arange(300)
        test = np.flatnonzero((np.arange(900) >= 300) & (task < 3))
        packed = kinlearn.with_task(X, task)
        model = MTBoostClassifier(task=-1, n_estimators=30, random_state=0)
        with_it = model.fit(packed[train], mixed[train])
        after = _accuracy(with_it, X, task, y, test)
        keep = train[task[train] < 3]
        model = MTBoostClassifier(task=-1, n_estimators=30, random_state=0)
        before = _accuracy(model.fit(packed[keep], y[keep]), X, task, y, test)
        change.append(after - before)
        assert np.abs(with_it.task_correlation_[3, :3]).max() < 0.5
    # three standard errors of the mean change
    assert np.mean(change) > -3 * np.std(change, ddof=1) / np.sqrt(6) - 0.005


def test_related_tasks_gain_from_each_other():
    gain = []
    for seed in range(4):
        X, task, y = _related(n=1_200, seed=seed)
        train, test = np.arange(100), np.arange(100, 1_200)
        packed = kinlearn.with_task(X, task)
        model = MTBoostClassifier(task=-1, n_estimators=30, random_state=0)
        together = _accuracy(model.fit(packed[train], y[train]), X, task, y, test)
        alone = []
        for i in range(4):
            own = train[task[train] == i]
            one = MTBoostClassifier(n_estimators=30, random_state=0)
            rows = test[task[test] == i]
            alone.append(np.mean(one.fit(X[own], y[own]).predict(X[rows]) == y[rows]))
        gain.append(together - np.mean(alone))
    assert np.mean(gain) > 0.03


def test_one_task_is_boosting_with_the_same_penalty():
    """With m = 1 the covariance is 1, and a round is ridge on one number."""
    X, _, y = _related(n=80)
    model = MTBoostClassifier(n_estimators=8, sharing_penalty=3.0, random_state=0)
    model.fit(X, y)
    sign, F = 2.0 * y - 1, np.full(80, np.log((y.sum() + 0.5) / ((1 - y).sum() + 0.5)))
    outputs = model.hypotheses_.outputs(X, np.zeros(80, dtype=int))
    for t in range(8):
        f = outputs[:, t]
        pull = sign / (1 + np.exp(sign * F))
        weight = (pull @ f) / (0.25 * f @ f + 3.0)
        assert_allclose(model.weights_[t, 0], weight, rtol=1e-8)
        F += weight * f
    assert_allclose(model.decision_function(X), F)
    assert_allclose(model.task_covariance_, [[1.0]])


@pytest.mark.parametrize("estimator", [MTBoostClassifier, MTBoostRegressor])
@pytest.mark.parametrize("form", ["primal", "dual"])
def test_integer_weights_are_repeated_rows(estimator, form):
    X, task, y = _related(n=120)
    weight = np.random.default_rng(1).integers(0, 4, size=120)
    packed = kinlearn.with_task(X, task)
    times = np.repeat(np.arange(120), weight)
    settings = {"task": -1, "n_estimators": 15, "form": form, "random_state": 0}
    weighted = estimator(**settings).fit(packed, y, sample_weight=weight)
    repeated = estimator(**settings).fit(packed[times], y[times])
    # the dual form is solved to 1e-8, which fifteen rounds add up, by machine and BLAS
    atol = 1e-6 if form == "primal" else 1e-5
    assert_allclose(weighted.weights_, repeated.weights_, rtol=1e-5, atol=atol)
    ask = "predict" if estimator is MTBoostRegressor else "decision_function"
    assert_allclose(
        getattr(weighted, ask)(packed), getattr(repeated, ask)(packed), atol=atol
    )


def test_more_classes_share_the_rounds():
    rng = np.random.default_rng(0)
    n, m = 900, 3
    task, y = rng.integers(m, size=n), rng.integers(4, size=n)
    centres = 2 * rng.standard_normal((4, 6))
    X = centres[y] + 0.3 * rng.standard_normal((m, 6))[task] + rng.normal(size=(n, 6))
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(task=-1, n_estimators=60, random_state=0)
    model.fit(packed[:300], y[:300])
    assert model.weights_.shape == (60, 12)
    assert np.mean(model.predict(packed[300:]) == y[300:]) > 0.85
    proba = model.predict_proba(packed)
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.classes_[proba.argmax(axis=1)], model.predict(packed))
    off = model.task_correlation_[np.triu_indices(3, 1)]
    assert (off > 0.3).all()


def test_tasks_with_classes_of_their_own():
    X, task, y = _related(n=400)
    names = np.array(["a", "b", "c", "d"])
    label = names[y + 2 * (task % 2)]  # tasks 0, 2: a, b; tasks 1, 3: c, d
    label[(task == 2) & (X[:, 0] > 1)] = "d"  # one task has three classes
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(
        task=-1, n_estimators=20, label_sets="observed", random_state=0
    )
    model.fit(packed, label)
    assert model.weights_.shape == (20, 1 + 1 + 3 + 1)
    answer, proba = model.predict(packed), model.predict_proba(packed)
    for t, allowed in model.task_classes_.items():
        assert set(answer[task == t]) <= set(allowed)
        lacking = ~np.isin(model.classes_, allowed)
        assert_array_equal(proba[task == t][:, lacking], 0)
    best = model.classes_[np.argmax(model.decision_function(packed), axis=1)]
    assert_array_equal(best, answer)
    assert np.isfinite(model.task_correlation_).all()


def test_an_unknown_task_is_the_average_task():
    X, task, y = _related(n=200)
    model = MTBoostClassifier(
        task=-1,
        n_estimators=10,
        unknown_task="share",
        task_levels=False,
        random_state=0,
    ).fit(kinlearn.with_task(X, task), y)
    by_task = [
        model.decision_function(kinlearn.with_task(X, np.full(200, i)))
        for i in range(4)
    ]
    strange = model.decision_function(kinlearn.with_task(X, np.full(200, 9)))
    assert_allclose(strange, np.mean(by_task, axis=0))
    model = MTBoostRegressor(
        task=-1,
        n_estimators=10,
        unknown_task="share",
        task_levels=False,
        random_state=0,
    ).fit(kinlearn.with_task(X, task), y)
    by_task = [model.predict(kinlearn.with_task(X, np.full(200, i))) for i in range(4)]
    strange = model.predict(kinlearn.with_task(X, np.full(200, 9)))
    assert_allclose(strange, np.mean(by_task, axis=0))


@pytest.mark.parametrize("only", [0, 1])
def test_a_task_of_one_class_is_one_voice_in_the_average(only):
    X, task, y = _related(n=400)
    y[task == 3] = only
    model = MTBoostClassifier(
        task=-1,
        n_estimators=10,
        unknown_task="share",
        task_levels=False,
        random_state=0,
    ).fit(kinlearn.with_task(X, task), y)
    by_task = [
        model.decision_function(kinlearn.with_task(X, np.full(400, i)))
        for i in range(4)
    ]
    assert (np.sign(by_task[3]) == 2 * only - 1).all()
    strange = model.decision_function(kinlearn.with_task(X, np.full(400, 9)))
    assert_allclose(strange, np.mean(by_task, axis=0))


def test_the_average_of_more_classes_is_over_the_tasks_that_have_them():
    X, task, y = _related(n=400)
    label = np.array(["a", "b", "c"])[y + (X[:, 2] > 0.5)]
    label[task == 3] = "b"
    model = MTBoostClassifier(
        task=-1,
        n_estimators=10,
        unknown_task="share",
        label_sets="observed",
        task_levels=False,
        random_state=0,
    ).fit(kinlearn.with_task(X, task), label)
    by_task = np.array(
        [
            model.decision_function(kinlearn.with_task(X, np.full(400, i)))
            for i in range(4)
        ]
    )
    strange = model.decision_function(kinlearn.with_task(X, np.full(400, 9)))
    assert_allclose(strange[:, 1], by_task[:, :, 1].mean(axis=0))
    assert_allclose(strange[:, [0, 2]], by_task[:3, :, [0, 2]].mean(axis=0))


def test_a_class_without_weight_is_not_there():
    X, task, y = _related(n=300)
    label = y + (X[:, 2] > 0.5)
    weight = np.ones(300)
    weight[(task == 1) & (label == 2)] = 0
    weight[(task == 2) & (label > 0)] = 0  # one class is left
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(
        task=-1, n_estimators=10, label_sets="observed", random_state=0
    )
    weighted = model.fit(packed, label, sample_weight=weight).predict_proba(packed)
    there = weight > 0
    expected = model.fit(packed[there], label[there]).predict_proba(packed)
    assert_allclose(weighted, expected, atol=1e-9)
    assert_array_equal(weighted[task == 1, 2], 0)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_numbers_decides_nothing(unit):
    X, task, _ = _related(n=200)
    packed = kinlearn.with_task(X, task)
    model = MTBoostRegressor(task=-1, n_estimators=10, random_state=0)
    expected = model.fit(packed, X[:, 0] + task).predict(packed)
    found = model.fit(packed, unit * (X[:, 0] + task)).predict(packed) / unit
    assert_allclose(found, expected, rtol=1e-6)


def test_a_regressor_is_wanted_for_numbers():
    X, _, y = _related(n=50)
    with pytest.raises(ValueError, match="LogisticRegression is no regressor"):
        MTBoostRegressor(LogisticRegression()).fit(X, y + 0.5)


def test_stages_end_with_the_answer():
    X, task, y = _related(n=150)
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(task=-1, n_estimators=7, random_state=0).fit(packed, y)
    for staged, plain in (
        (model.staged_decision_function, model.decision_function),
        (model.staged_predict_proba, model.predict_proba),
        (model.staged_predict, model.predict),
    ):
        stages = list(staged(packed))
        assert len(stages) == 7
        last = plain(packed)
        if last.dtype.kind == "f":
            assert_allclose(stages[-1], last)
        else:
            assert_array_equal(stages[-1], last)
    shorter = MTBoostClassifier(task=-1, n_estimators=3, random_state=0).fit(packed, y)
    third = list(model.staged_decision_function(packed))[2]
    assert_allclose(third, shorter.decision_function(packed))
    numbers = MTBoostRegressor(task=-1, n_estimators=7, random_state=0).fit(packed, y)
    stages = list(numbers.staged_predict(packed))
    assert_allclose(stages[-1], numbers.predict(packed))


def test_early_stopping_keeps_the_best_round():
    X, task, y = _related(n=400, d=30, noise=1.5)
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(
        task=-1, n_estimators=200, early_stopping=True, n_iter_no_change=5,
        validation_fraction=0.25, base_penalty=0.01, random_state=0,
    ).fit(packed, y)  # fmt: skip
    losses = model.validation_losses_
    assert model.n_estimators_ == np.argmin(losses) + 1
    assert len(losses) == model.n_estimators_ + 5 < 200
    assert model.weights_.shape[0] == model.n_estimators_
    few = MTBoostClassifier(early_stopping=True, validation_fraction=0.01)
    with pytest.raises(ValueError, match="leaves no row to hold back"):
        few.fit(X[:20], y[:20])


def test_boosting_ends_when_nothing_is_left():
    X, _, _ = _related(n=50)
    model = MTBoostRegressor(n_estimators=500, base_penalty=1e-6, random_state=0)
    assert model.fit(X, X[:, 0]).n_estimators_ < 100
    assert_allclose(model.predict(X), X[:, 0], atol=0.02)
    same = MTBoostRegressor().fit(X, np.full(50, 3.0))
    assert same.n_estimators_ <= 1
    assert_allclose(same.predict(X), 3.0)
    alone = MTBoostClassifier().fit(X, np.zeros(50))
    assert_array_equal(alone.predict(X), 0)


def test_any_weighted_estimator_is_a_learner():
    X, task, _ = _related(n=500)
    y = ((X[:, 0] > 0) ^ (X[:, 1] > 0)).astype(int)  # no linear rule
    packed = kinlearn.with_task(X, task)
    tree = DecisionTreeClassifier(max_depth=3)
    model = MTBoostClassifier(tree, task=-1, n_estimators=30, random_state=0)
    assert model.fit(packed[:300], y[:300]).score(packed[300:], y[300:]) > 0.8
    again = MTBoostClassifier(tree, task=-1, n_estimators=30, random_state=0)
    assert_array_equal(
        again.fit(packed[:300], y[:300]).predict_proba(packed),
        model.predict_proba(packed),
    )
    holes = packed.copy()
    holes[::7, 2] = np.nan  # trees take them, and so does the booster over trees
    assert model.fit(holes, y).score(holes, y) > 0.8
    linear = MTBoostClassifier(LogisticRegression(), task=-1, n_estimators=5)
    assert linear.fit(sp.csr_array(packed), y).n_estimators_ == 5
    with pytest.raises(ValueError, match="takes no sample_weight"):
        MTBoostClassifier(KNeighborsClassifier()).fit(X, y)
    z = np.abs(X[:, 0]) * np.where(task == 1, -1, 1)
    model = MTBoostRegressor(
        DecisionTreeRegressor(max_depth=4), task=-1, n_estimators=30, random_state=0
    ).fit(packed[:300], z[:300])
    assert model.score(packed[300:], z[300:]) > 0.8
    assert (model.task_correlation_[1, [0, 2, 3]] < 0).all()


def test_linear_tasks_are_learned_by_the_regressor():
    X, task, _ = _related(n=400)
    rng = np.random.default_rng(0)
    rule = rng.standard_normal(10) * np.array([1.0, -2.0, 0.5, 1.0])[:, None]
    y = np.einsum("ij,ij->i", X, rule[task]) + 5 * task
    y += 0.5 * rng.standard_normal(400)
    packed = kinlearn.with_task(X, task)
    train, test = np.arange(80), np.arange(80, 400)
    model = MTBoostRegressor(task=-1, base_penalty=0.01, random_state=0)
    model.fit(packed[train], y[train])
    alone = np.empty(len(test))
    for i in range(4):
        own, rows = train[task[train] == i], task[test] == i
        ridge = LinearRegression().fit(X[own], y[own])
        alone[rows] = ridge.predict(X[test][rows])
    ours = np.mean((model.predict(packed[test]) - y[test]) ** 2)
    assert ours < np.mean((alone - y[test]) ** 2)
    assert (model.task_correlation_[1, [0, 2, 3]] < -0.3).all()


def test_many_tasks_need_no_matrix_of_tasks():
    X, _, _ = _related(n=10_000)
    task = np.arange(10_000) % 500
    y = (X[:, 0] > 0).astype(int)
    y[task % 2 == 1] = 1 - y[task % 2 == 1]
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(task=-1, n_estimators=10, random_state=0).fit(packed, y)
    assert len(model._covariance.values) <= 10
    assert model.score(packed, y) > 0.9
    correlation = model.task_correlation_
    assert correlation[0, 1] < 0 < correlation[0, 2]


class RoundCounter:
    """Counts what ends below the fit itself."""

    def __init__(self):
        self.rounds = 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **kwargs):
        pass

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.rounds += context.task_name.startswith("round")

    def teardown(self, estimator, context):
        pass


@needs_callbacks
def test_callbacks_hear_of_every_round():
    X, task, y = _related(n=100)
    packed = kinlearn.with_task(X, task)
    for estimator in (MTBoostClassifier, MTBoostRegressor):
        model = estimator(task=-1, n_estimators=4, random_state=0)
        counter = RoundCounter()
        model.set_callbacks(counter).fit(packed, y)
        assert counter.rounds == 4


def test_ctrl_c_stops_a_fit():
    X, task, y = _related(n=400)
    packed = kinlearn.with_task(X, task)
    model = MTBoostClassifier(task=-1, n_estimators=100_000, tol=0, random_state=0)
    assert seconds_to_stop(lambda: model.fit(packed, y)) < 1


def test_float32_rows_give_nearly_the_same_model():
    X, task, y = _related(n=200)
    packed = kinlearn.with_task(X, task)
    one = MTBoostClassifier(task=-1, n_estimators=10, random_state=0).fit(packed, y)
    two = MTBoostClassifier(task=-1, n_estimators=10, random_state=0)
    two.fit(packed.astype(np.float32), y)
    assert_allclose(
        two.decision_function(packed.astype(np.float32)),
        one.decision_function(packed),
        atol=1e-3,
    )
