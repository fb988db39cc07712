"""Scikit-learn's private and changing names, which enter here and nowhere else.

When a release of scikit-learn moves one of them, this is the file to mend.
"""

from collections.abc import Callable
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils._param_validation import (
    HasMethods,
    Interval,
    Options,
    StrOptions,
)
from sklearn.utils.validation import _check_feature_names_in as check_feature_names_in
from sklearn.utils.validation import _check_sample_weight

__all__ = [
    "HasMethods",
    "Interval",
    "Options",
    "StrOptions",
    "check_feature_names_in",
    "check_sample_weight",
    "safe_indexing",
    "scorer_parts",
    "target_encoder",
    "tree_predictor",
]


def check_sample_weight(sample_weight: Any, X: Any, **options: Any) -> np.ndarray:
    """Scikit-learn's check of weights; all zero are refused, as it does from 1.9 on."""
    weight = _check_sample_weight(sample_weight, X, **options)
    if not weight.any():
        raise ValueError("Sample weights must contain at least one non-zero number.")
    return weight


def scorer_parts(scorer: Any) -> tuple[Callable, dict[str, Any], int, Any] | None:
    """Function, its parameters, sign (-1 if less is better) and response method.

    None for anything that is not a scorer of scikit-learn's.
    """
    names = ("_score_func", "_kwargs", "_sign", "_response_method")
    if not all(hasattr(scorer, name) for name in names):
        return None
    function, params, sign, method = (getattr(scorer, name) for name in names)
    return function, dict(params), sign, method


def target_encoder(kind: str, n_splits: int) -> Any:
    """Scikit-learn's encoder of categories by their mean target, with fixed folds.

    From scikit-learn 1.9 on it takes a splitter, and `random_state` is deprecated;
    before, it takes the number of folds and makes the very same splitter of it.
    """
    # Here, as every estimator imports this module, and few need these.
    from sklearn.model_selection import KFold, StratifiedKFold
    from sklearn.preprocessing import TargetEncoder

    seed = signature(TargetEncoder).parameters.get("random_state")
    if seed is not None and seed.default is None:
        return TargetEncoder(target_type=kind, cv=n_splits, random_state=0)
    splitter = KFold if kind == "continuous" else StratifiedKFold
    folds = splitter(n_splits=n_splits, shuffle=True, random_state=0)
    return TargetEncoder(target_type=kind, cv=folds)


def tree_predictor() -> tuple[type, np.dtype]:
    """The class of a tree in histogram boosting, and the type of its nodes."""
    # Here, as every estimator imports this module, and few need these.
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    return TreePredictor, PREDICTOR_RECORD_DTYPE
