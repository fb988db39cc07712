"""Kin and the audit with their defaults, in one thread, by processor time.

LightGBM with the task as a category, 200 rounds of its defaults, stands beside them: it
is one model, where Kin is a choice and a mixture of a dozen.
"""

from functools import partial

from benchmarks.problems import load
from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.sharing", "lightgbm")


def _problem(n_rows, n_features=20, n_tasks=50):
    return load(
        "dense-regression", n_rows=n_rows, n_features=n_features, n_tasks=n_tasks
    )


def _kin(problem, effort="standard"):
    from kinlearn import KinRegressor

    model = KinRegressor(task=-1, random_state=0, effort=effort)
    return cpu_timed(partial(model.fit, problem.X, problem.y))


def _lightgbm(problem):
    from lightgbm import LGBMRegressor

    model = LGBMRegressor(n_estimators=200, n_jobs=1, verbose=-1)
    last = problem.n_features
    return cpu_timed(
        partial(model.fit, problem.X, problem.y, categorical_feature=[last])
    )


@case("kin-2000", limit=Limit(seconds=6), needs=NEEDS, repeats=3)
def small():
    """Kin, 2,000 x 20, 50 tasks."""
    problem = _problem(2_000)
    return Work(ours=_kin(problem), peers={"LightGBM": _lightgbm(problem)})


@case("kin-20000", limit=Limit(seconds=30), needs=NEEDS, repeats=2)
def middle():
    """Kin, 20,000 x 20, 50 tasks."""
    problem = _problem(20_000)
    return Work(ours=_kin(problem), peers={"LightGBM": _lightgbm(problem)})


@case("kin-efforts", needs=NEEDS, repeats=2)
def efforts():
    """Kin by effort, 2,000 x 20, 50 tasks; ours is the standard one."""
    problem = _problem(2_000)
    return Work(
        ours=_kin(problem),
        peers={name: _kin(problem, name) for name in ("fast", "best")},
    )


@case("kin-rows", needs=NEEDS, sizes=(1_000, 4_000, 16_000, 64_000), repeats=1)
def rows(n_rows):
    """Kin by rows, 20 features, 50 tasks."""
    return Work(ours=_kin(_problem(n_rows)))


@case("kin-tasks", needs=NEEDS, sizes=(5, 50, 500), repeats=1)
def tasks(n_tasks):
    """Kin by tasks, 5,000 x 20."""
    return Work(ours=_kin(_problem(5_000, n_tasks=n_tasks)))


@case("kin-features", needs=NEEDS, sizes=(5, 20, 80), repeats=1)
def features(n_features):
    """Kin by features, 5,000 rows, 50 tasks."""
    return Work(ours=_kin(_problem(5_000, n_features=n_features)))


@case(
    "kin-large",
    limit=Limit(seconds=900, memory_of_data=3),
    needs=("kinlearn.sharing",),
    sizes=(100_000, 300_000, 1_000_000),
    threads=2,
    repeats=1,
    memory=True,
)
def large(n_rows):
    """Kin, 50 features in float32, 1,000 tasks, two threads."""
    from kinlearn import KinRegressor

    problem = _problem(n_rows, n_features=50, n_tasks=1_000)
    X = problem.X.astype("float32")
    model = KinRegressor(task=-1, random_state=0, n_jobs=2)
    return Work(ours=partial(model.fit, X, problem.y), data_bytes=X.nbytes)


@case("compare-sharing", limit=Limit(seconds=20), needs=NEEDS, repeats=2)
def audit():
    """The audit with default contenders, 2,000 x 20, 50 tasks, 5 folds."""
    from kinlearn.audit import compare_sharing

    problem = _problem(2_000)
    return Work(
        ours=cpu_timed(partial(compare_sharing, problem.X, problem.y, task=-1, cv=5))
    )
