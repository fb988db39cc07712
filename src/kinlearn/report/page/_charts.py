"""Charts of the page: gains, gain against distance, rows per task, heat maps."""

from collections.abc import Sequence
from typing import Any
from unicodedata import east_asian_width

import numpy as np

from kinlearn.report._result import (
    Numbers,
    as_matrix,
    cluster_order,
    plain,
    shorten,
    signed,
)
from kinlearn.report.page._html import (
    Html,
    attribute_number,
    join,
    tag,
    task_text,
)
from kinlearn.report.page._svg import (
    Frame,
    Scale,
    gain_limits,
    in_two_widths,
    mark,
    padded,
    picture,
)

__all__ = [
    "HeatMap",
    "Strips",
    "curve_series",
    "distance_plot",
    "gain_overview",
    "rows_curve",
]

# More intervals than pixels would only make the page heavy.
_OVERVIEW_TASKS = 2000
_START, _END = 2.0, 98.0  # of a strip, in percent
# Of heat maps
_LEVELS = 9
_WRITTEN_CELL = 34  # pixels that a number needs
_SHOWN_TASKS = 60
_SIDE = 540  # of all cells, about
_TOP = 22
_SHORT_NAME = 3
_PHONE = 326  # of a picture on a phone


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
        description="; ".join(
            _in_words(line, rows, numbers) for line in curve["lines"]
        ),
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


def _in_words(line: dict[str, Any], rows: list[int], numbers: Numbers) -> str:
    mean = _known(rows, line, "mean", numbers)
    if not mean:
        return f"{line['contender']}: nothing known"
    (first, a), (last, b) = mean[0], mean[-1]
    decimals = numbers.decimals
    return (
        f"{line['contender']}: {a:.{decimals}f} with {first:,} rows, "
        f"{b:.{decimals}f} with {last:,}"
    )


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


class HeatMap:
    """A square matrix between tasks, in clustering order.

    - `tasks`: The shown tasks, in order.
    - `values`: Their matrix; NaN where nothing is known.
    - `n_left_out`: Tasks that are not shown.
    """

    def __init__(
        self, square: dict[str, Any], n_rows: dict[str, Any], *, affinity: bool
    ) -> None:
        names = square["tasks"]
        sizes = [-n_rows.get(task, 0) for task in names]
        kept = np.sort(np.argsort(sizes, kind="stable")[:_SHOWN_TASKS])
        values = as_matrix(square["matrix"])[np.ix_(kept, kept)]
        order = cluster_order(values, affinity=affinity)
        self.tasks = [names[k] for k in kept[order]]
        self.values = values[np.ix_(order, order)]
        self.n_left_out = len(names) - len(kept)
        self.affinity = affinity
        known = self.values[self._between & np.isfinite(self.values)]
        self.low, self.high = (
            (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
        )
        # opposite signs mean opposite things: colours meet at zero
        self.diverging = self.low < 0 < self.high
        if self.diverging:
            self.high = max(-self.low, self.high)
            self.low = -self.high

    @property
    def _css(self) -> str:
        return "heat diverging" if self.diverging else "heat"

    @property
    def _between(self) -> np.ndarray:
        return ~np.eye(len(self.tasks), dtype=bool)

    def nearest(self, count: int = 3) -> list[list[tuple[Any, float]]]:
        """For each task the most alike others, as (task, value) pairs."""
        found = []
        for i, row in enumerate(self.values):
            keys = np.where(np.isfinite(row), -row if self.affinity else row, np.inf)
            keys[i] = np.inf
            order = np.argsort(keys, kind="stable")[:count]
            found.append(
                [(self.tasks[j], float(row[j])) for j in order if np.isfinite(keys[j])]
            )
        return found

    def draw(self, *, name: str, description: str, key: str) -> Html:
        """The picture."""
        count = len(self.tasks)
        cell, narrow = float(np.clip(_SIDE / count, 11, 44)), (_PHONE - 84) / count
        if narrow < 10:  # a phone scrolls
            return self._picture(cell, 20, name, description, key, "")
        return join(
            self._picture(cell, 20, name, description, f"{key}-wide", "wide"),
            self._picture(
                min(narrow, 44.0), 9, name, description, f"{key}-narrow", "narrow"
            ),
        )

    def _picture(
        self, cell: float, longest: int, name: str, description: str, key: str, css: str
    ) -> Html:
        count = len(self.tasks)
        labels = [shorten(task_text(task), longest) for task in self.tasks]
        size = 12 if cell >= 15 else 9
        longest = max(map(_text_width, labels))
        # columns are wide enough for numbers only, or for names as short as these
        numbers = None
        if longest > _SHORT_NAME:
            numbers = 12 + (1 + (count > 9)) * size * 0.65
        left = longest * size * 0.62 + (numbers or 0) + 10
        return picture(
            left + count * cell + 2,
            _TOP + count * cell + 2,
            self._names(labels, left, cell, size, numbers),
            self._cells(left, cell),
            name=name,
            description=description,
            key=key,
            css=f"{self._css} {css}",
        )

    def _names(
        self,
        labels: list[str],
        left: float,
        cell: float,
        size: int,
        numbers: float | None,
    ) -> Html:
        """Names at the rows; at the columns numbers, unless names are short."""
        step = 1 if cell >= 15 else 5
        words = []
        for k, label in enumerate(labels):
            y = _TOP + (k + 0.5) * cell + size * 0.36
            place = label if numbers is None else str(k + 1)
            words.append(
                tag("text", label, x=left - (numbers or 0) - 6, y=y, font_size=size,
                    class_="name end")
            )  # fmt: skip
            if numbers is not None:
                words.append(
                    tag("text", place, x=left - 6, y=y, font_size=size,
                        class_="tick end")
                )  # fmt: skip
            if k % step == 0:
                words.append(
                    tag("text", place, x=left + (k + 0.5) * cell, y=_TOP - 7,
                        font_size=size, class_="tick middle")
                )  # fmt: skip
        return join(words)

    def _level(self, value: float) -> int:
        fraction = (value - self.low) / (self.high - self.low or 1.0)
        return int(np.clip(fraction * _LEVELS, 0, _LEVELS - 1))

    def _cells(self, left: float, cell: float) -> Html:
        """One path for each level, which keeps a map of 3,600 cells small."""
        gap = 1.0 if cell >= 15 else 0.5
        side = attribute_number(cell - gap)
        paths: dict[int | str, list[str]] = {}
        words = []
        for (i, j), value in np.ndenumerate(self.values):
            x, y = left + j * cell, _TOP + i * cell
            level: int | str = "self" if i == j else "none"
            if i != j and np.isfinite(value):
                level = self._level(value)
                if cell >= _WRITTEN_CELL:
                    words.append(
                        tag("text", plain(value, 2), x=x + (cell - gap) / 2,
                            y=y + cell / 2 + 4, class_=f"value on-{level}")
                    )  # fmt: skip
            at = f"M{attribute_number(x)} {attribute_number(y)}"
            paths.setdefault(level, []).append(f"{at}h{side}v{side}h-{side}z")
        drawn = [
            tag("path", d="".join(parts), class_=f"level-{level}")
            for level, parts in sorted(paths.items(), key=str)
        ]
        return join(drawn, words)

    def legend(self) -> Html:
        """The colours and the numbers at both ends."""
        ends = ("less alike", "more alike") if self.affinity else ("nearer", "further")
        boxes = [
            tag("rect", x=16 * k, width=16, height=10, class_=f"level-{k}")
            for k in range(_LEVELS)
        ]
        scale = tag(
            "svg", boxes, class_=self._css,
            width=16 * _LEVELS, height=10, aria_hidden="true",
        )  # fmt: skip
        return tag(
            "p",
            tag("span", f"{ends[0]}, {plain(self.low, 2)}"),
            scale,
            tag("span", f"{plain(self.high, 2)}, {ends[1]}"),
            class_="scale",
        )


def _text_width(text: str) -> int:
    """In characters; those of East Asia are twice as wide."""
    return sum(2 if east_asian_width(c) in "WF" else 1 for c in text)
