"""Framed charts: all gains at a glance, gain against distance, rows per task."""

from collections.abc import Sequence
from typing import Any

from kinlearn.report._result import Numbers, plain, signed
from kinlearn.report.page._html import Html, attribute_number, join, tag
from kinlearn.report.page._svg import (
    Frame,
    Scale,
    gain_limits,
    in_two_widths,
    mark,
    padded,
)

__all__ = ["Strips", "curve_series", "distance_plot", "gain_overview", "rows_curve"]

# More intervals than pixels would only make the page heavy.
_OVERVIEW_TASKS = 2000


def gain_overview(gains: list[dict[str, Any]], numbers: Numbers) -> Html:
    """Every task's gain and interval, side by side from the greatest on."""
    count = len(gains)
    step = -(-count // _OVERVIEW_TASKS)
    places = range(0, count, step)
    y = Scale(*gain_limits(gains))
    kinds = ("unclear", "helped", "hurt")

    def draw(width: float) -> tuple[int, Html]:
        height = 300
        frame = Frame.around(width, height, Scale(-1, count), y)
        layers = []
        for kind in kinds:
            bars, dots = [], []
            for k in places:
                gain = gains[k]
                if gain["verdict"] != kind:
                    continue
                x = attribute_number(frame.x(k))
                if gain["low"] is not None and gain["high"] is not None:
                    low, high = frame.y(gain["low"]), frame.y(gain["high"])
                    bars.append(
                        f"M{x} {attribute_number(low)}V{attribute_number(high)}"
                    )
                dots.append(f"M{x} {attribute_number(frame.y(gain['gain']))}h0")
            if dots:
                layers.append(tag("path", d="".join(bars), class_=f"bars {kind}"))
                layers.append(tag("path", d="".join(dots), class_=f"dots {kind}"))
                if kind == "unclear":  # rings, as elsewhere on the page
                    layers.append(tag("path", d="".join(dots), class_="dots hole"))
        ends = [(0, "1"), (count - 1, f"{count:,}")]
        return height, join(
            frame.y_axis(numbers.gain_label, sign=True),
            frame.x_axis("tasks, from the greatest gain to the smallest", ends),
            layers,
        )

    counts = {kind: sum(g["verdict"] == kind for g in gains) for kind in kinds}
    return in_two_widths(
        draw,
        name=f"Gain of all {count:,} scored tasks",
        description=(
            f"From {numbers.gain(gains[0]['gain'])} to "
            f"{numbers.gain(gains[-1]['gain'])}: {counts['helped']} helped, "
            f"{counts['hurt']} hurt, {counts['unclear']} unclear."
        ),
        key="overview",
    )


def distance_plot(
    points: Sequence[tuple[float, float, str]],
    numbers: Numbers,
    distance: str,
    *,
    key: str,
) -> Html:
    """Gain against a task's mean distance to the others."""
    x = Scale(*padded([point[0] for point in points]))
    y = Scale(*padded([0.0, *(point[1] for point in points)]))

    def draw(width: float) -> tuple[int, Html]:
        height = 300
        frame = Frame.around(width, height, x, y)
        ticks, decimals = x.ticks(6 if width > 500 else 4)
        return height, join(
            frame.y_axis(numbers.gain_label, sign=True),
            frame.x_axis(
                "mean distance to the other tasks",
                [(tick, f"{tick:.{decimals}f}") for tick in ticks],
            ),
            [mark(kind, frame.x(a), frame.y(b)) for a, b, kind in points],
        )

    return in_two_widths(
        draw,
        name=f"Gain against {distance}",
        description=f"{len(points)} tasks, one marker each.",
        key=key,
    )


def rows_curve(curve: dict[str, Any], numbers: Numbers) -> Html:
    """Score against training rows of a task, one line per contender."""
    rows = curve["rows"]
    low_rows, high_rows = rows[0], max(rows[-1], rows[0] + 1)
    x = Scale(low_rows / 1.15, high_rows * 1.15, log=True)
    values: list[Any] = [
        numbers.shown(value)
        for line in curve["lines"]
        for part in ("mean", "low", "high")
        for value in line[part] or ()
        if value is not None
    ]
    y = Scale(*padded(values))
    lines = list(zip(curve_series(curve), curve["lines"], strict=True))

    def draw(width: float) -> tuple[int, Html]:
        height = 340
        frame = Frame.around(width, height, x, y)
        return height, join(
            frame.y_axis(numbers.label),
            frame.x_axis("training rows of the task, log scale", _thin(frame, rows)),
            _crossing(frame, curve["crossing"]),
            [_band(frame, rows, line, numbers, css) for css, line in lines],
            [_line(frame, rows, line, numbers, css) for css, line in lines],
        )

    return in_two_widths(
        draw,
        name=f"{numbers.label} against rows per task",
        description="; ".join(_spoken(line, rows, numbers) for line in curve["lines"]),
        key="curve",
    )


def curve_series(curve: dict[str, Any]) -> list[str]:
    """The looks of each line: grey rings for a model of one's own."""
    looks, sharing = [], 0
    for line in curve["lines"]:
        alone = line["form"] == "alone"
        looks.append("series-3" if alone else f"series-{sharing % 3}")
        sharing += not alone
    return looks


def _thin(frame: Frame, rows: list[int]) -> list[tuple[int, str]]:
    """Those of the numbers of rows whose labels do not overlap."""
    kept, last = [], float("-inf")
    for value in rows:
        text = f"{value:,}"
        at = frame.x(value)
        if at - last >= 7 * len(text) + 10:
            kept.append((value, text))
            last = at
    return kept


def _known(
    rows: list[int], line: dict[str, Any], part: str, numbers: Numbers
) -> list[tuple[int, Any]]:
    pairs = zip(rows, line[part] or (), strict=False)
    return [(r, numbers.shown(value)) for r, value in pairs if value is not None]


def _band(
    frame: Frame, rows: list[int], line: dict[str, Any], numbers: Numbers, css: str
) -> Html | None:
    low, high = (_known(rows, line, part, numbers) for part in ("low", "high"))
    if len(low) < 2 or len(low) != len(high):
        return None
    outline = [*low, *reversed(high)]
    path = frame.path(*zip(*outline, strict=True)) + "Z"
    return tag("path", d=path, class_=f"band {css}")


def _line(
    frame: Frame, rows: list[int], line: dict[str, Any], numbers: Numbers, css: str
) -> Html | None:
    mean = _known(rows, line, "mean", numbers)
    if not mean:
        return None
    marks = [mark(css, frame.x(a), frame.y(b)) for a, b in mean]
    path = frame.path(*zip(*mean, strict=True))
    return join(tag("path", d=path, class_=f"line {css}"), marks)


def _crossing(frame: Frame, crossing: float | None) -> Html | None:
    if crossing is None or not frame.x.low <= crossing <= frame.x.high:
        return None
    at = frame.x(crossing)
    late = at > frame.middle
    return join(
        tag("line", x1=at, x2=at, y1=frame.y.start, y2=frame.y.end, class_="crossing"),
        tag(
            "text",
            f"lines meet at {crossing:,.0f} rows",
            x=at + (-6 if late else 6),
            y=frame.y.start - 8,
            class_="note end" if late else "note",
        ),
    )


def _spoken(line: dict[str, Any], rows: list[int], numbers: Numbers) -> str:
    mean = _known(rows, line, "mean", numbers)
    if not mean:
        return f"{line['contender']}: nothing known"
    (first, a), (last, b) = mean[0], mean[-1]
    decimals = numbers.decimals
    return (
        f"{line['contender']}: {a:.{decimals}f} with {first:,} rows, "
        f"{b:.{decimals}f} with {last:,}"
    )


_START, _END = 2.0, 98.0


class Strips:
    """The strips of one table."""

    def __init__(
        self,
        scale: Scale,
        key: str,
        *,
        zero: bool = False,
        sign: int = 1,
        at_most: int = 5,
    ) -> None:
        self.scale = scale.onto(_START, _END)
        self.key = key
        self.zero = zero
        self.sign = sign
        self.ticks, self.decimals = scale.ticks(at_most)

    def grid(self) -> Html:
        """The lines behind all strips, to be put once before the table."""
        lines = []
        for tick in self.ticks:
            css = "zero" if self.zero and tick == 0 else "grid"
            at = self._at(tick)
            lines.append(tag("line", x1=at, x2=at, y1="0", y2="100%", class_=css))
        return tag(
            "svg", tag("defs", tag("g", lines, id=f"{self.key}-grid")),
            class_="definitions", aria_hidden="true", width=0, height=0,
        )  # fmt: skip

    def axis(self) -> Html:
        """The numbers of the grid lines."""
        write = signed if self.zero else plain
        words = [
            tag("text", write(self.sign * tick, self.decimals), x=self._at(tick), y=14,
                class_="tick middle")
            for tick in self.ticks
        ]  # fmt: skip
        return tag("svg", words, class_="strip axis", aria_hidden="true")

    def strip(
        self, value: float | None, low: float | None, high: float | None, kind: str
    ) -> Html:
        """One row: a marker and the interval around it."""
        drawn = [tag("use", href=f"#{self.key}-grid")]
        if low is not None and high is not None:
            drawn.append(
                tag("line", x1=self._at(low), x2=self._at(high), y1="50%", y2="50%",
                    class_=f"interval {kind}")
            )  # fmt: skip
            if low < self.scale.low:
                drawn.append(self._cut("cut-left", low, kind))
            if high > self.scale.high:
                drawn.append(self._cut("cut-right", high, kind))
        if value is not None:
            drawn.append(mark(kind, self._at(value), "50%"))
        return tag("svg", join(drawn), class_="strip", aria_hidden="true")

    def _cut(self, name: str, value: float, kind: str) -> Html:
        return mark(name, self._at(value), "50%", class_=f"cut {kind}")

    def _at(self, value: float) -> str:
        return f"{self.scale(value):.2f}%"
