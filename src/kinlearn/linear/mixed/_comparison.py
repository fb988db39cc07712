"""Comparing two fits of mixed models by their likelihoods."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import chi2
from sklearn.utils.validation import check_is_fitted

__all__ = ["LikelihoodRatioResult", "likelihood_ratio_test"]


@dataclass(frozen=True)
class LikelihoodRatioResult:
    """Result of :func:`likelihood_ratio_test`.

    Attributes
    ----------
    statistic : float
        Twice the difference of the log likelihoods.
    dof : int
        Difference of the numbers of parameters.
    p_value : float
        Probability of as large a statistic if the smaller model holds.
    """

    statistic: float
    dof: int
    p_value: float


def likelihood_ratio_test(smaller: Any, larger: Any) -> LikelihoodRatioResult:
    """Test whether a larger mixed model is better than one that it contains.

    Parameters
    ----------
    smaller, larger : fitted mixed models
        Of the same rows, with the same penalty, and not of more than two classes. That
        one contains the other is up to the caller. Models with other features need
        ``method="ml"``.

    Returns
    -------
    LikelihoodRatioResult
        Statistic, degrees of freedom and p-value.

    Notes
    -----
    Where the smaller model lacks a variance, which cannot be negative, the p-value is
    too large: for one variance, it is about twice what it should be.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.linear import MixedLinearRegressor, likelihood_ratio_test
    >>> rng = np.random.default_rng(0)
    >>> task = np.arange(200) % 20
    >>> X = np.column_stack([rng.normal(size=200), task])
    >>> b = rng.normal(size=(20, 2))
    >>> y = b[task, 0] + b[task, 1] * X[:, 0] + rng.normal(size=200)
    >>> intercepts = MixedLinearRegressor(task=-1).fit(X, y)
    >>> slopes = MixedLinearRegressor(task=-1, slopes=[0]).fit(X, y)
    >>> bool(likelihood_ratio_test(intercepts, slopes).p_value < 1e-6)
    True
    """
    for model in (smaller, larger):
        check_is_fitted(model)
    if smaller.n_parameters_ > larger.n_parameters_:
        smaller, larger = larger, smaller
    if type(smaller) is not type(larger):
        raise TypeError(
            f"The two models are a {type(smaller).__name__} and a "
            f"{type(larger).__name__}; their likelihoods cannot be compared."
        )
    for model in (smaller, larger):
        _check_classes(model)
    _check_rows(smaller._row_sums, larger._row_sums)
    if smaller.alpha != larger.alpha:
        raise ValueError(
            f"One model has alpha={smaller.alpha!r}, the other {larger.alpha!r}. "
            "Fit both with the same penalty."
        )
    methods = [getattr(model, "method", "ml") for model in (smaller, larger)]
    if methods[0] != methods[1]:
        raise ValueError(
            f"One model was fitted by method={methods[0]!r}, the other by "
            f'{methods[1]!r}. Fit both with the same, "ml" if features differ.'
        )
    features = [
        sorted(set(model.feature_names_) - set(model.dropped_features_))
        for model in (smaller, larger)
    ]
    if methods[0] == "reml" and features[0] != features[1]:
        raise ValueError(
            "Restricted likelihoods of models with different features cannot be "
            'compared. Fit both with method="ml".'
        )
    if methods[0] == "reml" and smaller.fit_intercept != larger.fit_intercept:
        raise ValueError(
            "Restricted likelihoods of models with and without a fixed intercept "
            'cannot be compared. Fit both with method="ml".'
        )
    dof = larger.n_parameters_ - smaller.n_parameters_
    if dof == 0:
        raise ValueError(
            f"Both models have {smaller.n_parameters_} parameters, so that none is "
            "the smaller one. Compare their aic_ instead."
        )
    statistic = max(0.0, 2.0 * (larger.log_likelihood_ - smaller.log_likelihood_))
    p_value = float(chi2.sf(statistic, dof))
    return LikelihoodRatioResult(float(statistic), int(dof), p_value)


def _check_classes(model: Any) -> None:
    """Refuse models of classes that are not one likelihood of two."""
    n_classes = len(getattr(model, "classes_", (0, 1)))
    if n_classes > 2:
        raise ValueError(
            f"A {type(model).__name__} of {n_classes} classes is a model for each "
            "class; the sum of their likelihoods is none of the rows. Compare aic_, "
            "or test models of two classes."
        )
    if n_classes < 2:
        raise ValueError(
            f"A {type(model).__name__} was fitted to one class, "
            f"{model.classes_.tolist()[0]!r}, and has no parameters to test. Fit to "
            "rows of two classes."
        )


def _check_rows(
    one: tuple[float, float, float], two: tuple[float, float, float]
) -> None:
    """Refuse fits to different rows, by their number and sums of targets."""
    n, _, squares = one
    close = np.isclose(n, two[0], rtol=1e-9)
    close &= np.isclose(squares, two[2], rtol=1e-9)
    # the sum may be next to nothing, of targets of both signs
    close &= abs(one[1] - two[1]) <= 1e-9 * np.sqrt(n * squares)
    if not close:
        raise ValueError(
            "The two models were fitted to different rows or targets: they have "
            f"{n:g} and {two[0]:g} rows, with mean targets {one[1] / n:.6g} and "
            f"{two[1] / two[0]:.6g}. Fit both to the same rows."
        )
