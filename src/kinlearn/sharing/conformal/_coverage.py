"""How often intervals and sets hold the truth, task by task."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import beta

from kinlearn.utils import import_optional

__all__ = ["TaskCoverage"]

_CHANCE = 0.05  # of each interval of a coverage to miss


@dataclass(frozen=True, eq=False)
class TaskCoverage:
    """Coverage of prediction intervals or sets by task.

    It comes from ``coverage`` of :class:`kinlearn.KinRegressor`,
    :class:`kinlearn.KinClassifier` and the conformal wrappers.

    Attributes
    ----------
    level : float
        What was asked for.
    tasks : ndarray of shape (n_tasks,)
        Task values.
    n_rows : ndarray of shape (n_tasks,)
        Rows of each task, by their weights.
    coverage : ndarray of shape (n_tasks,)
        Part of them whose target lies in the interval or set; NaN without rows.
    low, high : ndarray of shape (n_tasks,)
        An interval of 95% for the coverage (Clopper and Pearson's).
    size : ndarray of shape (n_tasks,)
        Mean width of the intervals, or mean number of classes in the sets; NaN where
        they were not computed: out of fold for classes.
    known : bool ndarray of shape (n_tasks,)
        Whether the task was in fit.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.sharing import TaskCoverage
    >>> found = TaskCoverage.of(
    ...     0.9, np.array(["a", "b"]), np.array([20, 10]), np.array([19, 8])
    ... )
    >>> round(found.overall, 2)
    0.9
    """

    level: float
    tasks: np.ndarray
    n_rows: np.ndarray
    coverage: np.ndarray
    low: np.ndarray
    high: np.ndarray
    size: np.ndarray
    known: np.ndarray

    @classmethod
    def of(
        cls,
        level: float,
        tasks: np.ndarray,
        n_rows: np.ndarray,
        n_covered: np.ndarray,
        size: np.ndarray | None = None,
        known: np.ndarray | None = None,
    ) -> "TaskCoverage":
        """From weights of all rows and of those that are covered.

        Parameters
        ----------
        level : float
            What was asked for.
        tasks : ndarray of shape (n_tasks,)
            Task values.
        n_rows, n_covered : ndarray of shape (n_tasks,)
            Weights of all rows, and of those that are covered.
        size : ndarray of shape (n_tasks,), default=None
            Mean width, or mean number of classes.
        known : bool ndarray of shape (n_tasks,), default=None
            Whether the task was in fit; None is all.

        Returns
        -------
        TaskCoverage
            The coverage.
        """
        missing = n_rows - n_covered
        with np.errstate(divide="ignore", invalid="ignore"):
            coverage = n_covered / n_rows
            low = beta.ppf(_CHANCE / 2, n_covered, missing + 1)
            high = beta.ppf(1 - _CHANCE / 2, n_covered + 1, missing)
        low = np.where(n_covered <= 0, 0.0, low)
        high = np.where(missing <= 0, 1.0, high)
        n = len(tasks)
        return cls(
            float(level),
            np.asarray(tasks),
            np.asarray(n_rows, dtype=np.float64),
            coverage,
            low,
            high,
            np.full(n, np.nan) if size is None else size,
            np.ones(n, dtype=bool) if known is None else known,
        )

    @property
    def overall(self) -> float:
        """Coverage over all rows."""
        counts = self.n_rows > 0
        return float(np.average(self.coverage[counts], weights=self.n_rows[counts]))

    @property
    def mean_of_tasks(self) -> float:
        """Mean coverage of the tasks, each of which counts alike."""
        return float(np.nanmean(self.coverage))

    def to_frame(self) -> Any:
        """A table with a row for each task, least coverage first.

        Returns
        -------
        pandas.DataFrame
            Columns ``n_rows``, ``coverage``, ``low``, ``high``, ``size`` and
            ``known``, by ``task``.
        """
        pandas = import_optional("pandas", extra="report", purpose="A table")
        frame = pandas.DataFrame(
            {
                "n_rows": self.n_rows,
                "coverage": self.coverage,
                "low": self.low,
                "high": self.high,
                "size": self.size,
                "known": self.known,
            },
            index=pandas.Index(self.tasks, name="task"),
        )
        return frame.sort_values("coverage", kind="stable")
