"""KS, KL and Hellinger: between marginals."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from kinlearn import with_task
from kinlearn.relatedness import task_distances
from tests.reference import task_distances as twin

MARGINAL = ["ks", "kl", "kl_directed", "hellinger", "mutual_information"]


def _problem(seed=0, sizes=(40, 7, 1, 90), n_features=3):
    rng = np.random.default_rng(seed)
    task = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(task), n_features)) + 0.5 * task[:, None]
    X[:, 1] = np.round(X[:, 1])  # ties
    X[:, 2] = X[:, 2] > 1  # two values
    return X, task


def _values(X, task, method, **options):
    return task_distances(with_task(X, task), task=-1, method=method, **options).values


def _pairwise(X, task, distance):
    """Distance by feature and pair: shape (n_features, n_tasks, n_tasks)."""
    tasks = np.unique(task)
    out = np.zeros((X.shape[1], len(tasks), len(tasks)))
    for j in range(X.shape[1]):
        samples = [X[task == t, j] for t in tasks]
        samples = [s[~np.isnan(s)] for s in samples]
        for a in range(len(tasks)):
            for b in range(len(tasks)):
                out[j, a, b] = distance(j, samples, a, b)
    return out


@pytest.mark.parametrize("aggregate", ["mean", "max"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ks_equals_scipy(aggregate, dtype):
    X, task = _problem()
    X = X.astype(dtype)
    # SciPy 1.18 gives float32 for float32
    expected = _pairwise(
        X.astype(float), task, lambda j, s, a, b: stats.ks_2samp(s[a], s[b]).statistic
    )
    assert_allclose(
        _values(X, task, "ks", aggregate=aggregate),
        getattr(expected, aggregate)(axis=0),
        rtol=1e-13,
    )


def test_ks_equals_scipy_on_many_rows():
    # enough rows for a fine grid, whose cells are then mostly skipped
    rng = np.random.default_rng(3)
    task = np.repeat([0, 1, 2], [5000, 3000, 40])
    X = np.column_stack([rng.normal(size=8040) + 0.05 * task, rng.poisson(3, 8040)])
    expected = _pairwise(
        X,
        task,
        lambda j, s, a, b: stats.ks_2samp(s[a], s[b], method="asymp").statistic,
    )
    assert_allclose(_values(X, task, "ks"), expected.mean(axis=0), rtol=1e-12)


def _shares(samples, n_bins, smoothing):
    bin_of, n_bins = twin.weighted_quantile_bins([s.tolist() for s in samples], n_bins)
    return [twin.bin_shares(s.tolist(), bin_of, n_bins, smoothing) for s in samples]


@pytest.mark.parametrize("aggregate", ["mean", "max"])
@pytest.mark.parametrize("n_bins", [2, 6, 20])
def test_hellinger_equals_brute_force(aggregate, n_bins):
    X, task = _problem()

    def distance(j, samples, a, b):
        shares = _shares(samples, n_bins, 0.0)
        return twin.hellinger(shares[a], shares[b])

    expected = getattr(_pairwise(X, task, distance), aggregate)(axis=0)
    values = _values(X, task, "hellinger", n_bins=n_bins, aggregate=aggregate)
    assert_allclose(values, expected, rtol=1e-12)


@pytest.mark.parametrize("aggregate", ["mean", "max"])
@pytest.mark.parametrize(("n_bins", "smoothing"), [(2, 1.0), (6, 0.5), (20, 0.01)])
def test_kl_equals_brute_force(aggregate, n_bins, smoothing):
    X, task = _problem()

    def distance(j, samples, a, b):
        shares = _shares(samples, n_bins, smoothing)
        return twin.symmetric_kl(shares[a], shares[b])

    expected = getattr(_pairwise(X, task, distance), aggregate)(axis=0)
    options = {"n_bins": n_bins, "smoothing": smoothing, "aggregate": aggregate}
    assert_allclose(_values(X, task, "kl", **options), expected, rtol=1e-9, atol=1e-14)


@pytest.mark.parametrize("aggregate", ["mean", "max"])
@pytest.mark.parametrize("n_bins", [2, 6, 20])
def test_directed_kl_and_mutual_information_equal_brute_force(aggregate, n_bins):
    X, task = _problem()

    def directed(j, samples, a, b):
        shares = _shares(samples, n_bins, 0.5)
        return twin.directed_kl(shares[a], shares[b])

    def information(j, samples, a, b):
        shares = _shares(samples, n_bins, 0.0)
        return twin.mutual_information(shares[a], shares[b])

    options = {"n_bins": n_bins, "aggregate": aggregate}
    for method, distance in (
        ("kl_directed", directed),
        ("mutual_information", information),
    ):
        expected = getattr(_pairwise(X, task, distance), aggregate)(axis=0)
        values = _values(X, task, method, **options)
        assert_allclose(values, expected, rtol=1e-9, atol=1e-14)


def test_a_task_inside_of_another_is_near_one_way_alone():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=500), rng.uniform(-0.2, 0.2, size=500)])
    task = np.repeat(["wide", "narrow"], 500)
    distances = task_distances(
        with_task(pd.DataFrame({"x": X}), task), task="task", method="kl_directed"
    )
    assert distances.directed
    assert distances["wide", "narrow"] > 1.5 * distances["narrow", "wide"]
    both = task_distances(
        with_task(pd.DataFrame({"x": X}), task), task="task", method="kl"
    )
    total = distances["wide", "narrow"] + distances["narrow", "wide"]
    assert_allclose(both["wide", "narrow"], total)


def test_rare_values_of_a_discrete_feature_keep_their_bin():
    # 1 row of 400 is 0: quantile bins alone would lump it together with the ones
    x = np.ones(400)
    x[0] = 0.0
    values = _values(x[:, None], np.repeat([0, 1], 200), "hellinger")
    share = 1 / 200
    expected = np.sqrt(((1 - np.sqrt(1 - share)) ** 2 + share) / 2)
    assert_allclose(values[0, 1], expected, rtol=1e-12)


def test_a_large_task_does_not_choose_the_bins_alone():
    # two small tasks beyond the range of a large one are still told apart, though
    # they are less than one bin of 20 of all rows
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.normal(size=10_000), rng.normal(9, 0.1, 50), 10 + np.ones(50)]
    )
    task = np.repeat([0, 1, 2], [10_000, 50, 50])
    assert _values(x[:, None], task, "hellinger")[1, 2] > 0.8


@pytest.mark.parametrize("method", MARGINAL)
@pytest.mark.parametrize("transform", [np.exp, lambda x: x**3, lambda x: 5 * x - 2])
def test_increasing_transforms_change_nothing(method, transform):
    X, task = _problem()
    assert_array_equal(_values(transform(X), task, method), _values(X, task, method))


def test_ks_is_the_same_under_decreasing_transforms():
    X, task = _problem()
    assert_allclose(_values(-X, task, "ks"), _values(X, task, "ks"), rtol=1e-14)


@pytest.mark.parametrize("method", MARGINAL)
def test_missing_values_are_left_out_of_their_marginal(method):
    X, task = _problem(sizes=(40, 30, 50), n_features=3)
    holes = X.copy()
    holes[::4, 0] = np.nan
    full = np.delete(np.column_stack([X[:, 0], task]), np.s_[::4], axis=0)
    first = task_distances(full, task=-1, method=method).values
    others = 2 * _values(X[:, 1:], task, method)
    assert_allclose(_values(holes, task, method), (first + others) / 3, rtol=1e-10)


@pytest.mark.parametrize("method", MARGINAL)
@pytest.mark.parametrize("aggregate", ["mean", "max"])
def test_a_feature_that_a_task_lacks_is_left_out_of_its_pairs(method, aggregate):
    X, task = _problem(sizes=(40, 30, 50), n_features=3)
    X[task == 1, 0] = np.nan
    values = _values(X, task, method, aggregate=aggregate)
    rest = _values(X[:, 1:], task, method, aggregate=aggregate)
    assert_allclose(values[1], rest[1], rtol=1e-10)
    both = task != 1
    pair = _values(X[both], task[both], method, aggregate=aggregate)[0, 1]
    assert_allclose(values[0, 2], pair, rtol=1e-10)


@pytest.mark.parametrize("method", MARGINAL)
def test_tasks_without_a_common_feature_are_named(method):
    X = np.array([[1.0, np.nan], [2.0, np.nan], [np.nan, 3.0], [np.nan, 4.0]])
    frame = with_task(X, [4, 4, 6, 6])
    with pytest.raises(ValueError, match="Tasks 4 and 6 have no feature"):
        task_distances(frame, task=-1, method=method)


@pytest.mark.parametrize("method", MARGINAL)
def test_a_task_without_any_value_is_named(method):
    X = np.array([[1.0, 2.0], [2.0, 3.0], [np.nan, np.nan], [np.nan, np.nan]])
    with pytest.raises(ValueError, match="Task 6 has no value of any feature"):
        _values(X, [4, 4, 6, 6], method)


@pytest.mark.parametrize("method", MARGINAL)
def test_a_feature_that_nobody_has_is_not_counted(method):
    X, task = _problem()
    both = np.column_stack([X, np.full(len(X), np.nan)])
    assert_array_equal(_values(both, task, method), _values(X, task, method))


@pytest.mark.parametrize("method", MARGINAL)
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_equals_dense(method, container):
    X, task = _problem()
    X[X < 0.8] = 0.0
    table = with_task(X, task)
    sparse = task_distances(container(table), task=-1, method=method).values
    assert_array_equal(sparse, task_distances(table, task=-1, method=method).values)


@pytest.mark.parametrize("method", MARGINAL)
def test_a_constant_feature_says_nothing(method):
    X, task = _problem()
    both = np.column_stack([X, np.full(len(X), 7.0)])
    expected = _values(X, task, method) * 3 / 4
    assert_allclose(_values(both, task, method), expected, rtol=1e-12, atol=1e-15)


def test_threads_do_not_change_ks():
    X, task = _problem(sizes=(300,) * 30)
    one = _values(X, task, "ks")
    assert_array_equal(_values(X, task, "ks", n_jobs=2), one)


@pytest.mark.parametrize(
    ("method", "options", "match"),
    [
        ("ks", {"aggregate": "median"}, 'aggregate must be "mean" or "max"'),
        ("kl", {"aggregate": None}, 'aggregate must be "mean" or "max"'),
        ("kl", {"n_bins": 1}, "n_bins must be an integer of at least 2"),
        ("hellinger", {"n_bins": 2.5}, "n_bins must be an integer of at least 2"),
        ("kl", {"smoothing": 0}, "smoothing must be a number greater than 0"),
        ("kl", {"smoothing": np.inf}, "smoothing must be a number greater than 0"),
    ],
)
def test_bad_options(method, options, match):
    with pytest.raises(ValueError, match=match):
        _values(*_problem(), method, **options)
