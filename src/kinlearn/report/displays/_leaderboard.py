"""Contenders of an audit, best first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._result import Numbers, result_dict
from kinlearn.report._style import new_axes, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kinlearn.audit import SharingResult

__all__ = ["LeaderboardDisplay"]


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
            range(len(ranked)), short_names((c["name"] for c in ranked), 32)
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
