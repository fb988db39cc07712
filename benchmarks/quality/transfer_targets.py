"""Does a source help a real target? ``python -m benchmarks.quality.transfer_targets``.

Areas under the ROC curve and accuracies on target rows that were left out, of six real
targets: by default, as the papers begin and vote, and for the target alone, by ours and
by scikit-learn's AdaBoost. "noise" is the default with the labels of the source
shuffled.

A record is one line of JSON: the scores of all settings on one draw. Records that the
file has are not made again.
"""

import sys
import warnings
from pathlib import Path

import numpy as np
from sklearn.ensemble import AdaBoostClassifier
from sklearn.metrics import roc_auc_score

import benchmarks.quality.protocols  # noqa: F401 - declares the problems
from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.quality.statistics import corrected_interval
from benchmarks.quality.transfer import ROUNDS, draw
from benchmarks.quality.transfer_apart import load_once
from benchmarks.quality.transfer_noise import PAPERS
from kinlearn.exceptions import TaskFallbackWarning
from kinlearn.transfer import TrAdaBoostClassifier

RECORDS = Path(__file__).parents[1] / "records" / "transfer_targets.jsonl"
# problem: rows of each class of the source, and of the target
TARGETS = {
    "news:rec-sci": ((1150, 1150), (23, 23)),
    "news:sci-talk": ((1150, 1150), (23, 23)),
    "news:rec-talk": ((1150, 1150), (23, 23)),
    "transfer:wine": ((None, None), (25, 25)),
    "transfer:abalone": ((None, None), (60, 20)),
    "transfer:employment": ((None, None), (45, 20)),
}
N_DRAWS = 10
BASELINE = "target alone"


def scores(name, number):
    """Area and accuracy of each setting on one draw.

    Parameters
    ----------
    name : str
        One of `TARGETS`.
    number : int
        Of the draw.

    Returns
    -------
    dict
        Setting: (area under the curve, accuracy).
    """
    data = load_once(name)
    train, test = draw(data, number, *TARGETS[name])
    own = train[data.task[train] == 1]
    source = train[data.task[train] == 0]
    noise = data.y.copy()
    noise[source] = np.random.default_rng(number).permutation(noise[source])
    out = {}

    def add(title, model, rows, features, y=data.y):
        model.fit(features[rows], y[rows])
        proba = model.predict_proba(features[test])[:, 1]
        accuracy = np.mean(model.predict(features[test]) == data.y[test])
        out[title] = roc_auc_score(data.y[test], proba), float(accuracy)

    def ours(**params):
        return TrAdaBoostClassifier(
            task=-1, target=1, n_estimators=ROUNDS, random_state=number, **params
        )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TaskFallbackWarning)
        boosted = AdaBoostClassifier(n_estimators=ROUNDS, random_state=number)
        add("AdaBoost, target alone", boosted, own, data.X[:, :-1])
        add(BASELINE, ours(), own, data.X)
        add("default", ours(), train, data.X)
        add("papers", ours(**PAPERS), train, data.X)
        add("noise", ours(), train, data.X, noise)
        add("papers, noise", ours(**PAPERS), train, data.X, noise)
    return out


def table(records, which=0):
    """Means of each target, with the differences of the default to the target alone.

    Parameters
    ----------
    records : list of dict
        Of the file.
    which : {0, 1}, default=0
        Areas or accuracies.

    Returns
    -------
    list of list of str
        The heading first.
    """
    names = list(records[0]["scores"])
    rows = [["target", "draws", *names, "default less target alone"]]
    for target in TARGETS:
        some = [r["scores"] for r in records if r["problem"] == target]
        if not some:
            continue
        means = [np.mean([s[name][which] for s in some]) for name in names]
        gain = [s["default"][which] - s[BASELINE][which] for s in some]
        found = corrected_interval(gain, 0.0)
        text = f"{found.mean:+.3f} [{found.low:+.3f}, {found.high:+.3f}]"
        row = [target.partition(":")[2], str(len(some)), *(f"{m:.3f}" for m in means)]
        rows.append([*row, f"**{text}**" if found.low * found.high > 0 else text])
    return rows


def main():
    """Fit what is missing, and print the two tables, in Markdown."""
    with JsonLines(RECORDS) as store:
        done = {(r["problem"], r["draw"]) for r in store.records}
        for name in TARGETS:
            for number in range(N_DRAWS):
                if (name, number) not in done:
                    key = {"problem": name, "draw": number}
                    store.append({**key, "scores": scores(name, number)})
        for which, title in enumerate(("Area under the curve", "Accuracy")):
            heading, *rows = table(store.records, which)
            print_line(f"{title}:\n")
            for row in (heading, ["---"] * len(heading), *rows):
                print_line(f"| {' | '.join(row)} |")
            print_line("")
    return 0


if __name__ == "__main__":
    sys.exit(main())
