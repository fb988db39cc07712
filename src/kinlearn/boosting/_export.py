"""Boosted models in words."""

from collections.abc import Iterable
from typing import Any

from kinlearn.boosting.gradient import GradientBoostingBase, boosted_text
from kinlearn.boosting.stumps import export_text as stump_text

__all__ = ["export_text"]


def export_text(
    model: Any, *, rounds: int | Iterable[int] | None = None, decimals: int = 2
) -> str:
    """Write two-task stumps, or the trees of gradient boosting, as text.

    Parameters
    ----------
    model : AbstainingAdaBoostClassifier or a multi-task gradient booster
        A fitted model.
    rounds : int or sequence of int, default=None
        Which rounds; None is the first three of stumps, and the first one of trees
        behind the slopes of the linear part, if there is one.
    decimals : int, default=2
        Digits of thresholds, votes and scores.

    Returns
    -------
    str
        For each round of stumps its vote, and two lines for each branch of the root:
        what it predicts for the root's task, and what the child below predicts for
        another. For MH, this is the label with the largest score, and that score.
        For each tree its tests, with the gain of the split, and at its leaves what they
        add to the score, and how many tasks depart from that.

    Examples
    --------
    >>> from kinlearn.boosting import AbstainingAdaBoostClassifier, export_text
    >>> X = [[1, 5, 0], [2, 6, 0], [3, 5, 0], [1, 5, 1], [2, 7, 1], [4, 7, 1]]
    >>> y = ["low", "low", "high", "cold", "warm", "warm"]
    >>> model = AbstainingAdaBoostClassifier(1, task=-1).fit(X, y)
    >>> print(export_text(model))
    round 0, vote 0.97
    x0 <= 2.50 -> task 0: low, then
        x0 <= 1.50 -> task 1: cold
        x0 > 1.50 -> task 1: warm
    x0 > 2.50 -> task 0: high, then
        always -> task 1: warm
    """
    if isinstance(model, GradientBoostingBase):
        return boosted_text(model, rounds, decimals)
    return stump_text(model, rounds=rounds, decimals=decimals)
