"""What candidates are worth, and versions of Kin beside each other."""

import numpy as np
from numpy.testing import assert_allclose

from benchmarks.quality import kin_ablation, kin_versions
from benchmarks.quality.boosting_defaults import PROBLEMS


def test_leaving_out_a_candidate_changes_the_loss(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)])
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    monkeypatch.setitem(PROBLEMS, "line", (lambda _: ("regression", X, y), 1))
    record = kin_ablation.run("line", 0, "fast")
    assert set(record["by_candidate"]) <= set(record["without"])
    assert record["loss"] < y.var()
    others = [name for name in record["by_candidate"] if "mixed" not in name]
    assert others, "something is left beside the mixed models"
    lines = {name: line for name, *line in kin_ablation.table([record])}
    excess = lines["mixed linear regression, slopes"][1]
    left = record["without"]["mixed linear regression, slopes"]
    assert_allclose(excess, 100 * np.log(left / record["loss"]))


def test_versions_are_compared_on_the_splits_that_both_have():
    def line(which, split, score, seconds):
        return {
            "which": which,
            "protocol": "p",
            "split": split,
            "scores": {"auc": score},
            "processor_seconds": seconds,
        }

    records = [line("a", 0, 0.5, 4.0), line("a", 1, 0.9, 4.0), line("b", 0, 0.75, 1.0)]
    [found] = kin_versions.compare(records)
    assert found == ("p", "auc", "b", 1, 0.5, 0.75, 4.0, 1.0)
