"""A round of fuzzing: many cases, side by side, and what they found, as small files."""

import hashlib
import itertools
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.fuzz.pool import Child
from tests.fuzz.shrink import shrink
from tests.fuzz.trial import draw_case, estimators, signature

__all__ = ["FIXED", "KNOWN", "Round", "fuzz", "read_cases", "write_case"]

FIXED = Path(__file__).parent / "corpus"  # failed once, and must not again
KNOWN = Path(__file__).parent / "known"  # fails, and waits for somebody who mends it


@dataclass
class Round:
    """What a round did: how many cases, in which time, and what is wrong with some."""

    n_cases: int = 0
    seconds: float = 0.0
    n_known: int = 0  # cases whose fault is known
    found: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    def in_words(self) -> str:
        """One line on the round, and one on each new fault."""
        rate = self.n_cases / max(self.seconds, 1e-9)
        lines = [
            f"{self.n_cases} cases in {self.seconds:.0f} s ({rate * 8 * 3600:.0f} in "
            f"eight hours), {self.n_known} with faults that are known, "
            f"{len(self.found)} new faults"
        ]
        for name, case in sorted(self.found.items()):
            words = " ".join(case["found"]["words"].split())
            lines.append(f"  {' | '.join(name)} | {words[:160]}")
        return "\n".join(lines)


def read_cases(folder: Path) -> dict[str, dict[str, Any]]:
    """The cases of a folder, by the names of their files."""
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.json"))
    }


def write_case(case: dict[str, Any], folder: Path) -> Path:
    """Write a case into a folder, under a name that its content decides."""
    asked = {k: v for k, v in case.items() if k != "found"}
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest()
    name = case["estimator"].split("(")[0]
    kind = case["found"]["kind"].replace(" ", "_")
    path = folder / f"{name}-{kind}-{digest[:8]}.json"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(case, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    return path


def fuzz(
    *,
    n_cases: int | None = None,
    seconds: float | None = None,
    seed: int = 0,
    n_workers: int = 1,
    only: str = "",
    known: dict[str, dict[str, Any]] | None = None,
    environment: dict[str, str] | None = None,
    limit: float = 20,
    drawn_from: dict[str, Any] | None = None,
    tell: Callable[[str], object] = lambda words: None,
) -> Round:
    """Draw cases until there were enough, or until the time is over.

    Parameters
    ----------
    n_cases, seconds : int or float, optional
        Whatever comes first ends the round.
    seed : int
        The same seed draws the same cases.
    n_workers : int
        Processes side by side.
    only : str
        Part of the names of the estimators that are drawn.
    known : dict, optional
        Cases with faults that are known: counted, not reported.
    environment : dict, optional
        Variables of the processes.
    limit : float
        Seconds of processor time of one case.
    drawn_from : dict, optional
        Estimators by name; all public ones by default.
    tell : callable
        Told of each new fault, in a line.
    """
    hunt = _Hunt(
        choice={
            name: e for name, e in (drawn_from or estimators()).items() if only in name
        },
        of_old={signature(case, case["found"]) for case in (known or {}).values()},
        seed=seed,
        tell=tell,
    )
    start = time.monotonic()

    def work(_: int) -> None:
        with Child(limit, environment) as child:
            while (n_cases is None or hunt.result.n_cases < n_cases) and (
                seconds is None or time.monotonic() - start < seconds
            ):
                hunt.one_case(child)

    with ThreadPoolExecutor(n_workers) as pool:
        list(pool.map(work, range(n_workers)))
    hunt.result.seconds = time.monotonic() - start
    return hunt.result


@dataclass
class _Hunt:
    """What the threads of a round share."""

    choice: dict[str, Any]
    of_old: set[tuple[str, ...]]
    seed: int
    tell: Callable[[str], object]
    result: Round = field(default_factory=Round)
    lock: threading.Lock = field(default_factory=threading.Lock)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def one_case(self, child: Child) -> None:
        """Draw a case, carry it out, and make it small if it has a new fault."""
        with self.lock:
            number = next(self.numbers)
        case = draw_case(random.Random(f"{self.seed} {number}"), self.choice)
        finding = child.run(case)
        with self.lock:
            self.result.n_cases += 1
            if finding is None:
                return
            which = signature(case, finding)
            if which in self.of_old:
                self.result.n_known += 1
                return
            if which in self.result.found:
                return
            self.result.found[which] = case | {"found": finding}
        words = " ".join(finding["words"].split())
        self.tell(f"case {number}: {' | '.join(which)} | {words[:160]}")
        small = _shrunken(case, child, which)
        finding = child.run(small)
        if finding is not None and signature(small, finding) == which:
            self.result.found[which] = small | {"found": finding}


def _shrunken(
    case: dict[str, Any], child: Child, which: tuple[str, ...]
) -> dict[str, Any]:
    def still_fails(smaller: dict[str, Any]) -> bool:
        finding = child.run(smaller)
        return finding is not None and signature(smaller, finding) == which

    # a case that hangs takes its whole time, whenever it is tried
    return shrink(case, still_fails, 3 if which[1] == "hang" else 60)
