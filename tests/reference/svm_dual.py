"""The duals of SVM+MTL as the specification prints them, by an interior-point QP.

K the decision kernel, K* the correcting one, gamma the correction penalty, s the
weights; S is 1 where two rows have the same task.
"""

import clarabel
import numpy as np
import scipy.sparse as sp


def multi_task_kernel(K, K_star, task, gamma):
    """K + S o K* / gamma."""
    same = task[:, None] == task[None, :]
    return K + same * K_star / gamma


def _solve(P, q, equalities, low, high):
    """min x'Px / 2 + q'x, equalities x = 0, low <= x <= high; x, prices, objective."""
    n = len(q)
    m = len(equalities)
    A = sp.vstack([sp.csc_matrix(equalities), sp.eye(n), -sp.eye(n)]).tocsc()
    b = np.concatenate([np.zeros(m), high, -low])
    cones = [clarabel.NonnegativeConeT(2 * n)]
    if m:
        cones.insert(0, clarabel.ZeroConeT(m))
    # a hair on the diagonal: rounding must not make the program indefinite
    P = P + 1e-12 * np.trace(P) / n * np.eye(n)
    # how near it gets to ill-conditioned programs differs between machines
    for tol in (1e-10, 1e-8, 1e-7):
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
        settings.max_iter = 200
        solver = clarabel.DefaultSolver(
            sp.triu(sp.csc_matrix(P)).tocsc(), q, A, b, cones, settings
        )
        solution = solver.solve()
        if solution.status == clarabel.SolverStatus.Solved:
            break
    else:
        raise RuntimeError(f"clarabel: {solution.status}")
    return np.array(solution.x), np.array(solution.z[:m]), solution.obj_val


def multi_task_svc(Q, y, task, C, bias=True):
    """-sum a + a'(yy' o Q)a / 2; sum over each task y a = 0, 0 <= a_i <= C_i.

    Returns y a, the bias of each task (the price of its equality) and the objective.
    """
    tasks = np.unique(task)
    E = np.array([np.where(task == t, y, 0.0) for t in tasks]) if bias else []
    E = np.reshape(E, (-1, len(y)))
    a, price, objective = _solve(
        np.outer(y, y) * Q, -np.ones(len(y)), E, np.zeros(len(y)), C
    )
    return y * a, price, objective


def multi_task_svr(Q, y, task, C, eps, bias=True):
    """eps sum |l| - l'y + l'Ql / 2; sum over each task l = 0, |l_i| <= C_i.

    With l = u - v, both at least 0. Returns l, biases and the objective.
    """
    n = len(y)
    tasks = np.unique(task)
    E = np.array([np.where(task == t, 1.0, 0.0) for t in tasks]) if bias else []
    E = np.reshape(E, (-1, n))
    x, price, objective = _solve(
        np.block([[Q, -Q], [-Q, Q]]),
        np.concatenate([eps - y, eps + y]),
        np.hstack([E, -E]),
        np.zeros(2 * n),
        np.concatenate([C, C]),
    )
    return x[:n] - x[n:], price, objective
