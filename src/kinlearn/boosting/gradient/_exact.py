"""Sums and quantiles over rows that no order of rows changes.

Sums have no rounding; the weights of quantiles are whole numbers.
"""

import numpy as np

from kinlearn._binning import is_whole, weight_unit

__all__ = [
    "as_number",
    "exact_sum",
    "exact_weight_unit",
    "group_quantiles",
    "ones",
    "quantile_targets",
    "ratio",
    "weight_sums",
]

# Every float64 is a whole multiple of 2^-_PLACES.
_PLACES = 1126
_LOW = 27  # bits of the lower part of a mantissa
_SLACK = 1e-12  # of the weight of a group: q of it is seldom a whole number
_AT_ONCE = 2**24  # as floats, sums of so many parts of mantissas are exact


def exact_sum(values: np.ndarray) -> int:
    """The sum of numbers, in units that `as_number` knows; such sums may be added.

    Numbers that are too large for a float count as the largest one.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting.gradient._exact import as_number, exact_sum
    >>> as_number(exact_sum(np.array([1e20, 1.0, -1e20])))
    1.0
    """
    total = 0
    most = np.finfo(np.float64).max
    for start in range(0, len(values), _AT_ONCE):
        some = np.clip(values[start : start + _AT_ONCE], -most, most)
        mantissa, exponent = np.frexp(some)
        whole = np.ldexp(mantissa, 53).astype(np.int64)
        least = int(exponent.min())
        place = exponent - least
        for part, shift in ((whole >> _LOW, _LOW), (whole & (2**_LOW - 1), 0)):
            sums = np.bincount(place, part)
            for i in np.flatnonzero(sums).tolist():
                total += int(sums[i]) << (i + least + shift + _PLACES - 53)
    return total


def as_number(total: int) -> float:
    """A sum as a number, rounded once."""
    return total / (1 << _PLACES)


def ratio(above: int, below: int) -> float:
    """The quotient of two sums, rounded once; 0 over nothing."""
    return above / below if below else 0.0


def weight_sums(weight: np.ndarray) -> np.ndarray:
    """The sum of weights, and 1 if some are no whole numbers; such pairs may be added.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.boosting.gradient._exact import exact_weight_unit, weight_sums
    >>> exact_weight_unit(*weight_sums(np.array([1.0, 3.0])))
    1.0
    """
    return np.array([exact_sum(weight), 0 if is_whole(weight) else 1], dtype=object)


def exact_weight_unit(total: int, n_broken: int) -> float:
    """What weights are multiples of, where they must be whole numbers."""
    return weight_unit(as_number(total), not n_broken) if total > 0 else 1.0


def ones(n: int, dtype: type = np.float64) -> np.ndarray:
    """So many ones, which take the memory of one."""
    return np.broadcast_to(dtype(1), n)


def quantile_targets(total: np.ndarray, q: float) -> tuple[np.ndarray, np.ndarray]:
    """The weights that lie up to the least and the greatest quantile, at least.

    They differ where q of the weight lies up to a value exactly: then any number up to
    the next value is a quantile.
    """
    wanted, slack = q * total, _SLACK * total
    low, high = np.ceil(wanted - slack), np.ceil(wanted + slack)
    return (
        np.clip(low, 1, total).astype(np.int64),
        np.clip(high, 1, total).astype(np.int64),
    )


def group_quantiles(
    values: np.ndarray, weight: np.ndarray, group: np.ndarray, n_groups: int, q: float
) -> np.ndarray:
    """Quantiles of the values of each group; 0 of groups without weight.

    The middle between the least and the greatest quantile; weights are int64.
    """
    out = np.zeros(n_groups)
    there = weight > 0
    values, weight, group = values[there] + 0.0, weight[there], group[there]
    if len(values) == 0:
        return out
    order = np.lexsort((values, group))
    values, weight, group = values[order], weight[order], group[order]
    below = np.cumsum(weight)
    sizes = np.bincount(group, minlength=n_groups)
    has = np.flatnonzero(sizes)
    last = np.cumsum(sizes)[has] - 1
    base = np.append(0, below[last[:-1]])
    low, high = quantile_targets(below[last] - base, q)
    out[has] = (
        values[np.searchsorted(below, base + low)] / 2
        + values[np.searchsorted(below, base + high)] / 2
    )
    return out
