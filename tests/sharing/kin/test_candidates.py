"""Which candidates take part, by the size of the data."""

import numpy as np
import pytest

from kinlearn.sharing.kin._candidates import Size, choose_candidates


def _names(kind, rows, n_features, family, effort="standard"):
    size = Size(np.array(rows), n_features)
    chosen = choose_candidates(
        kind, size, families=[family], effort=effort, n_estimators=200, seed=0
    )
    return [candidate.name for candidate in chosen]


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_forests_of_each_task_alone_want_a_task_of_30_rows(kind):
    assert "extra trees, alone" not in _names(kind, [29] * 5, 4, "trees")
    assert "extra trees, alone" in _names(kind, [30, 9, 9], 4, "trees")


def test_the_least_effort_has_slopes_of_few_features():
    kind, rows = "classification", [50] * 4
    slopes, shared = "mixed logistic regression, slopes", "logistic regression, multi-"
    assert slopes in _names(kind, rows, 20, "linear", "fast")
    for effort, n_features in (("fast", 21), ("standard", 41)):
        names = _names(kind, rows, n_features, "linear", effort)
        assert slopes not in names
        assert any(name.startswith(shared) for name in names)
    assert slopes in _names(kind, rows, 40, "linear")
    numbers = _names("regression", rows, 40, "linear", "fast")
    assert "mixed linear regression, slopes" in numbers
