r"""The rules by which rows of a source and of the target gain and lose weight.

Pure functions of what a round found. Symbols of the papers, here and in the
engine:

==================  ==========================================================
:math:`\epsilon`    target error: weight of wrong target rows over all target's
:math:`\beta_{src}` factor of a wrong source row, below 1; see `source_factor`
:math:`\beta_{tar}` factor of a wrong target row, (1 - error) / error, above 1
:math:`C`           correction: a further factor of source rows, by label
==================  ==========================================================

A target row is multiplied by :math:`\beta_{tar}` if it is wrong, a source row of
label l by :math:`C^l` and, if it is wrong, by :math:`\beta_{src}` too. Then all
weights are normalised together.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

__all__ = [
    "CHANCE",
    "RoundErrors",
    "balanced_correction",
    "dynamic_correction",
    "find_correction",
    "fixed_correction",
    "learner_vote",
    "rare_correction",
    "source_factor",
    "target_factor",
]

# Target errors from here on are no better than chance. After its round, a learner
# has an error of exactly 1/2 under the new weights; rounding must not make it pass.
CHANCE = 0.5 - 1e-6

# A learner without an error would have an infinite vote.
_LEAST_ERROR = 1e-10
# One label with all the source's weight, and all of it wrong, would be gone.
_LEAST_CORRECTION = 1e-6


@dataclass(frozen=True)
class RoundErrors:
    """What a round's learner got wrong.

    Attributes
    ----------
    target : float
        Wrong share of the target's weight.
    source : float array of shape (n_classes,)
        Weight of the wrong source rows of each label, as a share of the weight
        of ALL source rows.
    within : float array of shape (n_classes,)
        The same as a share of the weight of the label's own source rows; 0 for a
        label without any.
    beta_source : float
        Factor of a wrong source row.
    """

    target: float
    source: np.ndarray
    within: np.ndarray
    beta_source: float


def source_factor(n_source: float, n_rounds: int) -> float:
    """Factor of a wrong source row, 1 / (1 + sqrt(2 ln n / N)).

    Parameters
    ----------
    n_source : float
        Number of source rows, or their weight; counted as 2 at least.
    n_rounds : int
        Number of rounds.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from kinlearn.transfer._weight_updates import source_factor
    >>> round(source_factor(10_000, 20), 4)
    0.5103
    """
    return float(1.0 / (1.0 + np.sqrt(2.0 * np.log(max(n_source, 2.0)) / n_rounds)))


def target_factor(target_error: float) -> float:
    """Factor of a wrong target row, (1 - error) / error."""
    return (1.0 - target_error) / max(target_error, _LEAST_ERROR)


def learner_vote(target_error: float, n_target: float) -> float:
    """Vote of a learner: the logarithm of `target_factor`, with a limit.

    Less than half of one of n rows cannot be distinguished from no error at all.
    Without the limit, a learner that happens to predict a dozen target rows without
    a fault would outvote all others together.

    Parameters
    ----------
    target_error : float
        Wrong share of the target's weight.
    n_target : float
        Number of target rows, or their weight.

    Returns
    -------
    float
        Not negative; 0 for an error of 1/2 (`CHANCE`) or more.

    Examples
    --------
    >>> from kinlearn.transfer._weight_updates import learner_vote
    >>> [round(learner_vote(e, 20), 3) for e in (0.0, 0.1, 0.5)]
    [3.664, 2.197, 0.0]
    """
    if target_error >= CHANCE:
        return 0.0
    least = min(0.25, 0.5 / max(n_target, 1.0))
    return float(np.log(target_factor(max(target_error, least))))


def _target_growth(target_error: float) -> float:
    """Factor by which a round changes the target's weight as a whole.

    Right rows keep (1 - e), wrong rows go from e to 1 - e: together 2 (1 - e), but
    less where `target_factor` is at its limit. With no row wrong, nothing changes.
    """
    return (1.0 - target_error) + target_error * target_factor(target_error)


def fixed_correction(errors: RoundErrors, cost: float = 1.0) -> np.ndarray:
    """The same factor for all source rows; 1 is TrAdaBoost."""
    return np.full(len(errors.source), float(cost))


def dynamic_correction(errors: RoundErrors) -> np.ndarray:
    """Dynamic-TrAdaBoost: a right source row keeps its share of all weight."""
    return np.full(len(errors.source), _target_growth(errors.target))


def rare_correction(errors: RoundErrors) -> np.ndarray:
    """Rare-Transfer: the label with more wrong weight falls faster."""
    return np.maximum(1.0 - errors.source, _LEAST_CORRECTION)


def balanced_correction(errors: RoundErrors) -> np.ndarray:
    """Each label of the source keeps its share of all weight."""
    kept = 1.0 - errors.within * (1.0 - errors.beta_source)
    return _target_growth(errors.target) / kept


_BY_NAME: dict[str | None, Callable[[RoundErrors], np.ndarray]] = {
    None: fixed_correction,
    "dynamic": dynamic_correction,
    "rare": rare_correction,
    "balanced": balanced_correction,
}


def find_correction(
    correction: str | float | None,
) -> Callable[[RoundErrors], np.ndarray]:
    """The rule for a value of the estimators' parameter.

    Parameters
    ----------
    correction : None, float, "dynamic", "rare" or "balanced"
        The parameter's value.

    Returns
    -------
    callable
        From `RoundErrors` to a factor for each label.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.transfer._weight_updates import RoundErrors, find_correction
    >>> errors = RoundErrors(0.1, np.array([0.2, 0.1]), np.array([0.25, 0.5]), 0.5)
    >>> find_correction("dynamic")(errors)
    array([1.8, 1.8])
    >>> find_correction("rare")(errors)
    array([0.8, 0.9])
    """
    if correction is None or isinstance(correction, str):
        return _BY_NAME[correction]
    return partial(fixed_correction, cost=correction)
