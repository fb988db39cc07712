"""Features as linear models, machines and distances need them.

Numbers get mean 0 and variance 1. Categories of few values become indicators, once for
all rows; those of many become mean targets, which know the target and are learned with
each model, from the rows that it is fitted to.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from kinlearn.tables.internal import CategoryColumn

__all__ = [
    "Categories",
    "MeanTargets",
    "Standardisation",
    "WithMeanTargets",
    "indicators",
]


def indicators(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """A column of 0 and 1 for each class; of two classes, for the second alone."""
    first = 0 if n_classes > 2 else 1
    return (codes[:, None] == np.arange(first, n_classes)).astype(np.float64)


def _levels_and_codes(x: np.ndarray) -> tuple[list[str], np.ndarray]:
    """Names of the values of a column of codes, and the places of its rows."""
    codes = np.where(np.isnan(x), -1, x).astype(np.intp)
    return [str(code) for code in range(int(codes.max(initial=-1)) + 1)], codes


@dataclass(frozen=True, eq=False)
class Categories:
    """Columns of codes, and what they become.

    Attributes
    ----------
    few : list of (int, CategoryColumn)
        Positions of columns of few values, which become indicators.
    many : list of int
        Positions of columns of many values, which stay codes and come last.
    """

    few: list
    many: list

    @property
    def positions(self) -> list[int]:
        """All of them."""
        return [*(j for j, _ in self.few), *self.many]

    @classmethod
    def of(cls, X: np.ndarray, categorical: np.ndarray) -> Self:
        """Look at the columns of X that are codes; NaN is missing."""
        few, many = [], []
        for j in np.flatnonzero(categorical).tolist():
            column = CategoryColumn.find("target", *_levels_and_codes(X[:, j]))
            if column.way == "target":
                many.append(j)
            else:
                few.append((j, column))
        return cls(few, many)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Indicators of the columns of few values, then the codes of the others.

        They are of the type of X; a missing code is -1.
        """
        parts = [column.encode(*_levels_and_codes(X[:, j])) for j, column in self.few]
        parts.append(np.nan_to_num(X[:, self.many], nan=-1.0))
        return np.hstack(parts).astype(X.dtype, copy=False)


class MeanTargets:
    """Mean targets in place of the last `n_columns` before the task, of unit variance.

    Attributes
    ----------
    columns_ : list of CategoryColumn
        With the means.
    centre_, spread_ : float64 arrays
        Of what comes out.
    """

    def __init__(self, n_columns: int) -> None:
        self.n_columns = n_columns

    def fit_apply(self, X: np.ndarray, y: np.ndarray, n_classes: int) -> np.ndarray:
        """Learn the means; those of the rows themselves are cross-fitted.

        X has the task as its last column; `n_classes` is 0 for numbers.
        """
        targets = indicators(y, n_classes) if n_classes else y[:, None]
        self.columns_, parts = [], []
        for codes in self._codes(X).T:
            levels, places = _levels_and_codes(np.where(codes < 0, np.nan, codes))
            column = CategoryColumn("target", levels, shared=True, missing=False)
            parts.append(column.encode(levels, places, targets))
            self.columns_.append(column)
        means = np.hstack(parts)
        self.centre_ = means.mean(axis=0)
        spread = means.std(axis=0)
        self.spread_ = np.where(spread > 0, spread, 1.0)
        return self._joined(X, means)

    def apply(self, X: np.ndarray) -> np.ndarray:
        """Rows with means in place of codes."""
        parts = [
            column.encode(*_levels_and_codes(np.where(codes < 0, np.nan, codes)))
            for column, codes in zip(self.columns_, self._codes(X).T, strict=True)
        ]
        return self._joined(X, np.hstack(parts))

    def _codes(self, X: np.ndarray) -> np.ndarray:
        return X[:, -1 - self.n_columns : -1]

    def _joined(self, X: np.ndarray, means: np.ndarray) -> np.ndarray:
        means = ((means - self.centre_) / self.spread_).astype(X.dtype, copy=False)
        return np.hstack([X[:, : -1 - self.n_columns], means, X[:, -1:]])


class WithMeanTargets:
    """A model that was fitted to mean targets, and what makes them of codes."""

    def __init__(self, codes: MeanTargets, model: Any) -> None:
        self.codes = codes
        self.model = model

    @property
    def classes_(self) -> np.ndarray:
        """Those of the model."""
        return self.model.classes_

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The model's numbers."""
        return self.model.predict(self.codes.apply(X))

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """The model's probabilities."""
        return self.model.predict_proba(self.codes.apply(X))


# What rows of standardised features, or weighted words, of usual penalties have.
_SQUARED_NORM = 30.0
_ROWS_AT_ONCE = 8192
_MOST_OF_USUAL = 10.0  # a sparse feature may be so many times as large as the others


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Mean and spread of each feature; missing values become the mean.

    Sparse features keep their zeros: the centre is 0, and all have one spread, which
    gives rows a common size. It is larger for a feature that would drown the others.

    Attributes
    ----------
    centre, spread : float64 arrays of shape (n_features,)
        Of the known values; the spread of a feature that does not vary is 1.
    categories : Categories or None
        What becomes of features that are codes: it comes behind the numbers.
    """

    centre: np.ndarray
    spread: np.ndarray
    categories: Categories | None = None

    @property
    def n_codes(self) -> int:
        """How many features stay codes; they are the last."""
        return 0 if self.categories is None else len(self.categories.many)

    @classmethod
    def of(
        cls, X: Any, weight: np.ndarray, categorical: np.ndarray | None = None
    ) -> Self:
        """Measure the columns of X; a weight of 2 is the same as two rows."""
        if sp.issparse(X):
            return cls(np.zeros(X.shape[1]), _spread_of_sparse(X, weight))
        categories = None
        if categorical is not None:
            categories = Categories.of(X, categorical)
            X = X[:, ~categorical]
        centre, spread = np.zeros(X.shape[1]), np.ones(X.shape[1])
        for j in range(X.shape[1]):
            known = ~np.isnan(X[:, j])
            if not known.any():
                continue
            x, w = X[known, j].astype(np.float64), weight[known]
            low, high = x.min(), x.max()
            if low == high:
                centre[j] = low
                continue
            # from the middle, in units of half the range: no sum or square of
            # numbers of any size overflows or vanishes
            middle, half = low / 2 + high / 2, high / 2 - low / 2
            z = (x - middle) / half
            mean = np.average(z, weights=w)
            centre[j] = middle + half * mean
            spread[j] = half * np.sqrt(np.average((z - mean) ** 2, weights=w))
        return cls(centre, spread, categories)

    def apply(self, X: Any, out: np.ndarray | None = None) -> Any:
        """The features in these terms, as CSR if X is so, and of the type of X.

        They go to `out`, if given, where X is an array without categories.
        """
        if sp.issparse(X):
            scaled = X.data / self.spread[X.indices]
            scaled = np.nan_to_num(scaled.astype(X.dtype, copy=False), copy=False)
            return sp.csr_array((scaled, X.indices, X.indptr), shape=X.shape)
        codes = None
        if self.categories is not None:
            codes = self.categories.apply(X)
            X = np.delete(X, self.categories.positions, axis=1)
        Z = np.empty(X.shape, X.dtype) if out is None else out
        for first in range(0, len(X), _ROWS_AT_ONCE):  # more precise than a small X
            rows = slice(first, first + _ROWS_AT_ONCE)
            Z[rows] = (X[rows] - self.centre) / self.spread
            np.nan_to_num(Z[rows], copy=False)
        return Z if codes is None else np.hstack([Z, codes])


def _spread_of_sparse(X: Any, weight: np.ndarray) -> np.ndarray:
    """Numbers to divide the columns of a CSR by."""
    data = np.abs(np.nan_to_num(X.data.astype(np.float64)))
    largest = np.zeros(X.shape[1])
    np.maximum.at(largest, X.indices, data)
    if not largest.any():
        return np.ones(X.shape[1])
    most = _MOST_OF_USUAL * np.median(largest[largest > 0])
    spread = np.maximum(largest / most, 1.0)
    unit = largest.max()  # so that squares are of any size
    size = np.zeros(X.shape[0])
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    np.add.at(size, row, (data / spread[X.indices] / unit) ** 2)
    norm = unit * np.sqrt(np.average(size, weights=weight) / _SQUARED_NORM)
    return spread * norm
