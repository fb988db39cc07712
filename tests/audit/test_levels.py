"""A comparison of tasks that lie in known groups: a path of columns."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge

import kinlearn
from kinlearn import KinRegressor
from kinlearn.audit import SharingResult, compare_sharing, default_contenders
from kinlearn.audit._problem import open_problem
from kinlearn.sharing import PerTask, Pooled
from kinlearn.sharing.internal import FinestLevel

PATH = ["region", "clinic"]
OPTIONS = {"n_splits": 2, "n_repeats": 1, "curve": False}


def make_regions(n_regions=4, n_clinics=3, n_rows=16, seed=0, shared_names=False):
    """Slopes and levels of regions; clinics are small and alike."""
    rng = np.random.default_rng(seed)
    n = n_regions * n_clinics
    region = np.repeat(np.arange(n_regions), n_clinics * n_rows)
    clinic = np.repeat(np.arange(n), n_rows)
    slopes = rng.standard_normal((n_regions, 3))
    X = rng.standard_normal((len(region), 3))
    y = (X * slopes[region]).sum(axis=1) + 3.0 * rng.standard_normal(n_regions)[region]
    y += 0.7 * rng.standard_normal(len(y))
    if shared_names:
        clinic %= n_clinics
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    frame["region"] = np.array([f"R{r}" for r in range(n_regions)])[region]
    frame["clinic"] = np.array([f"c{c:02d}" for c in range(n)])[clinic]
    return frame, y


def ridge_forms(task="clinic"):
    return {
        "alone": PerTask(Ridge(tol=1e-12), task=task, unknown_task="share"),
        "pooled": Pooled(Ridge(tol=1e-12), task=task, unknown_task="share"),
    }


@pytest.fixture(scope="module")
def compared():
    X, y = make_regions()
    return compare_sharing(X, y, task=PATH, estimators=ridge_forms(), **OPTIONS), X, y


def test_the_result_is_read_at_either_level(compared):
    result, X, _ = compared
    assert result.levels == PATH
    assert [gain["task"] for gain in result.gains] == sorted(set(X["clinic"]))
    regions = result.at_level("region")
    assert isinstance(regions, SharingResult)
    assert [gain["task"] for gain in regions.gains] == ["R0", "R1", "R2", "R3"]
    assert [t["n_rows"] for t in regions.to_dict()["tasks"]] == [48] * 4
    assert "region" in regions.verdict
    assert result.at_level("clinic") is result


def test_scores_of_regions_are_those_of_the_same_predictions(compared):
    X, y = compared[1:]
    folds = [
        (
            np.flatnonzero(np.arange(len(y)) % 2 == f),
            np.flatnonzero(np.arange(len(y)) % 2 != f),
        )
        for f in range(2)
    ]
    result = compare_sharing(
        X,
        y,
        task=PATH,
        estimators=ridge_forms(),
        cv=folds,
        scoring="neg_mean_squared_error",
        curve=False,
    )
    found = (
        result.at_level("region").to_frame().set_index(["contender", "task"])["mean"]
    )
    for name, model in ridge_forms().items():
        Z = X.drop(columns="region")
        error = np.empty(len(y))
        for train, test in folds:
            model = clone(model).fit(Z.iloc[train], y[train])
            error[test] = (model.predict(Z.iloc[test]) - y[test]) ** 2
        for region in ("R0", "R3"):
            assert_allclose(
                found[name, region], -error[(X["region"] == region).to_numpy()].mean()
            )


def test_the_region_is_no_feature_of_any_contender(compared):
    result, X, y = compared
    plain = compare_sharing(
        X.drop(columns="region"),
        y,
        task="clinic",
        estimators=ridge_forms(),
        **OPTIONS,
    )
    assert plain.levels == ["clinic"]
    assert_allclose(
        result.to_frame()["mean"].to_numpy(), plain.to_frame()["mean"].to_numpy()
    )
    assert result.gains == plain.gains
    assert result.to_dict()["data"]["n_features"] == 3


def test_one_column_in_a_list_is_that_column(compared):
    X, y = compared[1:]
    X = X.drop(columns="region")
    one, plain = (
        compare_sharing(X, y, task=task, estimators=ridge_forms(), **OPTIONS)
        for task in (["clinic"], "clinic")
    )
    assert one.gains == plain.gains


def test_results_with_levels_are_written_and_read_back(compared):
    result = compared[0]
    again = SharingResult.from_json(result.to_json())
    assert again.levels == PATH
    assert again.at_level("region").gains == result.at_level("region").gains
    with pytest.raises(
        ValueError, match="level must be one of 'region', 'clinic'; got"
    ):
        again.at_level("country")


def test_the_winner_takes_the_table_as_it_came(compared, tmp_path):
    result, X, _ = compared
    model = result.best_estimator_
    found = model.predict(X)
    assert found.shape == (len(X),)
    new = X.head(3).assign(region="elsewhere", clinic="c00")
    assert np.isfinite(model.predict(new)).all()
    kinlearn.save(model, tmp_path / "model.kin")
    assert_array_equal(kinlearn.load(tmp_path / "model.kin").predict(X), found)
    best = result.at_level("region")
    assert best.best_estimator_.predict(X).shape == (len(X),)


def test_kin_takes_the_whole_path():
    X, y = make_regions()
    kin = KinRegressor(task=PATH, families=["linear"], n_folds=2, unknown_task="error")
    contenders = {**ridge_forms(), "kin": kin, "kin of clinics": clone(kin)}
    contenders["kin of clinics"].set_params(task="clinic")
    result = compare_sharing(X, y, task=PATH, estimators=contenders, **OPTIONS)
    assert not any(c["error"] for c in result.contenders)
    scores = {c["name"]: c["macro"] for c in result.contenders}
    assert scores["kin"] > scores["kin of clinics"] > scores["pooled"]


def test_default_contenders_take_a_path():
    X, y = make_regions()
    models = default_contenders(X, y, task=PATH, on_request=True)
    assert models["Kin"].task == PATH
    pooled = models["ridge regression, pooled"]
    assert isinstance(pooled, FinestLevel)
    assert pooled.fit(X, y).predict(X).shape == (len(y),)
    some = {name: models[name] for name in list(models)[1:3]}
    result = compare_sharing(X, y, task=PATH, estimators=some, **OPTIONS)
    assert not any(c["error"] for c in result.contenders)


def test_clinics_of_one_name_in_two_regions_stay_apart(compared):
    result = compared[0]
    X, y = make_regions(shared_names=True)
    other = compare_sharing(X, y, task=PATH, estimators=ridge_forms(), **OPTIONS)
    tasks = [gain["task"] for gain in other.gains]
    assert len(tasks) == 12
    assert tasks[3] == "R1 / c00"
    assert_allclose(
        [gain["gain"] for gain in other.gains], [gain["gain"] for gain in result.gains]
    )


@pytest.mark.parametrize("container", [np.asarray, sp.csr_array, pl.DataFrame])
@pytest.mark.parametrize("shared_names", [True, False])
def test_arrays_and_other_frames_give_the_same(container, shared_names):
    X, y = make_regions(shared_names=shared_names)
    for name in PATH:
        X[name] = X[name].str[1:].astype(int)
    given = (
        container(X.astype(float)) if container is not pl.DataFrame else container(X)
    )
    task = PATH if container is pl.DataFrame else [3, 4]
    results = [
        compare_sharing(
            table, y, task=path, estimators=ridge_forms(path[-1]), **OPTIONS
        ).to_frame()["mean"]
        for table, path in ((X, PATH), (given, task))
    ]
    assert_allclose(results[0].to_numpy(), results[1].to_numpy(), atol=1e-8)


def test_classes_have_levels_too():
    X, y = make_regions(n_rows=30)
    labels = np.where(y > np.median(y), "ill", "well")
    result = compare_sharing(
        X,
        labels,
        task=PATH,
        estimators={"logistic": LogisticRegression()},
        **OPTIONS,
    )
    regions = result.at_level("region")
    assert regions.to_dict()["metric"]["name"] == "roc_auc"
    assert len(regions.gains) == 4


def test_a_store_goes_on_with_levels(tmp_path):
    X, y = make_regions()
    store = tmp_path / "run.sqlite"
    first, second = (
        compare_sharing(
            X, y, task=PATH, estimators=ridge_forms(), store=store, **OPTIONS
        )
        for _ in range(2)
    )
    assert first.at_level("region").gains == second.at_level("region").gains
    with pytest.raises(ValueError, match="another"):
        compare_sharing(
            X.drop(columns="region"),
            y,
            task="clinic",
            estimators=ridge_forms(),
            store=store,
            **OPTIONS,
        )


@pytest.mark.parametrize(
    ("task", "message"),
    [
        ([], "empty list"),
        (["area", "clinic"], "Level column 'area' is not in X"),
        (["clinic", "clinic"], "given twice"),
    ],
)
def test_bad_paths_are_refused(compared, task, message):
    X, y = compared[1:]
    with pytest.raises(ValueError, match=message):
        compare_sharing(X, y, task=task, **OPTIONS)


def test_a_contender_of_another_path_is_refused(compared):
    X, y = compared[1:]
    kin = KinRegressor(task=["clinic", "region"])
    with pytest.raises(ValueError, match="comparison is by task="):
        compare_sharing(
            X, y, task=PATH, estimators={**ridge_forms(), "kin": kin}, **OPTIONS
        )


def test_a_single_region_has_no_result_of_its_own():
    X, y = make_regions(n_regions=1)
    result = compare_sharing(X, y, task=PATH, estimators=ridge_forms(), **OPTIONS)
    assert result.levels == ["clinic"]


def test_the_page_of_a_result_with_levels_is_written(compared, tmp_path):
    result = compared[0]
    for each in (result, result.at_level("region")):
        each.to_html(tmp_path / "page.html")
        assert (tmp_path / "page.html").stat().st_size > 1000


def test_a_problem_knows_its_groups():
    X, y = make_regions()
    problem = open_problem(X, y, PATH)
    assert list(problem.X.columns) == ["x0", "x1", "x2", "clinic"]
    assert problem.given.shape == X.shape
    above = problem.at_level("region")
    assert_array_equal(above.tasks[above.codes], X["region"])
    assert_array_equal(above.sizes, [48] * 4)
