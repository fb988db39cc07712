"""Builds that check the kernels must really run kernels with checks.

`make test-kernels-debug` checks indices, `make test-sanitized` memory.
"""

import os
import subprocess
import sys

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


@pytest.mark.skipif(
    "KINLEARN_SANITIZED_BUILD" not in os.environ, reason="only in the sanitized build"
)
def test_memory_that_is_not_ours_is_caught():
    code = """
import numpy as np
from kinlearn._kernels._grouping import group_by_code
codes = np.array([50_000], dtype=np.int32)
group_by_code(codes, np.zeros(3, dtype=np.intp), np.zeros(1, dtype=np.intp))
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert done.returncode != 0
    assert "AddressSanitizer" in done.stderr
