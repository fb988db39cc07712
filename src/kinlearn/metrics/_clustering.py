"""How well clusters agree with labels."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from kinlearn.metrics._rows import check_pairs
from kinlearn.utils._sklearn import check_sample_weight
from kinlearn.utils._typing import ArrayLike

__all__ = ["clustering_accuracy_score"]


def clustering_accuracy_score(
    y_true: ArrayLike, y_pred: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Accuracy of a clustering under the best matching of clusters to labels.

    Each cluster stands for at most one label and each label for at most one
    cluster; of all such matchings the one with most agreement counts
    (Hungarian algorithm).

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        True labels.
    y_pred : array-like of shape (n_samples,)
        Cluster of each row; the names of the clusters do not matter.
    sample_weight : array-like of shape (n_samples,), default=None
        Weights of the rows.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    By task (:class:`TaskFrame`) every task gets a matching of its own, while
    ``overall`` has one matching for all rows. Clusters that are named
    separately in each task are scored by the former.

    Examples
    --------
    >>> from kinlearn.metrics import clustering_accuracy_score
    >>> clustering_accuracy_score(["a", "a", "b", "b"], [1, 1, 0, 1])
    0.75
    """
    y_true, y_pred = check_pairs(y_true, y_pred, sample_weight)
    weight = check_sample_weight(
        sample_weight, y_true, dtype=np.float64, ensure_non_negative=True
    )
    labels, true = np.unique(y_true, return_inverse=True)
    clusters, pred = np.unique(y_pred, return_inverse=True)
    table = np.zeros((len(labels), len(clusters)))
    np.add.at(table, (true, pred), weight)
    matched = linear_sum_assignment(table, maximize=True)
    return float(table[matched].sum() / weight.sum())
