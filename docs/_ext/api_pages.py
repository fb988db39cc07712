"""A page for each public module and each of its names, written from ``__all__``.

A package that joins kinlearn gets its pages without an edit here.
"""

import inspect
import re
from pathlib import Path

import kinlearn
from tests.surface import own_members, public_modules

HEADINGS = (
    ("Classes", inspect.isclass),
    ("Functions", inspect.isroutine),
)


# The parts of the documentation, and the modules that belong to them.
GROUPS = (
    ("Start", ("kinlearn",)),
    ("Your data", ("tasks", "tables", "datasets", "model_selection")),
    (
        "Models",
        ("sharing", "trees", "boosting", "transfer", "svm", "cluster", "persistence"),
    ),
    ("Compare and report", ("audit", "report", "metrics", "relatedness")),
    ("Beyond one machine", ("dask",)),
    ("For developers", ("exceptions", "testing")),
)

INDEX = """
Reference
=========

Everything that is public. Names that are not here may change without notice.
"""


def index_page(modules):
    """The modules by group, each with its names."""
    short = {module.__name__.removeprefix("kinlearn."): module for module in modules}
    groups = [(title, [n for n in names if n in short]) for title, names in GROUPS]
    grouped = {name for _, names in groups for name in names}
    groups.append(("More", [name for name in short if name not in grouped]))
    lines = [INDEX]
    for title, names in groups:
        if names:
            lines += _title(title, "-")
            lines += [".. list-table::", "   :widths: 22 78", ""]
            for name in names:
                lines += _module_row(short[name])
            lines += ["", ".. toctree::", "   :hidden:", f"   :caption: {title}", ""]
            lines += [f"   {short[name].__name__}" for name in names] + [""]
    return "\n".join(lines)


def _module_row(module):
    name = module.__name__
    summary = (inspect.getdoc(module) or "").partition("\n")[0]
    links = [
        f":doc:`{each} <{name}.{each}>`"
        for each in sorted(module.__all__, key=str.lower)
        if callable(getattr(module, each))
    ]
    cell = [f"     - {summary}", "", f"       {', '.join(links)}"]
    return [f"   * - :mod:`{name}`", *cell]


def module_page(module):
    """The page of a module: its docstring, and a table of its names."""
    name = module.__name__
    lines = [*_title(name, "="), f".. automodule:: {name}", ""]
    for heading, belongs in HEADINGS:
        listed = [n for n in sorted(module.__all__) if belongs(getattr(module, n))]
        if listed:
            lines += _title(heading, "-")
            lines += [f".. currentmodule:: {name}", "", ".. autosummary::"]
            lines += ["   :toctree: .", "   :nosignatures:", ""]
            lines += [f"   {name}" for name in listed] + [""]
    return "\n".join(lines)


def object_page(module, name):
    """The page of a class, with the members that are ours, or of a function."""
    thing, full = getattr(module, name), f"{module.__name__}.{name}"
    kind = "class" if inspect.isclass(thing) else "function"
    # A class that kinlearn itself shows too is indexed there alone.
    again = kind == "class" and module is not kinlearn and name in kinlearn.__all__
    option = [":no-index:"] if again else []
    lines = [*_title(name, "="), f".. auto{kind}:: {full}"]
    lines += [f"   {each}" for each in option] + [""]
    members = list(own_members(thing)) if kind == "class" else []
    for member, value in members:
        role = "method" if inspect.isfunction(value) else "property"
        lines.append(f"   .. auto{role}:: {full}.{member}")
        lines += [f"      {each}" for each in option] + [""]
    lines += [f".. minigallery:: {full}", "   :add-heading: Examples that use it", ""]
    return "\n".join(lines)


def _title(text, line):
    return [text, line * len(text), ""]


def write_pages(app, config):
    """Write the pages, before Sphinx looks for its sources."""
    folder = Path(app.srcdir) / "api" / "generated"
    folder.mkdir(parents=True, exist_ok=True)
    pages = {"index": index_page(public_modules())}
    for module in public_modules():
        pages[module.__name__] = module_page(module)
        for name in module.__all__:
            if callable(getattr(module, name)):
                pages[f"{module.__name__}.{name}"] = object_page(module, name)
    for path in folder.glob("*.rst"):
        if path.stem not in pages:
            path.unlink()
    for name, text in pages.items():
        path = folder / f"{name}.rst"
        # An unchanged page keeps its time, so that Sphinx need not read it again.
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")


_CODE_OR_FITTED_NAME = re.compile(r"(`+[^`]*`+)|(?<![\w\\])([A-Za-z]\w*_)(?![\w`])")


def escape_fitted_names(app, what, name, obj, options, lines):
    """Keep ``tasks_`` outside of backquotes from being read as a link."""
    in_example = False
    for i, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and line.strip())
        if not in_example:
            lines[i] = _CODE_OR_FITTED_NAME.sub(
                lambda m: m[1] or f"{m[2][:-1]}\\_", line
            )


def setup(app):
    """Register with Sphinx."""
    app.connect("config-inited", write_pages)
    app.connect("autodoc-process-docstring", escape_fitted_names, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
