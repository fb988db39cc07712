"""When the code of a contender counts as changed."""

import sys

import pytest

from benchmarks.quality import runner
from benchmarks.quality.code import Sources, fingerprint
from benchmarks.quality.protocol import Contender

FACTOR = 2
FILES = {
    "__init__.py": "",
    "models/__init__.py": "from fingered.models._a import A\n"
    "from fingered.models._b import B\n",
    "models/_a.py": '"""Of a."""\nfrom fingered._help import helped\n'
    "from fingered._kernel import run\n\n"
    'class A:\n    """One."""\n    value = helped(1)\n',
    "models/_b.py": "class B:\n    value = 1\n",
    "_help.py": "def helped(x):\n    return x + 1\n",
    "_kernel.py": "run = 1\n",
}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A function that writes a file of a package and gives its sources."""

    def write(name=None, text=None):
        if name:
            (root / name).write_text(text)
        return Sources(tmp_path, "fingered")

    root = tmp_path / "fingered"
    (root / "models").mkdir(parents=True)
    for name, text in FILES.items():
        write(name, text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield write
    for name in [each for each in sys.modules if each.startswith("fingered")]:
        del sys.modules[name]


def scaled(x):
    return FACTOR * x


def other(x):
    return 3 * x


TABLE = {"scaled": scaled, "other": other}


def make_a(problem, seed, *, scale="scaled"):
    from fingered.models import A

    return A, TABLE[scale](seed)


def test_modules_count_with_what_they_import(package):
    before = fingerprint(make_a, {}, package())
    changed = fingerprint(
        make_a, {}, package("_help.py", "def helped(x):\n  return 3\n")
    )
    assert changed != before
    again = package("_help.py", FILES["_help.py"])
    assert fingerprint(make_a, {}, again) == before


def test_modules_that_are_not_imported_do_not_count(package):
    before = fingerprint(make_a, {}, package())
    after = fingerprint(
        make_a, {}, package("models/_b.py", "class B:\n    value = 2\n")
    )
    assert after == before


def test_words_do_not_count(package):
    before = fingerprint(make_a, {}, package())
    text = FILES["models/_a.py"].replace("Of a.", "Of another.").replace("One.", "Two.")
    after = fingerprint(make_a, {}, package("models/_a.py", f"# a remark\n\n{text}"))
    assert after == before


def test_kernels_count_by_their_source_without_remarks(package, tmp_path):
    fingerprint(make_a, {}, package())  # imports it
    (tmp_path / "fingered" / "_kernel.py").unlink()
    before = fingerprint(make_a, {}, package("_kernel.pyx", "cdef int run = 1\n"))
    remarked = package("_kernel.pyx", "# why\ncdef int run = 1\n\n")
    assert fingerprint(make_a, {}, remarked) == before
    changed = package("_kernel.pyx", "cdef int run = 2\n")
    assert fingerprint(make_a, {}, changed) != before
    cimports = "from fingered._vectors cimport add\ncdef int run = 1\n"
    package("_kernel.pyx", cimports)
    before = fingerprint(make_a, {}, package("_vectors.pxd", "cdef int add()\n"))
    assert fingerprint(make_a, {}, package("_vectors.pxd", "cdef add()\n")) != before


def test_functions_and_numbers_of_the_benchmarks_count(package, monkeypatch):
    before = fingerprint(make_a, {}, package())
    monkeypatch.setattr(f"{__name__}.FACTOR", 5)
    assert fingerprint(make_a, {}, package()) != before


def test_of_a_table_the_chosen_entry_counts_alone(package, monkeypatch):
    chosen = {"scale": "other"}
    before = fingerprint(make_a, chosen, package())
    monkeypatch.setattr(f"{__name__}.FACTOR", 5)
    assert fingerprint(make_a, chosen, package()) == before


def test_of_closures_what_they_hold_counts():
    def bound(value):
        return lambda problem, seed: value

    assert fingerprint(bound(1)) != fingerprint(bound(2))
    assert fingerprint(bound(1)) == fingerprint(bound(1))


def test_runs_of_other_code_are_done_again():
    class Toy:
        contenders = (Contender("a", make_nothing), Contender("b", make_nothing))

    runs = [
        runner.Run("toy", name, split, f"{name}{split}")
        for name in "ab"
        for split in range(2)
    ]
    now = fingerprint(make_nothing)
    done = {
        "a0": {"code": now},
        "a1": {"code": "of another day"},
        "b0": {},  # records from before there was a fingerprint are kept
    }
    assert [run.key for run in runner._changed(Toy, runs, done)] == ["a1"]


def make_nothing(problem, seed):
    raise NotImplementedError
