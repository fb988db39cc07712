"""Slow, obvious twins of multi-task symmetric NMF, written from the specification.

W the affinity, V the factor, alpha the weight of the penalty on unequal shares.
"""

from itertools import combinations

import numpy as np


def shared_affinity(X, task, lambda_intra, lambda_inter):
    """The sum over features that both rows have of both values, weighted by task."""
    n = len(X)
    W = np.zeros((n, n))
    for i in range(n):
        for k in range(n):
            if i == k:
                continue
            for j in range(X.shape[1]):
                if X[i, j] != 0 and X[k, j] != 0:
                    W[i, k] += X[i, j] + X[k, j]
            W[i, k] *= lambda_intra if task[i] == task[k] else lambda_inter
    return W


def degree_normalised(W):
    """D^-1/2 W D^-1/2; rows without affinity stay zero."""
    out = np.zeros_like(W)
    d = W.sum(axis=1)
    for i in range(len(W)):
        for k in range(len(W)):
            if W[i, k] > 0:
                out[i, k] = W[i, k] / np.sqrt(d[i] * d[k])
    return out


def penalty(V, task, alphas, shares):
    """Each pair of clusters in each task: squared difference of sum over share."""
    k = V.shape[1]
    total = 0.0
    for t, alpha in enumerate(alphas):
        sums = V[task == t].sum(axis=0) / (k * shares[t])
        for a, b in combinations(range(k), 2):
            total += alpha * 2 / k * (sums[a] - sums[b]) ** 2
    return total


def objective(A, V, task, weights, scales, alphas, shares):
    """1/2 sum of weight * (scale * A - VV')^2 over cells, and the penalty.

    weights, scales: by pairs of tasks. The thesis has weights 1 and scales lambda.
    """
    total = 0.0
    for i in range(len(A)):
        for k in range(len(A)):
            t, s = task[i], task[k]
            gap = scales[t, s] * A[i, k] - V[i] @ V[k]
            total += 0.5 * weights[t, s] * gap**2
    return total + penalty(V, task, alphas, shares)


def thesis_objective(W, V, task, alpha):
    """1/2 |W - VV'|^2 + alpha tr(phi phi') with phi = H V K, for two clusters."""
    H = (np.arange(task.max() + 1)[:, None] == task).astype(float)
    phi = H @ V @ np.array([[1.0], [-1.0]])
    return 0.5 * np.sum((W - V @ V.T) ** 2) + alpha * np.trace(phi @ phi.T)


def thesis_update(W, V, task, alpha=None):
    """One multiplicative update; alpha=None is the thesis's rule for it."""
    H = (np.arange(task.max() + 1)[:, None] == task).astype(float)
    K = np.array([[1.0], [-1.0]])
    push = H.T @ H @ V @ K @ K.T
    if alpha is None:
        positive = push > 0
        alpha = np.min((W @ V)[positive] / push[positive]) if positive.any() else 0.0
    denominator = V @ (V.T @ V)
    ratio = np.zeros_like(V)
    np.divide(W @ V - alpha * push, denominator, out=ratio, where=denominator > 0)
    return np.maximum(0.5 * V * (1 + ratio), 0.0), alpha


def coordinate_sweep(W, V, task, weights, penalties, order, passes=2):
    """Set one entry after another to the minimum of the objective over it.

    penalties: the quadratic form in the sums of each task. The derivative in one
    entry is a cubic; its roots are found by numpy.
    """
    V = V.copy()
    k = V.shape[1]
    for i in order:
        t = task[i]
        for _ in range(passes):
            for j in range(k):

                def slope(v, i=i, j=j, t=t):
                    U = V.copy()
                    U[i, j] = v
                    sums = U[task == t].sum(axis=0)
                    fit = sum(
                        weights[t, task[m]] * (U[i] @ U[m]) * U[m, j]
                        - W[i, m] * U[m, j]
                        for m in range(len(V))
                    )
                    return 2 * fit + 2 * penalties[t][j] @ sums

                points = np.array([0.0, 1.0, 2.0, 3.0])
                cubic = np.polyfit(points, [slope(v) for v in points], 3)
                roots = np.roots(cubic)
                real = roots[np.abs(roots.imag) < 1e-9 * (1 + np.abs(roots))].real
                V[i, j] = max(real.max(initial=0.0), 0.0)
    return V
