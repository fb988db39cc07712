r"""Intervals and tests for means over overlapping folds.

Folds of one data set share rows, so their scores are not independent and the
usual standard error is far too small. The corrected resampled t statistic [1]_
allows for it. With :math:`R` repeats of :math:`K` folds and :math:`S^2` the
variance of all :math:`R K` scores,

.. math:: \widehat{Var} = S^2 \left(\frac{1}{K} + \frac{n_{test}}{n_{train}}\right)

is the variance of their mean. It is about the *expected* score of training
sets of this size, drawn anew from the same tasks, not only of the models that
happened to be fitted.

Where this differs from the papers
----------------------------------
For one repeat it is [1]_ to the letter. For repeated folds [2]_ put
:math:`1 / (R K)` in place of :math:`1 / K` and take :math:`R K - 1` degrees of
freedom. But a repeat deals the same rows again: it steadies the mean and brings
no new rows, and models that change much with their training rows are lucky or
unlucky in all repeats alike. Measured on such models, the false alarms at 5%
rise from 8% with one repeat to 25% with ten; see the guide on the audit's
statistics. So repeats are not counted in the variance, and the degrees of
freedom are what :math:`S^2` is worth if scores are means over :math:`n` normal
rows:

.. math:: \frac{1}{df} = \frac{1}{n - 1}
          + \frac{1}{R} \left(\frac{1}{K - 1} - \frac{1}{n - 1}\right)

:math:`K - 1` for one repeat, and never more than :math:`n - 1`. The rows that
count for a classifier are those outside the most common class: an AUC with five
positive rows knows five things. With fewer than five there is no standard error:
scores of two or three rows have so few values that their spread means nothing.

References
----------
.. [1] Nadeau and Bengio (2003). Inference for the generalization error. Machine
   Learning 52, 239-281.
.. [2] Bouckaert and Frank (2004). Evaluating the replicability of significance
   tests for comparing learning algorithms. PAKDD, 3-12.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtr, stdtrit

__all__ = ["FEWEST_UNITS", "FoldMeans", "fold_means", "holm", "macro_mean"]

# Rows that carry the score below which there is no standard error.
FEWEST_UNITS = 5

# Differences of this size, relative to the numbers, are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FoldMeans:
    """Means over folds, one for each task.

    - `mean` (n_tasks,): NaN where no fold has a score.
    - `se` (n_tasks,): Corrected standard error. NaN where it cannot be estimated: with
      fewer than five rows that carry the score, with one fold, with no training row, or
      if all folds score alike. The last is no certainty: it is what a coarse score on a
      few rows looks like.
    - `df` (n_tasks,): Degrees of freedom of `se`.
    - `n_folds` (n_tasks,): Folds with a score, over all repeats.
    """

    mean: np.ndarray
    se: np.ndarray
    df: np.ndarray
    n_folds: np.ndarray

    def interval(
        self, level: float, width: float = np.inf
    ) -> tuple[np.ndarray, np.ndarray]:
        """Limits at a level, within the possible differences of scores.

        NaN where there is no standard error, and where all that is possible lies
        between the limits.
        """
        half = stdtrit(self.df, (1 + level) / 2) * self.se
        low, high = self.mean - half, self.mean + half
        empty = (low <= -width) & (high >= width)
        limits = np.maximum(low, -width), np.minimum(high, width)
        low, high = (np.where(empty, np.nan, limit) for limit in limits)
        return low, high

    def p_values(self) -> np.ndarray:
        """Two-sided p for a mean of zero, NaN where there is no standard error."""
        with np.errstate(invalid="ignore"):
            return 2 * stdtr(self.df, -np.abs(self.mean / self.se))


def fold_means(
    values: np.ndarray, n_train: np.ndarray, n_test: np.ndarray, n_units: np.ndarray
) -> FoldMeans:
    """Mean over folds with its corrected standard error, task by task."""
    defined = ~np.isnan(values)
    n_folds = defined.sum(axis=(0, 1))
    n_repeats = defined.any(axis=1).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(defined, values, 0).sum(axis=(0, 1)) / n_folds
        spread = np.where(defined, values - mean, 0)
        variance = (spread**2).sum(axis=(0, 1)) / (n_folds - 1)
        test_ratio = (n_test * defined).sum(axis=(0, 1)) / (n_train * defined).sum(
            axis=(0, 1)
        )
        se = np.sqrt(variance * (n_repeats / n_folds + test_ratio))
    largest = np.abs(np.where(defined, values, 0)).max(axis=(0, 1), initial=0)
    constant = np.abs(spread).max(axis=(0, 1), initial=0) <= _ROUNDING * largest
    few = np.asarray(n_units) < FEWEST_UNITS
    se[constant | few | (n_folds < 2) | ~np.isfinite(se)] = np.nan
    return FoldMeans(mean, se, _degrees(n_folds, n_repeats, n_units), n_folds)


def _degrees(n_folds: np.ndarray, n_repeats: int, n_units: np.ndarray) -> np.ndarray:
    most = np.minimum(n_folds, n_units) - 1
    with np.errstate(divide="ignore", invalid="ignore"):
        new = 1 / (n_folds / n_repeats - 1)  # of one deal of the rows
        old = 1 / (np.asarray(n_units) - 1)
        degrees = 1 / (old + np.maximum(new - old, 0) / n_repeats)
    # One fold a repeat has no variance within repeats: count all of them.
    degrees = np.where(n_folds > n_repeats, np.minimum(degrees, most), most)
    return np.maximum(degrees, 1.0)


def macro_mean(
    values: np.ndarray, n_train: np.ndarray, n_test: np.ndarray, n_units: np.ndarray
) -> FoldMeans:
    """Mean over tasks of their means over folds; every task counts alike.

    The tasks are taken as given, so that the standard error is about other
    rows of *these* tasks.
    """
    defined = ~np.isnan(values)
    scored = defined.any(axis=(0, 1))
    values, defined = values[..., scored], defined[..., scored]
    n_folds = defined.any(axis=-1).sum()
    n_train, n_test = (
        n[..., scored].sum(axis=-1, keepdims=True) for n in (n_train, n_test)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        n_scores, n_repeats = defined.sum(axis=(0, 1)), defined.any(axis=1).sum(axis=0)
        by_task = np.where(defined, values, 0).sum(axis=(0, 1)) / n_scores
        # A fold that lacks a task has no score of it, and the folds that have
        # it weigh the more. With no gaps this is the mean over tasks.
        spread = np.where(defined, values - by_task, 0)
        moved = spread * (n_folds / n_scores)
        by_fold = (by_task + moved).mean(axis=-1) if scored.any() else np.nan
    by_fold = np.where(defined.any(axis=-1), by_fold, np.nan)
    means = fold_means(
        by_fold[..., np.newaxis], n_train, n_test, np.array([n_units[scored].sum()])
    )
    # A task with one fold a repeat is always at its own mean, as if it were known
    # for sure: its variance is taken to be that of the others.
    single = n_scores == n_repeats
    if not single.any() or values.shape[1] == 1:
        return means
    with np.errstate(invalid="ignore", divide="ignore"):
        square = (spread**2).sum(axis=(0, 1)) / (n_scores - n_repeats)
        variance = square[~single].mean() if not single.all() else np.nan
        factor = 1 + n_test.sum() / n_train.sum()
        lacking = single.sum() * variance * factor / len(single) ** 2
    return replace(means, se=np.sqrt(means.se**2 + lacking))


def holm(p: np.ndarray) -> np.ndarray:
    """Holm's step-down adjustment of p-values.

    Rejecting what is at most 5% afterwards wrongly rejects anything at all in
    at most 5% of all families, however the tests depend on each other. NaN is a
    test that could not be done: it counts among the tests, so that a verdict is not
    the easier for it, and stays NaN.
    """
    p = np.asarray(p, dtype=float)
    order = np.argsort(p)  # NaN last
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted
