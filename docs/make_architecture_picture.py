"""Draw the packages and who imports whom, and list the tree: the architecture page.

`.venv/bin/python docs/make_architecture_picture.py` reads the imports and the first
line of each package's docstring, draws `_static/architecture.svg` and renews the tree
in `contributing/architecture.md`. A test says when they are old.
"""

import ast
import sys
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
WIDTH, BOX_WIDTH, BOX_HEIGHT, GAP = 1120, 124, 34, 78


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


def levels(edges: dict[str, set[str]]) -> dict[str, int]:
    """How many packages lie below each, one on the other."""
    level: dict[str, int] = {}

    def of(name: str) -> int:
        if name not in level:
            level[name] = 1 + max((of(to) for to in edges[name]), default=-1)
        return level[name]

    for name in edges:
        of(name)
    return level


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


def _places(
    edges: dict[str, set[str]], level: dict[str, int]
) -> dict[str, tuple[float, float]]:
    """Where the boxes stand: in the order of the middles of those that import them."""
    at: dict[str, tuple[float, float]] = {}
    top = max(level.values())
    for i in range(top, -1, -1):
        above = {
            name: [at[other][0] for other in at if name in edges[other]]
            for name in sorted(level)
            if level[name] == i
        }
        wished = {
            name: sum(x) / len(x) if x else WIDTH / 2 for name, x in above.items()
        }
        row = sorted(wished, key=lambda name: (wished[name], name))
        pitch = WIDTH / max(len(row), 5)
        for j, name in enumerate(row):
            x = WIDTH / 2 + (j - (len(row) - 1) / 2) * pitch
            at[name] = (x, (top - i) * GAP + 30)
    return at


def picture() -> str:
    """The picture, as SVG."""
    edges = {
        name: tos - set(EVERYBODY)
        for name, tos in imports().items()
        if name not in EVERYBODY
    }
    level = levels(edges)
    n_levels = max(level.values()) + 1
    height = n_levels * GAP + 58
    at = _places(direct(edges), level)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">',
        "<title>The packages of kinlearn; arrows point to what is imported</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z" fill="#9aa3ad"/>'
        "</marker></defs>",
    ]
    half = BOX_HEIGHT / 2
    for name, tos in sorted(direct(edges).items()):
        x, y = at[name]
        for to in sorted(tos):
            u, v = at[to]
            lines.append(
                f'<path d="M{x:.0f} {y + half:.0f}C{x:.0f} {y + half + 26:.0f} {u:.0f} '
                f'{v - half - 30:.0f} {u:.0f} {v - half - 2:.0f}" fill="none" '
                'stroke="#9aa3ad" stroke-width="1.2" marker-end="url(#tip)"/>'
            )
    for name, (x, y) in sorted(at.items()):
        on_route = name in ROUTE
        colours = ("#e3f1e8", "#1d7a46") if on_route else ("#f1f3f5", "#9aa3ad")
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
                'fill="#1d7a46"/>',
                f'<text x="{x - BOX_WIDTH / 2:.0f}" y="{y - half + 4:.0f}" '
                'text-anchor="middle" font-size="11" fill="#ffffff">'
                f"{ROUTE.index(name) + 1}</text>",
            ]
    lines += [
        f'<rect x="20" y="{height - 42}" width="{WIDTH - 40}" height="30" rx="6" '
        'fill="#ffffff" stroke="#9aa3ad" stroke-dasharray="4 3"/>',
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
