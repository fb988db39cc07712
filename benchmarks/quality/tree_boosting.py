"""Boosted trees by SAMME and by M1: ``python -m benchmarks.quality.tree_boosting``.

The thesis's made data, ten data sets of each design, and landmine if ``KINLEARN_DATA``
is set: accuracy in percent (mean of the tasks), log loss and rounds, in 5-fold
cross-validation. The learning rate and the form of the votes were chosen on sets of
seeds from 100 on.
"""

import os
import sys
import warnings

import numpy as np
from sklearn.metrics import log_loss

from kinlearn.boosting import AbstainingAdaBoostClassifier, MultiTaskAdaBoostClassifier
from kinlearn.datasets import fetch_landmine, make_bayesnet_tasks
from kinlearn.exceptions import KinlearnWarning
from kinlearn.model_selection import TaskStratifiedKFold

N_SETS = 10
MODELS = {
    "M1": MultiTaskAdaBoostClassifier(task=-1, algorithm="m1"),
    "SAMME": MultiTaskAdaBoostClassifier(task=-1),
    "SAMME, calibrated": MultiTaskAdaBoostClassifier(task=-1, calibration_folds=3),
    "stumps": AbstainingAdaBoostClassifier(task=-1),
    "stumps, calibrated": AbstainingAdaBoostClassifier(task=-1, calibration_folds=3),
}


def scores(model, X, y, seed):
    """Accuracy by task, log loss and rounds, means over the folds.

    Parameters
    ----------
    model : classifier
        What is fitted.
    X, y : ndarray
        Rows with the task in the last column, and labels from 0.
    seed : int
        Of the folds.

    Returns
    -------
    list of float
        Accuracy in percent, log loss, rounds.
    """
    found = []
    folds = TaskStratifiedKFold(5, task=-1, shuffle=True, random_state=seed)
    for train, test in folds.split(X, y):
        fitted = model.fit(X[train], y[train])
        right, task = fitted.predict(X[test]) == y[test], X[test, -1]
        accuracy = np.mean([right[task == t].mean() for t in np.unique(task)])
        proba = fitted.predict_proba(X[test])
        found.append(
            [
                100 * accuracy,
                log_loss(y[test], proba, labels=fitted.classes_),
                len(fitted.normalizers_),
            ]
        )
    return np.mean(found, axis=0)


def main():
    """Print a line for each set and model."""
    warnings.simplefilter("ignore", KinlearnWarning)
    print("| data | model | accuracy | log loss | rounds |")
    print("| --- | --- | --- | --- | --- |")
    sets = {
        name: [make_bayesnet_tasks(name, random_state=s) for s in range(N_SETS)]
        for name in ("DS1", "DS2", "DS3")
    }
    if os.environ.get("KINLEARN_DATA"):
        sets["landmine"] = [fetch_landmine(return_X_y=True)]
    for name, drawn in sets.items():
        for kind, model in MODELS.items():
            found = [scores(model, X, y, seed) for seed, (X, y) in enumerate(drawn)]
            accuracy, loss, rounds = np.mean(found, axis=0)
            print(f"| {name} | {kind} | {accuracy:.1f} | {loss:.2f} | {rounds:.0f} |")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
