r"""The profiled (restricted) likelihood of a Gaussian mixed model, and its maximum.

With the equations' matrix factored for some :math:`\theta`, the variance of the
residual and the coefficients have closed forms, so that minus twice the log likelihood
is a function of :math:`\theta` alone:

.. math::
    d(\theta) = \log |M_{uu}| + n \left(1 + \log \frac{2 \pi r^2}{n}\right),

with :math:`r^2` the penalised sum of squares. The restricted one adds
:math:`\log |M_{\beta\beta \cdot u}|` and has n - p in the place of n [1]_.

References
----------
.. [1] D. Bates, M. Maechler, B. Bolker, S. Walker. Fitting linear mixed-effects models
   using lme4. Journal of Statistical Software, 67(1), 2015.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.optimize import minimize

from kinlearn.linear.mixed._cross_products import CrossProducts
from kinlearn.linear.mixed._factor import Factor, Pattern
from kinlearn.linear.mixed._terms import Term, split_theta

__all__ = ["LARGEST", "Likelihood", "Optimum", "independent_columns", "maximise"]

_EXACT = 1e-14  # of the sum of squares: what is left of it is rounding
_DEPENDENT = 1e-10  # of a column's square: what others do not explain
LARGEST = 1e5  # standard deviation of effects, relative to the residual's
_NEAR = 1e-2  # the same, where it may be zero
_PROBES = (0.5, 0.05)
_MOST_STARTS = 10


def independent_columns(A: np.ndarray, n: float) -> np.ndarray:
    """Columns that no earlier ones explain, from their cross products.

    Parameters
    ----------
    A : float64 array of shape (p, p)
        Cross products of columns with mean square 1.
    n : float
        Number of rows.

    Returns
    -------
    intp array
        Columns, ascending.
    """
    tolerance = _DEPENDENT * n
    try:
        root = np.linalg.cholesky(A)
        if (np.diag(root) ** 2 > tolerance).all():
            return np.arange(len(A))
    except np.linalg.LinAlgError:
        pass
    left, kept = A.copy(), []
    for j in range(len(A)):
        if left[j, j] <= tolerance:
            continue
        kept.append(j)
        column = left[j:, j] / np.sqrt(left[j, j])
        left[j:, j:] -= np.outer(column, column)
    return np.array(kept, dtype=np.intp)


class Likelihood:
    """Minus twice the profiled log likelihood, as a function of theta.

    Parameters
    ----------
    cross : CrossProducts
        Sums over the rows.
    alpha : float
        Ridge penalty of the coefficients in units of X, but the intercept.
    restricted : bool
        Whether the likelihood is the restricted one.

    Attributes
    ----------
    fixed : intp array
        Columns of [1, X] that have coefficients.
    dof : float
        Degrees of freedom of the residual.
    is_free : list of bool
        Whether the rows can tell a term from the residual and the intercept: there are
        two levels at least, and not every row has a level of its own.
    """

    def __init__(self, cross: CrossProducts, alpha: float, restricted: bool) -> None:
        self.cross, self.restricted = cross, restricted
        columns = np.arange(0 if cross.basis.intercept else 1, cross.n_features + 1)
        if alpha == 0.0:
            own = cross.FF[np.ix_(columns, columns)]
            columns = columns[independent_columns(own, cross.n)]
        self.fixed = columns
        self.pattern = Pattern.find(cross, columns)
        scale = np.append(1.0, cross.basis.scale)[columns]
        self.penalty = np.where(columns == 0, 0.0, alpha / scale**2)
        free = columns == 0 if alpha else np.ones(len(columns), dtype=bool)
        self.is_free = []
        for sums in cross.ZZ:
            n_levels = np.count_nonzero(sums[:, 0, 0])
            self.is_free.append(1 < n_levels < cross.n)
        self.dof = cross.n - (free.sum() if restricted else 0)
        # the determinant in units of X; penalised coefficients have a prior
        self._constant = 0.0
        if restricted:
            self._constant = 2.0 * np.log(scale).sum()
            self._constant -= (~free).sum() * np.log(alpha or 1.0)

    def factor(self, theta: np.ndarray) -> Factor:
        """The equations for some theta."""
        T = split_theta(self.cross.terms, theta)
        return Factor(self.cross, self.pattern, T, self.penalty)

    def residual(self, factor: Factor) -> float:
        """The penalised sum of squares, above what rounding leaves of it."""
        return max(factor.residual, self._least)

    @property
    def _least(self) -> float:
        return max(_EXACT * self.cross.FF[-1, -1], 1e-280)

    def deviance(self, factor: Factor) -> float:
        """Minus twice the log likelihood."""
        value = factor.log_det_random + self.dof * (
            1.0 + np.log(2.0 * np.pi * self.residual(factor) / self.dof)
        )
        if self.restricted:
            value += factor.log_det_fixed + self._constant
        return float(value)

    def with_gradient(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """The same for some theta, and its derivatives."""
        factor = self.factor(theta)
        value = self.deviance(factor)
        if not np.isfinite(value):
            return 1e300, np.zeros_like(theta)
        by_det, by_residual = factor.gradients(self.restricted, factor.solve())
        slope = self.dof / factor.residual if factor.residual > self._least else 0.0
        parts = [
            term.theta_of(one + slope * two)
            for term, one, two in zip(
                self.cross.terms, by_det, by_residual, strict=True
            )
        ]
        return value, np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the likelihood is greatest.

    Attributes
    ----------
    theta : float64 array
        Parameters of the covariances.
    deviance : float
        Minus twice the log likelihood.
    n_iter : int
        Evaluations of the likelihood.
    converged : bool
        Whether the optimiser met its tolerance.
    """

    theta: np.ndarray
    deviance: float
    n_iter: int
    converged: bool


def maximise(
    likelihood: Likelihood,
    *,
    start: np.ndarray | None = None,
    tol: float = 1e-8,
    max_iter: int = 200,
) -> Optimum:
    """Maximise the likelihood over theta.

    Parameters
    ----------
    likelihood : Likelihood
        What to maximise.
    start : float64 array or None, default=None
        Theta to start from.
    tol : float, default=1e-8
        Relative change of the deviance at which to stop.
    max_iter : int, default=200
        Most iterations.

    Returns
    -------
    Optimum
        The maximum.
    """
    terms = likelihood.cross.terms
    if not any(likelihood.is_free):
        none = np.zeros(sum(term.n_theta for term in terms))
        return Optimum(none, likelihood.deviance(likelihood.factor(none)), 1, True)
    free = np.repeat(likelihood.is_free, [term.n_theta for term in terms])
    first = np.concatenate([term.start() for term in terms])
    diagonal = free & (first > 0.0)
    starts = [first if start is None else start]
    # Where an effect has no variance, there may be another maximum.
    more = [np.full(len(first), 0.3), np.where(diagonal, 0.3, -0.3)]
    best: Optimum | None = None
    while starts:
        found = _climb(likelihood, starts.pop(0), free, diagonal, tol, max_iter)
        n_iter = found.n_iter + (0 if best is None else best.n_iter)
        if best is None or found.deviance < best.deviance:
            best = found
        best = replace(best, n_iter=n_iter)
        if more and start is None and _is_singular(terms, found.theta, free):
            starts, more = more, []
    return cast("Optimum", best)


def _is_singular(terms: Sequence[Term], theta: np.ndarray, free: np.ndarray) -> bool:
    roots = split_theta(terms, np.where(free, theta, 1.0))
    return any(np.linalg.svd(T, compute_uv=False)[-1] < _NEAR for T in roots)


def _climb(
    likelihood: Likelihood,
    theta: np.ndarray,
    free: np.ndarray,
    diagonal: np.ndarray,
    tol: float,
    max_iter: int,
) -> Optimum:
    """The maximum that is reached from one start.

    Signs are not bound while it is looked for, so that parameters can pass zero.
    """
    bounds = [(-LARGEST, LARGEST) if each else (0.0, 0.0) for each in free]
    options = {"ftol": 1e-3 * tol, "gtol": 1e-6, "maxiter": max_iter, "maxcor": 20}
    n_iter = 0
    for _ in range(_MOST_STARTS):
        found = minimize(
            likelihood.with_gradient,
            np.where(free, theta, 0.0),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        n_iter += int(found.nfev)
        # a line search that finds nothing better, though not all derivatives are 0
        stalled = not found.success and found.nit < max_iter
        terms = likelihood.cross.terms
        roots = split_theta(terms, found.x)
        theta = np.concatenate(
            [t.with_signs(root) for t, root in zip(terms, roots, strict=True)]
        )
        theta, deviance = _to_zero(likelihood, theta, float(found.fun), diagonal, tol)
        better = _from_zero(likelihood, theta, deviance, diagonal, tol)
        if better is None:
            break
        theta = better
    return Optimum(theta, deviance, n_iter, bool(found.success or stalled))


def _to_zero(
    likelihood: Likelihood,
    theta: np.ndarray,
    deviance: float,
    diagonal: np.ndarray,
    tol: float,
) -> tuple[np.ndarray, float]:
    """Set parameters to zero that the optimiser left just short of it.

    The likelihood has no slope there, so that it stops early.
    """
    for i in np.flatnonzero(diagonal & (theta > 0.0) & (theta < _NEAR)):
        trial = theta.copy()
        trial[i] = 0.0
        value = likelihood.deviance(likelihood.factor(trial))
        if value <= deviance + 1e-2 * tol * max(1.0, abs(deviance)):
            theta, deviance = trial, value
    return theta, deviance


def _from_zero(
    likelihood: Likelihood,
    theta: np.ndarray,
    deviance: float,
    diagonal: np.ndarray,
    tol: float,
) -> np.ndarray | None:
    """A better point where a parameter is zero by chance; None if there is none.

    By symmetry a parameter that is zero has no slope, be it a minimum or not.
    """
    for i in np.flatnonzero(diagonal & (theta == 0.0)):
        for size in _PROBES:
            trial = theta.copy()
            trial[i] = size
            value = likelihood.deviance(likelihood.factor(trial))
            if value < deviance - tol * max(1.0, abs(deviance)):
                return trial
    return None
