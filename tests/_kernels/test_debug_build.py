"""`make test-kernels-debug` must really run kernels that check their indices."""

import os

import numpy as np
import pytest

from kinlearn._kernels._grouping import group_by_code


@pytest.mark.skipif(
    "KINLEARN_DEBUG_BUILD" not in os.environ, reason="only in the debug build"
)
def test_index_out_of_range_is_caught():
    codes = np.array([5], dtype=np.int32)
    with pytest.raises(IndexError):
        group_by_code(codes, np.zeros(3, dtype=np.intp), np.zeros(1, dtype=np.intp))
