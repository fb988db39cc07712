"""Smaller cases with the same fault."""

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["shrink"]

_KEPT = {"random_state", "seed", "n_rows", "n_columns", "n_tasks"}  # or made smaller


def shrink(
    case: dict[str, Any],
    still_fails: Callable[[dict[str, Any]], bool],
    most_trials: int = 60,
) -> dict[str, Any]:
    """Leave out of a case what its fault does not need."""
    trials = 0
    changed = True
    while changed:
        changed = False
        for smaller in _smaller(case):
            trials += 1
            if trials > most_trials:
                return case
            if still_fails(smaller):
                case, changed = smaller, True
                break
    return case


def _smaller(case: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "then" in case:
        yield {k: v for k, v in case.items() if k != "then"}
    for part in ("params", "inputs"):
        names = [n for n in case[part] if n not in _KEPT]
        if len(names) > 3:  # half of them at once
            for some in (names[::2], names[1::2]):
                yield case | {
                    part: {k: v for k, v in case[part].items() if k not in some}
                }
        for name in names:
            yield case | {part: {k: v for k, v in case[part].items() if k != name}}
    n_rows = case["inputs"].get("n_rows", 30)
    for fewer in (3, 6, 12):
        if fewer < n_rows:
            yield case | {"inputs": case["inputs"] | {"n_rows": fewer}}
    if case["inputs"].get("n_columns", 3) > 1:
        yield case | {"inputs": case["inputs"] | {"n_columns": 1}}
    if case["inputs"].get("n_tasks", 3) > 2:
        yield case | {"inputs": case["inputs"] | {"n_tasks": 2}}
