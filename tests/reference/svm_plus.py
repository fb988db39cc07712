"""SVM+ as quadratic programmes for an interior-point solver, primal and dual.

Written from the definitions, each model by itself: nothing is shared with the
package. Kernels come as matrices; `cost` is C times the weight of each row.
"""

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.linalg
import scipy.sparse as sp


def solve_qp(P, q, A_eq, b_eq, G, h):
    """Minimise 1/2 x'Px + q'x with A_eq x = b_eq and G x <= h."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-10
    A = sp.vstack([sp.csc_matrix(A_eq), sp.csc_matrix(G)]).tocsc()
    cones = [clarabel.ZeroConeT(len(b_eq)), clarabel.NonnegativeConeT(len(h))]
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(np.triu(P)), q, A, np.r_[b_eq, h], cones, settings
    )
    solution = solver.solve()
    x = np.array(solution.x)
    return x, 0.5 * x @ P @ x + q @ x


def _members(group):
    """One row for each group: who belongs to it."""
    return (np.unique(group)[:, None] == group).astype(float)


def _factor(K):
    """Rows z_i with z_i . z_j = K_ij."""
    values, vectors = np.linalg.eigh(K)
    return vectors * np.sqrt(np.maximum(values, 0))


@dataclass
class Solved:
    """Objective (that of the minimised dual) and decision values on the rows."""

    objective: float
    decision: np.ndarray
    slack: np.ndarray


def classify_dual(K, correcting, y, cost, group, penalty):
    """SVM+ with signs y: minimise over (a, b).

    -sum a + 1/2 a'(yy' o K)a + 1/(2 penalty) u'(S o K*)u,  u = a + b - cost,
    sum of u over each group = 0, y'a = 0, a, b >= 0; S is 1 within groups.
    """
    n = len(y)
    R = correcting * (group[:, None] == group) / penalty
    Q = np.outer(y, y) * K
    P = np.block([[Q + R, R], [R, R]])
    # 1/2 u'Ru = 1/2 v'Rv - cost'Rv + 1/2 cost'R cost, v = a + b
    q = np.r_[-np.ones(n) - R @ cost, -R @ cost]
    M = _members(group)
    A = np.vstack([np.r_[y, np.zeros(n)][None], np.hstack([M, M])])
    x, value = solve_qp(P, q, A, np.r_[0, M @ cost], -np.eye(2 * n), np.zeros(2 * n))
    return x[:n], x[n:], value + 0.5 * cost @ R @ cost


def classify_primal(K, correcting, y, cost, group, penalty):
    """SVM+ with signs y: minimise over (w, b, w_r, d_r).

    1/2 |w|^2 + penalty/2 sum_r |w_r|^2 + sum_i cost_i xi_i,
    y_i (w z_i + b) >= 1 - xi_i,  xi_i = w_r z*_i + d_r >= 0.
    """
    n, M = len(y), _members(group)
    Z = _factor(K)
    slack = np.hstack([M[r][:, None] * _factor(correcting) for r in range(len(M))])
    slack = np.hstack([slack, M.T])  # slack @ (w_1..w_t, d_1..d_t)
    t, k = len(M), correcting.shape[0]
    P = scipy.linalg.block_diag(np.eye(n), 0, penalty * np.eye(t * k), np.zeros((t, t)))
    margin = np.hstack([y[:, None] * Z, y[:, None], slack])
    lead = np.zeros((n, n + 1))
    G = -np.vstack([margin, np.hstack([lead, slack])])
    h = np.r_[-np.ones(n), np.zeros(n)]
    q = np.r_[np.zeros(n + 1), cost @ slack]
    x, value = solve_qp(P, q, np.zeros((1, len(q))), np.zeros(1), G, h)
    return Solved(-value, Z @ x[:n] + x[n], slack @ x[n + 1 :])


def regress_dual(K, correcting, y, cost, group, penalty, epsilon):
    """SVM+ regression: minimise over (a, b) and (a*, b*).

    epsilon sum(a + a*) - y'(a* - a) + 1/2 (a* - a)'K(a* - a)
    + 1/(2 penalty) (u'(S o K*)u + u*'(S o K*)u*),  u = a + b - cost,
    sums of u and of u* over each group = 0, sum(a* - a) = 0, all >= 0.
    """
    n, M = len(y), _members(group)
    R = correcting * (group[:, None] == group) / penalty
    empty = np.zeros((n, n))
    family = np.block([[R, R], [R, R]])
    P = scipy.linalg.block_diag(family, family)  # a, b, a*, b*
    P += np.block(
        [
            [K, empty, -K, empty],
            [empty, empty, empty, empty],
            [-K, empty, K, empty],
            [empty, empty, empty, empty],
        ]
    )
    q = np.r_[epsilon + y - R @ cost, -R @ cost, epsilon - y - R @ cost, -R @ cost]
    one, none = np.ones(n), np.zeros(n)
    A = np.vstack(
        [
            np.r_[-one, none, one, none][None],
            np.hstack([M, M, 0 * M, 0 * M]),
            np.hstack([0 * M, 0 * M, M, M]),
        ]
    )
    b_eq = np.r_[0, M @ cost, M @ cost]
    x, value = solve_qp(P, q, A, b_eq, -np.eye(4 * n), np.zeros(4 * n))
    return x.reshape(4, n), value + cost @ R @ cost


def regress_primal(K, correcting, y, cost, group, penalty, epsilon):
    """SVM+ regression: minimise over (w, b) and both sides' (w_r, d_r).

    1/2 |w|^2 + penalty/2 sum_r (|w_r|^2 + |w*_r|^2) + sum_i cost_i (xi_i + xi*_i),
    w z_i + b - y_i <= epsilon + xi_i,  y_i - w z_i - b <= epsilon + xi*_i,
    xi and xi* being w_r z*_i + d_r >= 0 each.
    """
    n, M = len(y), _members(group)
    Z = np.hstack([_factor(K), np.ones((n, 1))])
    slack = np.hstack([M[r][:, None] * _factor(correcting) for r in range(len(M))])
    slack = np.hstack([slack, M.T])
    t, k = len(M), correcting.shape[0]
    side = scipy.linalg.block_diag(penalty * np.eye(t * k), np.zeros((t, t)))
    P = scipy.linalg.block_diag(np.eye(n), 0, side, side)
    empty, lead = np.zeros_like(slack), np.zeros((n, n + 1))
    G = np.vstack(
        [
            np.hstack([Z, -slack, empty]),
            np.hstack([-Z, empty, -slack]),
            np.hstack([lead, -slack, empty]),
            np.hstack([lead, empty, -slack]),
        ]
    )
    h = np.r_[epsilon + y, epsilon - y, np.zeros(2 * n)]
    q = np.r_[np.zeros(n + 1), cost @ slack, cost @ slack]
    x, value = solve_qp(P, q, np.zeros((1, len(q))), np.zeros(1), G, h)
    w, v, v_star = np.split(x, [n + 1, n + 1 + slack.shape[1]])
    return Solved(-value, Z @ w, np.column_stack([slack @ v, slack @ v_star]))
