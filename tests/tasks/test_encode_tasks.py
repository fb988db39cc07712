import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from kinlearn.tasks import encode_tasks, task_codes


@pytest.mark.parametrize(
    "wrap",
    [
        list,
        tuple,
        np.array,
        pd.Series,
        pl.Series,
        lambda v: pd.Series(v).astype("category"),
    ],
)
@pytest.mark.parametrize("values", [["b", "a", "b", "c"], [7, -3, 7, 12]])
def test_equals_the_codes_of_the_same_column(values, wrap):
    expected = task_codes(pd.DataFrame({"t": values}), "t")
    tasks, codes = encode_tasks(wrap(values))
    assert tasks.tolist() == expected[0].tolist()
    assert_array_equal(codes, expected[1])


@pytest.mark.parametrize("wrap", [list, pd.Series, lambda v: np.array(v, dtype=object)])
def test_messages_name_the_vector(wrap):
    with pytest.raises(ValueError, match="'school' is missing in 1 of 2 rows"):
        encode_tasks(wrap(["a", None]), "school")


def test_a_list_of_strings_and_numbers_is_not_silently_made_strings():
    with pytest.raises(TypeError, match="mixes strings and numbers"):
        encode_tasks(["a", 1])


@pytest.mark.parametrize("empty", [[], np.array([], dtype=int)])
def test_no_rows_are_refused(empty):
    with pytest.raises(ValueError, match="no rows"):
        encode_tasks(empty)
