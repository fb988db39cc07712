"""What stands beside the gains, and what is said when it cannot be had."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.stats import spearmanr
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from kinlearn import keep_task, with_task
from kinlearn.audit._problem import open_problem
from kinlearn.audit._relatedness import (
    learned_affinity,
    measure_distances,
    predicts_gain,
)
from kinlearn.relatedness import task_distances
from kinlearn.sharing import Pooled
from kinlearn.trees import MultiTaskExtraTreesRegressor

RNG = np.random.default_rng(0)
N = 120
X = with_task(RNG.normal(size=(N, 3)), np.arange(N) % 4)
Y = X[:, 0] + X[:, -1]


def test_distances_are_those_of_the_relatedness_package():
    found, notes = measure_distances(open_problem(X, Y, -1), 0)
    assert notes == []
    # scaled by the audit, and by the method itself
    expected = task_distances(X, task=-1, method="mmd", random_state=0)
    assert_allclose(found["mmd"], expected.values, atol=1e-6)
    expected = task_distances(X, task=-1, method="ks")
    assert_allclose(found["ks"], expected.values)
    expected = task_distances(X, Y, task=-1, method="label_shift")
    assert_allclose(found["label_shift"], expected.values)


def test_words_and_gaps_are_no_obstacle():
    frame = pd.DataFrame(X, columns=list("abct")).assign(
        word=RNG.choice(["x", "y"], N), t=(np.arange(N) % 4).astype(str)
    )
    frame.loc[::5, "a"] = np.nan
    found, notes = measure_distances(open_problem(frame, Y, "t"), 0)
    assert set(found) == {"mmd", "ks", "label_shift"}
    assert notes == []


def test_what_cannot_be_measured_is_noted():
    # the unbiased MMD needs two rows of each task
    task = np.r_[np.arange(N - 1) % 3, 3]
    found, notes = measure_distances(
        open_problem(with_task(RNG.normal(size=(N, 2)), task), Y, -1), 0
    )
    assert "mmd" not in found
    assert "label_shift" in found
    assert notes[0].startswith("mmd was not measured: ")
    dated = pd.DataFrame({"d": pd.Timestamp("2024-01-01"), "t": np.arange(N) % 3})
    found, notes = measure_distances(open_problem(dated, Y, "t"), 0)
    assert set(found) == {"mmd", "ks", "label_shift"}
    assert notes == []


def test_affinity_is_found_behind_a_pipeline():
    trees = MultiTaskExtraTreesRegressor(10, task=-1, random_state=0)
    model = make_pipeline(keep_task(StandardScaler(), task=-1), trees).fit(X, Y)
    assert_allclose(learned_affinity(model), model[-1].task_affinity_)
    assert learned_affinity(Pooled(trees, task=-1)) is None


def test_correlation_is_spearmans_over_scored_tasks():
    mean = [1.0, 2.0, 3.0, 5.0, 4.0]
    gains = np.array([0.3, 0.1, np.nan, -0.2, 0.2])
    [entry] = predicts_gain({"mmd": mean}, gains)
    expected = spearmanr([1.0, 2.0, 5.0, 4.0], [0.3, 0.1, -0.2, 0.2])
    assert entry["n_tasks"] == 4
    assert entry["spearman"] == pytest.approx(expected.statistic)
    assert entry["p"] == pytest.approx(expected.pvalue)


@pytest.mark.parametrize(
    ("mean", "gains"),
    [([1.0, 2.0, 3.0], [0.1, 0.2, 0.3]), ([1.0] * 4, [1, 2, 3, 4.0])],
    ids=["few tasks", "all alike"],
)
def test_no_correlation_where_there_is_none_to_be_had(mean, gains):
    [entry] = predicts_gain({"ks": mean}, np.array(gains))
    assert entry["spearman"] is None
    assert entry["p"] is None
