"""The line that boosting begins with, by explicit least squares over all rows."""

import itertools

import numpy as np

PENALTIES = [10 ** (k / 2) for k in range(-10, 3)]
PRICE = 1.4


def values_of_bins(edges, n_bins, counts):
    """Standardised values of the bins of a feature, without that of missing ones."""
    if len(edges) == 1:
        middle = np.array([0.0, 1.0])
    else:
        below = edges[0] - (edges[1] - edges[0]) / 2
        beyond = edges[-1] + (edges[-1] - edges[-2]) / 2
        middle = [below]
        middle += [(a + b) / 2 for a, b in itertools.pairwise(edges)]
        middle = np.array([*middle, beyond])
    assert len(middle) == n_bins
    rows = np.repeat(middle, counts.astype(int))
    standard = np.clip((middle - rows.mean()) / rows.std(), -8, 8)
    return np.rint(standard * 128) / 128


def best_slopes(X, task, response, h, intercept_penalty, n):
    """Slopes beside a constant and intercepts of tasks, by generalised validation.

    `response` is what the line, constant and intercepts together explain, and `h` the
    weights of the rows. None if slopes promise no less error.
    """
    W = np.diag(h)
    D = np.ones((len(X), 1))
    penalty = np.zeros(1)
    if np.isfinite(intercept_penalty):
        D = np.column_stack([D, task[:, None] == np.unique(task)])
        penalty = np.append(0.0, np.full(len(np.unique(task)), intercept_penalty))
    inner = D.T @ W @ D + np.diag(penalty)
    M = W - W @ D @ np.linalg.solve(inner, D.T @ W)
    free = n - 1
    if np.isfinite(intercept_penalty):
        sums = np.bincount(np.unique(task, return_inverse=True)[1], h)
        free -= (sums / (sums + intercept_penalty)).sum()
    total = response @ M @ response
    best, least = None, total / free**2
    for each in PENALTIES:
        A = X.T @ M @ X
        inverse = np.linalg.inv(A + each * h.sum() * np.eye(len(A)))
        beta = inverse @ X.T @ M @ response
        left = response - X @ beta
        n_left = free - PRICE * np.trace(inverse @ A)
        if n_left > 0 and left @ M @ left / n_left**2 < least:
            best, least = beta, left @ M @ left / n_left**2
    return best
