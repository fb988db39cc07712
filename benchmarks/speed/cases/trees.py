"""Multi-task trees and forests against scikit-learn's.

One thread is timed by the processor time of the process, so that other programs on the
machine disturb the figures less; two threads by the clock on the wall.
"""

from functools import partial
from time import perf_counter, process_time

import numpy as np

from benchmarks.problems import load
from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.trees",)
JOBS = {1: "", 2: "-2-jobs"}  # what is added to the names of cases


def _timed(call, n_jobs=1):
    """The call, answering with the time it took."""
    return cpu_timed(call, clock=process_time if n_jobs == 1 else perf_counter)


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

    options = {"min_samples_leaf": 1, "n_jobs": 1, "random_state": 0, **options}
    kind = MultiTaskExtraTreesRegressor
    if problem.kind == "classification":
        kind = MultiTaskExtraTreesClassifier
        options["criterion"] = "gini"  # as the peer; ours has another default
    return kind(
        n_trees,
        task=-1,
        max_features=max_features,
        task_split_prob=task_split_prob,
        **options,
    )


def _peer(problem, n_trees, max_features, n_jobs=1):
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    kind = {"classification": ExtraTreesClassifier, "regression": ExtraTreesRegressor}
    return kind[problem.kind](
        n_trees, max_features=max_features, n_jobs=n_jobs, random_state=0
    )


def _fits(
    problem, n_trees, max_features, n_jobs, task_split_prob=0.0, peer_features=None
):
    """Both fit full-grown trees; without task splits the peer is not told the task.

    Both draw the same number of features for a node, though the columns of the
    tasks are among those that the peer draws from.
    """
    X = problem.X.astype(np.float32)
    X_peer = _rows(problem, one_hot=task_split_prob > 0)
    ours = _forest(problem, n_trees, max_features, task_split_prob, n_jobs=n_jobs)
    peer = _peer(problem, n_trees, peer_features or max_features, n_jobs)
    fit_peer = _timed(partial(peer.fit, X_peer, problem.y), n_jobs)
    return Work(
        ours=_timed(partial(ours.fit, X, problem.y), n_jobs),
        peers={"scikit-learn": fit_peer},
    )


def fit_case(name, limit=None):
    """Declare the decorated function of `n_jobs` as a case for one and two threads."""

    def declare(build):
        for n_jobs, added in JOBS.items():

            def with_jobs(n_jobs=n_jobs):
                return build(n_jobs)

            title = build.__doc__.strip().splitlines()[0].removesuffix(".")
            with_jobs.__doc__ = f"{title}, {n_jobs} thread{'s' * (n_jobs > 1)}."
            case(name + added, limit=limit, needs=NEEDS, repeats=2)(with_jobs)
        return build

    return declare


@fit_case("extra-trees-small", Limit(times_faster=3))
def fit_small(n_jobs):
    """Extra trees against scikit-learn, 14,820 x 9, 500 trees, no task splits."""
    return _fits(load("landmine-like"), 500, 3, n_jobs)


@fit_case("extra-trees-large", Limit(times_faster=3))
def fit_large(n_jobs):
    """Extra trees against scikit-learn, 100,000 x 50, 50 trees, no task splits."""
    problem = load("dense-classification", n_rows=100_000, n_features=50, n_tasks=29)
    return _fits(problem, 50, 7, n_jobs)


@fit_case("extra-trees-29-tasks", Limit(times_faster=5))
def fit_29_tasks(n_jobs):
    """Extra trees against one-hot tasks, 14,820 x 9 in 29 tasks, 500 trees."""
    return _fits(load("landmine-like"), 500, 3, n_jobs, task_split_prob=0.25)


@fit_case("extra-trees-1000-tasks", Limit(times_faster=5))
def fit_1000_tasks(n_jobs):
    """Extra trees against one-hot tasks, 100,000 x 50 in 1,000 tasks, 10 trees."""
    problem = load("many-tasks", n_rows=100_000, n_features=50, n_tasks=1_000)
    return _fits(problem, 10, 7, n_jobs, task_split_prob=0.25)


@fit_case("extra-trees-regression", Limit(times_faster=4))
def fit_regression(n_jobs):
    """Extra trees against one-hot tasks, 15,362 x 27 in 139 tasks, 500 trees, K = 9.

    K is not the same work: ours tries 9 features that vary at the node, while the
    peer's 9 include those that are constant there, as most columns of tasks are.
    """
    return _fits(load("school-like"), 500, 9, n_jobs, task_split_prob=0.25)


@fit_case("extra-trees-regression-all")
def fit_regression_all(n_jobs):
    """The same with all features tried by both, 50 trees."""
    problem = load("school-like")
    n_columns = problem.n_features + len(np.unique(problem.task))
    return _fits(problem, 50, problem.n_features, n_jobs, 0.25, n_columns)


def _predicts(n_jobs, task_split_prob):
    problem = load("dense-classification", n_rows=100_000, n_features=50, n_tasks=29)
    X, X_peer = problem.X.astype(np.float32), _rows(problem, task_split_prob > 0)
    ours = _forest(problem, 50, 7, task_split_prob, n_jobs=n_jobs).fit(X, problem.y)
    peer = _peer(problem, 50, 7, n_jobs).fit(X_peer, problem.y)
    ask_peer = _timed(partial(peer.predict_proba, X_peer), n_jobs)
    return Work(
        ours=_timed(partial(ours.predict_proba, X), n_jobs),
        peers={"scikit-learn": ask_peer},
    )


@case(
    "extra-trees-predict",
    limit=Limit(times_as_long=1.0, seconds=0.2),  # 2 microseconds a row
    needs=NEEDS,
)
def predict():
    """Probabilities of 100,000 rows x 50 by 50 full-grown trees, no task splits."""
    return _predicts(1, 0.0)


@case("extra-trees-predict-2-jobs", limit=Limit(times_as_long=1.0), needs=NEEDS)
def predict_2_jobs():
    """Probabilities of 100,000 rows x 50 by 50 full-grown trees, 2 threads."""
    return _predicts(2, 0.0)


@case("extra-trees-predict-tasks", limit=Limit(times_as_long=1.0), needs=NEEDS)
def predict_tasks():
    """Probabilities of 100,000 rows x 50 in 29 tasks by 50 trees with task splits."""
    return _predicts(1, 0.25)


def _million(n_rows, n_trees):
    problem = load("many-tasks", n_rows=n_rows, n_features=50, n_tasks=1_000)
    X = problem.X.astype(np.float32)
    forest = _forest(problem, n_trees, 7, 0.25, min_samples_leaf=10)
    return X, problem.y, forest


@case(
    "extra-trees-growth",
    limit=Limit(growth=1.15),
    needs=NEEDS,
    sizes=(10_000, 100_000, 1_000_000),
    repeats=2,
)
def fit_growing(n_rows):
    """Extra trees of 50 features and 1,000 tasks, 5 trees, by number of rows."""
    X, y, forest = _million(n_rows, 5)
    return Work(ours=_timed(partial(forest.fit, X, y)))


@case(
    "extra-trees-memory",
    limit=Limit(memory_of_data=1.0),
    needs=NEEDS,
    memory=True,
    repeats=1,
)
def fit_million():
    """Extra trees, 1,000,000 x 50 in 1,000 tasks, 50 trees; data = X and the trees."""
    X, y, forest = _million(1_000_000, 50)
    two = _million(1_000_000, 2)[2].fit(X, y).forest_
    trees = 25 * sum(a.nbytes for a in vars(two).values() if a is not None)
    return Work(ours=_timed(partial(forest.fit, X, y)), data_bytes=X.nbytes + trees)


def _pooled():
    """100,000 x 50 without tasks."""
    problem = load("dense-classification", n_rows=100_000, n_features=50, n_tasks=29)
    return _rows(problem), problem.y


def _random_forests(n_jobs):
    from sklearn.ensemble import RandomForestClassifier

    from kinlearn.trees import MultiTaskRandomForestClassifier

    how = {"n_jobs": n_jobs, "random_state": 0, "min_samples_leaf": 3}
    return (
        MultiTaskRandomForestClassifier(10, **how),
        RandomForestClassifier(10, criterion="entropy", **how),
    )


@fit_case("random-forest", Limit(times_faster=5))
def fit_random_forest(n_jobs):
    """Random forest against scikit-learn, 100,000 x 50 as one task, 10 trees."""
    X, y = _pooled()
    ours, peer = _random_forests(n_jobs)
    return Work(
        ours=_timed(partial(ours.fit, X, y), n_jobs),
        peers={"scikit-learn": _timed(partial(peer.fit, X, y), n_jobs)},
    )


@case("random-forest-predict", limit=Limit(times_as_long=1.0), needs=NEEDS)
def predict_random_forest():
    """Probabilities of 100,000 x 50 by a random forest of 10 trees."""
    X, y = _pooled()
    ours, peer = (forest.fit(X, y) for forest in _random_forests(1))
    return Work(
        ours=_timed(partial(ours.predict_proba, X)),
        peers={"scikit-learn": _timed(partial(peer.predict_proba, X))},
    )


@case("decision-tree", limit=Limit(times_faster=5), needs=NEEDS, repeats=2)
def fit_decision_tree():
    """Decision tree against scikit-learn, 100,000 x 50 as one task."""
    from sklearn.tree import DecisionTreeClassifier

    from kinlearn.trees import MultiTaskDecisionTreeClassifier

    X, y = _pooled()
    ours = MultiTaskDecisionTreeClassifier(random_state=0)
    peer = DecisionTreeClassifier(criterion="entropy", random_state=0)
    return Work(
        ours=_timed(partial(ours.fit, X, y)),
        peers={"scikit-learn": _timed(partial(peer.fit, X, y))},
    )


@case("decision-tree-predict", limit=Limit(times_as_long=1.0), needs=NEEDS)
def predict_decision_tree():
    """Probabilities of 100,000 x 50 by a decision tree."""
    from sklearn.tree import DecisionTreeClassifier

    from kinlearn.trees import MultiTaskDecisionTreeClassifier

    X, y = _pooled()
    ours = MultiTaskDecisionTreeClassifier(random_state=0).fit(X, y)
    peer = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(X, y)
    return Work(
        ours=_timed(partial(ours.predict_proba, X)),
        peers={"scikit-learn": _timed(partial(peer.predict_proba, X))},
    )
