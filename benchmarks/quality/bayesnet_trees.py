"""Trees that share on DS1 to DS3: ``python -m benchmarks.quality.bayesnet_trees``.

The thesis's made data, 30 data sets of each design, 5-fold cross-validation on each:
accuracy of a decision tree with purity 0.8 by the three criteria and for each task
alone, and differences with a 95% t interval over the data sets.
"""

import sys

import numpy as np
from scipy.stats import t as student
from sklearn.model_selection import cross_val_score

from kinlearn.datasets import make_bayesnet_tasks
from kinlearn.metrics import make_task_scorer
from kinlearn.model_selection import TaskStratifiedKFold
from kinlearn.sharing import PerTask
from kinlearn.trees import MultiTaskDecisionTreeClassifier

N_SETS = 30
CRITERIA = ("max", "joint", "sum")


def _accuracy(model, X, y, seed):
    folds = TaskStratifiedKFold(5, task=-1, shuffle=True, random_state=seed)
    by_task = make_task_scorer("accuracy", task=-1)
    return 100 * cross_val_score(model, X, y, cv=folds, scoring=by_task).mean()


def scores(design, seed):
    """Accuracy in percent of each tree on one data set.

    Parameters
    ----------
    design : str
        Such as ``"DS1"``.
    seed : int
        Of the data set and of its folds.

    Returns
    -------
    dict
        Name of the tree: accuracy.
    """
    X, y = make_bayesnet_tasks(design, random_state=seed)
    alone = MultiTaskDecisionTreeClassifier(purity=0.8, random_state=0)
    out = {"each task alone": _accuracy(PerTask(alone, task=-1), X, y, seed)}
    for criterion in CRITERIA:
        tree = MultiTaskDecisionTreeClassifier(
            task=-1, criterion=criterion, purity=0.8, random_state=0
        )
        out[criterion] = _accuracy(tree, X, y, seed)
    return out


def _interval(differences):
    half = student.ppf(0.975, len(differences) - 1) * differences.std(ddof=1)
    return f"{differences.mean():+.2f} ± {half / np.sqrt(len(differences)):.2f}"


def main():
    """Print a line for each design."""
    print("| design | each task alone | max less that | joint | sum | max less joint |")
    print("| --- | --- | --- | --- | --- | --- |")
    for design in ("DS1", "DS2", "DS3"):
        found = [scores(design, seed) for seed in range(N_SETS)]
        by_name = {name: np.array([f[name] for f in found]) for name in found[0]}
        alone = by_name["each task alone"]
        cells = [_interval(by_name[name] - alone) for name in CRITERIA]
        cells.append(_interval(by_name["max"] - by_name["joint"]))
        print(f"| {design} | {alone.mean():.1f} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
