"""AuxiliaryOverSampler: weights against the twin, rows, containers, pipelines."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from imblearn.pipeline import make_pipeline
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from kinlearn.datasets import make_transfer_pair
from kinlearn.exceptions import KinlearnWarning
from kinlearn.model_selection import TargetKFold
from kinlearn.transfer import AuxiliaryOverSampler
from kinlearn.transfer._density import _comparable, density_ratio
from kinlearn.transfer._oversampling import _balanced_draw
from tests.reference import tradaboost as reference


def sampler(**params):
    params = {"selection": "weights", **params}  # as printed
    return AuxiliaryOverSampler(task=-1, target=1, random_state=0, **params)


def pair(n_source=600, n_target=66, **options):
    return make_transfer_pair(n_source, n_target, random_state=0, **options)


def test_weights_are_those_of_the_slow_twin():
    X, y = pair()
    ours = sampler(estimator=GaussianNB(), n_estimators=6, n_repeats=3)
    ours.fit_resample(X, y)
    rng = np.random.RandomState(0)
    target, source = np.flatnonzero(X[:, -1] == 1), np.flatnonzero(X[:, -1] == 0)
    total = 0.0
    for _ in range(3):
        draw = target[_balanced_draw(y[target], rng)]

        def learn(w, draw=draw):
            model = GaussianNB().fit(X[draw, :-1], y[draw], sample_weight=w * len(w))
            return model.predict(X[draw, :-1]), model.predict(X[source, :-1])

        total += reference.auxiliary_weights(y[draw], y[source], learn, n_rounds=6) / 3
    assert_allclose(ours.source_scores_[source], total, rtol=1e-9)
    assert_array_equal(ours.source_scores_[target], 0)


def test_draws_are_balanced_and_hold_all_of_the_rarest():
    y = np.array([0, 0, 0, 0, 0, 1, 1, 2, 2, 2])
    draw = _balanced_draw(y, np.random.RandomState(0))
    assert_array_equal(np.bincount(y[draw]), [2, 2, 2])
    assert {5, 6} <= set(draw)


def test_the_best_source_rows_are_taken_until_balanced():
    X, y = pair(1500)  # more than twice as many rare rows as are wanted
    ours = sampler()
    X_more, y_more = ours.fit_resample(X, y)
    target = np.flatnonzero(X[:, -1] == 1)
    assert_array_equal(np.bincount(y_more), [60, 60])
    assert_array_equal(ours.sample_indices_[: len(target)], target)
    taken = ours.source_indices_
    assert_array_equal(ours.sample_indices_[len(target) :], taken)
    assert len(set(taken)) == len(taken) == ours.sampling_strategy_[1]
    assert (y[taken] == 1).all()
    assert (X[taken, -1] == 0).all()
    left = np.setdiff1d(np.flatnonzero((X[:, -1] == 0) & (y == 1)), taken)
    scores = ours.source_scores_
    assert len(left) > len(taken)
    assert scores[taken].min() >= scores[left].max()
    assert_array_equal(X_more[:, :-1], X[ours.sample_indices_, :-1])
    assert_array_equal(X_more[:, -1], 1)  # all are the target's now
    assert_allclose(scores.sum(), 1)


def test_every_container_gives_the_same_rows():
    X, y = pair()
    wanted = sampler(n_repeats=2).fit_resample(X, y)
    columns = [*"abcde", "task"]
    frame = pd.DataFrame(X, columns=columns)
    named = AuxiliaryOverSampler(
        task="task", target="t", n_repeats=2, selection="weights", random_state=0
    )  # strings, sorted as the numbers are
    frame["task"] = np.where(X[:, -1] == 1, "t", "s")
    for make in (
        lambda: frame,
        lambda: frame.astype({"task": "category"}).sample(frac=1, random_state=1)
        .sort_index(),
        lambda: pl.from_pandas(frame),
    ):  # fmt: skip
        table = make()
        found, labels = named.fit_resample(table, y)
        assert type(found) is type(table)
        assert_array_equal(found[["a", "e"]].to_numpy(), wanted[0][:, [0, 4]])
        assert set(found["task"].to_list()) == {"t"}
        assert_array_equal(labels, wanted[1])
    assert found["task"].dtype == pl.from_pandas(frame)["task"].dtype
    packed, labels = sampler(n_repeats=2).fit_resample(sp.csr_array(X), y)
    assert sp.issparse(packed)
    assert_array_equal(packed.toarray(), wanted[0])
    listed, labels = sampler(n_repeats=2).fit_resample(X.tolist(), y.tolist())
    assert_array_equal(listed, wanted[0])
    series = sampler(n_repeats=2).fit_resample(X, pd.Series(y))[1]
    assert isinstance(series, pd.Series)


@pytest.mark.parametrize(
    ("strategy", "added"),
    [
        ("auto", {1: 54}),
        ("minority", {1: 54}),
        (0.5, {1: 24}),
        ({1: 20}, {1: 14}),
        ({0: 70, 1: 10}, {0: 10, 1: 4}),
        ({1: 6}, {}),
    ],
)
def test_sampling_strategies(strategy, added):
    X, y = pair(1500)
    ours = sampler(sampling_strategy=strategy, n_repeats=2)
    _, labels = ours.fit_resample(X, y)
    assert ours.sampling_strategy_ == added
    counts = np.bincount(labels)
    assert counts.tolist() == [60 + added.get(0, 0), 6 + added.get(1, 0)]
    assert ours.fit(X, y).sampling_strategy_ == added


@pytest.mark.parametrize("answer", [0.0, -1, "foo", None, [1]])
def test_a_strategy_that_answers_nonsense(answer):
    X, y = pair()
    with pytest.raises(ValueError, match="must return a dict, a ratio"):
        sampler(sampling_strategy=lambda y: answer).fit_resample(X, y)


def test_three_classes():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 3))
    task = np.repeat([0, 1], [500, 100])
    y = rng.choice([0, 1, 2], size=600, p=[0.6, 0.3, 0.1])
    y[:500] = rng.integers(0, 3, 500)
    _, labels = sampler(n_repeats=2).fit_resample(np.c_[X, task], y)
    counts = np.bincount(y[500:])
    assert_array_equal(np.bincount(labels), counts.max())
    with pytest.raises(ValueError, match="ratio of two classes"):
        sampler(sampling_strategy=0.5).fit(np.c_[X, task], y)


def test_a_source_with_too_few_rows_gives_all_and_says_so():
    X, y = pair(100)
    with pytest.warns(KinlearnWarning, match="9 of 54 for class 1"):
        _, labels = sampler(n_repeats=2).fit_resample(X, y)
    assert_array_equal(np.bincount(labels), [60, 15])


def test_clear_errors():
    X, y = pair()
    with pytest.raises(ValueError, match="There is no source to take rows from"):
        AuxiliaryOverSampler().fit_resample(X[:, :-1], y)
    with pytest.raises(ValueError, match="target=None leaves open which"):
        AuxiliaryOverSampler(task=-1).fit(X, y)
    with pytest.raises(ValueError, match=r"requests 2 rows of class 1.*has 6"):
        sampler(sampling_strategy={1: 2}).fit(X, y)
    with pytest.raises(ValueError, match=r"not in y: \['rare'\]"):
        sampler(sampling_strategy={"rare": 9}).fit(X, y)
    with pytest.raises(ValueError, match="takes no sample_weight"):
        sampler(estimator=KNeighborsClassifier()).fit(X, y)


def test_it_works_in_pipelines_and_finds_the_rare_class():
    X, y = make_transfer_pair(
        3000, 220, imbalance_ratio=0.1, shift=0.3, class_sep=1.5, random_state=0
    )
    folds = TargetKFold(5, task=-1, target=1, shuffle=True, random_state=0)
    boosted = AdaBoostClassifier(n_estimators=30, random_state=0)
    pipeline = make_pipeline(sampler(n_repeats=3), boosted)
    with_source = cross_val_score(pipeline, X, y, cv=folds, scoring="balanced_accuracy")
    target = X[:, -1] == 1
    alone = []
    for train, test in folds.split(X, y):
        own = train[target[train]]
        answer = boosted.fit(X[own], y[own]).predict(X[test])
        alone.append(balanced_accuracy_score(y[test], answer))
    assert np.mean(with_source) > np.mean(alone) + 0.05


def test_a_random_choice_looks_at_no_weights():
    X, y = pair(1500)
    ours = sampler(selection="random")
    X_more, y_more = ours.fit_resample(X, y)
    assert_array_equal(ours.source_scores_, 0)
    assert_array_equal(np.bincount(y_more), [60, 60])
    other = sampler(selection="random", n_repeats=1).fit_resample(X, y)
    assert_array_equal(other[0], X_more)  # no learner took part
    with pytest.warns(KinlearnWarning, match="estimator is not used"):
        sampler(selection="random", estimator=GaussianNB()).fit(X, y)


# ------------------------------------------------------------ likely in the target


def two_sources(seed, n=900):
    """Half of the source's rows lie where the target's do, the others elsewhere."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 210, 6))
    near = np.arange(len(X)) % 2 == 0
    target = np.arange(len(X)) >= n
    X[~target & ~near, 5] += 1.5
    y = (np.arange(len(X)) % 6 < 2).astype(int)
    y[target] = (np.arange(210) >= 190).astype(int)
    X[:, 0] += 2 * y
    return np.c_[X, target], y, near


@pytest.mark.parametrize("estimator", [None, GaussianNB()])
def test_rows_that_are_likely_in_the_target_are_taken(estimator):
    near_taken, near_random = [], []
    for seed in range(3):
        X, y, near = two_sources(seed, n=3000)
        ours = AuxiliaryOverSampler(
            estimator, task=-1, target=1, selection="density", random_state=0
        )
        ours.fit_resample(X, y)
        near_taken.append(near[ours.source_indices_].mean())
        ours.set_params(estimator=None, selection="random").fit_resample(X, y)
        near_random.append(near[ours.source_indices_].mean())
    assert np.mean(near_taken) > np.mean(near_random) + 0.2


def test_scores_are_the_odds_of_a_model_of_the_other_half():
    X, y, _ = two_sources(0)
    rng = np.random.RandomState(3)
    is_target = X[:, -1] == 1
    ratio = density_ratio(X[:, :-1], y, is_target, GaussianNB(), rng)
    halves, differs = 0, []
    for k in (0, 1):  # slowly: which half a row is in shows in the model
        cell = 2 * y + is_target
        order = np.random.RandomState(3).permutation(len(y))
        order = np.concatenate([order[cell[order] == c] for c in range(4)])
        rest, train = order[k::2], order[1 - k :: 2]
        weight = np.zeros(len(train))
        for c in range(4):
            weight[cell[train] == c] = len(train) / 4 / (cell[train] == c).sum()
        model = GaussianNB().fit(X[train, :-1], is_target[train], weight)
        near = np.clip(model.predict_proba(X[rest, :-1])[:, 1], 1e-4, 1 - 1e-4)
        differs.append(np.abs(np.log(ratio[rest]) - np.log(near / (1 - near))).max())
        halves += len(rest)
    assert halves == len(y)
    assert max(differs) < 1e-6


def test_rows_for_the_density_may_lack_values_and_be_sparse():
    X, y, _ = two_sources(1)
    X[:, 5] = np.maximum(X[:, 5], 0)
    ours = AuxiliaryOverSampler(task=-1, target=1, selection="density", random_state=0)
    ours.fit_resample(X, y)
    taken = ours.source_indices_
    ours.fit_resample(sp.csr_array(X), y)
    assert np.isin(ours.source_indices_, taken).mean() > 0.9  # but for rounding
    X[::7, 2] = np.nan
    ours.fit_resample(X, y)
    assert len(set(ours.source_indices_)) == len(taken)


def test_missing_values_are_the_means_of_their_columns_dense_and_sparse():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4))
    X[:, 1] = np.maximum(X[:, 1], 0)
    X[rng.random(X.shape) < 0.2] = np.nan
    X[:, 3] = np.nan  # not known at all
    before = X.copy()
    with np.errstate(all="raise"):
        dense, sparse = _comparable(X), _comparable(sp.csc_array(X))
    assert_array_equal(X, before)
    known = np.where(np.isnan(X[:, :3]), np.nanmean(X[:, :3], axis=0), X[:, :3])
    assert_allclose(dense[:, :3], known / np.nanmax(np.abs(X[:, :3]), axis=0))
    assert_array_equal(dense[:, 3], 0)
    assert_allclose(sparse.toarray(), dense)
    huge = np.full((30, 1), 1.5e307)
    huge[0] = np.nan
    assert_allclose(_comparable(huge), 1)


def test_sparse_rows_for_the_density_may_lack_values():
    X, y, _ = two_sources(1)
    X[:, 5] = np.maximum(X[:, 5], 0)
    X[::7, 5] = np.nan
    ours = AuxiliaryOverSampler(task=-1, target=1, selection="density", random_state=0)
    ours.fit_resample(X, y)
    dense = ours.source_scores_
    ours.fit_resample(sp.csr_array(X), y)
    assert_allclose(ours.source_scores_, dense, rtol=1e-2)


def test_a_density_needs_one_class_of_the_target_only():
    X, y, near = two_sources(1)
    some = np.flatnonzero((X[:, -1] == 0) | (y == 1))  # the target shows class 1 alone
    X, y, near = X[some], y[some], near[some]
    ours = AuxiliaryOverSampler(
        task=-1, target=1, selection="density", sampling_strategy={1: 60}
    )
    ours.set_params(random_state=0).fit_resample(X, y)
    scored = (X[:, -1] == 0) & (y == 1)
    assert (ours.source_scores_[scored] > 0).all()
    assert near[ours.source_indices_].mean() > near[scored].mean() + 0.2
    ours.set_params(selection="weights").fit_resample(X, y)
    assert_array_equal(ours.source_scores_, 0)  # there is nothing to boost


def test_a_source_of_few_or_equal_rows_gives_what_it_has():
    X, y, _ = two_sources(2)
    X[:, :-1] = 1.0
    ours = AuxiliaryOverSampler(task=-1, target=1, selection="density", random_state=0)
    _, labels = ours.fit_resample(X, y)
    assert_array_equal(np.bincount(labels), [190, 190])
    few = np.flatnonzero((X[:, -1] == 1) | (np.arange(len(y)) < 6))
    with pytest.warns(KinlearnWarning, match="2 of 170 for class 1"):
        _, labels = ours.fit_resample(X[few], y[few])
    assert_array_equal(np.bincount(labels), [190, 22])


def test_a_ratio_of_densities_takes_probabilities():
    X, y = pair()
    with pytest.raises(ValueError, match="has no predict_proba, from which"):
        AuxiliaryOverSampler(LinearSVC(), task=-1, target=1, selection="density").fit(
            X, y
        )
    AuxiliaryOverSampler(LinearSVC(), task=-1, target=1, selection="weights").fit(X, y)
