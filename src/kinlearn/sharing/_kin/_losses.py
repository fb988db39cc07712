"""What combinations of candidates cost on rows that they were not fitted to."""

import numpy as np

from kinlearn.utils import group_rows

__all__ = ["LogLoss", "SquaredLoss"]


class SquaredLoss:
    r"""Half the squared error over the variance, summed by group.

    .. math:: L_t(w) = \frac{1}{2 \sigma_t^2} \sum_{i \in t} s_i (y_i - w^\top p_i)^2

    Parameters
    ----------
    answers : float64 array of shape (n_samples, n_candidates)
        Predictions out of fold.
    y : float64 array of shape (n_samples,)
        Targets.
    weight : float64 array of shape (n_samples,)
        Weights of the rows.
    group : int array of shape (n_samples,)
        Group of each row.
    variance : float64 array of shape (n_groups,)
        Of the rows' noise, by group.
    """

    def __init__(self, answers, y, weight, group, variance):
        n = len(variance)
        indptr, order = group_rows(group, n)
        self.n_candidates = k = answers.shape[1]
        self._matrix = np.zeros((n, k, k))
        self._moment = np.zeros((n, k))
        self._square = np.zeros(n)
        for t in np.flatnonzero(np.diff(indptr)):
            rows = order[indptr[t] : indptr[t + 1]]
            P, s, target = answers[rows], weight[rows], y[rows]
            self._matrix[t] = P.T @ (s[:, None] * P) / variance[t]
            self._moment[t] = P.T @ (s * target) / variance[t]
            self._square[t] = s @ target**2 / variance[t]

    def value(self, w):
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
        through = np.einsum("tij,tj->ti", self._matrix, w)
        return ((through - 2 * self._moment) * w).sum(axis=1) / 2 + self._square / 2

    def expand(self, w):
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
        gradient = np.einsum("tij,tj->ti", self._matrix, w) - self._moment
        return gradient, self._matrix


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

    def __init__(self, answers, weight, group, n_groups):
        indptr, order = group_rows(group, n_groups)
        self.n_candidates = answers.shape[1]
        self._answers = answers[order]
        self._weight = weight[order]
        self._group = np.asarray(group)[order]
        self._parts = [slice(indptr[t], indptr[t + 1]) for t in range(n_groups)]

    def _mixed(self, w):
        return (self._answers * w[self._group]).sum(axis=1)

    def value(self, w):
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

    def expand(self, w):
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
