"""Block descent for SVM+: blocks of rows, solved by elementary moves and Newton steps.

Each round picks a block of rows, lowers the objective over it by the moves of
`kinlearn._kernels.svm._plus`, and brings the gradients of all rows up to date. The
block always holds the most violating moves, by which the method converges. Where a
block needs many moves (a small `correction_penalty`, a large C), the problem is ill
conditioned: Newton steps over the variables above 0 end it, after an interior point
method if these variables are not yet the right ones.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from kinlearn._kernels.svm._plus import accumulate, certify, descend
from kinlearn.svm.kernels import RowStore
from kinlearn.svm.problem import PlusProblem
from kinlearn.svm.solvers._dense import near_optimum

__all__ = ["PlusSolution", "solve_plus"]

_BLOCK = 512  # samples; regression has two rows for each
_MOVES = 10  # for each row of a block, before Newton steps are tried
_FEW, _MANY = 4, 25  # Newton steps before and after the interior point method
_RIDGE = 1e-11  # of the mean curvature: makes singular systems solvable


@dataclass(frozen=True)
class PlusSolution:
    """What the solver found, by row of the dual.

    Attributes
    ----------
    a, b : float64 arrays of shape (m,)
        Variables.
    bias : float
        Bias of the decision function.
    slack : float64 array of shape (m,)
        Correcting functions on the rows.
    n_iter : int
        Moves and Newton steps.
    objective : float
        Dual objective, which is minimised.
    violation : float
        Greatest descent along an elementary move; 0 at the optimum.
    converged : bool
        Whether the violation is at most `tol`.
    stalled : bool
        Whether rounding ended it before that: no move gets any closer.
    """

    a: np.ndarray
    b: np.ndarray
    bias: float
    slack: np.ndarray
    n_iter: int
    objective: float
    violation: float
    converged: bool
    stalled: bool


class _State:
    """Variables and gradients of a dual, and what a block needs of them."""

    def __init__(
        self,
        problem: PlusProblem,
        decision: RowStore,
        correcting: RowStore | None,
        penalty: float,
    ) -> None:
        self.problem = problem
        self.decision = decision
        self.correcting = correcting
        self.penalty = penalty
        m = len(problem.z)
        self.a, self.b = np.zeros(m), problem.cost.copy()
        self.F, self.H = problem.linear.copy(), np.zeros(m)
        bounds = np.flatnonzero(np.diff(problem.group)) + 1
        self._cuts = np.concatenate([[0], bounds, [m]])
        self.extremes = np.empty((problem.n_groups, 6))
        self.witness = np.empty(10, dtype=np.intp)
        self._memory = np.zeros(0)

    def matrices(self, size: int) -> np.ndarray:
        """Two square matrices, in memory that is used again; the second one stays 0
        if nothing is written to it."""
        if len(self._memory) < 2 * size * size:
            self._memory = np.zeros(2 * size * size)
        return self._memory[: 2 * size * size].reshape(2, size, size)

    def certify(self) -> float:
        """Violation over all rows; leaves `extremes` and `witness`."""
        violation, self.low, self.high = certify(
            self.F,
            self.H,
            self.a,
            self.b,
            self.problem.z,
            self.problem.group,
            self.extremes,
            self.witness,
        )
        return violation

    @property
    def objective(self) -> float:
        """p'a + 1/2 a'Qa + 1/2 u'Ru, by F = p + Qa and H = Ru."""
        u = self.a + self.b - self.problem.cost
        return 0.5 * ((self.problem.linear + self.F) @ self.a + self.H @ u)

    def move(self, block: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """Take new values for the rows of a block."""
        problem, sample = self.problem, self.problem.sample[block]
        by_a = a - self.a[block]
        by_u = (by_a + b - self.b[block]) / self.penalty
        self.a[block], self.b[block] = a, b
        change = np.zeros(len(problem.rows))
        coef = by_a * problem.z[block]
        accumulate(self.decision.cells, self.decision.slots(sample), coef, 0, change)
        self.F += problem.z * change[problem.sample]
        if self.correcting is None:
            return
        slots = self.correcting.slots(sample)
        groups = problem.group[block]
        for g in np.unique(groups):
            mine = groups == g
            start, stop = self._cuts[g], self._cuts[g + 1]
            accumulate(
                self.correcting.cells,
                slots[mine],
                by_u[mine],
                problem.sample[start],
                self.H[start:stop],
            )


def _pick_block(state: _State, size: int, former: np.ndarray) -> np.ndarray:
    """Rows for the next block: the best of each role, then those of the last block.

    A move needs partners, so that a block of the worst violators alone could move
    little if all of them wish to grow. Roles are those of a and b in the moves.
    """
    problem = state.problem
    bias = -0.5 * (state.low + state.high)
    grow, fall = state.extremes[:, 2], state.extremes[:, 5]
    offset = 0.5 * (grow + np.where(np.isfinite(fall), fall, grow))
    in_s = state.F + problem.z * (bias if np.isfinite(bias) else 0.0)
    in_b = state.H - offset[problem.group]
    in_a = in_s + in_b
    positive, has_a, has_b = problem.z > 0, state.a > 0, state.b > 0
    roles = [
        np.where(can, value, -np.inf)
        for can, value in (
            (positive, -in_a),
            (~positive, -in_a),
            (positive & has_a, in_a),
            (~positive & has_a, in_a),
            (True, -in_b),
            (has_b, in_b),
            (has_b, -in_s),
            (has_a, in_s),
        )
    ]
    quota = size // (2 * len(roles))
    picked = [state.witness[state.witness >= 0]]
    for value in roles:
        best = np.argpartition(value, -quota)[-quota:]
        picked.append(best[value[best] > -np.inf])
    new = np.unique(np.concatenate(picked))
    rest = np.setdiff1d(former, new, assume_unique=True)
    left = size - len(new)
    if len(rest) > left:
        worst = np.max([value[rest] for value in roles], axis=0)
        rest = rest[np.argsort(-worst, kind="stable")[:left]]
    return np.sort(np.concatenate([new, rest]))


def _newton(
    Q: np.ndarray,
    R: np.ndarray,
    z: np.ndarray,
    group: np.ndarray,
    F: np.ndarray,
    H: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
    most: int,
) -> tuple[int, bool]:
    """Minimise over the variables above 0, with their number falling on the way.

    Returns the number of steps, and whether they ended at a minimum; all arrays but
    Q, R, z and group are changed.
    """
    for step in range(most):
        rows_a, rows_b = np.flatnonzero(a > 0), np.flatnonzero(b > 0)
        n_a, rows = len(rows_a), np.concatenate([rows_a, rows_b])
        P = R[np.ix_(rows, rows)]
        P[:n_a, :n_a] += Q[np.ix_(rows_a, rows_a)]
        gradient = H[rows]
        gradient[:n_a] += F[rows_a]
        fixed = (np.unique(group[rows])[:, None] == group[rows]).astype(np.float64)
        if n_a:
            signs = np.zeros(len(rows))
            signs[:n_a] = z[rows_a]
            fixed = np.vstack([fixed, signs])
        change = _constrained_minimum(P, gradient, fixed)
        if change is None or not gradient @ change < 0:
            return step, False
        x = np.concatenate([a[rows_a], b[rows_b]])
        with np.errstate(divide="ignore", invalid="ignore"):
            length_to_0 = np.where(change < 0, -x / change, np.inf)
        first = np.argmin(length_to_0)
        length = min(1.0, length_to_0[first])
        new = np.maximum(x + length * change, 0.0)
        if length < 1.0:
            new[first] = 0.0
        by_a, by_u = np.zeros(len(a)), np.zeros(len(a))
        by_a[rows_a] = new[:n_a] - x[:n_a]
        by_u[rows_b] = new[n_a:] - x[n_a:]
        by_u += by_a
        a[rows_a], b[rows_b] = new[:n_a], new[n_a:]
        F += Q @ by_a
        H += R @ by_u
        if length == 1.0:
            return step + 1, True
    return most, False


def _leap(
    Q: np.ndarray,
    R: np.ndarray,
    z: np.ndarray,
    group: np.ndarray,
    F: np.ndarray,
    H: np.ndarray,
    a: np.ndarray,
    b: np.ndarray,
) -> bool:
    """Go near the minimum, if that is found and lower; return whether it was."""
    found = near_optimum(Q, R, z, group, F, H, a, b)
    if found is None:
        return False
    by_a, by_u = found[0] - a, found[0] + found[1] - a - b
    by_F, by_H = Q @ by_a, R @ by_u
    if not (F + 0.5 * by_F) @ by_a + (H + 0.5 * by_H) @ by_u < 0:
        return False
    a[:], b[:] = found
    F += by_F
    H += by_H
    return True


def _constrained_minimum(
    P: np.ndarray, gradient: np.ndarray, fixed: np.ndarray
) -> np.ndarray | None:
    """Minimise 1/2 x'Px + gradient'x with fixed x = 0; None if that fails."""
    n = len(gradient)
    P = P + _RIDGE * max(np.trace(P) / n, 1e-300) * np.eye(n)
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


def _solve_block(
    state: _State, block: np.ndarray, tol: float, most: int
) -> tuple[int, np.ndarray, np.ndarray]:
    """Lower the objective over a block; return the moves made and the new values."""
    problem = state.problem
    sample, z = problem.sample[block], problem.z[block]
    groups, group = np.unique(problem.group[block], return_inverse=True)
    group = group.astype(np.int32)
    Q, R = state.matrices(len(block))
    state.decision.block(sample, z, np.zeros_like(group), Q)
    if state.correcting is not None:
        root = np.full(len(block), state.penalty**-0.5)
        state.correcting.block(sample, root, group, R)
    a, b, F, H = (each[block] for each in (state.a, state.b, state.F, state.H))
    limit = min(_MOVES * len(block), most)
    n_iter, violation = descend(Q, R, z, group, len(groups), F, H, a, b, tol, limit)
    if violation > tol and n_iter == limit < most:
        everything = Q, R, z, group, F, H, a, b
        n_steps, ended = _newton(*everything, _FEW)
        if not ended:
            n_steps += _leap(*everything)
            n_steps += _newton(*everything, _MANY)[0]
        n_iter += n_steps
    return n_iter, a, b


def _start_from(state: _State, start: tuple[np.ndarray, np.ndarray], size: int) -> None:
    """Take the variables of a former solution, some rows at a time."""
    a, b = start
    moved = np.flatnonzero((a != state.a) | (b != state.b))
    for left in range(0, len(moved), size):
        some = moved[left : left + size]
        state.move(some, a[some], b[some])


def solve_plus(
    problem: PlusProblem,
    decision: RowStore,
    correcting: RowStore | None,
    penalty: float,
    *,
    tol: float,
    max_iter: int,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> PlusSolution:
    """Solve the dual of an SVM+ model.

    Parameters
    ----------
    problem : PlusProblem
        The dual.
    decision : RowStore
        K over ``problem.rows``.
    correcting : RowStore or None
        K*, or None if every row is a group of its own.
    penalty : float
        The gamma of the dual.
    tol : float
        Violation to end at.
    max_iter : int
        Moves at the most; -1 is 10 million, or 100 for each row if that is more.
    start : pair of float64 arrays of shape (m,), default=None
        A feasible point to begin at; None begins at a = 0 and b = c.

    Returns
    -------
    PlusSolution
        What was found.
    """
    m = len(problem.z)
    if max_iter < 0:
        max_iter = max(10_000_000, 100 * m)
    state = _State(problem, decision, correcting, penalty)
    size = m if decision.whole else _BLOCK * (m // len(problem.rows))
    for store in (decision, correcting):
        if store is not None and store.n_slots < len(problem.rows):
            size = min(size, store.n_slots)
    if start is not None:
        _start_from(state, start, size)
    n_iter, block = 0, np.arange(m if m <= size else 0)
    while True:
        violation = state.certify()
        if violation <= tol or n_iter >= max_iter:
            break
        goal = 0.1 * tol  # costs little here, and few rows show each digit
        if m > size:
            block = _pick_block(state, size, block)
            goal = max(0.5 * tol, 0.1 * violation)
        n_moves, a, b = _solve_block(state, block, goal, max_iter - n_iter)
        if n_moves == 0:  # no move lowers the objective any more: rounding
            break
        n_iter += n_moves
        state.move(block, a, b)
    bias, slack = _multipliers(state)
    return PlusSolution(
        a=state.a,
        b=state.b,
        bias=bias,
        slack=slack,
        n_iter=n_iter,
        objective=float(state.objective),
        violation=float(violation),
        converged=bool(violation <= tol),
        stalled=bool(violation > tol and n_iter < max_iter),
    )


def _multipliers(state: _State) -> tuple[float, np.ndarray]:
    """Bias of the decision function, and the correcting functions on the rows.

    a > 0 makes F + z bias + slack 0, and b > 0 makes the slack H + d_g 0: rows with
    both give the bias, those with either the offset d_g of their group.
    """
    problem = state.problem
    free = (state.a > 0) & (state.b > 0)
    if free.any():
        bias = -np.mean(problem.z[free] * state.F[free])
    else:
        bias = -0.5 * (state.low + state.high)
    sums, counts = np.zeros(problem.n_groups), np.zeros(problem.n_groups)
    for has, value in (
        (state.b > 0, state.H),
        (state.a > 0, state.F + state.H + problem.z * bias),
    ):
        group = problem.group[has & (counts[problem.group] == 0)]
        values = value[has & (counts[problem.group] == 0)]
        sums += np.bincount(group, weights=values, minlength=problem.n_groups)
        counts += np.bincount(group, minlength=problem.n_groups)
    slack = state.H - (sums / counts)[problem.group]
    return float(bias), np.maximum(slack, 0.0)
