"""The tree is the architecture: imports point one way.

``LAYERS`` is the table of the house style, as data. The checker reads every
source file (also the Cython ones), with lazy imports and imports for type
checkers, and names each line that breaks the table.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "kinlearn"

_TOOLS = {"exceptions", "utils"}
_TASKS = {"tables", "tasks", *_TOOLS}
_ESTIMATORS = {"trees", "svm", "cluster", "boosting", "transfer"}
# An estimator package may call kernels and score what it fits.
_FITTING = {"_kernels", "metrics", *_TASKS}
# What the audit compares and the report draws.
_RESULTS = {"metrics", "relatedness", *_TASKS}
_PUBLIC = {
    "datasets",
    "model_selection",
    "sharing",
    "audit",
    "persistence",
    "report",
    *_ESTIMATORS,
    *_RESULTS,
}

# layer (first folder or module below kinlearn) -> layers that it may import;
# a layer may always import itself.
LAYERS: dict[str, set[str]] = {
    "_kernels": set(),
    "exceptions": {"_kernels"},
    "utils": {"_kernels", "exceptions"},
    "tables": _TOOLS,
    "tasks": {"tables", *_TOOLS},
    "metrics": _TASKS,
    "datasets": _TASKS,
    "relatedness": _TASKS,
    "trees": _FITTING,
    "svm": _FITTING,
    "cluster": _FITTING,
    "boosting": {*_FITTING, "trees"},
    "transfer": {*_FITTING, "trees", "boosting"},
    "model_selection": {"metrics", *_TASKS},
    "sharing": {"model_selection", "metrics", *_TASKS, *_ESTIMATORS},
    "audit": {"sharing", "model_selection", *_RESULTS},
    # Files of models: knows how forests and boosted trees are built, to pack them.
    "persistence": {"trees", *_TASKS},
    "report": {"audit", "sharing", "model_selection", *_RESULTS},
    # Nothing imports these four.
    "dask": _PUBLIC,
    "cli": _PUBLIC,
    "testing": _PUBLIC,
    "kinlearn": _PUBLIC,  # __init__.py: lazy names, and their types
}
# These see of other packages only what a user sees (and the shared tools).
OUTERMOST = {"dask", "cli", "testing", "kinlearn"}

# Kernels know arrays. cython and cpython are the compiler's own: pointers to
# buffers, and the check for Ctrl-C.
KERNEL_PACKAGES = (
    "cython.",
    "cpython.",
    "libc.",
    "numpy.",
    "scipy.linalg.cython_blas.",
)

# Packages of the extras: `import kinlearn...` must work without them, and quickly.
OPTIONAL = {
    "altair",
    "dask",
    "distributed",
    "imblearn",
    "matplotlib",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "rich",
    "skops",
    "typer",
}
# The command line and the Dask part are imported by their users alone.
MAY_IMPORT_OPTIONAL = {"cli", "dask"}

SKLEARN_DOOR = "utils/_sklearn.py"
CALLBACK_DOOR = "utils/_callbacks.py"  # newer than the oldest scikit-learn we take
_DYNAMIC = {"import_module", "import_optional", "__import__"}


@dataclass(frozen=True)
class Use:
    """One imported name: ``from a.b import c`` uses ``a.b.c``."""

    name: str
    line: int
    at_import: bool  # the import runs when the file itself is imported


def violations(root: Path) -> list[str]:
    """Every line below ``root`` (a folder named kinlearn) that breaks a rule."""
    found = []
    for path in sorted(p for p in root.rglob("*") if p.suffix in _READERS):
        where = path.relative_to(root).as_posix()
        layer = path.relative_to(root).parts[0].removesuffix(path.suffix)
        layer = "kinlearn" if layer == "__init__" else layer
        if layer not in LAYERS:
            found.append(f"{where}: no layer {layer!r} in the table of test_layers.py")
            continue
        package = ["kinlearn", *path.relative_to(root).parent.parts]
        for use in _READERS[path.suffix](path.read_text(encoding="utf-8"), package):
            found += [f"{where}:{use.line}: {why}" for why in _judge(where, layer, use)]
    return found


def _judge(where: str, layer: str, use: Use) -> Iterator[str]:
    top, *rest = use.name.split(".")
    if top == "kinlearn":
        yield from _judge_own(layer, use.name, rest)
    elif layer == "_kernels" and not f"{use.name}.".startswith(KERNEL_PACKAGES):
        yield f"a kernel imports {use.name}; it may know libc, numpy and scipy's BLAS"
    elif top == "sklearn" and any(map(_is_private, rest)) and where != SKLEARN_DOOR:
        yield f"{use.name} is private to scikit-learn: bring it in by {SKLEARN_DOOR}"
    elif use.name.startswith("sklearn.callback") and where != CALLBACK_DOOR:
        yield f"{use.name} is not in every scikit-learn: bring it in by {CALLBACK_DOOR}"
    elif top in OPTIONAL and use.at_import and layer not in MAY_IMPORT_OPTIONAL:
        yield f"{top} is optional: import it inside the function that needs it"


def _judge_own(layer: str, name: str, rest: list[str]) -> Iterator[str]:
    to = rest[0] if rest else "kinlearn"
    if to == layer or name == "kinlearn.__version__":
        return
    if to not in LAYERS or to == "kinlearn":
        if layer not in OUTERMOST:
            yield f"imports {name}; name the package that it lives in"
    elif to not in LAYERS[layer]:
        yield f"{layer} may not import {to} ({name})"
    elif layer in OUTERMOST and to != "utils" and any(map(_is_private, rest)):
        yield f"{layer} may only use public names, not {name}"


def _is_private(segment: str) -> bool:
    return segment.startswith("_") and not segment.endswith("__")


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
                if subpackage or _is_private(node.attr):
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


def test_imports_keep_to_the_layers():
    assert violations(SOURCE) == []


def test_the_checker_reads_the_whole_package():
    # Guards against a moved tree, which would have nothing to complain of.
    modules = [_read_python(p.read_text(), ["kinlearn"]) for p in SOURCE.rglob("*.py")]
    kernels = [_read_cython(p.read_text(), ["kinlearn"]) for p in SOURCE.rglob("*.pyx")]
    assert any(use.name == "numpy" for uses in modules for use in uses)
    assert any("kinlearn._kernels" in use.name for uses in kernels for use in uses)


def _plant(root: Path, where: str, source: str) -> list[str]:
    path = root / "kinlearn" / where
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source, encoding="utf-8")
    return violations(root / "kinlearn")


@pytest.mark.parametrize(
    ("where", "source", "complaint"),
    [
        ("tasks/_a.py", "import kinlearn.metrics", "tasks may not import metrics"),
        ("tasks/_a.py", "from kinlearn import metrics", "tasks may not import metrics"),
        ("tasks/_a.py", "from ..metrics import x", "tasks may not import metrics"),
        ("tasks/_a.py", "from .. import metrics", "tasks may not import metrics"),
        ("utils/b/_a.py", "from ...tasks import x", "utils may not import tasks"),
        (
            "metrics/_a.py",
            "def f():\n    from kinlearn.report import x",
            "metrics/_a.py:2: metrics may not import report",
        ),
        (
            "trees/_a.py",
            "class A:\n    from kinlearn.svm import x",
            "trees may not import svm",
        ),
        (
            "metrics/_a.py",
            "from typing import TYPE_CHECKING\n"
            "if TYPE_CHECKING:\n    from kinlearn.audit import x",
            "metrics may not import audit",
        ),
        (
            "audit/_a.py",
            "from importlib import import_module\nx = import_module('kinlearn.cli')",
            "audit may not import cli",
        ),
        ("report/_a.py", "import kinlearn.dask", "report may not import dask"),
        ("sharing/_a.py", "import kinlearn.testing", "may not import testing"),
        ("sharing/_a.py", "from kinlearn._kernels import x", "may not import _kernels"),
        ("metrics/_a.py", "from kinlearn._kernels import x", "may not import _kernels"),
        ("metrics/_a.py", "from kinlearn import with_task", "that it lives in"),
        ("metrics/_a.py", "import kinlearn", "imports kinlearn; name the package"),
        ("cli/_a.py", "import kinlearn as k\nk.tasks._b.x()", "only use public names"),
        ("cli/_a.py", "from kinlearn.tasks._b import x", "only use public names"),
        ("cli/_a.py", "from kinlearn.dask import x", "cli may not import dask"),
        ("__init__.py", "from kinlearn import cli", "kinlearn may not import cli"),
        ("news/_a.py", "", "no layer 'news'"),
        ("tasks/_a.py", "from sklearn.utils._x import f", "private to scikit-learn"),
        ("tasks/_a.py", "from sklearn.base import _f", "private to scikit-learn"),
        ("tasks/_a.py", "from sklearn.callback import f", "not in every scikit-learn"),
        (
            "tasks/_a.py",
            "import sklearn\nsklearn.base._f()",
            "_a.py:2: sklearn.base",
        ),
        (
            "tasks/_a.py",
            "def f():\n    from sklearn import utils\n    return utils._x",
            "_a.py:3: sklearn.utils._x is private",
        ),
        ("tasks/_sklearn.py", "from sklearn.base import _f", "private to scikit-learn"),
        ("report/_a.py", "import matplotlib.pyplot as plt", "matplotlib is optional"),
        ("tasks/_a.py", "from pandas import DataFrame", "pandas is optional"),
        ("tasks/_a.py", "try:\n    import polars\nexcept E:\n    pass", "is optional"),
        ("tasks/_a.py", "class A:\n    import rich", "rich is optional"),
        (
            "report/_a.py",
            "from kinlearn.utils import import_optional\n"
            "p = import_optional('plotly', extra='report', purpose='Drawing')",
            "plotly is optional",
        ),
        ("_kernels/_a.pyx", "from sklearn.tree cimport _t", "a kernel imports sklearn"),
        (
            "_kernels/_a.pyx",
            "import scipy.sparse as s",
            "a kernel imports scipy.sparse",
        ),
        ("_kernels/a/_b.pxd", "from ...tasks cimport x", "may not import tasks"),
        (
            "_kernels/_a.pyx",
            '"""Text\nfrom here import this\n"""\nfrom kinlearn.utils import (\nx)',
            "_a.pyx:4: _kernels may not import utils",
        ),
        ("_kernels/_a.pyx", "cdef f():\n    import pandas", "a kernel imports pandas"),
    ],
)
def test_a_planted_violation_is_found(tmp_path, where, source, complaint):
    found = _plant(tmp_path, where, source)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("where", "source"),
    [
        ("tasks/_a.py", "from . import _b\nfrom ._b import x\nfrom ..utils import y"),
        ("tasks/_a.py", "from kinlearn import __version__\nimport sklearn.base"),
        ("tasks/_a.py", "from sklearn import __version__"),
        ("tasks/_a.py", "from kinlearn.utils._sklearn import validate_data"),
        ("utils/_sklearn.py", "from sklearn.utils._x import f"),
        ("report/_a.py", "def draw():\n    import matplotlib.pyplot as plt"),
        ("report/_a.py", "draw = lambda: import_optional('rich')"),
        (
            "tasks/_a.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import pandas",
        ),
        ("cli/__init__.py", "import rich, typer\nimport kinlearn.tasks"),
        ("dask/_a.py", "import dask.array as da\nfrom kinlearn.trees import x"),
        ("testing/_a.py", "import kinlearn\nkinlearn.with_task"),
        ("audit/_a.py", "from kinlearn.relatedness import x"),
        ("trees/_a.py", "from kinlearn._kernels.trees._b import f"),
        (
            "_kernels/a/_b.pyx",
            "# cython: language_level=3\nimport numpy as np\ncimport numpy as cnp\n"
            "from libc.math cimport sqrt, log  # why\nfrom .._typedefs cimport f64_t\n"
            "from scipy.linalg.cython_blas cimport dgemm\n"
            'cdef extern from "x.h" nogil:\n    pass',
        ),
    ],
)
def test_what_the_table_allows_is_not_complained_of(tmp_path, where, source):
    assert _plant(tmp_path, where, source) == []
