"""A check that comes before a support vector machine."""

import warnings

import numpy as np
import scipy.sparse as sp

from kinlearn.exceptions import FeatureScaleWarning

__all__ = ["warn_of_scales"]

_SCALE_RATIO = 1e4


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
