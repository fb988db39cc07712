"""MTBoost: rounds over wide sparse texts, and over many tasks.

Processor time, so that other programs on the machine disturb the figures less. All
inner fits are made (``inner_tol=0``), as the paper has it.
"""

from functools import partial

from benchmarks.problems import load
from benchmarks.speed.case import Bar, Work, case, cpu_timed

NEEDS = ("kinlearn.boosting",)


def _model(**options):
    from kinlearn.boosting import MTBoostClassifier

    return MTBoostClassifier(task=-1, random_state=0, **options)


@case(
    "mtboost-texts",
    bar=Bar(seconds=60),
    needs=NEEDS,
    repeats=1,
    memory=True,
)
def texts():
    """100 rounds x 10 fits on 1,600 x 115,700 sparse counts of 145 terms, 4 tasks."""
    problem = load(
        "sparse-classification",
        n_rows=1_600,
        n_features=115_700,
        n_tasks=4,
        density=145 / 115_700,
    )
    model = _model(inner_tol=0.0)
    return Work(
        ours=cpu_timed(partial(model.fit, problem.X, problem.y)),
        data_bytes=problem.n_bytes,
    )


@case("mtboost-default", needs=NEEDS, repeats=1)
def default():
    """The same with the default tolerance: a round ends when its weights stand."""
    problem = load(
        "sparse-classification",
        n_rows=1_600,
        n_features=115_700,
        n_tasks=4,
        density=145 / 115_700,
    )
    return Work(ours=cpu_timed(partial(_model().fit, problem.X, problem.y)))


@case(
    "mtboost-tasks",
    bar=Bar(growth=1.2),
    needs=NEEDS,
    sizes=(50, 500, 5_000),
    repeats=1,
)
def tasks(n_tasks):
    """50 rounds x 3 fits on 20,000 x 20, by number of tasks."""
    problem = load("dense-classification", n_rows=20_000, n_tasks=n_tasks)
    model = _model(n_estimators=50, n_inner=3, inner_tol=0.0)
    return Work(ours=cpu_timed(partial(model.fit, problem.X, problem.y)))
