"""Kernels that everything else stands on."""

import numpy as np
from numpy.testing import assert_array_equal

from benchmarks.speed.case import Limit, Work, case
from kinlearn.utils import group_rows


@case("group-rows", limit=Limit(times_as_long=1.0), memory=True)
def group_rows_of_many_tasks():
    """Rows by task against numpy's stable argsort, 1,000,000 rows, 1,000 tasks."""
    codes = np.random.default_rng(0).integers(1_000, size=1_000_000, dtype=np.int32)

    def check(ours, peer):
        assert_array_equal(ours[1], peer)

    def argsort_short():  # numpy sorts 16 bits by counting, wider codes by merging
        return np.argsort(codes.astype(np.int16), kind="stable")

    return Work(
        ours=lambda: group_rows(codes, 1_000),
        peers={
            "numpy": lambda: np.argsort(codes, kind="stable"),
            "numpy, 16 bits": argsort_short,
        },
        data_bytes=codes.nbytes,
        check=check,
    )
