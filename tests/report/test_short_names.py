"""Labels of pictures: short, and as different as the names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinlearn.report._result import short_names


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["north", 7, 7.5], ["north", "7", "7.5"]),
        (["abcdefghijklmno", "b"], ["abcdefghijk…", "b"]),
        (["the same long name"] * 2, ["the same lo…"] * 2),
        # what differs is shown, wherever it stands
        (["hospital of the A", "hospital of the B"], ["hosp…f the A", "hosp…f the B"]),
        (
            ["hospital of A, which is far", "hospital of B, which is far"],
            ["hosp…f A, w…", "hosp…f B, w…"],
        ),
        (["hospital of the", "hospital of the A"], ["hosp…f the", "hosp…f the A"]),
        # labels of two groups that became alike are written out
        (
            ["oneoneoneoneA end 1", "oneoneoneoneA end 2",
             "oneoneTWOoneA end 1", "oneoneTWOoneA end 2"],
            ["oneoneoneoneA end 1", "oneoneoneoneA end 2",
             "oneoneTWOoneA end 1", "oneoneTWOoneA end 2"],
        ),
    ],
)  # fmt: skip
def test_labels(names, labels):
    assert short_names(names, 12) == labels


@given(st.lists(st.text("ab", max_size=40), unique=True))
def test_different_names_have_different_labels(names):
    labels = short_names(names, 9)
    assert len(set(labels)) == len(names)
    for name, label in zip(names, labels, strict=True):
        assert label == name or len(label) <= 9
