"""A block of rows of SVM+: moves, Newton steps and interior points.

Moves change a few variables at a time and need very many steps when the problem is
ill conditioned (a small `correction_penalty`, a large C, smooth correcting kernels).
Newton steps over the variables above 0 end that, if these are the right ones. If not,
the interior-point method takes some twenty factorisations whatever the conditioning
is. It ends near the optimum with all variables above 0: those that are small against
their price become 0, and Newton steps and moves end exactly.
"""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from kinlearn._kernels.svm._plus import descend
from kinlearn.svm.solvers._interior import MAX_STEPS, InteriorPoint

__all__ = ["Block"]

_MOVES = 10  # for each row, before Newton steps are tried: they cost as much as one
_FEW, _MANY = 4, 25  # Newton steps before and after the interior-point method
# Of the mean curvature, added to the diagonal so that singular systems can be solved:
# that of Newton steps is not corrected by later ones, and stands alone without prices.
_NEWTON_RIDGE, _INTERIOR_RIDGE = 1e-11, 1e-13
# Complementarity and residual to end at, relative to the start: what Newton steps
# then find above 0 is right.
_GAP = 1e-9
_INSIDE = 1e-9  # of the largest sum: less than that leaves no inside
# Groups from so many rows on have factors of a lower rank, where kernels are smooth:
# exact to so much of the diagonal, since slopes go by the matrix itself.
_LOW_RANK_FROM = 600
_RANK_TOL = 1e-12


@dataclass
class Block:
    """The dual over some rows, the others being fixed.

    Attributes
    ----------
    Q, R : float64 arrays of shape (k, k)
        The two quadratic forms, R being 0 between groups.
    z : float64 array of shape (k,)
        Signs.
    group : int32 array of shape (k,)
        Groups, ascending, counted from 0 within the block.
    F, H : float64 arrays of shape (k,), changed
        Parts of the gradient, which is F + H in a and H in b.
    a, b : float64 arrays of shape (k,), changed
        Variables, which meet the constraints.
    n_factors : int
        Newton and interior-point steps taken.
    """

    Q: np.ndarray
    R: np.ndarray
    z: np.ndarray
    group: np.ndarray
    F: np.ndarray
    H: np.ndarray
    a: np.ndarray
    b: np.ndarray
    n_factors: int = 0

    def solve(self, tol: float, most: int) -> int:
        """Lower the objective, to a violation of `tol` or for about `most` moves.

        Parameters
        ----------
        tol : float
            Violation to end at.
        most : int
            Moves at the most.

        Returns
        -------
        int
            Moves and steps made; 0 if nothing lowers the objective.
        """
        limit = min(_MOVES * len(self.z), most)
        n_iter, violation = self._moves(tol, limit)
        if violation > tol and n_iter == limit < most:
            n_steps, ended = self.newton(_FEW)
            if not ended:
                n_steps += self.leap()
                if self._moves(tol, 0)[1] > tol:
                    n_steps += self.newton(_MANY)[0]
            n_iter += n_steps
        return n_iter

    def _moves(self, tol: float, most: int) -> tuple[int, float]:
        """Moves made, and the violation that is left."""
        gradients, variables = (self.F, self.H), (self.a, self.b)
        return descend(
            self.Q, self.R, self.z, self.group, *gradients, *variables, tol, most
        )

    def _move_to(self, a: np.ndarray, b: np.ndarray, only_down: bool = False) -> bool:
        """Take new variables, if need be only where they lower the objective."""
        by_a, by_u = a - self.a, a - self.a + (b - self.b)
        by_F, by_H = self.Q @ by_a, self.R @ by_u
        if only_down:
            change = (self.F + 0.5 * by_F) @ by_a + (self.H + 0.5 * by_H) @ by_u
            if not change < 0:
                return False
        self.a[:], self.b[:] = a, b
        self.F += by_F
        self.H += by_H
        return True

    # ---------------------------------------------------------- Newton steps

    def newton(self, most: int) -> tuple[int, bool]:
        """Minimise over the variables above 0, with their number falling on the way.

        Returns the number of steps, and whether they ended at a minimum.
        """
        for step in range(most):
            rows_a, rows_b = np.flatnonzero(self.a > 0), np.flatnonzero(self.b > 0)
            n_a, rows = len(rows_a), np.concatenate([rows_a, rows_b])
            P = self.R[np.ix_(rows, rows)]
            P[:n_a, :n_a] += self.Q[np.ix_(rows_a, rows_a)]
            gradient = self.H[rows]
            gradient[:n_a] += self.F[rows_a]
            group = self.group[rows]
            fixed = (np.unique(group)[:, None] == group).astype(np.float64)
            if n_a:
                signs = np.zeros(len(rows))
                signs[:n_a] = self.z[rows_a]
                fixed = np.vstack([fixed, signs])
            self.n_factors += 1
            change = _constrained_minimum(P, gradient, fixed)
            if change is None or not gradient @ change < 0:
                return step, False
            x = np.concatenate([self.a[rows_a], self.b[rows_b]])
            with np.errstate(divide="ignore", invalid="ignore"):
                length_to_0 = np.where(change < 0, -x / change, np.inf)
            first = np.argmin(length_to_0)
            length = min(1.0, length_to_0[first])
            new = np.maximum(x + length * change, 0.0)
            if length < 1.0:
                new[first] = 0.0
            a, b = self.a.copy(), self.b.copy()
            a[rows_a], b[rows_b] = new[:n_a], new[n_a:]
            self._move_to(a, b)
            if length == 1.0:
                return step + 1, True
        return most, False

    # ------------------------------------------------------- interior points

    def leap(self) -> bool:
        """Go near the minimum, if that is found and lower; return whether it was."""
        found = self.near_optimum()
        return found is not None and self._move_to(found[0], found[1], only_down=True)

    def near_optimum(self) -> np.ndarray | None:
        """A point near the minimum, which meets the constraints: (2, k), a and b.

        None if no point lies inside of the constraints, or none is found.
        """
        system = _BlockSystem(self)
        total = system.total
        if not self._has_inside(total):
            return None
        x = np.full((2, len(self.z)), total[:-1].sum() / (2 * len(self.z)))
        slope = np.abs(system.slope(x))
        if not np.isfinite(slope).all():
            return None
        price = np.full(x.shape, max(slope.mean(), 1e-12))
        point = InteriorPoint(system, x, price)
        mu, small, former = _GAP * point.mu, _GAP * slope.max(), np.inf
        for _ in range(MAX_STEPS):
            residual = np.abs(point.residual).max()
            # a residual that does not fall any more is one of rounding
            if point.mu <= mu and (residual <= small or residual >= former):
                break
            former = residual
            self.n_factors += 1
            if not point.step():  # as near as rounding allows
                break
        x, (price,) = point.x, point.prices
        x[x / x.max() < price / price.max()] = 0.0
        flat, rows = x.ravel(), system.fixed.reshape(len(total), -1)
        back = scipy.linalg.lstsq(rows * flat, total - rows @ flat, check_finite=False)
        flat += flat * back[0]  # what was cut off goes to the others, by their size
        return x if (flat >= 0).all() else None  # NaN, too

    def _has_inside(self, total: np.ndarray) -> bool:
        """Whether all variables can be above 0."""
        sums, sign = total[:-1], total[-1]
        scale = sums.max()
        if sums.min() <= _INSIDE * scale:
            return False
        one_class = self.z.min() == self.z.max()
        return not one_class or abs(sign) > _INSIDE * scale


def _constrained_minimum(
    P: np.ndarray, gradient: np.ndarray, fixed: np.ndarray
) -> np.ndarray | None:
    """Minimise 1/2 x'Px + gradient'x with fixed x = 0; None if that fails."""
    n = len(gradient)
    P = P + _NEWTON_RIDGE * max(np.trace(P) / n, 1e-300) * np.eye(n)
    try:
        factor = scipy.linalg.cho_factor(P, check_finite=False)
    except scipy.linalg.LinAlgError:  # not positive definite
        return None
    both = scipy.linalg.cho_solve(factor, np.column_stack([gradient, fixed.T]))
    plain, by_fixed = both[:, 0], both[:, 1:]
    price = scipy.linalg.lstsq(fixed @ by_fixed, fixed @ plain)[0]
    change = by_fixed @ price - plain
    # near singular systems leave the constraints by rounding: go back to them
    change -= fixed.T @ scipy.linalg.lstsq(fixed @ fixed.T, fixed @ change)[0]
    return change if np.isfinite(change).all() else None


class _BlockSystem:
    """A block as a `NewtonSystem` in x = (a, b), of shape (2, k).

    The form is 1/2 a'Qa + 1/2 u'Ru with u = a + b; what stays is the sum of u in each
    group, and z'a. Newton systems are solved for a and u, which is eliminated group by
    group. In these the matrix is (Q + V + W, -W; -W, R + W), with the weights V of a
    and W of b on diagonals. What u leaves to a, W - W (R + W)^-1 W, is written as
    R - R (R + W)^-1 R, which keeps its digits where W is large.
    """

    n_corrections = 0

    def __init__(self, block: Block) -> None:
        self.Q, self.R = block.Q, block.R
        cuts = [0, *(np.flatnonzero(np.diff(block.group)) + 1), len(block.group)]
        self.groups = [slice(i, j) for i, j in itertools.pairwise(cuts)]
        self.roots = [_root(self.R[rows, rows]) for rows in self.groups]
        members = (np.unique(block.group)[:, None] == block.group).astype(np.float64)
        signs = np.stack([block.z, np.zeros(len(block.z))])
        self.fixed = np.concatenate([np.stack([members] * 2, axis=1), signs[None]])
        self.columns = np.moveaxis(self.fixed, 0, -1)
        start = np.stack([block.a, block.b])
        self.total = np.tensordot(self.fixed, start)
        self.linear = np.stack([block.F + block.H, block.H]) - self._times(start)
        self.multipliers = np.zeros(len(self.fixed))

    def _times(self, x: np.ndarray) -> np.ndarray:
        """The form's matrix times x."""
        from_u = self.R @ (x[0] + x[1])
        return np.stack([self.Q @ x[0] + from_u, from_u])

    def slope(self, x: np.ndarray) -> np.ndarray:
        return self._times(x) + self.linear - self.columns @ self.multipliers

    def factor(self, x: np.ndarray, weight: np.ndarray, mu: float) -> None:
        self.weight = weight
        S = self.Q.copy()
        self.inner = []
        for rows, root in zip(self.groups, self.roots, strict=True):
            R = self.R[rows, rows]
            lower = _cholesky(R, weight[1, rows])
            if root is None:
                half = _solve_lower(lower, R)
                S[rows, rows] += R - half.T @ half
            else:  # G (I + G'W^-1 G)^-1 G' for R = GG'
                scaled = root / np.sqrt(weight[1, rows])[:, None]
                half = _solve_lower(
                    _cholesky(scaled.T @ scaled, np.ones(root.shape[1])), root.T
                )
                S[rows, rows] += half.T @ half
            self.inner.append(lower)
        self.lower = _cholesky(S, weight[0])
        self.by_fixed = self._solve(self.columns)
        self.small = np.tensordot(self.fixed, self.by_fixed)
        self.missing = self.total - np.tensordot(self.fixed, x)

    def _solve_inner(self, right: np.ndarray) -> np.ndarray:
        """(R + W)^-1 times something."""
        out = np.empty_like(right)
        for rows, lower in zip(self.groups, self.inner, strict=True):
            out[rows] = _solve(lower, right[rows])
        return out

    def _solve(self, right: np.ndarray) -> np.ndarray:
        """Without constraints, for right sides of shape (2, k) or (2, k, n)."""
        W = self.weight[1].reshape(-1, *[1] * (right.ndim - 2))
        reduced = right[0] - right[1] + W * self._solve_inner(right[1])
        by_a = _solve(self.lower, reduced)
        return np.stack([by_a, self._solve_inner(right[1] + W * by_a) - by_a])

    def direction(self, right: np.ndarray, final: bool) -> tuple[np.ndarray, Any]:
        plain = self._solve(right)
        if not np.isfinite(plain).all():
            raise scipy.linalg.LinAlgError("no direction: values are not finite")
        goal = self.missing - np.tensordot(self.fixed, plain)
        change = scipy.linalg.lstsq(self.small, goal, check_finite=False)[0]
        return plain + self.by_fixed @ change, change

    def advance(self, length: float, change: Any) -> None:
        self.multipliers = self.multipliers + length * change


def _root(R: np.ndarray) -> np.ndarray | None:
    """G of few columns with GG' = R, or None where there is no such or no need."""
    if len(R) < _LOW_RANK_FROM:
        return None
    tol = _RANK_TOL * np.diag(R).max()
    factor, order, rank, _ = scipy.linalg.lapack.dpstrf(R, tol=tol, lower=True)
    if not 0 < rank <= len(R) // 2:
        return None
    root = np.empty((len(R), rank))
    root[order - 1] = np.tril(factor)[:, :rank]
    return root


def _solve_lower(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    return scipy.linalg.solve_triangular(lower, right, lower=True, check_finite=False)


def _cholesky(matrix: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """The lower factor of a matrix with something added to its diagonal."""
    matrix = matrix.copy()
    places = np.arange(len(matrix))
    ridge = _INTERIOR_RIDGE * np.abs(np.diag(matrix)).mean()
    matrix[places, places] += diagonal + ridge
    return scipy.linalg.cholesky(
        matrix, lower=True, overwrite_a=True, check_finite=False
    )


def _solve(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    return scipy.linalg.cho_solve((lower, True), right, check_finite=False)
