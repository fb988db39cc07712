import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.utils import group_rows


@pytest.mark.parametrize(("n", "k"), [(0, 0), (0, 3), (1, 1), (50, 7), (1000, 1500)])
def test_group_rows_equals_a_stable_sort(n, k):
    codes = np.random.default_rng(n + k).integers(0, max(k, 1), size=n)
    indptr, order = group_rows(codes, k)
    assert_array_equal(order, np.argsort(codes, kind="stable"))
    assert_array_equal(np.diff(indptr), np.bincount(codes, minlength=k)[:k])


@pytest.mark.parametrize("codes", [[-1, 0], [0, 2]])
def test_group_rows_refuses_codes_out_of_range(codes):
    with pytest.raises(ValueError, match=r"must lie in 0\.\.1"):
        group_rows(codes, 2)
