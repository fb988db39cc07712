r"""Fit of generalised mixed models: covariances and fixed effects together.

1. Start: with covariances of about one, fixed effects are found together with the
   random ones; a few steps of expectation maximisation bring the covariances near.
2. Quasi-Newton steps (BFGS) on Laplace's approximation of the likelihood, over the
   covariances' roots and the fixed effects together.
3. The curvature there, by differences of gradients: a last step, and the standard
   errors of the fixed effects.

lme4's glmer has the same two stages and the same goal, but seeks it without gradients.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg as sl

from kinlearn.linear.mixed._terms import split_theta
from kinlearn.linear.mixed.laplace._modes import Modes, find_modes, invert
from kinlearn.linear.mixed.laplace._objective import laplace
from kinlearn.linear.mixed.laplace._rows import Effects, LaplaceProblem

__all__ = ["LaplaceFit", "fit_laplace"]

_EM_STEPS = 6
_SUFFICIENT = 1e-4  # of the promised decrease
_MAX_HALVINGS = 30
_MOST_FOR_CURVATURE = 100  # parameters: each costs a gradient
_NOT_KNOWN = 1e12  # variance of what rows do not determine
_NEAR_ZERO = 0.05
_AS_LIKELY = 1e-6
_DIFFERENCE = 1e-4  # in units of about a standard error


@dataclass(frozen=True, eq=False)
class LaplaceFit:
    """A fitted model, in the units of the problem.

    Attributes
    ----------
    theta : float64 array of shape (n_theta,)
        Free cells of the covariances' roots.
    T : list of float64 arrays of shape (q, r)
        The roots.
    effects : Effects
        Fixed effects, and the mode of the random ones.
    value : float
        Minus twice the log likelihood, without constants of the family, with penalties.
    fixed_covariance : float64 array of shape (p, p)
        Of the estimates of the fixed effects.
    modes : Modes
        The equations at the mode.
    converged : bool
        Whether the last step promised less than the tolerance.
    n_iter : int
        Quasi-Newton steps.
    """

    theta: np.ndarray
    T: list[np.ndarray]
    effects: Effects
    value: float
    fixed_covariance: np.ndarray
    modes: Modes
    converged: bool
    n_iter: int


def fit_laplace(
    problem: LaplaceProblem, *, tol: float = 1e-8, max_iter: int = 500
) -> LaplaceFit:
    """Maximise Laplace's approximation of the likelihood.

    Parameters
    ----------
    problem : LaplaceProblem
        The model and its rows.
    tol : float, default=1e-8
        Ends when a step promises to change the log likelihood by less.
    max_iter : int, default=500
        Quasi-Newton steps.

    Returns
    -------
    LaplaceFit
        The fit.
    """
    theta, effects, root = _start(problem)
    objective = _Objective(problem, theta, effects, root)
    x, value, n_iter, converged = _climb(
        objective, np.zeros(objective.size), tol, max_iter
    )
    if _is_singular(problem, objective.parameters(x)[0]):
        # where an effect has no variance, there may be another maximum
        for sign in (1.0, -1.0):
            again = objective.place(_other_start(problem, sign))
            other, least, more, ended = _climb(objective, again, tol, max_iter)
            n_iter += more
            if least < value - tol:
                x, value, converged = other, least, ended
    H = None
    if objective.size <= _MOST_FOR_CURVATURE:
        x, H = _polish(objective, x)
    return _finish(problem, objective, x, H, converged, n_iter)


def _climb(
    objective: "_Objective", x: np.ndarray, tol: float, max_iter: int
) -> tuple[np.ndarray, float, int, bool]:
    """The maximum that is reached from one start."""
    x, n_iter, converged = _bfgs(objective, x, tol, max_iter)
    x = _to_zero(objective, x)
    return x, objective(x)[0], n_iter, converged


def _is_singular(problem: LaplaceProblem, theta: np.ndarray) -> bool:
    roots = split_theta(problem.terms, theta)
    return any(np.linalg.svd(T, compute_uv=False)[-1] < _NEAR_ZERO for T in roots)


def _other_start(problem: LaplaceProblem, sign: float) -> np.ndarray:
    """Theta with variances and covariances of some size, of this sign."""
    return np.concatenate(
        [np.where(t.start() > 0.0, 0.3, 0.3 * sign) for t in problem.terms]
    )


def _start(problem: LaplaceProblem) -> tuple[np.ndarray, Effects, np.ndarray]:
    """Theta and effects to begin from, and the information of the fixed effects."""
    terms, size = problem.terms, problem.pattern.size
    theta = np.concatenate([np.zeros(0), *(t.start() for t in terms)])
    T = split_theta(terms, theta)
    modes = find_modes(problem, T, _first_effects(problem), free_fixed=True)
    if terms:
        for _ in range(_EM_STEPS):
            start = modes.effects.without_random
            modes = find_modes(problem, split_theta(terms, theta), start)
            theta = _expectation_maximisation(problem, theta, modes)
        T = split_theta(terms, theta)
        start = modes.effects.without_random
        modes = find_modes(problem, T, start, free_fixed=True)
    root, p = modes.D[size:, size:], len(modes.effects.beta)
    if root.shape != (p, p) or not np.isfinite(root).all():
        root = np.eye(p)  # only a choice of units
    return theta, modes.effects, root


def _first_effects(problem: LaplaceProblem) -> Effects:
    """No effects, but an intercept near the mean of counts."""
    effects = Effects.zeros(problem)
    if problem.family == 1 and problem.fixed.intercept:
        expected = problem.weight @ np.exp(np.minimum(problem.offset, 500.0))
        effects.beta[0] = np.log(problem.weight @ problem.y / expected)
    return effects


def _expectation_maximisation(
    problem: LaplaceProblem, theta: np.ndarray, modes: Modes
) -> np.ndarray:
    """Theta by the effects' second moments, as they are expected now."""
    inverse, pattern = invert(problem, modes), problem.pattern
    T = split_theta(problem.terms, theta)
    effects = modes.effects.by_term(problem)
    parts = []
    for k, term in enumerate(problem.terms):
        if k == pattern.first:
            variance = inverse.own.sum(axis=0)
        else:
            b = pattern.base[pattern.rest.index(k)]
            n = term.n_levels * term.width
            blocks = inverse.dense[b : b + n, b : b + n]
            blocks = blocks.reshape(term.n_levels, term.width, term.n_levels, -1)
            variance = np.einsum("iaib->ab", blocks)
        moment = (effects[k].T @ effects[k] + variance) / term.n_levels
        parts.append(term.theta_from_covariance(T[k] @ moment @ T[k].T))
    return np.concatenate(parts)


class _Objective:
    """Minus twice the log likelihood, in units in which its curvature is about two.

    Fixed effects are divided by a root of their covariance, theta by its own standard
    error if all effects were seen. The last mode is where the next search begins.
    """

    def __init__(
        self,
        problem: LaplaceProblem,
        theta: np.ndarray,
        effects: Effects,
        root: np.ndarray,
    ) -> None:
        self.problem = problem
        self.origin = theta, effects.beta
        self.effects = effects
        self.root = root
        units = [np.zeros(0)]
        end = 0
        for term in problem.terms:
            mine = theta[end : end + term.n_theta]
            end += term.n_theta
            size = max(float(np.sqrt(np.mean(mine**2))), 0.1)
            units.append(np.full(term.n_theta, size / np.sqrt(2.0 * term.n_levels)))
        self.unit = np.concatenate(units)
        self.n_theta, self.n_fixed = len(theta), len(effects.beta)
        self.size = self.n_theta + self.n_fixed

    def parameters(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Theta and fixed effects."""
        theta = self.origin[0] + self.unit * x[: self.n_theta]
        step = x[self.n_theta :]
        if self.n_fixed:
            step = sl.solve_triangular(
                self.root, step, lower=True, trans="T", check_finite=False
            )
        return theta, self.origin[1] + step

    def place(self, theta: np.ndarray) -> np.ndarray:
        """The point of some theta, with the fixed effects of the start."""
        return np.append((theta - self.origin[0]) / self.unit, np.zeros(self.n_fixed))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        theta, beta = self.parameters(x)
        problem = self.problem
        start = Effects(self.effects.u, self.effects.d, beta)
        T = split_theta(problem.terms, theta)
        value, by_T, by_beta, modes = laplace(problem, T, start)
        if not np.isfinite(value):
            return np.inf, np.zeros(self.size)
        self.effects = modes.effects
        by_theta = [t.theta_of(G) for t, G in zip(problem.terms, by_T, strict=True)]
        gradient = np.concatenate([np.zeros(0), *by_theta]) * self.unit
        if self.n_fixed:
            by_beta = sl.solve_triangular(self.root, by_beta, lower=True)
        return value, np.concatenate([gradient, by_beta])


def _bfgs(
    objective: Callable[[np.ndarray], tuple[float, np.ndarray]],
    x: np.ndarray,
    tol: float,
    max_iter: int,
) -> tuple[np.ndarray, int, bool]:
    """Quasi-Newton steps until one promises to change the log likelihood by less."""
    H = np.eye(len(x)) / 2.0
    value, gradient = objective(x)
    for n_iter in range(max_iter):
        step = -H @ gradient
        promise = -float(gradient @ step)
        if promise < 2.0 * tol:
            return x, n_iter, True
        length = min(1.0, 10.0 / float(np.abs(step).max()))
        for _ in range(_MAX_HALVINGS):
            new, new_gradient = objective(x + length * step)
            if new <= value - _SUFFICIENT * length * promise:
                break
            length /= 2.0
        else:
            # no step down: rounding, if little was promised
            return x, n_iter, bool(promise < 1e-9 * (1.0 + abs(value)))
        s, change = length * step, new_gradient - gradient
        x, value, gradient = x + s, new, new_gradient
        curvature = float(s @ change)
        if curvature > 1e-12 * float(s @ s):
            Hc = H @ change
            H = H + (1.0 + change @ Hc / curvature) / curvature * np.outer(s, s)
            H -= (np.outer(Hc, s) + np.outer(s, Hc)) / curvature
    return x, max_iter, False


def _to_zero(objective: _Objective, x: np.ndarray) -> np.ndarray:
    """Standard deviations that are about zero are zero, if that is as likely.

    The likelihood has no slope there, so that steps end early.
    """
    starts = [np.zeros(0), *(t.start() for t in objective.problem.terms)]
    value = objective(x)[0]
    theta, _ = objective.parameters(x)
    for j in np.flatnonzero(np.concatenate(starts)):
        if 0.0 < abs(theta[j]) < _NEAR_ZERO:
            trial = x.copy()
            trial[j] = -objective.origin[0][j] / objective.unit[j]
            new = objective(trial)[0]
            if new <= value + _AS_LIKELY:
                x, value = trial, new
    return x


def _polish(objective: _Objective, x: np.ndarray) -> tuple[np.ndarray, Any]:
    """The curvature at x, if it is one of a minimum, and Newton's step from there."""
    value, gradient = objective(x)
    rows = []
    for j in range(len(x)):
        moved = x.copy()
        moved[j] += _DIFFERENCE
        rows.append((objective(moved)[1] - gradient) / _DIFFERENCE)
    H = np.reshape(rows, (len(x), len(x)))
    H = (H + H.T) / 2.0
    try:
        factor = sl.cho_factor(H, lower=True)
    except (sl.LinAlgError, ValueError):
        return x, None
    step = -sl.cho_solve(factor, gradient)
    if objective(x + step)[0] <= value:
        x = x + step
    return x, H


def _finish(
    problem: LaplaceProblem,
    objective: _Objective,
    x: np.ndarray,
    H: Any,
    converged: bool,
    n_iter: int,
) -> LaplaceFit:
    """The model at x."""
    theta, _ = objective.parameters(x)
    value, _ = objective(x)
    T = split_theta(problem.terms, theta)
    at_end = objective.effects
    size, m = problem.pattern.size, objective.n_theta
    if H is None:
        # given the covariances; with few parameters, theirs is taken into account
        joint = find_modes(problem, T, at_end, free_fixed=True)
        covariance = invert(problem, joint).dense[size:, size:]
    else:
        # of x, half the curvature of -2 log likelihood is the information
        mine = np.linalg.inv(H / 2.0)[m:, m:]
        root = np.zeros((0, 0))
        if len(mine):
            root = sl.solve_triangular(objective.root, np.eye(len(mine)), lower=True)
        covariance = root.T @ mine @ root
    if not np.isfinite(covariance).all():
        covariance = np.diag(np.full(objective.n_fixed, _NOT_KNOWN))
    modes = find_modes(problem, T, at_end)
    return LaplaceFit(
        theta,
        T,
        modes.effects,
        value,
        covariance,
        modes,
        converged,
        n_iter,
    )
