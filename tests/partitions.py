"""Rows divided into partitions, as forests and boosters on Dask read them."""

import numpy as np

from kinlearn._partitions import read_partition

__all__ = ["ENDS", "read"]

# an empty partition, one of one row, and skewed ones
ENDS = [0, 60, 61, 250]


def read(X, y, weight, ends, categories=None):
    """Cut rows at `ends`, and read each partition."""
    options = {"task": -1, "labels": "classes", "allow_nan": True}
    if categories is not None:
        options["categorical_features"] = categories
    return [
        read_partition(
            X[rows],
            y[rows],
            None if weight is None else weight[rows],
            i,
            options,
            narrow=False,
            categories=categories is not None,
        )
        for i, rows in enumerate(np.split(np.arange(len(y)), ends))
    ]
