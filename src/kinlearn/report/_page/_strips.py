"""Charts that are tables: a strip in each row shows its number and interval.

Places are percentages, so a strip is as wide as its column and needs no second
picture for a phone; names and numbers are text beside it.
"""

from kinlearn.report._page._html import Html, join, tag
from kinlearn.report._page._scale import Scale
from kinlearn.report._page._svg import mark
from kinlearn.report._result import plain, signed

__all__ = ["Strips"]

_START, _END = 2.0, 98.0


class Strips:
    """The strips of one table.

    Parameters
    ----------
    scale : Scale
        The numbers' limits.
    key : str
        Of its own among the charts of a page.
    zero : bool, default=False
        Whether the numbers are differences: zero gets a line, numbers a sign.
    sign : int, default=1
        -1 where the numbers are written with the other sign: errors.
    at_most : int, default=5
        Greatest number of grid lines.
    """

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
