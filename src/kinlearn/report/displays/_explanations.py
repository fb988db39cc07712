"""Pictures of explanations: what columns add to one prediction, or to many."""

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._result import short_names
from kinlearn.report.displays._base import AS_WRITTEN, new_axes
from kinlearn.sharing import Explanation
from kinlearn.utils import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ExplanationDisplay"]

_MORE, _LESS = "#D55E00", "#0072B2"


class ExplanationDisplay:
    """Bars of what features and the task add to predictions.

    For one row a waterfall, from the mean of the background at the top to the
    prediction at the bottom, with standard errors; for several the mean absolute
    contributions.

    Make it with :meth:`from_estimator`, which draws at once.

    Parameters
    ----------
    explanation : Explanation
        What ``explain`` of a Kin estimator gave.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    names_ : list of str
        The columns that are drawn, from the top.

    See Also
    --------
    kinlearn.KinClassifier.explain : The numbers.

    Examples
    --------
    >>> from kinlearn import KinRegressor
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.report import ExplanationDisplay
    >>> X, y = load_demo("regression", as_frame=True, return_X_y=True)
    >>> model = KinRegressor(task="clinic", families=["linear"], random_state=0)
    >>> display = ExplanationDisplay.from_estimator(model.fit(X, y), X[:1])
    >>> display.ax_.get_xlabel()
    'prediction'
    """

    def __init__(self, explanation: Explanation) -> None:
        self.explanation = explanation

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, *, ax: "Axes | None" = None, **options: Any
    ) -> Self:
        """Explain rows and draw it.

        Parameters
        ----------
        estimator : KinClassifier or KinRegressor
            Fitted.
        X : array-like, sparse matrix or data frame of shape (n_samples, n_columns)
            Rows with the task column; few.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **options
            Further arguments of ``explain``.

        Returns
        -------
        ExplanationDisplay
            The display, drawn.
        """
        if not hasattr(estimator, "explain"):
            raise TypeError(
                f"{type(estimator).__name__} has no explain(), which KinClassifier and "
                "KinRegressor have."
            )
        return cls(estimator.explain(X, **options)).plot(ax)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        row: int | None = None,
        max_columns: int = 15,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        row : int, default=None
            Which row to draw; None is the only one, or the mean of several.
        max_columns : int, default=15
            Of more columns, those that add least are one bar.

        Returns
        -------
        ExplanationDisplay
            The display itself.
        """
        found = self.explanation
        n = len(found.prediction)
        row = 0 if row is None and n == 1 else row
        if row is not None and not -n <= row < n:
            raise ValueError(f"row={row} of an explanation of {n} rows.")
        one = row is not None
        size = found.contributions[row] if one else found.mean_absolute
        error = found.standard_error[row] if one else None
        order = np.argsort(-np.abs(size), kind="stable")
        shown, rest = order[:max_columns], order[max_columns:]
        width = np.append(size[shown], size[rest].sum() if len(rest) else [])
        self.names_ = short_names(found.names[shown])
        if len(rest):
            self.names_.append(f"{len(rest)} others")
        height = float(np.clip(1.3 + 0.3 * len(width), 2.2, 14.0))
        self.figure_, self.ax_ = new_axes(ax, (6.4, height))
        at = range(len(width))
        left = np.zeros(len(width))
        if one:
            left = found.base[row] + np.cumsum(width) - width
        colour = np.where(width >= 0, _MORE, _LESS) if one else _LESS
        self.ax_.barh(at, width, left=left, color=colour, height=0.7)
        if error is not None:
            self._mark_steps(width, left, error[shown])
            self._mark_ends(float(found.base[row]), float(found.prediction[row]))
        self.ax_.set_yticks(at, self.names_, **AS_WRITTEN)
        self.ax_.set_ylim(len(width) - 0.5, -0.5)
        what = visible(found.what)
        label = f"mean absolute contribution to the\n{what}"
        self.ax_.set_xlabel(what if one else label, **AS_WRITTEN)
        return self

    def _mark_steps(
        self, width: np.ndarray, left: np.ndarray, error: np.ndarray
    ) -> None:
        """Standard errors, and each contribution in figures right of its bar."""
        error = np.append(error, np.zeros(len(width) - len(error)))
        some = error > 0
        at = np.arange(len(width))
        end = left + width
        self.ax_.errorbar(
            end[some], at[some], xerr=error[some], fmt="none", ecolor="0.3",
            elinewidth=1,
        )  # fmt: skip
        right = np.maximum(np.maximum(left, end), end + error)
        for k, value in enumerate(width):
            self.ax_.annotate(
                f"{value:+.3g}".replace("-", "\N{MINUS SIGN}"), (right[k], k), (4, 0),
                textcoords="offset points", va="center", fontsize="small",
            )  # fmt: skip
        self.ax_.use_sticky_edges = False
        self.ax_.margins(x=0.16)

    def _mark_ends(self, base: float, prediction: float) -> None:
        """Lines where the waterfall begins and ends, named above the axes."""
        names = ("mean of the background", "this row")
        for value, name, side in zip(
            (base, prediction),
            names,
            ("right", "left") if base < prediction else ("left", "right"),
            strict=True,
        ):
            self.ax_.axvline(value, color="0.6", linewidth=1, zorder=0)
            self.ax_.annotate(
                f"{name}\n{value:.4g}", (value, 1.0), (0, 3),
                xycoords=("data", "axes fraction"), textcoords="offset points",
                ha=side, va="bottom", fontsize="small",
            )  # fmt: skip
