"""Scikit-learn's private names, which enter here and nowhere else.

When a release of scikit-learn moves one of them, this is the file to mend.
"""

from collections.abc import Callable
from typing import Any

from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    InvalidParameterError,
    Options,
    StrOptions,
)
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "InvalidParameterError",
    "Options",
    "StrOptions",
    "check_sample_weight",
    "safe_indexing",
    "scorer_parts",
]


def scorer_parts(scorer: Any) -> tuple[Callable, dict[str, Any], int, Any] | None:
    """Take a scorer apart; None for anything that is not one of scikit-learn's.

    Parameters
    ----------
    scorer : object
        What ``make_scorer`` or ``get_scorer`` gave.

    Returns
    -------
    tuple or None
        Function, its parameters, sign (-1 if less is better), and response
        method.
    """
    names = ("_score_func", "_kwargs", "_sign", "_response_method")
    if not all(hasattr(scorer, name) for name in names):
        return None
    function, params, sign, method = (getattr(scorer, name) for name in names)
    return function, dict(params), sign, method
