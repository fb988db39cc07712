"""How does an estimator rank on data in small groups? ``python -m benchmarks.field``.

    python -m benchmarks.field sklearn.ensemble.ExtraTreesRegressor --group one-hot
    python -m benchmarks.field my_package.MyClassifier --set min_leaf=5 --only verbagg

plays any estimator of scikit-learn's kind on the multilevel sets of
`kinlearn.datasets.fetch_multilevel` that are in the data folder (or can be fetched) and
are of its kind, on fixed splits, and prints its rank among the contenders of
`benchmarks/records/field.jsonl`. Two regimes: *rows* trains on half of the rows of
each group, *groups* on three quarters of the groups, whole. Scores are R squared, or
the area under the ROC curve, of all test rows.

Features are numbers: texts become indicators, missing values the median of the column.
How an estimator gets the group is ``--group``: as the last column (``feature``), as
indicators (``one-hot``; new groups have none), or not at all (``drop``). One with a
parameter ``task`` gets the last column, and is told so.

``--record`` plays the contenders of `benchmarks.field.contenders` and adds them to the
records; nothing that is there is played again unless its code or the data changed. Sets
of fewer than 1,000 rows have ten splits, others five; ``--limit`` takes the first.
"""

import argparse
import ast
import resource
import sys
import warnings
from functools import partial
from importlib import import_module
from inspect import signature
from itertools import product
from time import process_time

import numpy as np

from benchmarks.commandline import count, print_line, with_one_line_errors
from benchmarks.environment import RECORDS, commit_of_source, now, versions
from benchmarks.field import contenders, sets
from benchmarks.field.contenders import Grouped, values_of
from benchmarks.field.outside import versions_of
from benchmarks.field.ranking import complete, key_of, ranks
from benchmarks.field.sets import REGIMES, SETS, splits_of
from benchmarks.jsonlines import JsonLines, read_records
from benchmarks.quality.code import fingerprint
from benchmarks.registry import BenchmarkError

__all__ = ["main"]

PATH = RECORDS / "field.jsonl"


def _score(kind, y, values):
    from sklearn.metrics import r2_score, roc_auc_score

    return float((r2_score if kind == "regression" else roc_auc_score)(y, values))


def _seconds():
    """Processor time of this process, and of programs that it called."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


def _play(data, regime, number, make):
    train, test = data.splits[regime][number]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(data.kind, number)  # its imports do not count
        start = _seconds()
        model = model.fit(data.X[train], data.y[train])
        values = values_of(model, data.X[test])
    seconds = _seconds() - start
    return {
        "score": round(_score(data.kind, data.y[test], values), 6),
        "processor_seconds": round(seconds, 3),
    }


def _sets(patterns, kinds):
    names = [name for name in SETS if SETS[name] in kinds]
    unknown = [name for name in patterns if name not in SETS]
    if unknown:
        raise BenchmarkError(
            f"There is no set {unknown[0]!r}. Known: {', '.join(SETS)}."
        )
    for name in [each for each in names if not patterns or each in patterns]:
        try:
            yield sets.load_set(name)
        except OSError as error:
            print_line(f"left out: {name}. {str(error).partition('. ')[0]}.")


def _chosen(names):
    """Contenders that are to be played and can be, with the hashes of their code."""
    known = [entry.name for entry in contenders.CONTENDERS]
    if unknown := [name for name in names if name not in known]:
        raise BenchmarkError(
            f"There is no contender {unknown[0]!r}. Known: {'; '.join(known)}."
        )
    for entry in contenders.CONTENDERS:
        if names and entry.name not in names:
            continue
        if lacking := entry.lacking():
            print_line(f"left out: {entry.name} needs {lacking}.")
            continue
        yield entry, fingerprint(entry.make, entry.params)


def _record(options):
    """Play our contenders where they are not yet, or have other code."""
    chosen = list(_chosen(options.contender))
    with JsonLines(options.records) as store:
        done = {
            key_of(record): (record["code"], record["data"])
            for record in store.records
            if "data" in record
        }
        for data in _sets(options.only, {"regression", "classification"}):
            n_splits = min(options.limit, splits_of(data))
            for number, regime, (entry, code) in product(
                range(n_splits), REGIMES, chosen
            ):
                run = data.name, regime, number, entry.name
                if done.get(run) == (code, data.code):
                    continue
                make = partial(entry.make, **entry.params)
                try:
                    played = _play(data, regime, number, make)
                except Exception as error:  # noqa: BLE001 - recorded, others go on
                    played = {"error": f"{type(error).__name__}: {error}"[:200]}
                record = {
                    "set": data.name,
                    "regime": regime,
                    "split": number,
                    "contender": entry.name,
                    **played,
                    "code": code,
                    "data": data.code,
                    "commit": commit_of_source(),
                    "versions": versions(entry.packages) | versions_of(entry.make),
                    "when": now(),
                }
                store.append(record)
                outcome = played.get("error") or played["score"]
                print_line(f"{', '.join(map(str, key_of(record)))}: {outcome}")
    return 0


def _show(found, name=None):
    """One table for each regime, the contenders by their mean rank."""
    for regime in [each for each in REGIMES if each in found]:
        of_sets = found[regime]
        everywhere = set.intersection(*(set(scores) for scores in of_sets.values()))
        mean = {
            each: np.mean([scores[each][1] for scores in of_sets.values()])
            for each in everywhere
        }
        print_line(f"\n## {regime}\n")
        heading = ["contender", "mean rank", *of_sets]
        print_line(f"| {' | '.join(heading)} |")
        print_line("|" + " --- |" * len(heading))
        for contender in sorted(mean, key=mean.get):
            title = f"**{contender}**" if contender == name else contender
            cells = [f"{scores[contender][0]:.3f}" for scores in of_sets.values()]
            row = [title, f"{mean[contender]:.1f}", *cells]
            print_line(f"| {' | '.join(row)} |")


def _estimator(path, settings, group):
    """A maker of the user's estimator, and the kind of its targets."""
    from sklearn.base import is_classifier

    module, _, name = path.rpartition(".")
    try:
        cls = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise BenchmarkError(
            f"{path!r} cannot be imported ({error}). Name it as package.module.Class."
        ) from error
    options = {}
    for setting in settings:
        key, given, value = setting.partition("=")
        if not given:
            raise BenchmarkError(f"--set takes NAME=VALUE; got {setting!r}.")
        try:
            options[key] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            options[key] = value
    known = signature(cls).parameters
    if "task" in known:
        options.setdefault("task", -1)

    def make(kind, seed):
        seeded = {"random_state": seed} if "random_state" in known else {}
        model = cls(**{**seeded, **options})
        return model if group == "feature" else Grouped(model, group)

    kind = "classification" if is_classifier(cls(**options)) else "regression"
    return make, kind


def _compare(options):
    """Play the user's estimator on the splits that are recorded, and show its rank."""
    make, kind = _estimator(options.estimator, options.set, options.group)
    records = read_records(options.records)
    splits = {(r["set"], r["regime"], r["split"]) for r in records}
    played = []
    for data in _sets(options.only, {kind}):
        for regime in REGIMES:
            for number in range(options.limit):
                if (data.name, regime, number) in splits:
                    found = _play(data, regime, number, make)
                    place = {"set": data.name, "regime": regime, "split": number}
                    played.append(place | {"contender": options.estimator} | found)
    if not played:
        raise BenchmarkError(
            f"Nothing to play: no set of {kind} with recorded contenders is in the "
            "data folder (KINLEARN_DATA)."
        )
    here = {(r["set"], r["regime"], r["split"]) for r in played}
    others = [r for r in records if (r["set"], r["regime"], r["split"]) in here]
    _show(ranks([*complete(others), *played]), options.estimator)
    return 0


def _run(options):
    if options.record:
        return _record(options)
    if options.estimator:
        return _compare(options)
    records = [r for r in read_records(options.records) if _wanted(r, options.only)]
    if not records:
        raise BenchmarkError(f"No records in {options.records}; --record makes some.")
    _show(ranks(complete(records)))
    return 0


def _wanted(record, names):
    return not names or record["set"] in names


def main(arguments=None):
    """Play an estimator, or show the contenders that are recorded; the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field")
    parser.add_argument("estimator", nargs="?", help="package.module.Class")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--only", action="append", default=[], help="these sets only")
    parser.add_argument("--limit", type=count, default=10, help="the first splits only")
    parser.add_argument(
        "--group", choices=("feature", "one-hot", "drop"), default="feature"
    )
    parser.add_argument("--record", action="store_true", help="play our contenders")
    parser.add_argument("--contender", action="append", default=[], help="these only")
    parser.add_argument("--records", default=PATH, help="file of the records")
    return with_one_line_errors(_run, parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
