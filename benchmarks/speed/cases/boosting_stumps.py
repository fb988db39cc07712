"""Boosting over two-task stumps: the time of a round.

One thread each, by the processor time of the process, so that other programs on the
machine disturb the figures less. A round is a fit less a shorter one, which leaves out
the sorting of the features before the first round.
"""

import warnings
from functools import partial
from time import process_time

import numpy as np

from benchmarks.problems import TEXTS, load
from benchmarks.speed.case import Limit, Seconds, Work, case, cpu_timed

NEEDS = ("kinlearn.boosting",)


def _round_time(make, fit, n_rounds):
    """What one round takes, of a model that ``make(n_rounds)`` makes."""

    def timed():
        times = []
        for rounds in (2, 2 + n_rounds):
            model = make(rounds)
            start = process_time()
            fit(model)
            times.append(process_time() - start)
        return Seconds((times[1] - times[0]) / n_rounds)

    return timed


def _stumps(n_rounds, **params):
    from kinlearn.boosting import AbstainingAdaBoostClassifier

    return AbstainingAdaBoostClassifier(n_rounds, task=-1, **params)


def _ours(X, y, n_rounds, **params):
    def fit(model):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # few rounds leave some tasks out
            model.fit(X, y)

    return _round_time(partial(_stumps, **params), fit, n_rounds)


def _images():
    """1,200 rows of 784 features, four of five cells zero, like small images."""
    problem = load(
        "sparse-classification", n_rows=1200, n_features=784, n_tasks=10, density=0.19
    )
    X = problem.X.toarray().astype(np.float32)
    grey = np.random.default_rng(0).integers(32, size=(len(X), 784))
    X[:, :-1] = np.where(X[:, :-1] > 0, np.minimum(32 * X[:, :-1] + grey, 255), 0)
    return X, problem.y


def _dense(n_rows, n_features, n_tasks):
    problem = load(
        "dense-classification", n_rows=n_rows, n_features=n_features, n_tasks=n_tasks
    )
    return np.asarray(problem.X, dtype=np.float32), problem.y


def _one_stump_of_lightgbm(n_rounds):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(
        n_estimators=n_rounds, num_leaves=2, n_jobs=1, force_col_wise=True, verbosity=-1
    )


@case(
    "stumps-round",
    limit=Limit(seconds=0.022),
    needs=(*NEEDS, "lightgbm"),
    repeats=3,
)
def one_round():
    """A round of MTAA on 1,200 x 784, 10 tasks, 30 roots; peers on one task."""
    from sklearn.ensemble import AdaBoostClassifier

    X, y = _images()

    def fit_one_task(model):
        model.fit(X[:, :-1], y)

    return Work(
        ours=_ours(X, y, 60),
        peers={
            "scikit-learn, one task": _round_time(
                lambda n: AdaBoostClassifier(n_estimators=n), fit_one_task, 6
            ),
            "LightGBM, one task": _round_time(_one_stump_of_lightgbm, fit_one_task, 60),
        },
    )


@case("stumps-round-trees", needs=NEEDS, repeats=2)
def one_round_of_trees():
    """A round of M1 on the same table: a multi-task tree of depth 3; no limit."""
    from kinlearn.boosting import MultiTaskAdaBoostClassifier

    X, y = _images()

    def fit(model):
        model.fit(X, y)

    return Work(
        ours=_round_time(
            lambda n: MultiTaskAdaBoostClassifier(
                n_estimators=n, algorithm="m1", task=-1
            ),
            fit,
            3,
        )
    )


@case("stumps-round-scores", needs=NEEDS, repeats=2)
def one_round_of_scores():
    """A round of MH on the same table, 5 roots; no limit."""
    X, y = _images()
    return Work(ours=_ours(X, y, 10, algorithm="mh", n_roots=5))


@case(
    "stumps-rows",
    limit=Limit(growth=1.2),
    needs=NEEDS,
    sizes=(25_000, 50_000, 100_000),
    repeats=2,
)
def rows(n_rows):
    """A round of MTAA on n x 50, 10 tasks: linear in the rows."""
    X, y = _dense(n_rows, 50, 10)
    return Work(ours=_ours(X, y, 10))


@case(
    "stumps-features",
    limit=Limit(growth=1.2),
    needs=NEEDS,
    sizes=(50, 100, 200),
    repeats=2,
)
def features(n_features):
    """A round of MTAA on 20,000 x d, 10 tasks: linear in the features."""
    X, y = _dense(20_000, n_features, 10)
    return Work(ours=_ours(X, y, 10))


@case("stumps-tasks", limit=Limit(times_as_long=2), needs=NEEDS, repeats=3)
def tasks():
    """A round of MTAA on 100,000 x 50 with 1,000 tasks, against 10 tasks."""
    X, y = _dense(100_000, 50, 10)
    many = X.copy()
    many[:, -1] = np.random.default_rng(0).permutation(len(X)) % 1000
    return Work(ours=_ours(many, y, 10), peers={"ten tasks": _ours(X, y, 10)})


@case("stumps-texts", needs=NEEDS, repeats=1)
def texts():
    """Fit of 50 rounds of MTAA on 1,600 x 115,700 sparse counts, 4 tasks; no limit."""
    problem = load("sparse-classification", **TEXTS)
    model = _stumps(50)
    return Work(ours=cpu_timed(partial(model.fit, problem.X, problem.y)))
