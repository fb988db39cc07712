"""The heat map of affinities or distances between tasks."""

from typing import Any
from unicodedata import east_asian_width

import numpy as np

from kinlearn.report._result import as_matrix, cluster_order, plain, shorten
from kinlearn.report.page._html import Html, attribute_number, join, tag
from kinlearn.report.page._pieces import task_text
from kinlearn.report.page._svg import picture

__all__ = ["HeatMap"]

_LEVELS = 9
_WRITTEN_CELL = 34  # pixels that a number needs
_SHOWN_TASKS = 60
_SIDE = 540  # of all cells, about
_TOP = 22
_SHORT_NAME = 3
_PHONE = 326  # of a picture on a phone


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
        share = (value - self.low) / (self.high - self.low or 1.0)
        return int(np.clip(share * _LEVELS, 0, _LEVELS - 1))

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
