"""Labels of pictures: short, and as different as the names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kinlearn.report._result import short_names, shorten


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


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("red \x1b[31mshop\x1b[0m", r"red \x1b[31mshop\x1b[0m"),
        ("left \u202etfel", r"left \u202etfel"),
        ("a\u200bb\0", r"a\u200bb\x00"),
        ("\ud800", r"\ud800"),
        # letters of any script, and what joins them, stay
        ("בית חולים", "בית חולים"),
        ("東京大学 é \u200d", "東京大学 é \u200d"),
    ],
)
def test_characters_that_are_not_seen_are_written_out(name, label):
    assert short_names([name], 40) == [label]
    assert shorten(name, 40) == label
