"""Linear mixed models by dense matrices: slow, and plain to read.

y is normal with mean X beta and covariance V = sigma^2 (I + sum of Z G Z'), where rows
of the same level of a grouping share its effects. G is relative to sigma^2.
"""

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize


@dataclass
class Grouping:
    """Level of each row, and columns of X that have slopes beside the intercept."""

    codes: np.ndarray
    slopes: tuple = ()
    covariance: str = "full"
    rank: int = 1

    @property
    def q(self):
        return 1 + len(self.slopes)

    def design(self, X):
        return np.column_stack([np.ones(len(X)), X[:, list(self.slopes)]])

    def root(self, parameters):
        """A matrix R with G = R R', of any parameters of the right number."""
        if self.covariance == "scaled_identity":
            return parameters[0] * np.eye(self.q)
        if self.covariance == "diagonal":
            return np.diag(parameters)
        width = self.q if self.covariance == "full" else self.rank
        R = np.zeros((self.q, width))
        R[np.tril_indices(self.q, m=width)] = parameters
        return R

    @property
    def n_parameters(self):
        if self.covariance == "scaled_identity":
            return 1
        if self.covariance == "diagonal":
            return self.q
        width = self.q if self.covariance == "full" else self.rank
        return len(np.tril_indices(self.q, m=width)[0])


@dataclass
class DenseModel:
    """A mixed model of some rows; `weight` repeats rows (integers only)."""

    X: np.ndarray
    y: np.ndarray
    groupings: list = field(default_factory=list)
    reml: bool = True
    intercept: bool = True
    alpha: float = 0.0

    def fixed_columns(self, X):
        return np.column_stack([np.ones(len(X)), X]) if self.intercept else X

    def prior_covariance(self, G, X, codes):
        """Covariance of the random parts of some rows with those of the model."""
        out = np.zeros((len(X), len(self.X)))
        for grouping, cov, code in zip(self.groupings, G, codes, strict=True):
            same = code[:, None] == grouping.codes[None, :]
            out += same * (grouping.design(X) @ cov @ grouping.design(self.X).T)
        return out

    def relative_V(self, G):
        codes = [grouping.codes for grouping in self.groupings]
        V = np.eye(len(self.y)) + self.prior_covariance(G, self.X, codes)
        if self.alpha:  # coefficients but the intercept are random too
            V += self.X @ self.X.T / self.alpha
        return V

    def unpenalised(self):
        if not self.alpha:
            return self.fixed_columns(self.X)
        return np.ones((len(self.y), int(self.intercept)))

    def deviance(self, G):
        """Minus twice the log likelihood, at the best sigma and coefficients."""
        V, F = self.relative_V(G), self.unpenalised()
        A = F.T @ np.linalg.solve(V, F)
        beta = np.linalg.solve(A, F.T @ np.linalg.solve(V, self.y))
        e = self.y - F @ beta
        n = len(self.y) - (F.shape[1] if self.reml else 0)
        square = e @ np.linalg.solve(V, e)
        value = np.linalg.slogdet(V)[1] + n * (1 + np.log(2 * np.pi * square / n))
        return value + (np.linalg.slogdet(A)[1] if self.reml else 0.0)

    def estimates(self, G):
        """Coefficients, their covariance, sigma^2 (no penalty)."""
        V, F = self.relative_V(G), self.fixed_columns(self.X)
        A = F.T @ np.linalg.solve(V, F)
        beta = np.linalg.solve(A, F.T @ np.linalg.solve(V, self.y))
        e = self.y - F @ beta
        n = len(self.y) - (F.shape[1] if self.reml else 0)
        sigma2 = e @ np.linalg.solve(V, e) / n
        return beta, sigma2 * np.linalg.inv(A), sigma2

    def predict(self, G, X, codes):
        """Best linear prediction of new rows, and the variance of a new target.

        Levels that no row of the model has are drawn anew.
        """
        V, F = self.relative_V(G), self.fixed_columns(self.X)
        beta, covariance, sigma2 = self.estimates(G)
        cross = self.prior_covariance(G, X, codes)
        solved = np.linalg.solve(V, cross.T)
        F_new = self.fixed_columns(X)
        mean = F_new @ beta + solved.T @ (self.y - F @ beta)
        own = sum(
            np.einsum("ia,ab,ib->i", g.design(X), cov, g.design(X))
            for g, cov in zip(self.groupings, G, strict=True)
        )
        rest = F_new - solved.T @ F
        variance = sigma2 * (1 + own - np.einsum("ij,ji->i", cross, solved))
        return mean, variance + np.einsum("ia,ab,ib->i", rest, covariance, rest)

    def minimise(self, start):
        """The least deviance, from some parameters of the roots on."""
        ends = np.cumsum([g.n_parameters for g in self.groupings])[:-1]

        def objective(parameters):
            parts = np.split(parameters, ends)
            roots = [
                g.root(part) for g, part in zip(self.groupings, parts, strict=True)
            ]
            return self.deviance([root @ root.T for root in roots])

        return minimize(objective, start, method="BFGS", options={"gtol": 1e-6}).fun
