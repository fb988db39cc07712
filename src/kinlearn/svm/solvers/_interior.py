"""One primal-dual interior-point method for the duals of all machines.

It minimises 1/2 x'Px + p'x with Ax = t and 0 <= x, or 0 <= x <= upper, by Mehrotra's
predictor and corrector and Gondzio's further corrections: a few dozen steps whatever
the conditioning is, where moves of a few variables take ever more. What differs
between the duals is P, and how a Newton system with it is solved: see `NewtonSystem`.
"""

from typing import Any, Protocol

import numpy as np
from scipy.linalg import LinAlgError

__all__ = ["MAX_STEPS", "InteriorPoint", "NewtonSystem"]

# Convergence takes 10 to 40 steps; more are taken only where rounding stops it.
MAX_STEPS = 100
# Of the way to the boundary: all the way would leave a product of 0, and no centre.
_TO_BOUNDARY = 0.995
# Where steps that are shorter get, they get nowhere in MAX_STEPS.
_SHORTEST = 1e-10
# Gondzio's corrections (1996): they aim further than the step reaches, at products
# within a factor of the centre, and must make the step longer to be worth a solution.
_AIM = 1.5, 0.3  # times the reach, and more
_WITHIN = 0.1, 10.0
_LONGER = 0.01


class NewtonSystem(Protocol):
    """P and the constraints of a dual, with the multipliers of Ax = t.

    Attributes
    ----------
    n_corrections : int
        Gondzio's corrections at the most: some where factors are dear.
    """

    n_corrections: int

    def slope(self, x: np.ndarray) -> np.ndarray:
        """Px + p less A' times the multipliers, in a new array."""

    def factor(self, x: np.ndarray, weight: np.ndarray, mu: float) -> None:
        """Make ready to solve with P + diag(weight); may raise a LinAlgError."""

    def direction(self, right: np.ndarray, final: bool) -> tuple[np.ndarray, Any]:
        """Solve (P + diag(weight)) dx - A'dm = right, A(x + dx) = t.

        Returns dx, and what `advance` needs; the predictor is not `final`.
        """

    def advance(self, length: float, change: Any) -> None:
        """Go some of the way of a direction; x does as well."""


class InteriorPoint:
    """The iterate: variables between their bounds, and the prices of the bounds.

    Parameters
    ----------
    system : NewtonSystem
        The dual, at x.
    x : float64 array
        Where to start, between the bounds.
    price : float64 array
        Prices to start with, above 0.
    upper : float64 array, default=None
        Upper bounds; None is none.

    Attributes
    ----------
    prices : float64 array of shape (1 or 2, ...)
        Prices of the lower bounds and, where there are such, of the upper ones.
    """

    def __init__(
        self,
        system: NewtonSystem,
        x: np.ndarray,
        price: np.ndarray,
        upper: np.ndarray | None = None,
    ) -> None:
        self.system = system
        self.x = x
        self.upper = upper
        # a variable that grows goes away from its lower bound, towards the upper one
        self.signs = np.array([1.0] if upper is None else [1.0, -1.0])
        self.prices = np.stack([price] * len(self.signs))

    @property
    def distances(self) -> np.ndarray:
        """How far x is from each of its bounds, in the shape of `prices`."""
        return np.stack(
            [self.x] if self.upper is None else [self.x, self.upper - self.x]
        )

    @property
    def mu(self) -> float:
        """The mean product of a distance and its price; 0 at the optimum."""
        return _mean(self.distances * self.prices)

    @property
    def residual(self) -> np.ndarray:
        """The slope that no price makes up for; 0 at the optimum."""
        out = self.system.slope(self.x)
        for sign, price in zip(self.signs, self.prices, strict=True):
            out -= sign * price
        return out

    def step(self) -> bool:
        """One predictor-corrector step; False where it leads nowhere."""
        distances = self.distances
        products = distances * self.prices
        mu = _mean(products)
        if mu <= 0 or distances.min() <= 0:
            return False  # as close as numbers go
        try:
            self.system.factor(self.x, (self.prices / distances).sum(axis=0), mu)
            step = self._direction(distances, products, mu)
        except LinAlgError:  # weights that differ too much for numbers
            return False
        length = _TO_BOUNDARY * step.reach
        if not np.isfinite(step.by_x).all() or length < _SHORTEST:
            return False
        self.x = self.x + length * step.by_x
        self.prices = self.prices + length * step.by_prices
        self.system.advance(length, step.change)
        return True

    def _direction(
        self, distances: np.ndarray, products: np.ndarray, mu: float
    ) -> "_Step":
        """Predictor, corrector, and corrections that make the step longer."""
        step = _Step(self, distances, self.residual)
        step.solve(-products, final=False)
        centre = (_mean(step.products(step.reach)) / mu) ** 3 * mu
        second_order = step.by_distances * step.by_prices
        step.solve(centre - products - second_order, final=True)
        for _ in range(self.system.n_corrections):
            trial = step.corrected(centre)
            if trial.reach < step.reach + _LONGER:
                break
            step = trial
        return step


class _Step:
    """A direction from a point, and how far it stays within the bounds."""

    def __init__(
        self, point: InteriorPoint, distances: np.ndarray, residual: np.ndarray
    ) -> None:
        self.point = point
        self.distances = distances
        self.residual = residual

    def solve(self, targets: np.ndarray, final: bool) -> None:
        """Take the direction in which products change by `targets`, to first order."""
        self.targets = targets
        signs, right = self.point.signs, -self.residual
        for sign, ratio in zip(signs, targets / self.distances, strict=True):
            right += sign * ratio
        self.by_x, self.change = self.point.system.direction(right, final)
        self.by_distances = np.multiply.outer(signs, self.by_x)
        self.by_prices = self.point.prices * self.by_distances
        np.subtract(targets, self.by_prices, out=self.by_prices)
        self.by_prices /= self.distances
        self.reach = min(
            1.0,
            _longest_step(self.distances, self.by_distances),
            _longest_step(self.point.prices, self.by_prices),
        )

    def products(self, length: float) -> np.ndarray:
        """Distances times prices, some of the way."""
        return (self.distances + length * self.by_distances) * (
            self.point.prices + length * self.by_prices
        )

    def corrected(self, centre: float) -> "_Step":
        """A direction whose products end nearer to the centre."""
        product = self.products(min(1.0, _AIM[0] * self.reach + _AIM[1]))
        near = np.clip(product, _WITHIN[0] * centre, _WITHIN[1] * centre)
        # a product that is far above it is lowered by so much at a time
        towards = np.clip(near - product, -_WITHIN[1] * centre, None)
        out = _Step(self.point, self.distances, self.residual)
        out.solve(self.targets + towards, final=True)
        return out


def _mean(products: np.ndarray) -> float:
    return products.reshape(len(products), -1).sum(axis=1).sum() / products.size


def _longest_step(x: np.ndarray, by: np.ndarray) -> float:
    """The longest step along `by` that keeps x at 0 or above; it may be infinite."""
    return min(  # side by side: shorter arrays stay in the processor's cache
        -np.where(b < 0, a / np.minimum(b, -1e-300), -np.inf).max()
        for a, b in zip(x, by, strict=True)
    )
