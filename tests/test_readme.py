"""Code in README.md and the guides runs, and prints what the page says.

The Python blocks of a page run one after another in one namespace, in an empty
folder. A block marked ``output`` behind one holds what it prints. Where code
cannot run here (it needs a download, say), the line before it says so::

    <!-- not run: needs the school data -->

It must still be valid Python.
"""

import ast
import contextlib
import doctest
import io
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.versions import HAS_CALLBACKS

ROOT = Path(__file__).parents[1]
PARTS = ("start", "data", "models", "compare", "scale", "benchmarks")
PAGES = [
    ROOT / "README.md",
    ROOT / "docs" / "index.md",
    *(page for part in PARTS for page in sorted((ROOT / "docs" / part).glob("*.md"))),
]
# they fit many models, as a reader would
SLOW_PAGES = {
    "docs/compare/index.md",
    "docs/compare/report.md",
    "docs/scale/dask.md",
    "docs/start/tutorial.md",
}
LENIENT = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<excuse>[^\n]+?) -->\n)?"
    r"^(?P<fence>```+|~~~+)(?:\{code-block\} *)?(?P<language>\w*)[^\n]*\n"
    r"(?P<code>.*?)^(?P=fence)[ \t]*$",
    re.MULTILINE | re.DOTALL,
)


@dataclass
class Block:
    """A piece of code, where it stands, and what it must print (None: anything)."""

    code: str
    line: int
    excuse: str | None
    output: str | None = None


def python_blocks(text: str) -> list[Block]:
    """The Python blocks of a Markdown page, in order."""
    blocks: list[Block] = []
    for match in _BLOCK.finditer(text):
        language = match["language"].lower()
        if language in {"python", "py", "pycon", "python3"}:
            line = text.count("\n", 0, match.start("code")) + 1
            blocks.append(Block(match["code"], line, match["excuse"]))
        elif language == "output":
            blocks[-1].output = match["code"]
    return blocks


def run_page(text: str, name: str, compare: bool = True) -> None:
    """Run the blocks of a page; the first that fails raises."""
    namespace: dict = {"__name__": "__main__"}
    for block in python_blocks(text):
        if ">>> " in block.code:
            _run_prompts(block, namespace, name)
            continue
        # Blank lines in front, so that a traceback names the line of the page.
        source = "\n" * (block.line - 1) + block.code
        code = compile(ast.parse(source, name), name, "exec")
        if block.excuse:
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(code, namespace)
        if compare:
            _compare(block.output, printed.getvalue(), f"{name}:{block.line}")


def _run_prompts(block: Block, namespace: dict, name: str) -> None:
    test = doctest.DocTestParser().get_doctest(
        block.code, namespace, name, name, block.line - 1
    )
    if not block.excuse:
        runner = doctest.DebugRunner(optionflags=LENIENT, verbose=False)
        runner.run(test, clear_globs=False)
        namespace.update(test.globs)


def _compare(expected: str | None, printed: str, where: str) -> None:
    if expected is not None and not doctest.OutputChecker().check_output(
        expected, printed, LENIENT
    ):
        raise AssertionError(
            f"{where} prints\n{printed}\nbut the page says\n{expected}"
        )


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=name, marks=[pytest.mark.slow] * (name in SLOW_PAGES))
        for page in PAGES
        for name in [page.relative_to(ROOT).as_posix()]
    ],
)
def test_code_of_the_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "agg")
    # the pages show the numbers of newer versions; others differ in the last digit
    run_page(page.read_text(encoding="utf-8"), page.name, compare=HAS_CALLBACKS)
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


def test_blocks_of_a_page_share_names_and_are_compared():
    run_page("```python\na = 1\n```\ntext\n```python\nprint(a)\n```\n", "page")
    run_page("~~~python\nprint(1.25, 2)\n~~~\n```output\n1... 2\n```\n", "page")
    run_page("```pycon\n>>> b = 2\n```\n```python\nassert b == 2\n```\n", "page")
    run_page("```bash\nrm -rf nothing\n```\n", "page")
    run_page("```{code-block} python\na = 1\n```\n", "page")
    run_page("<!-- not run: it would fail -->\n```python\n1 / 0\n```\n", "page")


@pytest.mark.parametrize(
    ("page", "error"),
    [
        ("```python\n1 / 0\n```\n", ZeroDivisionError),
        ("```{code-block} python\n1 / 0\n```\n", ZeroDivisionError),
        ("```python\nprint(1)\n```\n```output\n2\n```\n", AssertionError),
        ("```pycon\n>>> 1 + 1\n3\n```\n", doctest.DocTestFailure),
        ("<!-- not run: broken -->\n```python\n1 +\n```\n", SyntaxError),
        ("<!-- not run: far away -->\n\n```python\n1 / 0\n```\n", ZeroDivisionError),
    ],
)
def test_faults_of_a_page_are_found(page, error):
    with pytest.raises(error):
        run_page(page, "page")


def test_a_traceback_names_the_line_of_the_page():
    with pytest.raises(ZeroDivisionError) as caught:
        run_page("# Title\n\n```python\na = 1\n1 / 0\n```\n", "page.md")
    place = caught.traceback[-1]
    assert (str(place.path), place.lineno + 1) == ("page.md", 5)
