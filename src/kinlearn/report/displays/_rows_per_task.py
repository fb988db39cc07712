"""How many rows until sharing stops paying: scores by rows per task."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._result import Numbers, result_dict
from kinlearn.report._style import line_style, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kinlearn.audit import SharingResult

__all__ = ["RowsPerTaskDisplay"]


class RowsPerTaskDisplay:
    """Scores with and without sharing, by the rows that a task has.

    Make it with :meth:`from_result`, which draws at once.

    Parameters
    ----------
    curve : dict
        The "curve" of a result: "rows", and "lines" with "contender", "mean", "low"
        and "high"; "crossing" may be None.
    numbers : object, default=None
        Turns the scores of errors back; :meth:`from_result` sets it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    lines_ : list of matplotlib Line2D
        One line per contender.
    text_ : matplotlib Text or None
        Where the lines meet; None if they do not.

    See Also
    --------
    kinlearn.report.write_page : The page, which has this chart too.

    Examples
    --------
    >>> from kinlearn.report import RowsPerTaskDisplay
    >>> line = {"contender": "alone", "mean": [0.6, 0.7], "low": None, "high": None}
    >>> curve = {"rows": [10, 40], "lines": [line], "crossing": None}
    >>> RowsPerTaskDisplay(curve).plot().lines_[0].get_label()
    'alone'
    """

    def __init__(
        self, curve: dict[str, Any], *, numbers: Numbers | None = None
    ) -> None:
        self.curve = curve
        self.numbers = numbers

    @classmethod
    def from_result(
        cls,
        result: "SharingResult | Mapping[str, Any]",
        *,
        ax: "Axes | None" = None,
        **line_kw: Any,
    ) -> Self:
        """Draw the curve of an audit.

        Parameters
        ----------
        result : SharingResult or dict
            What ``compare_sharing`` gave, or its ``to_dict()``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **line_kw
            Further arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        RowsPerTaskDisplay
            The display, drawn.
        """
        data = result_dict(result)
        if not data["curve"]:
            raise ValueError(
                "This result holds no curve. Run compare_sharing(..., curve=True)."
            )
        return cls(data["curve"], numbers=Numbers.of(data)).plot(ax, **line_kw)

    def plot(self, ax: "Axes | None" = None, **line_kw: Any) -> Self:
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **line_kw
            Further arguments of ``Axes.plot``, for all lines.

        Returns
        -------
        RowsPerTaskDisplay
            The display itself.
        """
        numbers = self.numbers or Numbers("score", 1, 3)
        rows = self.curve["rows"]
        self.figure_, self.ax_ = new_axes(ax, (6.4, 4.0))
        self.lines_ = []
        for number, line in enumerate(self.curve["lines"]):
            style = {**line_style(number), "marker": "osD^v"[number % 5], **line_kw}
            mean, low, high = (
                _numbers(line[part], len(rows), numbers.sign)
                for part in ("mean", "low", "high")
            )
            self.lines_ += self.ax_.plot(rows, mean, label=line["contender"], **style)
            self.ax_.fill_between(
                rows, low, high, color=style["color"], alpha=0.15, linewidth=0
            )
        self.ax_.set_xscale("log")
        self.ax_.set_xticks(rows, [f"{count:,}" for count in rows])
        self.ax_.minorticks_off()
        self.ax_.set(
            xlabel="training rows of the task, log scale",
            ylabel=f"{numbers.label} ({numbers.better})",
        )
        self.text_ = self._mark_crossing()
        self.ax_.legend(frameon=False)
        return self

    def _mark_crossing(self) -> Any:
        crossing = self.curve["crossing"]
        if crossing is None:
            return None
        self.ax_.axvline(crossing, color="0.5", linestyle=":", linewidth=1.0, zorder=0)
        late = crossing > np.sqrt(self.curve["rows"][0] * self.curve["rows"][-1])
        return self.ax_.annotate(
            f"lines meet at {crossing:,.0f} rows",
            (crossing, 0.02),
            xycoords=("data", "axes fraction"),
            xytext=(-4 if late else 4, 0),
            textcoords="offset points",
            ha="right" if late else "left",
            fontsize=8,
        )


def _numbers(values: list[float | None] | None, count: int, sign: int) -> np.ndarray:
    """As an array, NaN where nothing is known."""
    return sign * np.array(
        [None] * count if values is None else values, dtype=np.float64
    )
