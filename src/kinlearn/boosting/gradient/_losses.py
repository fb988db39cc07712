"""Losses: where scores begin, gradients, and predictions of scores.

A loss knows the targets and weights of the rows. Scores have a column for each output:
one, or one for each class. Targets of losses without a link are scaled by a power of
two, so that no square of them overflows; predictions are scaled back.
"""

from typing import Any, ClassVar

import numpy as np

from kinlearn._kernels.boosting.gradient._gradients import (
    Loss,
    fill_gradients,
    fill_softmax_gradients,
)

__all__ = [
    "REGRESSION",
    "GammaLoss",
    "LogisticLoss",
    "MultinomialLoss",
    "NumberLoss",
    "PoissonLoss",
    "QuantileLoss",
    "SquaredLoss",
]

_SURE = 1e-10  # no probability is nearer to 0 or 1 at the start
_MOST = 1e100  # of counts and costs


class _OneScore:
    """A loss of one score for each row."""

    code: ClassVar[Any]
    is_curved: ClassVar[bool] = True  # Newton steps must be repeated, and not too long
    by_quantile: ClassVar[bool] = False  # whether values are quantiles of residuals
    n_outputs = 1
    quantile = 0.5
    unit = 1.0  # of what `value` returns

    def __init__(self, y: np.ndarray, weight: np.ndarray) -> None:
        self.y = np.ascontiguousarray(y, dtype=np.float64)
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)

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


class LogisticLoss(_OneScore):
    r""":math:`\ln(1 + e^F) - y F`, for classes 0 and 1."""

    code = Loss.LOGISTIC

    def start(self, offset: np.ndarray | None = None) -> np.ndarray:
        """The best constant score, of shape (n_outputs,)."""
        rate = np.average(self.y, weights=self.weight)
        rate = np.clip(rate, _SURE, 1 - _SURE)
        return np.array([np.log(rate / (1 - rate))])

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        score = scores[:, 0]
        losses = np.logaddexp(0, score) - self.y * score
        return float(np.average(losses, weights=self.weight))


class MultinomialLoss:
    r""":math:`\ln \sum_k e^{F_k} - F_y`, over the classes that the row's task has."""

    is_curved = True
    by_quantile = False
    unit = 1.0

    def limited(self, step: np.ndarray) -> np.ndarray:
        """Newton steps as they are."""
        return step

    def __init__(
        self, y: np.ndarray, weight: np.ndarray, task: np.ndarray, allowed: np.ndarray
    ) -> None:
        self.y = np.ascontiguousarray(y, dtype=np.int32)
        self.weight = np.ascontiguousarray(weight, dtype=np.float64)
        self.task = task
        self.allowed = np.ascontiguousarray(allowed, dtype=np.uint8)
        self.n_outputs = allowed.shape[1]

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

    def start(self, offset: np.ndarray | None = None) -> np.ndarray:
        """Logarithms of how frequent the classes are."""
        total = np.bincount(self.y, self.weight, minlength=self.n_outputs)
        return np.log(np.maximum(total / total.sum(), _SURE))

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        there = np.where(self.allowed[self.task] > 0, scores, -np.inf)
        top = there.max(axis=1, keepdims=True)
        total = np.log(np.exp(there - top).sum(axis=1)) + top[:, 0]
        losses = total - scores[np.arange(len(self.y)), self.y]
        return float(np.average(losses, weights=self.weight))


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
        self.unit = 1.0 if self.has_link else scale**self.degree
        self.quantile = quantile

    @classmethod
    def find_scale(cls, y: np.ndarray) -> float:
        """What targets are divided by."""
        return 1.0 if cls.has_link else _power_of_two(np.abs(y).max())

    @classmethod
    def check(cls, y: np.ndarray, name: str) -> None:
        """Refuse targets that the loss has no value for."""

    @classmethod
    def predictions(cls, score: np.ndarray, scale: float) -> np.ndarray:
        """Numbers of scores."""
        return np.exp(score) if cls.has_link else score * scale


class SquaredLoss(NumberLoss):
    r""":math:`(y - F)^2 / 2`."""

    code = Loss.SQUARED
    is_curved = False
    degree = 2

    def start(self, offset: np.ndarray | None = None) -> np.ndarray:
        """The mean."""
        y = self.y if offset is None else self.y - offset
        return np.array([np.average(y, weights=self.weight)])

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        return float(np.average((self.y - scores[:, 0]) ** 2, weights=self.weight) / 2)


class QuantileLoss(NumberLoss):
    r""":math:`(q - [y < F]) (y - F)`; half the absolute error for the median."""

    code = Loss.QUANTILE
    by_quantile = True

    def start(self, offset: np.ndarray | None = None) -> np.ndarray:
        """The quantile."""
        y = self.y if offset is None else self.y - offset
        return np.array([weighted_quantile(y, self.weight, self.quantile)])

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        left = self.y - scores[:, 0]
        losses = np.where(left < 0, (self.quantile - 1) * left, self.quantile * left)
        return float(np.average(losses, weights=self.weight))


class PoissonLoss(NumberLoss):
    r""":math:`e^F - y F`, for counts."""

    code = Loss.POISSON
    has_link = True

    @classmethod
    def check(cls, y: np.ndarray, name: str) -> None:
        """Refuse targets below zero."""
        _check_range(y, y >= 0, name, "at least 0")
        if not y.any():
            raise ValueError(
                f"{name} with loss='poisson' needs a target above 0; all of y is 0."
            )

    def limited(self, step: np.ndarray) -> np.ndarray:
        """Steps upwards end where the sum of the counts is met."""
        return np.where(step > 0, np.log1p(np.maximum(step, 0)), step)

    def start(self, offset: np.ndarray | None = None) -> np.ndarray:
        """Logarithm of the rate."""
        exposure = self.weight.sum() if offset is None else self.weight @ np.exp(offset)
        return np.array([np.log(max(self.weight @ self.y, 1e-300) / exposure)])

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        losses = np.exp(scores[:, 0]) - self.y * scores[:, 0]
        return float(np.average(losses, weights=self.weight))


class GammaLoss(NumberLoss):
    r""":math:`F + y e^{-F}`, for costs."""

    code = Loss.GAMMA
    has_link = True

    @classmethod
    def check(cls, y: np.ndarray, name: str) -> None:
        """Refuse targets that are not positive."""
        _check_range(y, y > 0, name, "above 0")

    def limited(self, step: np.ndarray) -> np.ndarray:
        """Steps downwards end where the mean of the costs is met."""
        return np.where(step < 0, -np.log1p(np.maximum(-step, 0)), step)

    def start(self, offset: np.ndarray | None = None) -> np.ndarray:
        """Logarithm of the mean."""
        y = self.y if offset is None else self.y * np.exp(-offset)
        return np.array([np.log(np.average(y, weights=self.weight))])

    def value(self, scores: np.ndarray) -> float:
        """Mean loss."""
        losses = scores[:, 0] + self.y * np.exp(-scores[:, 0])
        return float(np.average(losses, weights=self.weight))


REGRESSION: dict[str, type[NumberLoss]] = {
    "squared_error": SquaredLoss,
    "absolute_error": QuantileLoss,
    "quantile": QuantileLoss,
    "poisson": PoissonLoss,
    "gamma": GammaLoss,
}


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


def _power_of_two(largest: float) -> float:
    return (
        2.0 ** np.clip(np.ceil(np.log2(largest)), -1000, 1000) if largest > 0 else 1.0
    )


def weighted_quantile(values: np.ndarray, weight: np.ndarray, q: float) -> float:
    """The mean of the least and the greatest quantile of values with weights."""
    group = np.zeros(len(values), dtype=np.intp)
    return float(group_quantiles(values, weight, group, 1, q)[0])


def group_quantiles(
    values: np.ndarray, weight: np.ndarray, group: np.ndarray, n_groups: int, q: float
) -> np.ndarray:
    """Quantiles of the values of each group; 0 of groups without weight.

    Where the weight below a value is exactly `q` of all, any number up to the next
    value is a quantile, and the middle is taken.
    """
    out = np.zeros(n_groups)
    there = weight > 0
    values, weight, group = values[there], weight[there], group[there]
    if len(values) == 0:
        return out
    order = np.lexsort((values, group))
    values, weight, group = values[order], weight[order], group[order]
    below = np.cumsum(weight)
    sizes = np.bincount(group, minlength=n_groups)
    last = np.cumsum(sizes) - 1
    first = last - sizes + 1
    has = np.flatnonzero(sizes)
    base = below[first[has]] - weight[first[has]]
    wanted = q * (below[last[has]] - base)
    slack = 1e-12 * below[-1]
    low = np.searchsorted(below, base + wanted - slack)
    high = np.searchsorted(below, base + wanted + slack)
    low = np.clip(low, first[has], last[has])
    high = np.clip(high, first[has], last[has])
    out[has] = values[low] / 2 + values[high] / 2
    return out
