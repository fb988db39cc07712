"""Numbers and names as they stand in a sentence."""

import math
from collections.abc import Iterable
from typing import Any

__all__ = ["figures", "listing", "percent", "plural"]


def plural(noun: str, n: int) -> str:
    """A noun for `n` things; a column name that is no word becomes "task"."""
    noun = noun if noun.isalpha() else "task"
    lower = noun.lower()
    if n == 1 or (lower.endswith("s") and not lower.endswith("ss")):
        return noun
    if lower.endswith(("ss", "x", "z", "ch", "sh")):
        return f"{noun}es"
    if lower.endswith("y") and lower[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}s"


def listing(values: Iterable[Any], most: int = 6) -> str:
    """Comma-separated, at most `most` of them: ``7, 12 and 3 more``."""
    values = list(values)
    # "and 1 more" is as long as the name itself.
    if len(values) > most + 1:
        return f"{', '.join(map(str, values[:most]))} and {len(values) - most} more"
    return ", ".join(map(str, values))


def percent(level: float) -> str:
    """A level in percent: ``95%``."""
    return f"{100 * level:.6g}%"


def figures(*values: float) -> list[str]:
    """Numbers with as many digits as it takes to see that they differ.

    Parameters
    ----------
    *values : float
        Finite numbers on one scale.

    Returns
    -------
    texts : list of str
        Two to five significant digits of the largest.
    """
    largest = max(abs(value) for value in values)
    if largest == 0:
        return ["0"] * len(values)
    place = math.floor(math.log10(largest))
    spread = max(values) - min(values)
    digits = 2
    if spread > 0:
        step = math.floor(math.log10(spread))
        # A difference of 0.012 needs two digits to differ from 0.02.
        digits = place - step + (2 if spread < 3 * 10.0**step else 1)
    digits = min(max(digits, 2), 5)
    decimals = max(digits - 1 - place, 0)
    form = f".{digits - 1}e" if decimals > 7 else f".{decimals}f"
    return [format(round(value, decimals + 5) + 0.0, form) for value in values]
