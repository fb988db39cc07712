"""What all support vector machines declare, and check before and after they solve."""

import warnings
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kinlearn.exceptions import FeatureScaleWarning
from kinlearn.svm._space import KERNELS
from kinlearn.utils._sklearn import Interval, StrOptions

__all__ = ["PARAMETERS", "indexable", "warn_if_unfinished", "warn_of_scales"]

_SCALE_RATIO = 1e4
_POSITIVE = Interval(Real, 0, None, closed="neither")
_NOT_NEGATIVE = Interval(Integral, 0, None, closed="left")
_GAMMA = [
    Interval(Real, 0, None, closed="left"),
    StrOptions({"scale", "auto", "median"}),
]

PARAMETERS: dict = {
    "C": [_POSITIVE],
    "kernel": [StrOptions(set(KERNELS))],
    "gamma": _GAMMA,
    "degree": [_NOT_NEGATIVE],
    "coef0": [Real],
    "correction_kernel": [StrOptions(set(KERNELS)), None],
    "correction_gamma": [*_GAMMA, None],
    "correction_degree": [_NOT_NEGATIVE, None],
    "correction_coef0": [Real, None],
    "correction_penalty": [_POSITIVE],
    "tol": [_POSITIVE],
    "max_iter": [Interval(Integral, -1, None, closed="left")],
    "cache_size": [_POSITIVE],
}


def indexable(X):
    """The same data with rows that can be taken out."""
    return X.tocsr() if sp.issparse(X) else X


def warn_if_unfinished(estimator, solutions, remedy):
    """Warn of the worst solution that did not converge; two frames below `fit`.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    solutions : list of Solution or PlusSolution
        What the solver found.
    remedy : str
        What to do about it.
    """
    unfinished = [s for s in solutions if not s.converged]
    if not unfinished:
        return
    worst = max(unfinished, key=lambda s: s.violation)
    warnings.warn(
        f"{type(estimator).__name__} stopped after {worst.n_iter} iterations with a "
        f"violation of {worst.violation:.3g} (tol={estimator.tol:g}). {remedy}",
        ConvergenceWarning,
        stacklevel=5,  # fit is decorated
    )


def warn_of_scales(X, names, estimator):
    """Warn if features differ so much in scale that the largest decides alone.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Training data.
    names : ndarray of shape (n_features,)
        Names of the columns.
    estimator : str
        Name for the message.
    """
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        spread = X.std(axis=0, dtype=np.float64)
    varied = np.flatnonzero(spread > 0)
    if len(varied) < 2:
        return
    least, most = varied[spread[varied].argmin()], varied[spread[varied].argmax()]
    if spread[most] <= _SCALE_RATIO * spread[least]:
        return
    warnings.warn(
        f"The features of {estimator} differ in scale by "
        f"{spread[most] / spread[least]:.0e}: column {names[most]!r} has standard "
        f"deviation {spread[most]:.3g}, column {names[least]!r} {spread[least]:.3g}. "
        "The larger ones decide alone. Scale them first, for example with "
        "kinlearn.keep_task(StandardScaler(), task=...).",
        FeatureScaleWarning,
        stacklevel=3,
    )
