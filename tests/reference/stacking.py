"""Hierarchical stacking the slow way: every support, every scale, scipy's solvers.

Written from the model in the Notes of `KinClassifier`.
"""

from itertools import combinations

import numpy as np
from scipy.optimize import minimize

SCALES = (0.0, 0.03, 0.1, 0.3, 1.0)


def best_on_simplex(B, c):
    """Minimum of w'Bw/2 - c'w over the simplex: try all sets of positive weights."""
    n = len(c)
    best, least = None, np.inf
    for size in range(1, n + 1):
        for support in map(list, combinations(range(n), size)):
            kkt = np.block(
                [
                    [B[np.ix_(support, support)], np.ones((size, 1))],
                    [np.ones((1, size)), np.zeros((1, 1))],
                ]
            )
            w = np.zeros(n)
            w[support] = np.linalg.solve(kkt, np.r_[c[support], 1.0])[:size]
            value = w @ B @ w / 2 - c @ w
            if (w >= 0).all() and value < least:
                best, least = w, value
    return best


def row_loss(P, y, weight, variance=None):
    """The loss as a function of the weights: minus the log likelihood."""
    if variance is None:
        return lambda w: -(weight * np.log(P @ w)).sum()
    return lambda w: (weight * (y - P @ w) ** 2).sum() / (2 * variance)


def mode(loss, centre, scale):
    """The likeliest weights, by a general solver."""
    if scale == 0:
        return centre

    def objective(w):
        return loss(w) + ((w - centre) ** 2).sum() / (2 * scale**2)

    found = minimize(
        objective,
        centre,
        bounds=[(0, 1)] * len(centre),
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    return found.x


def curvature(loss, w, step=1e-4):
    """Second derivatives by differences."""
    n = len(w)
    H = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            a, b = np.eye(n)[i] * step, np.eye(n)[j] * step
            H[i, j] = (
                loss(w + a + b) - loss(w + a - b) - loss(w - a + b) + loss(w - a - b)
            ) / (4 * step**2)
    return H


def log_evidence(loss, w, centre, scale):
    """Laplace: the mode's height times the volume under it, prior to posterior."""
    if scale == 0:
        return -loss(centre)
    n = len(w)
    # an orthonormal basis of the directions that keep the sum
    basis = np.linalg.svd(np.ones((1, n)))[2][1:]
    A = basis @ curvature(loss, w) @ basis.T
    sign, log_det = np.linalg.slogdet(np.eye(n - 1) + scale**2 * A)
    assert sign > 0
    return -loss(w) - ((w - centre) ** 2).sum() / (2 * scale**2) - log_det / 2


def shrunken(losses, centre):
    """Weights of each group, the scales' shares learned from all of them by EM."""
    modes = [[mode(loss, centre, s) for s in SCALES] for loss in losses]
    evidence = [
        [log_evidence(loss, w, centre, s) for w, s in zip(ways, SCALES, strict=True)]
        for loss, ways in zip(losses, modes, strict=True)
    ]
    start = np.full(len(SCALES), 1 / len(SCALES))
    shares = start.copy()
    for _ in range(1000):
        counts = start.copy()
        for e in evidence:
            counts += posterior(e, shares)
        shares = counts / counts.sum()
    weights = [
        sum(p * w for p, w in zip(posterior(e, shares), ways, strict=True))
        for e, ways in zip(evidence, modes, strict=True)
    ]
    return np.array(weights), shares


def crowd(loss, n):
    """Weights of one group around equal ones, all scales alike beforehand."""
    centre = np.full(n, 1 / n)
    modes = [mode(loss, centre, s) for s in SCALES]
    e = [log_evidence(loss, w, centre, s) for w, s in zip(modes, SCALES, strict=True)]
    share = posterior(e, np.ones(len(SCALES)))
    return sum(p * w for p, w in zip(share, modes, strict=True))


def posterior(evidence, prior):
    """Bayes' rule for the scales of one group."""
    joint = np.exp(np.array(evidence) - max(evidence)) * prior
    return joint / joint.sum()
