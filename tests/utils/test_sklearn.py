"""What every scikit-learn that we take must do alike."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import TargetEncoder

from kinlearn.utils._sklearn import check_sample_weight, target_encoder


def test_weights_that_are_all_zero_are_refused():
    X = np.ones((3, 2))
    assert_array_equal(check_sample_weight(None, X), [1, 1, 1])
    assert_array_equal(check_sample_weight([0, 2, 0], X), [0, 2, 0])
    with pytest.raises(ValueError, match="at least one non-zero"):
        check_sample_weight([0, 0, 0], X)
    with pytest.raises(ValueError, match="at least one non-zero"):
        check_sample_weight(0, X)


@pytest.mark.parametrize("kind", ["continuous", "binary", "multiclass"])
def test_the_encoders_folds_are_those_of_the_splitter(kind):
    rng = np.random.default_rng(0)
    X = rng.integers(4, size=(60, 1))
    n_classes = {"continuous": 50, "binary": 2, "multiclass": 3}[kind]
    y = rng.integers(n_classes, size=60)
    coded = target_encoder(kind, 3).fit_transform(X, y)
    splitter = KFold if kind == "continuous" else StratifiedKFold
    for train, test in splitter(3, shuffle=True, random_state=0).split(X, y):
        part = TargetEncoder(target_type=kind).fit(X[train], y[train])
        assert_array_equal(coded[test], part.transform(X[test]))
