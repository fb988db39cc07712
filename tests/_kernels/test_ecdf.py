"""The kernels of distribution functions against their definitions."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn._kernels._ecdf import add_ks, fill_wasserstein
from tests.reference.task_distances import ks_statistic, wasserstein


def _samples(seed, kind, dtype=np.float64):
    rng = np.random.default_rng(seed)
    sizes = [1, 2, 30, 7, 60, 1, 13]
    if kind == "ties":
        return [rng.integers(0, 5, size=n).astype(dtype) for n in sizes]
    if kind == "apart":
        return [(rng.normal(size=n) + 9 * t).astype(dtype) for t, n in enumerate(sizes)]
    return [rng.normal(size=n).astype(dtype) for n in sizes]


def _stack(samples):
    """The kernels' form of distribution functions, value by value."""
    values, below, indptr = [], [], [0]
    for sample in samples:
        for value in sorted(set(sample.tolist())):
            values.append(value)
            below.append(int((sample < value).sum()))
        values.append(np.inf)
        below.append(len(sample))
        indptr.append(len(values))
    dtype = samples[0].dtype
    return (
        np.array(values, dtype=dtype),
        np.array(below, dtype=np.int64),
        np.array(indptr, dtype=np.intp),
    )


def _cuts(samples, grid):
    indptr = _stack(samples)[2]
    cuts = [
        [
            indptr[t],
            *(indptr[t] + sum(v < g for v in set(sample.tolist())) for g in grid),
            indptr[t + 1] - 1,
        ]
        for t, sample in enumerate(samples)
    ]
    return np.array(cuts, dtype=np.intp)


def _upper(samples, distance):
    out = np.zeros((len(samples), len(samples)))
    for a in range(len(samples)):
        for b in range(a + 1, len(samples)):
            out[a, b] = distance(samples[a].tolist(), samples[b].tolist())
    return out


@pytest.mark.parametrize("kind", ["plain", "ties", "apart"])
@pytest.mark.parametrize("grid", [[], [0.0], [-1.0, 0.0, 0.5, 2.0, 3.0, 20.0, 99.0]])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_ks_equals_its_definition_whatever_the_grid(kind, grid, dtype):
    samples = _samples(0, kind, dtype)
    values, below, _ = _stack(samples)
    cuts = _cuts(samples, grid)
    out = np.zeros((len(samples), len(samples)))
    add_ks(values, below, cuts, below[cuts], 0, len(samples), False, out)
    assert_allclose(out, _upper(samples, ks_statistic), rtol=1e-14)


@pytest.mark.parametrize("kind", ["plain", "ties", "apart"])
def test_wasserstein_equals_its_definition(kind):
    samples = _samples(1, kind)
    out = np.zeros((len(samples), len(samples)))
    fill_wasserstein(*_stack(samples), 0, len(samples), out)
    assert_allclose(out, _upper(samples, wasserstein), rtol=1e-12)


def test_ks_adds_or_keeps_the_larger():
    first, second = _samples(2, "plain"), _samples(3, "ties")
    expected = [_upper(samples, ks_statistic) for samples in (first, second)]
    for take_max, combine in ((False, np.add), (True, np.maximum)):
        out = np.zeros((7, 7))
        for samples in (first, second):
            values, below, _ = _stack(samples)
            cuts = _cuts(samples, [0.0])
            add_ks(values, below, cuts, below[cuts], 0, 7, take_max, out)
        assert_allclose(out, combine(*expected), rtol=1e-14)


def test_only_the_rows_asked_for_are_filled():
    samples = _samples(4, "plain")
    values, below, indptr = _stack(samples)
    cuts = _cuts(samples, [])
    whole, ks, area = np.zeros((7, 7)), np.full((7, 7), -1.0), np.full((7, 7), -1.0)
    add_ks(values, below, cuts, below[cuts], 0, 7, False, whole)
    add_ks(values, below, cuts, below[cuts], 2, 4, True, ks)
    fill_wasserstein(values, below, indptr, 2, 4, area)
    filled = np.zeros((7, 7), dtype=bool)
    filled[2:4] = np.triu(np.ones((7, 7), dtype=bool), 1)[2:4]
    assert_array_equal(ks != -1, filled)
    assert_array_equal(area != -1, filled)
    assert_array_equal(ks[filled], whole[filled])


def test_pairs_with_an_empty_group_are_left_alone():
    samples = [np.array([1.0, 2.0]), np.array([]), np.array([2.0])]
    values, below, _ = _stack(samples)
    cuts = _cuts(samples, [1.5])
    out = np.zeros((3, 3))
    add_ks(values, below, cuts, below[cuts], 0, 3, False, out)
    assert_array_equal(out, [[0, 0, 0.5], [0, 0, 0], [0, 0, 0]])
