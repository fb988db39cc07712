"""MTBoost: rounds over wide sparse texts, and over many tasks.

Processor time, so that other programs on the machine disturb the figures less. All
inner fits are made (``inner_tol=0``), as the paper has it.
"""

from functools import partial

import numpy as np

from benchmarks.problems import TEXTS, load
from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.boosting",)


def _model(**options):
    from kinlearn.boosting import MTBoostClassifier

    return MTBoostClassifier(task=-1, random_state=0, **options)


@case(
    "mtboost-texts",
    limit=Limit(seconds=60, gibibytes=1),
    needs=NEEDS,
    repeats=1,
    memory=True,
)
def texts():
    """100 rounds x 10 fits on 1,600 x 115,700 sparse counts of 145 terms, 4 tasks."""
    problem = load("sparse-classification", **TEXTS)
    model = _model(inner_tol=0.0)
    return Work(
        ours=cpu_timed(partial(model.fit, problem.X, problem.y)),
        data_bytes=problem.n_bytes,
    )


@case("mtboost-default", needs=NEEDS, repeats=1)
def default():
    """The same with the default tolerance: a round ends when its weights stand."""
    problem = load("sparse-classification", **TEXTS)
    return Work(ours=cpu_timed(partial(_model().fit, problem.X, problem.y)))


@case(
    "mtboost-tasks",
    limit=Limit(growth=1.2),
    needs=NEEDS,
    sizes=(50, 500, 5_000),
    repeats=1,
)
def tasks(n_tasks):
    """50 rounds x 3 fits on 20,000 x 20, by number of tasks."""
    problem = load("dense-classification", n_rows=20_000, n_tasks=n_tasks)
    model = _model(n_estimators=50, n_inner=3, inner_tol=0.0)
    return Work(ours=cpu_timed(partial(model.fit, problem.X, problem.y)))


@case("mtboost-step", limit=Limit(times_faster=10), needs=NEEDS, repeats=3)
def step():
    """The weights of one fit, 500 tasks and 100 rounds, against whole matrices."""
    from kinlearn.boosting.mtboost._covariance import TaskCovariance

    n_tasks, n_rounds, penalty, ridge = 500, 100, 1.0, 0.1
    rng = np.random.default_rng(0)
    W = 0.1 * rng.standard_normal((n_rounds, n_tasks))
    slope = rng.standard_normal(n_tasks)
    bend = rng.uniform(1, 10, size=n_tasks)
    covariance = TaskCovariance.start(n_tasks, ridge)
    for weights in W:
        covariance = covariance.with_round(weights)

    def in_parts():
        weights = covariance.shrink(slope, bend, penalty)
        return covariance.with_round(weights).shrink(slope, bend, penalty)

    def whole_step(rounds):
        values, vectors = np.linalg.eigh(rounds.T @ rounds)
        root = np.sqrt(np.maximum(values, 0) + ridge**2)
        inverse = (vectors / root) @ vectors.T * root.sum()
        return -np.linalg.solve(np.diag(bend) + penalty * inverse, slope)

    def whole():
        return whole_step(np.vstack([W, whole_step(W)]))

    return Work(
        ours=in_parts,
        peers={"whole matrices": whole},
        check=partial(np.testing.assert_allclose, rtol=1e-6, atol=1e-12),
    )
