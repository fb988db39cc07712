"""Intervals for scores on overlapping training sets; when mean ranks differ."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit
from scipy.stats import studentized_range

__all__ = ["Interval", "corrected_interval", "nemenyi_difference"]


@dataclass(frozen=True)
class Interval:
    """A mean over splits and its limits; NaN limits if one split is all."""

    mean: float
    low: float
    high: float


def corrected_interval(values, test_ratio, *, confidence=0.95):
    """Corrected resampled t interval (Nadeau and Bengio, 2003).

    Scores on random splits of one data set are not independent, because the
    training sets overlap; their variance over `J` splits, divided by `J`, is
    far too small. The correction puts ``1 / J + n_test / n_train`` in place
    of ``1 / J``.

    Parameters
    ----------
    values : array of shape (n_splits,)
        Scores, or paired differences of scores.
    test_ratio : float
        Test rows over training rows.
    confidence : float, default=0.95
        Of the two-sided interval.

    Returns
    -------
    Interval
        Around the mean of `values`.
    """
    values = np.asarray(values, dtype=float)
    n = len(values)
    mean = float(values.mean())
    if n < 2:
        return Interval(mean, math.nan, math.nan)
    scale = math.sqrt((1 / n + test_ratio) * values.var(ddof=1))
    half = float(stdtrit(n - 1, (1 + confidence) / 2)) * scale
    return Interval(mean, mean - half, mean + half)


def nemenyi_difference(n_problems, n_contenders, *, confidence=0.95):
    """From which on two mean ranks differ significantly (Nemenyi 1963, Demsar 2006).

    Parameters
    ----------
    n_problems : int
        Over which the ranks are means.
    n_contenders : int
        That were ranked.
    confidence : float, default=0.95
        Of the test, for all pairs together.

    Returns
    -------
    float
        The critical difference.
    """
    k = n_contenders
    critical = studentized_range.ppf(confidence, k, np.inf) / math.sqrt(2)
    return float(critical * math.sqrt(k * (k + 1) / (6 * n_problems)))
