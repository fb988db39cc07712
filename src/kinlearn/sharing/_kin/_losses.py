"""What combinations of candidates cost on rows that they were not fitted to."""

import numpy as np

from kinlearn.utils import group_rows

__all__ = ["LogLoss", "SquaredLoss"]


class SquaredLoss:
    r"""Half the squared error over the variance, summed by group.

    .. math:: L_t(w) = \frac{1}{2 \sigma_t^2} \sum_{i \in t} s_i (w^\top r_i)^2

    Weights sum to 1, so this is the error of the combination, computed from the
    candidates' errors: numbers far from 0 cost no digits.

    Parameters
    ----------
    errors : float64 array of shape (n_samples, n_candidates)
        Targets less predictions out of fold.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.
    group : int array of shape (n_samples,)
        Group of each row.
    variance : float64 array of shape (n_groups,)
        Of the rows' noise, by group.
    """

    def __init__(
        self,
        errors: np.ndarray,
        weight: np.ndarray,
        group: np.ndarray,
        variance: np.ndarray,
    ) -> None:
        n = len(variance)
        indptr, order = group_rows(group, n)
        self.n_candidates = k = errors.shape[1]
        self._matrix = np.zeros((n, k, k))
        for t in np.flatnonzero(np.diff(indptr)):
            rows = order[indptr[t] : indptr[t + 1]]
            part = errors[rows]
            self._matrix[t] = part.T @ (weight[rows, None] * part) / variance[t]

    def value(self, w: np.ndarray) -> np.ndarray:
        """The loss of each group.

        Parameters
        ----------
        w : float64 array of shape (n_groups, n_candidates)
            Weights of the candidates.

        Returns
        -------
        float64 array of shape (n_groups,)
            Losses.
        """
        return np.einsum("ti,tij,tj->t", w, self._matrix, w) / 2

    def expand(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and second derivatives of each group's loss.

        Parameters
        ----------
        w : float64 array of shape (n_groups, n_candidates)
            Where.

        Returns
        -------
        gradient : float64 array of shape (n_groups, n_candidates)
            First derivatives.
        curvature : float64 array of shape (n_groups, n_candidates, n_candidates)
            Second derivatives.
        """
        return np.einsum("tij,tj->ti", self._matrix, w), self._matrix


class LogLoss:
    r"""Minus the log of the probability of the true class, summed by group.

    .. math:: L_t(w) = -\sum_{i \in t} s_i \log(w^\top p_i)

    Parameters
    ----------
    answers : float64 array of shape (n_samples, n_candidates)
        Probability of the true class, out of fold; positive.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.
    group : int array of shape (n_samples,)
        Group of each row.
    n_groups : int
        Number of groups; some may be empty.
    """

    def __init__(
        self, answers: np.ndarray, weight: np.ndarray, group: np.ndarray, n_groups: int
    ) -> None:
        indptr, order = group_rows(group, n_groups)
        self.n_candidates = answers.shape[1]
        self._answers = answers[order]
        self._weight = weight[order]
        self._group = np.asarray(group)[order]
        self._parts = [slice(indptr[t], indptr[t + 1]) for t in range(n_groups)]

    def _mixed(self, w: np.ndarray) -> np.ndarray:
        if len(w) == 1:
            return self._answers @ w[0]
        return np.einsum("ij,ij->i", self._answers, w[self._group])

    def value(self, w: np.ndarray) -> np.ndarray:
        """The loss of each group.

        Parameters
        ----------
        w : float64 array of shape (n_groups, n_candidates)
            Weights of the candidates.

        Returns
        -------
        float64 array of shape (n_groups,)
            Losses.
        """
        cost = -self._weight * np.log(self._mixed(w))
        return np.bincount(self._group, weights=cost, minlength=len(w))

    def expand(self, w: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and second derivatives of each group's loss.

        Parameters
        ----------
        w : float64 array of shape (n_groups, n_candidates)
            Where.

        Returns
        -------
        gradient : float64 array of shape (n_groups, n_candidates)
            First derivatives.
        curvature : float64 array of shape (n_groups, n_candidates, n_candidates)
            Second derivatives.
        """
        ratio = self._answers / self._mixed(w)[:, None]
        weighted = self._weight[:, None] * ratio
        k = w.shape[1]
        gradient, curvature = np.zeros((len(w), k)), np.zeros((len(w), k, k))
        for t, part in enumerate(self._parts):
            gradient[t] = -weighted[part].sum(axis=0)
            curvature[t] = ratio[part].T @ weighted[part]
        return gradient, curvature
