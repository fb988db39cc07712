"""Laplace's approximation of generalised mixed models, by dense matrices.

All random effects stand in one vector b with one covariance matrix G, and the integral
of the likelihood over b is replaced by that of a Gaussian at its mode:

    log L = sum log p(y | eta) - b'G^-1 b / 2 - log det(I + G Z'WZ) / 2

at the b that maximises the first two. Nothing is eliminated, sorted or shared.
"""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, gammaln, log_expit


def log_density(family, y, eta):
    """Log probability of each target."""
    if family == "binomial":
        return y * log_expit(eta) + (1 - y) * log_expit(-eta)
    return y * eta - np.exp(eta) - gammaln(y + 1)


def mean_and_variance(family, eta):
    """Mean and variance of a target by its linear predictor."""
    if family == "binomial":
        return expit(eta), expit(eta) * expit(-eta)
    return np.exp(eta), np.exp(eta)


def dense_columns(terms, codes, n_levels):
    """All columns Z, effects of a level side by side: terms are arrays (n, q)."""
    blocks = []
    for Z, code, levels in zip(terms, codes, n_levels, strict=True):
        n, q = Z.shape
        block = np.zeros((n, levels, q))
        block[np.arange(n), code] = Z
        blocks.append(block.reshape(n, levels * q))
    return np.hstack(blocks)


def dense_root(roots, n_levels):
    """A root of the covariance of all effects: T of each level on the diagonal."""
    from scipy.linalg import block_diag

    return block_diag(
        *(np.kron(np.eye(m), T) for T, m in zip(roots, n_levels, strict=True))
    )


def laplace_log_likelihood(family, y, eta_fixed, Z, root, weight):
    """Log likelihood, and the mode b of the effects."""
    A = Z @ root
    u = np.zeros(A.shape[1])

    def penalised(u):
        with np.errstate(over="ignore", invalid="ignore"):
            value = weight @ log_density(family, y, eta_fixed + A @ u) - u @ u / 2
        return value if np.isfinite(value) else -np.inf

    for _ in range(200):
        mean, variance = mean_and_variance(family, eta_fixed + A @ u)
        H = np.eye(len(u)) + A.T @ ((weight * variance)[:, None] * A)
        step = np.linalg.solve(H, A.T @ (weight * (y - mean)) - u)
        length = 1.0
        while penalised(u + length * step) < penalised(u) - 1e-12 and length > 1e-9:
            length /= 2
        u = u + length * step
        if np.abs(step).max() < 1e-12:
            break
    _, variance = mean_and_variance(family, eta_fixed + A @ u)
    H = np.eye(len(u)) + A.T @ ((weight * variance)[:, None] * A)
    return penalised(u) - np.linalg.slogdet(H)[1] / 2, root @ u


def fit_laplace(family, y, X, Z, n_levels, weight, offset, matrix, start, ridge=0.0):
    """Best parameters without gradients: a search over [theta, beta].

    `matrix` makes the roots T, term by term, of theta. Returns theta, beta and the log
    likelihood (with the ridge's penalty).
    """
    m = len(start) - X.shape[1]

    def value(x):
        root = dense_root(matrix(x[:m]), n_levels)
        eta = offset + X @ x[m:]
        log_likelihood, _ = laplace_log_likelihood(family, y, eta, Z, root, weight)
        return ridge * x[m:] @ x[m:] / 2 - log_likelihood

    found = minimize(value, start, method="BFGS", options={"gtol": 1e-7})
    found = minimize(
        value,
        found.x,
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-12, "maxiter": 20_000, "maxfev": 20_000},
    )
    return found.x[:m], found.x[m:], -found.fun
