"""MixedLinearRegressor: what it predicts, how sure it is, what it refuses."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge

import kinlearn
from kinlearn.exceptions import SingularFitWarning, UnknownTaskWarning
from kinlearn.linear import MixedLinearRegressor, likelihood_ratio_test
from kinlearn.linear.mixed._likelihood import maximise
from tests.reference.mixed_models import DenseModel, Grouping


def make_rows(n_tasks=30, rows=8, seed=0, sd=(1.0, 0.7), n_items=6):
    """Rows of tasks with intercepts and slopes, crossed with items."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), rows)
    item = rng.integers(0, n_items, len(task))
    x = rng.normal(size=(len(task), 2))
    b = rng.normal(size=(n_tasks, 2)) * sd
    y = 3 + x @ [1.0, -0.5] + b[task, 0] + b[task, 1] * x[:, 0]
    y += 0.5 * rng.normal(size=n_items)[item] + rng.normal(size=len(task))
    frame = pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "item": item, "task": task})
    return frame, y


@pytest.fixture(scope="module")
def crossed():
    X, y = make_rows()
    model = MixedLinearRegressor(task="task", groups=["item"], slopes=["a"])
    return model.fit(X, y), X, y


@pytest.mark.parametrize("alpha", [0.0, 2.5])
def test_one_task_is_linear_regression(alpha):
    X, y = make_rows()
    X = X[["a", "b"]]
    plain = Ridge(alpha=alpha) if alpha else LinearRegression()
    plain.fit(X, y)
    model = MixedLinearRegressor(alpha=alpha).fit(X, y)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert_allclose(model.intercept_, plain.intercept_, rtol=1e-9)
    X = X.assign(task="the only one")
    model = MixedLinearRegressor(task="task", slopes="all", alpha=alpha).fit(X, y)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert not model.is_singular_


def test_tasks_of_one_row_each_have_no_effects():
    X, y = make_rows(n_tasks=60, rows=1)
    model = MixedLinearRegressor(task="task")
    with pytest.warns(SingularFitWarning, match="'task' have no variance"):
        model.fit(X[["a", "b", "task"]], y)
    assert model.is_singular_
    plain = LinearRegression().fit(X[["a", "b"]], y)
    assert_allclose(model.coef_, plain.coef_, rtol=1e-9)
    assert_allclose(model.covariances_["task"], 0)


def test_unknown_levels_are_predicted_by_the_population(crossed):
    model, X, _ = crossed
    new = X.head(5).assign(task=999)
    with pytest.warns(UnknownTaskWarning, match="'task' holds 1 task"):
        mean, std = model.predict(new, return_std=True)
    effects = model.random_effects_["item"]["estimate"]
    fixed = model.intercept_ + new[["a", "b"]] @ model.coef_
    assert_allclose(mean, fixed + effects.to_numpy()[new["item"]], rtol=1e-9)
    assert (std > model.predict(X.head(5), return_std=True)[1]).all()
    with pytest.warns(UnknownTaskWarning, match="'item' holds levels"):
        model.predict(X.head(2).assign(item=77))
    model = MixedLinearRegressor(**{**model.get_params(), "unknown_task": "error"})
    model.fit(X, crossed[2])
    with pytest.raises(ValueError, match=r"'item' holds levels .* in 2 rows"):
        model.predict(X.head(2).assign(item=77))


def coverage(level, n_tasks, n_repeats, seed):
    """Fractions of new targets of known and of new tasks inside of the intervals."""
    inside = np.zeros(2)
    for repeat in range(n_repeats):
        rng = np.random.default_rng([seed, repeat])
        b = rng.normal(size=(n_tasks + 50, 2)) * [1.5, 1.0]

        def rows(tasks, rng=rng, b=b):
            x = rng.normal(size=len(tasks))
            y = 2 + x + b[tasks, 0] + b[tasks, 1] * x + rng.normal(size=len(tasks))
            return np.column_stack([x, tasks]), y

        X, y = rows(rng.integers(0, n_tasks, 6 * n_tasks))
        model = MixedLinearRegressor(task=-1, slopes=[0], unknown_task="share")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularFitWarning)
            model.fit(X, y)
        known = np.unique(X[:, 1]).astype(int)
        for i, tasks in enumerate((known, np.arange(n_tasks, n_tasks + 50))):
            X_new, y_new = rows(tasks)
            low, high = model.predict_interval(X_new, level).T
            inside[i] += ((low <= y_new) & (y_new <= high)).mean() / n_repeats
    return inside


def test_intervals_hold_new_targets():
    known, new = coverage(0.9, n_tasks=40, n_repeats=20, seed=0)
    assert_allclose([known, new], 0.9, atol=0.04)


@pytest.mark.slow
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_intervals_hold_new_targets_as_often_as_they_say(level):
    known, new = coverage(level, n_tasks=40, n_repeats=100, seed=1)
    # 100 repeats of 40 and 50 targets: a standard error of less than 0.01, and
    # intervals that take variances as known are a little too narrow
    assert_allclose(known, level, atol=0.02)
    assert_allclose(new, level, atol=0.03)


@pytest.mark.slow
def test_intervals_of_coefficients_hold_them():
    inside = []
    for seed in range(200):
        X, y = make_rows(n_tasks=25, rows=5, seed=seed, n_items=2)
        model = MixedLinearRegressor(task="task", slopes=["a"])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SingularFitWarning)
            table = model.fit(X.drop(columns="item"), y).fixed_effects_
        table, truth = table.loc[["a", "b"]], [1, -0.5]
        inside.append((table["low"] <= truth) & (table["high"] >= truth))
    assert_allclose(np.mean(inside, axis=0), 0.95, atol=0.035)


@pytest.mark.parametrize("groups", [None, ["item"], [("task", "item")]])
def test_portions_give_the_same_model_as_all_rows(groups):
    X, y = make_rows()
    if not groups:
        X = X.drop(columns="item")
    options = {"task": "task", "groups": groups, "slopes": ["a"], "tol": 1e-10}
    whole = MixedLinearRegressor(**options).fit(X, y)
    parts = MixedLinearRegressor(**options)
    order = np.random.default_rng(1).permutation(len(y))
    later = np.setdiff1d(order, order[:100])
    # the last tasks come last of all
    first = [i for i in order[:100] if X["task"].iloc[i] < 25]
    parts.partial_fit(X.iloc[first], y[first])
    rest = np.setdiff1d(np.arange(len(y)), first)
    for rows in np.array_split(rest, 3):
        parts.partial_fit(X.iloc[rows], y[rows])
    assert len(later) < len(rest)
    assert_allclose(parts.tasks_, whole.tasks_)
    assert_allclose(parts.log_likelihood_, whole.log_likelihood_, rtol=1e-8)
    assert_allclose(parts.coef_, whole.coef_, rtol=1e-4)
    mean, std = whole.predict(X, return_std=True)
    assert_allclose(parts.predict(X), mean, rtol=1e-3, atol=1e-3)
    assert_allclose(parts.predict(X, return_std=True)[1], std, rtol=1e-3)


def test_new_tasks_are_best_linear_predictions_by_the_learned_variances():
    X, y = make_rows()
    X = X.drop(columns="item")
    old = (X["task"] < 27).to_numpy()
    model = MixedLinearRegressor(task="task", slopes=["a"]).fit(X[old], y[old])
    covariances, sigma = model.covariances_, model.sigma_
    model.add_task(X[~old], y[~old])
    assert_allclose(model.covariances_["task"], covariances["task"])
    assert model.sigma_ == sigma
    features = X[["a", "b"]].to_numpy()
    dense = DenseModel(features, y, [Grouping(X["task"].to_numpy(), (0,))])
    G = [covariances["task"] / sigma**2]
    mean, _ = dense.predict(G, features, [X["task"].to_numpy()])
    assert_allclose(model.predict(X), mean, rtol=1e-8)
    with pytest.raises(ValueError, match=r"it knows 3, 4"):
        model.add_task(X[X["task"].isin([3, 4])], y[X["task"].isin([3, 4])])


def test_nested_levels_may_have_the_same_names_everywhere():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {
            "batch": np.repeat(list("ABCDEF"), 12),
            "cask": np.tile(np.repeat(list("xyz"), 4), 6),
        }
    )
    X["sample"] = X["batch"] + X["cask"]
    level = X["sample"].astype("category").cat.codes.to_numpy()
    y = rng.normal(size=18)[level] + 0.3 * rng.normal(size=72)
    y += np.repeat(rng.normal(size=6), 12)
    by_pair = MixedLinearRegressor(task="batch", groups=[("batch", "cask")])
    by_pair.fit(X[["batch", "cask"]], y)
    by_name = MixedLinearRegressor(task="batch", groups=["sample"])
    by_name.fit(X[["batch", "sample"]], y)
    assert_allclose(by_pair.log_likelihood_, by_name.log_likelihood_, rtol=1e-9)
    assert_allclose(
        by_pair.predict(X[["batch", "cask"]]),
        by_name.predict(X[["batch", "sample"]]),
        rtol=1e-5,
    )
    table = by_pair.random_effects_["batch:cask"]
    assert table.index.get_level_values("level")[:3].tolist() == ["A:x", "A:y", "A:z"]
    assert by_pair.n_features_in_ == 2
    assert list(by_pair.feature_names_in_) == ["batch", "cask"]


def test_far_offsets_change_nothing_but_the_intercept():
    X, y = make_rows()
    options = {"task": "task", "groups": ["item"], "slopes": ["a"]}
    near = MixedLinearRegressor(**options).fit(X, y)
    far = MixedLinearRegressor(**options).fit(X.assign(b=X["b"] + 1e6), y + 1e7)
    assert_allclose(far.coef_, near.coef_, rtol=1e-5)
    assert_allclose(far.sigma_, near.sigma_, rtol=1e-6)
    assert_allclose(far.log_likelihood_, near.log_likelihood_, rtol=1e-7)
    moved = MixedLinearRegressor(**options).fit(X.assign(a=X["a"] + 1000), y)
    assert_allclose(moved.log_likelihood_, near.log_likelihood_, rtol=1e-7)
    assert_allclose(
        moved.covariances_["task"][1, 1], near.covariances_["task"][1, 1], rtol=1e-3
    )


def test_columns_that_others_explain_are_dropped():
    X, y = make_rows()
    X = X.drop(columns="item")
    plain = MixedLinearRegressor(task="task").fit(X, y)
    wide = X.assign(c=X["a"] + 2 * X["b"], d=3.0)[["a", "b", "c", "d", "task"]]
    model = MixedLinearRegressor(task="task").fit(wide, y)
    assert model.dropped_features_.tolist() == ["c", "d"]
    assert_allclose(model.coef_, [*plain.coef_, 0, 0], rtol=1e-8)
    assert model.fixed_effects_.index.tolist() == ["intercept", "a", "b"]
    assert_allclose(model.log_likelihood_, plain.log_likelihood_, rtol=1e-10)


def test_text_columns_may_have_slopes():
    X, y = make_rows()
    rng = np.random.default_rng(0)
    X["diet"] = rng.choice(["corn", "hay", "oats"], len(y))
    X = X[["a", "diet", "task"]]
    model = MixedLinearRegressor(
        task="task", slopes=["diet"], covariance="scaled_identity"
    )
    model.fit(X, y + (X["diet"] == "hay") * rng.normal(size=30)[X["task"]] * 2)
    names = model.variance_components_.loc["task"].index.tolist()
    assert names == ["intercept", *[n for n in model.feature_names_ if "diet" in n]]
    assert len(names) == 4
    assert np.isfinite(model.predict(X.assign(diet="straw"))).all()


def test_singular_fits_are_said():
    X, y = make_rows(sd=(0.0, 0.0), n_items=1)
    X = X.drop(columns="item")
    with pytest.warns(SingularFitWarning, match="effects of 'task' have no variance"):
        model = MixedLinearRegressor(task="task", slopes=["a"]).fit(X, y)
    assert model.is_singular_
    few = np.arange(0, len(y), 4)  # two rows of each task
    exact = X["task"] ** 2.0 + 3 * X["a"]
    with pytest.warns(SingularFitWarning, match="effects explain every row"):
        MixedLinearRegressor(task="task").fit(X.iloc[few], exact.iloc[few])


def test_fractions_of_variance_and_tables(crossed):
    model, _, _ = crossed
    table = model.variance_components_
    assert table.index.tolist() == [
        ("task", "intercept"),
        ("task", "a"),
        ("item", "intercept"),
        ("residual", ""),
    ]
    assert_allclose(table["standard_deviation"] ** 2, table["variance"])
    assert_allclose(table["variance"].iloc[-1], model.sigma_**2)
    fractions = model.icc_
    assert list(fractions) == ["task", "item"]
    item = model.covariances_["item"][0, 0]
    a = np.column_stack([np.ones(240), crossed[1]["a"]])
    task = np.einsum("ij,jk,ik->i", a, model.covariances_["task"], a).mean()
    total = task + item + model.sigma_**2
    assert_allclose(list(fractions.values()), [task / total, item / total], rtol=1e-8)


def test_models_come_back_from_files(crossed, tmp_path):
    model, X, y = crossed
    kinlearn.save(model, tmp_path / "model.skops")
    loaded = kinlearn.load(tmp_path / "model.skops")
    for ours, theirs in zip(
        loaded.predict(X, return_std=True),
        model.predict(X, return_std=True),
        strict=True,
    ):
        assert_allclose(ours, theirs)
    late = X.assign(task=X["task"] + 100)
    assert loaded.add_task(late, y).predict(late).shape == y.shape


def test_models_of_combined_columns_come_back_from_files(tmp_path):
    X, y = make_rows(n_items=3)
    model = MixedLinearRegressor(
        task="task",
        groups=[("task", "item")],
        slopes={"task": ["a"], "task:item": ["b"]},
        covariance={"task:item": "diagonal"},
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SingularFitWarning)
        model.fit(X, y)
    kinlearn.save(model, tmp_path / "model.skops")
    loaded = kinlearn.load(tmp_path / "model.skops")
    assert_allclose(loaded.predict(X), model.predict(X))
    assert list(loaded.random_effects_) == ["task", "task:item"]


def test_likelihood_ratio():
    X, y = make_rows()
    X = X.drop(columns="item")
    small = MixedLinearRegressor(task="task").fit(X, y)
    large = MixedLinearRegressor(task="task", slopes=["a"]).fit(X, y)
    result = likelihood_ratio_test(small, large)
    assert result.dof == 2
    gain = 2 * (large.log_likelihood_ - small.log_likelihood_)
    assert_allclose(result.statistic, gain)
    assert_allclose(result.p_value, np.exp(-gain / 2))  # chi-squared with two
    assert likelihood_ratio_test(large, small) == result
    fewer = X.drop(columns="b")
    with pytest.raises(ValueError, match=r'different features .* method="ml"'):
        likelihood_ratio_test(MixedLinearRegressor(task="task").fit(fewer, y), large)
    by_ml = MixedLinearRegressor(task="task", method="ml")
    with pytest.raises(ValueError, match="One model was fitted by method="):
        likelihood_ratio_test(by_ml.fit(X, y), large)
    with pytest.raises(ValueError, match="different rows or targets"):
        likelihood_ratio_test(MixedLinearRegressor(task="task").fit(X, -y), large)
    with pytest.raises(ValueError, match="Both models have 5 parameters"):
        likelihood_ratio_test(small, small)


@pytest.mark.slow
def test_effects_without_cause_are_seldom_significant():
    rejected = 0
    for seed in range(60):
        X, y = make_rows(n_tasks=20, rows=10, seed=seed, n_items=1)
        X["b"] = np.random.default_rng(seed).normal(size=len(y))
        X = X.drop(columns="item")
        full = MixedLinearRegressor(task="task", slopes=["a"], method="ml").fit(X, y)
        less = MixedLinearRegressor(task="task", slopes=["a"], method="ml")
        less.fit(X.drop(columns="b"), y)
        rejected += likelihood_ratio_test(less, full).p_value < 0.05
    assert rejected <= 8  # 3 are expected; more than 8 have a probability of 0.004


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"groups": "item"}, ValueError, "groups"),
        ({"groups": [1.5]}, TypeError, "names or positions of columns"),
        ({"groups": ["task"]}, ValueError, "'task' is given twice"),
        ({"groups": ["nobody"]}, ValueError, "nobody"),
        ({"slopes": ["nobody"]}, ValueError, "nobody"),
        ({"slopes": ["item"], "groups": ["item"]}, ValueError, "has no slope"),
        ({"slopes": {"item": ["a"]}}, ValueError, "neither the task nor in groups"),
        ({"slopes": {"task": 3}}, TypeError, "slopes must be"),
        ({"slopes": {("task", "item"): ["a"]}}, TypeError, "instead: 'task:item'"),
        ({"covariance": {"task": "round"}}, ValueError, "got 'round'"),
        ({"covariance": "round"}, ValueError, "covariance"),
        ({"alpha": -1}, ValueError, "alpha"),
    ],
)
def test_wrong_parameters_are_refused(options, error, message):
    X, y = make_rows()
    with pytest.raises(error, match=message):
        MixedLinearRegressor(task="task", **options).fit(X, y)


def test_more_coefficients_than_rows_need_a_penalty():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(10, 20)), rng.normal(size=10)
    with pytest.raises(ValueError, match=r"10 sample\(s\) and 10 coefficients"):
        MixedLinearRegressor().fit(X, y)
    model = MixedLinearRegressor(alpha=1.0).fit(X, y)
    assert_allclose(model.coef_, Ridge(alpha=1.0).fit(X, y).coef_, rtol=1e-8)


def test_too_many_crossed_effects_are_refused():
    X = np.column_stack([np.arange(60_000) // 2, np.arange(60_000) % 29_999])
    with pytest.raises(ValueError, match="have 29999 effects together"):
        MixedLinearRegressor(task=0, groups=[1]).fit(X, X[:, 0] * 1.0)


@pytest.mark.parametrize("level", [0, 1, 1.5, -1])
def test_levels_of_intervals_are_checked(crossed, level):
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        crossed[0].predict_interval(crossed[1], level)


def random_starts(model, n=5):
    """The best log likelihood that is reached from random starts."""
    likelihood, rng = model._likelihood_of(model._cross), np.random.default_rng(1)
    size = len(model._theta)
    found = [maximise(likelihood, start=rng.normal(size=size)) for _ in range(n)]
    return -0.5 * min(each.deviance for each in found)


@pytest.mark.parametrize(("shift", "scale"), [(10, 1), (1000, 1), (0, 1e3), (0, 1e4)])
def test_one_variance_for_columns_of_any_units_is_the_best(shift, scale):
    rng = np.random.default_rng(0)
    task, x = np.arange(300) % 30, rng.normal(size=300)
    b = rng.normal(size=(30, 2)) * [2.0, 1.0]
    y = 1 + x + b[task, 0] + b[task, 1] * x + rng.normal(size=300)
    X = np.column_stack([shift + scale * x, task])
    model = MixedLinearRegressor(task=-1, slopes=[0], covariance="scaled_identity")
    model.fit(X, y)
    likelihood = model._likelihood_of(model._cross)
    sizes = np.geomspace(1e-6, 1e3, 300)[:, None]
    grid = [likelihood.deviance(likelihood.factor(size)) for size in sizes]
    assert -2 * model.log_likelihood_ <= min(grid) + 1e-6
    assert not model.is_singular_


@pytest.mark.parametrize("rank", [1, 2])
def test_covariances_of_low_rank_are_the_best(rank):
    for seed in range(5):
        rng = np.random.default_rng(seed)
        task, Z = np.arange(200) % 20, rng.normal(size=(200, 4))
        b = rng.normal(size=(20, 5))
        y = b[task, 0] + (Z * b[task, 1:]).sum(axis=1) + rng.normal(size=200)
        model = MixedLinearRegressor(
            task=-1, slopes="all", covariance="low_rank", rank=rank
        ).fit(np.column_stack([Z, task]), y)
        assert model.log_likelihood_ > random_starts(model) - 1e-4


def test_slopes_without_a_task_are_those_of_the_one_grouping():
    X, y = make_rows()
    X = X.drop(columns="item")
    model = MixedLinearRegressor(groups=["task"], slopes=["a"]).fit(X, y)
    same = MixedLinearRegressor(task="task", slopes=["a"]).fit(X, y)
    assert_allclose(model.covariances_["task"], same.covariances_["task"])
    assert model.covariances_["task"].shape == (2, 2)


@pytest.mark.parametrize("slopes", ["all", ["a"]])
def test_slopes_of_no_grouping_are_refused(slopes):
    X, y = make_rows()
    model = MixedLinearRegressor(groups=["task", "item"], slopes=slopes)
    with pytest.raises(ValueError, match="name the grouping"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="neither a task nor one in groups"):
        MixedLinearRegressor(slopes=slopes).fit(X, y)


def test_many_levels_of_small_weight_leave_effects_their_variance():
    X, y = make_rows(n_tasks=80, rows=8, sd=(2.0, 0.0))
    X = X.drop(columns="item")
    heavy = (X["task"] < 10).to_numpy()
    weight = np.where(heavy, 0.5, 1e-6)  # the sum is less than the number of levels
    model = MixedLinearRegressor(task="task").fit(X, y, weight)
    alone = MixedLinearRegressor(task="task").fit(X[heavy], y[heavy], weight[heavy])
    assert not model.is_singular_
    expected = alone.covariances_["task"]
    assert_allclose(model.covariances_["task"], expected, rtol=1e-2)


def test_weights_too_small_for_effects_are_said():
    X, y = make_rows()
    model = MixedLinearRegressor(task="task")
    with pytest.warns(SingularFitWarning, match="Weights sum to 24"):
        model.fit(X.drop(columns="item"), y, np.full(len(y), 0.1))
    assert model.is_singular_


def test_rows_without_weight_do_not_make_levels_repeat():
    X, y = make_rows(n_tasks=60, rows=2)
    weight = np.tile([1.0, 0.0], 60)
    model = MixedLinearRegressor(task="task")
    with pytest.warns(SingularFitWarning, match="'task' have no variance"):
        model.fit(X.drop(columns="item"), y, weight)
    assert_allclose(model.covariances_["task"], 0)


@pytest.mark.parametrize("method", ["add_task", "partial_fit"])
def test_later_rows_that_fail_leave_the_model_as_it_was(method, monkeypatch):
    X, y = make_rows()
    model = MixedLinearRegressor(task="task", groups=["item"]).fit(X, y)
    before = model.predict(X)
    later = X[:10].assign(task=-5, item=np.arange(100, 110))
    engine = "kinlearn.linear.mixed.equations._pattern"
    monkeypatch.setattr(f"{engine}._MOST_DENSE", 12)
    monkeypatch.setattr(f"{engine}._WIDTH", 1)
    with pytest.raises(ValueError, match="effects together"):
        getattr(model, method)(later, y[:10])
    monkeypatch.undo()
    assert -5 not in model.tasks_
    assert_allclose(model.predict(X), before)
    assert len(model.random_effects_["item"]) == X["item"].nunique()
    getattr(model, method)(later, y[:10])
    assert -5 in model.tasks_


def test_likelihood_ratio_compares_rows_as_they_were_in_fit():
    X, y = make_rows()
    X = X.drop(columns="item")
    large = MixedLinearRegressor(task="task", slopes=["a"], method="ml").fit(X, y)
    small = MixedLinearRegressor(task="task", method="ml").fit(X, y)
    expected = likelihood_ratio_test(small, large)
    # in portions, and with tasks that the likelihood does not know
    parts = MixedLinearRegressor(task="task", method="ml")
    parts.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
    found = likelihood_ratio_test(parts, large)
    assert_allclose(found.statistic, expected.statistic, rtol=1e-5)
    small.add_task(X[:5].assign(task=99), y[:5])
    assert likelihood_ratio_test(small, large) == expected
    old = (X["task"] < 20).to_numpy()
    later = MixedLinearRegressor(task="task", method="ml").fit(X[old], y[old])
    later.add_task(X[~old], y[~old])
    with pytest.raises(ValueError, match="different rows or targets"):
        likelihood_ratio_test(later, large)
    without = MixedLinearRegressor(task="task", method="ml", fit_intercept=False)
    assert likelihood_ratio_test(without.fit(X, y), large).dof == 3


def test_likelihood_ratio_refuses_other_penalties_and_intercepts():
    X, y = make_rows()
    X = X.drop(columns="item")
    large = MixedLinearRegressor(task="task", slopes=["a"]).fit(X, y)
    with pytest.raises(ValueError, match="One model has alpha=3"):
        likelihood_ratio_test(
            MixedLinearRegressor(task="task", alpha=3).fit(X, y), large
        )
    without = MixedLinearRegressor(task="task", fit_intercept=False).fit(X, y)
    with pytest.raises(ValueError, match="with and without a fixed intercept"):
        likelihood_ratio_test(without, large)


def test_combinations_of_many_columns_keep_their_levels():
    rng = np.random.default_rng(0)
    n = 3000  # to the power of six: more than 64 bits
    names = [f"g{i}" for i in range(6)]
    columns = {name: np.tile(rng.permutation(n), 2) for name in names}
    X = pd.DataFrame({"x": rng.normal(size=2 * n), **columns})
    y = rng.normal(size=n)[np.tile(np.arange(n), 2)] + rng.normal(size=2 * n)
    model = MixedLinearRegressor(groups=[tuple(names)], unknown_task="error")
    model.fit(X, y)
    one = MixedLinearRegressor(groups=["g0"]).fit(X[["x", "g0"]], y)
    assert_allclose(model.predict(X), one.predict(X[["x", "g0"]]))
    labels = model._groupings[0].labels
    assert set(labels) == set(X[names].astype(str).agg(":".join, axis=1))
    later = X[:2].assign(g5=[n, n + 1])
    with pytest.raises(ValueError, match="did not see in fit, in 2 rows"):
        model.predict(later)
    model.partial_fit(later, y[:2])
    assert model._groupings[0].n_levels == n + 2
    assert np.isfinite(model.predict(later)).all()
