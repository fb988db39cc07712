"""Logistic regression with an l2 penalty, by a general minimiser."""

import numpy as np
from scipy.optimize import minimize


def fit_logistic(X, sign, weight, cost):
    """Coefficients, the intercept last.

    Parameters
    ----------
    X : float64 array of shape (n_samples, n_features)
        Features.
    sign : array of shape (n_samples,)
        Classes, -1 or 1.
    weight : float64 array of shape (n_samples,)
        Weights.
    cost : float
        The inverse of the penalty.

    Returns
    -------
    float64 array of shape (n_features + 1,)
        Where the objective is least.
    """

    def objective(b):
        score = X @ b[:-1] + b[-1]
        return cost * weight @ np.logaddexp(0, -sign * score) + b[:-1] @ b[:-1] / 2

    def slope(b):
        score = X @ b[:-1] + b[-1]
        g = -cost * weight * sign / (1 + np.exp(sign * score))
        return np.append(X.T @ g + b[:-1], g.sum())

    start = np.zeros(X.shape[1] + 1)
    options = {"gtol": 1e-10, "maxiter": 10_000}
    return minimize(objective, start, jac=slope, method="BFGS", options=options).x
