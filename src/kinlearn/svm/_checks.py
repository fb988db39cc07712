"""Checks and estimates that come before a support vector machine."""

import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from kinlearn.exceptions import FeatureScaleWarning

__all__ = ["analytic_C", "analytic_epsilon", "noise_level", "warn_of_scales"]

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


def analytic_C(y, weight):
    """C from the range of the targets (Cherkassky & Ma 2004).

    Parameters
    ----------
    y, weight : float64 arrays of shape (n,)
        Targets, and weights of the rows.

    Returns
    -------
    float
        ``max(|mean + 3 sd|, |mean - 3 sd|)``; 1 if all targets are zero.
    """
    mean = np.average(y, weights=weight)
    deviation = np.sqrt(np.average((y - mean) ** 2, weights=weight))
    return float(max(abs(mean + 3 * deviation), abs(mean - 3 * deviation))) or 1.0


def noise_level(X, y, task, n_neighbors=3):
    """Standard deviation of the noise, by nearest neighbours within each task.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, n_features)
        Features.
    y : float64 array of shape (n,)
        Targets.
    task : int array of shape (n,)
        Tasks.
    n_neighbors : int, default=3
        Neighbours whose mean predicts a row.

    Returns
    -------
    float
        The estimate; 0 if no task has more rows than neighbours.

    Notes
    -----
    Cherkassky and Ma fit k-nearest-neighbour regression to all rows, each among its
    own neighbours, and correct the squared residuals by n^(1/5) k / (n^(1/5) k - 1).
    Here a row is not its own neighbour, and its mean of k others adds a k-th of the
    variance, so residuals are divided by 1 + 1/k instead.
    """
    total = n_rows = 0.0
    for t in np.unique(task):
        rows = np.flatnonzero(task == t)
        if len(rows) <= n_neighbors:
            continue
        near = NearestNeighbors(n_neighbors=n_neighbors).fit(X[rows])
        residual = y[rows] - y[rows][near.kneighbors(return_distance=False)].mean(1)
        total += residual @ residual
        n_rows += len(rows)
    if not n_rows:
        return 0.0
    return float(np.sqrt(total / n_rows / (1.0 + 1.0 / n_neighbors)))


def analytic_epsilon(X, y, task):
    """Half the width of the tube, by the noise (Cherkassky & Ma 2004).

    Parameters
    ----------
    X, y, task : arrays
        Features, targets and tasks.

    Returns
    -------
    float
        ``3 noise sqrt(log n / n)``.
    """
    n = len(y)
    return 3.0 * noise_level(X, y, task) * float(np.sqrt(np.log(max(n, 2)) / n))
