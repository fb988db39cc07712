"""What is each of Kin's candidates worth? Kin without it, on the same folds.

    KINLEARN_DATA=... python -m benchmarks.quality.kin_ablation

fits Kin to training rows of the problems of `benchmarks.quality.boosting_defaults`,
with all candidates of an effort, none dropped early. Then each candidate, and each set
of ``TOGETHER``, is left out: weights and calibration are learned anew in all folds but
one, and the loss (log loss, or squared error) is that of the last, as for
`seen_score_`. A loss of +1 means: without it, the loss is 1 % higher. Beside it stands
the fraction of the seconds that it took in folds.

``--penalties`` adds linear models under multi-task penalties, which are no candidates
of Kin's, and asks what Kin loses without them; on problems of at most 3,000 rows.

A record is one line of JSON, for one problem and split: the loss with all candidates,
the loss without each, and seconds. Records that the file has are not made again.
"""

import argparse
import time
import warnings
from pathlib import Path
from unittest.mock import patch

import numpy as np

from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.quality.boosting_defaults import PROBLEMS
from kinlearn import KinClassifier, KinRegressor
from kinlearn.linear import MultiTaskLinearClassifier, MultiTaskLinearRegressor
from kinlearn.sharing.kin import _base
from kinlearn.sharing.kin._candidates import Candidate, choose_candidates
from kinlearn.sharing.kin._combine import loss_of
from kinlearn.sharing.kin._trials import Trials

RECORDS = Path(__file__).parents[1] / "records" / "kin_ablation.jsonl"
_MOST_SPLITS = 2
PENALTIES = ("trace", "covariance", "shared_sparse")
_MOST_ROWS = 3_000  # with them
TOGETHER = {
    "all penalties": ("penalty",),
    "all forests": ("extra trees",),
    "all boosters": ("gradient boosting",),
    "all mixed models": ("mixed",),
    "all machines": ("support vector",),
    "all of like tasks": (", like tasks",),
    "all alone": (", alone",),
    "forests alone and of like tasks": ("extra trees, alone", "extra trees, like"),
    "boosters and forests of like tasks": ("boosting, like", "trees, like"),
    "boosters of like tasks, forests alone": ("boosting, like", "trees, alone"),
}


class _Watched:
    """Kin that keeps what its candidates did in the folds."""

    def _weigh(self, trials, *others):
        self.trials, self.done = trials, dict(trials.done)  # which it will forget
        super()._weigh(trials, *others)


class _Classifier(_Watched, KinClassifier):
    pass


class _Regressor(_Watched, KinRegressor):
    pass


def _loss(model, names):
    """Loss of the combination of some candidates, on rows that it did not see."""
    trials = model.trials
    held = np.flatnonzero(trials.fold >= 0)
    predictions = [model.done[name].predictions for name in names]
    raw = trials.train.evidence(predictions, held)
    seen = np.empty(raw.predictions.shape[1:])
    for f in range(int(trials.fold.max()) + 1):
        test = trials.fold[held] == f
        corrections = model._corrections_by(raw.only(~test))
        others, held_out = (
            raw.only(rows).corrected(corrections) for rows in (~test, test)
        )
        weights = others.by_task(others.crowd()).by_task
        seen[test] = held_out.mixed(weights[held_out.task])
    return loss_of(seen, raw.y, raw.weight)


def _with_penalties(kind, size, **options):
    """Kin's candidates, and those that are tried out."""
    model = (
        MultiTaskLinearClassifier
        if kind == "classification"
        else MultiTaskLinearRegressor
    )
    more = [
        Candidate(
            f"penalty, {penalty}",
            "shared",
            model(penalty=penalty, alpha="auto", task=-1, unknown_task="share"),
            scaled=True,
            for_unseen=False,
            may_fail=True,
        )
        for penalty in PENALTIES
    ]
    return choose_candidates(kind, size, **options) + more


def run(problem, split, effort, penalties=False):
    """The record of one problem; None if it has too many rows for the penalties."""
    kind, X, y, *_ = PROBLEMS[problem][0](split)
    if penalties and len(X) > _MOST_ROWS:
        return None
    estimator = _Classifier if kind == "classification" else _Regressor
    model = estimator(task=-1, random_state=split, effort=effort)
    start = time.process_time()
    with (
        patch.object(Trials, "_may_be_dropped", lambda *_: False),
        patch.object(
            _base,
            "choose_candidates",
            _with_penalties if penalties else choose_candidates,
        ),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        model.fit(X, y)
    seconds = time.process_time() - start
    names = list(model.done)
    groups = {name: [name] for name in names}
    groups |= {
        title: [name for name in names if any(part in name for part in parts)]
        for title, parts in TOGETHER.items()
    }
    without = {
        title: _loss(model, [name for name in names if name not in left_out])
        for title, left_out in groups.items()
        if 0 < len(left_out) < len(names)
    }
    return {
        "problem": problem,
        "split": split,
        "effort": f"{effort} and penalties" if penalties else effort,
        "rows": len(X),
        "seconds": round(seconds, 2),
        "by_candidate": {
            name: round(t.seconds["folds"], 3) for name, t in model.done.items()
        },
        "weight": {
            name: round(float(weight), 4)
            for name, weight in zip(names, model.weights_.mean(axis=0), strict=True)
        },
        "loss": _loss(model, names),
        "without": without,
    }


def table(records):
    """Lines of the table: what is left out, and what that does to the loss."""
    excess, spent, weight = {}, {}, {}
    for r in records:
        total = sum(r["by_candidate"].values())
        for name, loss in r["without"].items():
            by_problem = excess.setdefault(name, {})
            by_problem.setdefault(r["problem"], []).append(np.log(loss / r["loss"]))
        for name, seconds in r["by_candidate"].items():
            spent.setdefault(name, []).append(seconds / total)
            weight.setdefault(name, []).append(r["weight"][name])
    for name, found in sorted(excess.items()):
        values = 100 * np.array([np.mean(each) for each in found.values()])
        error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
        yield (
            name,
            len(values),
            values.mean(),
            error,
            values.max(),
            100 * np.mean(spent.get(name, np.nan)),
            100 * np.mean(weight.get(name, np.nan)),
        )


def main(argv=None):
    """Fit what is missing, and print the table of each effort."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--effort", default="standard")
    parser.add_argument("--penalties", action="store_true", help="try them out")
    parser.add_argument("--out", default=RECORDS, help="file of the records")
    args = parser.parse_args(argv)
    title = f"{args.effort} and penalties" if args.penalties else args.effort
    with JsonLines(args.out) as store:
        done = {(r["problem"], r["split"], r["effort"]) for r in store.records}
        for problem, (_, n_splits) in PROBLEMS.items():
            for split in range(1 if args.penalties else min(n_splits, _MOST_SPLITS)):
                if (problem, split, title) in done:
                    continue
                record = run(problem, split, args.effort, args.penalties)
                if record is not None:
                    store.append(record)
        records = [r for r in store.records if r["effort"] == title]
    head = ["left out", "problems", "loss %", "s.e.", "worst", "seconds %", "weight %"]
    print_line(f"| {' | '.join(head)} |")
    print_line("|" + " --- |" * len(head))
    for line in table(records):
        cells = "| {} | {} | {:+.2f} | {:.2f} | {:+.2f} | {:.0f} | {:.0f} |"
        print_line(cells.format(*line))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
