"""What all pictures share: the door to matplotlib, colours, readable labels."""

from kinlearn.utils import import_optional

__all__ = ["HEAT_MAP", "line_style", "new_axes", "shorten", "text_colour"]

# Even steps of lightness, and the same order to colour-blind eyes and in print.
HEAT_MAP = "cividis"

# Okabe & Ito's palette without its yellow, which is too pale for a line; the
# dashes keep lines apart where colour does not.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":")


def line_style(number):
    """Colour and dashes of a picture's line, as keywords for ``Axes.plot``."""
    return {
        "color": _COLOURS[number % len(_COLOURS)],
        "linestyle": _DASHES[number % len(_DASHES)],
    }


def new_axes(ax, figsize):
    """The axes to draw on, and their figure.

    Parameters
    ----------
    ax : matplotlib Axes or None
        None makes a new figure of `figsize` inches.
    figsize : tuple of float
        Width and height.

    Returns
    -------
    figure, ax : matplotlib Figure and Axes
        Where to draw.
    """
    if ax is not None:
        return ax.figure, ax
    plt = import_optional(
        "matplotlib.pyplot", extra="report", purpose="Drawing a picture"
    )
    # "compressed" also fits pictures of a fixed shape, such as heat maps
    return plt.subplots(figsize=figsize, layout="compressed")


def shorten(name, limit=24):
    """A label that leaves room for the picture."""
    name = str(name)
    return name if len(name) <= limit else name[: limit - 1] + "…"


def text_colour(rgba):
    """Black or white, whichever is read better on a colour."""
    red, green, blue = rgba[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
