"""Problems, splits and contenders of the protocols of boosting over two-task stumps.

MNIST, each of some digits against the rest. `benchmarks.quality.protocols.abstaining`
quotes the thesis.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality.metrics import Metric
from benchmarks.quality.protocol import Contender

__all__ = ["CONTENDERS", "N_DRAWS", "ROUNDS", "SETS", "WAYS", "accuracies", "draw"]

# digits, training rows of each task, and of the task of zero
SETS = {
    5: ((6, 7, 8, 9, 0), 25, 150),
    7: ((4, 5, 6, 7, 8, 9, 0), 70, 210),
    10: ((1, 2, 3, 4, 5, 6, 7, 8, 9, 0), 100, 300),
}
# way: rows of the digit and of the rest, as parts of the printed number
WAYS = {"half": (1 / 2, 1 / 2), "third": (1 / 3, 2 / 3), "both": (1, 1), "random": None}
N_DRAWS = 5

# ------------------------------------------------------------------ the problems


def _digits(subset):
    data = kinlearn.datasets.fetch_mnist(subset=subset)
    return sp.csr_array(np.asarray(data.data, dtype=np.float32)), data.target


def _numbers(size, way):
    """Rows of the digit and of the rest; all of them as one number at random."""
    if WAYS[way] is None:
        return (size,)
    inside, outside = WAYS[way]
    rows = round((inside + outside) * size)
    return int(inside * size), rows - int(inside * size)


def _rows_of_task(y, digit, size, way, rng):
    numbers = _numbers(size, way)
    if len(numbers) == 1:
        return rng.choice(len(y), *numbers, replace=False)
    pools = np.flatnonzero(y == digit), np.flatnonzero(y != digit)
    return np.concatenate(
        [
            rng.choice(pool, n, replace=False)
            for pool, n in zip(pools, numbers, strict=True)
        ]
    )


def _mnist(n_tasks, way):
    """All training draws, one after another, then the test rows for each task."""
    digits, size, size_of_zero = SETS[n_tasks]
    X, y = _digits("train")
    keep = np.isin(y, digits)
    X, y = X[keep], np.asarray(y)[keep]
    blocks, labels, tasks = [], [], []
    for number in range(N_DRAWS):
        rng = np.random.default_rng(number)
        for task, digit in enumerate(digits):
            n_rows = size_of_zero if digit == 0 else size
            rows = _rows_of_task(y, digit, n_rows, way, rng)
            blocks.append(X[rows])
            labels.append(y[rows] == digit)
            tasks.append(np.full(len(rows), task))
    X, y = _digits("test")
    keep = np.isin(y, digits)
    X, y = X[keep], np.asarray(y)[keep]
    for task, digit in enumerate(digits):
        blocks.append(X)
        labels.append(y == digit)
        tasks.append(np.full(len(y), task))
    packed = kinlearn.with_task(sp.vstack(blocks, format="csr"), np.concatenate(tasks))
    return "classification", sp.csr_array(packed), np.concatenate(labels).astype(int)


for _n_tasks in SETS:
    for _way in WAYS:
        problem(f"boosting:mnist-{_n_tasks}-{_way}")(partial(_mnist, _n_tasks, _way))


def draw(problem, number, n_tasks, way):
    """Rows of one training draw, and all test rows."""
    digits, size, size_of_zero = SETS[n_tasks]
    n_train = sum(_numbers(size, way)) * (len(digits) - 1)
    n_train += sum(_numbers(size_of_zero, way))
    first = number * n_train
    return (
        np.arange(first, first + n_train),
        np.arange(N_DRAWS * n_train, len(problem.y)),
    )


def _accuracy(y, prediction, task, one=None):
    if one is not None:
        return 100 * np.mean((y == prediction)[task == one])
    return np.mean([_accuracy(y, prediction, task, t) for t in np.unique(task)])


def accuracies(n_tasks):
    """The mean accuracy of the tasks, and that of each."""
    return (
        Metric("accuracy", "accuracy %, mean of tasks", _accuracy, digits=2),
        *(
            Metric(f"digit {d}", f"{d}", partial(_accuracy, one=t), digits=2)
            for t, d in enumerate(SETS[n_tasks][0])
        ),
    )


# ---------------------------------------------------------------- the contenders


class _PerTask:
    """One model for each task, with equal weight for its classes."""

    def __init__(self, make):
        self.make = make

    def fit(self, X, y):
        task, X = _task_of(X), X[:, :-1]
        self.models = {}
        for t in np.unique(task):
            rows = np.flatnonzero(task == t)
            mean = y[rows].mean()
            weight = np.where(y[rows] == 1, 0.5 / mean, 0.5 / (1 - mean))
            self.models[t] = self.make().fit(X[rows], y[rows], sample_weight=weight)
        return self

    def predict(self, X):
        task, X = _task_of(X), X[:, :-1]
        out = np.empty(X.shape[0], dtype=int)
        for t, model in self.models.items():
            rows = np.flatnonzero(task == t)
            out[rows] = model.predict(X[rows])
        return out


def _task_of(X):
    return X[:, [-1]].toarray().ravel()


def adaboost(problem, seed, *, rounds):
    """scikit-learn's AdaBoost over stumps, task by task."""
    from sklearn.ensemble import AdaBoostClassifier

    return _PerTask(lambda: AdaBoostClassifier(n_estimators=rounds, random_state=0))


def ours(problem, seed, **params):
    """Boosting over two-task stumps."""
    from kinlearn.boosting import AbstainingAdaBoostClassifier

    return AbstainingAdaBoostClassifier(task=-1, random_state=seed, **params)


def ours_alone(problem, seed, **params):
    """The same, task by task: AdaBoost over two-level trees."""
    from kinlearn.boosting import AbstainingAdaBoostClassifier

    return _PerTask(lambda: AbstainingAdaBoostClassifier(random_state=seed, **params))


def _ours(name, make=ours, **params):
    params = {"init_weights": "task_class"} | params if make is ours else params
    return Contender(f"kinlearn {name}", make, params, kind="ours")


CONTENDERS = (
    Contender(
        "AdaBoost, 100 rounds", adaboost, {"rounds": 100}, packages=("scikit-learn",)
    ),
    _ours("MTAA, 500 rounds", n_estimators=500),
    _ours("MTAA of one level, 500 rounds", n_estimators=500, levels=1),
    _ours("two-level trees alone, 100 rounds", ours_alone, n_estimators=100),
    _ours("MH, 200 rounds, 5 roots", n_estimators=200, algorithm="mh", n_roots=5),
)
ROUNDS = (
    *(_ours(f"MTAA, {n} rounds", n_estimators=n) for n in (100, 200, 1000)),
    _ours(
        "MTAA, 200 rounds, 3 roots of each task",
        n_estimators=200,
        root="best_per_task",
        n_roots=3,
    ),
    _ours("MTAA, 200 rounds, 30 roots drawn", n_estimators=200, root="stochastic"),
    _ours("MTAA, 500 rounds, conservative", n_estimators=500, weighting="conservative"),
)
