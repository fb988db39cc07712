"""What all charts of the page share: markers, frames, names for screen readers.

Shapes carry no colours: classes do, so that the page's style sheet decides them,
in the dark and on paper too.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn.report._result import plain, signed
from kinlearn.report.page._html import Html, attribute_number, join, tag

__all__ = [
    "MARKERS",
    "Frame",
    "Scale",
    "gain_limits",
    "in_two_widths",
    "mark",
    "marker_definitions",
    "padded",
    "picture",
]

# Ends of intervals beyond this fraction of the others are cut off, with an arrow:
# one task of five rows must not flatten the picture of the rest.
_SHOWN_ENDS = 0.9


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic map from [low, high] to [start, end]."""

    low: float
    high: float
    start: float = 0.0
    end: float = 100.0
    log: bool = False

    def onto(self, start: float, end: float) -> "Scale":
        """The same numbers at other places."""
        return replace(self, start=start, end=end)

    def __call__(self, value: float) -> float:
        """The place of a number; those outside are put at the end."""
        low, high, value = self.low, self.high, min(max(value, self.low), self.high)
        if self.log:
            low, high, value = np.log(low), np.log(high), np.log(value)
        fraction = float((value - low) / (high - low))
        return self.start + fraction * (self.end - self.start)

    def ticks(self, at_most: int) -> tuple[list[float], int]:
        """Round numbers inside, no more than so many (but two at the least)."""
        span = self.high - self.low
        power = 10.0 ** np.floor(np.log10(span / max(at_most, 2)))
        for factor in (1, 2, 2.5, 5, 10, 20):
            step = float(power * factor)
            first, last = (
                np.ceil(self.low / step - 1e-9),
                np.floor(self.high / step + 1e-9),
            )
            if last - first + 1 <= max(at_most, 2):
                break
        decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        if factor == 2.5:
            decimals += 1
        return [float(k * step) for k in np.arange(first, last + 1)], decimals


def padded(values: Sequence[float], *, fraction: float = 0.06) -> tuple[float, float]:
    """Limits a little wider than the numbers, and never of no width."""
    low, high = min(values), max(values)
    span = high - low
    if span < 1e-6 * max(abs(low), abs(high)):
        span = 0.0  # what rounding left of equal numbers has no ticks
    margin = fraction * span or abs(high) * 0.05 or 0.05
    return low - margin, high + margin


def gain_limits(gains: list[dict[str, Any]]) -> tuple[float, float]:
    """Limits of a picture of gains: zero and all gains, and most intervals."""
    values = [0.0, *(g["gain"] for g in gains)]
    lows = [g["low"] for g in gains if g["low"] is not None]
    highs = [g["high"] for g in gains if g["high"] is not None]
    if lows:
        values.append(float(np.quantile(lows, 1 - _SHOWN_ENDS)))
        values.append(float(np.quantile(highs, _SHOWN_ENDS)))
    return padded(values)


# Shape besides colour: up, down, ring; diamond and square for other series.
MARKERS = {
    "helped": "M0-5.5 5.2 4H-5.2Z",
    "hurt": "M0 5.5 5.2-4H-5.2Z",
    "unclear": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z",
    "not-scored": "M-4 0H4",
    "series-0": "M0-5 5 0 0 5-5 0Z",
    "series-1": "M-4-4H4V4H-4Z",
    "series-2": "M0-5.5 5.2 4H-5.2Z",
    "series-3": "M-4 0A4 4 0 1 0 4 0A4 4 0 1 0-4 0Z",
    "cut-left": "M-1-4-6 0-1 4Z",
    "cut-right": "M1-4 6 0 1 4Z",
}
_WIDE, _NARROW = 700, 340


def marker_definitions() -> Html:
    """The shapes, once for the whole page."""
    shapes = [tag("path", id=f"mark-{name}", d=path) for name, path in MARKERS.items()]
    return tag(
        "svg", tag("defs", shapes), class_="definitions", aria_hidden="true", width=0,
        height=0,
    )  # fmt: skip


def mark(name: str, x: Any, y: Any, **attributes: Any) -> Html:
    """A marker at a place, coloured by its class."""
    css = attributes.pop("class_", f"mark {name}")
    return tag("use", href=f"#mark-{name}", x=x, y=y, class_=css, **attributes)


def picture(
    width: float,
    height: float,
    *children: Any,
    name: str,
    description: str,
    key: str,
    css: str = "",
) -> Html:
    """An SVG picture with a name and a description for screen readers."""
    return tag(
        "svg",
        tag("title", name, id=f"{key}-name"),
        tag("desc", description, id=f"{key}-desc"),
        *children,
        class_=" ".join(["picture", *css.split()]),
        viewBox=f"0 0 {attribute_number(width)} {attribute_number(height)}",
        width=float(width),
        height=float(height),
        role="img",
        aria_labelledby=f"{key}-name",
        aria_describedby=f"{key}-desc",
    )


def in_two_widths(
    draw: Callable[[float], tuple[float, Html]],
    *,
    name: str,
    description: str,
    key: str,
) -> Html:
    """A picture for a screen and one for a phone; the style sheet shows one."""
    made = []
    for css, width in (("wide", _WIDE), ("narrow", _NARROW)):
        height, drawn = draw(width)
        made.append(
            picture(
                width,
                height,
                drawn,
                name=name,
                description=description,
                key=f"{key}-{css}",
                css=css,
            )
        )
    return join(made)


@dataclass(frozen=True)
class Frame:
    """The plot area of a picture, with a grid."""

    x: Scale
    y: Scale

    @classmethod
    def around(cls, width: float, height: float, x: Scale, y: Scale) -> Self:
        """A frame with space for tick labels and the names of both axes."""
        return cls(x.onto(58, width - 22), y.onto(height - 46, 30))

    @property
    def middle(self) -> float:
        """Middle of the plot area, from left to right."""
        return (self.x.start + self.x.end) / 2

    def y_axis(self, label: str, *, sign: bool = False) -> Html:
        """Horizontal grid lines with numbers, and the axis' name above them."""
        ticks, decimals = self.y.ticks(6)
        write = signed if sign else plain
        lines = []
        for tick in ticks:
            at = self.y(tick)
            css = "zero" if sign and tick == 0 else "grid"
            lines.append(
                tag("line", x1=self.x.start, x2=self.x.end, y1=at, y2=at, class_=css)
            )
            lines.append(
                tag("text", write(tick, decimals), x=self.x.start - 8, y=at + 4,
                    class_="tick end")
            )  # fmt: skip
        lines.append(tag("text", label, x=4, y=14, class_="axis-name"))
        return join(lines)

    def x_axis(self, label: str, ticks: Iterable[tuple[float, str]]) -> Html:
        """Numbers below the plot, and the axis' name below them."""
        bottom = self.y.start
        words = []
        for value, text in ticks:
            at = self.x(value)
            words.append(
                tag("line", x1=at, x2=at, y1=bottom, y2=bottom + 4, class_="tick-mark")
            )
            words.append(tag("text", text, x=at, y=bottom + 18, class_="tick middle"))
        name = tag(
            "text", label, x=self.middle, y=bottom + 38, class_="axis-name middle"
        )
        base = tag(
            "line", x1=self.x.start, x2=self.x.end, y1=bottom, y2=bottom, class_="base"
        )
        return join(base, words, name)

    def path(self, xs: Iterable[float], ys: Iterable[float]) -> Html:
        """The commands of a line through points."""
        points = [
            f"{attribute_number(self.x(x))} {attribute_number(self.y(y))}"
            for x, y in zip(xs, ys, strict=True)
        ]
        return Html("M" + "L".join(points))
