"""TrAdaBoostClassifier: what the estimator adds to the engine."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from kinlearn import with_task
from kinlearn.datasets import make_transfer_pair
from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.model_selection import TargetKFold
from kinlearn.transfer import TrAdaBoostClassifier
from kinlearn.transfer._learners import BinnedRows
from tests.callbacks import Recorder
from tests.interrupt import seconds_to_stop
from tests.reference import tradaboost as reference
from tests.versions import needs_callbacks

NAMES = ["dynamic", "dynamic_printed", "rare", "rare_printed", "balanced"]
CORRECTIONS = [None, 1.2, *NAMES]
# As the papers begin and vote.
PAPERS = {"target_share": None, "voters": "second_half"}


def small_problem(seed=0, *, n_source=60, n_target=15, n_classes=2):
    """Few distinct values, so that bins are exact; the source is a little off."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, size=(n_source + n_target, 3)).astype(float)
    task = np.repeat([0, 1], [n_source, n_target])
    score = X[:, 0] + X[:, 1] - 1.5 * task + rng.normal(size=len(task))
    y = np.digitize(score, np.quantile(score, np.arange(1, n_classes) / n_classes))
    return X, task, y


@pytest.mark.parametrize("correction", CORRECTIONS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_model_is_that_of_the_slow_twin(correction, n_classes):
    X, task, y = small_problem(n_classes=n_classes)
    model = TrAdaBoostClassifier(
        task=-1, target=1, n_estimators=6, correction=correction, **PAPERS
    ).fit(with_task(X, task), y)

    def learn(w):
        whole = np.maximum(np.rint(w * 2.0**50), 1).astype(np.int64)
        codes, whole = X.astype(int), [int(x) for x in whole]
        return reference.grow_labels(codes, y, whole, task == 1, n_classes, trim=True)[
            0
        ]

    weights, answers, votes, errors = reference.boost(
        y, task == 1, learn, n_rounds=6, kind=correction, n_classes=n_classes
    )
    history = model.weight_history_[1]
    assert_allclose(history.vote, votes, rtol=1e-6)
    assert_allclose(history.target_error, errors, rtol=1e-6)
    assert_allclose(history.task_share[:, 0], weights[:, task == 0].sum(1), rtol=1e-6)
    counted = np.where(np.arange(6) >= 2, votes, 0)
    shares = np.stack([counted @ (answers == c) for c in range(n_classes)], axis=1)
    wanted = shares / counted.sum()
    assert_allclose(model.predict_proba(with_task(X, task)), wanted, rtol=1e-6)
    assert_allclose(model.source_weight_[1][0], weights[-1][task == 0].sum(), rtol=1e-6)


def test_one_task_is_scikit_learns_adaboost():
    X, y = make_transfer_pair(2, 200, imbalance_ratio=0.7, random_state=0)
    X, y = X[X[:, -1] == 1][:, :-1], y[X[:, -1] == 1]
    ours = TrAdaBoostClassifier(n_estimators=10, max_depth=1).fit(X, y)
    peer = AdaBoostClassifier(n_estimators=10).fit(X, y)
    assert_allclose(
        ours.weight_history_[0].target_error, peer.estimator_errors_, rtol=1e-6
    )
    new = np.random.default_rng(1).normal(size=(500, X.shape[1]))
    assert (ours.predict(new) == peer.predict(new)).mean() > 0.99


def test_scikit_learns_tree_as_learner_is_our_full_tree():
    X, task, y = small_problem(3)
    options = {"task": -1, "target": 1, "n_estimators": 5, "correction": "dynamic"}
    packed = with_task(X, task)
    ours = TrAdaBoostClassifier(trim=False, max_depth=2, **options).fit(packed, y)
    tree = DecisionTreeClassifier(max_depth=2)
    theirs = TrAdaBoostClassifier(tree, random_state=0, **options).fit(packed, y)
    # ties between splits may fall otherwise, so compare the rounds' errors
    assert_allclose(
        ours.weight_history_[1].target_error[0],
        theirs.weight_history_[1].target_error[0],
        rtol=1e-6,
    )


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier(max_depth=3), LogisticRegression()]
)
def test_any_classifier_with_weights(estimator):
    X, y = make_transfer_pair(300, 60, imbalance_ratio=0.5, random_state=0)
    model = TrAdaBoostClassifier(estimator, task=-1, target=1, random_state=0)
    again = clone(model).fit(X, y)
    model.fit(X, y)
    rows = X[X[:, -1] == 1]
    assert_array_equal(model.predict_proba(rows), again.predict_proba(rows))
    assert model.score(rows, y[X[:, -1] == 1]) > 0.8
    sparse = clone(model).fit(sp.csr_array(X), y)
    assert (sparse.predict(rows) == model.predict(rows)).mean() > 0.9


def test_a_classifier_without_weights_is_refused():
    X, y = make_transfer_pair(30, 10, random_state=0)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        TrAdaBoostClassifier(KNeighborsClassifier(), task=-1, target=1).fit(X, y)


# ----------------------------------------------------------------- rows and weights


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_weights_are_repeated_rows(correction):
    X, task, y = small_problem(1)
    weight = np.random.default_rng(2).integers(0, 3, size=len(y))
    times = np.repeat(np.arange(len(y)), weight)
    packed = with_task(X, task)
    model = TrAdaBoostClassifier(task=-1, target=1, correction=correction)
    one = clone(model).fit(packed, y, sample_weight=weight)
    two = clone(model).fit(packed[times], y[times])
    assert_allclose(one.predict_proba(packed), two.predict_proba(packed), rtol=1e-5)


def test_the_order_of_the_rows_decides_nothing():
    X, y = make_transfer_pair(400, 50, imbalance_ratio=0.3, random_state=0)
    order = np.random.default_rng(0).permutation(len(y))
    model = TrAdaBoostClassifier(task=-1, target=1)
    one, two = clone(model).fit(X, y), clone(model).fit(X[order], y[order])
    assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-9)


def test_sparse_rows_give_the_same_model():
    rng = np.random.default_rng(0)
    X = rng.poisson(0.1, size=(400, 30)).astype(float)
    task = np.repeat([0, 1], [340, 60])
    y = (X[:, :6].sum(axis=1) + 0.3 * rng.normal(size=400) > 0.5).astype(int)
    dense = with_task(X, task)
    packed = with_task(sp.csr_array(X), task)
    assert BinnedRows.of(X).row_bins.shape == (0, 30)  # only uncommon bins are stored
    model = TrAdaBoostClassifier(task=-1, target=1, trim=False)
    one, two = clone(model).fit(dense, y), clone(model).fit(packed, y)
    assert_array_equal(one.predict_proba(dense), two.predict_proba(packed))
    assert_array_equal(one.boosts_[1].learners.steps, two.boosts_[1].learners.steps)


def test_missing_values_are_learned_from():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    y = rng.integers(0, 2, 300)
    X[y == 1, 0] = np.nan
    task = np.repeat([0, 1], [200, 100])
    model = TrAdaBoostClassifier(task=-1, target=1).fit(with_task(X, task), y)
    assert model.score(with_task(X, task), y) == 1


def test_balanced_start_gives_classes_of_a_task_equal_weight():
    X, y = make_transfer_pair(200, 40, imbalance_ratio=0.1, random_state=0)
    model = TrAdaBoostClassifier(
        task=-1, target=1, balance_start=True, target_share=None
    ).fit(X, y)
    history = model.weight_history_[1]
    assert_allclose(history.source_share[0], 200 / 240 / 2)
    assert_allclose(history.target_share[0], 40 / 240 / 2)


def test_balanced_rounds_give_classes_of_a_side_equal_weight_in_every_round():
    X, y = make_transfer_pair(200, 40, imbalance_ratio=0.1, random_state=0)
    model = TrAdaBoostClassifier(task=-1, target=1, balance_rounds=True).fit(X, y)
    history = model.weight_history_[1]
    assert_allclose(history.source_share[:, 0], history.source_share[:, 1])
    assert_allclose(history.target_share[:, 0], history.target_share[:, 1])
    assert np.ptp(history.target_share[:, 0]) >= 0  # the sides may move


@pytest.mark.parametrize("share", [0.2, 0.7])
def test_the_target_has_its_share_of_the_weight_in_the_first_round(share):
    X, y = make_transfer_pair(200, 40, imbalance_ratio=0.5, random_state=0)
    weight = np.random.default_rng(0).uniform(1, 2, len(y))
    model = TrAdaBoostClassifier(task=-1, target=1, target_share=share)
    first = model.fit(X, y, weight).weight_history_[1]
    assert_allclose(first.task_share[0], [1 - share, share])
    rows = X[:, -1] == 0
    of_class = np.bincount(y[rows], weight[rows]) / weight[rows].sum()
    assert_allclose(first.source_share[0], (1 - share) * of_class)
    # n of the source's factor, and of the limit of votes, is that of the rows
    printed = clone(model).set_params(target_share=weight[~rows].sum() / weight.sum())
    papers = clone(model).set_params(target_share=None)
    assert_allclose(
        printed.fit(X, y, weight).predict_proba(X),
        papers.fit(X, y, weight).predict_proba(X),
        rtol=1e-9,
    )


def test_the_second_half_votes_without_a_source_too():
    X, y = make_transfer_pair(2, 200, imbalance_ratio=0.7, random_state=0)
    X, y = X[X[:, -1] == 1], y[X[:, -1] == 1]
    model = TrAdaBoostClassifier(n_estimators=9, max_depth=1, task=-1, target=1)
    every = model.fit(X, y).boosts_[1]
    half = model.set_params(voters="second_half").fit(X, y).boosts_[1]
    assert_array_equal(every.votes, every.history.vote)
    assert_array_equal(half.votes[:4], 0)
    assert_array_equal(half.votes[4:], every.votes[4:])


@pytest.mark.parametrize(
    ("correction", "voters"),
    [("dynamic", "all"), (None, "all"), (1.2, "all"), ("balanced", "all"),
     (lambda errors: 1.0, "all"), ("rare", "second_half"),
     ("rare_printed", "second_half")],
)  # fmt: skip
def test_who_votes_follows_the_correction(correction, voters):
    X, y = make_transfer_pair(200, 40, imbalance_ratio=0.2, random_state=0)
    model = TrAdaBoostClassifier(
        task=-1, target=1, n_estimators=9, max_depth=1, correction=correction
    ).fit(X, y)
    assert model.voters_ == voters
    known = clone(model).set_params(voters=voters).fit(X, y)
    assert_array_equal(model.predict_proba(X), known.predict_proba(X))


def test_a_rare_class_is_found_more_often_than_if_all_rounds_vote():
    gains = []
    for seed in range(8):
        X, y = make_transfer_pair(
            600, 1560, imbalance_ratio=0.05, class_sep=1.5, random_state=seed
        )
        rng = np.random.default_rng(seed)
        rows = rng.permutation(np.flatnonzero(X[:, -1] == 1))
        rare = rows[y[rows] == 1][:12]
        own = np.append(rare, rows[y[rows] == 0][:240])
        both = np.append(np.flatnonzero(X[:, -1] == 0), own)
        test = np.setdiff1d(rows, own)

        def recalls(model, X=X, y=y, both=both, test=test):
            found = model.fit(X[both], y[both]).predict(X[test])
            return np.prod([np.mean(found[y[test] == c] == c) for c in (0, 1)]) ** 0.5

        plain = TrAdaBoostClassifier(task=-1, target=1, correction="rare")
        every = clone(plain).set_params(voters="all")
        gains.append(recalls(plain) - recalls(every))
    assert np.mean(gains) > 0.02


def test_a_model_below_the_majority_warns():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(560, 3))
    task = np.repeat([0, 1], [500, 60])
    y = np.where(task == 0, X[:, 0] > 0, X[:, 0] < -1).astype(int)
    model = TrAdaBoostClassifier(
        LogisticRegression(), task=-1, target=1, n_estimators=4, **PAPERS
    )
    with pytest.warns(TaskFallbackWarning, match=r"right on \d+% of .* task 1, where"):
        model.fit(with_task(X, task), y)
    # no warning
    model.set_params(estimator=None, target_share=0.9).fit(with_task(X, task), y)


def test_a_late_vote_below_the_majority_names_the_other_vote():
    X, y = make_transfer_pair(500, 60, random_state=0)
    late = TrAdaBoostClassifier(task=-1, target=0, correction="rare")
    with pytest.warns(TaskFallbackWarning, match='second half .* Set voters="all", '):
        late.fit(X, y)
    own = X[:, -1] == 0
    late.set_params(voters="all").fit(X, y)  # as told: no warning
    assert late.score(X[own], y[own]) > max(y[own].mean(), 1 - y[own].mean())


# ------------------------------------------------------------- sources and targets


def noise_beside_a_good_source(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(1060, 4))
    task = np.repeat(["good", "noise", "target"], [500, 500, 60])
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    y[task == "noise"] = rng.integers(0, 2, 500)
    return pd.DataFrame(X, columns=list("abcd")).assign(task=task), y


@pytest.mark.parametrize("correction", [None, "dynamic", "balanced"])
@pytest.mark.parametrize("seed", range(3))
def test_a_useless_source_is_seen_to_fade(seed, correction):
    frame, y = noise_beside_a_good_source(seed)
    model = TrAdaBoostClassifier(task="task", target="target", correction=correction)
    share = model.fit(frame, y).source_weight_["target"]
    assert set(share) == {"good", "noise"}
    assert share["noise"] < 0.75 * share["good"]  # they began as equals
    history = model.weight_history_["target"]
    assert_allclose(history.task_share[0, :2], 0.15)
    assert_allclose(history.task_share.sum(axis=1), 1)
    assert_allclose(
        history.source_share.sum(axis=1) + history.target_share.sum(axis=1), 1
    )


def lost_by_noise(seed, n_target, **options):
    """What a source with shuffled labels costs, in accuracy on 1,000 target rows."""
    X, y = make_transfer_pair(
        1000, n_target + 1000, imbalance_ratio=1.0, shuffle=False, random_state=seed
    )
    rng = np.random.default_rng(seed)
    source = np.flatnonzero(X[:, -1] == 0)
    y[source] = rng.permutation(y[source])
    rows = rng.permutation(np.flatnonzero(X[:, -1] == 1))
    train, test = rows[:n_target], rows[n_target:]
    model = TrAdaBoostClassifier(task=-1, target=1, random_state=0, **options)
    with_noise, alone = (
        clone(model).fit(X[some], y[some]).score(X[test], y[test])
        for some in (np.r_[source, train], train)
    )
    return alone - with_noise


@pytest.mark.slow
@pytest.mark.parametrize("n_target", [20, 50])
def test_a_source_of_pure_noise_costs_a_point_at_most(n_target):
    lost = [lost_by_noise(seed, n_target) for seed in range(20)]
    assert np.mean(lost) < 0.01
    papers = [lost_by_noise(seed, n_target, **PAPERS) for seed in range(8)]
    assert np.mean(papers) > 0.04


@pytest.mark.parametrize("correction", ["dynamic", "balanced"])
@pytest.mark.parametrize("n_target", [pytest.param(20, marks=pytest.mark.slow), 50])
def test_a_source_of_pure_noise_does_no_harm_under_guard(n_target, correction):
    options = {"correction": correction, "guard": 5, **PAPERS}
    lost = [lost_by_noise(seed, n_target, **options) for seed in range(8)]
    # the bins are those of all rows, also of a model without the source
    assert np.mean(lost) <= max(0.005, 2 * np.std(lost) / np.sqrt(len(lost)))
    assert np.mean(lost) < 0.03


def test_a_refused_source_is_absent():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(560, 4))
    task = np.repeat([0, 1], [500, 60])
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    answers = []
    for wrong in (1.0, 0.8):  # the source says the opposite, always or mostly
        said = np.where((task == 0) & (rng.random(560) < wrong), 1 - y, y)
        model = TrAdaBoostClassifier(
            task=-1, target=1, guard=5, random_state=0, **PAPERS
        ).fit(with_task(X, task), said)
        assert model.guard_errors_[1]["with source"] > model.guard_errors_[1]["alone"]
        assert model.source_weight_ == {1: {0: 0.0}}
        answers.append(model.predict_proba(with_task(X, task)))
    assert_array_equal(*answers)  # nothing of its labels is left


def test_a_source_that_proves_itself_is_used_as_without_a_guard():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(520, 4))
    packed = with_task(X, np.repeat([0, 1], [500, 20]))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = TrAdaBoostClassifier(task=-1, target=1, random_state=0, **PAPERS)
    guarded = clone(model).set_params(guard=5).fit(packed, y)
    assert guarded.guard_errors_[1]["with source"] < guarded.guard_errors_[1]["alone"]
    assert_array_equal(
        guarded.predict_proba(packed), model.fit(packed, y).predict_proba(packed)
    )
    assert model.guard_errors_ == {}


@pytest.mark.parametrize("voters", ["all", "second_half"])
def test_the_guard_counts_rows_that_were_left_out(voters):
    """Against a plain loop over the same folds, with the same rounds that vote."""
    X, task, y = small_problem(5, n_source=80, n_target=60)
    packed = with_task(X, task)
    options = {"task": -1, "target": 1, "n_estimators": 6, "voters": voters}
    model = TrAdaBoostClassifier(guard=3, random_state=7, **options).fit(packed, y)
    own = np.random.RandomState(7).permutation(np.flatnonzero(task == 1))
    own = np.r_[own[y[own] == 0], own[y[own] == 1]]
    for name, source in (("with source", task == 0), ("alone", np.zeros(140, bool))):
        answer = np.empty(140, dtype=int)
        for k in range(3):
            kept = source.copy()
            kept[np.delete(own, np.s_[k::3])] = True
            plain = TrAdaBoostClassifier(**options).fit(packed[kept], y[kept])
            answer[own[k::3]] = plain.predict(packed[own[k::3]])
        wrong = [np.mean(answer[own][y[own] == c] != c) for c in (0, 1)]
        assert_allclose(model.guard_errors_[1][name], np.mean(wrong))


def test_a_guard_over_degenerate_targets():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(64, 3))
    for n_target, y_target in ((1, [1]), (2, [0, 1]), (4, [0, 0, 0, 1])):
        task = np.repeat([0, 1], [60, n_target])
        y = np.r_[rng.integers(0, 2, 60), y_target]
        packed = with_task(X[: len(y)], task)
        with warnings.catch_warnings():  # a fold may leave nothing to learn
            warnings.simplefilter("ignore", TaskFallbackWarning)
            model = TrAdaBoostClassifier(task=-1, target=1, guard=5, n_estimators=5)
            assert np.isfinite(model.fit(packed, y).predict_proba(packed)).all()
    assert (
        TrAdaBoostClassifier(guard=5).fit(X, rng.integers(0, 2, 64)).guard_errors_ == {}
    )


def test_every_task_in_turn_is_the_target():
    X, task, y = small_problem(4, n_source=60, n_target=60)
    task = np.arange(120) % 3
    packed = with_task(X, task)
    together = TrAdaBoostClassifier(task=-1).fit(packed, y)
    assert list(together.boosts_) == [0, 1, 2]
    for target in range(3):
        alone = TrAdaBoostClassifier(task=-1, target=target).fit(packed, y)
        rows = packed[task == target]
        assert_array_equal(alone.predict_proba(rows), together.predict_proba(rows))
        assert set(together.source_weight_[target]) == {0, 1, 2} - {target}


def test_rows_of_other_tasks_are_answered_by_the_targets_model():
    X, task, y = small_problem()
    model = TrAdaBoostClassifier(task=-1, target=1).fit(with_task(X, task), y)
    as_target = model.predict_proba(with_task(X, np.ones(len(y), int)))
    assert_array_equal(model.predict_proba(with_task(X, task)), as_target)


def test_source_rows_of_classes_that_the_target_lacks_are_left_out():
    X, task, y = small_problem()
    more = np.r_[y, np.full(30, 7)]
    rng = np.random.default_rng(0)
    X_more = np.r_[X, rng.integers(0, 6, size=(30, 3))]
    one = TrAdaBoostClassifier(task=-1, target=1).fit(with_task(X, task), y)
    two = TrAdaBoostClassifier(task=-1, target=1, label_sets={1: [0, 1]}).fit(
        with_task(X_more, np.r_[task, np.zeros(30, int)]), more
    )
    packed = with_task(X, task)
    assert_array_equal(two.classes_, [0, 1, 7])
    assert_array_equal(two.target_classes_[1], [0, 1])
    assert_array_equal(two.predict_proba(packed)[:, :2], one.predict_proba(packed))
    assert_array_equal(two.predict_proba(packed)[:, 2], 0)


@pytest.mark.parametrize("inner", [None, LogisticRegression()])
@pytest.mark.parametrize("target", [1, None])
def test_a_class_that_the_target_does_not_show_is_learned_from_the_source(
    inner, target
):
    X, task, y = small_problem(n_source=200, n_target=60)
    shown = (task == 0) | (y == 0)
    packed = with_task(X, task)
    model = TrAdaBoostClassifier(inner, task=-1, target=target, random_state=0)
    model.fit(packed[shown], y[shown])
    assert_array_equal(model.target_classes_[1], [0, 1])
    own = packed[task == 1]
    proba = model.predict_proba(own)
    assert (proba > 0).all()
    assert_allclose(proba.sum(axis=1), 1)
    assert_array_equal(model.predict(own), proba.argmax(axis=1))
    assert (model.predict(own[y[task == 1] == 0]) == 0).mean() > 0.8
    lower, upper = (proba[y[task == 1] == c, 1].mean() for c in (0, 1))
    assert upper > lower
    model.set_params(label_sets="observed").fit(packed[shown], y[shown])
    assert_array_equal(model.predict_proba(own)[:, 1], 0)


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_degenerate_sources_and_targets(correction):
    """One class in the source; one row of a class, or one row, in the target."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(205, 3))
    task = np.repeat([0, 1], [200, 5])
    for y in (
        np.r_[np.zeros(200, int), [0, 0, 0, 0, 1]],
        np.r_[rng.integers(0, 2, 200), [0, 0, 0, 0, 1]],
        np.r_[rng.integers(0, 2, 200), [1, 1, 1, 1, 1]],
    ):
        model = TrAdaBoostClassifier(
            task=-1, target=1, correction=correction, n_estimators=200
        ).fit(with_task(X, task), y)
        proba = model.predict_proba(with_task(X, task))
        assert np.isfinite(proba).all()
        assert_allclose(proba.sum(axis=1), 1)
        for values in vars(model.weight_history_[1]).values():
            assert np.isfinite(values).all()


def test_a_target_that_cannot_be_learned_is_answered_by_its_shares():
    # Every row is the same, half of the target's weight is in each class.
    X = np.zeros((8, 2))
    task = np.repeat([0, 1], 4)
    with pytest.warns(TaskFallbackWarning, match="No learner .* task 1"):
        model = TrAdaBoostClassifier(task=-1, target=1, n_estimators=3).fit(
            with_task(X, task), [0, 1, 0, 1, 0, 1, 0, 1]
        )
    assert_allclose(model.predict_proba([[0, 0, 1]]), [[0.5, 0.5]])


def test_a_target_without_weight_is_an_error():
    X, task, y = small_problem()
    with pytest.raises(ValueError, match="task 1, has no row of positive weight"):
        TrAdaBoostClassifier(task=-1, target=1).fit(
            with_task(X, task), y, sample_weight=(task == 0).astype(float)
        )


# -------------------------------------------------------------------- what it does


def rare_ratio(correction, minority, seed):
    """Mean weight of rare over common source rows in round N/2."""
    X, y = make_transfer_pair(
        500, 60, imbalance_ratio=minority / (1 - minority), random_state=seed
    )
    model = TrAdaBoostClassifier(
        task=-1, target=1, correction=correction, **PAPERS
    ).fit(X, y)
    share = model.weight_history_[1].source_share[15]
    n = np.bincount(y[X[:, -1] == 0])
    return (share[1] / n[1]) / (share[0] / n[0])


@pytest.mark.parametrize("minority", [0.05, 0.2])
def test_the_rare_label_decays_more_slowly_under_rare_and_balanced(minority):
    def typical(correction):
        ratios = [rare_ratio(correction, minority, seed) for seed in range(15)]
        return np.exp(np.mean(np.log(np.maximum(ratios, 1e-12))))

    plain = max(typical(None), typical("dynamic"))
    assert typical("rare_printed") > 2 * plain
    assert typical("rare") > 2 * plain
    assert typical("balanced") > 2 * plain


def test_rare_keeps_the_rare_labels_source_weight_through_the_rounds_that_vote():
    kept = {}
    for correction in (None, "rare_printed", "rare"):
        shares = []
        for seed in range(6):
            X, y = make_transfer_pair(
                500, 60, imbalance_ratio=0.1 / 0.9, random_state=seed
            )
            model = TrAdaBoostClassifier(task=-1, target=1, correction=correction)
            share = model.fit(X, y).weight_history_[1].source_share[:, 1]
            shares.append(share[14:].min() / share[0])
        kept[correction] = np.mean(shares)
    assert kept["rare"] > 0.5
    assert kept["rare_printed"] < 0.5 * kept["rare"]


def test_a_near_source_helps_a_small_target():
    gains = []
    for seed in range(12):
        X, y = make_transfer_pair(
            500, 1020, imbalance_ratio=1.0, shift=0.3, shuffle=False, random_state=seed
        )
        rows = np.random.default_rng(seed).permutation(np.flatnonzero(X[:, -1] == 1))
        train = np.r_[np.flatnonzero(X[:, -1] == 0), rows[:20]]
        test = rows[20:]
        scores = [
            TrAdaBoostClassifier(task=-1, target=1, **PAPERS)
            .fit(X[some], y[some])
            .score(X[test], y[test])
            for some in (train, rows[:20])
        ]
        gains.append(scores[0] - scores[1])
    assert np.mean(gains) > 0.02


def test_cross_validation_over_the_target_in_a_search():
    X, y = make_transfer_pair(
        200, 40, imbalance_ratio=0.5, as_frame=True, random_state=0
    )
    folds = TargetKFold(4, task="task", target="target")
    model = TrAdaBoostClassifier(task="task", target="target", n_estimators=5)
    search = GridSearchCV(model, {"correction": [None, "dynamic"]}, cv=folds).fit(X, y)
    own = np.flatnonzero(X["task"] == "target")
    by_hand = []
    for correction in (None, "dynamic"):
        model = clone(model).set_params(correction=correction)
        scores = []
        for train, test in folds.split(X, y):
            assert set(test) <= set(own)
            assert set(train) == set(range(len(X))) - set(test)
            fitted = model.fit(X.iloc[train], y.iloc[train])
            scores.append(fitted.score(X.iloc[test], y.iloc[test]))
        by_hand.append(np.mean(scores))
    assert_allclose(search.cv_results_["mean_test_score"], by_hand)


@needs_callbacks
def test_callbacks_see_every_round():
    recorder = Recorder()
    X, task, y = small_problem()
    model = TrAdaBoostClassifier(task=-1, target=1, n_estimators=3)
    model.set_callbacks(recorder).fit(with_task(X, task), y)
    rounds = [f"round {t}" for t in range(3)]
    assert recorder.seen == ["setup", *rounds, "fit", "teardown"]


def test_ctrl_c_stops_boosting_long_before_it_ends():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50_000, 10)).astype(np.float32)
    y = rng.integers(0, 2, len(X))
    packed = with_task(X, np.arange(len(X)) % 2)
    model = TrAdaBoostClassifier(task=-1, target=1, n_estimators=4000, trim=False)
    # Generous, because tests share the machine.
    assert seconds_to_stop(lambda: model.fit(packed, y), after=0.6) < 5
