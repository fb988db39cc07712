"""Does a useless source do harm? ``python -m benchmarks.quality.transfer_noise``.

Generated targets of several kinds, and a source of 1,000 rows: first with shuffled
labels, pure noise; then as it was made, near the target. The difference of balanced
accuracy to the target alone, on 1,000 target rows, mean and standard error over ten
draws. The target alone is boosted with the same rounds that vote. The default's
`target_share` was chosen on draws of seeds from 100 on, and on other newsgroups than
those of the protocols.
"""

import sys
from itertools import product

import numpy as np
from sklearn.metrics import balanced_accuracy_score

from kinlearn.datasets import make_transfer_pair
from kinlearn.transfer import TrAdaBoostClassifier

# As the papers begin and vote.
PAPERS = {"target_share": None, "voters": "second_half"}
SETTINGS = {
    "default": {},
    "papers, none": {"correction": None, **PAPERS},
    "papers, dynamic": PAPERS,
    "papers, balanced": {"correction": "balanced", **PAPERS},
    "papers, dynamic, guard": {"guard": 5, **PAPERS},
    "rare": {"correction": "rare"},
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
    return [
        score(everything, **setting) - alone[setting.get("voters", "all")]
        for setting in SETTINGS.values()
    ]


def _table(*, noise):
    print("| target rows | features | rare : common |", " | ".join(SETTINGS), "|")
    print("| --- " * (3 + len(SETTINGS)) + "|")
    means = []
    for n_target, n_features, ratio in product((20, 50, 200), (2, 5, 20), (1.0, 0.25)):
        drawn = [
            differences(n_target, n_features, ratio, seed, noise=noise)
            for seed in range(10)
        ]
        means.append(np.mean(drawn, axis=0))
        errors = np.std(drawn, axis=0) / np.sqrt(len(drawn))
        cells = [f"{m:+.3f} ± {e:.3f}" for m, e in zip(means[-1], errors, strict=True)]
        print(f"| {n_target} | {n_features} | {ratio:g} |", " | ".join(cells), "|")
        sys.stdout.flush()
    cells = [f"{m:+.3f}" for m in np.mean(means, axis=0)]
    print("| mean | | |", " | ".join(cells), "|")


def main():
    """Print the two tables, in Markdown."""
    print("A source of pure noise:\n")
    _table(noise=True)
    print("\nA source near the target:\n")
    _table(noise=False)


if __name__ == "__main__":
    main()
