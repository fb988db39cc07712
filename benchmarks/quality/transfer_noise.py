"""Does a source of pure noise do harm? ``python -m benchmarks.quality.transfer_noise``.

Generated targets of several kinds, and a source of 1,000 rows whose labels were
shuffled. The difference of balanced accuracy to the target alone, on 1,000 target
rows, mean and standard error over ten draws.
"""

import sys
from itertools import product

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from kinlearn.datasets import make_transfer_pair
from kinlearn.transfer import TrAdaBoostClassifier

SETTINGS = {
    "none": {"correction": None},
    "dynamic": {},
    "balanced": {"correction": "balanced"},
    "dynamic, all rounds": {"keep": "all"},
    "dynamic, full trees": {"trim": False},
}


def differences(n_target, n_features, ratio, seed):
    """What each setting gains by the noise."""
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
    y[source] = rng.permutation(y[source])
    rows = rng.permutation(np.flatnonzero(X[:, -1] == 1))
    train, test = rows[:n_target], rows[n_target:]

    def score(rows, **setting):
        model = TrAdaBoostClassifier(task=-1, target=1, **setting).fit(X[rows], y[rows])
        return balanced_accuracy_score(y[test], model.predict(X[test]))

    alone = score(train)
    everything = np.concatenate([source, train])
    return [score(everything, **setting) - alone for setting in SETTINGS.values()]


def main():
    """Print the table, in Markdown."""
    print("| target rows | features | rare : common |", " | ".join(SETTINGS), "|")
    print("| --- " * (3 + len(SETTINGS)) + "|")
    for n_target, n_features, ratio in product((20, 50, 200), (2, 5, 20), (1.0, 0.25)):
        drawn = [differences(n_target, n_features, ratio, seed) for seed in range(10)]
        cells = [
            f"{mean:+.3f} ± {error:.3f}"
            for mean, error in zip(
                np.mean(drawn, axis=0),
                np.std(drawn, axis=0) / np.sqrt(len(drawn)),
                strict=True,
            )
        ]
        print(f"| {n_target} | {n_features} | {ratio:g} |", " | ".join(cells), "|")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
