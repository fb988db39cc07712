"""Codes of categories as linear models, machines and distances need them.

Few values become indicators, once for all rows. Many become mean targets, which know
the target: these are learned with each model, from the rows that it is fitted to.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn.sharing._kin._indicators import indicators
from kinlearn.tables._categories import CategoryColumn

__all__ = ["Categories", "MeanTargets", "WithMeanTargets"]


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
        """Look at the columns of X.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
            Rows; NaN is missing.
        categorical : bool array of shape (n_features,)
            Which features are codes.

        Returns
        -------
        Categories
            What becomes of them.
        """
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

        Parameters
        ----------
        X : float array of shape (n_samples, n_features)
            Rows; NaN is missing.

        Returns
        -------
        float array of shape (n_samples, n_columns)
            Of the type of X; a missing code is -1.
        """
        parts = [column.encode(*_levels_and_codes(X[:, j])) for j, column in self.few]
        parts.append(np.nan_to_num(X[:, self.many], nan=-1.0))
        return np.hstack(parts).astype(X.dtype, copy=False)


class MeanTargets:
    """Mean targets in place of the last codes before the task, of unit variance.

    Parameters
    ----------
    n_columns : int
        How many columns of codes there are.

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

        Parameters
        ----------
        X : float array of shape (n_samples, n_features + 1)
            Rows with the task as their last column.
        y : array of shape (n_samples,)
            Class codes, or numbers.
        n_classes : int
            Number of classes; 0 for numbers.

        Returns
        -------
        float array
            The rows with means in place of codes.
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
        """Rows with means in place of codes.

        Parameters
        ----------
        X : float array of shape (n_samples, n_features + 1)
            Rows with the task as their last column.

        Returns
        -------
        float array
            The rows.
        """
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
    """A model that was fitted to mean targets.

    Parameters
    ----------
    codes : MeanTargets
        What makes them of codes.
    model : estimator
        The model.
    """

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
