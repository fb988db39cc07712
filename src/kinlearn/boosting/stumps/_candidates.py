"""Candidates for roots: tests of the rows, or of a fitted model for later tasks."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn._binning import Bins
from kinlearn._kernels.boosting.stumps._stumps import ROOT, Roots
from kinlearn.boosting.stumps._model import TwoTaskStumps

__all__ = ["CHOOSERS", "RootChoice", "RootTests"]

CHOOSERS = ("best", "best_per_task", "stochastic")

_MOST = 250  # tests of a model; the bins of a feature must hold them all


@dataclass(frozen=True)
class RootChoice:
    """How the candidates for the root are chosen."""

    chooser: str  # one of CHOOSERS
    n_roots: int  # how many; for each task with "best_per_task"
    seed: int  # of the draw

    def roots(self, table: Any, number: int, all_weight: float) -> Roots:
        """An empty collection for the candidates of a round."""
        per_task = self.chooser == "best_per_task"
        return Roots(
            min(self.n_roots, table.most_tests(per_task)),
            table.n_tasks,
            per_task,
            self.chooser == "stochastic",
            self.seed + number,
            all_weight,
        )


@dataclass(frozen=True, eq=False)
class RootTests:
    """Tests at roots."""

    feature: np.ndarray  # (n,) features
    threshold: np.ndarray  # (n,) finite numbers; at most that is left
    missing_left: np.ndarray  # (n,) whether missing values go to the left

    @classmethod
    def of(cls, stumps: TwoTaskStumps, normalizers: np.ndarray, most: int) -> Self:
        """The tests at the roots of the rounds that mattered most.

        A test counts by the sum of -ln Z, what its rounds took off the logarithm of
        the bound on the error.
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
        """The tests as roots that predict no task; each threshold is an edge."""
        out = np.zeros(len(self.feature), dtype=ROOT)
        out["task"] = -1
        out["feature"], out["missing_left"] = self.feature, self.missing_left
        for at, (f, threshold) in enumerate(
            zip(self.feature, self.threshold, strict=True)
        ):
            edges = bins.edges[bins.indptr[f] : bins.indptr[f + 1]]
            out["cut"][at] = np.searchsorted(edges, threshold)
        return out
