"""Tests of a fitted model, as candidates for the roots of a task that comes later."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kinlearn._kernels.boosting._stumps import ROOT
from kinlearn.boosting._stumps import TwoTaskStumps
from kinlearn.trees._binning import Bins

__all__ = ["RootTests"]

_MOST = 250  # the bins of a feature must hold them all


@dataclass(frozen=True, eq=False)
class RootTests:
    """Tests at roots.

    Attributes
    ----------
    feature : int32 array of shape (n,)
        Features.
    threshold : float64 array of shape (n,)
        Finite numbers; at most that is left.
    missing_left : int32 array of shape (n,)
        Whether missing values go to the left.
    """

    feature: np.ndarray
    threshold: np.ndarray
    missing_left: np.ndarray

    @classmethod
    def of(cls, stumps: TwoTaskStumps, normalizers: np.ndarray, most: int) -> Self:
        """The tests at the roots of the rounds that mattered most.

        Parameters
        ----------
        stumps : TwoTaskStumps
            The stumps.
        normalizers : float64 array of shape (n_rounds,)
            Z of their rounds. A test counts by the sum of -ln Z, what its rounds took
            off the logarithm of the bound on the error.
        most : int
            Number of tests.

        Returns
        -------
        RootTests
            The first of them.
        """
        root = stumps.nodes[:, 0]
        real = np.isfinite(root["threshold"])
        names = ["feature", "threshold", "missing_left"]
        tests, place = np.unique(root[names][real], return_inverse=True)
        gain = -np.log(np.maximum(normalizers[real], np.finfo(float).tiny))
        worth = np.bincount(place.ravel(), gain, minlength=len(tests))
        best = np.argsort(-worth, kind="stable")[: min(most, _MOST)]
        return cls(*(np.ascontiguousarray(tests[name][best]) for name in names))

    def cuts(self, n_features: int) -> list[np.ndarray]:
        """Thresholds of each feature, ascending."""
        return [np.unique(self.threshold[self.feature == f]) for f in range(n_features)]

    def roots(self, bins: Bins) -> np.ndarray:
        """The tests as roots that predict no task.

        Parameters
        ----------
        bins : Bins
            Each threshold is an edge.

        Returns
        -------
        structured array of shape (n,)
            As `Roots.best` gives them.
        """
        out = np.zeros(len(self.feature), dtype=ROOT)
        out["task"] = -1
        out["feature"], out["missing_left"] = self.feature, self.missing_left
        for at, (f, threshold) in enumerate(
            zip(self.feature, self.threshold, strict=True)
        ):
            edges = bins.edges[bins.indptr[f] : bins.indptr[f + 1]]
            out["cut"][at] = np.searchsorted(edges, threshold)
        return out
