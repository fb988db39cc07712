"""Pictures of predictions by task: coverage of intervals, and calibration."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._result import short_names
from kinlearn.report.displays._base import AS_WRITTEN, both_ends, new_axes
from kinlearn.sharing import TaskCalibration, TaskCoverage
from kinlearn.utils import visible
from kinlearn.utils._typing import ArrayLike, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CalibrationDisplay", "CoverageDisplay"]

_LINE, _OFF, _FINE = "0.6", "#D55E00", "#0072B2"


def _checked(estimator: Any, method: str) -> Any:
    if not hasattr(estimator, method):
        raise TypeError(
            f"{type(estimator).__name__} has no {method}(), which KinClassifier, "
            "KinRegressor and the conformal wrappers have."
        )
    return getattr(estimator, method)


def _draw_intervals(
    ax: Any, low: np.ndarray, value: np.ndarray, high: np.ndarray, at: Sequence[float]
) -> Any:
    around = np.array([value - low, high - value]).clip(0)
    return ax.errorbar(
        value, at, xerr=around, fmt="o", color=_FINE, markersize=4, capsize=2
    )


class CoverageDisplay:
    """How often intervals or sets hold the truth, task by task.

    Make it with :meth:`from_estimator`, which draws at once.

    Parameters
    ----------
    coverage : TaskCoverage
        What ``coverage`` of a Kin estimator or a conformal wrapper gave.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    tasks_ : list
        The tasks that are drawn, from the top.

    See Also
    --------
    CalibrationDisplay : Whether predictions are right in the mean.

    Examples
    --------
    >>> import numpy as np
    >>> from kinlearn.report import CoverageDisplay
    >>> from kinlearn.sharing import TaskCoverage
    >>> found = TaskCoverage.of(
    ...     0.9, np.array(["a", "b"]), np.array([20, 10]), np.array([19, 7])
    ... )
    >>> CoverageDisplay(found).plot().tasks_  # the least first
    ['b', 'a']
    """

    def __init__(self, coverage: TaskCoverage) -> None:
        self.coverage = coverage

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Table | None = None,
        y: ArrayLike | None = None,
        *,
        level: float = 0.9,
        unseen: bool = False,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the coverage of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted Kin estimator or conformal wrapper.
        X : array-like, sparse matrix or data frame, default=None
            New rows with the task column; None is the rows of fit, out of fold.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        level : float, default=0.9
            Of the intervals or sets.
        unseen : bool, default=False
            Without X: as if the tasks were not known.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        CoverageDisplay
            The display, drawn.
        """
        coverage = _checked(estimator, "coverage")
        return cls(coverage(X, y, level=level, unseen=unseen)).plot(ax, **plot_options)

    def plot(self, ax: "Axes | None" = None, *, max_tasks: int = 40) -> Self:
        """Draw the coverages with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_tasks : int, default=40
            Of more tasks, only those of least and greatest coverage are drawn.

        Returns
        -------
        CoverageDisplay
            The display itself.
        """
        found = self.coverage
        known = np.flatnonzero(found.n_rows > 0)
        order = known[np.argsort(found.coverage[known], kind="stable")].tolist()
        shown, left_out = both_ends(order, max_tasks)
        self.tasks_ = found.tasks[shown].tolist()
        height = float(np.clip(1.3 + 0.26 * len(shown), 2.2, 14.0))
        self.figure_, self.ax_ = new_axes(ax, (6.4, height))
        _draw_intervals(
            self.ax_,
            found.low[shown],
            found.coverage[shown],
            found.high[shown],
            range(len(shown)),
        )
        self.ax_.axvline(found.level, color=_LINE, linewidth=1, zorder=0)
        names = short_names(self.tasks_)
        for k, t in enumerate(shown):
            names[k] += "" if found.known[t] else " (new)"
        self.ax_.set_yticks(range(len(shown)), names, **AS_WRITTEN)
        self.ax_.set_ylim(len(shown) - 0.5, -0.5)
        self.ax_.set_xlim(None, 1.02)
        label = f"rows covered at level {found.level:g}, with 95% intervals{left_out}"
        self.ax_.set_xlabel(label)
        return self


class CalibrationDisplay:
    """Mean predictions against mean targets, a point for each task.

    Points on the diagonal are right in the mean; a task whose interval misses it is
    marked and named. Lines are the intervals; the longest go beyond the frame.

    Make it with :meth:`from_estimator`, which draws at once.

    Parameters
    ----------
    calibration : TaskCalibration
        What ``calibration`` of a Kin estimator or a conformal wrapper gave.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    off_ : list
        Tasks whose interval misses the diagonal.

    See Also
    --------
    CoverageDisplay : How often intervals and sets hold the truth.

    Examples
    --------
    >>> from kinlearn import KinRegressor
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.report import CalibrationDisplay
    >>> X, y = load_demo("regression", as_frame=True, return_X_y=True)
    >>> model = KinRegressor(task="clinic", families=["linear"], random_state=0)
    >>> display = CalibrationDisplay.from_estimator(model.fit(X, y))
    >>> display.ax_.get_ylabel()
    'mean target'
    """

    def __init__(self, calibration: TaskCalibration) -> None:
        self.calibration = calibration

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Table | None = None,
        y: ArrayLike | None = None,
        *,
        ax: "Axes | None" = None,
        **options: Any,
    ) -> Self:
        """Draw the calibration of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted Kin estimator or conformal wrapper.
        X : array-like, sparse matrix or data frame, default=None
            New rows with the task column; None is the rows of fit, out of fold.
        y : array-like of shape (n_samples,), default=None
            Their targets.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options
            Further arguments of the estimator's ``calibration``: ``label``.

        Returns
        -------
        CalibrationDisplay
            The display, drawn.
        """
        return cls(_checked(estimator, "calibration")(X, y, **options)).plot(ax)

    def plot(self, ax: "Axes | None" = None, *, max_names: int = 8) -> Self:
        """Draw the points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_names : int, default=8
            So many of the tasks that are off are named.

        Returns
        -------
        CalibrationDisplay
            The display itself.
        """
        found = self.calibration
        some = found.n_rows > 0
        predicted, observed = found.predicted[some], found.observed[some]
        around = [observed - found.low[some], found.high[some] - observed]
        tasks = found.tasks[some]
        off = (found.low[some] > predicted) | (found.high[some] < predicted)
        far = np.argsort(-np.abs(observed - predicted), kind="stable")
        named = [int(t) for t in far if off[t]]
        self.off_ = [tasks[t] for t in named]
        self.figure_, self.ax_ = new_axes(ax, (5.4, 5.0))
        # one scale for both axes, so that the line is the diagonal
        both = np.concatenate([predicted, observed])
        around_all = 0.08 * (np.ptp(both) or abs(both[0]) or 1.0)
        ends = [both.min() - around_all, both.max() + around_all]
        self.ax_.plot(ends, ends, color=_LINE, linewidth=1, zorder=0)
        self.ax_.errorbar(
            predicted, observed, around, fmt="none", ecolor="0.8", zorder=1
        )
        colour = np.where(off, _OFF, _FINE)
        self.ax_.scatter(predicted, observed, s=16, c=colour, zorder=2)
        for t, name in zip(named, short_names(self.off_[:max_names], 16), strict=False):
            self.ax_.annotate(
                name, (predicted[t], observed[t]), (4, 4),
                textcoords="offset points", fontsize="small", **AS_WRITTEN,
            )  # fmt: skip
        self.ax_.set(xlim=ends, ylim=ends, aspect="equal")
        mean = found.what == "mean"
        label = "mean prediction" if mean else f"mean {visible(found.what)}"
        self.ax_.set_xlabel(label, **AS_WRITTEN)
        self.ax_.set_ylabel("mean target" if mean else "fraction of rows")
        return self
