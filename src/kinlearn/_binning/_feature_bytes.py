"""Bins of features, a byte each: what the growth of large trees reads first."""

from dataclasses import dataclass

import numpy as np

from kinlearn._kernels._binning import N_CELLS, bin_rows

__all__ = ["FeatureBytes", "feature_bytes"]

_MISSING = 255
_STEPS = 240  # bins of equal weight in the sample
_HEAVY = 1 / 80  # a cell with more of the sample has a bin of its own
_SAMPLE = 4_096
_OUTSIDE = 500  # one in so many values may lie before the cells, or behind them
_GOOD = 0.02  # fraction of the largest bin that makes a scale good enough
_VALUES_AT_ONCE = 2**23  # Ctrl-C is noticed in between


@dataclass(frozen=True, eq=False)
class FeatureBytes:
    """Bins of all values.

    Attributes
    ----------
    bins : uint8 array of shape (n_features, n_samples)
        Bins, ascending with the values; 255 for NaN.
    lowest, highest : float32 arrays of shape (n_features, 256)
        Extremes of the values in a bin.
    """

    bins: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    @property
    def has_missing(self) -> np.ndarray:
        """Whether a feature has NaN: uint8 array of shape (n_features,)."""
        return (self.lowest[:, _MISSING] < 0).astype(np.uint8)


def _bits(values: np.ndarray) -> np.ndarray:
    """The bits of float32 numbers, as numbers in the same order."""
    bits = values.view(np.int32)
    return (bits ^ ((bits >> 31) & 0x7FFFFFFF)).astype(np.float32)


def _range_of_cells(values: np.ndarray) -> tuple[float, float]:
    """Where the cells begin, and how many there are in a unit."""
    k = len(values) // _OUTSIDE
    low, high = float(values[k]), float(values[-1 - k])
    if low == high:
        low, high = float(values[0]), float(values[-1])
    if low == high:  # one cell for this value, others for less and for more
        width = max(float(np.spacing(np.float32(abs(low)))), 1e-30)
        return low - width, 1 / width
    return low, min(N_CELLS / (high - low), float(np.finfo(np.float32).max))


def _bins_of_cells(cell: np.ndarray) -> np.ndarray:
    """The bin of each cell, by the sorted cells of the sample."""
    fraction = np.bincount(cell, minlength=N_CELLS) / len(cell)
    step = np.floor((np.cumsum(fraction) - fraction) * _STEPS + 1e-9)
    is_first = np.diff(step, prepend=0) > 0
    is_first[1:] |= fraction[1:] > _HEAVY
    return np.cumsum(is_first).astype(np.uint8)


def _largest_bin(values: np.ndarray, bin: np.ndarray) -> float:
    """Fraction of the largest bin of sorted values that are not all the same."""
    start = np.flatnonzero(np.diff(bin.astype(int), prepend=-1))
    end = np.append(start[1:], len(bin))
    mixed = values[start] < values[end - 1]
    return ((end - start) * mixed).max() / len(bin)


def _cells(values: np.ndarray, by_bits: bool) -> tuple[float, tuple]:
    """Cells for sorted values, and the largest bin that they lead to."""
    scaled = _bits(values) if by_bits else values
    with np.errstate(over="ignore", invalid="ignore"):
        origin, per_unit = np.array(_range_of_cells(scaled), dtype=np.float32)
        cell = np.nan_to_num((scaled - origin) * per_unit, posinf=N_CELLS)
    cell = np.clip(cell, 0, N_CELLS - 1).astype(np.int32)
    table = _bins_of_cells(cell)
    return _largest_bin(values, table[cell]), (by_bits, origin, per_unit, table)


def _best_cells(values: np.ndarray) -> tuple:
    """Cells that are even in the values; in their logarithms where that is better."""
    values = np.sort(values[~np.isnan(values)])
    if len(values) == 0:
        values = np.zeros(1, dtype=np.float32)
    largest, cells = _cells(values, by_bits=False)
    if largest > _GOOD:
        largest_by_bits, cells_by_bits = _cells(values, by_bits=True)
        if largest_by_bits < largest:
            return cells_by_bits
    return cells


def feature_bytes(X: np.ndarray) -> FeatureBytes:
    """Find bins of about equal weight, and the bin of every value.

    The bins follow a sample, and they need not be even: trees are the same with any
    bins, and fastest where no bin holds many different values.
    """
    n, d = X.shape
    sample = X[:: max(1, n // _SAMPLE)].T.copy()
    by_bits, origin, per_unit, tables = zip(*map(_best_cells, sample), strict=True)
    cells = (
        np.array(by_bits, dtype=np.uint8),
        np.array(origin, dtype=np.float32),
        np.array(per_unit, dtype=np.float32),
        np.array(tables),
    )
    bins = np.empty((d, n), dtype=np.uint8)
    lowest = np.full((d, 256), np.inf, dtype=np.float32)
    highest = np.full((d, 256), -np.inf, dtype=np.float32)
    rows_at_once = 1 + _VALUES_AT_ONCE // d
    for start in range(0, n, rows_at_once):
        rows = slice(start, start + rows_at_once)
        bin_rows(X[rows], *cells, bins[:, rows], lowest, highest)
    return FeatureBytes(bins, lowest, highest)
