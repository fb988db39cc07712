"""The curve: whose rows are cut, how many are left, where the lines cross."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.audit._folds import make_folds
from kinlearn.audit._problem import open_problem
from kinlearn.audit._scoring import choose_scoring
from kinlearn.audit.run._cells import Comparison, run_cells
from kinlearn.audit.run._curve import Cut, crossing, nested_sample, plan_curve
from kinlearn.audit.run._store import open_store
from kinlearn.audit.statistics._scores import Contender
from kinlearn.sharing import PerTask
from tests.reference.known_models import Knower, TaskKnower, known_data

X, Y = known_data((100, 80, 60, 40, 30, 6))
PROBLEM = open_problem(X, Y, "task")
FOLDS = make_folds(PROBLEM, cv=None, n_splits=4, n_repeats=1, random_state=0)
COMPARISON = Comparison(PROBLEM, FOLDS, choose_scoring("accuracy", PROBLEM))
PAIR = [Contender("multi", "K", "multi-task"), Contender("alone", "K", "alone")]


class Counter(Knower):
    """Right with a probability that grows with the rows that it was fitted to."""

    def fit(self, X, y):
        self.right_ = min(len(y) / 100, 1.0)
        return super().fit(X, y)

    def _share(self, X):
        return self.right_


def test_a_cut_keeps_the_other_tasks_and_tests_its_own():
    train, test = FOLDS.splits[0][0]
    cut = Cut((0, 2), 10, alone=False, seed=0)
    kept, tested = cut.rows(PROBLEM, train, test)
    counts = np.bincount(PROBLEM.codes[kept], minlength=6)
    whole = np.bincount(PROBLEM.codes[train], minlength=6)
    assert_array_equal(counts, np.where(np.isin(np.arange(6), [0, 2]), 10, whole))
    assert np.isin(kept, train).all()
    assert_array_equal(tested, test[np.isin(PROBLEM.codes[test], [0, 2])])
    assert len(np.unique(kept)) == len(kept)


def test_a_lone_model_gets_the_same_rows_of_these_tasks_and_no_others():
    train, test = FOLDS.splits[0][0]
    shared, _ = Cut((0, 2), 10, alone=False, seed=0).rows(PROBLEM, train, test)
    alone, _ = Cut((0, 2), 10, alone=True, seed=0).rows(PROBLEM, train, test)
    assert_array_equal(alone, shared[np.isin(PROBLEM.codes[shared], [0, 2])])


def test_larger_cuts_contain_smaller_ones():
    train, test = FOLDS.splits[0][0]
    rows = [
        Cut((1,), n, alone=True, seed=3).rows(PROBLEM, train, test)[0] for n in (5, 20)
    ]
    assert np.isin(rows[0], rows[1]).all()


def test_every_class_is_among_the_first_rows():
    labels = np.r_[np.zeros(96), np.ones(3), [2.0]]
    for seed in range(20):
        kept = nested_sample(labels, 100, 5, np.random.RandomState(seed))
        assert set(labels[kept]) == {0.0, 1.0, 2.0}
        assert len(set(kept)) == 5


@pytest.mark.parametrize(
    ("gain", "expected"),
    [
        ([0.2, 0.1, -0.1], np.sqrt(10 * 20)),
        ([0.3, -0.1, -0.2], 5 * 2**0.75),
        ([-0.1, 0.1, 0.0], 20.0),
        ([0.3, 0.2, 0.1], None),
        ([-0.1, -0.2, -0.3], None),
        ([-0.1, -0.2, 0.3], None),
    ],
)
def test_crossing_is_where_the_gain_ends_for_good(gain, expected):
    found = crossing([5, 10, 20], np.array(gain))
    assert found == (None if expected is None else pytest.approx(expected))


def test_sizes_double_up_to_what_half_of_the_tasks_have():
    plan = plan_curve(COMPARISON, PAIR, random_state=0)
    # training rows of three quarters: 75, 60, 45, 30, 22 and 4 -> median 37
    assert plan.sizes == [5, 10, 20]
    assert set(plan.tasks) <= {0, 1, 2, 3, 4}
    for cell in plan.cells:
        assert set(cell.cut.tasks) <= set(plan.tasks)
        assert len(cell.cut.tasks) < PROBLEM.n_tasks


def test_every_task_is_cut_to_every_size_on_every_fold_by_both():
    plan = plan_curve(COMPARISON, PAIR, random_state=0)
    seen = [
        (cell.contender, cell.split, cell.cut.n_rows, code)
        for cell in plan.cells
        for code in cell.cut.tasks
    ]
    splits = {split for _, split, _, _ in seen}
    assert len(seen) == len(set(seen))
    assert len(seen) == 2 * len(splits) * len(plan.sizes) * len(plan.tasks)


def test_lines_are_the_means_of_the_tasks():
    estimators = {
        "multi": TaskKnower({f"t{i}": 0.5 for i in range(6)}, task="task"),
        "alone": PerTask(Counter(), task="task"),
    }
    plan = plan_curve(COMPARISON, PAIR, random_state=0)
    with open_store(None, {}) as store:
        run_cells(
            plan.cells, COMPARISON, estimators, store, n_jobs=1, report=lambda cell: 0
        )
        curve = plan.read(store, PROBLEM.tasks.tolist())
    splits = {cell.split for cell in plan.cells}
    sharing, alone = curve["lines"]
    for place, size in enumerate(curve["rows"]):
        for line, right in ((sharing, 0.5), (alone, size / 100)):
            by_task = []
            for task in curve["tasks"]:
                scores = []
                for split in splits:
                    rows = X.iloc[FOLDS.splits[0][split][1]]
                    scores.append((rows["u"][rows["task"] == task] < right).mean())
                by_task.append(np.mean(scores))
            assert_allclose(line["mean"][place], np.mean(by_task))
            assert line["low"][place] <= line["mean"][place] <= line["high"][place]
    assert curve["crossing"] is None


def test_tasks_of_a_few_rows_have_no_curve():
    small, y = known_data((8, 8, 8))
    problem = open_problem(small, y, "task")
    folds = make_folds(problem, cv=None, n_splits=4, n_repeats=1, random_state=0)
    comparison = Comparison(problem, folds, choose_scoring("accuracy", problem))
    assert plan_curve(comparison, PAIR, random_state=0) is None
