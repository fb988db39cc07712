"""HTML by functions: what is not HTML already is escaped, always."""

from html import escape
from typing import Any

__all__ = ["Html", "attribute_number", "join", "tag"]

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
    return f' {key}="{escape(str(value), quote=True)}"'


def _child(child: Any) -> str:
    if child is None:
        return ""
    if isinstance(child, Html):
        return child
    if isinstance(child, str):
        return escape(child, quote=False)
    if isinstance(child, int | float):
        return str(child)
    return "".join(map(_child, child))
