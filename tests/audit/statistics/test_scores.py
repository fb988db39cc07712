"""The cube of scores checks what it is made of."""

import numpy as np
import pytest

from kinlearn.audit.statistics._scores import Contender, Scores

ALONE = Contender("trees alone", "trees", "alone")
POOLED = Contender("trees pooled", "trees", "pooled")


def cube(**changes):
    parts = {
        "contenders": (ALONE, POOLED),
        "tasks": np.array(["a", "b", "c"]),
        "n_rows": [10, 20, 30],
        "values": np.zeros((2, 4, 5, 3)),
        "micro": np.zeros((2, 4, 5)),
        "n_train": np.full((4, 5, 3), 8),
        "n_test": np.full((4, 5, 3), 2),
    }
    return Scores(**{**parts, **changes})


@pytest.mark.parametrize("form", ["pooled", "task as feature", "multi-task"])
def test_all_forms_but_alone_share(form):
    assert Contender("x", "trees", form).shares
    assert not ALONE.shares


def test_an_unknown_form_is_named():
    with pytest.raises(ValueError, match=r"'x' has form 'solo'; expected one of 'al"):
        Contender("x", "trees", "solo")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"values": np.zeros((2, 4, 5))}, r"values has shape \(2, 4, 5\); expected"),
        ({"n_rows": [1, 2]}, r"n_rows has shape \(2,\); expected \(3,\)"),
        ({"micro": np.full((2, 4, 5), -np.inf)}, "'trees alone' has an infinite score"),
        ({"contenders": (ALONE, ALONE)}, "More than one contender is named 'trees al"),
    ],
)
def test_a_cube_that_does_not_fit_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        cube(**changes)


def test_contenders_are_found_by_name():
    assert cube().index("trees pooled") == 1
    with pytest.raises(ValueError, match="No contender is named 'x'; there are: trees"):
        cube().index("x")


def test_scores_cannot_be_changed_and_leave_the_input_alone():
    values = np.zeros((2, 4, 5, 3))
    scores = cube(values=values)
    values[:] = 1
    assert (scores.values == 0).all()
    with pytest.raises(ValueError, match="read-only"):
        scores.values[0] = 1
