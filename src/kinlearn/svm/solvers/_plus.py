r"""Block descent for SVM+.

With a sign :math:`z_i`, a cost :math:`c_i` and a group for each row, and
:math:`u = a + b - c`, every dual is

.. math::

    \min_{a, b \ge 0} \; p'a + \tfrac12 a'(zz' \circ K)a
        + \tfrac{1}{2 \gamma} u'(S \circ K^*)u,
    \qquad z'a = 0, \quad \sum_{i \in g} u_i = 0 \text{ for each group } g,

where S is 1 within groups, else 0. Classification has p = -1 and z = y. Regression
has each sample twice: with z = -1 and :math:`p = \epsilon + y` for predictions that
are too high, with z = 1 and :math:`p = \epsilon - y` for those too low, and groups
of their own for either side. At the optimum, :math:`\xi = S \circ K^* u / \gamma + d_g`
are the correcting functions on the rows. If every row is a group of its own, u is 0,
a is at most c, and the model is the plain SVM.

Each round picks a block of rows, lowers the objective over it, and brings the
gradients of all rows up to date. The block always holds the most violating moves, by
which the method converges.
"""

from itertools import pairwise

import numpy as np

from kinlearn._kernels.svm._plus import accumulate, certify
from kinlearn.svm._matrices import StoredRows
from kinlearn.svm._problem import Problem, Solution
from kinlearn.svm.solvers._plus_block import Block

__all__ = ["solve_plus", "start_plus"]

# Solutions in a row that are no better than an earlier one.
_PATIENCE, _PATIENCE_OF_BLOCKS = 30, 3000
_BLOCK = 512  # samples: two matrices of that size fit into the processor's cache
# Up to so many rows of the dual, blocks that take too long are left for all rows at
# once: 72 MB for each of six matrices.
_MOST_AT_ONCE = 3000
# Multiplications of that, by the cube of the rows, and those of a move and of an
# interior-point or Newton step of a block, by the rows and by their cube.
_AT_ONCE, _OF_MOVE, _OF_STEP = 20.0, 10.0, 4.0


class _State:
    """Variables and gradients of a dual, and what a block needs of them.

    `sample` is the place of each row of the dual in the rows of the problem.
    """

    def __init__(
        self,
        problem: Problem,
        decision: StoredRows,
        correcting: StoredRows | None,
        penalty: float,
    ) -> None:
        self.decision = decision
        self.correcting = correcting
        self.penalty = penalty
        sides, self.n_samples = problem.sides, len(problem.rows)
        n_sides = len(sides.sign)
        # predictions too high come first
        self.z = np.ascontiguousarray(sides.sign[::-1]).ravel()
        self.linear = sides.linear[::-1].ravel()
        self.cost = sides.cost[::-1].ravel()
        self.sample = np.tile(np.arange(self.n_samples), n_sides)
        codes = np.unique(problem.group, return_inverse=True)[1]
        self.n_groups = n_sides * (codes[-1] + 1)
        group = [codes + side * (codes[-1] + 1) for side in range(n_sides)]
        self.group = np.concatenate(group).astype(np.int32)
        m = len(self.z)
        self.a, self.b = np.zeros(m), self.cost.copy()
        self.F, self.H = self.linear.copy(), np.zeros(m)
        bounds = np.flatnonzero(np.diff(self.group)) + 1
        self._cuts = np.concatenate([[0], bounds, [m]])
        self.extremes = np.empty((self.n_groups, 6))
        self.witness = np.empty(10, dtype=np.intp)
        self._memory = np.zeros(0)

    def matrices(self, size: int) -> np.ndarray:
        """Two square matrices, in memory that is used again; the second one stays 0
        if nothing is written to it."""
        if len(self._memory) < 2 * size * size:
            self._memory = np.zeros(2 * size * size)
        return self._memory[: 2 * size * size].reshape(2, size, size)

    def take_whole(self) -> None:
        """Have whole matrices in double precision, and gradients by them."""
        self.decision.make_whole()
        if self.correcting is not None and self.correcting is not self.decision:
            self.correcting.make_whole()
        u = self.a + self.b - self.cost
        by_row = np.bincount(self.sample, self.z * self.a, minlength=self.n_samples)
        self.F = self.linear + self.z * (self.decision.cells @ by_row)[self.sample]
        self.H = np.zeros(len(self.z))
        if self.correcting is None:
            return
        for start, stop in pairwise(self._cuts):
            some = self.sample[start:stop]
            R = self.correcting.cells[np.ix_(some, some)]
            self.H[start:stop] = R @ u[start:stop] / self.penalty

    def certify(self) -> float:
        """Violation over all rows; leaves `extremes` and `witness`."""
        point = self.F, self.H, self.a, self.b, self.z, self.group
        violation, self.low, self.high = certify(*point, self.extremes, self.witness)
        return violation

    @property
    def objective(self) -> float:
        """p'a + 1/2 a'Qa + 1/2 u'Ru, by F = p + Qa and H = Ru."""
        u = self.a + self.b - self.cost
        return 0.5 * ((self.linear + self.F) @ self.a + self.H @ u)

    def move(self, block: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
        """Take new values for the rows of a block."""
        sample = self.sample[block]
        by_a = a - self.a[block]
        by_u = (by_a + b - self.b[block]) / self.penalty
        self.a[block], self.b[block] = a, b
        change = np.zeros(self.n_samples)
        coef = by_a * self.z[block]
        accumulate(self.decision.cells, self.decision.slots(sample), coef, 0, change)
        self.F += self.z * change[self.sample]
        if self.correcting is None:
            return
        slots = self.correcting.slots(sample)
        groups = self.group[block]
        for g in np.unique(groups):
            mine = groups == g
            start, stop = self._cuts[g], self._cuts[g + 1]
            accumulate(
                self.correcting.cells,
                slots[mine],
                by_u[mine],
                self.sample[start],
                self.H[start:stop],
            )


def _pick_block(state: _State, size: int, former: np.ndarray) -> np.ndarray:
    """Rows for the next block: the best of each role, then those of the last block.

    A move needs partners, so that a block of the worst violators alone could move
    little if all of them wish to grow. Roles are those of a and b in the moves.
    """
    bias = -0.5 * (state.low + state.high)
    grow, fall = state.extremes[:, 2], state.extremes[:, 5]
    offset = 0.5 * (grow + np.where(np.isfinite(fall), fall, grow))
    in_s = state.F + state.z * (bias if np.isfinite(bias) else 0.0)
    in_b = state.H - offset[state.group]
    in_a = in_s + in_b
    positive, has_a, has_b = state.z > 0, state.a > 0, state.b > 0
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


def _solve_block(
    state: _State, rows: np.ndarray, tol: float, most: int
) -> tuple[int, float, np.ndarray, np.ndarray]:
    """Lower the objective over a block; return moves, their work and new values."""
    sample, z = state.sample[rows], state.z[rows]
    group = np.unique(state.group[rows], return_inverse=True)[1].astype(np.int32)
    Q, R = state.matrices(len(rows))
    state.decision.block(sample, z, np.zeros_like(group), Q)
    if state.correcting is not None:
        root = np.full(len(rows), state.penalty**-0.5)
        state.correcting.block(sample, root, group, R)
    values = (each[rows] for each in (state.F, state.H, state.a, state.b))
    block = Block(Q, R, z, group, *values)
    n_iter, k = block.solve(tol, most), float(len(rows))
    work = _OF_MOVE * k * n_iter + _OF_STEP * k**3 * block.n_factors
    return n_iter, work, block.a, block.b


def _start_from(state: _State, start: tuple[np.ndarray, np.ndarray], size: int) -> None:
    """Take the variables of a former solution, some rows at a time."""
    a, b = start
    moved = np.flatnonzero((a != state.a) | (b != state.b))
    for left in range(0, len(moved), size):
        some = moved[left : left + size]
        state.move(some, a[some], b[some])


def start_plus(
    problem: Problem, former: Problem, solution: Solution
) -> tuple[np.ndarray, np.ndarray] | None:
    """A feasible point, by the solution of a problem like this one.

    All constraints stay met when variables and costs grow by one factor, so that the
    solution of another C can be taken, too.

    Parameters
    ----------
    problem, former : Problem
        What to solve, and what was solved.
    solution : Solution
        What was found then.

    Returns
    -------
    pair of float64 arrays of shape (m,), or None
        The point; None if rows, signs, groups or relative costs differ.
    """
    now, then = problem.sides, former.sides
    alike = (
        np.array_equal(problem.rows, former.rows)
        and np.array_equal(now.sign, then.sign)
        and np.array_equal(problem.group, former.group)
    )
    if not alike or solution.variables is None:
        return None
    factor = now.cost[0, 0] / then.cost[0, 0]
    if not np.allclose(now.cost, factor * then.cost, rtol=1e-12, atol=0):
        return None
    a, b = solution.variables
    return factor * a, factor * b


def solve_plus(
    problem: Problem,
    decision: StoredRows,
    correcting: StoredRows | None,
    penalty: float,
    *,
    tol: float,
    max_iter: int,
    start: tuple[np.ndarray, np.ndarray] | None = None,
) -> Solution:
    """Solve the dual of an SVM+ model.

    Parameters
    ----------
    problem : Problem
        The rows with their groups.
    decision : StoredRows
        K over ``problem.rows``.
    correcting : StoredRows or None
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
    Solution
        What was found.
    """
    state = _State(problem, decision, correcting, penalty)
    m, n = len(state.z), state.n_samples
    if max_iter < 0:
        max_iter = max(10_000_000, 100 * m)
    size = m if decision.whole else _BLOCK * (m // n)
    for store in (decision, correcting):
        if store is not None and len(store.cells) < n:
            size = min(size, len(store.cells))
    if start is not None:
        _start_from(state, start, size)
    n_iter, work, block = 0, 0.0, np.arange(m if m <= size else 0)
    best, in_vain = np.inf, 0
    while True:
        violation = state.certify()
        if violation <= tol or n_iter >= max_iter:
            break
        in_vain = 0 if violation < best else in_vain + 1
        best = min(best, violation)
        if in_vain > (_PATIENCE if m <= size else _PATIENCE_OF_BLOCKS):
            break  # numbers of very different sizes: rounding, move after move
        goal = 0.1 * tol  # costs little here, and few rows show each digit
        if size < m <= _MOST_AT_ONCE and work > _AT_ONCE * m**3:
            state.take_whole()
            size, block = m, np.arange(m)
            best, in_vain = np.inf, 0
            continue  # with exact gradients
        if m > size:
            block = _pick_block(state, size, block)
            goal = max(0.5 * tol, 0.1 * violation)
        n_moves, more, a, b = _solve_block(state, block, goal, max_iter - n_iter)
        if n_moves == 0:  # no move lowers the objective any more: rounding
            break
        n_iter += n_moves
        work += more
        state.move(block, a, b)
    bias, slack = _multipliers(state)
    return Solution(
        beta=(state.z * state.a).reshape(-1, n).sum(axis=0),
        intercept=np.array([bias]),
        n_iter=n_iter,
        objective=float(state.objective),
        violation=float(violation),
        converged=bool(violation <= tol),
        stalled=bool(violation > tol and n_iter < max_iter),
        variables=(state.a, state.b),
        slack=slack.reshape(-1, n),
    )


def _multipliers(state: _State) -> tuple[float, np.ndarray]:
    """Bias of the decision function, and the correcting functions on the rows.

    a > 0 makes F + z bias + slack 0, and b > 0 makes the slack H + d_g 0: rows with
    both give the bias, those with either the offset d_g of their group.
    """
    free = (state.a > 0) & (state.b > 0)
    if free.any():
        bias = -np.mean(state.z[free] * state.F[free])
    else:
        bias = -0.5 * (state.low + state.high)
    sums, counts = np.zeros(state.n_groups), np.zeros(state.n_groups)
    for has, value in (
        (state.b > 0, state.H),
        (state.a > 0, state.F + state.H + state.z * bias),
    ):
        group = state.group[has & (counts[state.group] == 0)]
        values = value[has & (counts[state.group] == 0)]
        sums += np.bincount(group, weights=values, minlength=state.n_groups)
        counts += np.bincount(group, minlength=state.n_groups)
    slack = state.H - (sums / counts)[state.group]
    return float(bias), np.maximum(slack, 0.0)
