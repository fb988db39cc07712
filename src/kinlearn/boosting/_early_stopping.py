"""When to stop boosting: rows held back, and the error on them by round."""

from typing import Any

import numpy as np

from kinlearn.boosting._boosted_rows import BoostedRows
from kinlearn.boosting._stumps import TwoTaskStumps

__all__ = ["Watch", "hold_back"]


def hold_back(
    task: np.ndarray,
    y: np.ndarray | None,
    weight: np.ndarray,
    share: float,
    rng: np.random.RandomState,
) -> np.ndarray:
    """Draw rows for validation from every pair of task and class.

    Parameters
    ----------
    task : int array of shape (n,)
        Task codes.
    y : int array of shape (n,) or None
        Class codes; None draws from every task.
    weight : float array of shape (n,)
        Sample weights; rows of weight 0 are not drawn.
    share : float
        Share of the rows to draw.
    rng : RandomState
        Draws.

    Returns
    -------
    bool array of shape (n,)
        Rows held back; at least one of each pair stays. Tasks of one class have
        nothing to watch; if all are like that, there are none.

    Raises
    ------
    ValueError
        If the share is of so few rows that none is held back.
    """
    pairs, can = task.astype(np.int64), weight > 0
    if y is not None:
        pairs = pairs * (int(y.max()) + 1) + y
        own = np.unique(pairs[can], return_index=True)[1]
        n_labels = np.bincount(task[can][own], minlength=int(task.max()) + 1)
        can &= n_labels[task] > 1
    if not can.any():
        return can
    cell = np.unique(pairs, return_inverse=True)[1]
    order = rng.permutation(np.flatnonzero(can))
    order = order[np.argsort(cell[order], kind="stable")]
    size = np.bincount(cell[order], minlength=cell.max() + 1)
    first = np.cumsum(size) - size
    rank = np.arange(len(order)) - first[cell[order]]
    wanted = np.minimum(np.rint(size * share), size - 1)
    held = np.zeros(len(task), dtype=bool)
    held[order[rank < wanted[cell[order]]]] = True
    if not held.any():
        what = "task" if y is None else "task and class"
        raise ValueError(
            f"validation_fraction={share} of the rows of each {what} leaves no row to "
            "hold back. Set a larger fraction, or early_stopping=False."
        )
    return held


class Watch:
    """Error on the rows held back, round by round.

    Parameters
    ----------
    X : ndarray or sparse array of shape (n, n_features)
        The rows held back, task by task.
    rows : BoostedRows
        The same: labels and weights.
    width : int
        Most numbers of a prediction.
    patience : int
        Rounds without a smaller error after which to stop.
    scores : float64 array of shape (n, width), default=None
        Votes of earlier rounds.
    """

    def __init__(
        self,
        X: Any,
        rows: BoostedRows,
        width: int,
        patience: int,
        scores: np.ndarray | None = None,
    ) -> None:
        self._X = X
        self._rows = rows
        self._task = rows.task
        self._scores = np.zeros((len(rows.order), width))
        if scores is not None:
            self._scores += scores
        self._patience = patience
        self.errors: list[float] = []

    def tired(self, stump: TwoTaskStumps) -> bool:
        """Take in a round.

        Parameters
        ----------
        stump : TwoTaskStumps
            The stump of the round.

        Returns
        -------
        bool
            Whether to stop.
        """
        stump.add_scores(self._X, self._task, self._scores)
        self.errors.append(self._error())
        return len(self.errors) - self.n_best >= self._patience

    @property
    def n_best(self) -> int:
        """Rounds up to the smallest error."""
        return int(np.argmin(self.errors)) + 1 if self.errors else 0

    def _error(self) -> float:
        """Weight of wrong predictions; where nobody votes, that of a guess."""
        rows, scores = self._rows, self._scores
        n_labels = np.repeat(rows.n_labels, np.diff(rows.indptr))
        if scores.shape[1] == 1:  # signs: the vote for the second class
            answer = (scores[:, 0] > 0).astype(np.int32)
        else:
            lacking = np.arange(scores.shape[1]) >= n_labels[:, None]
            answer = np.where(lacking, -np.inf, scores).argmax(axis=1)
        wrong = np.where(scores.any(axis=1), answer != rows.label, 1 - 1 / n_labels)
        return float(rows.start @ wrong)
