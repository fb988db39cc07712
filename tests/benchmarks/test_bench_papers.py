"""Tables, pictures and draws of the papers on trees and boosting."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.problems import load
from benchmarks.quality import bayesnet_columns, papers_figures
from benchmarks.quality.abstaining import N_DRAWS, SETS, draw
from benchmarks.quality.papers_tables import TABLES
from benchmarks.quality.protocol import PROTOCOLS

NAME = "simm-school"


def write(folder, contender, scores):
    protocol = PROTOCOLS[NAME]
    with (folder / f"{NAME}.jsonl").open("a") as file:
        for split, score in enumerate(scores):
            record = {
                "key": f"{contender} {split}",
                "contender": contender,
                "params": dict(protocol.contender(contender).params),
                "split": split,
                "error": None,
                "scores": {"explained_variance": score},
                "n_train": 300,
                "n_test": 100,
            }
            file.write(json.dumps(record) + "\n")


def test_tables_by_hand(tmp_path):
    ours = "kinlearn, task split probability 0.25"
    write(tmp_path, "extra trees, one-hot tasks", [0.2, 0.3, 0.4])
    write(tmp_path, ours, [0.3, 0.4, 0.8])
    heading, first, second, *published = TABLES["by-task"]([NAME], tmp_path)
    assert heading == ["", "splits", "mean"]
    # ours first, as the protocol declares them; deviations by hand
    assert first == ["task split probability 0.25", "3", "0.5000 ± 0.2646"]
    assert second == ["extra trees, one-hot tasks", "3", "0.3000 ± 0.1000"]
    assert published[0] == ["*published: MT-ExtraTrees, best*", "", "0.3800"]
    rows = TABLES["side-by-side"]([NAME], tmp_path)
    assert rows[0] == ["", "school (3 splits)"]
    (_, gain) = TABLES["gains"]([NAME], tmp_path)
    # differences 0.1, 0.1, 0.4: 4.3027 * sqrt((1/3 + 1/3) * 0.03)
    text = "+0.2000 [-0.4085, +0.8085], 3 of 3"
    assert gain == ["task split probability 0.25", "extra trees, one-hot tasks", text]


@pytest.mark.parametrize(
    ("way", "n_rows"), [("half", 250), ("third", 250), ("both", 500), ("random", 250)]
)
def test_draws_of_digits_are_of_the_printed_sizes(way, n_rows):
    rows = SimpleNamespace(y=np.zeros(N_DRAWS * n_rows + 7))
    train, test = draw(rows, 2, 5, way)
    assert SETS[5][1:] == (25, 150)  # four tasks of 25 rows, and zero
    assert len(train) == n_rows
    assert train[0] == 2 * n_rows
    assert len(test) == 7


def test_made_tasks_train_on_four_folds_of_each_class():
    problem = load("bayesnet:DS1-default")
    train, test = bayesnet_columns.rows_of_set(problem, 3, "DS1")
    assert not set(train) & set(test)
    assert np.bincount(problem.task[train]).tolist() == [240, 160]
    assert np.bincount(problem.task[test]).tolist() == [900, 600]
    # 10% of the labels are noise
    counts = np.bincount(problem.y[train])
    assert_allclose(counts, 80, atol=20)


def test_largest_gain_exceeds_the_joint_one_by_chance_alone():
    ratios = papers_figures.criteria_ratios()["uniform", "uniform"]
    assert ratios.shape == (100, 2)
    assert np.all((ratios[:, 0] >= 1) & (ratios[:, 0] <= 2))
    assert 1.3 < np.mean(ratios[:, 0]) < 1.6
