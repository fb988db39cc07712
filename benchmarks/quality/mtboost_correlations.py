"""Which domains does MTBoost find alike? Table 3 of Zhang and Yeung 2012.

``KINLEARN_DATA=... python -m benchmarks.quality.mtboost_correlations``

"The mean task correlation matrix over 10 trials is shown in Table 3": the correlations
of the four domains of sentiment, on the draws of the protocol ``mtboost-sentiment``.
The paper's penalty is that of a search and is not printed, so some are played.

A record is one line of JSON: the correlations by one setting on one draw. Records that
the file has are not made again. Settings that change little have one draw.
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
PAIRS = (
    "books-dvd",
    "books-electronics",
    "books-kitchen",
    "dvd-electronics",
    "dvd-kitchen",
    "electronics-kitchen",
)
PUBLISHED = (0.6977, 0.6253, 0.6357, 0.6306, 0.6186, 0.7994)
_PRINTED = {**PRINTED, "base_penalty": 1e-3}
# setting: draws, parameters
SETTINGS = {
    "printed form, penalty 1": (10, _PRINTED),
    "defaults, penalty 0.01": (10, {"sharing_penalty": 0.01}),
    "printed form, penalty 0.01": (1, {**_PRINTED, "sharing_penalty": 0.01}),
    "defaults": (1, {}),
}


def correlations(problem, number, params):
    """Correlations of the pairs on one draw."""
    train, _ = fraction_of_each_class(problem, number)
    model = MTBoostClassifier(task=-1, random_state=number, **params)
    model.fit(problem.X[train], problem.y[train])
    upper = np.triu_indices(len(model.task_correlation_), 1)
    return np.round(model.task_correlation_[upper], 4).tolist()


def table(records):
    """A row for each setting: mean and deviation of each pair.

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
        found = np.array([r["correlations"] for r in records if r["setting"] == name])
        if not len(found):
            continue
        cells = [f"{mean:.2f}" for mean in found.mean(axis=0)]
        if len(found) > 1:
            deviations = found.std(axis=0, ddof=1)
            cells = [f"{c} ± {d:.2f}" for c, d in zip(cells, deviations, strict=True)]
        first = np.count_nonzero(found.argmax(axis=1) == len(PAIRS) - 1)
        rows.append([name, str(len(found)), *cells, str(first)])
    return rows


def main():
    """Fit what is missing, and print the table."""
    problem = load("mtboost:sentiment")
    with JsonLines(RECORDS) as store:
        done = {(record["setting"], record["draw"]) for record in store.records}
        for number in range(10):
            for name, (n_draws, params) in SETTINGS.items():
                if number < n_draws and (name, number) not in done:
                    record = {
                        "setting": name,
                        "draw": number,
                        "correlations": correlations(problem, number, params),
                        "commit": commit_of_source(),
                    }
                    store.append(record)
        heading, *rows = table(store.records)
    for row in (heading, ["---"] * len(heading), *rows):
        print_line(f"| {' | '.join(row)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
