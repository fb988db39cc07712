"""Multi-task penalties, slowly: objectives by their definitions, minimised in turn.

Written from the page multi-task-penalties. Every penalty is the least of quadratic
ones over a metric (lengths of blocks, a covariance, a spectrum), so coefficients by one
dense linear system and the metric by its formula are found in turn. The metric is kept
away from 0 by less and less; what is left of it is the accuracy that can be had.
"""

import numpy as np

LITTLE = 1e-9


def penalty_value(name, W, *, ridge=0.1, graph=None, n_clusters=2, within=10.0):
    """The penalty of W, which has a row for each task."""
    T = len(W)
    values = np.linalg.svd(W, compute_uv=False)
    if name == "l21":
        return sum(
            np.sqrt(sum(W[t, j] ** 2 for t in range(T))) for j in range(W.shape[1])
        )
    if name == "trace":
        return values.sum()
    if name == "covariance":
        return 0.5 * values.sum() ** 2 + 0.5 * ridge * (W**2).sum()
    if name == "graph":
        links = sum(
            graph[s, t] * ((W[s] - W[t]) ** 2).sum() for s in range(T) for t in range(s)
        )
        return 0.5 * links + 0.5 * ridge * (W**2).sum()
    mean = W.mean(axis=0)
    spread = np.linalg.svd(W - mean, compute_uv=False)
    eigenvalues = cluster_spectrum(_padded(spread, T - 1), n_clusters, within)
    cost = (_padded(spread, T - 1) ** 2 / eigenvalues).sum()
    return 0.5 * ridge * T * (mean**2).sum() + 0.5 * cost


def _padded(values, n):
    return np.append(values, np.zeros(n))[:n]


def cluster_spectrum(values, n_clusters, within):
    """Eigenvalues between 1 / within and 1, of a given sum, with the least cost."""
    n_high = min(n_clusters - 1, len(values))
    total = n_high + (len(values) - n_high) / within
    low, high = 1e-9, 1e9
    for _ in range(100):
        m = np.sqrt(low * high)
        found = np.clip(values / m, 1 / within, 1.0)
        low, high = (m, high) if found.sum() > total else (low, m)
    return np.clip(values / high, 1 / within, 1.0)


def objective(name, problems, W, alpha, own=None, price=None, **options):
    """Sum of the tasks' halved mean squared errors, and the penalty."""
    total = 0.0
    parts = W if own is None else W + own
    for (X, y), w in zip(problems, parts, strict=True):
        rest = y - X @ w
        total += 0.5 * np.mean((rest - rest.mean()) ** 2)
    if name == "shared_sparse":
        lengths = penalty_value("l21", W)
        return total + alpha * (lengths + price * np.abs(own).sum())
    return total + alpha * penalty_value(name, W, **options)


def _solve(problems, metric):
    """Coefficients under 1/2 vec(W)' metric vec(W); tasks one after the other."""
    T, d = len(problems), problems[0][0].shape[1]
    A, b = metric.copy(), np.zeros(T * d)
    for t, (X, y) in enumerate(problems):
        here = slice(t * d, (t + 1) * d)
        Xc = X - X.mean(axis=0)
        A[here, here] += Xc.T @ Xc / len(y)
        b[here] = Xc.T @ (y - y.mean()) / len(y)
    return np.linalg.solve(A, b).reshape(T, d)


def _root(M, little):
    values, vectors = np.linalg.eigh(M)
    return (vectors * np.sqrt(np.maximum(values, 0) + little**2)) @ vectors.T


def fit(name, problems, alpha, *, ridge=0.1, graph=None, n_clusters=2, within=10.0,
        n_iter=600):  # fmt: skip
    """Coefficients of one of the penalties with a single part."""
    T, d = len(problems), problems[0][0].shape[1]
    eye = np.eye(d)
    if name == "graph":
        M = np.diag(graph.sum(axis=1)) - graph + ridge * np.eye(T)
        return _solve(problems, alpha * np.kron(M, eye))
    W = _solve(problems, alpha * np.eye(T * d))
    for k in range(n_iter):
        # more at first: directions that W does not have yet could never come in
        little = max(0.96**k, LITTLE)
        if name == "l21":
            length = np.sqrt((W**2).sum(axis=0) + LITTLE**2)
            metric = np.kron(np.eye(T), np.diag(1 / length))
        elif name == "trace":
            metric = np.kron(np.linalg.inv(_root(W @ W.T, little)), eye)
        elif name == "covariance":
            omega = _root(W @ W.T, little)
            omega /= np.trace(omega)
            metric = np.kron(np.linalg.inv(omega) + ridge * np.eye(T), eye)
        else:
            U = np.full((T, T), 1 / T)
            left, values, _ = np.linalg.svd(W - W.mean(axis=0))
            values = _padded(values, T - 1)
            inverse = 1 / cluster_spectrum(values, n_clusters, within)
            inverse = np.append(inverse, 0.0)  # the mean has its own price
            keep = (left * inverse) @ left.T
            keep = (np.eye(T) - U) @ keep @ (np.eye(T) - U)
            metric = np.kron(ridge * U + keep, eye)
        W = _solve(problems, alpha * metric)
    return W
