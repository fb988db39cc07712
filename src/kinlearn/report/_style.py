"""What all pictures share: the import of matplotlib, colours, readable labels."""

from collections.abc import Iterable, Sequence
from typing import Any

from kinlearn.utils import import_optional

__all__ = [
    "HEAT_MAP",
    "line_style",
    "new_axes",
    "short_names",
    "shorten",
    "text_colour",
]

# Even steps of lightness, and the same order to colour-blind eyes and in print.
HEAT_MAP = "cividis"

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


def shorten(name: Any, limit: int = 24) -> str:
    """A label that leaves space for the picture."""
    name = str(name)
    return name if len(name) <= limit else name[: limit - 1] + "…"


def short_names(names: Iterable[Any], limit: int = 24) -> list[str]:
    """Labels that leave space for the picture, and that differ where the names do."""
    texts = [str(name) for name in names]
    labels = {text: shorten(text, limit) for text in texts}
    head = limit // 3
    tail = limit - head - 1
    for group in _alike(labels):
        # where they differ, with as much of what goes before as fits
        alike = [len(set(letters)) == 1 for letters in zip(*group, strict=False)]
        differ = [*alike, False].index(False)
        start = max(head, min(differ - 2, max(map(len, group)) - tail))
        for text in group:
            labels[text] = f"{text[:head]}…{shorten(text[start:], tail)}"
    for group in _alike(labels):
        labels.update(zip(group, group, strict=True))
    return [labels[text] for text in texts]


def _alike(labels: dict[str, str]) -> list[list[str]]:
    """Groups of texts that have the same label."""
    groups: dict = {}
    for text, label in labels.items():
        groups.setdefault(label, []).append(text)
    return [group for group in groups.values() if len(group) > 1]


def text_colour(rgba: Sequence[float]) -> str:
    """Black or white, whichever is read better on a colour."""
    red, green, blue = rgba[:3]
    return "black" if 0.299 * red + 0.587 * green + 0.114 * blue > 0.5 else "white"
