"""Multi-task gradient boosting against LightGBM and scikit-learn.

Peers have the task as a category, and the same number of rounds, leaves and bins. One
thread is timed by the processor time of the process, so that other programs on the
machine disturb the figures less; two threads by the clock on the wall.
"""

from functools import partial
from time import perf_counter

import numpy as np

from benchmarks.problems import load
from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.boosting", "lightgbm")
# leaves, bins and features of a node: as by default, and as peers have them by default
FEW, MANY = (12, 64, 0.5), (31, 255, 1.0)


def _problem(n_rows, n_features, n_tasks):
    return load(
        "dense-regression",
        n_rows=n_rows,
        n_features=n_features,
        n_tasks=n_tasks,
        dtype=np.float64,
    )


def _ours(n_rounds, size, n_jobs=1):
    from kinlearn.boosting import MultiTaskGradientBoostingRegressor

    leaves, bins, fraction = size
    return MultiTaskGradientBoostingRegressor(
        task=-1,
        n_estimators=n_rounds,
        max_leaf_nodes=leaves,
        max_bins=bins,
        max_features=fraction,
        min_samples_leaf=20,
        learning_rate=0.1,
        n_jobs=n_jobs,
        random_state=0,
    )


def _lightgbm(n_rounds, size, n_jobs=1):
    from lightgbm import LGBMRegressor

    leaves, bins, fraction = size
    return LGBMRegressor(
        n_estimators=n_rounds,
        num_leaves=leaves,
        max_bin=bins,
        feature_fraction_bynode=fraction,
        min_child_samples=20,
        learning_rate=0.1,
        n_jobs=n_jobs,
        random_state=0,
        verbose=-1,
    )


def _hist(n_rounds, size, n_features):
    from sklearn.ensemble import HistGradientBoostingRegressor

    leaves, bins, fraction = size
    return HistGradientBoostingRegressor(
        max_iter=n_rounds,
        max_leaf_nodes=leaves,
        max_bins=bins,
        max_features=fraction,
        min_samples_leaf=20,
        learning_rate=0.1,
        early_stopping=False,
        categorical_features=[n_features],
        random_state=0,
    )


def _fits(problem, n_rounds, size):
    """Our fit, and those of the peers."""
    last = problem.n_features
    X, y = problem.X, problem.y
    lightgbm = _lightgbm(n_rounds, size)
    hist = _hist(n_rounds, size, last)
    return Work(
        ours=cpu_timed(partial(_ours(n_rounds, size).fit, X, y)),
        peers={
            "LightGBM": cpu_timed(
                partial(lightgbm.fit, X, y, categorical_feature=[last])
            ),
            "HistGradientBoosting": cpu_timed(partial(hist.fit, X, y)),
        },
        data_bytes=problem.n_bytes,
    )


@case(
    "gradient-boosting-small",
    limit=Limit(times_faster=2),
    needs=NEEDS,
    sizes=(1_000, 5_000, 20_000),
)
def small(n_rows):
    """200 rounds on n x 20, 50 tasks; 12 leaves, 64 bins, half the features."""
    return _fits(_problem(n_rows, 20, 50), 200, FEW)


@case(
    "gradient-boosting-small-255",
    limit=Limit(times_faster=2),
    needs=NEEDS,
    sizes=(1_000, 5_000, 20_000),
)
def small_with_all_bins(n_rows):
    """200 rounds on n x 20, 50 tasks; 31 leaves, 255 bins, all features."""
    return _fits(_problem(n_rows, 20, 50), 200, MANY)


@case(
    "gradient-boosting-large",
    # a byte for each cell and a quarter of X, of eight bytes for each
    limit=Limit(times_as_long=1.2, memory_of_data=0.37),
    needs=NEEDS,
    sizes=(100_000, 1_000_000),
    repeats=2,
    memory=True,
)
def large(n_rows):
    """100 rounds on n x 50, 50 tasks; 31 leaves, 255 bins, all features."""
    return _fits(_problem(n_rows, 50, 50), 100, MANY)


@case(
    "gradient-boosting-2-jobs",
    limit=Limit(times_faster=1.7),
    needs=("kinlearn.boosting",),
    sizes=(100_000, 1_000_000),
    threads=2,
    repeats=2,
)
def two_threads(n_rows):
    """The same by two threads against one; needs two cores that nobody else uses."""
    problem = _problem(n_rows, 50, 50)
    one, two = (
        cpu_timed(
            partial(_ours(100, MANY, n_jobs).fit, problem.X, problem.y),
            clock=perf_counter,
        )
        for n_jobs in (1, 2)
    )
    return Work(ours=two, peers={"one thread": one})


@case("gradient-boosting-predict", limit=Limit(times_faster=1), needs=NEEDS)
def predict():
    """Predictions of 100,000 rows x 20, 50 tasks, by 200 rounds of 31 leaves."""
    problem = _problem(100_000, 20, 50)
    X, y = problem.X, problem.y
    ours = _ours(200, MANY).fit(X, y)
    lightgbm = _lightgbm(200, MANY).fit(X, y, categorical_feature=[problem.n_features])
    return Work(
        ours=cpu_timed(partial(ours.predict, X)),
        peers={"LightGBM": cpu_timed(partial(lightgbm.predict, X))},
    )


@case(
    "gradient-boosting-tasks",
    limit=Limit(times_as_long=1.5),
    needs=("kinlearn.boosting",),
)
def tasks():
    """100 rounds on 200,000 x 20 with 10,000 tasks against 10."""
    many, few = (_problem(200_000, 20, n_tasks) for n_tasks in (10_000, 10))
    return Work(
        ours=cpu_timed(partial(_ours(100, FEW).fit, many.X, many.y)),
        peers={"10 tasks": cpu_timed(partial(_ours(100, FEW).fit, few.X, few.y))},
    )
