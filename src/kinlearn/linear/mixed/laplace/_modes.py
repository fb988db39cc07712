"""The most likely effects of given covariances, and the equations there.

Equations of the term with the most effects fall apart into one for each level, and
these are eliminated one by one; what they leave to other terms and to fixed effects is
one dense matrix.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from kinlearn._kernels.linear._laplace import (
    add_effects,
    family_terms,
    sum_row_products,
    sum_scores,
)
from kinlearn._kernels.linear._levels import (
    add_entries,
    divide_back,
    factor_levels,
    inverse_levels,
    subtract_levels,
)
from kinlearn.linear.mixed.laplace._rows import Effects, LaplaceProblem

__all__ = ["Modes", "RowInverse", "find_modes", "invert"]

_MAX_STEPS = 100
_MAX_HALVINGS = 30
# Newton's method squares its error: after a step that promises less, it is rounding.
_SMALL_STEP = 1e-9


@dataclass(eq=False)
class Modes:
    """The mode for some T, and the factored equations there.

    Attributes
    ----------
    effects : Effects
        The mode.
    A, B : float64 arrays of shapes (n, r) and (n, K)
        The rows' values of the effects.
    eta : float64 array of shape (n,)
        The rows' linear predictors.
    slope, curve, bend : float64 arrays of shape (n,)
        Derivatives of the rows' negative log likelihood by the linear predictor.
    nll, penalised : float
        Negative log likelihood; twice that plus the penalties.
    root, R, V, D : float64 arrays
        Lower roots of the levels, divided columns of the fixed effects and of entries,
        and the lower root of what is left.
    log_det : float
        Of the equations of the random effects.
    n_fixed : int
        Fixed effects that are part of the equations: all, or none.
    n_steps : int
        Steps taken.
    converged : bool
        Whether the last step was small.
    """

    effects: Effects
    A: np.ndarray
    B: np.ndarray
    eta: np.ndarray
    slope: np.ndarray
    curve: np.ndarray
    bend: np.ndarray
    nll: float = np.inf
    penalised: float = np.inf
    root: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    R: np.ndarray = field(default_factory=lambda: np.zeros((0, 0, 0)))
    V: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    D: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))
    log_det: float = np.nan
    n_fixed: int = 0
    n_steps: int = 0
    converged: bool = False


def _evaluate(problem: LaplaceProblem, modes: Modes, effects: Effects) -> None:
    """Set likelihood and derivatives at some effects."""
    pattern = problem.pattern
    eta = problem.offset + problem.fixed.dot(effects.beta)
    add_effects(
        pattern.codes, modes.A, effects.u, pattern.place, modes.B, effects.d, eta
    )
    modes.eta = eta
    modes.nll = family_terms(
        problem.family,
        eta,
        problem.y,
        problem.weight,
        modes.slope,
        modes.curve,
        modes.bend,
    )
    modes.effects = effects
    modes.penalised = (
        2.0 * modes.nll
        + (effects.u**2).sum()
        + effects.d @ effects.d
        + problem.ridge @ effects.beta**2
    )


def _factor(problem: LaplaceProblem, modes: Modes) -> tuple[Effects, Effects]:
    """Factor the equations; returns the score, and what is left of it in the end."""
    pattern, (L, r), p = problem.pattern, modes.effects.u.shape, modes.n_fixed
    size, total = pattern.size, pattern.size + p
    M = np.zeros((L, r, r))
    M[:, range(r), range(r)] = 1.0
    V = np.zeros((len(pattern.entry_place), r))
    D = np.zeros((total + 1, total + 1))
    D[range(size), range(size)] = 1.0
    R = np.zeros((L, r, p + 1))
    sum_row_products(
        pattern.codes,
        modes.A,
        pattern.place,
        pattern.entry,
        modes.B,
        modes.curve,
        M,
        V,
        D,
    )
    score = _score(problem, modes)
    R[:, :, p] = score.u
    D[total, :size] = score.d
    if p:
        fixed = problem.fixed
        R[:, :, :p] = fixed.by_level(pattern.codes, L, modes.A, modes.curve)
        D[size:total, size:total] = fixed.gram(modes.curve) + np.diag(problem.ridge)
        D[total, size:total] = score.beta
        if size:
            S = _rest_matrix(problem, modes.B)
            D[size:total, :size] = fixed.by_place(S, modes.curve).T
    before = np.diag(D)[:total].copy()
    log_det = factor_levels(M, R, V, pattern.indptr)
    if p:
        flat = R.reshape(L * r, p + 1)
        D[size:, size:] -= flat.T @ flat
    subtract_levels(R, V, pattern.indptr, pattern.entry_place, size, D)
    root = D[:total, :total]
    if total:
        root = _lower_root(root, before)
    modes.log_det = log_det + 2.0 * np.log(np.diag(root)[:size]).sum()
    modes.root, modes.R, modes.V, modes.D = M, R, V, root
    return score, Effects(score.u, D[total, :size], D[total, size:total])


def _lower_root(D: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Cholesky's root of what is left, of diagonals that had some size before.

    Rounding, of that size, may leave less than nothing of a column that others explain.
    """
    for rounding in (0.0, 1e-14, 1e-12, 1e-10, 1e-8, 1e-6):
        try:
            return sl.cholesky(
                D + np.diag(rounding * size + (rounding > 0.0) * 1e-12),
                lower=True,
                check_finite=False,
            )
        except sl.LinAlgError:
            continue
    return np.full_like(D, np.nan)


def _score(problem: LaplaceProblem, modes: Modes) -> Effects:
    """Minus half the gradient of the penalised likelihood by all effects."""
    pattern, effects = problem.pattern, modes.effects
    u, d = -effects.u, -effects.d
    sum_scores(pattern.codes, modes.A, pattern.place, modes.B, -modes.slope, u, d)
    if not modes.n_fixed:
        return Effects(u, d, np.zeros(0))
    beta = -problem.fixed.sums(modes.slope) - problem.ridge * effects.beta
    return Effects(u, d, beta)


def _rest_matrix(problem: LaplaceProblem, B: np.ndarray) -> Any:
    """Values of the rest effects as a sparse matrix (n, size)."""
    pattern = problem.pattern
    n, K = B.shape
    indptr = np.arange(n + 1) * K
    return sp.csr_array(
        (B.ravel(), pattern.place.ravel(), indptr), shape=(n, pattern.size)
    )


def _newton_step(problem: LaplaceProblem, modes: Modes, left: Effects) -> Effects:
    """Solve the factored equations for the score."""
    pattern, p = problem.pattern, modes.n_fixed
    rest = np.concatenate([left.d, left.beta])
    if len(rest):
        rest = sl.cho_solve((modes.D, True), rest, check_finite=False)
    d, beta = rest[: pattern.size], rest[pattern.size :]
    # the levels' own: root^-T (R_score - V d - R_fixed beta)
    x = modes.R[:, :, p] - modes.R[:, :, :p] @ beta if p else modes.R[:, :, 0].copy()
    add_entries(modes.V, pattern.indptr, pattern.entry_place, -d, x)
    x = np.ascontiguousarray(x)[:, :, None]
    divide_back(modes.root, x, np.zeros((0, x.shape[1])), np.zeros_like(pattern.indptr))
    if not p:
        beta = np.zeros_like(modes.effects.beta)
    return Effects(x[:, :, 0], d, beta)


def find_modes(
    problem: LaplaceProblem,
    T: Sequence[np.ndarray],
    start: Effects,
    *,
    free_fixed: bool = False,
) -> Modes:
    """The most likely effects, by Newton's method with halved steps.

    Parameters
    ----------
    problem : LaplaceProblem
        The model and its rows.
    T : list of float64 arrays of shape (q, r)
        Roots of the terms' covariances.
    start : Effects
        Where to begin.
    free_fixed : bool, default=False
        Whether fixed effects are sought too; they stay as they are otherwise.

    Returns
    -------
    Modes
        The mode and the factored equations there.
    """
    modes = _newton(problem, T, start, free_fixed)
    if not modes.converged:
        # effects of other covariances may be far from these
        modes = _newton(problem, T, start.without_random, free_fixed)
    return modes


def _newton(
    problem: LaplaceProblem, T: Sequence[np.ndarray], start: Effects, free_fixed: bool
) -> Modes:
    """Newton's method from one start."""
    A, B = problem.values(T)
    eta, slope, curve, bend = np.empty((4, len(problem.y)))
    modes = Modes(start, A, B, eta, slope, curve, bend)
    modes.n_fixed = len(start.beta) if free_fixed else 0
    _evaluate(problem, modes, start)
    if not np.isfinite(modes.penalised):
        return modes
    for n_steps in range(1, _MAX_STEPS + 1):
        modes.n_steps = n_steps
        score, left = _factor(problem, modes)
        if modes.converged:
            return modes
        step = _newton_step(problem, modes, left)
        gain = float((score.u * step.u).sum() + score.d @ step.d)
        if modes.n_fixed:
            gain += float(score.beta @ step.beta)
        if not np.isfinite(gain):
            break
        taken = _take_step(problem, modes, step)
        rounding = _SMALL_STEP * (1.0 if taken else 1.0 + abs(modes.penalised))
        modes.converged = gain < rounding
        if not taken and not modes.converged:
            break
    return modes


def _take_step(problem: LaplaceProblem, modes: Modes, step: Effects) -> bool:
    """Take a step, or the half, quarter ... of it that is no step up, if one is."""
    old, before = modes.effects, modes.penalised
    slack = 1e-12 * (1.0 + abs(before))
    length = 1.0
    for _ in range(_MAX_HALVINGS):
        _evaluate(problem, modes, old.plus(step, length))
        if modes.penalised <= before + slack:
            return True
        length /= 2.0
    _evaluate(problem, modes, old)
    return False


@dataclass(frozen=True, eq=False)
class RowInverse:
    """The parts of the inverse of the equations that belong to effects that meet.

    Attributes
    ----------
    own : float64 array of shape (n_levels, r, r)
        Between effects of a level of the first term.
    fixed : float64 array of shape (n_levels, r, p)
        Between such a level and the fixed effects, if they are in the equations.
    entries : float64 array of shape (n_entries, r)
        Between a level and the rest effects that it meets.
    dense : float64 array of shape (size + p, size + p)
        Between rest and fixed effects.
    U : float64 array of shape (n_entries, r)
        Cross products with the rest, divided by those of the level.
    """

    own: np.ndarray
    fixed: np.ndarray
    entries: np.ndarray
    dense: np.ndarray
    U: np.ndarray


def invert(problem: LaplaceProblem, modes: Modes) -> RowInverse:
    """Invert the factored equations, as far as effects meet."""
    pattern, p = problem.pattern, modes.n_fixed
    L, r = modes.effects.u.shape
    W = np.ascontiguousarray(modes.R[:, :, :p])
    U = modes.V.copy()
    divide_back(modes.root, W, U, pattern.indptr)
    dense = modes.D
    if len(dense):
        half, _ = sl.lapack.dpotri(dense, lower=True)
        dense = np.ascontiguousarray(half + np.tril(half, -1).T)
    own = np.empty((L, r, r))
    entries = np.empty_like(U)
    size = pattern.size
    fixed = np.ascontiguousarray(-W @ dense[size:, size:])
    inverse_levels(
        modes.root,
        W,
        U,
        pattern.indptr,
        pattern.entry_place,
        dense,
        size,
        own,
        fixed,
        entries,
    )
    return RowInverse(own, fixed, entries, dense, U)
