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

``--record`` plays our own contenders and adds them to the records; nothing that is
there is played again unless its code changed.
"""

import argparse
import ast
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from inspect import signature
from itertools import product
from time import process_time

import numpy as np
from scipy.stats import rankdata

from benchmarks.commandline import count, print_line, with_one_line_errors
from benchmarks.environment import RECORDS, commit_of_source, now, versions
from benchmarks.jsonlines import JsonLines, read_records
from benchmarks.quality.code import fingerprint
from benchmarks.registry import BenchmarkError

__all__ = ["CONTENDERS", "REGIMES", "SETS", "load_set", "main", "ranks"]

REGIMES = {"rows": "splits", "groups": "group_splits"}
SETS = {
    "nlschools": "regression",
    "star": "regression",
    "males": "regression",
    "laborsupply": "regression",
    "hedonic": "regression",
    "fatality": "regression",
    "sleepstudy": "regression",
    "dietox": "regression",
    "grouseticks": "regression",
    "mathachieve": "regression",
    "exam": "regression",
    "radon": "regression",
    "verbagg": "classification",
    "ohio": "classification",
    "respiratory": "classification",
    "contraception": "classification",
}
PATH = RECORDS / "field.jsonl"


@dataclass(frozen=True)
class Set:
    """One set: features as numbers, the group's code last, and its fixed splits."""

    name: str
    kind: str
    X: np.ndarray
    y: np.ndarray
    splits: dict


def load_set(name):
    """A set of `fetch_multilevel` in the form that all estimators take."""
    from kinlearn.datasets import fetch_multilevel

    data = fetch_multilevel(name)
    columns = []
    for j, feature in enumerate(data.feature_names):
        values = data.data[:, j].astype(float)
        if feature in data.categories:
            n_levels = len(data.categories[feature])
            columns += [values == level for level in range(1, max(n_levels, 2))]
        else:
            columns.append(np.where(np.isnan(values), np.nanmedian(values), values))
    X = np.column_stack([*columns, data.data[:, -1]]).astype(float)
    splits = {regime: data[key] for regime, key in REGIMES.items()}
    return Set(name, SETS[name], X, np.asarray(data.target), splits)


# ------------------------------------------------------------- what is compared with


class _Grouped:
    """An estimator that gets the group as indicators, or not at all."""

    def __init__(self, model, group):
        self.model, self.group = model, group

    def _features(self, X):
        if self.group == "drop":
            return X[:, :-1]
        return np.column_stack([X[:, :-1], X[:, [-1]] == self.groups])

    def fit(self, X, y):
        self.groups = np.unique(X[:, -1])
        self.model.fit(self._features(X), y)
        return self

    def score_values(self, X):
        return _values(self.model, self._features(X))


def _values(model, X):
    if hasattr(model, "score_values"):
        return model.score_values(X)
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X))[:, 1]
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    return model.predict(X)


def linear(kind, seed, *, group):
    """Ridge or logistic regression, the penalty by cross-validation."""
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    if kind == "regression":
        model = RidgeCV(np.logspace(-2, 4, 13))
    else:
        grid = {"C": [0.001, 0.01, 0.1, 1.0, 10.0]}
        logistic = LogisticRegression(max_iter=2000)
        model = GridSearchCV(logistic, grid, cv=3, scoring="neg_log_loss")
    return _Grouped(make_pipeline(StandardScaler(), model), group)


def random_forest(kind, seed, *, group):
    """scikit-learn's random forest, leaves of five rows."""
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    cls = RandomForestRegressor if kind == "regression" else RandomForestClassifier
    model = cls(100, min_samples_leaf=5, random_state=seed)
    return model if group == "feature" else _Grouped(model, group)


def hist_boosting(kind, seed, *, group):
    """scikit-learn's boosting over histograms, stopped early."""
    from sklearn.ensemble import (
        HistGradientBoostingClassifier,
        HistGradientBoostingRegressor,
    )

    boosting = {
        "regression": HistGradientBoostingRegressor,
        "classification": HistGradientBoostingClassifier,
    }[kind]
    model = boosting(learning_rate=0.05, early_stopping=True, random_state=seed)
    return model if group == "feature" else _Grouped(model, group)


def mixed(kind, seed):
    """A mixed model with an intercept for each group."""
    from kinlearn.linear import MixedLinearRegressor, MixedLogisticClassifier

    if kind == "regression":
        return MixedLinearRegressor(task=-1, unknown_task="share")
    return MixedLogisticClassifier(task=-1, unknown_task="share")


def extra_trees(kind, seed):
    """Multi-task extra trees by default."""
    from kinlearn.trees import (
        MultiTaskExtraTreesClassifier,
        MultiTaskExtraTreesRegressor,
    )

    trees = {
        "regression": MultiTaskExtraTreesRegressor,
        "classification": MultiTaskExtraTreesClassifier,
    }[kind]
    return trees(task=-1, unknown_task="share", random_state=seed)


def gradient_boosting(kind, seed):
    """Multi-task gradient boosting by default."""
    from kinlearn.boosting import (
        MultiTaskGradientBoostingClassifier,
        MultiTaskGradientBoostingRegressor,
    )

    boosting = {
        "regression": MultiTaskGradientBoostingRegressor,
        "classification": MultiTaskGradientBoostingClassifier,
    }[kind]
    return boosting(task=-1, unknown_task="share", random_state=seed)


def kin(kind, seed):
    """The Kin estimators by default."""
    from kinlearn import KinClassifier, KinRegressor

    estimator = KinRegressor if kind == "regression" else KinClassifier
    return estimator(task=-1, unknown_task="share", random_state=seed)


@dataclass(frozen=True)
class Entry:
    """A contender: ``make(kind, seed, **params)`` gives an unfitted estimator."""

    name: str
    make: Callable
    params: dict


CONTENDERS = (
    Entry("linear, groups dropped", linear, {"group": "drop"}),
    Entry("linear, one-hot groups", linear, {"group": "one-hot"}),
    Entry("random forest, groups dropped", random_forest, {"group": "drop"}),
    Entry("random forest, one-hot groups", random_forest, {"group": "one-hot"}),
    Entry("histogram boosting, groups dropped", hist_boosting, {"group": "drop"}),
    Entry("histogram boosting, group a number", hist_boosting, {"group": "feature"}),
    Entry("kinlearn mixed model", mixed, {}),
    Entry("kinlearn extra trees", extra_trees, {}),
    Entry("kinlearn gradient boosting", gradient_boosting, {}),
    Entry("kinlearn Kin", kin, {}),
)

# -------------------------------------------------------------------------- playing


def _score(kind, y, values):
    from sklearn.metrics import r2_score, roc_auc_score

    return float((r2_score if kind == "regression" else roc_auc_score)(y, values))


def _play(data, regime, number, make):
    train, test = data.splits[regime][number]
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make(data.kind, number).fit(data.X[train], data.y[train])
        values = _values(model, data.X[test])
    seconds = process_time() - start
    return {
        "score": round(_score(data.kind, data.y[test], values), 6),
        "processor_seconds": round(seconds, 3),
    }


def _key(record):
    return record["set"], record["regime"], record["split"], record["contender"]


def _sets(patterns, kinds):
    names = [name for name in SETS if SETS[name] in kinds]
    unknown = [name for name in patterns if name not in SETS]
    if unknown:
        raise BenchmarkError(
            f"There is no set {unknown[0]!r}. Known: {', '.join(SETS)}."
        )
    for name in [each for each in names if not patterns or each in patterns]:
        try:
            yield load_set(name)
        except OSError as error:
            print_line(f"left out: {name}. {str(error).partition('. ')[0]}.")


def _record(options):
    """Play our contenders where they are not yet, or have other code."""
    chosen = [
        (entry, fingerprint(entry.make, entry.params))
        for entry in CONTENDERS
        if not options.contender or entry.name in options.contender
    ]
    with JsonLines(options.records) as store:
        done = {_key(record): record["code"] for record in store.records}
        for data in _sets(options.only, {"regression", "classification"}):
            for number, regime, (entry, code) in product(
                range(options.limit), REGIMES, chosen
            ):
                if done.get((data.name, regime, number, entry.name)) == code:
                    continue
                make = partial(entry.make, **entry.params)
                record = {
                    "set": data.name,
                    "regime": regime,
                    "split": number,
                    "contender": entry.name,
                    **_play(data, regime, number, make),
                    "code": code,
                    "commit": commit_of_source(),
                    "versions": versions(),
                    "when": now(),
                }
                store.append(record)
                print_line(f"{', '.join(map(str, _key(record)))}: {record['score']}")
    return 0


def ranks(records):
    """Mean score and rank of each contender of each regime and set.

    Parameters
    ----------
    records : list of dict
        With set, regime, split, contender and score; of two alike the later counts.

    Returns
    -------
    dict
        By regime: a dict of sets, each with a dict from contender to (mean, rank) on
        the splits that all its contenders have.
    """
    table = {}
    for record in {_key(record): record for record in records}.values():
        scores = table.setdefault(record["regime"], {}).setdefault(record["set"], {})
        scores.setdefault(record["contender"], {})[record["split"]] = record["score"]
    found = {}
    for regime, sets in table.items():
        for name, scores in sets.items():
            common = set.intersection(*(set(each) for each in scores.values()))
            if not common:
                continue
            means = {
                contender: float(np.mean([each[s] for s in common]))
                for contender, each in scores.items()
            }
            order = rankdata([-mean for mean in means.values()])
            found.setdefault(regime, {})[name] = {
                contender: (mean, float(rank))
                for (contender, mean), rank in zip(means.items(), order, strict=True)
            }
    return found


def _show(found, name=None):
    """One table for each regime, the contenders by their mean rank."""
    for regime in [each for each in REGIMES if each in found]:
        sets = found[regime]
        everywhere = set.intersection(*(set(scores) for scores in sets.values()))
        mean = {
            each: np.mean([scores[each][1] for scores in sets.values()])
            for each in everywhere
        }
        print_line(f"\n## {regime}\n")
        heading = ["contender", "mean rank", *sets]
        print_line(f"| {' | '.join(heading)} |")
        print_line("|" + " --- |" * len(heading))
        for contender in sorted(mean, key=mean.get):
            title = f"**{contender}**" if contender == name else contender
            cells = [f"{scores[contender][0]:.3f}" for scores in sets.values()]
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
        return model if group == "feature" else _Grouped(model, group)

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
    _show(ranks(others + played), options.estimator)
    return 0


def _run(options):
    if options.record:
        return _record(options)
    if options.estimator:
        return _compare(options)
    records = [r for r in read_records(options.records) if _wanted(r, options.only)]
    if not records:
        raise BenchmarkError(f"No records in {options.records}; --record makes some.")
    _show(ranks(records))
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
    # by its name: the functions of a script have another module, and no fingerprint
    sys.exit(import_module("benchmarks.field").main())
