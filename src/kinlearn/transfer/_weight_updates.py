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
weights are normalised together. Errors of numbers lie between right and wrong, and
are exponents of the factors. `Update` has what the methods differ in.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

__all__ = [
    "CHANCE",
    "CORRECTIONS",
    "TINY",
    "RoundErrors",
    "Update",
    "balanced_correction",
    "drained_correction",
    "dynamic_correction",
    "find_correction",
    "fixed_correction",
    "is_wrong",
    "learner_vote",
    "rare_correction",
    "relative_residual",
    "source_correction",
    "source_factor",
    "source_shrink",
    "target_factor",
    "wrong_weight",
]

TINY = 1e-300  # the least weight of a row: 0 has no logarithm
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
        Wrong fraction of the target's weight.
    source : float array of shape (n_classes,)
        Weight of the wrong source rows of each label, as a fraction of the weight
        of ALL source rows.
    within : float array of shape (n_classes,)
        The same as a fraction of the weight of the label's own source rows; 0 for a
        label without any.
    beta_source : float
        Factor of a wrong source row.
    fraction : float array of shape (n_classes,), default=None
        Fraction of each label in the weight of all source rows. None is unknown; then
        all labels are taken to have rows.
    target_fraction : float array of shape (n_classes,), default=None
        Fraction of each label in the weight that the target has to begin with. None
        is unknown.
    """

    target: float
    source: np.ndarray
    within: np.ndarray
    beta_source: float
    fraction: np.ndarray | None = None
    target_fraction: np.ndarray | None = None


def weighted_mean(weight: np.ndarray, error: np.ndarray) -> float:
    """Mean error by weights that sum to one."""
    return float((weight * error).sum())


def wrong_weight(weight: np.ndarray, wrong: np.ndarray) -> float:
    """The same of rows that are right or wrong; it rounds otherwise."""
    return float(weight[wrong].sum())


@dataclass(frozen=True)
class Update:
    """How weights follow from predictions: what the methods differ in.

    Attributes
    ----------
    row_errors : callable
        From predictions, truth and which rows are the target's to errors from 0 to 1.
    correct : callable, default=None
        From `RoundErrors` to a factor for each label of the source; None is 1.
    ends : bool, default=True
        Whether boosting ends at a target error of 0 or of 1/2, as AdaBoost does.
        Otherwise the target begins anew there, and in the second case the source
        fades; without a source boosting ends all the same.
    moves_source : bool, default=True
        Whether the source's weights change.
    mean_error : callable, default=weighted_mean
        From weights that sum to one and errors to their mean.
    balance : bool, default=False
        Whether each class of the target, and each of the source, has equal weight
        when a round begins.
    """

    row_errors: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]
    correct: Callable[[RoundErrors], np.ndarray] | None = None
    ends: bool = True
    moves_source: bool = True
    mean_error: Callable[[np.ndarray, np.ndarray], float] = weighted_mean
    balance: bool = False


def is_wrong(predicted: np.ndarray, y: np.ndarray, _: np.ndarray) -> np.ndarray:
    """Errors of classes."""
    return predicted != y


def relative_residual(
    predicted: np.ndarray,
    y: np.ndarray,
    is_target: np.ndarray,
    of_target: bool = False,
) -> np.ndarray:
    """Errors of numbers: over the largest of all rows, or of the target's."""
    residual = np.abs(predicted - y)
    largest = (residual[is_target] if of_target else residual).max()
    return residual / largest if largest > 0 else np.zeros(len(residual))


def source_factor(n_source: float, n_rounds: int) -> float:
    """Factor of a wrong source row, 1 / (1 + sqrt(2 ln n / N)), in N rounds.

    n is the number of source rows, or their weight, and counted as 2 at least.

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

    Less than half of one of n rows (or of their weight) cannot be distinguished from no
    error at all. Without the limit, a learner that happens to predict a dozen target
    rows without a fault would outvote all others together. An error of 1/2 (`CHANCE`)
    or more has no vote.

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
    """Dynamic-TrAdaBoost: a right source row keeps its fraction of all weight."""
    return np.full(len(errors.source), _target_growth(errors.target))


def source_correction(errors: RoundErrors) -> np.ndarray:
    """The printed box of Dynamic-TrAdaBoost, 2 (1 - error on the source)."""
    least = max(2.0 * (1.0 - errors.source.sum()), _LEAST_CORRECTION)
    return np.full(len(errors.source), least)


def drained_correction(errors: RoundErrors) -> np.ndarray:
    """Rare-Transfer as printed: the label with more wrong weight falls faster.

    No factor is above 1, so that the source as a whole falls faster than without.
    """
    return np.maximum(1.0 - errors.source, _LEAST_CORRECTION)


def rare_correction(errors: RoundErrors) -> np.ndarray:
    """The same, but that the target's rarest label keeps its fraction in the source.

    No other label gains.
    """
    kept = balanced_correction(errors)  # of each label
    has_rows = np.ones(len(kept), dtype=bool)
    if errors.fraction is not None:
        has_rows = errors.fraction > 0
    rarity = errors.source if errors.target_fraction is None else errors.target_fraction
    rare = int(np.argmin(np.where(has_rows, rarity, np.inf)))
    printed = drained_correction(errors)
    return np.minimum(kept, printed * (kept[rare] / printed[rare]))


def balanced_correction(errors: RoundErrors) -> np.ndarray:
    """Each label of the source keeps its fraction of all weight."""
    kept = 1.0 - errors.within * (1.0 - errors.beta_source)
    return _target_growth(errors.target) / kept


def _checked(
    correction: Callable[[RoundErrors], Any], errors: RoundErrors
) -> np.ndarray:
    """What a user's rule returns, if it can be a factor for each label."""
    found = np.asarray(correction(errors), dtype=np.float64)
    n_classes = len(errors.source)
    if found.shape not in ((), (n_classes,)) or not (
        np.isfinite(found).all() and (found > 0).all()
    ):
        raise ValueError(
            "correction, a callable, must return a positive number, or one for each of "
            f"{n_classes} classes; it returned {found!r}."
        )
    return np.broadcast_to(found, (n_classes,))


_BY_NAME: dict[str | None, Callable[[RoundErrors], np.ndarray]] = {
    None: fixed_correction,
    "dynamic": dynamic_correction,
    "dynamic_printed": source_correction,
    "rare": rare_correction,
    "rare_printed": drained_correction,
    "balanced": balanced_correction,
}


CORRECTIONS = {name for name in _BY_NAME if name is not None}


def find_correction(
    correction: Any,
) -> Callable[[RoundErrors], np.ndarray]:
    """The rule, from `RoundErrors` to a factor for each label, of a parameter's value.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.transfer._weight_updates import RoundErrors, find_correction
    >>> errors = RoundErrors(0.1, np.array([0.2, 0.1]), np.array([0.25, 0.5]), 0.5)
    >>> find_correction("dynamic")(errors)
    array([1.8, 1.8])
    >>> find_correction("rare_printed")(errors)
    array([0.8, 0.9])
    """
    if callable(correction):
        return partial(_checked, correction)
    if correction is None or isinstance(correction, str):
        return _BY_NAME[correction]
    return partial(fixed_correction, cost=correction)


def source_shrink(
    start: np.ndarray, error: np.ndarray, is_target: np.ndarray, fraction: float
) -> np.ndarray:
    """Weights of the next stage: the source loses until the target has its fraction.

    They sum to one: those of the source times beta to the power of their error. Where
    no beta reaches the fraction (rows without an error keep their weight), the source
    as a whole is scaled down to it.
    """
    source, target = start[~is_target], start[is_target].sum()
    wanted = target * (1.0 - fraction) / fraction  # weight that the source may keep

    def excess(log_beta: float) -> float:
        return (source * np.exp(error[~is_target] * log_beta)).sum() - wanted

    kept = source
    if excess(0.0) > 0:
        low = -700.0
        if excess(low) < 0:
            kept = source * np.exp(error[~is_target] * brentq(excess, low, 0.0))
        else:
            kept = source * (wanted / source.sum())
    out = np.array(start)
    out[~is_target] = kept
    return np.maximum(out / out.sum(), TINY)
