"""The benchmark of coverage: what it counts, what it shifts, what its records hold."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.environment import RECORDS
from benchmarks.jsonlines import read_records
from benchmarks.quality.coverage import (
    CONDITIONS,
    LEVEL,
    MODELS,
    key_of,
    main,
    measure,
    shifted_rows,
    worst_tenth,
)
from kinlearn import with_task
from kinlearn.sharing import TaskCoverage

FILE = RECORDS / "coverage.jsonl"
MOST_BYTES_OF_A_RECORD = 450


class Fixed:
    """Intervals of fixed ends."""

    def __init__(self, low, high):
        self.ends = low, high

    def predict_interval(self, X, level):
        return np.tile(self.ends, (len(X), 1))

    def coverage(self, X, y, *, level):
        tasks, code = np.unique(X[:, -1], return_inverse=True)
        inside = (self.ends[0] <= y) & (y <= self.ends[1])
        rows = np.bincount(code)
        return TaskCoverage.of(level, tasks, rows, np.bincount(code, inside))


def test_worst_tasks():
    assert worst_tenth(np.array([0.5, 0.9, 0.7])) == 0.5
    assert_allclose(worst_tenth(np.r_[np.ones(18), 0.2, 0.4]), 0.3)


def test_what_is_measured():
    X = with_task(np.zeros((200, 1)), np.repeat([0, 1], 100))
    y = np.tile(np.arange(100.0), 2)
    y[:100] /= 10  # the first task lies inside
    found = measure(Fixed(-1.0, 49.5), X, y, 5.0, np.random.default_rng(0))
    assert (found["rows"], found["tasks"], found["worst"]) == (0.75, 0.75, 0.5)
    assert (found["below"], found["n_tasks"], found["n_test"]) == (1, 2, 200)
    assert_allclose(found["size"], 50.5 / 5)
    assert found["endless"] == 0
    # the less of two binomial fractions of 100 rows lies below the level
    assert LEVEL - 0.03 < found["chance"] < LEVEL - 0.01
    wide = measure(Fixed(-np.inf, np.inf), X, y, 5.0, np.random.default_rng(0))
    assert (wide["rows"], wide["size"], wide["endless"]) == (1.0, None, 1.0)


def test_rows_are_shifted_along_the_first_component():
    rng = np.random.default_rng(0)
    common = rng.normal(size=3000)
    features = common[:, None] + 0.1 * rng.normal(size=(3000, 4))
    X = with_task(features, np.zeros(3000, dtype=int))
    rows = shifted_rows(X, rng)
    assert len(np.unique(rows)) == 1000
    assert abs(common[rows].mean()) > 0.5
    assert_allclose(X[rows][:, 0].std(), 1.0, atol=0.15)  # no cut: there are others


def test_records_are_small_and_each_is_there_once():
    records = read_records(FILE)
    keys = [key_of(record) for record in records]
    assert len(set(keys)) == len(keys) > 500
    assert {record["contender"] for record in records} == set(MODELS)
    assert {record["condition"] for record in records} == set(CONDITIONS)
    for record in records:
        assert len(json.dumps(record)) < MOST_BYTES_OF_A_RECORD
        assert 0 <= record["worst"] <= record["tasks"] <= 1
        assert not record["commit"].endswith("+")


@pytest.mark.slow
def test_a_run_goes_on_where_it_stopped(tmp_path):
    out = tmp_path / "some.jsonl"
    call = ["kin-related-regression", "--out", str(out)]
    main(call)
    first = out.read_bytes()
    assert len(read_records(out)) == 3 * len(MODELS)  # too few tasks for new ones
    lines = first.splitlines(keepends=True)
    out.write_bytes(b"".join(lines[:4]))
    main(call)
    assert out.read_bytes().startswith(b"".join(lines[:4]))
    strip = [{**json.loads(line), "seconds": 0} for line in lines]
    assert [{**record, "seconds": 0} for record in read_records(out)] == strip
