"""Which defaults for counts, costs and quantiles? Settings over the problems of losses.

    KINLEARN_TABLES=... python -m benchmarks.quality.loss_defaults "8 leaves"

As `benchmarks.quality.boosting_defaults`, for the problems of
`benchmarks.quality.losses`: of the real tables it only sees training rows of the first
splits, and holds a quarter of each group out again; made tasks are drawn with seeds
that no protocol has. The loss is the deviance, or the mean pinball loss of three
quantiles.
"""

import argparse
import time
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.problems import load
from benchmarks.quality.boosting_defaults import DEFAULT, STAGES, TREES, compare
from benchmarks.quality.kin_suite import make_tasks
from benchmarks.quality.losses import (
    MADE,
    MADE_TARGETS,
    METRICS,
    QUANTILES,
    TABLES,
)
from benchmarks.quality.splits import first_fraction_of_each_task
from kinlearn.boosting import MultiTaskGradientBoostingRegressor

RECORDS = Path(__file__).parents[1] / "records" / "loss_defaults.jsonl"
_FIRST_SEED = 1_000  # of made tasks; the protocols have those from 0

_OTHERS = {
    TREES: {},
    "12 leaves": {"max_leaf_nodes": 12},
    "8 leaves": {"max_leaf_nodes": 8},
    "4 leaves": {"max_leaf_nodes": 4},
    "leaves of 20 rows": {"min_samples_leaf": 20},
    "l2 30": {"l2_regularization": 30.0},
    "half of the features": {"max_features": 0.5},
}
SETTINGS = {
    DEFAULT: {},
    **{name: {"linear_part": False, **each} for name, each in _OTHERS.items()},
}


def _inner(key, number):
    """Training rows of a split, a quarter of each group held out again."""
    _, fraction, _ = TABLES[key]
    problem = load(f"losses:{key}")
    train, _ = first_fraction_of_each_task(problem, number, fraction)
    X, y = problem.X[train], problem.y[train]
    order = np.random.default_rng(number).permutation(len(y))
    held = np.zeros(len(y), dtype=bool)
    for group in np.unique(X[:, -1]):
        rows = order[X[order, -1] == group]
        held[rows[: max(len(rows) // 4, int(len(rows) > 1))]] = True
    return X[~held], y[~held], X[held], y[held]


def _drawn(target, name, number):
    made = make_tasks(name, target, _FIRST_SEED + number, curved=True)
    return made.X, made.y, made.X_test, made.y_test


_SPLITS = {"poisson-stay": 4, "poisson-seizures": 8, "gamma-costs": 4}
_SPLITS |= {"gamma-fatalities": 6, "quantiles-mathematics": 1, "quantiles-wages": 1}
# name: (rows of a split, number of splits)
PROBLEMS = {
    **{key: (partial(_inner, key), _SPLITS.get(key, 2)) for key in TABLES},
    **{
        key: (partial(_drawn, MADE_TARGETS[loss], name), 3)
        for key, (loss, name) in MADE.items()
    },
}


def run(setting, name, number):
    """Fit a setting to a split: losses after each stage, and seconds."""
    X, y, X_held, y_held = PROBLEMS[name][0](number)
    loss = name.split("-", 1)[0]
    kinds = [{"loss": loss}]
    if loss == "quantiles":
        kinds = [{"loss": "quantile", "quantile": q} for q in QUANTILES]
    options = {"n_estimators": max(STAGES), **SETTINGS[setting]}
    seconds, found = 0.0, {str(stage): [] for stage in STAGES}
    for kind in kinds:
        model = MultiTaskGradientBoostingRegressor(
            task=-1, random_state=number, unknown_task="share", **kind, **options
        )
        start = time.process_time()
        model.fit(X, y)
        seconds += time.process_time() - start
        for n_rounds, prediction in enumerate(model.staged_predict(X_held), start=1):
            if n_rounds in STAGES:
                found[str(n_rounds)].append(prediction)
    metric = METRICS[loss][0]
    losses = {}
    for stage, columns in found.items():
        prediction = columns[0] if len(kinds) == 1 else np.column_stack(columns)
        value = metric.score(y_held, prediction, X_held[:, -1])
        losses[stage] = {metric.name: float(value)}
    return losses, seconds


def main(argv=None):
    """Fit what is missing, and print the comparison, for each kind of loss."""
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
                    record = {"setting": setting, "problem": problem, "split": split}
                    record |= {"losses": losses, "seconds": round(seconds, 3)}
                    store.append(record)
        for loss in METRICS:
            names = [name for name in PROBLEMS if name.startswith(loss)]
            some = [r for r in store.records if r["problem"] in names]
            print_line(f"| {loss} | rounds | loss % | std. error | better | rank |")
            print_line("|" + " --- |" * 6)
            for line in compare(some, names=names):
                print_line("| {} | {} | {:+.2f} | {:.2f} | {} | {:.1f} |".format(*line))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
