"""Draw the packages and who imports whom, and list the tree: the architecture page.

`.venv/bin/python docs/make_architecture_picture.py` reads the imports and the first
line of each package's docstring, draws `_static/architecture.svg` and renews the tree
in `contributing/architecture.md`. A test says when they are old.
"""

import ast
import sys
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

HERE = Path(__file__).parent
SOURCE = HERE.parent / "src" / "kinlearn"
PICTURE = HERE / "_static" / "architecture.svg"
PAGE = HERE / "contributing" / "architecture.md"
BEGIN, END = "<!-- the tree: begin -->", "<!-- the tree: end -->"

sys.path.insert(0, str(HERE.parent))
from tests.imports import SUFFIXES, read_imports  # noqa: E402

# Tools that nearly everybody imports: drawn as a bar, without arrows.
EVERYBODY = ("exceptions", "utils")
# The way of a row of data, from fit to the page; numbers stand in the picture.
ROUTE = (
    "tables",
    "tasks",
    "_binning",
    "trees",
    "_kernels",
    "sharing",
    "audit",
    "report",
)
# Where the boxes stand, row by row, each with its place from left (0) to right (1).
SHELVES = (
    {"dask": 0.1, "cli": 0.5},
    {"report": 0.5},
    {"persistence": 0.25, "audit": 0.5},
    {"sharing": 0.5},
    {"transfer": 0.1, "model_selection": 0.84},
    {"boosting": 0.36},
    {"linear": 0.2, "trees": 0.36, "svm": 0.52, "cluster": 0.68},
    {"_binning": 0.36, "testing": 1.0},
    {"_partitions": 0.48, "metrics": 0.68, "relatedness": 0.84, "datasets": 1.0},
    {"tasks": 0.68},
    {"_kernels": 0.2, "tables": 0.68},
)
WIDTH, BOX_WIDTH, BOX_HEIGHT, GAP = 1120, 124, 34, 76
GREY, GREEN = "#9aa3ad", "#1d7a46"


def packages() -> dict[str, Path]:
    """The packages of the first level, by name."""
    return {p.name: p for p in sorted(SOURCE.iterdir()) if (p / "__init__.py").exists()}


def imports() -> dict[str, set[str]]:
    """Package -> packages that it imports."""
    found = packages()
    edges: dict[str, set[str]] = {name: set() for name in found}
    for name, folder in found.items():
        for path in sorted(p for p in folder.rglob("*") if p.suffix in SUFFIXES):
            package = ["kinlearn", *path.relative_to(SOURCE).parent.parts]
            for use in read_imports(path, package):
                top, _, rest = use.name.partition(".")
                to = rest.partition(".")[0]
                if top == "kinlearn" and to in found and to != name:
                    edges[name].add(to)
    return edges


def direct(edges: dict[str, set[str]]) -> dict[str, set[str]]:
    """The imports that do not follow from others: the arrows to draw."""

    def reach(name: str) -> set[str]:
        return set().union(*({to} | reach(to) for to in edges[name]))

    return {
        name: {
            to for to in tos if not any(to in reach(between) for between in tos - {to})
        }
        for name, tos in edges.items()
    }


def places() -> dict[str, tuple[float, float]]:
    """The middles of the boxes."""
    return {
        name: (BOX_WIDTH / 2 + 12 + x * (WIDTH - BOX_WIDTH - 24), row * GAP + 30)
        for row, shelf in enumerate(SHELVES)
        for name, x in shelf.items()
    }


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    """From the lower edge of a box to the upper edge of another."""
    (x, y), (u, v) = start, end
    y, v = y + BOX_HEIGHT / 2, v - BOX_HEIGHT / 2 - 2
    bend = max(26, 0.4 * (v - y))
    return (
        f'<path d="M{x:.0f} {y:.0f}C{x:.0f} {y + bend:.0f} {u:.0f} {v - bend:.0f} '
        f'{u:.0f} {v:.0f}" fill="none" stroke="{GREY}" stroke-width="1.2" '
        'marker-end="url(#tip)"/>'
    )


def _step(start: tuple[float, float], end: tuple[float, float]) -> str:
    """A step of the way of a row: a broad line from box to box, behind them."""
    (x, y), (u, v) = start, end
    bow = 0.0 if x == u and abs(v - y) <= 2 * GAP else 150.0
    side = 1.0 if v > y else -1.0  # down on the left, up on the right
    return (
        f'<path d="M{x:.0f} {y:.0f}C{x - side * bow:.0f} {y + (v - y) / 3:.0f} '
        f'{u - side * bow:.0f} {v - (v - y) / 3:.0f} {u:.0f} {v:.0f}" fill="none" '
        f'stroke="{GREEN}" stroke-opacity="0.25" stroke-width="9"/>'
    )


def picture() -> str:
    """The picture, as SVG."""
    edges = {
        name: tos - set(EVERYBODY)
        for name, tos in imports().items()
        if name not in EVERYBODY
    }
    at = places()
    if set(at) != set(edges):
        raise ValueError(f"SHELVES lacks or has in excess: {set(at) ^ set(edges)}")
    height = len(SHELVES) * GAP + 58
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">',
        "<title>The packages of kinlearn; arrows point to what is imported</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="{GREY}"/>'
        "</marker></defs>",
        *(_step(at[a], at[b]) for a, b in pairwise(ROUTE)),
        *(
            _arrow(at[name], at[to])
            for name, tos in sorted(direct(edges).items())
            for to in sorted(tos)
        ),
    ]
    half = BOX_HEIGHT / 2
    for name, (x, y) in sorted(at.items()):
        on_route = name in ROUTE
        colours = ("#e3f1e8", GREEN) if on_route else ("#f1f3f5", GREY)
        lines += [
            f'<rect x="{x - BOX_WIDTH / 2:.0f}" y="{y - half:.0f}" rx="6" '
            f'width="{BOX_WIDTH}" height="{BOX_HEIGHT}" fill="{colours[0]}" '
            f'stroke="{colours[1]}"/>',
            f'<text x="{x:.0f}" y="{y + 4:.0f}" text-anchor="middle" fill="#212529">'
            f"{escape(name)}</text>",
        ]
        if on_route:
            lines += [
                f'<circle cx="{x - BOX_WIDTH / 2:.0f}" cy="{y - half:.0f}" r="9" '
                f'fill="{GREEN}"/>',
                f'<text x="{x - BOX_WIDTH / 2:.0f}" y="{y - half + 4:.0f}" '
                'text-anchor="middle" font-size="11" fill="#ffffff">'
                f"{ROUTE.index(name) + 1}</text>",
            ]
    lines += [
        f'<rect x="20" y="{height - 42}" width="{WIDTH - 40}" height="30" rx="6" '
        f'fill="#ffffff" stroke="{GREY}" stroke-dasharray="4 3"/>',
        f'<text x="{WIDTH / 2:.0f}" y="{height - 22}" text-anchor="middle" '
        f'fill="#495057">{" and ".join(EVERYBODY)}: for all of them</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def tree() -> str:
    """A line for each package and folder: its name, and its docstring's first line."""
    lines = ["```text"]
    for folder in sorted(p.parent for p in SOURCE.rglob("__init__.py")):
        parts = folder.relative_to(SOURCE).parts
        doc = ast.get_docstring(ast.parse((folder / "__init__.py").read_text())) or ""
        name = "  " * len(parts) + (parts[-1] if parts else "kinlearn") + "/"
        lines.append(f"{name:<22} {doc.partition(chr(10))[0]}".rstrip())
    return "\n".join([*lines, "```"])


def page() -> str:
    """The page, with a tree of today."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{tree()}\n{END}{after}"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
