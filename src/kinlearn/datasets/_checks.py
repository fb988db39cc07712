"""Checks of the generators' and loaders' arguments, one message each."""

from numbers import Integral, Real

import numpy as np

__all__ = [
    "as_count",
    "as_counts",
    "as_number",
    "as_option",
    "as_random_state",
]


def as_option(value, name, options):
    """One of a few strings (or None), or a ValueError that lists them."""
    if not (value is None or isinstance(value, str)) or value not in options:
        raise ValueError(
            f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}."
        )
    return value


def as_count(value, name, *, minimum=1):
    """An int of at least `minimum`."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number; got {value!r}.")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}.")
    return int(value)


def as_counts(value, name, n, *, of="task", minimum=1):
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


def as_number(value, name, *, low=-np.inf, high=np.inf, open_low=False):
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


def as_random_state(random_state):
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
