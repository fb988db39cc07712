"""``python -m tests.fuzz``: look for faults; ``--replay`` those that are known.

New faults are written as small files into ``tests/fuzz/known``. ``--replay`` carries
out what lies there, and moves what no longer fails to ``tests/fuzz/corpus``, which the
quick tests replay.
"""

import argparse
import os
import sys
from pathlib import Path

from tests.fuzz.pool import Child
from tests.fuzz.rounds import FIXED, KNOWN, fuzz, read_cases, write_case


def main() -> int:
    """Exit with 1 if there was something new, or if something fails again."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, help="how many")
    parser.add_argument("--seconds", type=float, help="for how long")
    parser.add_argument("--seed", type=int, help="of the draws; the time by default")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=float, default=20, help="seconds of a case")
    parser.add_argument("--only", default="", help="part of an estimator's name")
    parser.add_argument("--replay", action="store_true", help="what is known")
    parser.add_argument("--show", type=Path, help="carry out one file, and say it all")
    args = parser.parse_args()
    if args.show:
        return _show(args.show, args.limit)
    if args.replay:
        return _replay(args.limit)
    if args.seed is None:
        args.seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {args.seed}, {args.workers} processes", flush=True)
    result = fuzz(
        n_cases=args.cases,
        seconds=args.seconds,
        seed=args.seed,
        n_workers=args.workers,
        only=args.only,
        known=read_cases(KNOWN),
        limit=args.limit,
        tell=lambda words: print(words, flush=True),
    )
    print(result.in_words())
    for case in result.found.values():
        print(f"wrote {write_case(case, KNOWN).relative_to(Path.cwd())}")
    return bool(result.found)


def _show(path: Path, limit: float) -> int:
    cases = read_cases(path.parent)
    with Child(limit) as child:
        finding = child.run(cases[path.stem])
    print("nothing is wrong" if finding is None else "\n".join(finding.values()))
    return finding is not None


def _replay(limit: float) -> int:
    again = 0
    with Child(limit) as child:
        for name, case in read_cases(KNOWN).items():
            if child.run(case) is None:
                print(f"mended: {name}")
                (KNOWN / f"{name}.json").rename(FIXED / f"{name}.json")
        for name, case in read_cases(FIXED).items():
            if finding := child.run(case):
                print(f"fails again: {name}: {finding['words'][:200]}")
                again = 1
    return again


if __name__ == "__main__":
    sys.exit(main())
