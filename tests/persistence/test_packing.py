"""Packed arrays come back bit for bit."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from kinlearn.persistence._packing import Blob, PackedSparse

DTYPES = ["i4", "i8", "u1", "u4", "f4", "f8"]


@given(st.data(), st.sampled_from(DTYPES), st.integers(0, 40))
def test_any_array_comes_back(data, dtype, n):
    one = data.draw(arrays(dtype, n))
    two = data.draw(arrays("f8", (n, 2)))
    back = Blob.of({"one": one, "two": two}).arrays()
    for name, array in {"one": one, "two": two}.items():
        assert back[name].dtype == array.dtype
        assert back[name].shape == array.shape
        assert back[name].tobytes() == array.tobytes()


@pytest.mark.parametrize("value", [np.nan, -0.0, np.inf, 5e-324])
def test_odd_numbers_that_repeat(value):
    array = np.repeat([value, 1.5, 0.0], 50)
    assert Blob.of({"x": array}).arrays()["x"].tobytes() == array.tobytes()


def test_numbers_that_repeat_take_few_bytes():
    rng = np.random.default_rng(0)
    array = rng.choice(rng.normal(size=20), 10_000)
    assert len(Blob.of({"x": array}).data) < 12_000


def test_sparse_arrays_that_point_outside_are_refused():
    packed = PackedSparse.of(sp.csr_array(np.eye(3)))
    arrays = packed.blob.arrays()
    for wrong in ([0, 1, 3], [0, 1, -1]):
        bad = PackedSparse(Blob.of({**arrays, "row": np.array(wrong)}), "csr", False)
        with pytest.raises(ValueError, match="index"):
            bad.unpacked(None)
