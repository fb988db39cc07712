"""MTBoost, slowly: dense matrices, inverses and loops, written from the paper and spec.

Labels are -1 and 1 (or numbers), tasks 0, 1, ...; `starts` holds the weights that each
round begins with.
"""

import numpy as np


def root_of(matrix):
    """The symmetric root of a positive matrix."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T


def covariance(rounds, ridge):
    """Equation 10 of the paper, with a ridge inside the root."""
    W = np.array(rounds)
    root = root_of(W.T @ W + ridge**2 * np.eye(W.shape[1]))
    return root / np.trace(root)


def penalty(rounds, omega, ridge):
    """tr(Omega^-1 (W'W + ridge^2 I))."""
    W = np.array(rounds)
    inner = W.T @ W + ridge**2 * np.eye(W.shape[1])
    return np.trace(np.linalg.inv(omega) @ inner)


def step(beta, curvature, omega, lam):
    """Minimiser of beta'w + w'Dw/2 + lam/2 w'Omega^-1 w."""
    return -np.linalg.inv(np.diag(curvature) + lam * np.linalg.inv(omega)) @ beta


def least_squares(X, label, weight, penalty, row_weight, task=None):
    """Coefficients, and an intercept without penalty, by the normal equations.

    With tasks, each has a level of its own as well.
    """
    mean = np.average(X, axis=0, weights=row_weight)
    spread = np.average(((X - mean) ** 2).sum(axis=1), weights=row_weight)
    wide = np.column_stack([X - mean, np.ones(len(X))])
    ridge = np.append(np.full(X.shape[1], penalty * spread), 0.0)
    if task is not None:
        levels = np.eye(task.max() + 1)[task]
        wide = np.column_stack([wide, levels])
        ridge = np.append(ridge, np.full(levels.shape[1], penalty))
    A = wide.T @ np.diag(weight) @ wide + np.diag(ridge)
    return wide @ np.linalg.solve(A, wide.T @ (weight * label))


def loss_of(y, F, s, squared):
    """The training loss."""
    if squared:
        return 0.5 * np.sum(s * (y - F) ** 2)
    return np.sum(s * np.log1p(np.exp(-y * F)))


def boost(X, y, task, s, F, starts, *, lam, base_penalty, ridge, n_inner, how, output):
    """Rounds of MTBoost; weights, outputs and objectives by round, and the scores.

    `how` is "majorized" or "paper"; `output` is "clipped", "sign" or, for the squared
    loss, "number".
    """
    m, squared = task.max() + 1, output == "number"
    kappa = 1.0 if squared else 0.25
    F, W, outputs, objectives = F.copy(), [], [], []
    for start in starts:
        g = s * (y - F) if squared else s * y / (1 + np.exp(y * F))
        old = W if W else [np.zeros(m)]
        w, candidates = np.array(start), []
        for _ in range(n_inner):
            if squared:
                label, weight = w[task] * (y - F), s
            else:
                label, weight = np.sign(w[task] * g), np.abs(w[task] * g)
            weight = weight / weight.sum() * s.sum()
            h = least_squares(X, label, weight, base_penalty, s, task)
            if output == "sign":
                f = np.where(h > 0, 1.0, -1.0)
            elif output == "clipped":
                f = np.minimum(np.maximum(h, -1), 1)
            else:
                f = h / np.sqrt(np.average(h**2, weights=s))
            beta, bend = np.zeros(m), np.zeros(m)
            for i in range(m):
                beta[i] = -np.sum(g[task == i] * f[task == i])
                bend[i] = kappa * np.sum(s[task == i] * f[task == i] ** 2)
            if how == "paper":
                w = -covariance([*old, w], ridge) @ beta / lam
                candidates = [(0.0, w, f)]
                continue
            w = step(beta, bend, covariance(old, ridge), lam)
            w = step(beta, bend, covariance([*old, w], ridge), lam)
            omega = covariance([*old, w], ridge)
            value = beta @ w + w @ (bend * w) / 2
            value += lam / 2 * penalty([*old, w], omega, ridge)
            candidates.append((value, w, f))
        _, w, f = min(candidates, key=lambda each: each[0])
        F += w[task] * f
        W.append(w)
        outputs.append(f)
        omega = covariance(W, ridge)
        objectives.append(
            loss_of(y, F, s, squared) + lam / 2 * penalty(W, omega, ridge)
        )
    return np.array(W), np.array(outputs), np.array(objectives), F
