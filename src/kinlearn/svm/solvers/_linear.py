"""SVM+MTL with two linear kernels, by interior points in the weights.

With linear kernels the dual has n variables but its matrix has low rank. Every step
of the interior-point method then is a ridge regression with weights: its normal
equations have a block of n_features for each task (M_t below) and one that couples
them. A few dozen steps suffice whatever n and C are, where pairs of rows (SMO) or
single ones (coordinate descent) take ever more.

Symbols: a in [0, c] are the variables, b = sum of sign * a the coefficient of each
row (two variables for a row with a tube, one for a row with a class); q_t = X_t'b_t,
w = sum of q_t, w_t = inverse_penalty q_t.
"""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve

from kinlearn.svm._matrices import TaskKernel
from kinlearn.svm._problem import Problem, Solution
from kinlearn.svm.solvers._task_dual import (
    TaskSegments,
    free_rows,
    solve_interior,
)

__all__ = ["linear_pays", "solve_linear"]

# When the method pays. Multiplications that are always worth it, a second or so: SMO
# may be quicker, but it may also take millions of steps, where C is large or the rows
# are few.
_CHEAP = 2e10
_USUAL_STEPS = 20
_MAX_TASKS = 500  # each takes factors and memory for them
_MAX_CELLS = 2**27  # of sparse data, which becomes dense
_CHUNK = 2048  # rows whose products are summed at a time, for the processor's cache
# From so many features on, the factors of a step cost more than all else: then
# steps are corrected more often.
_WIDE = 100
_CORRECTIONS = 4
# The normal equations may be inexact, since the next step goes by exact residuals: how
# far the rows of a task that are left out may change them,
_COUNTS = 1e-3
# and from so many cells on, their products are formed in single precision, until the
# weights of the rows differ too much for it. 100,000 x 50 take 0.85 of the time,
# 40,000 x 500 take 0.68; variables, residuals and factors are in double precision.
_ROUGH_CELLS = 2**22
_ROUGH_UNTIL = 1e-6  # mean product of a variable and its price
# Late steps are refined until the rows' changes agree with those of the weights.
_REFINE_FROM = 1e-3  # mean product of a variable and its price, by C
_REFINEMENTS = 3
_EXACT = 1e-9  # of the weights: more digits than any tol shows
_POLISH_ROUNDS = 5  # each puts more rows on their bounds; what is left is little


def linear_pays(problem: Problem, X: Any) -> bool:
    """Whether the linear solver ends soon, or is likely to be the quicker one.

    Parameters
    ----------
    problem : Problem
        What to solve.
    X : ndarray or sparse matrix of shape (n_samples, n_features)
        The data.

    Returns
    -------
    bool
        True if it is.
    """
    n, n_features = len(problem.rows), X.shape[1]
    size = min(n, n_features)
    if problem.n_groups > _MAX_TASKS or (sp.issparse(X) and n * size > _MAX_CELLS):
        return False
    work = _USUAL_STEPS * (n * size**2 + 3.0 * problem.n_groups * size**3)
    if n_features > n:
        work += 10.0 * n**3
    return work < max(_CHEAP, float(n) ** 2 * (n_features + 20))


def _features(X: Any) -> np.ndarray:
    """Features with the same products, as few as there are rows at the most."""
    n, n_features = X.shape
    if n_features > n:
        products = X @ X.T
        products = products.toarray() if sp.issparse(products) else products
        values, vectors = np.linalg.eigh(products.astype(np.float64, copy=False))
        return np.ascontiguousarray(vectors * np.sqrt(np.maximum(values, 0.0)))
    X = X.toarray() if sp.issparse(X) else X
    return np.ascontiguousarray(X, dtype=np.float64)


class _Tasks(TaskSegments):
    """The rows task by task, and products with them."""

    def __init__(
        self,
        X: np.ndarray,
        problem: Problem,
        inverse_penalty: float,
        has_bias: bool,
    ) -> None:
        super().__init__(problem, has_bias)
        self.X = X
        self.rough = X.astype(np.float32) if X.size >= _ROUGH_CELLS else X
        self.norms = np.einsum("ij,ij->i", X, X)
        self.inverse_penalty = inverse_penalty
        # by which a row's coefficient changes its own value, or what is usual
        self.curvature = (1 + inverse_penalty) * (self.norms + self.norms.mean())

    def sums(self, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """X_t'b_t, a row for each task, and the sums of b_t."""
        q = np.stack([b[segment] @ self.X[segment] for segment in self.segments])
        return q, self.totals(b)

    def products(self, d: np.ndarray, segment: slice, rough: bool) -> np.ndarray:
        """X'DX over the rows of a task, those left out that hardly count.

        It stands beside the unit matrix, which bounds what they would change.
        """
        X, size = self.rough if rough else self.X, self.X.shape[1]
        weight = d[segment] * self.norms[segment] * max(self.inverse_penalty, 1.0)
        rows = segment.start + np.flatnonzero(weight > _COUNTS / len(weight))
        M = np.zeros((size, size))
        for left in range(0, len(rows), _CHUNK):
            some = rows[left : left + _CHUNK]
            scaled = X[some]
            scaled *= np.sqrt(d[some]).astype(X.dtype)[:, None]
            M += scaled.T @ scaled
        return M

    def values(self, q: np.ndarray) -> np.ndarray:
        """The function of each row's task without its bias, for sums q."""
        w = q.sum(axis=0)
        out = np.empty(len(self.X))
        for t, segment in enumerate(self.segments):
            out[segment] = self.X[segment] @ (w + self.inverse_penalty * q[t])
        return out


class _Normal:
    """The normal equations of a step, factored once and solved twice.

    A_t = (I + inverse_penalty M_t)^-1 with M_t = X_t'DX_t, m_t = X_t'd, and
    sigma_t = sum d - inverse_penalty m_t'A_t m_t.
    """

    def __init__(self, tasks: _Tasks, d: np.ndarray, rough: bool) -> None:
        self.tasks = tasks
        size = tasks.X.shape[1]
        system = np.eye(size)
        self.m, totals = tasks.sums(d)
        self.factors, self.AM, self.Am, self.sigma = [], [], [], []
        for segment, m, total in zip(tasks.segments, self.m, totals, strict=True):
            M = tasks.products(d, segment, rough)
            factor = None
            AM, Am = M, m
            if tasks.inverse_penalty > 0:
                inner = tasks.inverse_penalty * M
                inner.flat[:: size + 1] += 1.0
                factor = cho_factor(inner, overwrite_a=True, check_finite=False)
                AM = cho_solve(factor, M, check_finite=False)
                Am = cho_solve(factor, m, check_finite=False)
            sigma = max(total - tasks.inverse_penalty * (m @ Am), 1e-300)
            system += AM
            if tasks.has_bias:
                system -= np.outer(Am, Am / sigma)
            self.factors.append(factor)
            self.AM.append(AM)
            self.Am.append(Am)
            self.sigma.append(sigma)
        self.system = cho_factor(0.5 * (system + system.T), check_finite=False)

    def _apply(self, t: int, x: np.ndarray) -> np.ndarray:
        return x if self.factors[t] is None else cho_solve(self.factors[t], x)

    def solve(
        self, rho: np.ndarray, missing: np.ndarray, gap: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Changes of weights and biases, and of the values that they make.

        The change of b is rho - d values; it must sum to `gap` by task, and the
        weights change by `missing` more than follows from it.
        """
        tasks = self.tasks
        h, h0 = tasks.sums(rho)
        h, h0 = h + missing, h0 - gap
        T = len(tasks.segments)
        Ah = np.stack([self._apply(t, h[t]) for t in range(T)])
        kappa = np.zeros(T)
        if tasks.has_bias:
            for t in range(T):
                kappa[t] = (
                    h0[t] - tasks.inverse_penalty * (self.m[t] @ Ah[t])
                ) / self.sigma[t]
        right = sum(Ah[t] - kappa[t] * self.Am[t] for t in range(T))
        w = cho_solve(self.system, right)
        bias = np.zeros(T)
        if tasks.has_bias:
            bias = kappa - np.stack(self.Am) @ w / np.array(self.sigma)
        # A(h - Mw - m bias)
        q = Ah - np.stack([AM @ w for AM in self.AM]) - bias[:, None] * self.Am
        return q, bias, tasks.values(q) + bias[tasks.of_row]


class _LinearSystem:
    """The dual as a `NewtonSystem`, with the weights of each task, and the biases.

    The weights q are variables as well, equal to X'b only in the end. Values
    computed from them stay exact when the rows' steps are known to few digits, as
    happens to free rows close to the optimum.
    """

    def __init__(self, tasks: _Tasks, problem: Problem) -> None:
        self.tasks = tasks
        sides = problem.sides
        self.sign, self.linear, self.cost = sides.sign, sides.linear, sides.cost
        self.bias = np.zeros(len(tasks.segments))
        self.q = np.zeros((len(tasks.segments), tasks.X.shape[1]))
        self.values = tasks.values(self.q)  # of the rows, without biases
        self.n_corrections = _CORRECTIONS if tasks.X.shape[1] >= _WIDE else 0
        self.curvature = tasks.curvature

    def slope(self, x: np.ndarray) -> np.ndarray:
        values = self.values + self.bias[self.tasks.of_row]
        return self.sign * values + self.linear

    def factor(self, x: np.ndarray, weight: np.ndarray, mu: float) -> None:
        self.inverse = 1.0 / weight
        rough = self.tasks.rough is not self.tasks.X and mu > _ROUGH_UNTIL
        self.normal = _Normal(self.tasks, self.inverse.sum(axis=0), rough)
        self.sums, self.gap = self.tasks.sums((self.sign * x).sum(axis=0))
        self.refines = not rough and mu <= _REFINE_FROM * self.cost.max()

    def direction(self, right: np.ndarray, final: bool) -> tuple[np.ndarray, Any]:
        sign, sums, q = self.sign, self.sums, self.q
        rho = (sign * self.inverse * right).sum(axis=0)
        by_q, by_bias, values = self.normal.solve(rho, sums - q, -self.gap)
        by_x = self.inverse * (right - sign * values)
        # Where weights differ by many orders of magnitude, the rows' changes do not
        # sum to those of the weights: solved again for what is missing.
        for _ in range(_REFINEMENTS if final and self.refines else 0):
            change, total = self.tasks.sums((sign * by_x).sum(axis=0))
            missing = sums + change - q - by_q
            if np.abs(missing).max() <= _EXACT * np.abs(q + by_q).max():
                break
            more = self.normal.solve(np.zeros(len(rho)), missing, -self.gap - total)
            by_q, by_bias, values = by_q + more[0], by_bias + more[1], values + more[2]
            by_x = self.inverse * (right - sign * values)
        return by_x, (by_q, by_bias)

    def advance(self, length: float, change: Any) -> None:
        self.q = self.q + length * change[0]
        self.bias = self.bias + length * change[1]
        self.values = self.tasks.values(self.q)

    def values_of(self, beta: np.ndarray) -> np.ndarray:
        return self.tasks.values(self.tasks.sums(beta)[0])

    def polish(self, problem: Problem, beta: np.ndarray) -> np.ndarray:
        """Move free coefficients, by least squares, so that X'b = q and b sums to 0."""
        tasks, beta = self.tasks, beta.copy()
        for t, segment in enumerate(tasks.segments):
            for _ in range(_POLISH_ROUNDS):  # what meets a bound stays there
                rows = free_rows(problem, beta, segment)
                if not len(rows):
                    break
                missing = self.q[t] - beta[segment] @ tasks.X[segment]
                A = tasks.X[rows]
                if tasks.has_bias:
                    A = np.column_stack([A, np.ones(len(rows))])
                    missing = np.append(missing, -beta[segment].sum())
                moved = beta[rows] + _shortest(A, missing)
                beta[rows] = np.clip(moved, problem.low[rows], problem.high[rows])
                if (beta[rows] == moved).all():
                    break
        return beta


def solve_linear(
    problem: Problem,
    kernel: TaskKernel,
    *,
    tol: float,
    max_iter: int,
    fit_intercept: bool,
) -> Solution:
    """Solve a problem with two linear kernels.

    Parameters
    ----------
    problem : Problem
        What to solve.
    kernel : TaskKernel
        The two kernels, with the data.
    tol : float
        Violation to stop at.
    max_iter : int
        Steps at the most; -1 is `MAX_STEPS`.
    fit_intercept : bool
        Whether tasks have biases.

    Returns
    -------
    Solution
        What was found.
    """
    X = _features(kernel.X[problem.rows])
    tasks = _Tasks(X, problem, 1.0 / kernel.penalty, fit_intercept)
    system = _LinearSystem(tasks, problem)
    return solve_interior(problem, system, tol, max_iter)


def _shortest(A: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """The shortest x with A'x = goal, as nearly as can be."""
    if len(A) <= 4 * A.shape[1]:
        return np.linalg.lstsq(A.T, goal)[0]
    return A @ np.linalg.lstsq(A.T @ A, goal)[0]  # many rows: well conditioned
