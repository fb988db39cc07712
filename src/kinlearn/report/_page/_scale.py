"""From numbers to places: scales and their ticks."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

__all__ = ["Scale", "gain_limits", "padded"]

# Ends of intervals beyond this share of the others are cut off, with an arrow:
# one task of five rows must not flatten the picture of the rest.
_SHOWN_ENDS = 0.9


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from [low, high] to [start, end].

    Parameters
    ----------
    low, high : float
        Ends of the numbers, ``low < high``.
    start, end : float
        Ends of the places, such as pixels or percent.
    log : bool, default=False
        Whether equal ratios are equally far apart.
    """

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0
    log: bool = False

    def onto(self, start: float, end: float) -> "Scale":
        """The same numbers at other places."""
        return replace(self, start=start, end=end)

    def __call__(self, value: float) -> float:
        """The place of a number; those outside are put at the end."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, value = np.log(low), np.log(high), np.log(value)
        share = float((value - low) / (high - low))
        return self.start + share * (self.end - self.start)

    def ticks(self, at_most: int) -> tuple[list[float], int]:
        """Round numbers inside, no more than so many (but two at the least).

        Parameters
        ----------
        at_most : int
            Greatest number of ticks.

        Returns
        -------
        list of (float, int)
            The numbers, and the decimals to write all of them with.
        """
        span = self.high - self.low
        power = 10.0 ** np.floor(np.log10(span / max(at_most, 2)))
        for factor in (1, 2, 2.5, 5, 10, 20):
            step = float(power * factor)
            first, last = (
                np.ceil(self.low / step - 1e-9),
                np.floor(self.high / step + 1e-9),
            )
            if last - first + 1 <= max(at_most, 2):
                break
        decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        if factor == 2.5:
            decimals += 1
        return [float(k * step) for k in np.arange(first, last + 1)], decimals


def padded(values: Sequence[float], *, share: float = 0.06) -> tuple[float, float]:
    """Limits a little wider than the numbers, and never of no width."""
    low, high = min(values), max(values)
    span = high - low
    if span < 1e-6 * max(abs(low), abs(high)):
        span = 0.0  # what rounding left of equal numbers has no ticks
    room = share * span or abs(high) * 0.05 or 0.05
    return low - room, high + room


def gain_limits(gains: list[dict[str, Any]]) -> tuple[float, float]:
    """Limits of a picture of gains: zero and all gains, and most intervals.

    Parameters
    ----------
    gains : list of dict
        With "gain", "low" and "high"; the latter two may be None.

    Returns
    -------
    low, high : float
        Limits.
    """
    values = [0.0, *(g["gain"] for g in gains)]
    lows = [g["low"] for g in gains if g["low"] is not None]
    highs = [g["high"] for g in gains if g["high"] is not None]
    if lows:
        values.append(float(np.quantile(lows, 1 - _SHOWN_ENDS)))
        values.append(float(np.quantile(highs, _SHOWN_ENDS)))
    return padded(values)
