"""The problems that benchmarks and tests share."""

import numpy as np
import pytest
import scipy.sparse as sp

from benchmarks.problems import PROBLEMS, REAL, load
from benchmarks.quality.splits import first_fraction_of_each_task
from benchmarks.registry import BenchmarkError

SMALL = {
    "dense-classification": {"n_rows": 120, "n_tasks": 4, "n_classes": 3},
    "dense-regression": {"n_rows": 120, "n_tasks": 4},
    "sparse-classification": {"n_rows": 120, "n_features": 300},
    "sparse-regression": {"n_rows": 120, "n_features": 300},
    "many-tasks": {"n_rows": 500, "n_tasks": 200},
    "landmine-like": {},
    "school-like": {},
}


def test_every_problem_is_tested_or_real():
    # a protocol may declare problems of its own, as "area:name"
    named = {name for name in PROBLEMS if ":" not in name or name.startswith("uci:")}
    assert named == set(SMALL) | set(REAL)


@pytest.mark.parametrize("name", SMALL)
def test_generated_problems_are_seeded(name):
    first, again = load(name, **SMALL[name]), load(name, **SMALL[name])
    other = load(name, **SMALL[name], seed=1)
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


@pytest.mark.parametrize("name", SMALL)
def test_generated_problems_are_what_they_say(name):
    problem = load(name, **SMALL[name])
    n_rows, n_columns = problem.X.shape
    assert problem.y.shape == problem.task.shape == (n_rows,)
    assert problem.n_features == n_columns - 1
    assert sp.issparse(problem.X) == name.startswith("sparse")
    tasks = np.unique(problem.task)
    assert tasks.tolist() == list(range(len(tasks)))
    if problem.kind == "classification":
        classes = np.unique(problem.y)
        assert classes.tolist() == list(range(len(classes)))
        assert len(classes) == SMALL[name].get("n_classes", 2)
    else:
        assert problem.y.dtype == np.float64
        assert problem.y.std() > 0


def test_stand_ins_have_the_shape_of_the_real_sets():
    landmine, school = load("landmine-like"), load("school-like")
    assert landmine.X.shape == (14_820, 9 + 1)
    assert school.X.shape == (15_362, 27 + 1)
    assert len(np.unique(landmine.task)) == 29
    assert len(np.unique(school.task)) == 139
    assert landmine.y.sum() == pytest.approx(0.06 * 14_820, rel=0.01)
    assert (school.y.min(), school.y.max()) >= (1, 30)
    assert school.y.max() <= 70


def test_wrong_sizes_and_names_are_refused():
    with pytest.raises(BenchmarkError, match="Unknown problem 'moons'"):
        load("moons")
    with pytest.raises(TypeError, match="n_row"):
        load("many-tasks", n_row=3)


def test_the_first_fraction_of_each_task_trains():
    problem = load("landmine-like", n_rows=600)
    train, test = first_fraction_of_each_task(problem, 4, 0.75)
    assert sorted([*train, *test]) == list(range(600))
    for t in range(29):
        n = (problem.task == t).sum()
        assert (problem.task[train] == t).sum() == n * 3 // 4
    again, _ = first_fraction_of_each_task(problem, 4, 0.75)
    other, _ = first_fraction_of_each_task(problem, 5, 0.75)
    assert np.array_equal(train, again)
    assert not np.array_equal(train, other)
