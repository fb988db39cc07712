"""Which defaults? Settings of the gradient boosting over many problems.

    KINLEARN_DATA=... python -m benchmarks.quality.boosting_defaults "8 leaves"

fits the named settings (without names, all of ``SETTINGS``) and prints how they compare
with trees alone, on the same rows. The defaults are these with a line at the start,
where that promises less error; so have the settings that say it, and no others. Of
landmine, school and the real sets of the Kin protocols it only sees training rows of
the first splits, and holds a quarter of these out again; made tasks are drawn with
seeds that no protocol has. Every setting is read after several numbers of rounds
(``STAGES``) of one fit.

A record is one line of JSON: losses of one setting on one split, which are log loss,
one less AUC, and one less the mean AUC of tasks, or one less the explained variance.
Records that the file has are not made again. Those of settings that begin with "prior"
were made with another `PRIOR` in the kernel, and those of "earlier" with a prior of 0
and the defaults before it.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss, r2_score, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

import benchmarks.quality.kin  # noqa: F401 - declares the problems
from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.problems import load
from benchmarks.quality.kin_suite import KINDS, make_tasks
from benchmarks.quality.splits import first_fraction_of_each_task
from kinlearn import datasets
from kinlearn.boosting import (
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)

RECORDS = Path(__file__).parents[1] / "records" / "boosting_defaults.jsonl"
STAGES = (50, 75, 100, 150, 200, 300)
DEFAULT = "defaults"
TREES = "trees alone"
_FIRST_SEED = 1_000  # of made tasks; the protocols have those from 0

_EARLIER = {"min_samples_leaf": 20, "l2_regularization": 1.0, "max_features": 0.5}
_OTHERS = {
    TREES: {},
    "leaves of 20 rows, l2 1, half of the features": _EARLIER,
    "leaves of 20 rows": {"min_samples_leaf": 20},
    "l2 1": {"l2_regularization": 1.0},
    "half of the features": {"max_features": 0.5},
    "8 leaves": {"max_leaf_nodes": 8},
    "no task values": {"task_values": False},
    "no task splits": {"task_splits": False},
    "subsample 0.7": {"subsample": 0.7},
}
_WITH_LINE = {
    DEFAULT: {},
    "31 leaves of 5 rows, with a line": {"max_leaf_nodes": 31, "min_samples_leaf": 5},
    "24 leaves, with a line": {"max_leaf_nodes": 24},
}
SETTINGS = {
    **_WITH_LINE,
    **{name: {"linear_part": False, **each} for name, each in _OTHERS.items()},
}


def _inner(rows_of, name, number):
    """Training rows of a split, a quarter of each task held out again."""
    problem = load(name)
    train, _ = rows_of(problem, number)
    X, y = problem.X[train], problem.y[train]
    folds = StratifiedShuffleSplit(1, train_size=0.75, random_state=number)
    [(fit, held)] = folds.split(X, X[:, -1])
    return problem.kind, X[fit], y[fit], X[held], y[held]


def _published(problem, number):
    return problem.splits[number]


def _drawn(name, target, number):
    made = make_tasks(name, target, _FIRST_SEED + number, curved=True)
    return target, made.X, made.y, made.X_test, made.y_test


def _generated(target, make, number):
    X, y = make(random_state=_FIRST_SEED + number)[:2]
    folds = StratifiedShuffleSplit(1, train_size=0.6, random_state=number)
    [(fit, held)] = folds.split(X, X[:, -1])
    return target, X[fit], y[fit], X[held], y[held]


_half = partial(first_fraction_of_each_task, fraction=0.5)
# name: (rows of a split, number of splits)
PROBLEMS = {
    "landmine": (
        partial(
            _inner, partial(first_fraction_of_each_task, fraction=0.75), "landmine"
        ),
        6,
    ),
    "school": (partial(_inner, _published, "school"), 3),
    **{
        name: (partial(_inner, _half, f"kin:{name}"), n_splits)
        for name, n_splits in {
            "wine": 2,
            "wine-distinct": 2,
            "abalone": 3,
            "auto-mpg": 6,
            "heart": 24,
            "sentiment": 2,
            "usps": 4,
            "mnist": 4,
        }.items()
    },
    **{
        f"{name}, {target}": (partial(_drawn, name, target), 3)
        for name in KINDS
        for target in ("classification", "regression")
    },
    "clustered, classification": (
        partial(_generated, "classification", datasets.make_clustered_classification),
        3,
    ),
    "clustered, regression": (
        partial(_generated, "regression", datasets.make_clustered_regression),
        3,
    ),
}


def losses_of(kind, y, task, prediction):
    """Losses of predictions, by name."""
    if kind == "regression":
        return {"unexplained": 1 - r2_score(y, prediction)}
    p = prediction[:, 1]
    both = [t for t in np.unique(task) if 0 < y[task == t].mean() < 1]
    by_task = [roc_auc_score(y[task == t], p[task == t]) for t in both]
    return {
        "log_loss": log_loss(y, np.clip(p, 1e-6, 1 - 1e-6)),
        "auc": 1 - roc_auc_score(y, p),
        "task_auc": 1 - float(np.mean(by_task)),
    }


def run(setting, name, number):
    """Fit a setting to a split: losses after each stage, and seconds."""
    kind, X, y, X_held, y_held = PROBLEMS[name][0](number)
    estimator = MultiTaskGradientBoostingRegressor
    if kind == "classification":
        estimator = MultiTaskGradientBoostingClassifier
    options = {"n_estimators": max(STAGES), **SETTINGS[setting]}
    model = estimator(task=-1, random_state=number, unknown_task="share", **options)
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    stages = (
        model.staged_predict if kind == "regression" else model.staged_predict_proba
    )
    found = {}
    for n_rounds, prediction in enumerate(stages(X_held), start=1):
        if n_rounds in STAGES or n_rounds == model.n_estimators_:
            found[str(n_rounds)] = losses_of(kind, y_held, X_held[:, -1], prediction)
    return found, seconds


def compare(records, base=(TREES, "200"), names=tuple(PROBLEMS)):
    """Of each setting and stage: how it compares with the base.

    Parameters
    ----------
    records : list of dict
        As :func:`main` writes them.
    base : tuple of str
        Setting and stage to compare with.
    names : sequence of str
        The problems.

    Returns
    -------
    list of tuple
        Setting, stage, then over the problems the mean logarithm of the ratio of
        losses (in percent), its standard error, how many are better, and the mean
        rank; the best first.
    """
    by_run = {
        (r["setting"], stage, r["problem"], r["split"]): losses
        for r in records
        for stage, losses in r["losses"].items()
    }
    cells = {}
    for (setting, stage, problem, split), losses in by_run.items():
        if (*base, problem, split) in by_run:
            pair = [list(losses.values()), list(by_run[*base, problem, split].values())]
            cells.setdefault((setting, stage), {}).setdefault(problem, []).append(pair)
    full = {  # ratios of means over the splits, in the mean of the kinds of losses
        key: {
            problem: np.mean(np.log(np.divide(*np.mean(pairs, axis=0))))
            for problem, pairs in found.items()
        }
        for key, found in cells.items()
        if found.keys() == set(names)
    }
    table = np.array([[found[name] for name in names] for found in full.values()])
    ranks = table.argsort(axis=0).argsort(axis=0).mean(axis=1) + 1
    lines = [
        (
            *key,
            100 * row.mean(),
            100 * row.std(ddof=1) / np.sqrt(len(row)),
            int((row < 0).sum()),
            rank,
        )
        for key, row, rank in zip(full, table, ranks, strict=True)
    ]
    return sorted(lines, key=lambda line: line[2])


def main(argv=None):
    """Fit what is missing, and print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("settings", nargs="*", help="all, unless some are named")
    parser.add_argument("--out", default=RECORDS, help="file of the records")
    args = parser.parse_args(argv)
    with JsonLines(args.out) as store:
        done = {(r["setting"], r["problem"], r["split"]) for r in store.records}
        for setting in args.settings or SETTINGS:
            for problem, (_, n_splits) in PROBLEMS.items():
                for split in range(n_splits):
                    if (setting, problem, split) in done:
                        continue
                    losses, seconds = run(setting, problem, split)
                    store.append(
                        {
                            "setting": setting,
                            "problem": problem,
                            "split": split,
                            "losses": losses,
                            "seconds": round(seconds, 3),
                        }
                    )
        print_line("| setting | rounds | loss % | std. error | better | mean rank |")
        print_line("|" + " --- |" * 6)
        for line in compare(store.records):
            print_line("| {} | {} | {:+.2f} | {:.2f} | {} | {:.1f} |".format(*line))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
