"""How alike tasks are: all pairs at once, against a loop over the pairs."""

from itertools import combinations

import numpy as np
from numpy.testing import assert_allclose

from benchmarks.problems import load
from benchmarks.speed.case import Work, case


def _distances(problem, method, **options):
    from kinlearn.relatedness import task_distances

    return lambda: task_distances(problem.X, task=-1, method=method, **options).values


def _check(ours, peer):
    assert_allclose(ours, peer, atol=1e-10)


def _features_by_task(problem):
    task = problem.task
    return [problem.X[task == t, :-1] for t in np.unique(task)]


def _all_pairs(groups, distance):
    values = np.zeros((len(groups), len(groups)))
    for i, j in combinations(range(len(groups)), 2):
        values[i, j] = values[j, i] = distance(groups[i], groups[j])
    return values


@case("distances-ks", needs=("kinlearn.relatedness",))
def kolmogorov_smirnov():
    """KS distances of 29 tasks, 14,820 x 9, against scipy's two-sample test"""
    from scipy.stats import ks_2samp

    problem = load("landmine-like")
    groups = _features_by_task(problem)

    def distance(first, second):
        return ks_2samp(first, second, method="asymp").statistic.mean()

    return Work(
        ours=_distances(problem, "ks"),
        peers={"scipy": lambda: _all_pairs(groups, distance)},
        check=_check,
    )


@case("distances-mmd", needs=("kinlearn.relatedness",), memory=True, repeats=3)
def maximum_mean_discrepancy():
    """MMD of 29 tasks, 5,000 x 9, against scikit-learn's kernel, pair by pair"""
    from sklearn.metrics.pairwise import rbf_kernel

    problem = load("landmine-like", n_rows=5_000)
    groups = _features_by_task(problem)
    gamma = 0.1

    def distance(first, second):
        cross = rbf_kernel(first, second, gamma=gamma).mean()
        own = [rbf_kernel(each, gamma=gamma).mean() for each in (first, second)]
        return np.sqrt(max(sum(own) - 2 * cross, 0))

    exact = {"estimate": "exact", "biased": True, "scale": False, "gamma": gamma}
    return Work(
        ours=_distances(problem, "mmd", **exact),
        peers={"scikit-learn": lambda: _all_pairs(groups, distance)},
        data_bytes=problem.n_bytes,
        check=_check,
    )


@case("distances-mmd-large", needs=("kinlearn.relatedness",), memory=True, repeats=3)
def maximum_mean_discrepancy_linear():
    """MMD in linear time, 100,000 rows x 10 features in 1,000 tasks, no peer"""
    problem = load("many-tasks", n_rows=100_000, n_tasks=1_000)
    return Work(
        ours=_distances(problem, "mmd", estimate="fourier", random_state=0),
        data_bytes=problem.n_bytes,
    )
