"""Small pieces that the sections are made of: names, tables, notes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kinlearn.report._result import NO_NUMBER, Numbers, shorten
from kinlearn.report.page._html import Html, join, tag

__all__ = [
    "Cell",
    "Reading",
    "Section",
    "behind",
    "code_block",
    "figure",
    "marker",
    "names",
    "paragraph",
    "scrolling",
    "seconds",
    "share",
    "table",
    "task_label",
    "task_text",
]

_LONGEST_NAME = 48


@dataclass(frozen=True)
class Reading:
    """A result and how its numbers are written: what every section is given."""

    data: Mapping[str, Any]
    numbers: Numbers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", Numbers.of(self.data))

    @property
    def interval(self) -> str:
        """What the intervals are called, with their level."""
        level = (self.data["headline"] or {}).get("level") or 0.95
        return f"{100 * level:g} % interval"


@dataclass(frozen=True)
class Section:
    """A part of the page with a heading."""

    key: str
    title: str
    body: Html | None


@dataclass(frozen=True)
class Cell:
    """A cell of a table: what it shows, and what it is sorted by."""

    content: object
    sort: float | None = None


def task_text(task: Any) -> str:
    """A task's name, also where it is empty."""
    return str(task).strip() or "(no name)"


def task_label(task: Any, limit: int = _LONGEST_NAME) -> Html:
    """A task's name, cut to a readable length and safe among other text."""
    full = task_text(task)
    short = shorten(full, limit)
    # bdi: a name written from right to left must not turn the words around it
    return tag("bdi", short, title=full if short != full else None)


def table(
    columns: Sequence[tuple[Any, str]],
    rows: Iterable[Any],
    *,
    caption: str,
    css: str = "",
    sortable: bool = False,
) -> Html:
    """A table whose first column names the rows."""
    css = " ".join(filter(None, (css, "sortable" if sortable else "")))
    # A phone shows strips as blocks, and some browsers then forget that they
    # are a table; the roles restore it.
    role = (lambda name: name) if css.startswith("strips") else (lambda name: None)
    head = [
        tag("th", title, scope="col", role=role("columnheader"), class_=name or None)
        for title, name in columns
    ]
    body = [
        row
        if isinstance(row, Html)
        else tag(
            "tr",
            [_cell(cell, k, columns[k], role) for k, cell in enumerate(row)],
            role=role("row"),
        )
        for row in rows
    ]
    made = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", head, role=role("row")), role=role("rowgroup")),
        tag("tbody", body, role=role("rowgroup")),
        class_=css or None,
        role=role("table"),
    )
    return scrolling(made, caption)


def _cell(
    cell: Any, k: int, column: tuple[Any, str], role: Callable[[str], str | None]
) -> Html:
    title, css = column
    cell = cell if isinstance(cell, Cell) else Cell(cell)
    kind, scope, name = ("th", "row", "rowheader") if k == 0 else ("td", None, "cell")
    return tag(
        kind,
        cell.content,
        scope=scope,
        role=role(name),
        class_=css or None,
        data_label=title if "labelled" in css else None,
        data_sort=None if cell.sort is None else f"{cell.sort:.6g}",
    )


def scrolling(content: Any, name: str) -> Html:
    """A box that scrolls by itself where its content is too wide for the page."""
    return tag(
        "div", content, class_="scroll", tabindex="0", role="region", aria_label=name
    )


def figure(*children: Any, caption: Any, css: str | None = None) -> Html:
    """A chart with the sentence on how to read it."""
    return tag("figure", *children, tag("figcaption", caption), class_=css)


def behind(summary: str, *children: Any) -> Html:
    """What opens on a click: the numbers behind a chart."""
    return tag("details", tag("summary", summary), *children)


def paragraph(*children: Any, css: str | None = None) -> Html | None:
    """A paragraph of the sentences that are there; None without any."""
    sentences = [child for child in children if child]
    spaced = [part for child in sentences for part in (child, " ")][:-1]
    return tag("p", spaced, class_=css) if sentences else None


def code_block(code: str) -> Html:
    """Lines of code."""
    return tag("pre", tag("code", code), tabindex="0")


def marker(kind: str) -> Html:
    """The marker of a verdict, to stand beside its word."""
    return tag(
        "svg",
        tag("use", href=f"#mark-{kind.replace(' ', '-')}", x=7, y=7,
            class_=f"mark {kind.replace(' ', '-')}"),
        class_="key",
        width=14,
        height=14,
        aria_hidden="true",
    )  # fmt: skip


def seconds(value: float | None) -> str:
    """A time in words."""
    if value is None:
        return NO_NUMBER
    if value < 100:
        return f"{value:.1f} s" if value >= 0.1 else f"{value * 1000:.0f} ms"
    minutes = round(value / 60)
    if minutes < 100:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min"


def share(p: float) -> str:
    """A p-value in words."""
    # no-break spaces: it stays on one line
    return "p\u00a0<\u00a00.001" if p < 0.001 else f"p\u00a0=\u00a0{p:.3f}"


def names(
    tasks: Sequence[Any], limit: int, *, text: Callable[[Any], Any] = task_label
) -> Html:
    """Names as a list, cut after so many, with the number of the others."""
    shown = [tag("li", text(task)) for task in tasks[:limit]]
    if len(tasks) > limit:
        shown.append(tag("li", f"and {len(tasks) - limit:,} more", class_="more"))
    return tag("ul", join(shown), class_="names")
