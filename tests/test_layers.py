"""The tree is the architecture: imports point one way.

``LAYERS`` is the table of the house style, as data. The checker reads every
source file (also the Cython ones), with lazy imports and imports for type
checkers, and names each line that breaks a rule:

1. a layer imports only the layers that the table allows;
2. a module or name with an underscore is private to its folder: files there and below
   may import it, others take what the folder's ``__init__.py`` exports;
3. the kernels of a folder are called by the package of the same name alone;
4. the folders and modules of a package do not import each other in a circle;
5. a folder has few files.
"""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.imports import SUFFIXES, Use, is_private, read_imports

SOURCE = Path(__file__).parents[1] / "src" / "kinlearn"

_TOOLS = {"exceptions", "utils"}
_TASKS = {"tables", "tasks", *_TOOLS}
_ESTIMATORS = {"trees", "linear", "svm", "cluster", "boosting", "transfer"}
# An estimator package may call kernels, bin features and score what it fits.
_FITTING = {"_binning", "_kernels", "_partitions", "metrics", *_TASKS}
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
    "_partitions": _TASKS,
    "_binning": {"_kernels", "_partitions", *_TASKS},
    "trees": _FITTING,
    "linear": _FITTING,
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
    "dask": {"_partitions", *_PUBLIC},
    "cli": _PUBLIC,
    "testing": _PUBLIC,
    "kinlearn": _PUBLIC,  # __init__.py: lazy names, and their types
}
# Only these may import the package itself, by its lazy names.
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

# In a folder, with its __init__.py: what can still be taken in at a glance.
MOST_FILES = 15

SKLEARN_DOOR = "utils/_sklearn.py"
CALLBACK_DOOR = "utils/_callbacks.py"  # newer than the oldest scikit-learn we take


def violations(root: Path) -> list[str]:
    """Every line below ``root`` (a folder named kinlearn) that breaks a rule."""
    found = []
    edges: dict[str, dict[str, set[str]]] = {}  # package -> child -> its siblings
    for path in source_files(root):
        where = path.relative_to(root).as_posix()
        layer = path.relative_to(root).parts[0].removesuffix(path.suffix)
        layer = "kinlearn" if layer == "__init__" else layer
        if layer not in LAYERS:
            found.append(f"{where}: no layer {layer!r} in the table of test_layers.py")
            continue
        package = ["kinlearn", *path.relative_to(root).parent.parts]
        for use in read_imports(path, package):
            rules = _judge(root, where, layer, package, use)
            found += [f"{where}:{use.line}: {why}" for why in rules]
            if use.at_import and path.stem != "__init__":
                _add_edge(edges, [*package, path.stem], use.name.split("."))
    return found + [
        f"{package}: {child} and {other} import each other, if by way of others"
        for package, siblings in sorted(edges.items())
        for child, other in _circles(siblings)
    ]


def source_files(root: Path) -> list[Path]:
    """All files with imports, in order."""
    return sorted(p for p in root.rglob("*") if p.suffix in SUFFIXES)


def _add_edge(edges: dict, importer: list[str], imported: list[str]) -> None:
    """Note which children of their common package import each other."""
    depth = 0
    while importer[depth] == imported[depth]:
        depth += 1
        if depth == min(len(importer), len(imported)):
            return
    if depth > 1:  # the layers themselves have a table
        siblings = edges.setdefault(".".join(importer[:depth]), {})
        siblings.setdefault(importer[depth], set()).add(imported[depth])


def _circles(siblings: dict[str, set[str]]) -> list[tuple[str, str]]:
    def reached(start: str) -> set[str]:
        seen: set[str] = set()
        todo = [start]
        while todo:
            new = siblings.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        return seen

    reach = {child: reached(child) for child in siblings}
    return [
        (a, b)
        for a in sorted(reach)
        for b in sorted(reach[a])
        if a < b
        if a in reach.get(b, ())
    ]


def _judge(
    root: Path, where: str, layer: str, package: list[str], use: Use
) -> Iterator[str]:
    top, *rest = use.name.split(".")
    if top == "kinlearn":
        yield from _judge_own(root, layer, package, use.name, rest)
    elif layer == "_kernels" and not f"{use.name}.".startswith(KERNEL_PACKAGES):
        yield f"a kernel imports {use.name}; it may know libc, numpy and scipy's BLAS"
    elif top == "sklearn" and any(map(is_private, rest)) and where != SKLEARN_DOOR:
        yield f"{use.name} is private to scikit-learn: bring it in by {SKLEARN_DOOR}"
    elif use.name.startswith("sklearn.callback") and where != CALLBACK_DOOR:
        yield f"{use.name} is not in every scikit-learn: bring it in by {CALLBACK_DOOR}"
    elif top in OPTIONAL and use.at_import and layer not in MAY_IMPORT_OPTIONAL:
        yield f"{top} is optional: import it inside the function that needs it"


def _judge_own(
    root: Path, layer: str, package: list[str], name: str, rest: list[str]
) -> Iterator[str]:
    to = rest[0] if rest else "kinlearn"
    if name == "kinlearn.__version__":
        return
    if to not in LAYERS or to == "kinlearn":
        if layer not in OUTERMOST:
            yield f"imports {name}; name the package that it lives in"
    elif to != layer and to not in LAYERS[layer]:
        yield f"{layer} may not import {to} ({name})"
    elif to == "_kernels" and layer != "_kernels":
        folder = _folders(root / "_kernels", rest[1:])
        if package[1 : len(folder) + 1] != folder:
            yield f"{name} is a kernel of {'.'.join(folder)}: call it there"
    elif to != "utils" or layer == "utils":
        yield from _judge_private(package, name)


def _judge_private(package: list[str], name: str) -> Iterator[str]:
    """A name with an underscore is for the files of its folder, and below it."""
    segments = name.split(".")
    for i in range(1, len(segments)):
        if is_private(segments[i]) and package[:i] != segments[:i]:
            home = ".".join(segments[:i])
            yield f"{name} is private to {home}: import what {home} exports"
            return
        if segments[i][:1].isupper():
            return  # what follows belongs to a class: protected, not private


def _folders(root: Path, segments: list[str]) -> list[str]:
    """The leading segments that are folders below ``root``."""
    folders: list[str] = []
    for segment in segments:
        if not root.joinpath(*folders, segment).is_dir():
            break
        folders.append(segment)
    return folders


def test_imports_keep_to_the_layers():
    assert violations(SOURCE) == []


def test_the_checker_reads_the_whole_package():
    # Guards against a moved tree, which would have nothing to complain of.
    modules = [read_imports(p, ["kinlearn"]) for p in SOURCE.rglob("*.py")]
    kernels = [read_imports(p, ["kinlearn"]) for p in SOURCE.rglob("*.pyx")]
    assert any(use.name == "numpy" for uses in modules for use in uses)
    assert any("kinlearn._kernels" in use.name for uses in kernels for use in uses)


def test_folders_are_small():
    sizes = {
        folder.relative_to(SOURCE).as_posix(): len(
            [p for p in folder.iterdir() if p.is_file() and p.suffix != ".pyc"]
        )
        for folder in [SOURCE, *(p for p in SOURCE.rglob("*") if p.is_dir())]
    }
    assert len(sizes) > 30
    assert {name: size for name, size in sizes.items() if size > MOST_FILES} == {}


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
        (
            "cli/_a.py",
            "import kinlearn as k\nk.tasks._b.x()",
            "is private to kinlearn.tasks",
        ),
        (
            "cli/_a.py",
            "from kinlearn.tasks._b import x",
            "is private to kinlearn.tasks",
        ),
        ("svm/_a.py", "from kinlearn.tasks import _b", "is private to kinlearn.tasks"),
        (
            "trees/b/_a.py",
            "from kinlearn.trees.c._d import x",
            "is private to kinlearn.trees.c",
        ),
        (
            "svm/_a.py",
            "from kinlearn.svm.solvers._b import x",
            "is private to kinlearn.svm.solvers",
        ),
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


@pytest.mark.parametrize("by", [[], ["c"]], ids=["direct", "by way of another"])
def test_folders_that_import_each_other_are_found(tmp_path, by):
    around = ["a", "b", *by, "a"]
    for folder, other in pairwise(around):
        found = _plant(
            tmp_path,
            f"trees/{folder}/_{folder}.py",
            f"from kinlearn.trees.{other} import x",
        )
    assert "kinlearn.trees: a and b import each other, if by way of others" in found
    lazy = "def f():\n    from kinlearn.trees.a import x"
    assert _plant(tmp_path, f"trees/{around[-2]}/_{around[-2]}.py", lazy) == []


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
