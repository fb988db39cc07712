"""Numbers cut into groups of equal size, and columns ranked as groupings."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import keep_task, with_task
from kinlearn.model_selection import equal_groups, rank_groupings
from kinlearn.svm import MultiTaskSVC, MultiTaskSVR, SVMPlusClassifier
from kinlearn.trees import MultiTaskDecisionTreeClassifier


def test_distinct_numbers_are_cut_into_equal_groups():
    rng = np.random.default_rng(0)
    for n, k in ((10, 2), (11, 3), (100, 7), (5, 5)):
        values = rng.normal(size=n)
        groups, edges = equal_groups(values, k)
        sizes = np.bincount(groups)
        assert len(sizes) == k
        assert sizes.max() - sizes.min() <= 1
        assert_array_equal(np.sort(values)[np.cumsum(sizes)[:-1] - 1], edges)
        assert_array_equal(np.searchsorted(edges, values), groups)
        assert (np.diff(groups[np.argsort(values)]) >= 0).all()


def test_equal_values_stay_together():
    groups, edges = equal_groups([1, 1, 1, 1, 1, 2, 3, 3], 3)
    assert_array_equal(groups, [0, 0, 0, 0, 0, 1, 2, 2])
    assert_array_equal(edges, [1, 2])
    groups, edges = equal_groups([5, 5, 5], 3)
    assert_array_equal(groups, [0, 0, 0])
    assert len(edges) == 0
    with pytest.raises(ValueError, match="n_groups must be a whole number"):
        equal_groups([1.0], 0)


@pytest.mark.parametrize(
    ("n_groups", "sizes"), [(3, [90, 5, 5]), (5, [90, 2, 3, 2, 3])]
)
def test_the_rest_is_divided_anew_after_many_equal_values(n_groups, sizes):
    groups, _ = equal_groups([0] * 90 + list(range(1, 11)), n_groups)
    assert_array_equal(np.bincount(groups), sizes)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([np.nan, 1], "equal_groups takes finite numbers; 1 of the values"),
        (["a", "b"], "equal_groups takes numbers; the values have dtype"),
        (np.array([1, "b"], dtype=object), "one of the values is 'b'"),
        ([[1.0], [2.0]], r"one number for each row; got an array of shape \(2, 1\)"),
        ([], "one number for each row"),
    ],
)
def test_values_that_cannot_be_cut_are_named(values, message):
    with pytest.raises(ValueError, match=message):
        equal_groups(values)


def problem(n=150):
    """The column "side" turns the rule, "dose" moves it, "noise" does nothing."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 2)), columns=["u", "dose"])
    X["side"] = rng.choice(["left", "right"], size=n)
    X["noise"] = rng.choice(["a", "b", "c"], size=n)
    X["flat"] = 1.0
    X["street"] = [f"p{i % 15}" for i in range(n)]
    value = X["u"] * np.where(X["side"] == "left", 2, -2) + X["dose"]
    return X, value.to_numpy() + 0.3 * rng.normal(size=n)


MODEL = MultiTaskSVC(kernel="linear", correction_penalty=0.1, C=3)
TREE = MultiTaskDecisionTreeClassifier(max_depth=3, random_state=0)
MASK = [False, True, False]


@pytest.mark.parametrize("library", [pd, pl])
def test_the_column_that_turns_the_rule_is_the_best(library):
    X, value = problem()
    y = value > 0
    ranked = rank_groupings(MODEL, library.DataFrame(X.to_dict("list")), y, cv=3)
    assert ranked[0].column == "side"
    columns = {each.column: each for each in ranked}
    assert set(columns) == {None, "u", "dose", "side", "noise"}
    scores = [each.score for each in ranked]
    assert scores == sorted(scores, reverse=True)
    assert columns["side"].score > columns[None].score + 0.15
    assert columns["side"].edges is None
    assert sum(columns["side"].sizes) == 150
    dose = columns["dose"]
    assert max(dose.sizes) - min(dose.sizes) == 0
    assert len(dose.edges) == 2
    # by hand: the pearson coefficients of table 4.3, and the score with groups
    expected = abs(np.corrcoef(X["dose"], y)[0, 1])
    assert_allclose(dose.correlation, expected)
    side = abs(np.corrcoef(X["side"] == "left", y)[0, 1])
    assert_allclose(columns["side"].correlation, side)


def test_scores_are_those_of_the_estimator_with_the_groups_as_tasks():
    X, value = problem(90)
    X = X[["u", "dose"]].to_numpy()
    y = value > 0
    folds = list(StratifiedKFold(3).split(X, y))
    ranked = rank_groupings(MODEL, X, y, columns=[1], n_groups=2, cv=folds)
    found = {each.column: each for each in ranked}
    groups, edges = equal_groups(X[:, 1], 2)
    by_hand = cross_val_score(
        clone(MODEL).set_params(task=-1), with_task(X, groups), y, cv=folds
    )
    assert_allclose(found[1].score, by_hand.mean())
    assert_allclose(found[1].error, by_hand.std(ddof=1) / np.sqrt(3))
    assert found[1].edges == tuple(edges)


def test_pipelines_groups_and_numbers():
    X, value = problem(60)
    X = X[["u", "dose", "side"]]
    scaled = make_pipeline(keep_task(StandardScaler()), MODEL)
    y = value > 0
    frame = X[["u", "dose"]].assign(side=(X["side"] == "left").astype(float))
    ranked = rank_groupings(scaled, frame, y, cv=2)
    assert ranked[0].column == "side"
    ranked = rank_groupings(SVMPlusClassifier(kernel="linear"), frame, y, cv=2)
    assert len(ranked) == 4
    ranked = rank_groupings(
        MultiTaskSVR(kernel="linear", correction_penalty=0.1), X, value, cv=2
    )
    assert ranked[0].column == "side"
    with pytest.raises(TypeError, match="needs an estimator with the parameter task"):
        rank_groupings(LogisticRegression(), X, y)


@pytest.mark.parametrize(
    ("model", "end", "front"),
    [
        (SVMPlusClassifier(kernel="linear"), {"privileged": -2}, {"privileged": 1}),
        (SVMPlusClassifier(kernel="linear"), {"privileged": [-2]}, {"privileged": [1]}),
        (TREE, {"categorical_features": [-2]}, {"categorical_features": [1]}),
        (TREE, {"categorical_features": MASK}, {"categorical_features": [1]}),
    ],
)
@pytest.mark.parametrize("frame", [False, True])
def test_columns_counted_from_the_end_stay_the_same(model, end, front, frame):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[:, 1] = rng.permutation(60) % 5
    y = (X[:, 0] > 0) == (X[:, 1] % 2 > 0)
    if frame:
        X = pd.DataFrame(X, columns=["u", "v", "w"])
    first = "u" if frame else 0
    found, expected = (
        rank_groupings(clone(model).set_params(**each), X, y, columns=[first], cv=2)
        for each in (end, front)
    )
    assert found == expected
    assert {each.column for each in found} == {None, first}


def test_what_cannot_be_counted_from_the_front_is_refused():
    X, value = problem(30)
    inner = make_pipeline(
        keep_task(StandardScaler()), clone(TREE).set_params(categorical_features=[-1])
    )
    with pytest.raises(ValueError, match=r"categorical_features=\[-1\] counts columns"):
        rank_groupings(inner, X[["u", "dose"]], value > 0)
    with pytest.raises(TypeError, match=r"For one column give \['side'\]"):
        rank_groupings(MODEL, X, value > 0, columns="side")


def test_a_constant_target_and_a_single_fold():
    X, _ = problem(30)
    X = X[["u", "side"]]
    fold = [(np.arange(20), np.arange(20, 30))]
    model = MultiTaskSVR(kernel="linear")
    ranked = rank_groupings(
        model, X, np.full(30, 0.1), cv=fold, scoring="neg_mean_squared_error"
    )
    assert [each.correlation for each in ranked] == [0.0] * 3
    assert np.isnan([each.error for each in ranked]).all()


def test_mappings_from_groups_are_none_of_the_baseline():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    model = MultiTaskSVC(correction_kernel={0: "linear"}, correction_gamma={1: 2.0})
    model.set_params(label_sets={0: [False, True]})
    plain = MultiTaskSVC()
    found, other = (
        rank_groupings(m, X, X[:, 0] > 0, n_groups=2, cv=3) for m in (model, plain)
    )
    assert len(found) == 4
    (one,), (two,) = ([g for g in each if g.column is None] for each in (found, other))
    assert one.score == two.score
