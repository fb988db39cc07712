"""Weights of rows as whole numbers, whose sums do not depend on the order of rows."""

import numpy as np

__all__ = ["in_units", "is_whole", "weight_unit"]

# Weights that are not whole numbers become multiples of a power of two, which their
# sum is some 2^50 of.
_BITS = 50

# A sum that is a power of two up to its rounding must not lie between two units.
_SLACK = 1 + 2.0**-20


def is_whole(weight: np.ndarray) -> bool:
    """Whether all weights are whole numbers."""
    return bool((weight == np.rint(weight)).all())


def weight_unit(total: float, whole: bool) -> float:
    """What weights are multiples of."""
    if total < 2.0**31 and whole:
        return 1.0
    return float(2.0 ** (np.ceil(np.log2(total * _SLACK)) - _BITS))


def in_units(weight: np.ndarray | None, unit: float) -> np.ndarray | None:
    """Weights as multiples of a unit; those that are positive stay so."""
    if weight is None:
        return None
    return np.maximum(np.rint(weight / unit).astype(np.int64), weight > 0)
