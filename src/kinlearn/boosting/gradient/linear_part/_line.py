"""A line through the features, as what each bin of them adds to scores.

A bin stands for the middle between its edges; the first and the last, which have one
edge, reach as far beyond it as half of their neighbour. So the line needs nothing but
bins, as trees do, and ends where they end: values far out count as the outermost bin.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kinlearn.boosting.gradient._bins import FeatureBins
from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    check_starts,
    demand,
)

__all__ = ["STEPS_OF_ONE", "BinValues", "Line"]

STEPS_OF_ONE = 128  # of a standard deviation: values are multiples of 1 / 128
_MOST_DEVIATIONS = 8
_ROWS = 2**12  # whose scores stay in the cache


@dataclass(frozen=True, eq=False)
class BinValues:
    """Standardised features, as whole multiples of a small unit.

    Attributes
    ----------
    features : intp array of shape (n_line,)
        Features that a line can have: numbers of more than one bin.
    values : float64 array of shape (n_cells,)
        The value of each bin of each of them, that of missing values behind the
        others: 0, the mean.
    first : intp array of shape (n_line + 1,)
        Where the bins of each begin.
    """

    features: np.ndarray
    values: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, bins: FeatureBins, counts: np.ndarray) -> "BinValues":
        """`counts` are rows in each bin, for all features one after another."""
        start = np.concatenate([[0], np.cumsum(bins.n_bins.astype(np.intp) + 1)])
        features, values = [], []
        for f, n_bins in enumerate(bins.n_bins.tolist()):
            if n_bins < 2 or bins.categorical[f]:
                continue
            edges = bins.edges[bins.indptr[f] : bins.indptr[f + 1]]
            in_bin = counts[start[f] : start[f] + n_bins]
            found = _standardised(edges.astype(np.float64), in_bin)
            if found is not None:
                features.append(f)
                values.append(np.append(found, 0.0))
        first = np.cumsum([0, *map(len, values)]).astype(np.intp)
        return cls(
            np.array(features, dtype=np.intp),
            np.concatenate([np.empty(0), *values]),
            first,
        )

    def rows(self, bins: np.ndarray) -> np.ndarray:
        """Values of rows, of shape (n_rows, n_line)."""
        return self.values[self.first[:-1] + bins[:, self.features]]

    def line(self, coef: np.ndarray, gain: np.ndarray, n_features: int) -> "Line":
        """The line with coefficients of shape (n_line, n_outputs)."""
        some = np.flatnonzero(coef.any(axis=1))
        sizes = np.diff(self.first)
        tables = [
            self.values[self.first[i] : self.first[i + 1], None] * coef[i] for i in some
        ]
        of_feature = np.zeros(n_features)
        of_feature[self.features] = gain
        deviation = np.zeros((n_features, coef.shape[1]))
        deviation[self.features] = coef * STEPS_OF_ONE
        return Line(
            features=self.features[some],
            table=np.concatenate([np.empty((0, coef.shape[1])), *tables]),
            first=np.concatenate([[0], np.cumsum(sizes[some])]).astype(np.intp),
            coef=deviation,
            gain=of_feature,
            penalty=np.full(coef.shape[1], np.inf),
        )


def _standardised(edges: np.ndarray, counts: np.ndarray) -> np.ndarray | None:
    """Values of a feature's bins; None if they do not vary, or are too large."""
    with np.errstate(over="ignore", invalid="ignore"):
        inner = edges[:-1] / 2 + edges[1:] / 2
        if len(edges) == 1:
            middle = np.array([0.0, 1.0])
        else:
            low = edges[0] - (edges[1] - edges[0]) / 2
            high = edges[-1] + (edges[-1] - edges[-2]) / 2
            middle = np.concatenate([[low], inner, [high]])
        total = counts.sum()
        middle = middle - (counts @ middle) / max(total, 1)
        deviation = np.sqrt((counts @ middle**2) / max(total, 1))
        if not (np.isfinite(deviation) and deviation > 0):
            return None
        values = np.clip(middle / deviation, -_MOST_DEVIATIONS, _MOST_DEVIATIONS)
    return np.rint(values * STEPS_OF_ONE)


@dataclass(frozen=True, eq=False)
class Line:
    """What a line through the features adds to scores.

    Attributes
    ----------
    features : intp array of shape (n_line,)
        Features with a slope.
    table : float64 array of shape (n_cells, n_outputs)
        What each of their bins adds, missing values behind the others.
    first : intp array of shape (n_line + 1,)
        Where the bins of each begin.
    coef : float64 array of shape (n_features, n_outputs)
        Slopes for a standard deviation of each feature.
    gain : float64 array of shape (n_features,)
        What each of them gains, as splits count gains.
    penalty : float64 array of shape (n_outputs,)
        The penalty on the lengths that later tasks give it, by how tasks of fit differ.
    """

    features: np.ndarray
    table: np.ndarray
    first: np.ndarray
    coef: np.ndarray
    gain: np.ndarray
    penalty: np.ndarray

    def check(self, n_bins: np.ndarray, n_outputs: int) -> None:
        """Refuse arrays that do not fit features of so many bins."""
        check_numbers("features", self.features, np.intp, (None,))
        check_below("features", self.features, len(n_bins))
        check_numbers("table", self.table, np.float64, (None, n_outputs))
        check_finite("table", self.table)
        ends = np.cumsum(n_bins[self.features] + 1)
        check_starts("first", self.first, len(self.features), len(self.table), np.intp)
        demand(np.array_equal(self.first[1:], ends), "first")
        check_numbers("coef", self.coef, np.float64, (len(n_bins), n_outputs))
        check_numbers("gain", self.gain, np.float64, (len(n_bins),))
        check_numbers("penalty", self.penalty, np.float64, (n_outputs,))

    def tables(self) -> Iterator[tuple[int, np.ndarray]]:
        """Features, and what their bins add."""
        ends = zip(self.features, self.first[:-1], self.first[1:], strict=True)
        for feature, first, last in ends:
            yield int(feature), self.table[first:last]

    def add(self, bins: np.ndarray, scores: np.ndarray) -> None:
        """Add to scores of rows, of shape (n_rows, n_outputs)."""
        tables: Any
        if scores.shape[1] == 1:  # numbers one after another are found faster than rows
            tables = [(feature, table[:, 0]) for feature, table in self.tables()]
            scores = scores[:, 0]
        else:
            tables = [*self.tables()]
        for first in range(0, len(bins), _ROWS):
            here, out = bins[first : first + _ROWS], scores[first : first + _ROWS]
            for feature, table in tables:
                out += table.take(here[:, feature], axis=0)

    def among(self, place: np.ndarray, n_outputs: int) -> "Line":
        """The same line among more outputs, to which it adds nothing."""
        table = np.zeros((len(self.table), n_outputs))
        coef = np.zeros((len(self.coef), n_outputs))
        penalty = np.full(n_outputs, np.inf)
        table[:, place], coef[:, place] = self.table, self.coef
        penalty[place] = self.penalty
        return replace(self, table=table, coef=coef, penalty=penalty)
