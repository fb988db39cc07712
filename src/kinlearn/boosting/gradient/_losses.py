"""Losses: where scores begin, gradients, and predictions of scores.

A loss knows the targets and weights of the rows. Scores have a column for each output:
one, or one for each class. Targets of losses without a link are scaled by a power of
two, so that no square of them overflows; predictions are scaled back.
"""

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from kinlearn._kernels.boosting.gradient._gradients import (
    Loss,
    fill_gradients,
    fill_softmax_gradients,
)
from kinlearn.boosting.gradient._exact import as_number, exact_sum, ratio

__all__ = [
    "REGRESSION",
    "GammaLoss",
    "LogisticLoss",
    "MultinomialLoss",
    "NumberLoss",
    "PoissonLoss",
    "QuantileLoss",
    "SquaredLoss",
    "one_score",
    "probabilities",
]

_SURE = 1e-10  # no probability is nearer to 0 or 1 at the start
_MOST = 1e100  # of counts and costs
_FAR = np.log(_MOST)  # of offsets that are logarithms
_LARGEST = np.finfo(float).max
_MOST_SCORE = 700.0  # whose exponential is a number


class _OneScore:
    """A loss of one score for each row."""

    code: ClassVar[Any]
    is_curved: ClassVar[bool] = True  # Newton steps must be repeated, and not too long
    by_quantile: ClassVar[bool] = False  # whether values are quantiles of residuals
    has_start_of_offset: ClassVar[bool] = True  # whether `start_sums` knows offsets
    n_outputs = 1
    quantile = 0.5
    unit = 1.0  # of what `value` returns

    def __init__(self, y: np.ndarray, weight: np.ndarray) -> None:
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.weight = np.asarray(weight, dtype=np.float64)

    def part(self, some: slice) -> Self:
        """The loss of some of the rows."""
        out = copy(self)
        out.y, out.weight = self.y[some], self.weight[some]
        return out

    def limited(self, step: np.ndarray) -> np.ndarray:
        """Newton steps as values of leaves, where long ones go too far."""
        return step

    def gradients(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature, of shape (n_outputs, n_samples)."""
        g, h = np.empty((2, 1, len(self.y)))
        self.fill_gradients(scores, slice(0, len(self.y)), g, h)
        return g, h

    def fill_gradients(
        self, scores: np.ndarray, some: slice, g: np.ndarray, h: np.ndarray
    ) -> None:
        """The same for some rows, into arrays for all."""
        score = np.ascontiguousarray(scores[some, 0])
        fill_gradients(
            self.code,
            self.quantile,
            self.y[some],
            score,
            self.weight[some],
            g[0, some],
            h[0, some],
        )

    def start_sums(self, offset: np.ndarray | None = None) -> np.ndarray:
        """Exact sums over rows, of which `start_of` finds the best constant."""
        counts = self.weight > 0
        offset = None if offset is None else offset[counts]
        terms = self._start_terms(self.y[counts], offset)
        return _sums(self.weight[counts], *terms)

    def _start_terms(
        self, y: np.ndarray, offset: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Of each row, what is above and below in a mean."""
        return (y if offset is None else y - offset), np.ones_like(y)

    def start_of(self, sums: np.ndarray) -> np.ndarray:
        """The best constant score, of shape (n_outputs,)."""
        return np.array([ratio(*sums)])

    def value_sums(self, scores: np.ndarray) -> np.ndarray:
        """Exact sums over rows, of which `value_of` is the mean loss."""
        counts = self.weight > 0
        with np.errstate(over="ignore"):
            losses = self._losses(self.y[counts], scores[counts, 0])
        return _sums(self.weight[counts], losses, np.ones_like(losses))

    def _losses(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    @staticmethod
    def value_of(sums: np.ndarray) -> float:
        """Mean loss, of the sums over all rows."""
        return ratio(*sums)

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        return self.value_of(self.value_sums(scores))


def _sums(weight: np.ndarray, *terms: np.ndarray) -> np.ndarray:
    """Weighted sums, exact."""
    with np.errstate(over="ignore"):
        return np.array([exact_sum(weight * term) for term in terms], dtype=object)


class LogisticLoss(_OneScore):
    r""":math:`\ln(1 + e^F) - y F`, for classes 0 and 1."""

    code = Loss.LOGISTIC
    has_start_of_offset = False

    def start_of(self, sums: np.ndarray) -> np.ndarray:
        """The best constant score, of shape (n_outputs,)."""
        rate = np.clip(ratio(*sums), _SURE, 1 - _SURE)
        return np.array([np.log(rate / (1 - rate))])

    def _losses(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        return np.logaddexp(0, score) - y * score


class MultinomialLoss:
    r""":math:`\ln \sum_k e^{F_k} - F_y`, over the classes that the row's task has."""

    is_curved = True
    by_quantile = False
    has_start_of_offset = False
    unit = 1.0

    def limited(self, step: np.ndarray) -> np.ndarray:
        """Newton steps as they are."""
        return step

    def __init__(
        self, y: np.ndarray, weight: np.ndarray, task: np.ndarray, allowed: np.ndarray
    ) -> None:
        self.y = np.ascontiguousarray(y, dtype=np.int32)
        self.weight = np.asarray(weight, dtype=np.float64)
        self.task = task
        self.allowed = np.ascontiguousarray(allowed, dtype=np.uint8)
        self.n_outputs = allowed.shape[1]

    def part(self, some: slice) -> Self:
        """The loss of some of the rows."""
        out = copy(self)
        out.y, out.weight, out.task = self.y[some], self.weight[some], self.task[some]
        return out

    def gradients(self, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and curvature, of shape (n_outputs, n_samples)."""
        g, h = np.empty((2, self.n_outputs, len(self.y)))
        self.fill_gradients(scores, slice(0, len(self.y)), g, h)
        return g, h

    def fill_gradients(
        self, scores: np.ndarray, some: slice, g: np.ndarray, h: np.ndarray
    ) -> None:
        """The same for some rows, into arrays for all."""
        fill_softmax_gradients(
            self.y[some],
            np.ascontiguousarray(scores[some]),
            self.allowed,
            self.task[some],
            self.weight[some],
            g[:, some],
            h[:, some],
        )

    def start_sums(self, offset: np.ndarray | None = None) -> np.ndarray:
        """Exact weights of the classes."""
        sums = [exact_sum(self.weight[self.y == k]) for k in range(self.n_outputs)]
        return np.array(sums, dtype=object)

    @staticmethod
    def start_of(sums: np.ndarray) -> np.ndarray:
        """Logarithms of how frequent the classes are."""
        fractions = np.array([ratio(one, sum(sums)) for one in sums])
        return np.log(np.maximum(fractions, _SURE))

    def value_sums(self, scores: np.ndarray) -> np.ndarray:
        """Exact sums over rows, of which `value_of` is the mean loss."""
        there = np.where(self.allowed[self.task] > 0, scores, -np.inf)
        top = there.max(axis=1, keepdims=True)
        total = np.log(np.exp(there - top).sum(axis=1)) + top[:, 0]
        losses = total - scores[np.arange(len(self.y)), self.y]
        return _sums(self.weight, losses, np.ones_like(losses))

    @staticmethod
    def value_of(sums: np.ndarray) -> float:
        """Mean loss, of the sums over all rows."""
        return ratio(*sums)

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        return self.value_of(self.value_sums(scores))


class NumberLoss(_OneScore):
    """A loss of regression."""

    has_link: ClassVar[bool] = False  # whether predictions are exp of scores
    degree: ClassVar[int] = 1  # of the loss in the scale of the targets

    def __init__(
        self,
        y: np.ndarray,
        weight: np.ndarray,
        *,
        quantile: float = 0.5,
        scale: float = 1.0,
    ) -> None:
        super().__init__(y / scale, weight)
        self.scale = scale
        largest = _LARGEST ** (1 / self.degree)
        self.unit = 1.0 if self.has_link else min(scale, largest) ** self.degree
        self.quantile = quantile

    @classmethod
    def find_scale(cls, y: np.ndarray) -> float:
        """What targets are divided by."""
        return 1.0 if cls.has_link else _power_of_two(np.abs(y).max())

    @classmethod
    def check(cls, y: np.ndarray, name: str) -> None:
        """Refuse targets that the loss has no value for."""

    @classmethod
    def check_later(cls, y: np.ndarray, name: str, scale: float) -> None:
        """Refuse targets that the loss has no value for on the scale of fit."""
        far = np.flatnonzero(np.abs(y) / scale > _MOST)
        if len(far):
            raise ValueError(
                f"{name} cannot add targets of another magnitude than fit saw: y is "
                f"{y[far[0]]:g} in row {far[0]}, and was at most {scale:g}. Fit anew "
                "with all rows, or drop these."
            )
        cls.check(y, name)

    @classmethod
    def predictions(cls, score: np.ndarray, scale: float) -> np.ndarray:
        """Numbers of scores."""
        return _exp(score) if cls.has_link else score * scale

    @classmethod
    def check_offset(cls, offset: np.ndarray, scale: float, name: str) -> None:
        """Refuse offsets so large that no number is left beside them."""
        most = _FAR if cls.has_link else scale * _MOST
        far = np.flatnonzero(~(np.abs(offset) <= most))
        if len(far) == 0:
            return
        what = "; it must be the logarithm of an exposure" if cls.has_link else ""
        raise ValueError(
            f"The offset is {offset[far[0]]:g} in row {far[0]} ({len(far)} of "
            f"{len(offset)} rows have one like that), too large for {name}: at most "
            f"{most:.3g}{what}."
        )


class SquaredLoss(NumberLoss):
    r""":math:`(y - F)^2 / 2`."""

    code = Loss.SQUARED
    is_curved = False
    degree = 2

    def _losses(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        return (y - score) ** 2 / 2


class QuantileLoss(NumberLoss):
    r""":math:`(q - [y < F]) (y - F)`; half the absolute error for the median."""

    code = Loss.QUANTILE
    by_quantile = True

    def _losses(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        left = y - score
        return np.where(left < 0, (self.quantile - 1) * left, self.quantile * left)


class PoissonLoss(NumberLoss):
    r""":math:`e^F - y F`, for counts."""

    code = Loss.POISSON
    has_link = True

    @classmethod
    def check(cls, y: np.ndarray, name: str) -> None:
        """Refuse targets below zero."""
        cls.check_later(y, name, 1.0)
        if not y.any():
            raise ValueError(
                f"{name} with loss='poisson' needs a target above 0; all of y is 0."
            )

    @classmethod
    def check_later(cls, y: np.ndarray, name: str, scale: float) -> None:
        """Refuse targets below zero; all may be zero."""
        _check_range(y, y >= 0, name, "at least 0")

    def limited(self, step: np.ndarray) -> np.ndarray:
        """Steps upwards end where the sum of the counts is met."""
        return np.where(step > 0, np.log1p(np.maximum(step, 0)), step)

    def _start_terms(
        self, y: np.ndarray, offset: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        return y, np.ones_like(y) if offset is None else np.exp(offset)

    def start_of(self, sums: np.ndarray) -> np.ndarray:
        """Logarithm of the rate."""
        counts, exposure = map(as_number, sums)
        return np.array([np.log(max(counts, 1e-300) / exposure)])

    def _losses(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        return _exp(score) - y * score


class GammaLoss(NumberLoss):
    r""":math:`F + y e^{-F}`, for costs."""

    code = Loss.GAMMA
    has_link = True

    @classmethod
    def check(cls, y: np.ndarray, name: str) -> None:
        """Refuse targets that are not positive."""
        _check_range(y, y >= 1 / _MOST, name, f"above 0, of {1 / _MOST:g} and more,")

    def limited(self, step: np.ndarray) -> np.ndarray:
        """Steps upwards end where the mean of the costs is met."""
        return np.where(step > 0, np.log1p(np.maximum(step, 0)), step)

    def _start_terms(
        self, y: np.ndarray, offset: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        return y if offset is None else y * np.exp(-offset), np.ones_like(y)

    def start_of(self, sums: np.ndarray) -> np.ndarray:
        """Logarithm of the mean."""
        return np.log([ratio(*sums)])

    def _losses(self, y: np.ndarray, score: np.ndarray) -> np.ndarray:
        return score + y * _exp(-score)


REGRESSION: dict[str, type[NumberLoss]] = {
    "squared_error": SquaredLoss,
    "absolute_error": QuantileLoss,
    "quantile": QuantileLoss,
    "poisson": PoissonLoss,
    "gamma": GammaLoss,
}


def probabilities(scores: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Of classes, from one score for two of them, or one for each.

    `allowed` says which of two or more classes a row can have.
    """
    if allowed.shape[1] == 2:
        proba = np.column_stack([expit(-scores[:, 0]), expit(scores[:, 0])])
    else:
        top = np.where(allowed, scores, -np.inf).max(axis=1, keepdims=True)
        proba = np.exp(np.where(allowed, scores - top, 0.0))
    # far from all others, a class still is possible
    proba = np.where(allowed, np.maximum(proba, np.finfo(float).tiny), 0.0)
    return proba / proba.sum(axis=1, keepdims=True)


def one_score(
    kind: type[_OneScore],
    y: np.ndarray,
    weight: np.ndarray,
    task: np.ndarray,
    **options: Any,
) -> _OneScore:
    """A loss that does not depend on tasks, made as those that do."""
    return kind(y, weight, **options)


def _check_range(y: np.ndarray, right: np.ndarray, name: str, wanted: str) -> None:
    loss = "poisson" if "least" in wanted else "gamma"
    right = right & (y <= _MOST)
    if right.all():
        return
    row = int(np.argmin(right))
    raise ValueError(
        f"{name} with loss={loss!r} needs targets {wanted} and not above {_MOST:g}; "
        f"{np.count_nonzero(~right)} of {len(y)} are not, the first is {y[row]:g} in "
        f"row {row}. Drop these rows, or take another loss."
    )


def _exp(score: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(score, _MOST_SCORE))


def _power_of_two(largest: float) -> float:
    return (
        2.0 ** np.clip(np.ceil(np.log2(largest)), -1000, 1000) if largest > 0 else 1.0
    )
