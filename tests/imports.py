"""Reads the imports of source files, Python's and Cython's.

For the test of the layers, and for the picture of them in the documentation.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

__all__ = ["SUFFIXES", "Use", "is_private", "read_imports"]

_DYNAMIC = {"import_module", "import_optional", "__import__"}


@dataclass(frozen=True)
class Use:
    """One imported name: ``from a.b import c`` uses ``a.b.c``."""

    name: str
    line: int
    at_import: bool  # the import runs when the file itself is imported


def is_private(segment: str) -> bool:
    """Whether a part of a dotted name begins with an underscore, and is no dunder."""
    return segment.startswith("_") and not segment.endswith("__")


def read_imports(path: Path, package: list[str]) -> Iterator[Use]:
    """Every name that a file imports, also inside functions and for type checkers."""
    yield from _READERS[path.suffix](path.read_text(encoding="utf-8"), package)


def _read_python(source: str, package: list[str]) -> Iterator[Use]:
    tree = ast.parse(source)
    bound: dict[str, str] = {}  # local name -> what it stands for
    lazy = _lazy_nodes(tree)
    for node in ast.walk(tree):
        at_import = node not in lazy
        if isinstance(node, ast.Import):
            for alias in node.names:
                local = alias.asname or alias.name.partition(".")[0]
                bound[local] = alias.name if alias.asname else local
                yield Use(alias.name, node.lineno, at_import)
        elif isinstance(node, ast.ImportFrom):
            origin = _absolute(node.module or "", node.level, package)
            for alias in node.names:
                bound[alias.asname or alias.name] = f"{origin}.{alias.name}"
                yield Use(f"{origin}.{alias.name}", node.lineno, at_import)
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", None))
            first = node.args[0] if node.args else None
            if called in _DYNAMIC and isinstance(first, ast.Constant):
                yield Use(str(first.value), node.lineno, at_import)
    # `import sklearn.utils` and later `sklearn.utils._x` is an import as well.
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            parts = ast.unparse(node).split(".")
            if bound.get(parts[0], "").partition(".")[0] in {"sklearn", "kinlearn"}:
                name = ".".join([bound[parts[0]], *parts[1:]])
                subpackage = name.startswith("kinlearn.") and name.count(".") == 1
                if subpackage or is_private(node.attr):
                    yield Use(name, node.lineno, node not in lazy)


def _lazy_nodes(tree: ast.Module) -> set[ast.AST]:
    """Nodes that do not run at import: function bodies and TYPE_CHECKING blocks."""
    lazy: set[ast.AST] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = node.body if isinstance(node.body, list) else [node.body]
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            body = node.body
        else:
            continue
        for statement in body:
            lazy.update(ast.walk(statement))
    return lazy


_CYTHON_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<origin>[\w.]+)[ \t]+c?import[ \t]+(?P<names>\([^)]*\)|.*)"
    r"|c?import[ \t]+(?P<modules>.*))",
    re.MULTILINE,
)
_LONG_STRING = re.compile(r'"""(?:.|\n)*?"""' + r"|'''(?:.|\n)*?'''")


def _read_cython(source: str, package: list[str]) -> Iterator[Use]:
    # Keep the line breaks of docstrings, so that line numbers stay right.
    code = _LONG_STRING.sub(lambda text: "\n" * text.group().count("\n"), source)
    for match in _CYTHON_IMPORT.finditer(code):
        line = code.count("\n", 0, match.start()) + 1
        origin = match["origin"] or ""
        dots = len(origin) - len(origin.lstrip("."))
        listed = re.sub(r"#.*|[()\\]", " ", match["names"] or match["modules"])
        for entry in filter(None, (text.split() for text in listed.split(","))):
            name = entry[0]
            if match["origin"]:
                name = f"{_absolute(origin.lstrip('.'), dots, package)}.{name}"
            yield Use(name, line, at_import=True)


def _absolute(module: str, level: int, package: list[str]) -> str:
    base = package[: len(package) - level + 1] if level else []
    return ".".join([*base, *([module] if module else [])])


_READERS = {
    ".py": _read_python,
    ".pyx": _read_cython,
    ".pxd": _read_cython,
    ".pxi": _read_cython,
}

SUFFIXES = frozenset(_READERS)
