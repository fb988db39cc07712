"""How well a single column predicts the target: a robust measure in one dimension.

No model is fitted. A row's target is predicted from other rows that are near it in
this column alone, so that nothing is flattered, any function is found (also that of
a row number in a file sorted by class), and outliers count as ranks.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.stats import rankdata

__all__ = ["Goal", "predicts"]

_FEWEST_ROWS = 30
_FEWEST_OF_CLASS = 8
_MOST_CLASSES = 10
_NEAR = 2  # values on each side that predict those between them
_ROWS_PER_VALUE = {"number": 5, "text": 2}  # for values to predict their own rows


@dataclass(frozen=True, eq=False)
class Goal:
    """What is to be predicted, as columns of numbers.

    Attributes
    ----------
    columns : float64 array of shape (n_rows, n_columns)
        Ranks of a numeric target; of classes an indicator each (one of two).
    measure : {"AUC", "R2"}
        The least of the classes, each against the others; or of ranks.
    codes : int array of shape (n_rows,)
        Which of the sorted values of the target each row has.
    """

    columns: np.ndarray
    measure: Literal["AUC", "R2"]
    codes: np.ndarray

    @classmethod
    def of(cls, y: Any, kind: str) -> "Goal | None":
        """Prepare a target; None if the rows are too few for anything but chance.

        That is fewer than 30, or than 8 of the second class.
        """
        values, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
        if len(codes) < _FEWEST_ROWS or len(values) < 2:
            return None
        if kind == "regression":
            ranks = rankdata(np.asarray(y, dtype=np.float64))
            return cls(ranks[:, None], "R2", codes)
        frequent = np.argsort(-counts, kind="stable")[:_MOST_CLASSES]
        frequent = frequent[counts[frequent] >= _FEWEST_OF_CLASS]
        if len(frequent) < 2:
            return None
        shown = frequent[1:] if len(values) == 2 else frequent
        return cls((codes[:, None] == shown).astype(np.float64), "AUC", codes)

    def score(self, predictions: np.ndarray) -> float:
        """How good predictions are: 1 is perfect."""
        truth = self.columns
        if self.measure == "R2":
            left = ((truth - predictions) ** 2).sum()
            return float(1 - left / ((truth - truth.mean()) ** 2).sum())
        ranks = rankdata(predictions, axis=0)
        ones = truth.sum(axis=0)
        pairs = ones * (len(truth) - ones)
        above = (ranks * truth).sum(axis=0) - ones * (ones + 1) / 2
        return float((above / pairs).min())

    def monotone(self, ranks: np.ndarray) -> float:
        """The best that a rising or a falling function of one number can do."""
        if self.measure == "R2":
            return float(np.corrcoef(ranks, self.columns[:, 0])[0, 1] ** 2)
        if self.columns.shape[1] > 1:  # of three classes one lies between
            return 0.0
        area = self.score(ranks[:, None])
        return max(area, 1 - area)


def predicts(
    values: np.ndarray, goal: Goal, *, kind: Literal["number", "text"]
) -> float:
    """How well a column alone predicts the target.

    The best of three: by neighbouring values (never the value itself, so that repeated
    rows do not predict each other), by other rows of the same value where there are
    enough, and by order. Values are numbers (dates are such), or codes of texts, which
    have no neighbours; NaN is missing, and a value of its own.
    """
    missing = np.isnan(values)
    found, groups = np.unique(values, return_inverse=True)  # NaN comes last, once
    if len(found) < 2:
        return 0.0
    results = [0.0]
    sums, counts = _totals(groups, len(found), goal.columns)
    own = _leave_one_out(groups, sums, counts, goal.columns)
    if len(values) >= _ROWS_PER_VALUE[kind] * len(found):
        results.append(goal.score(own))
    if kind == "number":
        n_values = len(found) - bool(missing.any())
        if n_values > 2 * _NEAR:
            near = _from_neighbours(sums[:n_values], counts[:n_values])
            scores = np.where(
                missing[:, None], own, near[np.minimum(groups, n_values - 1)]
            )
            results.append(goal.score(scores))
        ranks = rankdata(np.where(missing, np.inf, values))
        results.append(goal.monotone(ranks))
        if missing.any():
            results.append(goal.monotone(rankdata(np.where(missing, -np.inf, values))))
    return max(results)


def _totals(
    groups: np.ndarray, n_groups: int, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sums of the columns and rows, by group."""
    sums = np.stack(
        [np.bincount(groups, weights=c, minlength=n_groups) for c in columns.T], axis=1
    )
    return sums, np.bincount(groups, minlength=n_groups)[:, None].astype(np.float64)


def _leave_one_out(
    groups: np.ndarray, sums: np.ndarray, counts: np.ndarray, columns: np.ndarray
) -> np.ndarray:
    """Means of the other rows of the same value, and one row of the whole."""
    others = sums[groups] - columns + columns.mean(axis=0)
    return others / counts[groups]


def _from_neighbours(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Means of the nearest values on both sides, for each value in order."""
    pad = ((_NEAR, _NEAR), (0, 0))
    total, rows = np.pad(sums, pad), np.pad(counts, pad)
    n_values = len(sums)
    shifts = [s for s in range(2 * _NEAR + 1) if s != _NEAR]
    nearby = np.stack([total[s : s + n_values] for s in shifts])
    of_rows = np.stack([rows[s : s + n_values] for s in shifts])
    return nearby.sum(axis=0) / of_rows.sum(axis=0)
