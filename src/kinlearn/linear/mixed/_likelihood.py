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

from dataclasses import dataclass, replace
from typing import cast

import numpy as np
from scipy.optimize import minimize

from kinlearn.linear.mixed._cross_products import CrossProducts, independent_columns
from kinlearn.linear.mixed._terms import split_theta
from kinlearn.linear.mixed.equations import Blocks, Factor

__all__ = ["LARGEST", "Likelihood", "Optimum", "maximise"]

_EXACT = 1e-14  # of the sum of squares: what is left of it is rounding
LARGEST = 1e5  # standard deviation of effects, relative to the residual's
_NEAR = 1e-2  # the same, where it may be zero
_PROBES = (0.5, 0.05)
_MOST_STARTS = 10
_EM_STEPS = 10
_SCAN = 3  # decades beyond the columns' units
_PER_DECADE = 3


def _sizes(cross: CrossProducts, k: int) -> np.ndarray:
    """Root mean squares of a term's columns; 1 for those of zeros."""
    size = np.sqrt(np.maximum(np.einsum("nqq->q", cross.ZZ[k]), 0.0) / cross.n)
    return np.where(size > 0.0, size, 1.0)


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
    units : float64 array
        Theta of effects of about the residual's size, where columns have units.
    """

    def __init__(self, cross: CrossProducts, alpha: float, restricted: bool) -> None:
        self.cross, self.restricted = cross, restricted
        columns = np.arange(0 if cross.basis.intercept else 1, cross.n_features + 1)
        if alpha == 0.0:
            own = cross.FF[np.ix_(columns, columns)]
            columns = columns[independent_columns(own, cross.n)]
        self.fixed = columns
        self.blocks = Blocks.find(cross, columns)
        scale = np.append(1.0, cross.basis.scale)[columns]
        self.penalty = np.where(columns == 0, 0.0, alpha / scale**2)
        free = columns == 0 if alpha else np.ones(len(columns), dtype=bool)
        self.is_free = []
        for sums in cross.ZZ:
            n_levels = np.count_nonzero(sums[:, 0, 0])
            self.is_free.append(1 < n_levels < cross.n_rows)
        self.units = np.ones(sum(term.n_theta for term in cross.terms))
        ends = np.cumsum([term.n_theta for term in cross.terms])
        for k, term in enumerate(cross.terms):
            if term.covariance == "scaled_identity":
                self.units[ends[k] - 1] = 1.0 / _sizes(cross, k).max()
        self.dof = cross.n - (free.sum() if restricted else 0)
        # the determinant in units of X; penalised coefficients have a prior
        self._constant = 0.0
        if restricted:
            self._constant = 2.0 * np.log(scale).sum()
            self._constant -= (~free).sum() * np.log(alpha or 1.0)

    def factor(self, theta: np.ndarray) -> Factor:
        """The equations for some theta."""
        T = split_theta(self.cross.terms, theta)
        return Factor(self.blocks, T, self.penalty)

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
        by_det, by_residual = factor.gradients(self.restricted)
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
    units = likelihood.units
    first = np.concatenate([term.start() for term in terms]) * units
    diagonal = free & (first > 0.0)
    if start is not None:  # of fewer rows, whose covariances may be far from these
        options = [np.where(free, theta, 0.0) for theta in (start, first)]
        values = [likelihood.deviance(likelihood.factor(theta)) for theta in options]
        first = options[0] if values[0] < values[1] else first
    starts = [first, *_further_starts(likelihood, first, free)]
    # Where an effect has no variance, there may be another maximum.
    more = [0.3 * units, np.where(diagonal, 0.3, -0.3) * units]
    best: Optimum | None = None
    while starts:
        found = _climb(likelihood, starts.pop(0), free, diagonal, tol, max_iter)
        n_iter = found.n_iter + (0 if best is None else best.n_iter)
        if best is None or found.deviance < best.deviance:
            best = found
        best = replace(best, n_iter=n_iter)
        if more and _is_singular(likelihood, found.theta, free):
            starts, more = more, []
    return cast("Optimum", best)


def _further_starts(
    likelihood: Likelihood, first: np.ndarray, free: np.ndarray
) -> list[np.ndarray]:
    """Starts of covariances whose likelihood can have several maxima.

    These are covariances that cannot be any: of a given rank, or of one variance for
    columns of any units. The former start from the leading directions of the moments
    of all effects, the latter from each dip of a scan over sizes.
    """
    terms = likelihood.cross.terms
    parts = np.split(first, np.cumsum([term.n_theta for term in terms])[:-1])
    tied = [
        k
        for k, term in enumerate(terms)
        if likelihood.is_free[k]
        and (term.width < term.n_effects or term.n_theta < term.n_effects)
    ]
    if not tied:
        return []
    moments = _moments(likelihood)
    whole = [
        term.theta_from_covariance(S) if k in tied else part
        for k, (term, S, part) in enumerate(zip(terms, moments, parts, strict=True))
    ]
    starts = [np.where(free, np.concatenate(whole), 0.0)]
    for k in tied:
        values, vectors = np.linalg.eigh(moments[k])
        others = []
        if terms[k].covariance == "scaled_identity":
            others = [np.array([size]) for size in _dips(likelihood, whole, k)]
        elif terms[k].width == 1:  # the other directions, each by itself
            order = np.argsort(values)[::-1][1:_MOST_STARTS]
            others = [
                terms[k].theta_from_covariance(
                    max(values[j], _NEAR) * np.outer(vectors[:, j], vectors[:, j])
                )
                for j in order
            ]
        for other in others:
            own = [other if j == k else part for j, part in enumerate(whole)]
            starts.append(np.where(free, np.concatenate(own), 0.0))
    return starts


def _moments(likelihood: Likelihood) -> list[np.ndarray]:
    """Second moments of all effects, by expectation maximisation of any covariances."""
    cross = likelihood.cross
    sizes = [_sizes(cross, k) for k in range(len(cross.terms))]
    roots = [np.diag(1.0 / size) for size in sizes]
    wide = tuple(replace(term, covariance="full") for term in cross.terms)
    cross = replace(cross, basis=replace(cross.basis, terms=wide))
    try:
        blocks = Blocks.find(cross, likelihood.fixed)
    except ValueError:  # all effects of crossed terms are too many; their ranks are not
        return [root @ root.T for root in roots]
    for _ in range(_EM_STEPS):
        factor = Factor(blocks, roots, likelihood.penalty)
        variance = likelihood.residual(factor) / likelihood.dof
        u, own = factor.solve().u, factor.inverse(likelihood.restricted).own
        for k, term in enumerate(wide):
            moment = (u[k].T @ u[k] / variance + own[k].sum(axis=0)) / term.n_levels
            S = roots[k] @ moment @ roots[k].T
            values, vectors = np.linalg.eigh(0.5 * (S + S.T))
            roots[k] = vectors * np.sqrt(np.maximum(values, 0.0))
    return [root @ root.T for root in roots]


def _dips(likelihood: Likelihood, parts: list[np.ndarray], k: int) -> list[float]:
    """Sizes of a term's one parameter where the deviance is least nearby."""
    size = np.log10(_sizes(likelihood.cross, k))
    low = -_SCAN - size.max()
    high = min(_SCAN - size.min(), np.log10(LARGEST) - size.max())
    grid = np.logspace(low, high, max(3, int(_PER_DECADE * (high - low))))
    values = []
    for each in grid:
        theta = [np.array([each]) if j == k else p for j, p in enumerate(parts)]
        factor = likelihood.factor(np.concatenate(theta))
        values.append(likelihood.deviance(factor))
    padded = np.concatenate([[np.inf], values, [np.inf]])
    dips = (padded[1:-1] <= padded[:-2]) & (padded[1:-1] < padded[2:])
    return grid[dips].tolist()


def _is_singular(likelihood: Likelihood, theta: np.ndarray, free: np.ndarray) -> bool:
    theta = np.where(free, theta / likelihood.units, 1.0)
    roots = split_theta(likelihood.cross.terms, theta)
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
    n_iter, units = 0, likelihood.units

    def scaled(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = likelihood.with_gradient(x * units)
        return value, gradient * units

    for _ in range(_MOST_STARTS):
        found = minimize(
            scaled,
            np.where(free, theta / units, 0.0),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        n_iter += int(found.nfev)
        # a line search that finds nothing better, though not all derivatives are 0
        stalled = not found.success and found.nit < max_iter
        terms = likelihood.cross.terms
        roots = split_theta(terms, found.x * units)
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
    near = (theta > 0.0) & (theta < _NEAR * likelihood.units)
    for i in np.flatnonzero(diagonal & near):
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
            trial[i] = size * likelihood.units[i]
            value = likelihood.deviance(likelihood.factor(trial))
            if value < deviance - tol * max(1.0, abs(deviance)):
                return trial
    return None
