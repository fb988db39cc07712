r"""One fitted model of classes or counts: effects, and the equations at their mode.

At the mode, the model is about a Gaussian one of the *working* targets
:math:`z = \eta - \mathrm{nll}'/\mathrm{nll}''` with weights :math:`\mathrm{nll}''` and
residual variance 1. Its cross products are kept: they say how sure effects and
predictions are, and stand for the rows of the past when later ones come.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import gammaln

from kinlearn._kernels.linear._laplace import family_terms
from kinlearn.linear.mixed._base import Rows, linear_predictor, with_levels
from kinlearn.linear.mixed._cross_products import (
    Basis,
    CrossProducts,
    term_columns,
)
from kinlearn.linear.mixed._groupings import Grouping
from kinlearn.linear.mixed._likelihood import Likelihood
from kinlearn.linear.mixed._terms import Term, split_theta
from kinlearn.linear.mixed.equations import Blocks, Factor
from kinlearn.linear.mixed.laplace import (
    FixedColumns,
    LaplaceFit,
    LaplaceProblem,
    fit_laplace,
)

__all__ = ["LOGISTIC", "POISSON", "GeneralisedFit", "Targets", "fit_generalised"]

LOGISTIC, POISSON = 0, 1
_SINGULAR = 1e-4  # standard deviation of effects, on the scale of the link
_LEAST_WEIGHT = 1e-10  # of a working target: less is rounding
_MAX_LATER = 100
_LONGEST = 4.0  # change of a linear predictor in one step


@dataclass(frozen=True, eq=False)
class Targets:
    """What a model of classes or counts learns from, beside X.

    Attributes
    ----------
    family : int
        `LOGISTIC` or `POISSON`.
    y, weight, offset : float64 arrays of shape (n_samples,)
        Targets, weights, and what is added to the linear predictor.
    """

    family: int
    y: np.ndarray
    weight: np.ndarray
    offset: np.ndarray

    @property
    def constant(self) -> float:
        """What the log likelihood has beside terms of the linear predictor."""
        if self.family == LOGISTIC:
            return 0.0
        return -float(self.weight @ gammaln(self.y + 1.0))

    def working(self, eta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Working targets, without the offset, and their weights."""
        slope, curve, bend = np.empty((3, len(eta)))
        family_terms(self.family, eta, self.y, self.weight, slope, curve, bend)
        weight = np.maximum(curve, _LEAST_WEIGHT * (self.weight > 0.0))
        step = np.divide(slope, weight, out=np.zeros_like(slope), where=weight > 0.0)
        return eta - self.offset - step, weight


@dataclass(frozen=True, eq=False)
class GeneralisedFit:
    """A fitted model of one linear predictor.

    Attributes
    ----------
    family : int
        `LOGISTIC` or `POISSON`.
    alpha : float
        Ridge penalty.
    theta : float64 array
        Free cells of the covariances' roots.
    cross : CrossProducts
        Of the working targets at the mode.
    intercept : float
        Fixed intercept.
    coef : float64 array of shape (n_features,)
        Fixed effects.
    effects : list of float64 arrays of shape (n_levels, n_effects)
        Random effects by term.
    fixed : intp array
        Columns of [1, X] that have coefficients.
    fixed_covariance : float64 array of shape (n_fixed, n_fixed)
        Of their estimates, those of the covariances taken into account.
    inflation : float64 array of shape (n_fixed, n_fixed)
        A, where that is A C A' and C the one for known covariances.
    kept : list of intp arrays
        Effects of each term, as it was asked for, that rows tell from others.
    spreads : list of float
        Variance of each term in the average row.
    log_likelihood : float
        By Laplace's approximation; without the ridge's penalty.
    n_parameters : int
        Coefficients and parameters of the covariances.
    sums : tuple of float
        Of the weights, and of the targets and their squares, weighted.
    n_iter : int
        Steps of the optimiser.
    converged : bool
        Whether it met its tolerance.
    singular : list of str
        Terms whose effects have no variance, or are combinations of each other.
    """

    family: int
    alpha: float
    theta: np.ndarray
    cross: CrossProducts
    intercept: float
    coef: np.ndarray
    effects: list[np.ndarray]
    fixed: np.ndarray
    fixed_covariance: np.ndarray
    inflation: np.ndarray
    kept: list[np.ndarray]
    spreads: list[float]
    log_likelihood: float
    n_parameters: int
    sums: tuple[float, float, float]
    n_iter: int
    converged: bool
    singular: list[str]

    @property
    def terms(self) -> tuple[Term, ...]:
        """Random terms."""
        return self.cross.terms

    def link(self, rows: Rows) -> np.ndarray:
        """Linear predictors, without the offset; unknown levels have no effects."""
        return linear_predictor(
            rows, self.intercept, self.coef, self.terms, self.effects
        )

    def roots(self) -> list[np.ndarray]:
        """Roots of the terms' covariances in units of X."""
        T = split_theta(self.terms, self.theta)
        return [self.cross.basis.term_map(k) @ T[k] for k in range(len(T))]

    def unknown_variance(self, rows: Rows) -> np.ndarray:
        """Variance of the effects of the rows' unknown levels."""
        T = split_theta(self.terms, self.theta)
        variance = np.zeros(rows.X.shape[0])
        for k, (term, codes) in enumerate(zip(self.terms, rows.codes, strict=True)):
            new = np.flatnonzero(codes < 0)
            if len(new):
                v = term_columns(rows.X[new], term, self.cross.basis, k) @ T[k]
                variance[new] += (v**2).sum(axis=1)
        return variance

    def factor(self) -> Factor:
        """The equations at the mode, factored."""
        return _factor(self.cross, self.alpha, self.fixed, self.theta)

    def with_later(
        self,
        targets: Targets,
        rows: Rows,
        groupings: Sequence[Grouping],
        places: Sequence[np.ndarray],
    ) -> "GeneralisedFit":
        """The model with later rows; those of the past count by their cross products.

        Covariances stay. `places` are those of old levels among the new, by term.
        """
        terms = with_levels(self.terms, groupings)
        basis = replace(self.cross.basis, terms=terms)
        effects = []
        for term, old, place in zip(terms, self.effects, places, strict=True):
            wide = np.zeros((term.n_levels, term.n_effects))
            wide[place] = old
            effects.append(wide)
        intercept, coef, converged = self.intercept, self.coef, False
        state = [np.append(intercept, coef), *effects]
        for _ in range(_MAX_LATER):
            eta = linear_predictor(rows, state[0][0], state[0][1:], terms, state[1:])
            z, w = targets.working(eta + targets.offset)
            new = CrossProducts.of_rows(rows.X, z, w, terms, rows.codes, basis=basis)
            cross = self.cross.added(new, places)
            factor = _factor(cross, self.alpha, self.fixed, self.theta)
            found = _raw_solution(factor, basis)
            moved = linear_predictor(rows, found[0][0], found[0][1:], terms, found[1:])
            change = float(np.abs(moved - eta).max(initial=0.0))
            length = min(1.0, _LONGEST / max(change, 1e-300))
            state = [a + length * (b - a) for a, b in zip(state, found, strict=True)]
            if change < 1e-8:
                converged = True
                break
        covariance = self.inflation @ _fixed_covariance(factor) @ self.inflation.T
        return replace(
            self,
            cross=cross,
            intercept=float(state[0][0]),
            coef=state[0][1:],
            effects=state[1:],
            fixed_covariance=covariance,
            converged=converged,
        )


def _factor(
    cross: CrossProducts, alpha: float, fixed: np.ndarray, theta: np.ndarray
) -> Factor:
    """Equations of working targets, with the columns that the fit had."""
    scale = np.append(1.0, cross.basis.scale)[fixed]
    penalty = np.where(fixed == 0, 0.0, alpha / scale**2)
    T = split_theta(list(cross.terms), theta)
    return Factor(Blocks.find(cross, fixed), T, penalty)


def _fixed_covariance(factor: Factor) -> np.ndarray:
    """Covariance of the fixed effects in units of X, for known covariances."""
    J = factor.cross.basis.fixed_map[np.ix_(factor.fixed, factor.fixed)]
    return J @ factor.fixed_inverse() @ J.T


def _inflation(larger: np.ndarray, smaller: np.ndarray) -> np.ndarray:
    """A matrix A with ``larger = A @ smaller @ A.T``."""
    try:
        roots = [np.linalg.cholesky(C) for C in (larger, smaller)]
    except np.linalg.LinAlgError:
        return np.eye(len(larger))
    return roots[0] @ np.linalg.inv(roots[1])


def _raw_solution(factor: Factor, basis: Basis) -> list[np.ndarray]:
    """[intercept, coefficients], and effects by term, in units of X."""
    solution = factor.solve()
    coef = np.zeros(factor.cross.n_features + 1)
    coef[factor.fixed] = solution.beta
    intercept, raw = basis.to_raw(coef)
    effects = [
        solution.u[k] @ (basis.term_map(k) @ T).T for k, T in enumerate(factor.T)
    ]
    return [np.append(intercept, raw), *effects]


def fit_generalised(
    targets: Targets,
    rows: Rows,
    terms: Sequence[Term],
    *,
    alpha: float,
    intercept: bool,
    tol: float,
    max_iter: int,
) -> GeneralisedFit:
    """Fit one linear predictor by Laplace's approximation.

    Parameters
    ----------
    targets : Targets
        What to learn.
    rows : Rows
        Features and levels.
    terms : list of Term
        Random terms.
    alpha : float
        Ridge penalty of the coefficients, in units of X.
    intercept : bool
        Whether there is a fixed intercept.
    tol : float
        Tolerance of the log likelihood.
    max_iter : int
        Most steps.

    Returns
    -------
    GeneralisedFit
        The model.
    """
    plain = CrossProducts.of_rows(
        rows.X, targets.y, targets.weight, terms, rows.codes, intercept=intercept
    )
    kept = plain.independent_effects()
    plain = plain.with_effects(kept)
    basis = replace(plain.basis, y_shift=0.0)
    likelihood = Likelihood(plain, alpha, False)
    fixed = likelihood.fixed
    # levels without weight do not count
    free = [bool(np.count_nonzero(sums[:, 0, 0]) > 1) for sums in plain.ZZ]
    problem = _problem(targets, rows, basis, fixed, likelihood.penalty, free)
    found = fit_laplace(problem, tol=tol, max_iter=max_iter)
    if not np.isfinite(found.value):
        raise ValueError(
            f"The likelihood of {plain.n:g} rows and {len(fixed)} coefficients cannot "
            "be reckoned with: it is too large, or too flat. Scale the weights to a "
            "mean of 1, look for targets that are far off, choose a simpler "
            "covariance, or set alpha."
        )
    theta, singular = _collect_theta(found, basis.terms, free)
    T = split_theta(list(basis.terms), theta)
    cross = _working_cross(targets, rows, basis, problem, found, fixed)
    factor = _factor(cross, alpha, fixed, theta)
    raw = _raw_solution(factor, basis)
    J = basis.fixed_map[np.ix_(fixed, fixed)]
    covariance = J @ found.fixed_covariance @ J.T
    penalty = float(problem.ridge @ found.effects.beta**2)
    means = [sums.sum(axis=0) / plain.n for sums in plain.ZZ]
    return GeneralisedFit(
        family=targets.family,
        alpha=alpha,
        theta=theta,
        cross=cross,
        intercept=float(raw[0][0]),
        coef=raw[0][1:],
        effects=raw[1:],
        fixed=fixed,
        fixed_covariance=covariance,
        inflation=_inflation(covariance, _fixed_covariance(factor)),
        kept=kept,
        spreads=[float(np.trace(t.T @ m @ t)) for t, m in zip(T, means, strict=True)],
        log_likelihood=-0.5 * (found.value - penalty) + targets.constant,
        n_parameters=len(fixed) + len(found.theta),
        sums=(
            plain.n,
            float(targets.weight @ targets.y),
            float(targets.weight @ targets.y**2),
        ),
        n_iter=found.n_iter,
        converged=found.converged,
        singular=singular,
    )


def _problem(
    targets: Targets,
    rows: Rows,
    basis: Basis,
    fixed: np.ndarray,
    penalty: np.ndarray,
    free: Sequence[bool],
) -> LaplaceProblem:
    """The problem of the terms that rows can tell from the intercept."""
    features = fixed[fixed > 0] - 1
    X: Any = rows.X if len(features) == rows.X.shape[1] else rows.X[:, features]
    columns = FixedColumns.of_rows(
        X, bool((fixed == 0).any()), basis.shift[features], basis.scale[features]
    )
    kept = [k for k in range(len(free)) if free[k]]
    return LaplaceProblem(
        targets.family,
        targets.y,
        targets.weight,
        targets.offset,
        columns,
        penalty,
        [basis.terms[k] for k in kept],
        [term_columns(rows.X, basis.terms[k], basis, k) for k in kept],
        [rows.codes[k] for k in kept],
    )


def _collect_theta(
    found: LaplaceFit, terms: Sequence[Term], free: Sequence[bool]
) -> tuple[np.ndarray, list[str]]:
    """Theta of all terms, diagonals not negative, and which terms are singular."""
    parts, singular, roots = [np.zeros(0)], [], iter(found.T)
    for term, is_free in zip(terms, free, strict=True):
        if not is_free:
            parts.append(np.zeros(term.n_theta))
            continue
        T = next(roots)
        parts.append(term.with_signs(T))
        if np.linalg.svd(T, compute_uv=False)[-1] < _SINGULAR:
            singular.append(term.name)
    return np.concatenate(parts), singular


def _working_cross(
    targets: Targets,
    rows: Rows,
    basis: Basis,
    problem: LaplaceProblem,
    found: LaplaceFit,
    fixed: np.ndarray,
) -> CrossProducts:
    """Cross products whose equations the fitted effects solve."""
    modes = found.modes
    z, w = targets.working(modes.eta)
    terms = basis.terms
    cross = CrossProducts.of_rows(rows.X, z, w, terms, rows.codes, basis=basis)
    # The determinant moves fixed effects away from the mode of the penalised
    # likelihood; its slope is part of the equations.
    beta = modes.effects.beta
    score = -problem.fixed.sums(modes.slope) - problem.ridge * beta
    cross.FF[fixed, -1] -= score
    cross.FF[-1, fixed] -= score
    return cross
