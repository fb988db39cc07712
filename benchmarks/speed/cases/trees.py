"""Extremely randomised trees against scikit-learn's.

One thread each, timed by the processor time of the process, so that other programs
on the machine disturb the figures less.
"""

from functools import partial
from time import process_time

import numpy as np

from benchmarks.problems import load
from benchmarks.speed.case import Bar, Seconds, Work, case

NEEDS = ("kinlearn.trees",)


def _cpu_time(call):
    """The call, answering with the processor time it took."""

    def timed():
        start = process_time()
        call()
        return Seconds(process_time() - start)

    return timed


def _rows(problem, one_hot=False):
    """Features as float32 without the task, or with a column for each task."""
    X = np.asarray(problem.X[:, :-1], dtype=np.float32)
    if not one_hot:
        return np.ascontiguousarray(X)
    tasks, codes = np.unique(problem.task, return_inverse=True)
    return np.hstack([X, np.eye(len(tasks), dtype=np.float32)[codes]])


def _forest(problem, n_trees, max_features, task_split_prob, **options):
    from kinlearn.trees import (
        MultiTaskExtraTreesClassifier,
        MultiTaskExtraTreesRegressor,
    )

    kind = {
        "classification": MultiTaskExtraTreesClassifier,
        "regression": MultiTaskExtraTreesRegressor,
    }[problem.kind]
    return kind(
        n_trees,
        task=-1,
        max_features=max_features,
        task_split_prob=task_split_prob,
        **{"min_samples_leaf": 1, "n_jobs": 1, "random_state": 0, **options},
    )


def _peer(problem, n_trees, max_features):
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = {"classification": ExtraTreesClassifier, "regression": ExtraTreesRegressor}
    return kind[problem.kind](
        n_trees, max_features=max_features, n_jobs=1, random_state=0
    )


def _fits(problem, n_trees, max_features, task_split_prob=0.0):
    """Both fit full-grown trees; without task splits the peer is not told the task.

    Both draw the same number of features for a node, though the columns of the
    tasks are among those that the peer draws from.
    """
    X = problem.X.astype(np.float32)
    X_peer = _rows(problem, one_hot=task_split_prob > 0)
    ours = _forest(problem, n_trees, max_features, task_split_prob)
    peer = _peer(problem, n_trees, max_features)
    return Work(
        ours=_cpu_time(partial(ours.fit, X, problem.y)),
        peers={"scikit-learn": _cpu_time(partial(peer.fit, X_peer, problem.y))},
    )


@case("extra-trees-small", bar=Bar(times_faster=3), needs=NEEDS, repeats=2)
def fit_small():
    """Extra trees against scikit-learn, 14,820 x 9, 500 trees, no task splits."""
    return _fits(load("landmine-like"), 500, 3)


@case("extra-trees-large", bar=Bar(times_faster=3), needs=NEEDS, repeats=2)
def fit_large():
    """Extra trees against scikit-learn, 100,000 x 50, 50 trees, no task splits."""
    problem = load("dense-classification", n_rows=100_000, n_features=50, n_tasks=29)
    return _fits(problem, 50, 7)


@case("extra-trees-29-tasks", bar=Bar(times_faster=5), needs=NEEDS, repeats=2)
def fit_29_tasks():
    """Extra trees against one-hot tasks, 14,820 x 9 in 29 tasks, 500 trees."""
    return _fits(load("landmine-like"), 500, 3, task_split_prob=0.25)


@case("extra-trees-1000-tasks", bar=Bar(times_faster=5), needs=NEEDS, repeats=2)
def fit_1000_tasks():
    """Extra trees against one-hot tasks, 100,000 x 50 in 1,000 tasks, 10 trees."""
    problem = load("many-tasks", n_rows=100_000, n_features=50, n_tasks=1_000)
    return _fits(problem, 10, 7, task_split_prob=0.25)


@case("extra-trees-regression", bar=Bar(times_faster=4), needs=NEEDS, repeats=2)
def fit_regression():
    """Extra trees against one-hot tasks, 15,362 x 27 in 139 tasks, 500 trees, K = 9."""
    return _fits(load("school-like"), 500, 9, task_split_prob=0.25)


@case(
    "extra-trees-predict",
    bar=Bar(times_as_long=1.0, seconds=0.2),  # 2 microseconds a row
    needs=NEEDS,
)
def predict():
    """Probabilities of 100,000 rows x 50 by 50 full-grown trees, no task splits."""
    problem = load("dense-classification", n_rows=100_000, n_features=50, n_tasks=29)
    X, X_peer = problem.X.astype(np.float32), _rows(problem)
    ours = _forest(problem, 50, 7, 0.0).fit(X, problem.y)
    peer = _peer(problem, 50, 7).fit(X_peer, problem.y)
    return Work(
        ours=_cpu_time(partial(ours.predict_proba, X)),
        peers={"scikit-learn": _cpu_time(partial(peer.predict_proba, X_peer))},
    )


def _million(n_rows, n_trees):
    problem = load("many-tasks", n_rows=n_rows, n_features=50, n_tasks=1_000)
    X = problem.X.astype(np.float32)
    forest = _forest(problem, n_trees, 7, 0.25, min_samples_leaf=10)
    return X, problem.y, forest


@case(
    "extra-trees-growth",
    bar=Bar(growth=1.15),
    needs=NEEDS,
    sizes=(10_000, 100_000, 1_000_000),
    repeats=2,
)
def fit_growing(n_rows):
    """Extra trees of 50 features and 1,000 tasks, 5 trees, by number of rows."""
    X, y, forest = _million(n_rows, 5)
    return Work(ours=_cpu_time(partial(forest.fit, X, y)))


@case(
    "extra-trees-memory",
    bar=Bar(memory_of_data=1.0),
    needs=NEEDS,
    memory=True,
    repeats=1,
)
def fit_million():
    """Extra trees, 1,000,000 x 50 in 1,000 tasks, 50 trees; data = X and the trees."""
    X, y, forest = _million(1_000_000, 50)
    two = _million(1_000_000, 2)[2].fit(X, y).forest_
    trees = 25 * sum(a.nbytes for a in vars(two).values() if a is not None)
    return Work(ours=_cpu_time(partial(forest.fit, X, y)), data_bytes=X.nbytes + trees)
