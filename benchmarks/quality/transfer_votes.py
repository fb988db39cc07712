"""Which rounds should vote? ``python -m benchmarks.quality.transfer_votes``.

The rule of ``voters="auto"`` was chosen here, on pairs of newsgroups that no protocol
has: 10, 25 or 50 rows of the target's rare class beside 500 common ones, twice as many
of the source. Each correction is played with either vote, and so is the target alone,
the control. Prints means of the G-mean, and the difference of each correction to
the better control, with standard errors over draws of all pairs.

A record is one line of JSON: scores of all settings on one draw. Records that the file
has are not made again.
"""

import sys
import warnings
from itertools import product
from pathlib import Path

import numpy as np

from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.quality.transfer import draw, gmean
from benchmarks.quality.transfer_apart import load_once
from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.transfer import TrAdaBoostClassifier

RECORDS = Path(__file__).parents[1] / "records" / "transfer_votes.jsonl"
PROBLEMS = tuple(f"apart:comp-{name}" for name in ("rec", "sci", "talk"))
RARE_ROWS = (10, 25, 50)
N_DRAWS = 10
CORRECTIONS = (None, "dynamic", "balanced", "rare", "rare_printed")
VOTERS = ("all", "second_half")


def scores(problem, n_rare, number):
    """G-mean of each setting on one draw; "alone" has no source.

    Parameters
    ----------
    problem : str
        One of `PROBLEMS`.
    n_rare : int
        Rows of the target's rare class.
    number : int
        Of the draw.

    Returns
    -------
    dict
        ``"correction, voters"`` : G-mean.
    """
    data = load_once(problem)
    train, test = draw(data, number, (1000, 2 * n_rare), (500, n_rare))
    own = train[data.task[train] == 1]
    out = {}
    for correction, voters in product((*CORRECTIONS, "alone"), VOTERS):
        alone = correction == "alone"
        rows = own if alone else train
        model = TrAdaBoostClassifier(
            task=-1,
            target=1,
            correction=None if alone else correction,
            voters=voters,
            random_state=number,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TaskFallbackWarning)
            model.fit(data.X[rows], data.y[rows])
        score = gmean(data.y[test], model.predict(data.X[test]))
        out[f"{correction or 'none'}, {voters}"] = score
    return out


def table(records):
    """A row for each setting: means by number of rare rows, then the difference."""
    names = list(records[0]["scores"])
    controls = [name for name in names if name.startswith("alone")]
    by_rare = [[r for r in records if r["rare"] == n] for n in RARE_ROWS]
    best = max(controls, key=lambda name: np.mean([r["scores"][name] for r in records]))
    rows = [["correction, voters", *(f"{n} rare" for n in RARE_ROWS), f"less {best}"]]
    for name in names:
        means = [np.mean([r["scores"][name] for r in some]) for some in by_rare]
        less = np.array([r["scores"][name] - r["scores"][best] for r in records])
        error = less.std(ddof=1) / np.sqrt(len(less))
        cell = "" if name == best else f"{less.mean():+.3f} ± {error:.3f}"
        rows.append([name, *(f"{mean:.3f}" for mean in means), cell])
    return rows


def main():
    """Fit what is missing, and print the table, in Markdown."""
    with JsonLines(RECORDS) as store:
        done = {(r["problem"], r["rare"], r["draw"]) for r in store.records}
        for number, name, n_rare in product(range(N_DRAWS), PROBLEMS, RARE_ROWS):
            if (name, n_rare, number) not in done:
                key = {"problem": name, "rare": n_rare, "draw": number}
                store.append({**key, "scores": scores(name, n_rare, number)})
        heading, *rows = table(store.records)
    for row in (heading, ["---"] * len(heading), *rows):
        print_line(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
