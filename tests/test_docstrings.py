"""numpydoc's rules on everything public, and a runnable example on each name."""

import dataclasses
import inspect

import pytest
from numpydoc.docscrape import NumpyDocString
from numpydoc.validate import ERROR_MSGS, validate

from tests.surface import own_members, public_objects

# Rules that are not enforced, with the reason. All others of numpydoc are.
NOT_ENFORCED = {
    "GL01": "summaries start on the line of the quotes, as in scikit-learn",
    "SS05": "summaries may start with a noun; the rule takes 'Rows' for a verb",
    "ES01": "a small function needs no second paragraph",
    "SA01": "a See Also section is not worth having for its own sake",
    "RT02": "results have names, so that the text can refer to them",
}


def _documented() -> dict[str, object]:
    """Dotted name -> class, function or member; each object once."""
    seen: set[int] = set()
    found: dict[str, object] = {}
    for name, thing in sorted(public_objects().items(), key=lambda item: len(item[0])):
        if callable(thing) and id(thing) not in seen:
            seen.add(id(thing))
            found[name] = thing
            if inspect.isclass(thing):
                found |= {f"{name}.{key}": value for key, value in own_members(thing)}
    return dict(sorted(found.items()))


def _record_fields(thing: object) -> set[str] | None:
    """Public fields of a dataclass or named tuple; None for anything else."""
    if dataclasses.is_dataclass(thing):
        names = {field.name for field in dataclasses.fields(thing)}
    elif inspect.isclass(thing) and issubclass(thing, tuple):
        names = set(thing._fields)
    else:
        return None
    return {name for name in names if not name.startswith("_")}


def _needs_example(thing: object) -> bool:
    """Methods share the example of their class; the others need one.

    A warning class has nothing to show, and a record that users get but do not
    make is shown by the function that makes it.
    """
    if inspect.isclass(thing):
        return not issubclass(thing, Exception) and _record_fields(thing) is None
    return inspect.isfunction(thing) and thing.__qualname__ == thing.__name__


def _faults(name: str, thing: object) -> list[str]:
    excused = set(NOT_ENFORCED)
    if not _needs_example(thing):
        excused.add("EX01")
    undocumented = []
    fields = _record_fields(thing)
    if fields is not None:  # they may be documented as attributes
        excused.add("PR01")
        text = NumpyDocString(inspect.getdoc(thing) or "")
        entries = [*text["Parameters"], *text["Attributes"]]
        known = {name for entry in entries for name in entry.name.split(", ")}
        undocumented = [f"field {name} not documented" for name in fields - known]
    errors = validate(name)["errors"]
    return [f"{c}: {text}" for c, text in errors if c not in excused] + undocumented


@pytest.mark.parametrize("name", _documented())
def test_docstring_keeps_numpydoc(name):
    faults = _faults(name, _documented()[name])
    assert not faults, f"{name}: " + "; ".join(faults)


def test_excused_rules_exist():
    assert set(NOT_ENFORCED) <= set(ERROR_MSGS)


def undocumented_sample(x):
    return x


def badly_documented_sample(x, y):
    """Add two numbers

    Parameters
    ----------
    x : int
        a number
    """
    return x + y


@dataclasses.dataclass
class RecordSample:
    """Two numbers.

    Attributes
    ----------
    x : int
        The first number.
    """

    x: int
    y: int


@pytest.mark.parametrize(
    ("sample", "faults"),
    [
        (undocumented_sample, {"GL08"}),
        (badly_documented_sample, {"SS03", "PR01", "PR08", "PR09", "RT01", "EX01"}),
        (RecordSample, {"field y not documented"}),
    ],
)
def test_faults_are_found(sample, faults):
    found = _faults(f"{__name__}.{sample.__name__}", sample)
    assert {fault.partition(":")[0] for fault in found} == faults
