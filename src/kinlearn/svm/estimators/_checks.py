"""What all support vector machines declare, and check before and after they solve."""

import warnings
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from kinlearn.exceptions import FeatureScaleWarning
from kinlearn.svm.kernels import KERNELS
from kinlearn.svm.problem import Solution
from kinlearn.svm.solvers import PlusSolution
from kinlearn.utils._sklearn import Interval, StrOptions
from kinlearn.utils._typing import TaskColumn

__all__ = [
    "PARAMETERS",
    "check_symmetric",
    "indexable",
    "warn_if_unfinished",
    "warn_of_scales",
]

_SCALE_RATIO = 1e4
_ASYMMETRY = 1e-5  # of the greatest cell; rounding in single precision is less
_ROWS = 256  # that are compared with columns at a time
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


def indexable(X: Any) -> Any:
    """The same data with rows that can be taken out."""
    return X.tocsr() if sp.issparse(X) else X


def check_symmetric(K: Any, name: str, estimator: str) -> None:
    """Refuse a precomputed matrix that is no kernel between the training rows.

    Parameters
    ----------
    K : ndarray or sparse matrix of shape (n_samples, n_samples)
        The matrix.
    name : str
        What the message calls it.
    estimator : str
        Name for the message.
    """
    if sp.issparse(K):
        difference = abs(K - K.T).tocoo()
        worst = int(np.argmax(difference.data)) if difference.nnz else 0
        place = (
            (difference.row[worst], difference.col[worst]) if difference.nnz else (0, 0)
        )
        greatest = abs(K).max()
    else:
        place, most, greatest = (0, 0), 0.0, 0.0
        for left in range(0, len(K), _ROWS):
            rows = K[left : left + _ROWS]
            difference = np.abs(rows - K[:, left : left + _ROWS].T)
            i, j = np.unravel_index(np.argmax(difference), difference.shape)
            greatest = max(greatest, np.abs(rows).max())
            if difference[i, j] > most:
                place, most = (left + i, j), difference[i, j]
    one, two = int(place[0]), int(place[1])
    this, that = K[one, two], K[two, one]
    if abs(this - that) > _ASYMMETRY * greatest:
        raise ValueError(
            f"{name} of {estimator} is precomputed, but its matrix is not symmetric: "
            f"rows {one} and {two} have {this:.6g} one way and {that:.6g} the other. "
            "It has a column for each training row, in their order, so cut its columns "
            "together with the rows: scikit-learn's cross-validation does so only for "
            "an X that is one matrix, without features and a task column."
        )


def warn_if_unfinished(
    estimator: Any,
    solutions: Sequence[Solution | PlusSolution],
    remedy: str,
    stacklevel: int = 5,
) -> None:
    """Warn of the worst solution that did not converge.

    Parameters
    ----------
    estimator : estimator
        What is fitted.
    solutions : list of Solution or PlusSolution
        What the solver found.
    remedy : str
        What to do about it; the limit of iterations is added where it was met.
    stacklevel : int, default=5
        Frames up to the user's line: from two below a `fit` that is decorated.
    """
    unfinished = [s for s in solutions if not s.converged]
    if not unfinished:
        return
    worst = max(unfinished, key=lambda s: s.violation)
    why = f"{remedy}, or raise max_iter."
    if worst.stalled:
        why = f"Rounding lets no step get closer. {remedy}, or raise tol."
    warnings.warn(
        f"{type(estimator).__name__} stopped after {worst.n_iter} iterations with a "
        f"violation of {worst.violation:.3g} (tol={estimator.tol:g}). {why}",
        ConvergenceWarning,
        stacklevel=stacklevel,
    )


def warn_of_scales(
    X: Any,
    names: np.ndarray,
    estimator: str,
    task: TaskColumn,
    privileged: Any = None,
) -> None:
    """Warn if features differ so much in scale that the largest decides alone.

    Three frames below a `fit` that is decorated.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        Training data.
    names : ndarray of shape (n_features,)
        Names of the columns.
    estimator : str
        Name for the message.
    task : str, int or None
        A column that scaling must leave alone.
    privileged : str, int, list of them or None, default=None
        Columns that scaling must do without in prediction.
    """
    if sp.issparse(X):
        mean = np.asarray(X.mean(axis=0)).ravel()
        exact = 1e-7  # squares lose half of the digits
        square = np.asarray(X.multiply(X).mean(axis=0)).ravel()
        spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    else:
        mean = X.mean(axis=0, dtype=np.float64)
        spread = X.std(axis=0, dtype=np.float64)
        exact = 1e-14
    # what is left of a constant by rounding is no scale
    rounding = np.maximum(exact * np.abs(mean), 1e-12 * spread.max(initial=0.0))
    varied = np.flatnonzero(spread > rounding)
    if len(varied) < 2:
        return
    least, most = varied[spread[varied].argmin()], varied[spread[varied].argmax()]
    if spread[most] <= _SCALE_RATIO * spread[least]:
        return
    scaler = "StandardScaler()"
    kept = {"task": task, "privileged": privileged}
    options = [f"{key}={value!r}" for key, value in kept.items() if value is not None]
    if options:
        scaler = f"kinlearn.keep_task({scaler}, {', '.join(options)})"
    warnings.warn(
        f"The features of {estimator} differ in scale by "
        f"{spread[most] / spread[least]:.0e}: column {names[most]!r} has standard "
        f"deviation {spread[most]:.3g}, column {names[least]!r} {spread[least]:.3g}. "
        f"The larger ones decide alone. Scale them first, for example with {scaler}.",
        FeatureScaleWarning,
        stacklevel=6,
    )
