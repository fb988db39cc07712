"""What does ``MTBoost(penalties="auto")`` gain? The command is

    KINLEARN_DATA=... python -m benchmarks.quality.mtboost_penalties

It fits MTBoost with its default penalties, and with those that rows held out choose, to
draws of letters and of landmine, and to made tasks: of noise, alike and unlike ones.
Prints errors and log losses of other rows, what was chosen, and processor time as a
multiple of that of the default.

A record is one line of JSON: all settings on one draw. Records that the file has are
not made again.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.quality.mtboost import fraction_of_each_class
from benchmarks.quality.splits import first_fraction_of_each_task
from benchmarks.quality.transfer_apart import load_once
from kinlearn import with_task
from kinlearn.boosting import MTBoostClassifier

RECORDS = Path(__file__).parents[1] / "records" / "mtboost_penalties.jsonl"
SETTINGS = {"default": {}, "auto": {"penalties": "auto"}}
_MORE = {"auto, 200 rounds": {"penalties": "auto", "n_estimators": 200}}


def _letters(number):
    data = load_once("mtboost:letters")
    return data.X, data.y, *fraction_of_each_class(data, number)


def _landmine(number):
    data = load_once("landmine")
    return data.X, data.y, *first_fraction_of_each_task(data, number, 0.25)


def _made(number, *, noise, own):
    """Six tasks of 50 training rows and 20 features."""
    rng = np.random.default_rng(number)
    X, task = rng.standard_normal((1800, 20)), np.arange(1800) % 6
    rule = rng.standard_normal(20) + own * rng.standard_normal((6, 20))
    score = np.einsum("ij,ij->i", X, rule[task])
    score += noise * score.std() * rng.standard_normal(1800)
    rows = np.arange(1800)
    return with_task(X, task), (score > 0).astype(int), rows[:300], rows[300:]


# name: (draw, number of draws, settings)
PROBLEMS = {
    "letters": (_letters, 2, {**SETTINGS, **_MORE}),
    "made, mostly noise": (lambda k: _made(k, noise=4.0, own=0.3), 5, SETTINGS),
    "made, alike": (lambda k: _made(k, noise=0.5, own=0.2), 5, SETTINGS),
    "made, unlike": (lambda k: _made(k, noise=0.2, own=2.0), 5, SETTINGS),
    "landmine, 25%": (_landmine, 2, SETTINGS),
}


def run(X, y, train, test, seed, **params):
    """Error (mean of tasks), log loss, penalties and processor time of one fit."""
    model = MTBoostClassifier(task=-1, random_state=seed, **params)
    start = time.process_time()
    model.fit(X[train], y[train])
    seconds = time.process_time() - start
    proba, task = model.predict_proba(X[test]), X[test, -1]
    wrong = (proba[:, 1] > 0.5) != y[test]
    return {
        "error": float(np.mean([wrong[task == t].mean() for t in np.unique(task)])),
        "log_loss": log_loss(y[test], proba),
        "base": model.base_penalty_,
        "sharing": model.sharing_penalty_,
        "seconds": seconds,
    }


def table(records):
    """A row for each problem and setting.

    Parameters
    ----------
    records : list of dict
        Of the file.

    Returns
    -------
    list of list of str
        The heading first.
    """
    rows = [["problem", "penalties", "draws", "error", "log loss",
             "chosen (learner, sharing)", "time"]]  # fmt: skip
    for problem, (_, _, settings) in PROBLEMS.items():
        some = [r["scores"] for r in records if r["problem"] == problem]
        for name in settings if some else ():
            own = [s[name] for s in some]
            error, loss = (np.mean([r[k] for r in own]) for k in ("error", "log_loss"))
            pairs = dict.fromkeys(f"{r['base']:g}, {r['sharing']:.2g}" for r in own)
            times = [s[name]["seconds"] / s["default"]["seconds"] for s in some]
            rows.append([problem, name, str(len(own)), f"{error:.4f}", f"{loss:.4f}",
                         "; ".join(pairs), f"x {np.median(times):.1f}"])  # fmt: skip
    return rows


def main():
    """Fit what is missing, and print the table, in Markdown."""
    with JsonLines(RECORDS) as store:
        done = {(r["problem"], r["draw"]) for r in store.records}
        for problem, (draw, n_draws, settings) in PROBLEMS.items():
            for number in range(n_draws):
                if (problem, number) in done:
                    continue
                data = draw(number)
                found = {k: run(*data, number, **v) for k, v in settings.items()}
                store.append({"problem": problem, "draw": number, "scores": found})
        heading, *rows = table(store.records)
    for row in (heading, ["---"] * len(heading), *rows):
        print_line(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
