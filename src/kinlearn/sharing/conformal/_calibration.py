"""Whether predictions are right in the mean of each task."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn.utils import import_optional

__all__ = ["CalibrationSums", "TaskCalibration"]

_WIDE = 1.96  # standard errors of an interval of 95%


@dataclass(frozen=True, eq=False)
class TaskCalibration:
    """Mean predictions and mean targets by task.

    It comes from ``calibration`` of :class:`kinlearn.KinRegressor`,
    :class:`kinlearn.KinClassifier` and the conformal wrappers.

    Attributes
    ----------
    what : str
        What is predicted: "mean", the probability of a class, or of the likeliest one.
    tasks : ndarray of shape (n_tasks,)
        Task values.
    n_rows : ndarray of shape (n_tasks,)
        Rows of each task, by their weights.
    predicted, observed : ndarray of shape (n_tasks,)
        Mean prediction, and mean target or fraction of rows; NaN without rows.
    low, high : ndarray of shape (n_tasks,)
        Interval of 95% for what would be observed in more rows: a normal
        approximation, so with few rows it is rough.
    """

    what: str
    tasks: np.ndarray
    n_rows: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray
    low: np.ndarray
    high: np.ndarray

    def to_frame(self) -> Any:
        """A table with a row for each task, the greatest difference first.

        Returns
        -------
        pandas.DataFrame
            Columns ``n_rows``, ``predicted``, ``observed``, ``low`` and ``high``, by
            ``task``.
        """
        pandas = import_optional("pandas", extra="report", purpose="to_frame()")
        names = ("n_rows", "predicted", "observed", "low", "high")
        frame = pandas.DataFrame(
            {name: getattr(self, name) for name in names},
            index=pandas.Index(self.tasks, name="task"),
        )
        off = (frame["observed"] - frame["predicted"]).abs()
        return frame.loc[off.sort_values(ascending=False, kind="stable").index]


@dataclass(frozen=True, eq=False)
class CalibrationSums:
    """Sums of predictions and targets by task, from which calibrations are made.

    Attributes
    ----------
    rows : float64 array of shape (n_tasks,)
        Weights.
    predicted, observed, square : float64 array of shape (n_tasks, n_outputs)
        Of predictions, targets and squared errors. Numbers have one output; classes
        have one each, and a last one for the likeliest.
    """

    rows: np.ndarray
    predicted: np.ndarray
    observed: np.ndarray
    square: np.ndarray

    @classmethod
    def of(
        cls,
        predictions: np.ndarray,
        y: np.ndarray,
        task: np.ndarray,
        weight: np.ndarray | None,
        n_tasks: int,
    ) -> Self:
        """Sum up predictions and targets; y holds numbers or class codes."""
        weight = np.ones(len(y)) if weight is None else weight
        if predictions.ndim == 1:
            pairs = [(predictions, y)]
        else:
            best = predictions.argmax(axis=1)
            pairs = [(p, y == c) for c, p in enumerate(predictions.T)]
            pairs.append((predictions[np.arange(len(y)), best], y == best))

        def sums(of_rows: Any) -> np.ndarray:
            each = [np.bincount(task, weight * values, n_tasks) for values in of_rows]
            return np.column_stack(each)

        return cls(
            np.bincount(task, weight, n_tasks),
            sums(p for p, _ in pairs),
            sums(t for _, t in pairs),
            sums((t - p) ** 2 for p, t in pairs),
        )

    def calibration(self, tasks: np.ndarray, output: int, what: str) -> TaskCalibration:
        """Of one of the outputs."""
        rows = self.rows
        with np.errstate(divide="ignore", invalid="ignore"):
            predicted = self.predicted[:, output] / rows
            observed = self.observed[:, output] / rows
            bias = observed - predicted
            variance = np.maximum(self.square[:, output] / rows - bias**2, 0.0)
            # one row has no spread of its own: its error stands for it
            variance = np.where(rows > 1, variance, self.square[:, output] / rows)
            wide = _WIDE * np.sqrt(variance / np.maximum(rows - 1, 1))
        low, high = observed - wide, observed + wide
        if what != "mean":
            low, high = np.maximum(low, 0.0), np.minimum(high, 1.0)
        return TaskCalibration(what, tasks, rows, predicted, observed, low, high)
