"""Scikit-learn's private names, which enter here and nowhere else.

When a release of scikit-learn moves one of them, this is the file to mend.
"""

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
]
