"""Coefficients for one alpha."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Solution"]


@dataclass(frozen=True, eq=False)
class Solution:
    """Coefficients for one alpha.

    Attributes
    ----------
    shared, own : float64 arrays of shape (n_features, n_outputs)
        Coefficients are their sum; `own` is of no features if a penalty has one part.
    intercept : float64 array of shape (n_outputs,)
        Intercepts.
    alpha : float
        The penalty's factor.
    objective, gap : float
        The objective, and by how much it is above its least value, at most.
    n_iter : int
        Sets of features that were worked on and Newton's steps, or proximal steps.
    converged : bool
        Whether the gap is as small as it was to be.
    """

    shared: np.ndarray
    own: np.ndarray
    intercept: np.ndarray
    alpha: float = np.inf
    objective: float = np.inf
    gap: float = np.inf
    n_iter: int = 0
    converged: bool = False

    @property
    def coef(self) -> np.ndarray:
        """All coefficients."""
        return self.shared + self.own if self.own.size else self.shared
