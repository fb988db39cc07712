"""Rankings of features for classification: Fisher, information gain, CMIM.

All take dense or sparse X, and never make a sparse one dense. Weights count rows.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

__all__ = ["cmim_order", "fisher_scores", "information_gain", "one_hot_categories"]


def _by_class(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Indicators of the classes, each row by its weight: (n, n_classes)."""
    return (y[:, None] == np.unique(y)) * weight[:, None]


# ------------------------------------------------------------------------- Fisher


def fisher_scores(X: Any, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    r"""Fisher's criterion of each feature.

    .. math:: (\mu_+ - \mu_-)^2 / (\sigma_+^2 + \sigma_-^2)

    For more than two classes it is the mean over pairs of classes.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features.
    y : int array of shape (n,)
        Class codes, all with positive weight.
    weight : array of shape (n,)
        Weights of the rows.

    Returns
    -------
    array of shape (d,)
        Scores; infinite for a feature that is constant in each of two classes,
        and differs between them.
    """
    proportion = _by_class(y, weight)
    proportion /= proportion.sum(axis=0)
    mean = np.asarray((X.T @ proportion).T, dtype=np.float64)
    if sp.issparse(X):
        square = np.asarray((X.multiply(X).T @ proportion).T)
        variance = np.maximum(square - mean**2, 0)
        # what is left of a constant by rounding
        variance[variance < 1e-12 * square] = 0
    else:
        variance = np.vstack(
            [proportion[:, c] @ (X - mean[c]) ** 2 for c in range(proportion.shape[1])]
        )
        variance[variance < 1e-24 * (mean**2).max(axis=0)] = 0
    scores = []
    for i in range(len(mean)):
        for j in range(i):
            top = (mean[i] - mean[j]) ** 2
            with np.errstate(divide="ignore", invalid="ignore"):
                score = top / (variance[i] + variance[j])
            scores.append(np.where(top == 0, 0.0, score))
    return np.mean(scores, axis=0)


# --------------------------------------------------------------------- categories


def _edges(values: np.ndarray, weight: np.ndarray, n_bins: int) -> np.ndarray:
    """Cuts of one feature: a category for each value, or bins of equal weight."""
    distinct, place = np.unique(values, return_inverse=True)
    total = np.bincount(place, weights=weight)
    distinct, total = distinct[total > 0], total[total > 0]
    if len(distinct) <= n_bins:
        return distinct[1:]
    reached = np.cumsum(total)
    levels = reached[-1] * np.arange(1, n_bins) / n_bins
    # the first value beyond a level begins a bin; rounding must not move a level
    first = np.searchsorted(reached * (1 + 1e-12), levels, side="right")
    return np.unique(distinct[np.minimum(first, len(distinct) - 1)])


def one_hot_categories(
    X: Any, weight: np.ndarray, n_bins: int
) -> tuple[sp.csr_array, np.ndarray]:
    """Indicators of the categories of all features, one of each left out.

    A feature of up to `n_bins` values has a category for each; others are cut
    into bins of about equal weight. The category of 0 is the one left out where
    X is sparse, so that the result is as sparse as X.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
        Features.
    weight : array of shape (n,)
        Weights of the rows; rows without weight make no category.
    n_bins : int
        Largest number of categories.

    Returns
    -------
    indicators : csr_array of shape (n, n_columns)
        1 where the row is in the category.
    feature : int array of shape (n_columns,)
        Feature of each column, ascending.
    """
    n, d = X.shape
    packed = sp.issparse(X)
    if packed:
        X = X.tocsc(copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
    rows, columns, feature = [], [], []
    n_columns = 0
    for j in range(d):
        if packed:
            cut = slice(X.indptr[j], X.indptr[j + 1])
            at, values = X.indices[cut], X.data[cut]
            rest = weight.sum() - weight[at].sum()
            rest = 0.0 if len(at) == n else max(rest, 0.0)
            edges = _edges(np.append(values, 0), np.append(weight[at], rest), n_bins)
            base = int(np.searchsorted(edges, 0, side="right"))
        else:
            at, values = np.arange(n), X[:, j]
            edges, base = _edges(values, weight, n_bins), 0
        code = np.searchsorted(edges, values, side="right")
        keep = code != base
        code = code[keep] - (code[keep] > base)
        rows.append(at[keep])
        columns.append(code + n_columns)
        feature.append(np.full(len(edges), j))
        n_columns += len(edges)
    places = np.concatenate(rows), np.concatenate(columns)
    ones = np.ones(len(places[0]))
    return (
        sp.csr_array((ones, places), shape=(n, n_columns)),
        np.concatenate(feature).astype(np.intp),
    )


# -------------------------------------------------------------------- information


def _plogp(p: np.ndarray) -> np.ndarray:
    return p * np.log(np.where(p > 0, p, 1))


def _conditional_information(
    hot: sp.csr_array, feature: np.ndarray, d: int, cells: np.ndarray, n_classes: int
) -> np.ndarray:
    """I(x_j; y | v) of all features in nats, v having cells.shape[1] / n_classes
    categories; `cells` are the weighted indicators of (v, y), class by class.
    """
    cells = cells / cells.sum()
    joint = np.asarray(hot.T @ cells)  # p(category of x_j, v, y)
    left = np.repeat(cells.sum(axis=0)[None], d, axis=0)
    np.subtract.at(left, feature, joint)  # the category without a column
    left = np.maximum(left, 0)
    shape = (-1, cells.shape[1] // n_classes, n_classes)

    def information(p: np.ndarray) -> np.ndarray:
        p = p.reshape(shape)
        return _plogp(p).sum(axis=(1, 2)) - _plogp(p.sum(axis=2)).sum(axis=1)

    # I = sum p(x,v,y) log [p(x,v,y) p(v) / (p(x,v) p(v,y))]
    out = information(left)
    np.add.at(out, feature, information(joint))
    return np.maximum(out - information(cells.sum(axis=0)), 0)


def information_gain(
    hot: sp.csr_array, feature: np.ndarray, d: int, y: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Information of each feature about the class, in nats.

    Parameters
    ----------
    hot, feature : as from one_hot_categories
        Categories of the features.
    d : int
        Number of features.
    y : int array of shape (n,)
        Class codes.
    weight : array of shape (n,)
        Weights of the rows.

    Returns
    -------
    array of shape (d,)
        I(x_j; y).
    """
    cells = _by_class(y, weight)
    return _conditional_information(hot, feature, d, cells, cells.shape[1])


def cmim_order(
    hot: sp.csr_array,
    feature: np.ndarray,
    d: int,
    y: np.ndarray,
    weight: np.ndarray,
    n_select: int,
    given: Sequence[int] = (),
) -> tuple[np.ndarray, np.ndarray]:
    r"""Features in the order of conditional mutual information maximisation.

    The next feature is the one whose least information about y, given any one
    feature that was chosen before, is the largest (Fleuret 2004).

    Parameters
    ----------
    hot, feature : as from one_hot_categories
        Categories of the features.
    d : int
        Number of features.
    y : int array of shape (n,)
        Class codes.
    weight : array of shape (n,)
        Weights of the rows.
    n_select : int
        How many to choose so; the others follow by their scores.
    given : sequence of int, default=()
        Features that are chosen before, whatever they score.

    Returns
    -------
    order : int array of shape (d,)
        Features, the best one first.
    scores : array of shape (d,)
        Score of each feature: when it was chosen, or at the end.
    """
    by_class = _by_class(y, weight)
    n_classes = by_class.shape[1]
    starts = np.searchsorted(feature, np.arange(d + 1))
    columns = hot.tocsc()
    score = information_gain(hot, feature, d, y, weight)
    open_ = np.ones(d, dtype=bool)
    order = []
    wanted = list(given)
    for step in range(min(n_select, d)):
        best = int(np.argmax(np.where(open_, score, -1.0)))
        if step < len(wanted):
            best = wanted[step]
        order.append(best)
        open_[best] = False
        part = columns[:, starts[best] : starts[best + 1]].toarray()
        part = np.column_stack([1 - part.sum(axis=1), part])
        cells = (part[:, :, None] * by_class[:, None, :]).reshape(len(y), -1)
        information = _conditional_information(hot, feature, d, cells, n_classes)
        score = np.where(open_, np.minimum(score, information), score)
    rest = np.flatnonzero(open_)
    rest = rest[np.argsort(-score[rest], kind="stable")]
    return np.concatenate([np.array(order, dtype=np.intp), rest]), score
