"""Maximum mean discrepancy."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.preprocessing import scale

from kinlearn import with_task
from kinlearn.relatedness import _joint, task_distances
from tests.reference.task_distances import squared_mmd


def _problem(sizes=(6, 15, 9), n_features=3, seed=0, shift=0.5):
    rng = np.random.default_rng(seed)
    task = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    return rng.normal(size=(len(task), n_features)) + shift * task[:, None], task


def _values(X, task, **options):
    options = {"random_state": 0, **options}
    return task_distances(with_task(X, task), task=-1, method="mmd", **options).values


def _double_sum(X, task, gamma, biased):
    tasks = np.unique(task)
    out = np.zeros((len(tasks), len(tasks)))
    for a in range(len(tasks)):
        for b in range(len(tasks)):
            if a != b:
                pair = X[task == tasks[a]], X[task == tasks[b]]
                out[a, b] = squared_mmd(*pair, gamma, biased=biased)
    return np.sqrt(np.maximum(out, 0.0))


@pytest.mark.parametrize("biased", [True, False])
def test_equals_the_textbook_double_sum(biased):
    X, task = _problem()
    values = _values(X, task, gamma=0.3, biased=biased, scale=False)
    assert_allclose(values, _double_sum(X, task, 0.3, biased), rtol=1e-9)


@pytest.mark.parametrize("biased", [True, False])
def test_defaults_are_unit_variance_and_the_median_distance(biased):
    X, task = _problem()
    X *= [1.0, 100.0, 0.01]
    scaled = scale(X)
    gamma = 1 / (2 * np.median(pdist(scaled)) ** 2)
    assert_allclose(
        _values(X, task, biased=biased),
        _double_sum(scaled, task, gamma, biased),
        rtol=1e-9,
    )


def test_blocks_of_rows_do_not_matter(monkeypatch):
    X, task = _problem()
    for estimate in ("exact", "fourier"):
        whole = _values(X, task, estimate=estimate)
        with monkeypatch.context() as patch:
            patch.setattr(_joint, "_BLOCK_CELLS", 4 * len(X))  # 4 rows of a kernel
            assert_allclose(_values(X, task, estimate=estimate), whole, rtol=1e-5)


def test_many_frequencies_come_to_the_exact_value():
    X, task = _problem(sizes=(400, 900, 600))
    exact = _values(X, task, estimate="exact")
    errors = []
    for n_components in (100, 20_000):
        fourier = _values(X, task, estimate="fourier", n_components=n_components)
        errors.append(
            np.abs(fourier / np.where(exact > 0, exact, 1) - 1)[exact > 0].max()
        )
    assert errors[0] < 0.3
    assert errors[1] < 0.02


def test_the_default_estimate_of_large_tasks_is_close_to_the_exact_one():
    X, task = _problem(sizes=(4000, 3500, 3000, 1000), n_features=10, shift=0.2)
    exact = _values(X, task, estimate="exact")
    auto = _values(X, task)  # 11,500 rows: not exact
    off = ~np.eye(4, dtype=bool)
    assert not np.array_equal(auto, exact)
    assert_allclose(auto[off], exact[off], rtol=0.1)


def test_unbiased_is_right_on_average_and_biased_is_not():
    # tasks of 5 rows from one distribution: the true distance is 0
    X, task = _problem(sizes=(5,) * 60, shift=0.0)
    gamma, off = 0.2, ~np.eye(60, dtype=bool)
    own = np.mean(_values(X, task, gamma=gamma, biased=True)[off] ** 2)
    # E k(x, x') of independent standard normal rows, in closed form
    mean_kernel = (1 + 4 * gamma) ** (-3 / 2)
    assert_allclose(own, (1 - mean_kernel) * 2 / 5, rtol=0.1)
    assert np.median(_values(X, task, gamma=gamma)[off]) < 0.1 < np.sqrt(own)


def test_sees_what_marginals_do_not():
    rng = np.random.default_rng(0)
    task = np.repeat([0, 1, 2], 300)
    X = rng.normal(size=(900, 2))
    X[task == 2] = np.sort(X[task == 0], axis=0)  # the same marginals, correlated
    values = _values(X, task)
    assert values[0, 2] > 3 * values[0, 1]
    marginal = task_distances(with_task(X, task), task=-1, method="ks")
    assert marginal[0, 2] == 0.0


@pytest.mark.parametrize("estimate", ["exact", "fourier"])
def test_sparse_equals_dense(estimate):
    X, task = _problem(sizes=(40, 60))
    X[X < 0.5] = 0.0
    table = with_task(X, task)
    options = {"task": -1, "method": "mmd", "estimate": estimate, "random_state": 0}
    sparse = task_distances(sp.csr_array(table), **options).values
    assert_allclose(sparse, task_distances(table, **options).values, rtol=1e-4)


def test_float32_rows_are_summed_in_double_precision():
    X, task = _problem(sizes=(200, 300))
    assert_allclose(
        _values(X.astype(np.float32), task), _values(X, task), rtol=1e-4, atol=1e-6
    )


def test_equal_rows_have_no_distance():
    values = _values(np.ones((6, 2)), np.repeat([0, 1, 2], 2))
    assert_array_equal(values, np.zeros((3, 3)))


def test_width_where_most_rows_are_equal():
    X = np.zeros((12, 1))
    X[[3, 9]] = [[3.0], [5.0]]  # the median distance is 0, that of unequal rows is 3
    task = np.repeat([0, 1], 6)
    values = _values(X, task, scale=False, biased=True)
    assert_allclose(values, _double_sum(X, task, 1 / (2 * 3.0**2), True), rtol=1e-9)


def test_a_task_of_one_row():
    X, task = _problem(sizes=(1, 5, 4))
    with pytest.raises(ValueError, match=r"Task 0 has one row.*biased=True"):
        _values(X, task)
    values = _values(X, task, biased=True, gamma=0.5, scale=False)
    assert_allclose(values, _double_sum(X, task, 0.5, True), rtol=1e-9)


def test_one_seed_one_answer():
    X, task = _problem(sizes=(30, 30, 30))
    options = {"estimate": "fourier", "n_components": 50}
    first = _values(X, task, **options)
    assert_array_equal(_values(X, task, **options), first)
    assert (_values(X, task, random_state=1, **options) != first).any()


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"gamma": 0}, "gamma must be a number greater than 0"),
        ({"gamma": "scale"}, "gamma must be a number greater than 0"),
        ({"estimate": "linear"}, 'estimate must be "auto", "exact" or "fourier"'),
        ({"n_components": 0}, "n_components must be an integer"),
    ],
)
def test_bad_options(options, match):
    with pytest.raises(ValueError, match=match):
        _values(*_problem(), **options)


def _far(X, shift):
    """Rows on a grid, so that a shift by a power of ten loses nothing."""
    return np.round(X * 64) / 64 + shift


@pytest.mark.parametrize("shift", [1e8, -1e9])
@pytest.mark.parametrize("estimate", ["exact", "fourier"])
@pytest.mark.parametrize("scale", [True, False])
def test_far_from_the_origin_is_the_same_as_near(shift, estimate, scale):
    X, task = _problem(sizes=(60, 80, 90))
    options = {"estimate": estimate, "scale": scale}
    near = _values(_far(X, 0.0), task, **options)
    assert_allclose(_values(_far(X, shift), task, **options), near, rtol=1e-5)


@pytest.mark.parametrize("shift", [1e3, 1e4])
@pytest.mark.parametrize("estimate", ["exact", "fourier"])
def test_sparse_rows_far_from_the_origin(shift, estimate):
    X, task = _problem(sizes=(60, 80, 90))
    options = {"estimate": estimate, "task": -1, "random_state": 0, "scale": False}
    sparse = sp.csr_array(with_task(_far(X, shift), task))
    near = _values(_far(X, 0.0), task, estimate=estimate, scale=False)
    assert_allclose(task_distances(sparse, **options).values, near, rtol=1e-4)


@pytest.mark.parametrize("method", ["mmd", "proxy_a"])
def test_sparse_rows_too_far_to_be_told_apart_are_refused(method):
    X, task = _problem()
    X[:, 1] += 1e8
    sparse = sp.csr_array(with_task(X, task))
    with pytest.raises(ValueError, match=r"Feature 'x1' of the sparse X has a mean"):
        task_distances(sparse, task=-1, method=method)


def test_a_constant_column_says_nothing_however_large():
    X, task = _problem(sizes=(10, 20))
    wide = np.column_stack([X, np.full(len(X), 1e12)])
    for scaled in (True, False):
        expected = _values(X, task, scale=scaled)
        assert_allclose(_values(wide, task, scale=scaled), expected, rtol=1e-9)
        sparse = task_distances(
            sp.csr_array(with_task(wide, task)), task=-1, random_state=0, scale=scaled
        )
        assert_allclose(sparse.values, expected, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_tiny_and_huge_features(size, make):
    X, task = _problem(sizes=(10, 20))
    options = {"task": -1, "random_state": 0}
    for scaled in (True, False):
        table = make(with_task(X * size, task))
        values = task_distances(table, scale=scaled, **options).values
        assert_allclose(values, _values(X, task, scale=scaled), rtol=1e-9)
