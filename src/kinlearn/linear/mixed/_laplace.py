r"""Laplace's approximation of generalised mixed models, with its gradient.

The linear predictor is :math:`\eta = o + X\beta + \sum_t Z_t T_t u_t` with
:math:`u_t \sim N(0, I)`. With the mode :math:`\hat u` of
:math:`h(u) = 2\,\mathrm{nll}(\eta) + \|u\|^2`, minus twice the log likelihood is about

.. math:: f = h(\hat u) + \log\det(I + A^\top W A), \qquad A = [Z_t T_t]

with W the second derivatives of nll, the negative log likelihood, by :math:`\eta`. Links
are canonical, so that Newton's method on the convex h finds the mode.

Equations of the largest term fall apart into one for each level, and these are eliminated one by
one; what they leave to other terms (and to fixed effects) is one dense matrix.

The gradient uses :math:`\partial \log\det / \partial \eta_i = W'_i\, a_i^\top P a_i`, P
the inverse of the matrix, and that the mode moves with the parameters:
:math:`d\hat u = -P\, d(A^\top \mathrm{nll}' + u)`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.linalg as sl
import scipy.sparse as sp

from kinlearn._kernels.linear._laplace import (
    add_effects,
    family_terms,
    multiply_rows,
    solve_levels,
    sum_entries,
    sum_products,
    sum_scores,
)
from kinlearn._kernels.linear._levels import (
    add_entries,
    divide_back,
    factor_levels,
    inverse_levels,
    subtract_levels,
)
from kinlearn.linear.mixed._fixed_columns import FixedColumns
from kinlearn.linear.mixed._terms import Term

__all__ = ["Effects", "LaplaceProblem", "Modes", "Pattern", "find_modes", "laplace"]

_MAX_STEPS = 100
_MAX_HALVINGS = 30
# Newton's method squares its error: after a step that promises less, it is rounding.
_SMALL_STEP = 1e-9


@dataclass(frozen=True, eq=False)
class Pattern:
    """Which effects a row has, in the order in which they are eliminated.

    Attributes
    ----------
    first : int
        The term whose levels are eliminated first: the one with the most effects.
    rest : list of int
        The other terms.
    codes : int32 array of shape (n,)
        Levels of the first term.
    base : list of int
        Place of each rest term's first effect.
    size : int
        Effects of the rest.
    place, entry : int32 arrays of shape (n, K)
        Where a row's rest effects are, and their cross products with its level.
    indptr, entry_place : intp arrays
        Boundaries of the levels in the entries, and the entries' places.
    """

    first: int
    rest: list[int]
    codes: np.ndarray
    base: list[int]
    size: int
    place: np.ndarray
    entry: np.ndarray
    indptr: np.ndarray
    entry_place: np.ndarray

    @classmethod
    def of_rows(cls, terms: Sequence[Term], codes: Sequence[np.ndarray]) -> "Pattern":
        """The pattern of rows, from their levels by term."""
        effects = [t.n_levels * t.width for t in terms]
        first = int(np.argmax(effects)) if effects else -1
        rest = [k for k in range(len(terms)) if k != first]
        ends = np.cumsum([0] + [effects[k] for k in rest])
        base, size = ends[:-1].tolist(), int(ends[-1])
        one, n = np.asarray(codes[first], dtype=np.int64), len(codes[first])
        keys = [
            one * size + b + codes[k].astype(np.int64) * terms[k].width
            for k, b in zip(rest, base, strict=True)
        ]
        found, pair = np.unique(np.concatenate(keys or [one[:0]]), return_inverse=True)
        level, begin = np.divmod(found, max(size, 1))
        of_place = np.zeros(size + 1, dtype=np.int64)
        for k, b, end in zip(rest, base, ends[1:], strict=True):
            of_place[b:end] = terms[k].width
        width = of_place[begin]
        start = np.concatenate([[0], np.cumsum(width)])
        indptr = np.zeros(terms[first].n_levels + 1, dtype=np.intp)
        np.add.at(indptr, level + 1, width)
        inner = np.arange(start[-1]) - np.repeat(start[:-1], width)
        place, entry = [], []
        for j, k in enumerate(rest):
            mine = pair[j * n : (j + 1) * n]
            columns = np.arange(terms[k].width)
            place.append(begin[mine][:, None] + columns)
            entry.append(start[mine][:, None] + columns)
        none = np.zeros((n, 0), dtype=np.int64)
        return cls(
            first,
            rest,
            np.ascontiguousarray(codes[first], dtype=np.int32),
            base,
            size,
            np.ascontiguousarray(np.hstack([none, *place]), dtype=np.int32),
            np.ascontiguousarray(np.hstack([none, *entry]), dtype=np.int32),
            np.cumsum(indptr),
            (np.repeat(begin, width) + inner).astype(np.intp),
        )


@dataclass(frozen=True, eq=False)
class LaplaceProblem:
    """A generalised mixed model and its rows.

    Attributes
    ----------
    family : int
        0 is Bernoulli with the logit link, 1 is Poisson with the log link.
    y, weight, offset : float64 arrays of shape (n,)
        Targets, weights of the rows, and what is added to the linear predictor.
    fixed : FixedColumns
        Columns of the fixed effects.
    ridge : float64 array of shape (p,)
        Penalty of the square of each fixed effect, on the scale of -2 log likelihood.
    terms : list of Term
        Random terms.
    Z : list of float64 arrays of shape (n, q)
        Columns of each term.
    codes : list of int32 arrays of shape (n,)
        Levels of each term.
    """

    family: int
    y: np.ndarray
    weight: np.ndarray
    offset: np.ndarray
    fixed: FixedColumns
    ridge: np.ndarray
    terms: list[Term]
    Z: list[np.ndarray]
    codes: list[np.ndarray]

    @cached_property
    def pattern(self) -> Pattern:
        """Which effects a row has."""
        return Pattern.of_rows(self.terms, self.codes)

    def values(self, T: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """The rows' values of the effects: of the first term, and of the rest."""
        pattern, n = self.pattern, len(self.y)
        A = self.Z[pattern.first] @ T[pattern.first]
        rest = [self.Z[k] @ T[k] for k in pattern.rest]
        return np.ascontiguousarray(A), np.ascontiguousarray(
            np.hstack([np.zeros((n, 0)), *rest])
        )


@dataclass(frozen=True, eq=False)
class Effects:
    """Values of all effects.

    Attributes
    ----------
    u : float64 array of shape (n_levels, r)
        Of the first term.
    d : float64 array of shape (size,)
        Of the rest.
    beta : float64 array of shape (p,)
        Fixed effects.
    """

    u: np.ndarray
    d: np.ndarray
    beta: np.ndarray

    @classmethod
    def zeros(cls, problem: LaplaceProblem) -> "Effects":
        """No effects."""
        first = problem.terms[problem.pattern.first]
        return cls(
            np.zeros((first.n_levels, first.width)),
            np.zeros(problem.pattern.size),
            np.zeros(problem.fixed.n_columns),
        )

    def plus(self, step: "Effects", length: float) -> "Effects":
        """These effects and a multiple of others."""
        return Effects(
            self.u + length * step.u,
            self.d + length * step.d,
            self.beta + length * step.beta,
        )

    def by_term(self, problem: LaplaceProblem) -> list[np.ndarray]:
        """Effects as (n_levels, width), in the order of the terms."""
        out: list[Any] = [None] * len(problem.terms)
        pattern = problem.pattern
        out[pattern.first] = self.u
        for k, b in zip(pattern.rest, pattern.base, strict=True):
            term = problem.terms[k]
            end = b + term.n_levels * term.width
            out[k] = self.d[b:end].reshape(term.n_levels, term.width)
        return out


@dataclass(eq=False)
class Modes:
    """The mode for some T, and the factored equations there.

    Attributes
    ----------
    effects : Effects
        The mode.
    A, B : float64 arrays of shapes (n, r) and (n, K)
        The rows' values of the effects.
    slope, curve, bend : float64 arrays of shape (n,)
        Derivatives of the rows' negative log likelihood by the linear predictor.
    nll, penalised : float
        Negative log likelihood; twice that plus the penalties.
    root, R, V, D : float64 arrays
        Lower roots of the levels, divided columns of the fixed effects and of entries, and
        the lower root of what is left.
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
    sum_products(
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
    log_det = factor_levels(M, R, V, pattern.indptr)
    if p:
        flat = R.reshape(L * r, p + 1)
        D[size:, size:] -= flat.T @ flat
    subtract_levels(R, V, pattern.indptr, pattern.entry_place, size, D)
    root = D[:total, :total]
    if total:
        root = sl.cholesky(root, lower=True, check_finite=False)
    modes.log_det = log_det + 2.0 * np.log(np.diag(root)[:size]).sum()
    modes.root, modes.R, modes.V, modes.D = M, R, V, root
    return score, Effects(score.u, D[total, :size], D[total, size:total])


def _score(problem: LaplaceProblem, modes: Modes) -> Effects:
    """Minus half the gradient of the penalised likelihood by all effects."""
    pattern, effects = problem.pattern, modes.effects
    u, d = -effects.u, -effects.d
    sum_scores(
        pattern.codes, modes.A, pattern.place, modes.B, -modes.slope, u, d
    )
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
    A, B = problem.values(T)
    three = [np.empty(len(problem.y)) for _ in range(3)]
    modes = Modes(start, A, B, *three)
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
        gain = (score.u * step.u).sum() + score.d @ step.d
        if modes.n_fixed:
            gain += score.beta @ step.beta
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
class Inverse:
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
    """

    own: np.ndarray
    fixed: np.ndarray
    entries: np.ndarray
    dense: np.ndarray
    U: np.ndarray


def invert(problem: LaplaceProblem, modes: Modes) -> Inverse:
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
    return Inverse(own, fixed, entries, dense, U)


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
    add_effects(
        pattern.codes, modes.A, moved.u, pattern.place, modes.B, moved.d, along
    )
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
    problem: LaplaceProblem, modes: Modes, inverse: Inverse, u: np.ndarray, d: np.ndarray
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
