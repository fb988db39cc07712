r"""Laplace's approximation of generalised mixed models, with its gradient.

The linear predictor is :math:`\eta = o + X\beta + \sum_t Z_t T_t u_t` with
:math:`u_t \sim N(0, I)`. With the mode :math:`\hat u` of
:math:`h(u) = 2\,\mathrm{nll}(\eta) + \|u\|^2`, minus twice the log likelihood is about

.. math:: f = h(\hat u) + \log\det(I + A^\top W A), \qquad A = [Z_t T_t]

with W the second derivatives of nll, the negative log likelihood, by :math:`\eta`.
Links are canonical, so that Newton's method on the convex h finds the mode.

The gradient uses :math:`\partial \log\det / \partial \eta_i = W'_i\, a_i^\top P a_i`, P
the inverse of the matrix, and that the mode moves with the parameters:
:math:`d\hat u = -P\, d(A^\top \mathrm{nll}' + u)`.
"""

from collections.abc import Sequence

import numpy as np

from kinlearn._kernels.linear._laplace import (
    add_effects,
    multiply_rows,
    solve_levels,
    sum_entries,
    sum_scores,
)
from kinlearn._kernels.linear._levels import add_entries
from kinlearn.linear.mixed.laplace._modes import Modes, RowInverse, find_modes, invert
from kinlearn.linear.mixed.laplace._rows import Effects, LaplaceProblem

__all__ = ["laplace"]


def laplace(
    problem: LaplaceProblem, T: Sequence[np.ndarray], start: Effects
) -> tuple[float, list[np.ndarray], np.ndarray, Modes]:
    """Minus twice the log likelihood by Laplace's approximation, and its gradient.

    Parameters
    ----------
    problem : LaplaceProblem
        The model and its rows.
    T : list of float64 arrays of shape (q, r)
        Roots of the terms' covariances.
    start : Effects
        The fixed effects, and random ones to begin from.

    Returns
    -------
    value : float
        Without constants of the family; infinity where it overflows.
    by_T : list of float64 arrays of shape (q, r)
        Gradient by the cells of T.
    by_beta : float64 array of shape (p,)
        Gradient by the fixed effects.
    modes : Modes
        The mode.
    """
    modes = find_modes(problem, T, start)
    if not modes.converged:
        return np.inf, [], np.zeros(0), modes
    pattern, n = problem.pattern, len(problem.y)
    inverse = invert(problem, modes)
    PA, PB = np.empty_like(modes.A), np.empty_like(modes.B)
    leverage = np.empty(n)
    multiply_rows(
        pattern.codes,
        modes.A,
        pattern.place,
        pattern.entry,
        modes.B,
        inverse.own,
        inverse.entries,
        inverse.dense,
        PA,
        PB,
        leverage,
    )
    # how the log determinant moves the mode: v = P A' (W' leverage)
    pull = modes.bend * leverage
    v, w = np.zeros_like(modes.effects.u), np.zeros(pattern.size)
    sum_scores(pattern.codes, modes.A, pattern.place, modes.B, pull, v, w)
    moved = _solve(problem, modes, inverse, v, w)
    along = np.zeros(n)
    add_effects(pattern.codes, modes.A, moved.u, pattern.place, modes.B, moved.d, along)
    by_eta = 2.0 * modes.slope + pull - modes.curve * along
    beta = modes.effects.beta
    by_beta = problem.fixed.sums(by_eta) + 2.0 * problem.ridge * beta
    return (
        modes.penalised + modes.log_det,
        _by_T(problem, modes, moved, by_eta, [PA, PB]),
        by_beta,
        modes,
    )


def _solve(
    problem: LaplaceProblem,
    modes: Modes,
    inverse: RowInverse,
    u: np.ndarray,
    d: np.ndarray,
) -> Effects:
    """The inverse of the random effects' equations times a vector."""
    pattern = problem.pattern
    left = -d
    sum_entries(inverse.U, pattern.indptr, pattern.entry_place, u, left)
    d = -(inverse.dense @ left)
    u = u.copy()
    solve_levels(modes.root, u)
    add_entries(inverse.U, pattern.indptr, pattern.entry_place, -d, u)
    return Effects(u, d, np.zeros(0))


def _by_T(
    problem: LaplaceProblem,
    modes: Modes,
    moved: Effects,
    by_eta: np.ndarray,
    products: list[np.ndarray],
) -> list[np.ndarray]:
    """Gradient by the cells of T, term by term."""
    pattern = problem.pattern
    effects, moves = modes.effects.by_term(problem), moved.by_term(problem)
    twice, slope = 2.0 * modes.curve[:, None], modes.slope[:, None]
    begin, out = 0, []
    for k, term in enumerate(problem.terms):
        if k == pattern.first:
            mine = products[0]
        else:
            mine = products[1][:, begin : begin + term.width]
            begin += term.width
        codes = problem.codes[k]
        Q = by_eta[:, None] * effects[k][codes] + twice * mine
        Q -= slope * moves[k][codes]
        out.append(problem.Z[k].T @ Q)
    return out
