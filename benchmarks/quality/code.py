"""A fingerprint of the code that a contender runs: its own, and what it imports.

Functions and classes of the benchmarks count one by one, modules of kinlearn whole,
with all that these import of kinlearn in turn, kernels as their Cython source.
Comments, docstrings and layout do not count: a record stays good when words change.
"""

import ast
import hashlib
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from types import CodeType, FunctionType, MappingProxyType, ModuleType

__all__ = ["Sources", "fingerprint"]

_EMPTY: Mapping = MappingProxyType({})
_SOURCE = Path(__file__).parents[2] / "src"
_CIMPORTED = re.compile(r"^\s*from\s+([\w.]+)\s+cimport\s+(\w+)", re.MULTILINE)


def _plain(tree):
    """What a tree of Python says, without docstrings."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            node.body = body[1:] or [ast.Pass()]
    return ast.dump(tree)


def _is_text(node):
    return isinstance(node, ast.Expr) and isinstance(
        getattr(node.value, "value", None), str
    )


class Sources:
    """The modules of a package as files, and what each imports of it.

    Parameters
    ----------
    root : path-like
        The folder above the package.
    package : str, default="kinlearn"
        Its name.
    """

    def __init__(self, root=_SOURCE, package="kinlearn"):
        self.root = Path(root)
        self.package = package
        self._trees, self._known = {}, {}

    def _file(self, module):
        base = self.root.joinpath(*module.split("."))
        options = (base / "__init__.py", base.with_suffix(".py"))
        options += (base.with_suffix(".pyx"), base.with_suffix(".pxd"))
        return next((path for path in options if path.is_file()), None)

    def _tree(self, path):
        if path not in self._trees:
            self._trees[path] = ast.parse(path.read_text(encoding="utf-8"))
        return self._trees[path]

    def home(self, module, name):
        """The module that defines a name which `module` exports."""
        if self._file(f"{module}.{name}"):
            return f"{module}.{name}"
        path = self._file(module)
        if path is None or path.name != "__init__.py":
            return module
        for node in self._tree(path).body:
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    if (alias.asname or alias.name) == name and node.module != module:
                        return self.home(node.module, alias.name)
        return module

    def _imports(self, module):
        path = self._file(module)
        if path.suffix in (".pyx", ".pxd"):
            found = _CIMPORTED.findall(path.read_text(encoding="utf-8"))
            pairs = [(where, name) for where, name in found]
        else:
            pairs = []
            for node in ast.walk(self._tree(path)):
                if isinstance(node, ast.ImportFrom) and node.module:
                    pairs += [(node.module, alias.name) for alias in node.names]
                elif isinstance(node, ast.Import):
                    pairs += [(alias.name, "") for alias in node.names]
        inside = f"{self.package}."
        return {
            self.home(where, name) if name else where
            for where, name in pairs
            if where.startswith(inside)
        }

    def _text(self, module):
        path = self._file(module)
        if path.suffix == ".py":
            return _plain(self._tree(path))
        text = path.read_text(encoding="utf-8")
        header = path.with_suffix(".pxd")
        text += header.read_text(encoding="utf-8") if header.is_file() else ""
        lines = (line.rstrip() for line in text.splitlines())
        return "\n".join(x for x in lines if x and not x.lstrip().startswith("#"))

    def closure(self, module):
        """The module and all that it imports of the package, by name, with a hash."""
        if module not in self._known:
            found, waiting = {}, [module]
            while waiting:
                name = waiting.pop()
                if name in found or self._file(name) is None:
                    continue
                text = self._text(name).encode()
                found[name] = hashlib.sha256(text).hexdigest()
                waiting += self._imports(name)
            self._known[module] = found
        return self._known[module]


class _Walk:
    """Collects what a function of the benchmarks refers to."""

    def __init__(self, sources, chosen=()):
        self.sources = sources
        self.chosen = chosen
        self.parts = {}
        self._seen = set()  # by identity: one definition has closures of many kinds

    def see(self, name, value):
        """Take up whatever a name stands for."""
        module = getattr(value, "__module__", None) or ""
        if isinstance(value, ModuleType):
            return  # its attributes are taken up where they are used
        if isinstance(value, partial):
            self.see(name, value.func)
            self.see(f"{name}()", [*value.args, value.keywords])
        elif module.startswith(f"{self.sources.package}."):
            self.parts.update(self.sources.closure(module))
        elif isinstance(value, FunctionType | type):
            if module.startswith(("benchmarks", "tests")):
                self._definition(value)
        elif isinstance(value, dict):
            chosen = {key: each for key, each in value.items() if key in self.chosen}
            for key, each in (chosen or value).items():
                self.see(f"{name}[{key!r}]", each)
        elif isinstance(value, tuple | list):
            for number, each in enumerate(value):
                self.see(f"{name}[{number}]", each)
        elif isinstance(value, str | int | float | frozenset):
            self.parts[f"value {name}"] = _digest(repr(value))

    def _definition(self, value):
        key = f"{value.__module__}.{value.__qualname__}"
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(value)))
        except (OSError, SyntaxError):  # a lambda within a line
            tree = None
        if tree is not None:
            self.parts[key] = _digest(_plain(tree))
            self._imports(tree)
        functions = [value] if isinstance(value, FunctionType) else _methods(value)
        for function in functions:
            if tree is None:
                self.parts[key] = _digest(repr(_constants(function.__code__)))
            names = function.__code__.co_freevars
            for name, cell in zip(names, function.__closure__ or (), strict=True):
                self._cell(f"{key}.{name}", cell)
            for name in _names(function.__code__):
                if name in function.__globals__:
                    self.see(name, function.__globals__[name])
        for base in getattr(value, "__bases__", ()):
            self.see(base.__name__, base)

    def _cell(self, name, cell):
        try:
            value = cell.cell_contents
        except ValueError:  # not filled yet
            return
        if not (isinstance(value, type) and name.endswith(".__class__")):
            self.see(name, value)

    def _imports(self, tree):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                if node.module.split(".")[0] in (self.sources.package, "benchmarks"):
                    module = import_module(node.module)
                    for alias in node.names:
                        self.see(alias.name, getattr(module, alias.name))
            elif isinstance(node, ast.Attribute):
                self._attribute(node)

    def _attribute(self, node):
        """``kinlearn.datasets.fetch_uci`` and the like."""
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if isinstance(node, ast.Name) and node.id == self.sources.package:
            value = import_module(self.sources.package)
            for name in reversed(names):
                value = getattr(value, name, None)
            self.see(".".join(names), value)


def _methods(cls):
    found = [getattr(each, "__func__", each) for each in vars(cls).values()]
    found += [each.fget for each in found if isinstance(each, property)]
    return [each for each in found if isinstance(each, FunctionType)]


def _names(code):
    """Global names that a piece of code, or one within it, uses."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            found.update(_names(constant))
    return sorted(found)


def _constants(code):
    inner = [
        _constants(each) if isinstance(each, CodeType) else repr(each)
        for each in code.co_consts
    ]
    return inner, code.co_names


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def fingerprint(
    make: Callable, params: Mapping = _EMPTY, sources: Sources | None = None
) -> str:
    """Short hash of the code behind a contender's `make`.

    Parameters
    ----------
    make : callable
        Of the benchmarks.
    params : mapping, default={}
        What it is called with: of a table of functions, only those count whose keys
        are among these values, if there are any.
    sources : Sources, default=None
        Where the package is; None is this repository.

    Returns
    -------
    str
        Twelve hexadecimal digits.
    """
    chosen = {value for value in params.values() if isinstance(value, str)}
    walk = _Walk(sources or _THIS, chosen)
    walk.see("make", make)
    parts = sorted(walk.parts.items())
    return _digest(repr(parts))[:12]


_THIS = Sources()
