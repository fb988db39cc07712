"""Does a useless source do harm? ``python -m benchmarks.quality.transfer_noise``.

Generated targets of several kinds, and a source of 1,000 rows: first with shuffled
labels, pure noise; then as it was made, near the target. The difference of balanced
accuracy to the target alone, on 1,000 target rows, mean and standard error over ten
draws. The target alone is boosted with the same rounds that vote. The default's
`target_share` was chosen on draws of seeds from 100 on, and on other newsgroups than
those of the protocols.

A record is one line of JSON: the difference of each setting on one draw. Records that
the file has are not made again.
"""

import sys
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from kinlearn.datasets import make_transfer_pair
from kinlearn.transfer import TrAdaBoostClassifier

RECORDS = Path(__file__).parents[1] / "records" / "transfer_noise.jsonl"
DESIGNS = tuple(product((20, 50, 200), (2, 5, 20), (1.0, 0.25)))
N_DRAWS = 10
# As the papers begin and vote.
PAPERS = {"target_share": None, "voters": "second_half"}
SETTINGS = {
    "default": {},
    "papers, none": {"correction": None, **PAPERS},
    "papers, dynamic": PAPERS,
    "papers, balanced": {"correction": "balanced", **PAPERS},
    "papers, dynamic, guard": {"guard": 5, **PAPERS},
    "rare": {"correction": "rare", "voters": "second_half"},
    "balanced": {"correction": "balanced"},
    "guard": {"guard": 5},
}


def differences(n_target, n_features, ratio, seed, *, noise):
    """What each setting gains by the source."""
    X, y = make_transfer_pair(
        1000,
        n_target + 1000,
        n_features=n_features,
        imbalance_ratio=ratio,
        shuffle=False,
        random_state=seed,
    )
    rng = np.random.default_rng(seed)
    source = np.flatnonzero(X[:, -1] == 0)
    shuffled = rng.permutation(y[source])
    if noise:
        y[source] = shuffled
    rows = rng.permutation(np.flatnonzero(X[:, -1] == 1))
    train, test = rows[:n_target], rows[n_target:]

    def score(rows, **setting):
        model = TrAdaBoostClassifier(task=-1, target=1, random_state=0, **setting)
        model.fit(X[rows], y[rows])
        return balanced_accuracy_score(y[test], model.predict(X[test]))

    # alone, by the rounds that vote with the source
    alone = {voters: score(train, voters=voters) for voters in ("all", "second_half")}
    everything = np.concatenate([source, train])
    return {
        name: score(everything, **setting) - alone[setting.get("voters", "all")]
        for name, setting in SETTINGS.items()
    }


def table(records, *, noise):
    """Rows of a table: means and standard errors by design, then means of these.

    Parameters
    ----------
    records : list of dict
        Of the file.
    noise : bool
        Of which source.

    Returns
    -------
    list of list of str
        The heading first.
    """
    rows = [["target rows", "features", "rare : common", *SETTINGS]]
    means = []
    for design in DESIGNS:
        drawn = [
            [record["differences"][name] for name in SETTINGS]
            for record in records
            if tuple(record["design"]) == design and record["noise"] is noise
        ]
        if not drawn:
            continue
        means.append(np.mean(drawn, axis=0))
        errors = np.std(drawn, axis=0, ddof=1) / np.sqrt(len(drawn))
        cells = [f"{m:+.3f} ± {e:.3f}" for m, e in zip(means[-1], errors, strict=True)]
        rows.append([*(f"{each:g}" for each in design), *cells])
    means = np.mean(means, axis=0)
    return [*rows, ["mean", "", "", *(f"{m:+.3f}" for m in means)]]


def main():
    """Fit what is missing, and print the two tables, in Markdown."""
    with JsonLines(RECORDS) as store:
        done = {(tuple(r["design"]), r["draw"], r["noise"]) for r in store.records}
        for noise, design, draw in product((True, False), DESIGNS, range(N_DRAWS)):
            if (design, draw, noise) in done:
                continue
            found = differences(*design, draw, noise=noise)
            key = {"design": design, "draw": draw, "noise": noise}
            store.append({**key, "differences": found})
        for noise in (True, False):
            print_line(f"A source {'of pure noise' if noise else 'near the target'}:\n")
            heading, *rows = table(store.records, noise=noise)
            for row in (heading, ["---"] * len(heading), *rows):
                print_line(f"| {' | '.join(row)} |")
            print_line("")
    return 0


if __name__ == "__main__":
    sys.exit(main())
