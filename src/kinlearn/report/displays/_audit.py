"""Pictures of an audit: the leaderboard, the gain of each task, rows per task."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._result import Numbers, result_dict, short_names, sorted_gains
from kinlearn.report.displays._base import (
    AS_WRITTEN,
    AuditDisplay,
    both_ends,
    line_style,
    new_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kinlearn.audit import SharingResult

__all__ = ["LeaderboardDisplay", "PerTaskGainDisplay", "RowsPerTaskDisplay"]

# Colour and shape: neither is needed to read the other. Hurt is never only red.
_LOOKS = {
    "helped": {"color": "#0072B2", "marker": "^", "mfc": "#0072B2"},
    "hurt": {"color": "#D55E00", "marker": "v", "mfc": "#D55E00"},
    "unclear": {"color": "0.45", "marker": "o", "mfc": "white"},
}


class LeaderboardDisplay:
    """Mean score over tasks of every contender, best first.

    Make it with :meth:`from_result`, which draws at once. Bars are one standard
    error; models that share are filled, models of one task alone are hollow.

    Parameters
    ----------
    contenders : list of dict
        The "contenders" of a result: "name", "shares", "macro" and "macro_se" of
        each. Those without a score are left out.
    numbers : object, default=None
        Turns the scores of errors back; :meth:`from_result` sets it.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    intervals_ : dict of str to matplotlib ErrorbarContainer
        Markers and bars of "shares" and "alone".
    text_ : list of matplotlib Text
        The scores, beside the markers.

    See Also
    --------
    kinlearn.report.write_page : The page, which has this chart too.

    Examples
    --------
    >>> from kinlearn.report import LeaderboardDisplay
    >>> contenders = [
    ...     {"name": "alone", "shares": False, "macro": 0.71, "macro_se": 0.02},
    ...     {"name": "multi-task", "shares": True, "macro": 0.78, "macro_se": 0.01},
    ... ]
    >>> display = LeaderboardDisplay(contenders).plot()
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['multi-task', 'alone']
    """

    def __init__(
        self, contenders: list[dict[str, Any]], *, numbers: Numbers | None = None
    ) -> None:
        self.contenders = contenders
        self.numbers = numbers

    @classmethod
    def from_result(
        cls,
        result: "SharingResult | Mapping[str, Any]",
        *,
        ax: "Axes | None" = None,
        **errorbar_kw: Any,
    ) -> Self:
        """Draw the contenders of an audit.

        Parameters
        ----------
        result : SharingResult or dict
            What ``compare_sharing`` gave, or its ``to_dict()``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **errorbar_kw
            Further arguments of ``Axes.errorbar``, for all contenders.

        Returns
        -------
        LeaderboardDisplay
            The display, drawn.
        """
        data = result_dict(result)
        return cls(data["contenders"], numbers=Numbers.of(data)).plot(ax, **errorbar_kw)

    def plot(self, ax: "Axes | None" = None, **errorbar_kw: Any) -> Self:
        """Draw the chart.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **errorbar_kw
            Further arguments of ``Axes.errorbar``, for all contenders.

        Returns
        -------
        LeaderboardDisplay
            The display itself.
        """
        numbers = self.numbers or Numbers("score", 1, 3)
        ranked = [c for c in self.contenders if c["macro"] is not None]
        if not ranked:
            raise ValueError("No contender has a score, so there is nothing to draw.")
        ranked.sort(key=lambda contender: -contender["macro"])
        self.figure_, self.ax_ = new_axes(ax, (6.4, 1.3 + 0.32 * len(ranked)))
        self.intervals_ = {}
        for name, shares, face in (
            ("shares", True, "#0072B2"),
            ("alone", False, "white"),
        ):
            places = [k for k, c in enumerate(ranked) if bool(c["shares"]) is shares]
            if not places:
                continue
            looks = {"color": "#0072B2" if shares else "0.45", "mfc": face}
            self.intervals_[name] = self.ax_.errorbar(
                [numbers.shown(ranked[k]["macro"]) for k in places],
                places,
                xerr=np.array(
                    [ranked[k]["macro_se"] for k in places], dtype=np.float64
                ),
                linestyle="none",
                label=name,
                **{"marker": "D" if shares else "o", **looks, **errorbar_kw},
            )
        self.text_ = [
            self.ax_.annotate(
                numbers.score(contender["macro"]),
                (numbers.shown(contender["macro"]), place),
                xytext=(0, 7),
                textcoords="offset points",
                ha="center",
                fontsize=8,
            )
            for place, contender in enumerate(ranked)
        ]
        self.ax_.set_yticks(
            range(len(ranked)),
            short_names((c["name"] for c in ranked), 32),
            **AS_WRITTEN,
        )
        self.ax_.set_ylim(len(ranked) - 0.4, -0.8)
        self.ax_.set_xlabel(
            f"mean {numbers.label} over tasks ± standard error ({numbers.better})"
        )
        if numbers.sign < 0:
            self.ax_.invert_xaxis()  # better is on the right, of errors too
        if len(self.intervals_) > 1:
            self.ax_.legend(frameon=False)
        return self


class PerTaskGainDisplay(AuditDisplay):
    """Gain of each task by sharing, with its interval.

    Make it with :meth:`from_result`, which draws at once. Right of the line at zero
    sharing is better for the task, left of it worse.

    Parameters
    ----------
    gains : list of dict
        The "gains" of a result: "task", "gain", "low", "high" and "verdict" of each.
        Tasks without a gain are left out.
    label : str, default="gain"
        What the gain is of.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    intervals_ : dict of str to matplotlib ErrorbarContainer
        Markers and intervals, by verdict.
    tasks_ : list
        The tasks that are drawn, from above.

    See Also
    --------
    kinlearn.report.write_page : The page, which has this chart too.

    Examples
    --------
    >>> from kinlearn.report import PerTaskGainDisplay
    >>> gains = [
    ...     {"task": t, "gain": gain, "low": low, "high": high, "verdict": verdict}
    ...     for t, gain, low, high, verdict in [
    ...         ("a", 0.01, -0.02, 0.04, "unclear"),
    ...         ("b", 0.07, 0.03, 0.11, "helped"),
    ...     ]
    ... ]
    >>> PerTaskGainDisplay(gains, label="AUC gained").plot().tasks_
    ['b', 'a']
    """

    def __init__(self, gains: list[dict[str, Any]], *, label: str = "gain") -> None:
        self.gains = gains
        self.label = label

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["gains"], label=Numbers.of(data).gain_label)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        max_tasks: int = 40,
        legend: bool = True,
        **errorbar_kw: Any,
    ) -> Self:
        """Draw the chart.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_tasks : int, default=40
            Of more tasks, only those with the greatest and the smallest gains are
            drawn, half of each.
        legend : bool, default=True
            Whether to draw a legend of the verdicts.
        **errorbar_kw
            Further arguments of ``Axes.errorbar``, for all tasks.

        Returns
        -------
        PerTaskGainDisplay
            The display itself.
        """
        found = sorted_gains({"gains": self.gains})
        if not found:
            raise ValueError("No task has a gain, so there is nothing to draw.")
        shown, left_out = both_ends(found, max_tasks)
        self.tasks_ = [gain["task"] for gain in shown]
        height = 1.3 + 0.24 * len(shown)
        self.figure_, self.ax_ = new_axes(ax, (6.4, float(np.clip(height, 2.2, 14.0))))
        self.ax_.axvline(0.0, color="0.2", linewidth=1.0, zorder=0)
        if left_out:
            middle = len(shown) // 2 - 0.5
            self.ax_.axhline(middle, color="0.6", linewidth=0.8, linestyle=":")
        self.intervals_ = {}
        for verdict, looks in _LOOKS.items():
            places = [k for k, g in enumerate(shown) if g["verdict"] == verdict]
            if not places:
                continue
            # a gain without an interval is a marker without a bar
            gain, low, high = (
                np.array([shown[k][key] for k in places], dtype=np.float64)
                for key in ("gain", "low", "high")
            )
            self.intervals_[verdict] = self.ax_.errorbar(
                gain,
                places,
                xerr=np.maximum([gain - low, high - gain], 0.0),
                linestyle="none",
                label=verdict,
                **{**looks, **errorbar_kw},
            )
        self.ax_.set_yticks(range(len(shown)), short_names(self.tasks_), **AS_WRITTEN)
        self.ax_.set_ylim(len(shown) - 0.5, -0.5)
        label = f"{self.label} by sharing, with 95 % interval"
        self.ax_.set_xlabel(label + left_out)
        if legend:
            self.ax_.legend(frameon=False, loc="lower right")
        return self


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
