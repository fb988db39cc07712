"""The bins of all rows, when they lie in partitions: the same edges to the bit.

The values of a feature that has few are sent, with their weights. Of others, exact
quantiles are wanted: numbers are read as unsigned integers of the same order, and the
quantiles of all features found digit by digit, from sums of how much weight lies below.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import DTypeLike

from kinlearn._binning._bins import (
    MAX_BINS,
    Bins,
    edges_between,
    join_bins,
    quantile_edges,
    wanted_weights,
)
from kinlearn._partitions import Weighed

__all__ = ["find_bins"]

# Distinct values of a feature that are sent; not fewer than there may be bins.
_MOST_VALUES = 4096
_SAMPLE = 4 * _MOST_VALUES

# Sorted features are a copy of them, beside the rows: a quarter at a time.
_LOTS = 4
_FEW_FEATURES = 8

_DIGIT = 4  # bits; more of them need fewer rounds and larger results


def find_bins(
    engine: Any,
    handles: Sequence[Any],
    n_features: int,
    dtype: DTypeLike,
    max_bins: int = MAX_BINS,
) -> Bins:
    """Edges for the rows of all partitions, as `bin_features` finds them."""
    found = engine.reduce(_united, _few_values, handles, n_features)
    many = [f for f in range(n_features) if found[f] is None]
    edges: list[Any] = [
        None if pair is None else quantile_edges(pair[0], np.cumsum(pair[1]), max_bins)
        for pair in found
    ]
    key_type = np.dtype(f"u{np.dtype(dtype).itemsize}")
    size = max(-(-len(many) // _LOTS), _FEW_FEATURES)
    for first in range(0, len(many), size):
        lot = many[first : first + size]
        columns = engine.map(SortedColumns.of, handles, lot, dtype)
        pairs = _quantiles(engine, columns, len(lot), key_type, max_bins)
        for f, (low, high) in zip(lot, pairs, strict=True):
            edges[f] = edges_between(low, high)
        del columns  # before the next lot is sorted
    return join_bins(edges)


def _few_values(
    partition: Any, n_features: int
) -> list[tuple[np.ndarray, np.ndarray] | None]:
    """Values and weights of each feature that has few values; None for others."""
    out = []
    for f in range(n_features):
        values, weight = partition.feature(f)
        there = ~np.isnan(values)
        weight = None if weight is None else weight[there]
        out.append(_distinct(values[there].astype(np.float64), weight))
    return out


def _distinct(
    values: np.ndarray, weight: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray] | None:
    # most features show that they have many in their first rows: no need to sort all
    if len(np.unique(values[:_SAMPLE])) > _MOST_VALUES:
        return None
    values, place = np.unique(values, return_inverse=True)
    if len(values) > _MOST_VALUES:
        return None
    # whole weights: their sums are exact as floats
    weight = np.bincount(place, weight, minlength=len(values)).astype(np.int64)
    return values, weight


def _united(partitions: Sequence[Any]) -> list[tuple[np.ndarray, np.ndarray] | None]:
    return [
        None
        if any(pair is None for pair in pairs)
        else _distinct(*(np.concatenate(arrays) for arrays in zip(*pairs, strict=True)))
        for pairs in zip(*partitions, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class SortedColumns(Weighed):
    """Some features of a partition, each sorted, as unsigned integers."""

    keys: np.ndarray  # ascending in each feature, end to end
    start: np.ndarray  # (n_features + 1,) where each feature begins
    # weight up to each key, within its feature; None if all weights are 1
    below: np.ndarray | None

    @classmethod
    def of(cls, partition: Any, features: Sequence[int], dtype: DTypeLike) -> Self:
        """Sort features of a partition, as numbers of a type."""
        keys, below = [], []
        for f in features:
            values, weight = partition.feature(f)
            there = ~np.isnan(values)
            key = _as_keys(values[there].astype(dtype))
            if weight is None:
                keys.append(np.sort(key))
                continue
            order = np.argsort(key)
            keys.append(key[order])
            below.append(np.cumsum(weight[there][order]))
        return cls(
            np.concatenate(keys),
            np.cumsum([0, *map(len, keys)]),
            np.concatenate(below) if below else None,
        )

    def weight_up_to(self, keys: np.ndarray) -> np.ndarray:
        """Weight of the values up to some keys of each feature."""
        out = np.empty(keys.shape, dtype=np.int64)
        for i, (first, last) in enumerate(pairwise(self.start)):
            n = np.searchsorted(self.keys[first:last], keys[i], side="right")
            if self.below is None:
                out[i] = n
            else:
                out[i] = np.concatenate([[0], self.below[first:last]])[n]
        return out

    def next_keys(self, keys: np.ndarray) -> np.ndarray:
        """The least key above each of some; the greatest number if there is none."""
        none = np.iinfo(self.keys.dtype).max
        out = np.full(keys.shape, none, dtype=self.keys.dtype)
        for i, (first, last) in enumerate(pairwise(self.start)):
            n = np.searchsorted(self.keys[first:last], keys[i], side="right")
            out[i] = np.append(self.keys[first:last], none)[n]
        return out


def _quantiles(
    engine: Any, columns: Sequence[Any], n_features: int, dtype: np.dtype, max_bins: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Of each feature, the values that edges follow, and those after them."""
    bits = 8 * dtype.itemsize
    last = np.full((n_features, 1), np.iinfo(dtype).max, dtype=dtype)
    totals = engine.reduce(_sum, SortedColumns.weight_up_to, columns, last)
    wanted = np.stack([wanted_weights(t, max_bins) for t in totals.ravel()])
    # The least key with the wanted weight up to it: digit by digit from the top.
    found = np.zeros(wanted.shape, dtype=dtype)
    digits = np.arange(1, 2**_DIGIT, dtype=dtype)
    for shift in range(bits - _DIGIT, -1, -_DIGIT):
        ends = found[..., None] + (digits << dtype.type(shift)) - dtype.type(1)
        weight = engine.reduce(_sum, SortedColumns.weight_up_to, columns, ends)
        digit = (weight < wanted[..., None]).sum(axis=-1).astype(dtype)
        found += digit << dtype.type(shift)
    after = engine.reduce(_least, SortedColumns.next_keys, columns, found)
    for low, high in zip(found, after, strict=True):
        low, place = np.unique(low, return_index=True)
        high = high[place]
        there = high < np.iinfo(dtype).max  # nothing follows the greatest value
        yield _as_values(low[there]), _as_values(high[there])


def _sum(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.sum(arrays, axis=0)


def _least(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return np.min(arrays, axis=0)


def _as_keys(values: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of the numbers."""
    values = values + values.dtype.type(0)  # -0 becomes 0
    bits = values.view(f"u{values.itemsize}")
    top = bits.dtype.type(1) << bits.dtype.type(8 * values.itemsize - 1)
    return np.where(bits & top, ~bits, bits | top)


def _as_values(keys: np.ndarray) -> np.ndarray:
    top = keys.dtype.type(1) << keys.dtype.type(8 * keys.itemsize - 1)
    bits = np.where(keys & top, keys ^ top, ~keys)
    return bits.view(f"f{keys.itemsize}").astype(np.float64)
