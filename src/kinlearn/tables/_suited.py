"""Which encoding of a table suits which estimator, by the package that it is of."""

from typing import Any

from sklearn.utils import get_tags

__all__ = ["CODES", "NUMBERS", "comes_from", "encoding_for"]

# Parameters of a TableEncoder: for trees, which cut codes and have no scale, and for
# all others.
CODES: dict[str, Any] = {"categories": "codes"}
NUMBERS: dict[str, Any] = {"categories": "target", "scale": True}
_TREES = ("sklearn.tree", "sklearn.ensemble", "lightgbm", "xgboost", "catboost")


def comes_from(estimator: Any, *packages: str) -> bool:
    """Whether an estimator's class, or one that it extends, is of a package.

    The bases and mixins that scikit-learn has for everyone do not count.
    """
    modules = [f"{kind.__module__}." for kind in type(estimator).__mro__]
    return any(
        module.startswith(tuple(f"{package}." for package in packages))
        and not module.startswith(("sklearn.base.", "sklearn.utils."))
        for module in modules
    )


def encoding_for(estimator: Any) -> dict[str, Any]:
    """Parameters of the encoder that suits an estimator."""
    inner = estimator
    while hasattr(getattr(inner, "estimator", None), "fit"):
        inner = inner.estimator
    encoding = CODES if comes_from(inner, *_TREES) else NUMBERS
    return {**encoding, "fill": not get_tags(estimator).input_tags.allow_nan}
