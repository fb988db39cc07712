"""What all pictures share: axes, colours, and which of many tasks are drawn."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self, TypeVar

from kinlearn.report._result import result_dict
from kinlearn.utils import import_optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from kinlearn.audit import SharingResult

__all__ = [
    "AS_WRITTEN",
    "HEAT_MAP",
    "AuditDisplay",
    "both_ends",
    "line_style",
    "new_axes",
    "text_colour",
]

_Item = TypeVar("_Item")

# Even steps of lightness, and the same order to colour-blind eyes and in print.
HEAT_MAP = "cividis"
# Names may hold dollars, between which matplotlib would read formulas.
AS_WRITTEN = {"parse_math": False}

# Okabe & Ito's palette without its yellow, which is too pale for a line; the
# dashes keep lines apart where colour does not.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":")


def line_style(number: int) -> dict[str, Any]:
    """Colour and dashes of a picture's line, as keywords for ``Axes.plot``."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number % len(_DASHES)],
    }


def new_axes(ax: Any, figsize: tuple[float, float]) -> tuple[Any, Any]:
    """The axes to draw on, and their figure."""
    if ax is not None:
        return ax.figure, ax
    plt = import_optional(
        "matplotlib.pyplot", extra="report", purpose="Drawing a picture"
    )
    # "compressed" also fits pictures of a fixed shape, such as heat maps
    return plt.subplots(figsize=figsize, layout="compressed")


def text_colour(rgba: Sequence[float]) -> str:
    """Black or white, whichever is read better on a colour."""
    red, green, blue = rgba[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"


def both_ends(sorted_tasks: Sequence[_Item], most: int) -> tuple[list[_Item], str]:
    """At most so many, half from each end, and a line that tells what is left out."""
    most = max(most, 2)
    n_tasks = len(sorted_tasks)
    if n_tasks <= most:
        return list(sorted_tasks), ""
    shown = [*sorted_tasks[: most // 2], *sorted_tasks[n_tasks - (most - most // 2) :]]
    return shown, f"\n{len(shown)} of {n_tasks} tasks, those at both ends"


class AuditDisplay:
    """A picture of a part of an audit's result, which `_of` reads."""

    plot: Callable[..., Self]

    @classmethod
    def from_result(
        cls,
        result: "SharingResult | Mapping[str, Any]",
        *,
        ax: "Axes | None" = None,
        **plot_options: Any,
    ) -> Self:
        """Draw what an audit found.

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
        Self
            The display, drawn.
        """
        return cls._of(result_dict(result)).plot(ax, **plot_options)

    @classmethod
    def _of(cls, data: Mapping[str, Any]) -> Self:
        raise NotImplementedError
