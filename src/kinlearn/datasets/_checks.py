"""Checks of the generators' and loaders' arguments, one message each."""

from numbers import Integral, Real
from typing import Any, TypeAlias

import numpy as np

from kinlearn.utils._typing import RandomState

__all__ = [
    "Seed",
    "as_count",
    "as_counts",
    "as_number",
    "as_option",
    "as_random_state",
]

# What decides the randomness of a generator; None differs each time.
Seed: TypeAlias = RandomState | np.random.Generator


def as_option(value: Any, name: str, options: tuple) -> Any:
    """One of a few strings (or None), or a ValueError that lists them."""
    if not (value is None or isinstance(value, str)) or value not in options:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}."
        )
    return value


def as_count(value: Any, name: str, *, minimum: int = 1) -> int:
    """An int of at least `minimum`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number; got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}.")
    return int(value)


def as_counts(
    value: Any, name: str, n: int, *, of: str = "task", minimum: int = 1
) -> np.ndarray:
    """Counts for each of n tasks, from one number or a sequence of n."""
    if np.ndim(value) == 0:
        return np.full(n, as_count(value, name, minimum=minimum))
    if len(value) != n:
        raise ValueError(
            f"{name} has {len(value)} numbers, but there are {n} {of}s. Pass one "
            f"number, or one for each {of}."
        )
    return np.array(
        [as_count(v, f"{name}[{i}]", minimum=minimum) for i, v in enumerate(value)]
    )


def as_number(
    value: Any,
    name: str,
    *,
    low: float = -np.inf,
    high: float = np.inf,
    open_low: bool = False,
) -> float:
    """A finite float in [low, high], or in (low, high]."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Real):
        raise TypeError(f"{name} must be a number; got {value!r}.")
    number = float(value)
    inside = low < number if open_low else low <= number
    if not (np.isfinite(number) and inside and number <= high):
        left = "(" if open_low or np.isinf(low) else "["
        right = ")" if np.isinf(high) else "]"
        raise ValueError(
            f"{name} must be a finite number in {left}{low}, {high}{right}; got "
            f"{value}."
        )
    return number


def as_random_state(random_state: Seed) -> np.random.RandomState:
    """A generator whose stream is the same in every version of NumPy.

    None gives a fresh one: NumPy's global generator is neither read nor moved.
    """
    if isinstance(random_state, np.random.RandomState):
        return random_state
    if isinstance(random_state, np.random.Generator):
        return np.random.RandomState(random_state.integers(2**32, size=4))
    if random_state is None:
        return np.random.RandomState()
    if isinstance(random_state, Integral) and not isinstance(random_state, bool):
        seed = int(random_state)
        if not 0 <= seed < 2**32:
            raise ValueError(f"random_state must be in 0..2**32 - 1; got {seed}.")
        return np.random.RandomState(seed)
    raise TypeError(
        "random_state must be None, a whole number, a numpy Generator or a "
        f"RandomState; got {random_state!r}."
    )
