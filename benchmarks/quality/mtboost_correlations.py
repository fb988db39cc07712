"""Which domains does MTBoost find alike? Table 3 of Zhang and Yeung 2012.

``KINLEARN_DATA=... python -m benchmarks.quality.mtboost_correlations``

"The mean task correlation matrix over 10 trials is shown in Table 3": the correlations
of the four domains of sentiment, on the draws of the protocol ``mtboost-sentiment``.
The paper's penalty is that of a search and is not printed, so some are played.

A record is one line of JSON: the correlations of all settings on one draw. Records that
the file has are not made again.
"""

import sys
from pathlib import Path

import numpy as np

from benchmarks.commandline import print_line
from benchmarks.environment import commit_of_source
from benchmarks.jsonlines import JsonLines
from benchmarks.problems import load
from benchmarks.quality.mtboost import PRINTED, fraction_of_each_class
from kinlearn.boosting import MTBoostClassifier

RECORDS = Path(__file__).parents[1] / "records" / "mtboost_correlations.jsonl"
N_DRAWS = 10
PAIRS = (
    "books-dvd",
    "books-electronics",
    "books-kitchen",
    "dvd-electronics",
    "dvd-kitchen",
    "electronics-kitchen",
)
PUBLISHED = (0.6977, 0.6253, 0.6357, 0.6306, 0.6186, 0.7994)
SETTINGS = {
    "printed form, penalty 1": {**PRINTED, "base_penalty": 1e-3},
    "printed form, penalty 0.01": {
        **PRINTED,
        "base_penalty": 1e-3,
        "sharing_penalty": 0.01,
    },
    "defaults": {},
    "defaults, penalty 0.01": {"sharing_penalty": 0.01},
}


def correlations(problem, number):
    """Correlations of the pairs by each setting on one draw."""
    train, _ = fraction_of_each_class(problem, number)
    found = {}
    for name, params in SETTINGS.items():
        model = MTBoostClassifier(task=-1, random_state=number, **params)
        model.fit(problem.X[train], problem.y[train])
        upper = np.triu_indices(len(model.task_correlation_), 1)
        found[name] = np.round(model.task_correlation_[upper], 4).tolist()
    return found


def table(records):
    """A row for each setting: mean and deviation of each pair, and of the ranks.

    Parameters
    ----------
    records : list of dict
        Of the file.

    Returns
    -------
    list of list of str
        The heading first.
    """
    rows = [["setting", "draws", *PAIRS, "draws with electronics-kitchen first"]]
    rows.append(["published", "10", *(f"{r:.2f}" for r in PUBLISHED), ""])
    for name in SETTINGS:
        found = np.array([r["correlations"][name] for r in records])
        means, deviations = found.mean(axis=0), found.std(axis=0, ddof=1)
        cells = [f"{m:.2f} ± {d:.2f}" for m, d in zip(means, deviations, strict=True)]
        first = np.count_nonzero(found.argmax(axis=1) == len(PAIRS) - 1)
        rows.append([name, str(len(found)), *cells, str(first)])
    return rows


def main():
    """Fit what is missing, and print the table."""
    problem = load("mtboost:sentiment")
    with JsonLines(RECORDS) as store:
        done = {record["draw"] for record in store.records}
        for number in range(N_DRAWS):
            if number not in done:
                found = correlations(problem, number)
                record = {"draw": number, "correlations": found}
                store.append(record | {"commit": commit_of_source()})
        heading, *rows = table(store.records)
    for row in (heading, ["---"] * len(heading), *rows):
        print_line(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
