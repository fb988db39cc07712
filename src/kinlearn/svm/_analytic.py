"""C and epsilon of a support vector regression from the data (Cherkassky & Ma 2004)."""

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array, check_consistent_length, column_or_1d

from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike, Table

__all__ = ["analytic_C", "analytic_epsilon"]


def _numbers(y: Any) -> np.ndarray:
    y = column_or_1d(y).astype(np.float64, copy=False)
    if not len(y):
        raise ValueError("y is empty: it takes a row, or more, to go by.")
    if not np.isfinite(y).all():
        raise ValueError(
            f"y holds {(~np.isfinite(y)).sum()} values that are NaN or infinite. "
            "Drop these rows, or impute them."
        )
    return y


def _spread(y: np.ndarray, weight: np.ndarray | None) -> tuple[float, float]:
    """Mean and standard deviation by weight."""
    mean = np.average(y, weights=weight)
    return mean, np.sqrt(np.average((y - mean) ** 2, weights=weight))


def analytic_C(y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    r"""Cost of a slack for support vector regression, from the range of y.

    .. math:: C = \max(|\bar y + 3 \sigma_y|, |\bar y - 3 \sigma_y|)

    It is the height that an expansion in bounded kernels (rbf) must be able to
    reach, and takes no search.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Numbers to predict.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights; a weight of 2 counts as the row twice.

    Returns
    -------
    float
        C; 1 where all of y is 0.

    References
    ----------
    V. Cherkassky, Y. Ma, "Practical selection of SVM parameters and noise
    estimation for SVM regression", Neural Networks 17, 2004.

    Examples
    --------
    >>> from kinlearn.svm import analytic_C
    >>> analytic_C([1.0, 3.0])
    5.0
    """
    y = _numbers(y)
    weight = None if sample_weight is None else check_sample_weight(sample_weight, y)
    mean, deviation = _spread(y, weight)
    return float(abs(mean) + 3 * deviation) or 1.0


def analytic_epsilon(
    X: Table, y: ArrayLike, task: ArrayLike | None = None, *, n_neighbors: int = 3
) -> float:
    r"""Width of the tube for support vector regression, from the noise.

    The noise is estimated from the residuals to the mean of the k nearest other
    rows, whose own noise adds a k-th to the variance:

    .. math::

        \hat\sigma^2 = \frac{1}{1 + 1 / k} \cdot
            \frac{1}{n} \sum_i (y_i - \hat y_i)^2, \qquad
        \epsilon = 3 \hat\sigma \sqrt{\ln n / n}.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features, on scales that make distances meaningful; no task column.
    y : array-like of shape (n_samples,)
        Numbers to predict.
    task : array-like of shape (n_samples,), default=None
        Tasks; neighbours are then looked for within the task.
    n_neighbors : int, default=3
        The k; the paper finds 2 to 6 equally good.

    Returns
    -------
    float
        Epsilon; 0 where no task has more than `n_neighbors` rows, which show no
        noise.

    Notes
    -----
    In the paper a row is one of its own neighbours, and the squared residuals are
    corrected by :math:`n^{1/5} k / (n^{1/5} k - 1)`. That leaves :math:`\sigma` too
    small, by 14 % for k = 3 and 500 rows.

    References
    ----------
    V. Cherkassky, Y. Ma, "Practical selection of SVM parameters and noise
    estimation for SVM regression", Neural Networks 17, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.svm import analytic_epsilon
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(size=(500, 1))
    >>> y = np.sin(6 * x[:, 0]) + rng.normal(scale=0.2, size=500)
    >>> 0.06 < analytic_epsilon(x, y) < 0.075  # 3 * 0.2 * sqrt(ln 500 / 500) = 0.067
    True
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors must be 1 or more; got {n_neighbors}.")
    X = check_array(X, accept_sparse="csr")
    y = _numbers(y)
    task = np.zeros(len(y)) if task is None else column_or_1d(task)
    check_consistent_length(X, y, task)
    residuals = [np.empty(0)]
    for t in np.unique(task):
        rows = np.flatnonzero(task == t)
        if len(rows) > n_neighbors:
            near = NearestNeighbors(n_neighbors=n_neighbors).fit(X[rows])
            others = near.kneighbors(return_distance=False)
            residuals.append(y[rows] - y[rows][others].mean(axis=1))
    residual = np.concatenate(residuals)
    if not len(residual):
        return 0.0
    variance = np.mean(residual**2) / (1 + 1 / n_neighbors)
    return float(3 * np.sqrt(variance * np.log(len(y)) / len(y)))
