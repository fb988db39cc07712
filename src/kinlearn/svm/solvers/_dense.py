"""A block of SVM+ by an interior point method, where moves are too many.

Moves change a few variables at a time and need very many steps when the problem is
ill conditioned (a small `correction_penalty`, a large C, smooth correcting kernels).
Mehrotra's predictor and corrector takes some twenty factorisations whatever the
conditioning is, so it goes on from where a bounded number of moves got. It ends near
the optimum with all variables above 0: those that are small against their multiplier
become 0, and the Newton steps and moves that follow end exactly.
"""

import itertools

import numpy as np
import scipy.linalg

__all__ = ["near_optimum"]

_ROUNDS = 40
_GAP = 1e-9  # to end at: complementarity and dual residual, relative to the start
_SHORT = 0.99  # of the way to the boundary
_RIDGE = 1e-13  # of the mean curvature: makes singular systems solvable


def near_optimum(
    Q: np.ndarray,
    R: np.ndarray,
    z: np.ndarray,
    group: np.ndarray,
    F: np.ndarray,
    H: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> tuple[np.ndarray, np.ndarray] | None:
    """A point near the minimum over a block, from any feasible one.

    Parameters
    ----------
    Q, R : float64 arrays of shape (k, k)
        The two quadratic forms.
    z : float64 array of shape (k,)
        Signs.
    group : int array of shape (k,)
        Groups, ascending.
    F, H : float64 arrays of shape (k,)
        Parts of the gradient at a and b, which is F + H in a and H in b.
    a, b : float64 arrays of shape (k,)
        A point that meets the constraints.

    Returns
    -------
    pair of float64 arrays of shape (k,), or None
        The point, which meets the constraints; None if no point lies inside of them,
        or the method fails.
    """
    forms = _Forms(Q, R, group)
    start = np.stack([a, b])
    fixed = _constraints(z, group)
    total = np.tensordot(fixed, start)
    if not _has_inside(z, total):
        return None
    linear = np.stack([F + H, H]) - forms.times(start)
    found = _minimum(forms, linear, fixed, total)
    if found is None:
        return None
    x, s = found
    x[x / x.max() < s / s.max()] = 0.0
    flat, rows = x.ravel(), fixed.reshape(len(fixed), -1)
    back = scipy.linalg.lstsq(rows * flat, total - rows @ flat, check_finite=False)[0]
    flat += flat * back  # what was cut off goes to the others, by their size
    if not (flat >= 0).all():  # NaN, too
        return None
    return x[0], x[1]


def _constraints(z: np.ndarray, group: np.ndarray) -> np.ndarray:
    """What stays: the sum of a + b in each group, and z'a; (n, 2, k)."""
    members = (np.unique(group)[:, None] == group).astype(np.float64)
    signs = np.stack([z, np.zeros(len(z))])
    return np.concatenate([np.stack([members, members], axis=1), signs[None]])


def _has_inside(z: np.ndarray, total: np.ndarray) -> bool:
    """Whether all variables can be above 0."""
    sums, sign = total[:-1], total[-1]
    scale = sums.max()
    if sums.min() <= 1e-9 * scale:
        return False
    one_class = z.min() == z.max()
    return not one_class or abs(sign) > 1e-9 * scale


class _Forms:
    """The quadratic form of x = (a, b), 1/2 a'Qa + 1/2 (a + b)'R(a + b)."""

    def __init__(self, Q: np.ndarray, R: np.ndarray, group: np.ndarray) -> None:
        self.Q, self.R = Q, R
        bounds = np.flatnonzero(np.diff(group)) + 1
        cuts = [0, *bounds, len(group)]
        self.groups = [slice(i, j) for i, j in itertools.pairwise(cuts)]

    def times(self, x: np.ndarray) -> np.ndarray:
        """The form's matrix times x."""
        from_u = self.R @ (x[0] + x[1])
        return np.stack([self.Q @ x[0] + from_u, from_u])

    def factor(self, weight: np.ndarray) -> "_Factor":
        """Make ready to solve with the matrix and a diagonal added to it."""
        return _Factor(self, weight)


class _Factor:
    """Solves for a and u = a + b, u being eliminated group by group.

    In these the matrix is (Q + V + W, -W; -W, R + W), with the weights V of a and W
    of b on diagonals. What u leaves to a, W - W (R + W)^-1 W, is written as
    R - R (R + W)^-1 R, which keeps its digits where W is large.
    """

    def __init__(self, forms: _Forms, weight: np.ndarray) -> None:
        self.weight, self.groups = weight, forms.groups
        S = forms.Q.copy()
        self.parts = []
        for rows in forms.groups:
            R = forms.R[rows, rows]
            lower = _cholesky(R, weight[1, rows])
            half = _solve_lower(lower, R)
            S[rows, rows] += R - half.T @ half
            self.parts.append(lower)
        self.lower = _cholesky(S, weight[0])

    def _inner(self, right: np.ndarray) -> np.ndarray:
        """(R + W)^-1 times something."""
        out = np.empty_like(right)
        for rows, lower in zip(self.groups, self.parts, strict=True):
            out[rows] = scipy.linalg.cho_solve(
                (lower, True), right[rows], check_finite=False
            )
        return out

    def solve(self, right: np.ndarray) -> np.ndarray:
        """For right sides of shape (2, k) or (2, k, n)."""
        W = self.weight[1].reshape(-1, *[1] * (right.ndim - 2))
        by_a = scipy.linalg.cho_solve(
            (self.lower, True),
            right[0] - right[1] + W * self._inner(right[1]),
            check_finite=False,
        )
        return np.stack([by_a, self._inner(right[1] + W * by_a) - by_a])


def _cholesky(matrix: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """The lower factor of a matrix with something added to its diagonal."""
    matrix = matrix.copy()
    places = np.arange(len(matrix))
    matrix[places, places] += diagonal + _RIDGE * np.abs(np.diag(matrix)).mean()
    return scipy.linalg.cholesky(
        matrix, lower=True, overwrite_a=True, check_finite=False
    )


def _solve_lower(lower: np.ndarray, right: np.ndarray) -> np.ndarray:
    return scipy.linalg.solve_triangular(lower, right, lower=True, check_finite=False)


def _minimum(
    forms: _Forms, linear: np.ndarray, fixed: np.ndarray, total: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Minimise the form plus linear'x with fixed x = total and x >= 0.

    Returns x and its multipliers, or None.
    """
    n = linear.size
    x = np.full(linear.shape, total[:-1].sum() / n)
    slope = np.abs(forms.times(x) + linear)
    s = np.full(linear.shape, max(slope.mean(), 1e-12))
    price = np.zeros(len(fixed))
    ends = _GAP * np.vdot(x, s) / n, _GAP * slope.max()
    columns = np.moveaxis(fixed, 0, -1)
    for _ in range(_ROUNDS):
        mu = np.vdot(x, s) / n
        dual = forms.times(x) + linear - columns @ price - s
        if mu <= ends[0] and np.abs(dual).max() <= ends[1]:
            break
        try:
            factor = forms.factor(s / x)
        except scipy.linalg.LinAlgError:  # as near as rounding allows
            break
        primal = total - np.tensordot(fixed, x)
        by_fixed = factor.solve(columns)
        small = np.tensordot(fixed, by_fixed)
        target, step = np.zeros(linear.shape), 0.0
        for predicts in (True, False):
            plain = factor.solve(target / x - s - dual)
            if not np.isfinite(plain).all():
                return None
            by_price = scipy.linalg.lstsq(small, primal - np.tensordot(fixed, plain))[0]
            by_x = plain + by_fixed @ by_price
            by_s = (target - s * by_x) / x - s
            step = min(_longest_step(x, by_x), _longest_step(s, by_s))
            if predicts:
                step = min(1.0, step)
                ahead = np.vdot(x + step * by_x, s + step * by_s) / n
                target = (ahead / mu) ** 3 * mu - by_x * by_s
        step = min(1.0, _SHORT * step)
        x, s = x + step * by_x, s + step * by_s
        price = price + step * by_price
    return x, s


def _longest_step(x: np.ndarray, by: np.ndarray) -> float:
    """The longest step that keeps x at 0 or above."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.min(np.where(by < 0, -x / by, np.inf)))
