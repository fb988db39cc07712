"""Classical multilevel tables, as R writes them."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.datasets import fetch_dataset, fetch_multilevel
from kinlearn.datasets.loaded._catalogue import CATALOGUE
from kinlearn.datasets.loaded._multilevel import RECIPES

HEADER = ["", "lang", "IQ", "class", "GS", "SES", "COMB"]


@pytest.fixture
def pupils(put):
    """Eight classes of 1 to 8 pupils."""
    sizes = range(1, 9)
    rows = [
        [str(i), str(30 + i), str(10 + i % 5), str(180 + size), "29", "23", str(i % 2)]
        for size in sizes
        for i in range(size)
    ]
    rows[2][1] = "NA"
    return put("multilevel/nlschools.csv", HEADER, rows)


def test_every_recipe_is_in_the_catalogue():
    known = {name for name in CATALOGUE if name.startswith("multilevel:")}
    assert known == {f"multilevel:{name}" for name in RECIPES}
    for name, recipe in RECIPES.items():
        entry = CATALOGUE[f"multilevel:{name}"]
        assert entry.features == len(recipe.features)
        assert (entry.kind == "binary") == recipe.classes


def test_rows_without_a_target_are_left_out(pupils):
    data = fetch_multilevel("nlschools", verify=False)
    assert data.data.shape == (35, 5)
    assert data.feature_names == ["IQ", "GS", "SES", "COMB"]
    assert np.isfinite(data.target).all()
    assert data.task_names == [f"{180 + size}" for size in range(1, 9)]
    frame = fetch_dataset("multilevel:nlschools", as_frame=True, verify=False)
    assert frame.task == "task"
    assert frame.frame.shape == (35, 6)


def test_splits_of_rows_divide_each_group(pupils):
    data = fetch_multilevel("nlschools", verify=False)
    assert len(data.splits) == 10
    task = data.data[:, -1]
    for train, test in data.splits:
        assert sorted([*train, *test]) == list(range(35))
        in_train, in_test = (
            np.bincount(task[rows].astype(int), minlength=8) for rows in (train, test)
        )
        assert (in_train >= 1).all()
        assert_array_equal(in_train, np.ceil((in_train + in_test) / 2))
    assert any((data.splits[0][1] != other[1]).any() for other in data.splits[1:])


def test_splits_of_groups_keep_them_whole(pupils):
    data = fetch_multilevel("nlschools", verify=False)
    task = data.data[:, -1]
    assert len(data.group_splits) == 10
    for train, test in data.group_splits:
        assert sorted([*train, *test]) == list(range(35))
        assert not set(task[train]) & set(task[test])
        assert len(set(task[test])) == 2
    again = fetch_multilevel("nlschools", verify=False)
    assert_array_equal(again.group_splits[3][1], data.group_splits[3][1])


def test_another_number_of_rows_is_an_error(pupils):
    with pytest.raises(OSError, match=r"has 36 rows, but 2287 are expected"):
        fetch_multilevel("nlschools")


def test_a_missing_column_is_named(put):
    put("multilevel/nlschools.csv", ["lang", "class"], [["1", "2"]])
    with pytest.raises(OSError, match=r"no column 'IQ', 'GS', .*found: lang, class"):
        fetch_multilevel("nlschools")
    with pytest.raises(ValueError, match="'nlschools', 'star'"):
        fetch_multilevel("schools")


def test_groups_of_two_columns_are_joined_and_classes_have_names(put):
    header = ["center", "id", "treat", "sex", "age", "baseline", "visit", "outcome"]
    rows = [
        ["1", "1", "P", "M", "46", "0", "1", "0"],
        ["2", "1", "A", "F", "20", "1", "1", "1"],
    ]
    put("multilevel/respiratory.csv", header, rows)
    data = fetch_multilevel("respiratory", verify=False)
    assert data.task_names == ["1/1", "2/1"]
    assert data.target_names == ["0", "1"]
    assert data.categories == {"treat": ["A", "P"], "sex": ["F", "M"]}
    assert_array_equal(data.target, [0, 1])
