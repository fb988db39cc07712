"""Levels: tasks within known groups of tasks, a path of columns."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV

import kinlearn
from kinlearn import KinClassifier, KinRegressor
from kinlearn.exceptions import KinlearnWarning, UnknownTaskWarning
from kinlearn.sharing.kin._levels import Levels

PATH = ["region", "clinic"]
QUICK = {"families": ["linear"], "n_folds": 3, "random_state": 0}
COLUMNS = ["x0", "x1", "x2"]


def make_regions(n_regions=5, n_clinics=4, n_rows=12, seed=0, departure=0.2):
    """Slopes and levels of regions; clinics depart a little, and are small."""
    rng = np.random.default_rng(seed)
    n = n_regions * n_clinics
    region = np.repeat(np.arange(n_regions), n_clinics * n_rows)
    clinic = np.repeat(np.arange(n), n_rows)
    slopes = rng.standard_normal((n_regions, 3))
    levels = rng.standard_normal(n_regions)
    own = departure * rng.standard_normal((n, 3))
    X = rng.standard_normal((len(region), 3))
    y = (X * (slopes[region] + own[clinic])).sum(axis=1) + levels[region]
    y += 0.7 * rng.standard_normal(len(y))
    frame = pd.DataFrame(X, columns=COLUMNS)
    frame["region"] = np.array([f"R{r}" for r in range(n_regions)])[region]
    frame["clinic"] = np.array([f"c{c:03d}" for c in range(n)])[clinic]
    return frame, y


def make_target(classes, y):
    return np.where(y > 0, "yes", "no") if classes else y


def make_kin(classes, task=PATH, **options):
    estimator = KinClassifier if classes else KinRegressor
    return estimator(task=task, **{**QUICK, **options})


@pytest.fixture(scope="module")
def data():
    return make_regions()


@pytest.fixture(scope="module", params=[True, False], ids=["classes", "numbers"])
def fitted(request, data):
    X, y = data
    y = make_target(request.param, y)
    return make_kin(request.param).fit(X, y), X, y


def new_rows(X, region, clinic):
    return X.head(8).assign(region=region, clinic=clinic)


def test_fractions_name_each_level_and_sum_to_one(fitted):
    model, X, _ = fitted
    assert_array_equal(model.tasks_, np.unique(X["clinic"]))
    for parts in model.sharing_.values():
        assert set(parts) == {"own", "pooled", "shared", "region"}
        assert_allclose(sum(parts.values()), 1.0)
    assert np.mean([parts["region"] for parts in model.sharing_.values()]) > 0.1
    assert "region" in model.roles_


def test_neither_column_of_the_path_is_a_feature(fitted):
    model, X, _ = fitted
    assert_array_equal(model.feature_names_, COLUMNS)
    assert_array_equal(model.feature_names_in_, X.columns)


def test_scores_of_new_tasks_are_by_level(fitted):
    model, _, _ = fitted
    assert list(model.unseen_level_scores_) == PATH
    assert model.unseen_level_scores_["clinic"] == model.unseen_score_
    # what a region's own clinics tell of it is worth much here
    assert model.unseen_score_ > model.unseen_level_scores_["region"] + 0.05
    assert set(model.unseen_task_scores_) == set(model.tasks_)


def test_a_new_clinic_gets_the_models_of_its_region(fitted):
    model, X, _ = fitted
    predict = model.predict_proba if hasattr(model, "classes_") else model.predict
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownTaskWarning)
        found = [
            predict(new_rows(X, r, "new")) for r in ("R0", "R1", "R2", "elsewhere")
        ]
        same = predict(new_rows(X, "R0", "another"))
    assert_array_equal(found[0], same)
    for i in range(4):
        for j in range(i):
            assert np.abs(found[i] - found[j]).max() > 0.05


def test_one_column_in_a_list_is_that_column(data):
    X, y = data
    X = X.drop(columns="region")
    one, plain = (make_kin(False, task).fit(X, y) for task in (["clinic"], "clinic"))
    assert_array_equal(one.predict(X), plain.predict(X))
    assert one.sharing_ == plain.sharing_
    assert one.unseen_level_scores_ == {"clinic": plain.unseen_score_}


def test_permuted_rows_give_the_same_model(fitted):
    model, X, y = fitted
    order = np.random.default_rng(0).permutation(len(X))
    other = clone(model).fit(X.iloc[order], y[order])
    predict = "predict_proba" if hasattr(model, "classes_") else "predict"
    assert_allclose(
        getattr(other, predict)(X), getattr(model, predict)(X), rtol=0, atol=1e-5
    )


def test_arrays_and_frames_agree(data):
    X, y = data
    codes = X.assign(
        region=X["region"].astype("category").cat.codes,
        clinic=X["clinic"].astype("category").cat.codes,
    )
    frame = make_kin(False).fit(X, y)
    array = make_kin(False, [3, -1]).fit(codes.to_numpy(dtype=float), y)
    polars = make_kin(False).fit(pl.DataFrame(X), y)
    assert_allclose(array.predict(codes.to_numpy(dtype=float)), frame.predict(X))
    assert_allclose(polars.predict(pl.DataFrame(X)), frame.predict(X))
    assert list(array.unseen_level_scores_) == ["x3", "x4"]


def test_the_order_of_the_columns_in_x_does_not_matter(data):
    X, y = data
    front = X[["clinic", "x0", "region", "x1", "x2"]]
    assert_allclose(
        make_kin(False).fit(front, y).predict(front),
        make_kin(False).fit(X, y).predict(X),
    )


def test_clinics_of_one_name_in_two_regions_stay_apart():
    X, y = make_regions(n_regions=4, n_clinics=4)
    again = X.assign(clinic="c" + (X["clinic"].str[1:].astype(int) % 4).astype(str))
    model = make_kin(False).fit(again, y)
    assert len(model.tasks_) == 16
    assert list(model.tasks_[3:5]) == ["R0 / c3", "R1 / c0"]
    assert_allclose(model.predict(again), make_kin(False).fit(X, y).predict(X))


def test_a_known_name_in_another_region_is_a_new_clinic(fitted):
    model, X, _ = fitted
    rows = new_rows(X, "R1", "c000")  # which lies in R0
    with pytest.warns(UnknownTaskWarning, match="'R1 / c000'"):
        moved = model.predict(rows)
    with pytest.warns(UnknownTaskWarning):
        new = model.predict(new_rows(X, "R1", "nowhere"))
    assert_array_equal(moved, new)


def test_paths_that_would_get_one_name_are_refused():
    X, y = make_regions(n_regions=2, n_clinics=2)
    X["region"] = np.where(X["region"] == "R0", "A", "A / B")
    X["clinic"] = np.where(X["clinic"] < "c001", "B / 1", "1")
    with pytest.raises(ValueError, match=r"both called 'A / B / 1'.*Rename"):
        make_kin(False).fit(X, y)


def test_warnings_say_which_level_is_new(data):
    X, y = data
    model = make_kin(False).fit(X, y)
    with pytest.warns(
        UnknownTaskWarning,
        match=r"Task column 'clinic' holds 1 task\(s\).*'R1 / new', in 8 of 8 rows. "
        r"They are predicted by what known tasks of the same 'region'",
    ):
        model.predict(new_rows(X, "R1", "new"))
    with pytest.warns(
        UnknownTaskWarning,
        match=r"Level column 'region' holds 1 group\(s\).*'far', in 8 of 8 rows. They "
        "are predicted by what all known tasks have",
    ):
        model.predict(new_rows(X, "far", "new"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(new_rows(X, "R1", "new"))  # named once


def test_unknown_tasks_are_refused_where_that_is_wanted(data):
    X, y = data
    model = make_kin(False, unknown_task="error").fit(X, y)
    assert model.unseen_score_ is None
    with pytest.raises(
        ValueError, match=r"'R1 / new', in 8 of 8 rows\. Fit saw 'c000'"
    ):
        model.predict(new_rows(X, "R1", "new"))
    with pytest.raises(ValueError, match=r"'region' holds 1 group.*'far'"):
        model.predict(new_rows(X, "far", "c000"))


@pytest.mark.parametrize("column", PATH)
def test_a_missing_value_names_the_column_and_the_row(data, column):
    X, y = data
    gap = X.copy()
    gap.loc[5, column] = None
    with pytest.raises(
        ValueError, match=f"column '{column}' is missing in 1 of .*row 5"
    ):
        make_kin(False).fit(gap, y)
    model = make_kin(False).fit(X, y)
    with pytest.raises(
        ValueError, match=f"column '{column}' is missing in 1 of .*row 5"
    ):
        model.predict(gap)


def test_a_missing_column_is_named(fitted):
    model, X, _ = fitted
    with pytest.raises(ValueError, match="Level column 'region' is not in X"):
        model.predict(X.drop(columns="region"))
    with pytest.raises(ValueError, match="Task column 'clinic' is not in X"):
        model.predict(X.drop(columns="clinic"))


@pytest.mark.parametrize(
    ("task", "kind", "message"),
    [
        ([], ValueError, "empty list"),
        (["region", None], ValueError, "holds None"),
        (["clinic", "clinic"], ValueError, "given twice"),
        (["area", "clinic"], ValueError, "Level column 'area' is not in X"),
        (["region", "ward"], ValueError, "Task column 'ward' is not in X"),
        ([1.5, "clinic"], TypeError, "Level column must be a column name"),
    ],
)
def test_bad_paths_are_refused(data, task, kind, message):
    X, y = data
    with pytest.raises(kind, match=message):
        make_kin(False, task).fit(X, y)


def test_a_level_may_not_be_called_as_a_role(data):
    X, y = data
    X = X.rename(columns={"region": "shared"})
    with pytest.raises(ValueError, match="'shared' is called as a role"):
        make_kin(False, ["shared", "clinic"]).fit(X, y)


def test_saved_models_predict_the_same(fitted, tmp_path):
    model, X, _ = fitted
    new = new_rows(X, "R2", "new")
    kinlearn.save(model, tmp_path / "model.kin")
    for other in (
        pickle.loads(pickle.dumps(model)),
        kinlearn.load(tmp_path / "model.kin"),
    ):
        assert_array_equal(other.predict(X), model.predict(X))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnknownTaskWarning)
            assert_array_equal(other.predict(new), model.predict(new))
        assert other.sharing_ == model.sharing_


def test_a_search_clones_the_path(data):
    X, y = data
    grid = {"families": [["linear"], ["svm"]]}
    kin = make_kin(False, unknown_task="share", n_folds=2)
    search = GridSearchCV(kin, grid, cv=2, refit=False).fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert clone(kin).get_params()["task"] == PATH


def test_integer_weights_are_repeated_rows():
    # no clinic near the eight rows from which it gets a model of its own
    X, y = make_regions(n_regions=3, n_clinics=3, n_rows=50)
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), weight)
    weighted = make_kin(False, n_folds=2).fit(X, y, weight)
    repeated = make_kin(False, n_folds=2).fit(X.iloc[rows], y[rows])
    assert_allclose(weighted.weights_, repeated.weights_, atol=0.01)
    assert_allclose(weighted.predict(X), repeated.predict(X), atol=0.01)
    assert_allclose(weighted.unseen_score_, repeated.unseen_score_, atol=0.01)


def test_importance_of_columns_counts_the_region(data):
    X, y = data
    rng = np.random.default_rng(1)
    X = X.assign(clinic=rng.integers(1000, size=len(X)).astype(str))  # nearly all new
    model = make_kin(False, unknown_task="share").fit(X, y)
    found = model.permutation_importance(X, y, n_repeats=2, random_state=0)
    assert found.importances_mean[list(X.columns).index("region")] > 0.05


def test_explanations_add_up_for_known_and_new_tasks(fitted):
    model, X, _ = fitted
    rows = pd.concat([X.head(2), new_rows(X, "R1", "new").head(2)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnknownTaskWarning)
        found = model.explain(rows)
        if hasattr(model, "classes_"):
            expected = model.predict_proba(rows)[:, 1]
        else:
            expected = model.predict(rows)
    assert found.names[-1] == "region / clinic"
    assert_allclose(found.base + found.contributions.sum(axis=1), expected, atol=1e-6)


def test_intervals_are_wider_the_less_is_known():
    X, y = make_regions(n_regions=10, n_clinics=5)
    model = make_kin(False, unknown_task="share").fit(X, y)
    widths = [
        np.ptp(model.predict_interval(rows, 0.8)[0])
        for rows in (X.head(8), new_rows(X, "R1", "new"), new_rows(X, "far", "new"))
    ]
    assert widths[0] < 1.2 * widths[1]
    assert 1.2 * widths[1] < widths[2] < np.inf
    with pytest.warns(KinlearnWarning, match=r"10 group\(s\) were left out in turn"):
        model.predict_interval(new_rows(X, "far", "new"), 0.95)


def test_sets_and_coverage_know_new_tasks():
    X, y = make_regions(n_regions=10, n_clinics=5)
    y = make_target(True, y)
    model = make_kin(True, unknown_task="share").fit(X, y)
    rows = pd.concat([X.head(8), new_rows(X, "R1", "c000"), new_rows(X, "far", "z")])
    sets = model.predict_set(rows, 0.8)
    assert sets.shape == (24, 2)
    assert sets.any(axis=1).all()
    found = model.coverage(rows, np.tile(y[:8], 3), level=0.8)
    assert list(found.tasks) == ["c000", "R1 / c000", "far / z"]
    assert_array_equal(found.known, [True, False, False])


def test_three_levels_each_have_scores():
    X, y = make_regions(n_regions=6, n_clinics=4, n_rows=10)
    X.insert(0, "country", np.where(X["region"] < "R3", "N", "S"))
    y = y + 2.0 * (X["country"] == "N")
    model = make_kin(False, ["country", *PATH], unknown_task="share").fit(X, y)
    assert list(model.unseen_level_scores_) == ["country", "region", "clinic"]
    assert set(model.sharing_["c000"]) == {
        "own",
        "pooled",
        "shared",
        "country",
        "region",
    }
    scores = list(model.unseen_level_scores_.values())
    assert scores[0] < scores[1] < scores[2]
    found = [
        model.predict(new_rows(X, region, "new").assign(country=country))
        for country, region in (("N", "R0"), ("N", "new"), ("S", "new"), ("W", "new"))
    ]
    for i in range(4):
        for j in range(i):
            assert np.abs(found[i] - found[j]).max() > 0.05


def test_regions_of_one_clinic_each_are_predicted():
    X, y = make_regions(n_regions=12, n_clinics=1)
    model = make_kin(False, unknown_task="share").fit(X, y)
    assert np.isfinite(list(model.unseen_level_scores_.values())).all()
    assert np.isfinite(list(model.unseen_task_scores_.values())).all()
    assert np.isfinite(model.predict(new_rows(X, "R1", "new"))).all()


def test_one_region_alone_is_predicted():
    X, y = make_regions(n_regions=1)
    model = make_kin(False, unknown_task="share").fit(X, y)
    assert model.unseen_level_scores_["region"] is None
    assert np.isfinite(model.predict(new_rows(X, "far", "new"))).all()


def test_ones_own_estimators_are_tried_by_region(data):
    X, y = data
    model = make_kin(False, families=[], estimators={"ridge": Ridge()}).fit(X, y)
    assert "ridge, by region" in model.candidates_


@pytest.mark.parametrize("family", ["trees", "boosting", "svm"])
def test_every_family_has_a_candidate_of_regions(data, family):
    X, y = data
    model = make_kin(False, families=[family], n_estimators=10).fit(X, y)
    assert "region" in [*model.roles_]
    assert model.unseen_score_ > 0.2


def test_a_time_limit_leaves_a_model(data):
    X, y = data
    model = make_kin(False, time_limit=1e-6, unknown_task="share").fit(X, y)
    for rows in (X, new_rows(X, "R1", "new"), new_rows(X, "far", "new")):
        assert np.isfinite(model.predict(rows)).all()


def test_codes_of_rows_tell_what_is_known():
    groups = np.array([[0, 0, 0, 1], [0, 0, 1, 2]])
    upper = [np.zeros((0, 2), np.int32), np.array([[0, 0, 1]])]
    levels = Levels(("a", "b", "c"), groups.astype(np.int32), upper)
    code = np.array([0, 3, -1, -2, -3, -4, -5, -6])
    assert_array_equal(
        levels.groups_of(code),
        [[0, 1, -1, 0, 1, 0, 0, 1], [0, 2, -1, -1, -1, 0, 1, 2]],
    )
    assert_array_equal(levels.cases(code), [0, 3, -3, -2, -2, -1, -1, -1])


@pytest.mark.slow
@pytest.mark.parametrize("classes", [True, False], ids=["classes", "numbers"])
def test_levels_help_new_clinics_and_harm_no_known_ones(classes):
    """Against the same estimator without the region, paired over seeds."""
    gains, known = [], []
    for seed in range(5):
        X, y = make_regions(n_regions=8, n_clinics=6, n_rows=14, seed=seed)
        y = make_target(classes, y)
        new = X["clinic"].str[1:].astype(int).to_numpy() % 6 >= 4
        held = (np.arange(len(X)) % 14 >= 10) & ~new
        train = ~(new | held)
        scores = []
        for task, drop in ((PATH, []), ("clinic", ["region"])):
            table = X.drop(columns=drop)
            model = make_kin(classes, task, n_folds=5, unknown_task="share")
            model.fit(table[train], y[train])
            scores.append([model.score(table[rows], y[rows]) for rows in (new, held)])
        gains.append(scores[0][0] - scores[1][0])
        known.append(scores[0][1] - scores[1][1])
    error = np.std(gains, ddof=1) / np.sqrt(len(gains))
    assert np.mean(gains) > 0.05 + 2 * error
    assert np.mean(known) > -0.01


@pytest.mark.slow
def test_scores_of_new_tasks_are_those_of_new_rows():
    expected, found = [], []
    for seed in range(10):
        X, y = make_regions(n_regions=16, n_clinics=4, seed=100 + seed)
        far = X["region"].isin([f"R{r}" for r in range(10, 16)]).to_numpy()
        new = X["clinic"].str[1:].astype(int).to_numpy() % 4 == 3
        train = ~far & ~new
        model = make_kin(False, n_folds=5, unknown_task="share")
        model.fit(X[train], y[train])
        expected.append(list(model.unseen_level_scores_.values()))
        tests = (far, new & ~far)
        found.append([model.score(X[rows], y[rows]) for rows in tests])
    off = np.subtract(expected, found)
    region, clinic = np.abs(off.mean(axis=0))
    error = off.std(axis=0, ddof=1) / np.sqrt(len(off))
    assert region < 3 * error[0]
    assert clinic < 3 * error[1]
    assert error[1] < 0.02
    assert error[0] < 0.1
