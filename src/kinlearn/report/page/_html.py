"""HTML by functions, from elements to tables: what is not HTML already is escaped."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, TypeAlias

from kinlearn.report._result import NO_NUMBER, Numbers, shorten
from kinlearn.utils import visible

__all__ = [
    "Cell",
    "Html",
    "Reading",
    "Section",
    "attribute_number",
    "code_block",
    "css_name",
    "details",
    "figure",
    "join",
    "marker",
    "marker_key",
    "names",
    "numbers_behind",
    "p_value",
    "paragraph",
    "scrolling",
    "seconds",
    "table",
    "tag",
    "task_label",
    "task_text",
    "terms",
]

_LONGEST_NAME = 48
Columns: TypeAlias = Sequence[tuple[Any, str]]  # titles, and names of styles

# elements that have no end
_VOID = {"br", "col", "hr", "link", "meta"}


class Html(str):
    """Text that is HTML already, and goes into the page as it is."""

    __slots__ = ()


def tag(name: str, /, *children: Any, **attributes: Any) -> Html:
    """An element."""
    start = name + "".join(
        _attribute(key, value)
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in _VOID:
        return Html(f"<{start}>")
    return Html(f"<{start}>{join(*children)}</{name}>")


def join(*children: Any) -> Html:
    """Children one behind another, without an element around them."""
    return Html("".join(map(_child, children)))


def attribute_number(value: float) -> str:
    """A coordinate, short: a tenth of a pixel is enough."""
    written = f"{value:.1f}"
    return written.removesuffix(".0") if written != "-0.0" else "0"


def _attribute(key: str, value: Any) -> str:
    key = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {key}"
    if isinstance(value, float):
        value = attribute_number(value)
    return f' {key}="{escape(visible(str(value)), quote=True)}"'


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(visible(child), quote=False)
    if isinstance(child, int | float):
        return str(child)
    return "".join(map(_child, child))


@dataclass(frozen=True)
class Reading:
    """A result and how its numbers are written: what every section is given."""

    data: Mapping[str, Any]
    numbers: Numbers = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "numbers", Numbers.of(self.data))

    def folds(self, word: str = "") -> str:
        """How many folds, and how often they were drawn."""
        cv = self.data["cv"]
        times = f", drawn {cv['n_repeats']} times" if cv["n_repeats"] > 1 else ""
        return f"{cv['n_splits']}{word}{times}"

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
    columns: Columns,
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


def details(summary: str, *children: Any) -> Html:
    """What opens on a click."""
    return tag("details", tag("summary", summary), *children)


def numbers_behind(
    what: str, columns: Columns, rows: Iterable[Any], **options: Any
) -> Html:
    """The table of the numbers that a chart shows, opened on a click."""
    made = table(columns, rows, css="dense", **options)
    return details(f"The numbers behind the {what}", made)


def terms(pairs: Iterable[tuple[Any, Any]], css: str = "terms") -> Html:
    """Terms and what they mean; several meanings come as a list of ``dd``."""
    entries = []
    for term, meaning in pairs:
        meaning = meaning if isinstance(meaning, list) else tag("dd", meaning)
        entries.append(join(tag("dt", term), meaning))
    return tag("dl", entries, class_=css)


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
    name = css_name(kind)
    return tag(
        "svg",
        tag("use", href=f"#mark-{name}", x=7, y=7, class_=f"mark {name}"),
        class_="key",
        width=14,
        height=14,
        aria_hidden="true",
    )


def marker_key() -> Html:
    """What the markers of the verdicts mean."""
    return tag("span", marker("helped"), "helped, ", marker("hurt"), "hurt, ",
               marker("unclear"), "unclear.", class_="keys")  # fmt: skip


def css_name(kind: str) -> str:
    """A verdict as the style sheet calls it."""
    return kind.replace(" ", "-")


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


def p_value(p: float) -> str:
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
