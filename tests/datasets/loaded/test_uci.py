"""The UCI loader: tasks as published, targets, texts and missing cells."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from kinlearn.datasets import fetch_uci


@pytest.fixture
def heart(put):
    header = ["age", "sex", "chest", "class"]
    put(
        "uci/heart_statlog.csv",
        header,
        [[70, 1, 4, "present"], [67, 0, 3, "absent"], [57, 1, 2, "present"]],
    )


def test_the_group_is_the_task_and_no_feature(heart):
    bunch = fetch_uci("heart")
    assert bunch.feature_names == ["age", "chest"]
    assert_array_equal(bunch.data, [[70, 4, 1], [67, 3, 0], [57, 2, 1]])
    assert_array_equal(bunch.target, [1, 0, 1])
    assert bunch.target_names == ["absent", "present"]
    assert bunch.task_names == ["0", "1"]
    frame = fetch_uci("heart", as_frame=True)
    assert list(frame.frame) == ["age", "chest", "task", "class"]
    assert list(frame.data["task"]) == ["1", "0", "1"]


def test_no_group_leaves_all_columns(heart):
    bunch = fetch_uci("heart", group=None)
    assert bunch.task is None
    assert_array_equal(bunch.data, [[70, 1, 4], [67, 0, 3], [57, 1, 2]])


def test_another_group_and_target(heart):
    bunch = fetch_uci("heart", group="class", target="age")
    assert bunch.feature_names == ["sex", "chest"]
    assert bunch.task_names == ["absent", "present"]
    assert_array_equal(bunch.target, [70, 67, 57])
    assert bunch.target_names is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"group": "colour"}, "group must be one of 'age', 'sex'"),
        ({"target": "colour"}, "target must be one of 'age', 'sex'"),
        ({"target": "sex"}, "both group and target"),
        ({"name": "iris"}, "name must be one of 'heart'"),
    ],
)
def test_wrong_columns(heart, wrong, message):
    with pytest.raises(ValueError, match=message):
        fetch_uci(**{"name": "heart", **wrong})


def test_texts_become_numbers_in_arrays_and_stay_in_frames(put):
    put(
        "uci/breast_cancer_ljubljana.csv",
        ["age", "node-caps", "deg-malig", "class"],
        [
            ["40-49", "yes", 3, "recurrence-events"],
            ["50-59", "", 1, "no-recurrence-events"],
            ["60-69", "no", 2, "no-recurrence-events"],
            ["70-79", "yes", 2, "no-recurrence-events"],
        ],
    )
    bunch = fetch_uci("breast_cancer_ljubljana")
    assert bunch.categories == {"node-caps": ["no", "yes"]}
    expected = [[1, 3, 0], [np.nan, 1, 1], [0, 2, 2], [1, 2, 2]]
    assert_array_equal(bunch.data, expected)
    assert bunch.task_names == ["age < 50", "50 <= age < 60", "age >= 60"]
    frame = fetch_uci("breast_cancer_ljubljana", as_frame=True).data
    assert list(frame["node-caps"].dropna()) == ["yes", "no", "yes"]
    assert frame["node-caps"].isna().sum() == 1


def test_a_group_with_missing_cells_is_refused(put):
    header = ["class", "age", "histology", "protime"]
    put("uci/hepatitis.csv", header, [[1, 30, 1, ""], [2, 50, 2, 3]])
    assert fetch_uci("hepatitis").task_names == ["1", "2"]
    with pytest.raises(ValueError, match="'protime' is missing in 1 rows"):
        fetch_uci("hepatitis", group="protime")


def test_ranges_of_a_column_that_stays_a_feature(put):
    header = ["RAD", "DIS", "MEDV"]
    rows = [[1, 2.4, 24.0], [5, 2.5, 21.6], [24, 6.0, 34.7]]
    put("uci/boston_housing.csv", header, rows)
    bunch = fetch_uci("boston")
    assert bunch.task_names == ["RAD < 5", "5 <= RAD < 7.5", "RAD >= 7.5"]
    assert_array_equal(bunch.data, [[1, 2.4, 0], [5, 2.5, 1], [24, 6.0, 2]])
    assert_allclose(bunch.target, [24.0, 21.6, 34.7])
    assert bunch.target_names is None
    by_distance = fetch_uci("boston", group="DIS")
    assert_array_equal(by_distance.data[:, -1], [0, 1, 2])
    assert by_distance.task_names[1] == "2.5 <= DIS < 4.5"


def test_two_files_are_two_tasks(put):
    header = ["alcohol", "quality"]
    put("uci/wine_quality_red.csv", header, [[9.4, 5]])
    put("uci/wine_quality_white.csv", header, [[8.8, 6], [9.5, 7]])
    wine = fetch_uci("wine_quality", as_frame=True)
    assert list(wine.data["task"]) == ["red", "white", "white"]
    assert_array_equal(wine.target, [5, 6, 7])
    assert fetch_uci("wine_quality", group=None).feature_names == ["alcohol"]


def test_flares_are_counted_as_yes_or_no(put):
    header = ["area", "C_class_flares", "M_class_flares", "X_class_flares"]
    put("uci/solar_flare1.csv", header, [[1, 0, 1, 0]])
    put("uci/solar_flare2.csv", header, [[2, 3, 0, 0]])
    flares = fetch_uci("solar_flare")
    assert flares.feature_names == ["area"]
    assert_array_equal(flares.target, [0, 1])
    assert flares.task_names == ["flare1", "flare2"]


def test_numbers_that_are_classes(put):
    header = ["wife_religion", "wife_working", "contraceptive_method_use"]
    put("uci/cmc.csv", header, [[1, 0, 3], [0, 1, 1], [1, 1, 2]])
    bunch = fetch_uci("cmc")
    assert_array_equal(bunch.target, [2, 0, 1])
    assert bunch.target_names == ["1", "2", "3"]
    working = fetch_uci("cmc", target="wife_working")
    assert working.target_names == ["0", "1"]
    assert working.feature_names == ["contraceptive_method_use"]
