"""Task values: what may stand in a task column, and its codes.

A column of any origin becomes either integers (int64, uint64 or bool) or an
object array of strings. Everything else is refused with the row at fault.
"""

from itertools import repeat
from typing import NoReturn

import numpy as np

from kinlearn.utils._values import MISSING_TYPES, are_missing, show_values

__all__ = [
    "are_missing",
    "encode_values",
    "lookup_values",
    "name_task",
    "show_values",
    "task_values",
]


def name_task(row: int, task: np.ndarray | None, tasks: np.ndarray | None) -> str:
    """Write the task of a row for a message: ``task 'b'``, or an empty string.

    `task` holds the codes of the rows; None, or too short, if the row's is not known.
    """
    if (
        task is None
        or tasks is None
        or len(tasks) < 2
        or row >= len(task)
        or task[row] < 0
    ):
        return ""
    return f"task {show_values(tasks[[task[row]]])}"


def _raise_missing(missing: np.ndarray, where: str) -> NoReturn:
    rows = np.flatnonzero(missing)
    raise ValueError(
        f"{where} is missing in {len(rows)} of {len(missing)} rows (first: row "
        f"{rows[0]}). Drop these rows, or give them a value of their own."
    )


def _from_floats(values: np.ndarray, where: str) -> np.ndarray:
    missing = np.isnan(values)
    if missing.any():
        _raise_missing(missing, where)
    # beyond this, neighbouring integers share one float and tasks would merge
    limit = 2.0 ** min(np.finfo(values.dtype).nmant + 1, 53)
    bad = ~(np.abs(values) <= limit) | (values != np.floor(values))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"{where} must hold integers or strings; found {values[row]!s} in row "
            f"{row} of a {values.dtype} column"
            + (
                f", where integers beyond {limit:.0f} are not exact. "
                if abs(values[row]) > limit
                else ". "
            )
            + "Is this the task column? Otherwise convert it to int or str."
        )
    return values.astype(np.int64)


def _from_objects(values: np.ndarray, where: str) -> np.ndarray:
    types = set(map(type, values))
    names = {t.__name__ for t in types}
    floats = any(issubclass(t, float | np.floating) for t in types)
    if floats or names & MISSING_TYPES:
        missing = are_missing(values)
        if missing.any():
            _raise_missing(missing, where)
    if all(issubclass(t, str) for t in types):
        return values
    numeric = (bool, np.bool_, int, np.integer, float, np.floating)
    odd = [t for t in types if not issubclass(t, (str, *numeric))]
    if odd:
        row = next(i for i, v in enumerate(values) if type(v) in odd)
        raise TypeError(
            f"{where} must hold integers or strings; found {values[row]!r} of type "
            f"{type(values[row]).__name__} in row {row}. Convert the column to int "
            "or str."
        )
    if any(issubclass(t, str) for t in types):
        text = next(i for i, v in enumerate(values) if isinstance(v, str))
        number = next(i for i, v in enumerate(values) if not isinstance(v, str))
        raise TypeError(
            f"{where} mixes strings and numbers ({values[text]!r} in row {text}, "
            f"{values[number]!r} in row {number}). Convert the column to str, or to "
            "int."
        )
    if all(issubclass(t, bool | np.bool_) for t in types):
        return values.astype(bool)
    try:
        if floats:
            return _from_floats(values.astype(np.float64), where)
        largest = max(values)
        return values.astype(np.uint64 if largest >= 2**63 else np.int64)
    except OverflowError as error:
        raise ValueError(
            f"{where} holds integers beyond 64 bits. Convert the column to str."
        ) from error


def task_values(raw: np.ndarray, where: str) -> np.ndarray:
    """Bring a raw task column into one of the two forms, or raise an error.

    `where` is how messages call it, such as ``"Task column 'school'"``.
    """
    kind = raw.dtype.kind
    if kind == "f":
        return _from_floats(raw, where)
    if kind == "b":
        return raw
    if kind == "i":
        return raw.astype(np.int64, copy=False)
    if kind == "u":
        wide = raw.dtype.itemsize == 8
        return raw.astype(np.uint64 if wide else np.int64, copy=False)
    if kind in "UT":
        return _from_objects(raw.astype(object), where)
    if kind == "O":
        return _from_objects(raw, where)
    raise TypeError(
        f"{where} must hold integers or strings; found dtype {raw.dtype}. "
        "Convert the column to int or str."
    )


def encode_values(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sorted distinct values, and the int32 code of each row.

    ``uniques[codes]`` equals `values`: numbers, or objects of one sortable kind.
    """
    if values.dtype.kind == "i" and len(values):
        low, high = int(values.min()), int(values.max())
        if high - low < 4 * len(values):
            # a table over the range takes the place of a sort: 10 times as fast
            offset = values.astype(np.int64, copy=False) - low
            present = np.zeros(high - low + 1, dtype=bool)
            present[offset] = True
            codes = (np.cumsum(present, dtype=np.int32) - 1)[offset]
            return (np.flatnonzero(present) + low).astype(values.dtype), codes
    if values.dtype != object:
        uniques, places = np.unique(values, return_inverse=True)
        return uniques, places.astype(np.int32)
    # Hashing is ten times as fast as sorting a million Python strings; map and
    # set keep the loop out of the interpreter.
    cells = values.tolist()
    uniques = np.empty(len(known := sorted(set(cells))), dtype=object)
    uniques[:] = known
    return uniques, _dict_codes(known, cells)


def _dict_codes(known: list, cells: list, default: int | None = None) -> np.ndarray:
    table = dict(zip(known, range(len(known)), strict=True))
    if default is None:
        codes = map(table.__getitem__, cells)
    else:
        codes = map(table.get, cells, repeat(default))
    return np.fromiter(codes, dtype=np.int32, count=len(cells))


def lookup_values(uniques: np.ndarray, values: np.ndarray, where: str) -> np.ndarray:
    """Codes of values among known ones, which ascend; -1 for those not among them."""
    if (uniques.dtype == object) != (values.dtype == object):
        kinds = {True: "strings", False: "integers"}
        raise TypeError(
            f"{where} holds {kinds[values.dtype == object]} but held "
            f"{kinds[uniques.dtype == object]} in fit. Convert it to the type that "
            "fit saw."
        )
    if values.dtype == object:
        return _dict_codes(uniques.tolist(), values.tolist(), default=-1)
    # int64 and uint64 have no common integer type: Python integers do
    if {uniques.dtype.kind, values.dtype.kind} == {"i", "u"}:
        uniques, values = uniques.astype(object), values.astype(object)
    place = np.searchsorted(uniques, values)
    place[place == len(uniques)] = 0
    return np.where(uniques[place] == values, place, -1).astype(np.int32)
