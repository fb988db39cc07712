"""Small pictures as SVG: the same text from the same figures, whatever draws it.

Two kinds of panels: curves over a number, and rows of points beside their names.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

__all__ = ["COLORS", "Curve", "Curves", "Points", "draw"]

COLORS = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#2e4057", "#8a5a9e", "#8a8d91")
_WIDTH, _HEIGHT = 300, 230  # of the frame of curves
_LEFT, _TOP, _LINE = 52, 28, 16
_ROW = 17


@dataclass(frozen=True)
class Curve:
    """A line through points, with half the length of a bar at each.

    Parameters
    ----------
    name : str
        In the legend; "" leaves it out.
    x, y : sequence of float
        Points.
    bars : sequence of float, default=()
        Half lengths; none are drawn if it is empty.
    color : str, default=COLORS[0]
        Of line and points.
    dashed : bool, default=False
        Whether the line is dashed, without points.
    """

    name: str
    x: Sequence[float]
    y: Sequence[float]
    bars: Sequence[float] = ()
    color: str = COLORS[0]
    dashed: bool = False


@dataclass(frozen=True)
class Curves:
    """A panel of curves; axes have the ticks that are named."""

    title: str
    x_label: str
    y_label: str
    x_ticks: Sequence[float]
    y_ticks: Sequence[float]
    curves: Sequence[Curve]

    @property
    def size(self):
        """Width and height."""
        legend = sum(bool(curve.name) for curve in self.curves)
        return _LEFT + _WIDTH + 18, _TOP + _HEIGHT + 44 + _LINE * legend

    def lines(self):
        """Elements, in the panel's own coordinates."""
        yield _text(_LEFT, 14, self.title, weight="bold")
        x = _scale(self.x_ticks, _LEFT, _LEFT + _WIDTH)
        y = _scale(self.y_ticks, _TOP + _HEIGHT, _TOP)
        bottom, right = _TOP + _HEIGHT, _LEFT + _WIDTH
        for tick in self.x_ticks:
            yield _line(x(tick), bottom, x(tick), bottom + 4, "#888")
            yield _text(x(tick), bottom + 17, f"{tick:g}", anchor="middle")
        for tick in self.y_ticks:
            yield _line(_LEFT, y(tick), right, y(tick), "#ddd")
            yield _text(_LEFT - 5, y(tick) + 4, f"{tick:g}", anchor="end")
        yield _line(_LEFT, bottom, right, bottom, "#888")
        middle = (_TOP + bottom) / 2
        yield _text((_LEFT + right) / 2, bottom + 34, self.x_label, anchor="middle")
        turn = f' transform="rotate(-90 12 {_number(middle)})"'
        yield _text(12, middle, self.y_label, anchor="middle", more=turn)
        place = bottom + 34
        for curve in self.curves:
            points = [(x(a), y(b)) for a, b in zip(curve.x, curve.y, strict=True)]
            path = " ".join(f"{_number(a)},{_number(b)}" for a, b in points)
            dash = ' stroke-dasharray="5 4"' if curve.dashed else ""
            yield (
                f'<polyline points="{path}" fill="none" stroke="{curve.color}" '
                f'stroke-width="1.6"{dash}/>'
            )
            for (a, b), bar, value in zip(points, curve.bars, curve.y, strict=False):
                yield _line(a, y(value - bar), a, y(value + bar), curve.color)
                yield _dot(a, b, curve.color)
            if curve.name:
                place += _LINE
                yield _line(_LEFT, place - 4, _LEFT + 20, place - 4, curve.color, dash)
                yield _text(_LEFT + 26, place, curve.name)


@dataclass(frozen=True)
class Points:
    """A panel of rows: a point with a bar, and a ring for what was published.

    Parameters
    ----------
    title, x_label : str
        Above and below.
    x_ticks : sequence of float
        The first and the last are the ends of the axis.
    rows : sequence of (str, float, float, float or None, str)
        Name, value, half the length of the bar, published value and color.
    names : int, default=190
        Width of the names.
    """

    title: str
    x_label: str
    x_ticks: Sequence[float]
    rows: Sequence[tuple[str, float, float, float | None, str]]
    names: int = 190

    @property
    def size(self):
        """Width and height."""
        return self.names + _WIDTH + 20, _TOP + _ROW * len(self.rows) + 60

    def lines(self):
        """Elements, in the panel's own coordinates."""
        right, bottom = self.names + _WIDTH, _TOP + _ROW * len(self.rows)
        yield _text(self.names, 14, self.title, weight="bold")
        x = _scale(self.x_ticks, self.names, right)
        for tick in self.x_ticks:
            yield _line(x(tick), _TOP, x(tick), bottom, "#ddd")
            yield _text(x(tick), bottom + 16, f"{tick:g}", anchor="middle")
        middle = (self.names + right) / 2
        yield _text(middle, bottom + 33, self.x_label, anchor="middle")
        for number, (name, value, bar, published, color) in enumerate(self.rows):
            place = _TOP + _ROW * (number + 0.5)
            yield _text(self.names - 8, place + 4, name, anchor="end")
            yield _line(x(value - bar), place, x(value + bar), place, color)
            yield _dot(x(value), place, color)
            if published is not None:
                yield (
                    f'<circle cx="{_number(x(published))}" cy="{_number(place)}" '
                    'r="4.5" fill="none" stroke="#333" stroke-width="1.2"/>'
                )
        if any(published is not None for *_, published, _ in self.rows):
            yield _text(self.names, bottom + 50, "ring: published")


def draw(panels, columns=2):
    """Panels beside and below each other.

    Parameters
    ----------
    panels : sequence of Curves or Points
        From left to right, then down; those of no rows are left out.
    columns : int, default=2
        Panels beside each other.

    Returns
    -------
    str
        The file's text.
    """
    panels = [each for each in panels if not isinstance(each, Points) or each.rows]
    body, top, right = [], 8, 0
    for first in range(0, len(panels), columns):
        left = 8
        row = panels[first : first + columns]
        for panel in row:
            body.append(f'<g transform="translate({left} {top})">')
            body.extend(panel.lines())
            body.append("</g>")
            left += panel.size[0]
        right = max(right, left)
        top += max(panel.size[1] for panel in row)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{right}" height="{top}" '
            f'viewBox="0 0 {right} {top}" font-family="sans-serif" font-size="11">',
            f'<rect width="{right}" height="{top}" fill="#fff"/>',
            *body,
            "</svg>\n",
        ]
    )


def _scale(ticks, low, high):
    """From values to places, cut off at the ends of the axis."""
    first, last = ticks[0], ticks[-1]

    def place(value):
        part = (min(max(value, first), last) - first) / (last - first)
        return low + part * (high - low)

    return place


def _number(value):
    return f"{value:.1f}"


def _line(x1, y1, x2, y2, color, more=""):
    places = zip(("x1", "y1", "x2", "y2"), (x1, y1, x2, y2), strict=True)
    ends = " ".join(f'{name}="{_number(value)}"' for name, value in places)
    return f'<line {ends} stroke="{color}" stroke-width="1.2"{more}/>'


def _dot(x, y, color):
    return f'<circle cx="{_number(x)}" cy="{_number(y)}" r="3" fill="{color}"/>'


def _text(x, y, text, *, anchor="start", weight="normal", more=""):
    return (
        f'<text x="{_number(x)}" y="{_number(y)}" text-anchor="{anchor}" '
        f'font-weight="{weight}" fill="#222"{more}>{escape(text)}</text>'
    )
