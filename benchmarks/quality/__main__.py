"""The command ``python -m benchmarks.quality NAME ...``."""

import sys
from fnmatch import fnmatchcase
from pathlib import Path

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.commandline import count, make_parser, print_line, with_one_line_errors
from benchmarks.jsonlines import JsonLines, read_records
from benchmarks.quality.protocol import PROTOCOLS
from benchmarks.quality.runner import finished, forget, plan, run_protocol
from benchmarks.quality.table import render
from benchmarks.registry import BenchmarkError


def main(arguments=None):
    """Run the named protocols and show their tables; the exit code."""
    parser = make_parser("quality", "protocols")
    parser.add_argument("--jobs", type=count, default=1, help="runs at a time")
    parser.add_argument("--limit", type=count, help="the first splits only")
    names = {"metavar": "CONTENDER", "action": "append"}
    parser.add_argument("--only", help="run these only; may be repeated", **names)
    parser.add_argument("--again", help="redo finished runs; may be repeated", **names)
    parser.add_argument("--seconds", type=count, help="processor time of a run")
    parser.add_argument("--table", action="store_true", help="show the table only")
    return with_one_line_errors(_run, parser.parse_args(arguments))


def _run(options):
    if options.list:
        for protocol in PROTOCOLS.select(options.names):
            print_line(f"{protocol.name:<24}{protocol.title}")
        return 0
    if not options.names:
        raise BenchmarkError(f"Name a protocol. Known: {', '.join(PROTOCOLS)}.")
    for protocol in PROTOCOLS.select(options.names):
        _run_and_show(protocol, options)
    return 0


def _run_and_show(protocol, options):
    runs = plan(protocol, min(options.limit or protocol.n_splits, protocol.n_splits))
    path = Path(options.results) / f"{protocol.name}.jsonl"
    if options.table:
        done = finished(read_records(path))
    else:
        with JsonLines(path) as store:
            if store.dropped_bytes:
                print_line(
                    f"dropped a half-written line of {store.dropped_bytes} bytes"
                )
            if options.again:
                forget(store, _of_contenders(protocol, runs, options.again))
            chosen = _of_contenders(protocol, runs, options.only or ["*"])
            run_protocol(
                protocol,
                chosen,
                store,
                jobs=options.jobs,
                seconds=options.seconds,
                report=print_line,
            )
            done = finished(store.records)
    table = render(protocol, runs, done)
    path.with_suffix(".md").write_text(table)
    print_line(f"\n{table}")


def _of_contenders(protocol, runs, patterns):
    names = [each.name for each in protocol.contenders]
    chosen = set()
    for pattern in patterns:
        found = {name for name in names if fnmatchcase(name, pattern)}
        if not found:
            raise BenchmarkError(
                f"{protocol.name} has no contender {pattern!r}. "
                f"Known: {', '.join(names)}."
            )
        chosen |= found
    return [run for run in runs if run.contender in chosen]


if __name__ == "__main__":
    sys.exit(main())
