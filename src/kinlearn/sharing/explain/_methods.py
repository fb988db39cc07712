"""`explain`, for estimators that keep background rows."""

from collections.abc import Callable
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from kinlearn.sharing.explain._result import Explanation
from kinlearn.sharing.explain._shapley import (
    MOST_EXACT,
    differing,
    draw_background,
    shapley_values,
)
from kinlearn.tasks.internal import split_path
from kinlearn.utils._typing import RandomState, Table
from kinlearn.utils._values import show_values

__all__ = ["ExplainMethods"]

_N_BACKGROUND = 32


def _dense(X: Any) -> np.ndarray:
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return X.astype(np.float64)


class ExplainMethods:
    """Contributions of columns to predictions."""

    _background: Any
    # numbers or probabilities for features and task codes
    _predict_rows: Callable[[Any, np.ndarray], np.ndarray]
    feature_names_: np.ndarray

    def _remember_background(self, table: Any, weight: np.ndarray) -> None:
        """Keep a few rows of Kin's table, whose last column is the task."""
        rows = draw_background(weight, _N_BACKGROUND, np.random.RandomState(0))
        self._background = table.rows(False, some=rows)

    def explain(
        self,
        X: Table,
        *,
        label: Any = None,
        n_repeats: int = 1,
        random_state: RandomState = 0,
    ) -> Explanation:
        """Why these predictions? What features and the task add to each.

        Contributions are Shapley values against 32 rows that fit kept: how the
        prediction changes when a column gets the value of the row in place of that of
        a background row, in the mean over these rows and over the orders in which
        columns are changed. The task is one column. They add up to the prediction.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; few, since each takes hundreds of predictions.
        label : label, default=None
            Of classifiers: whose probability is explained. None is the second of two
            classes, and of more the likeliest of each row.
        n_repeats : int, default=1
            Pairs of a random order and its reverse for each background row. With seven
            columns or fewer that differ from the background, all orders are tried.
        random_state : int, RandomState instance or None, default=0
            Decides the orders.

        Returns
        -------
        Explanation
            Contributions by row and column with standard errors, in units of the
            target, or of probability (not of log odds) for classes.
        """
        check_is_fitted(self)
        if getattr(self, "_background", None) is None:
            raise ValueError(
                f"This {type(self).__name__} was fitted by a version of kinlearn that "
                "kept no background rows. Fit it again."
            )
        if not isinstance(n_repeats, Integral) or n_repeats < 1:
            raise ValueError(
                f"n_repeats must be an integer of 1 or more; found {n_repeats!r}."
            )
        rng = check_random_state(random_state)
        estimator: Any = self
        rows = estimator._predict_data(X)
        background = _dense(self._background)
        output, what = self._explained(rows, label)
        n, n_columns = rows.n_samples, background.shape[1]
        values, errors = np.zeros((2, n, n_columns))
        base, prediction = np.zeros((2, n))
        exact = np.zeros(n, dtype=bool)
        for i in range(n):
            x = np.append(_dense(rows.X[i : i + 1])[0], rows.task[i])

            def predict(cells: np.ndarray, i: int = i) -> np.ndarray:
                found = self._predict_rows(
                    cells[:, :-1].astype(rows.X.dtype),
                    cells[:, -1].astype(np.int32),
                )
                return found if output is None else found[:, output[i]]

            by_row, prediction[i], ends = shapley_values(
                predict, x, background, int(n_repeats), rng
            )
            values[i], base[i] = by_row.mean(axis=0), ends.mean()
            if len(background) > 1:
                errors[i] = by_row.std(axis=0, ddof=1) / np.sqrt(len(background))
            exact[i] = len(differing(x, background)) <= MOST_EXACT
        return Explanation(
            values, errors, base, prediction, self._explained_names(), what, exact
        )

    def _explained_names(self) -> np.ndarray:
        estimator: Any = self
        levels, task = split_path(estimator.task)
        path = [*levels, task]
        named = all(isinstance(name, str) for name in path)
        name = " / ".join(path) if named else "task"
        return np.array([*self.feature_names_, name], dtype=object)

    def _explained(self, rows: Any, label: Any) -> tuple[np.ndarray | None, str]:
        """Which output of each row is explained, and how to call it."""
        classes = getattr(self, "classes_", None)
        if classes is None:
            if label is not None:
                raise ValueError(f"label={label!r} is for classifiers.")
            return None, "prediction"
        if label is not None:
            found = np.flatnonzero(classes == label)
            if not len(found):
                raise ValueError(
                    f"label={label!r} is no class; found {show_values(classes)}."
                )
        elif len(classes) > 2:
            best = self._predict_rows(rows.X, rows.task).argmax(axis=1)
            return best, "probability of the likeliest class"
        else:
            found = np.array([len(classes) - 1])
        code = int(found[0])
        return np.full(rows.n_samples, code), f"probability of {classes[code]}"
