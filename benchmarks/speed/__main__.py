"""The command ``python -m benchmarks.speed [NAME ...]``."""

import sys
from pathlib import Path

import benchmarks.speed.cases  # noqa: F401 - declares the cases
from benchmarks.commandline import count, make_parser, print_line, with_one_line_errors
from benchmarks.environment import machine
from benchmarks.jsonlines import JsonLines
from benchmarks.speed.case import CASES
from benchmarks.speed.runner import run_case


def main(arguments=None):
    """Time the named cases, all if none is named; 1 if one could not be measured."""
    parser = make_parser("speed", "cases")
    parser.add_argument("--runs", type=count, default=3, help="fresh processes")
    parser.add_argument("--repeats", type=count, help="rounds in each process")
    return with_one_line_errors(_run, parser.parse_args(arguments))


def _run(options):
    cases = CASES.select(options.names)
    if options.list:
        for case in cases:
            print_line(f"{case.name:<24}{case.title}")
        return 0
    print_line(machine())
    with JsonLines(Path(options.results) / "speed.jsonl") as store:
        measured = [
            run_case(
                case,
                runs=options.runs,
                repeats=options.repeats,
                store=store,
                report=print_line,
            )
            for case in cases
        ]
    return 0 if all(measured) else 1


if __name__ == "__main__":
    sys.exit(main())
