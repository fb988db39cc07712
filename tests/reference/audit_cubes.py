"""Small cubes of scores for tests."""

import numpy as np

from kinlearn.audit.statistics._scores import Contender, Scores


def make_cube(values, forms=None, n_train=8, n_test=2, **changes):
    """A cube around `values`: contenders x repeats x splits x tasks."""
    values = np.asarray(values, dtype=float)
    n, *shape = values.shape
    forms = ["alone", *["pooled"] * (n - 1)] if forms is None else forms
    parts = {
        "contenders": [Contender(f"m{i}", "trees", f) for i, f in enumerate(forms)],
        "tasks": np.arange(shape[2]),
        "n_rows": np.full(shape[2], n_train + n_test),
        "values": values,
        "micro": values[..., 0],
        "n_train": np.full(shape, n_train),
        "n_test": np.full(shape, n_test),
    }
    return Scores(**{**parts, **changes})
