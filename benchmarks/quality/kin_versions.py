"""Kin as it was and as it is, on the same splits.

    KINLEARN_DATA=... python -m benchmarks.quality.kin_versions --version NAME

fits Kin, in the version that is installed, to the first splits of landmine, school and
the `kin-*` protocols, with their scores, in one thread. Records are JSON lines under
that name; those that the file has are not made again. Then each version is compared
with the first: mean scores, on the splits that both have, and seconds.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.commandline import print_line
from benchmarks.environment import commit_of_source
from benchmarks.jsonlines import JsonLines
from benchmarks.problems import load
from benchmarks.quality.protocol import PROTOCOLS
from kinlearn import KinClassifier, KinRegressor

RECORDS = Path(__file__).parents[1] / "records" / "kin_candidates.jsonl"
_SPLITS = {"landmine-75": 30, "school-published": 10, "kin-mnist": 6, "kin-usps": 6}
_FIRST = 2  # splits of all other protocols


def play(protocol, split, effort):
    """Scores and seconds of one fit."""
    problem = load(protocol.problem)
    train, test = protocol.split(problem, split)
    numbers = problem.kind == "regression"
    estimator = KinRegressor if numbers else KinClassifier
    model = estimator(task=-1, random_state=split, effort=effort)
    start = time.process_time()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        model.fit(problem.X[train], problem.y[train])
        fitted = time.process_time()
        found = (model.predict if numbers else model.predict_proba)(problem.X[test])
    if found.ndim == 2 and found.shape[1] == 2:
        found = found[:, 1]
    y, task = problem.y[test], problem.X[test, -1]
    return {
        "scores": {m.name: m.score(y, found, task) for m in protocol.metrics},
        "processor_seconds": round(fitted - start, 3),
        "predict_seconds": round(time.process_time() - fitted, 3),
        "n_train": len(train),
        "n_test": len(test),
    }


def compare(records):
    """Lines: protocol, metric, version, splits, first version, this one, seconds."""
    runs = {(r["which"], r["protocol"], r["split"]): r for r in records}
    versions = list(dict.fromkeys(r["which"] for r in records))
    for protocol in dict.fromkeys(r["protocol"] for r in records):
        for version in versions[1:]:
            pairs = [
                (runs[versions[0], protocol, split], r)
                for (which, name, split), r in runs.items()
                if which == version and name == protocol
                if (versions[0], protocol, split) in runs
            ]
            if not pairs:
                continue
            seconds = np.mean(
                [[r["processor_seconds"] for r in pair] for pair in pairs], axis=0
            )
            for metric in pairs[0][1]["scores"]:
                scores = [[r["scores"][metric] for r in pair] for pair in pairs]
                yield (
                    protocol,
                    metric,
                    version,
                    len(pairs),
                    *np.mean(scores, axis=0),
                    *seconds,
                )


def main(argv=None):
    """Play what is missing, and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--version", help="name of the installed code; none: print")
    parser.add_argument("--effort", default="standard")
    parser.add_argument("--only", nargs="*", help="some of the protocols")
    parser.add_argument("--out", default=RECORDS, help="file of the records")
    args = parser.parse_args(argv)
    with JsonLines(args.out) as store:
        done = {(r["which"], r["protocol"], r["split"]) for r in store.records}
        names = list(dict.fromkeys(r["protocol"] for r in store.records))
        for name in (args.only or names) if args.version else ():
            for split in range(_SPLITS.get(name, _FIRST)):
                if (args.version, name, split) in done:
                    continue
                run = play(PROTOCOLS[name], split, args.effort)
                where = {"which": args.version, "protocol": name, "split": split}
                store.append({**where, "commit": commit_of_source(), **run})
        print_line("| protocol | metric | version | splits | first | now | s | now |")
        print_line("|" + " --- |" * 8)
        for line in compare(store.records):
            cells = "| {} | {} | {} | {} | {:.4f} | {:.4f} | {:.1f} | {:.1f} |"
            print_line(cells.format(*line))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
