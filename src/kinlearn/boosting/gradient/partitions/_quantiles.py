"""Quantiles of groups whose values lie in partitions: the same to the bit.

Values are read as unsigned integers in the same order, and the quantiles of all groups
are found digit by digit, from sums of the weights of the values that begin alike.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kinlearn._partitions import Statistics, Weighed
from kinlearn.boosting.gradient._exact import quantile_targets

__all__ = ["KeyedRows", "Prefixes", "as_keys", "find_keys", "find_quantiles"]

_DIGITS = (12, 13, 13, 13, 13)  # bits, from the top: first the sign and the exponent
_MOST_CELLS = 2**20  # that are counted without sorting


@dataclass(frozen=True, eq=False)
class Prefixes(Weighed):
    """Which values are counted by their next digit: how those of groups begin."""

    number: int  # of the digit; -1 for the weights of whole groups
    n_groups: int
    prefix: np.ndarray  # uint64 (n_groups,): the digits before
    is_open: np.ndarray  # bool (n_groups,): whether the group is looked at


@dataclass(frozen=True, eq=False)
class KeyedRows:
    """Values in groups, as keys."""

    keys: np.ndarray  # uint64
    weight: np.ndarray  # int64
    group: np.ndarray

    def counted(self, prefixes: Prefixes) -> Statistics:
        """Weights by group and digit: sparse, ascending."""
        found = Statistics(np.zeros(1, dtype=np.int64))
        group = self.group.astype(np.int64)
        if prefixes.number < 0:
            found.by_group.update(_summed(group, self.weight, prefixes.n_groups))
            return found
        width, shift = _width_and_shift(prefixes.number)
        there = prefixes.is_open[group]
        begin = self.keys >> np.uint64(shift)
        if prefixes.number > 0:
            there &= begin >> np.uint64(width) == prefixes.prefix[group]
        digit = (begin[there] & np.uint64(2**width - 1)).astype(np.int64)
        key = group[there] * 2**width + digit
        n_cells = prefixes.n_groups * 2**width
        found.by_group.update(_summed(key, self.weight[there], n_cells))
        return found


def _width_and_shift(number: int) -> tuple[int, int]:
    return _DIGITS[number], sum(_DIGITS[number + 1 :])


def _summed(key: np.ndarray, weight: np.ndarray, n_cells: int) -> dict[str, Any]:
    if n_cells <= _MOST_CELLS:  # sums of whole weights are exact as floats
        sums = np.bincount(key, weight, minlength=n_cells).astype(np.int64)
        at = np.flatnonzero(sums)
        return {"key": at, "weight": sums[at]}
    key, place = np.unique(key, return_inverse=True)
    sums = np.zeros(len(key), dtype=np.int64)
    np.add.at(sums, place, weight)
    return {"key": key, "weight": sums}


def as_keys(values: np.ndarray) -> np.ndarray:
    """Unsigned integers in the order of the numbers."""
    bits = (values + 0.0).view(np.uint64)  # -0 becomes 0
    top = np.uint64(2**63)
    return np.where(bits & top, ~bits, bits | top)


def _as_values(keys: np.ndarray) -> np.ndarray:
    top = np.uint64(2**63)
    return np.where(keys & top, keys ^ top, ~keys).view(np.float64)


Count = Callable[[Prefixes], Statistics]


def find_quantiles(count: Count, n_groups: int, q: float) -> np.ndarray:
    """Quantiles of groups, as of `group_quantiles`; `count` merges all partitions."""
    nothing = np.zeros(n_groups, dtype=np.uint64)
    every = np.ones(n_groups, dtype=bool)
    sums = count(Prefixes(-1, n_groups, nothing, every)).by_group
    total = np.zeros(n_groups, dtype=np.int64)
    total[sums["key"]] = sums["weight"]
    has = total > 0
    low, high = quantile_targets(np.maximum(total, 1), q)
    first, up_to = find_keys(count, low, has)
    second = first.copy()
    farther = has & (up_to < high)
    if farther.any():
        found, _ = find_keys(count, high, farther)
        second[farther] = found[farther]
    middle = _as_values(first) / 2 + _as_values(second) / 2
    return np.where(has, middle, 0.0)


def find_keys(
    count: Count, target: np.ndarray, is_open: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of groups that are open, the least keys with so much weight up to them.

    Returns the keys, and the weight up to them.
    """
    n_groups = len(target)
    prefix = np.full(n_groups, as_keys(np.zeros(1))[0])
    prefix[is_open] = 0
    below = np.zeros(n_groups, dtype=np.int64)
    here = np.zeros(n_groups, dtype=np.int64)
    opened = np.flatnonzero(is_open)
    for number in range(len(_DIGITS)):
        width, _ = _width_and_shift(number)
        sums = count(Prefixes(number, n_groups, prefix, is_open)).by_group
        group = sums["key"] >> width
        up_to = np.cumsum(sums["weight"])
        first = np.searchsorted(group, opened)
        base = np.append(0, up_to)[first]
        at = np.searchsorted(up_to, base + target[opened] - below[opened])
        digit = (sums["key"][at] & (2**width - 1)).astype(np.uint64)
        prefix[opened] = (prefix[opened] << np.uint64(width)) | digit
        here[opened] = sums["weight"][at]
        below[opened] += up_to[at] - here[opened] - base
    return prefix, below + here
