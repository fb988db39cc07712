"""How much of each task's prediction comes from own, pooled and shared models."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from kinlearn.report._style import new_axes, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SharingDisplay"]

# of Okabe & Ito's palette, and hatches for print
_LOOKS = {
    "own": {"color": "#D55E00", "hatch": "//"},
    "shared": {"color": "#009E73", "hatch": ""},
    "pooled": {"color": "#56B4E9", "hatch": ".."},
}

# Inches: of axes wide enough for a legend in one line, of its lines and the space
# around them, and of a letter of the tasks' names.
_WIDE, _LINE, _MARGIN, _LETTER = 2.7, 0.18, 0.12, 0.085


class SharingDisplay:
    """Bars of the parts that own, shared and pooled models have in each task.

    Make it with :meth:`from_estimator`, which draws at once.

    Parameters
    ----------
    sharing : dict
        For each task a dict with the parts "own", "pooled" and "shared", which sum
        to 1: the ``sharing_`` of a Kin estimator.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        The figure of `ax_`.
    bars_ : dict of str to matplotlib BarContainer
        The bars of each part.
    tasks_ : list
        The tasks that are drawn, from the top.

    See Also
    --------
    kinlearn.KinClassifier : Learns the parts.
    TaskAffinityDisplay : Which tasks are alike.

    Examples
    --------
    >>> from kinlearn.report import SharingDisplay
    >>> sharing = {
    ...     "north": {"own": 0.1, "pooled": 0.2, "shared": 0.7},
    ...     "south": {"own": 0.6, "pooled": 0.0, "shared": 0.4},
    ... }
    >>> SharingDisplay(sharing).plot().tasks_  # most of its own first
    ['south', 'north']
    """

    def __init__(self, sharing: Mapping[Any, Mapping[str, float]]) -> None:
        self.sharing = sharing

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, ax: "Axes | None" = None, **plot_options: Any
    ) -> Self:
        """Draw the sharing of a fitted Kin estimator.

        Parameters
        ----------
        estimator : KinClassifier or KinRegressor
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **plot_options
            Further arguments of :meth:`plot`.

        Returns
        -------
        SharingDisplay
            The display, drawn.
        """
        if not hasattr(type(estimator), "sharing_"):
            raise TypeError(
                f"{type(estimator).__name__} has no sharing_, which KinClassifier and "
                "KinRegressor learn."
            )
        return cls(estimator.sharing_).plot(ax, **plot_options)

    def plot(
        self,
        ax: "Axes | None" = None,
        *,
        max_tasks: int = 40,
        legend: bool = True,
        **bar_kw: Any,
    ) -> Self:
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        max_tasks : int, default=40
            Of more tasks, only those with the greatest and the smallest own part are
            drawn, half of each.
        legend : bool, default=True
            Whether to draw a legend of the parts.
        **bar_kw
            Further arguments of ``Axes.barh``, for all parts.

        Returns
        -------
        SharingDisplay
            The display itself.
        """
        tasks = sorted(self.sharing, key=lambda task: -self.sharing[task]["own"])
        shown = tasks
        if len(tasks) > max_tasks:
            first = max(max_tasks, 2) // 2
            shown = [*tasks[:first], *tasks[len(tasks) - (max(max_tasks, 2) - first) :]]
        self.tasks_ = shown
        height = float(np.clip(1.3 + 0.26 * len(shown), 2.2, 14.0))
        self.figure_, self.ax_ = new_axes(ax, (6.4, height))
        left = np.zeros(len(shown))
        self.bars_ = {}
        for part, looks in _LOOKS.items():
            width = np.array([self.sharing[task][part] for task in shown])
            options = {"edgecolor": "white", "label": part, **looks, **bar_kw}
            self.bars_[part] = self.ax_.barh(
                range(len(shown)), width, left=left, **options
            )
            left += width
        self.ax_.set_yticks(range(len(shown)), short_names(shown))
        room = self._add_legend(len(shown)) if legend else 0.0
        self.ax_.set_ylim(len(shown) - 0.5, -0.5 - room)
        self.ax_.set_xlim(0, 1)
        label = "part of the prediction"
        if len(shown) < len(tasks):
            label += f"\n{len(shown)} of {len(tasks)} tasks, those at both ends"
        self.ax_.set_xlabel(label)
        return self

    def _add_legend(self, n_bars: int) -> float:
        """Draw the legend above the bars, and return the space that it takes, in bars.

        Within the axes: beside or above them it would lie on neighbours and titles.
        """
        box = self.ax_.get_window_extent()
        width, height = box.width / self.figure_.dpi, box.height / self.figure_.dpi
        if self.figure_.get_layout_engine() is not None:  # it leaves space for names
            names = [label.get_text() for label in self.ax_.get_yticklabels()]
            width -= _LETTER * max(map(len, names))
        wide = width >= _WIDE
        self.ax_.legend(
            list(self.bars_.values()),
            ["own models", *list(self.bars_)[1:]],
            loc="upper center",
            ncols=len(_LOOKS) if wide else 1,
            frameon=False,
            fontsize="small",
            handlelength=1.5,
            columnspacing=1.2,
            borderaxespad=0.2,
        )
        needed = _LINE * (1 if wide else len(_LOOKS)) + _MARGIN
        return n_bars * needed / max(height - needed, needed)
