"""What the two commands have in common."""

import argparse
import sys

from benchmarks.environment import RESULTS
from benchmarks.registry import BenchmarkError

__all__ = ["count", "make_parser", "print_line", "with_one_line_errors"]


def print_line(line):
    """Print at once, also into a pipe."""
    print(line, flush=True)


def count(text):
    """Argument type: a whole number from 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def make_parser(area, what):
    """Parser with the arguments of both commands."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{area}")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{what} or patterns")
    parser.add_argument("--list", action="store_true", help=f"show the {what} and stop")
    parser.add_argument("--results", default=RESULTS, help="folder for the records")
    return parser


def with_one_line_errors(command, options):
    """Exit code of a command: its own, 2 for a wrong call, 130 for Ctrl-C."""
    try:
        return command(options)
    except BenchmarkError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped; what was finished is kept.", file=sys.stderr)
        return 130
