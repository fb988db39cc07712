"""Who gains and who loses by sharing: each task's gain and its interval."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._result import Numbers, result_dict, sorted_gains
from kinlearn.report._style import new_axes, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kinlearn.audit import SharingResult

__all__ = ["PerTaskGainDisplay"]

# Colour and shape: neither is needed to read the other. Hurt is never only red.
_LOOKS = {
    "helped": {"color": "#0072B2", "marker": "^", "mfc": "#0072B2"},
    "hurt": {"color": "#D55E00", "marker": "v", "mfc": "#D55E00"},
    "unclear": {"color": "0.45", "marker": "o", "mfc": "white"},
}


class PerTaskGainDisplay:
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
    def from_result(
        cls,
        result: "SharingResult | Mapping[str, Any]",
        *,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw the gains of an audit.

        Parameters
        ----------
        result : SharingResult or dict
            What ``compare_sharing`` gave, or its ``to_dict()``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        PerTaskGainDisplay
            The display, drawn.
        """
        data = result_dict(result)
        display = cls(data["gains"], label=Numbers.of(data).gain_label)
        return display.plot(ax, **plot_options)

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
        shown = found
        if len(found) > max_tasks:
            first = max(max_tasks, 2) // 2
            shown = [*found[:first], *found[len(found) - (max(max_tasks, 2) - first) :]]
        self.tasks_ = [gain["task"] for gain in shown]
        height = 1.3 + 0.24 * len(shown)
        self.figure_, self.ax_ = new_axes(ax, (6.4, float(np.clip(height, 2.2, 14.0))))
        self.ax_.axvline(0.0, color="0.2", linewidth=1.0, zorder=0)
        if len(shown) < len(found):
            middle = max(max_tasks, 2) // 2 - 0.5
            self.ax_.axhline(middle, color="0.6", linewidth=0.8, linestyle=":")
        self.intervals_ = {}
        for verdict, looks in _LOOKS.items():
            places = [k for k, g in enumerate(shown) if g["verdict"] == verdict]
            if places:
                self.intervals_[verdict] = self._bars(
                    shown, places, verdict, {**looks, **errorbar_kw}
                )
        self.ax_.set_yticks(range(len(shown)), short_names(self.tasks_))
        self.ax_.set_ylim(len(shown) - 0.5, -0.5)
        label = f"{self.label} by sharing, with 95 % interval"
        if len(shown) < len(found):
            label += f"\n{len(shown)} of {len(found)} tasks, those at both ends"
        self.ax_.set_xlabel(label)
        if legend:
            self.ax_.legend(frameon=False, loc="lower right")
        return self

    def _bars(
        self,
        shown: list[dict[str, Any]],
        places: list[int],
        verdict: str,
        looks: dict[str, Any],
    ) -> Any:
        gain = np.array([shown[k]["gain"] for k in places])
        # a gain without an interval is a marker without a bar
        low, high = (
            np.array([shown[k][end] for k in places], dtype=np.float64)
            for end in ("low", "high")
        )
        return self.ax_.errorbar(
            gain,
            places,
            xerr=np.maximum([gain - low, high - gain], 0.0),
            linestyle="none",
            label=verdict,
            **looks,
        )
