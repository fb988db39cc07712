"""Does the source help? Judged on target rows that were left out."""

from collections.abc import Callable
from typing import Any

import numpy as np

from kinlearn.transfer._boost import Boosted, Transfer

__all__ = ["held_out_error", "vote_shares"]


def vote_shares(boosted: Boosted, X: Any, shares: np.ndarray) -> np.ndarray:
    """Share of the votes for each class that the transfer has.

    Parameters
    ----------
    boosted : Boosted
        The learners and their votes.
    X : ndarray or sparse array of shape (n, n_features)
        Rows.
    shares : float array of shape (n_classes,)
        What is predicted where no learner has a vote.

    Returns
    -------
    float64 array of shape (n, n_classes)
        Rows sum to one.
    """
    total = boosted.votes.sum()
    if not total > 0:
        return np.tile(shares, (X.shape[0], 1))
    out = np.zeros((X.shape[0], len(shares)))
    boosted.learners.add_votes(X, boosted.votes, out)
    return out / total


def held_out_error(
    transfer: Transfer,
    X: Any,
    fold: np.ndarray,
    boost_rows: Callable[[Transfer], Boosted],
) -> float:
    """Balanced error on rows of the target, each left out once.

    Parameters
    ----------
    transfer : Transfer
        The rows; without a source it is the error of the target alone.
    X : ndarray or sparse array
        Features of all rows of the training data.
    fold : int array of shape (m,)
        Fold of each row; -1 is never left out.
    boost_rows : callable
        From a `Transfer` to a `Boosted`.

    Returns
    -------
    float
        Mean over classes of the wrong share of their weight.
    """
    n_classes = transfer.n_classes
    wrong, total = np.zeros(n_classes), np.zeros(n_classes)
    for k in range(fold.max() + 1):
        out = fold == k
        kept = transfer.some(~out)
        own = kept.is_target
        weight = np.bincount(kept.y[own], kept.start[own], minlength=n_classes)
        shares = weight / weight.sum()
        y, w = transfer.y[out], transfer.start[out]
        answer = vote_shares(boost_rows(kept), X[transfer.rows[out]], shares)
        missed = answer.argmax(axis=1) != y
        wrong += np.bincount(y, w * missed, minlength=n_classes)
        total += np.bincount(y, w, minlength=n_classes)
    shown = total > 0  # the target may have classes that only its sources show
    return float(np.mean(wrong[shown] / total[shown]))
