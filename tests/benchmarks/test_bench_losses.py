"""Contenders, metrics and tables of the protocols of counts, costs and quantiles."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.problems import load
from benchmarks.quality.__main__ import main
from benchmarks.quality.kin_suite import make_tasks
from benchmarks.quality.losses import MADE, METRICS, TABLES, contenders_of
from benchmarks.quality.protocol import PROTOCOLS

LOSSES = ("poisson", "gamma", "quantiles")


@pytest.mark.parametrize("loss", LOSSES)
def test_every_contender_answers(loss):
    """With the first setting of its grid alone."""
    problem = load("dense-regression", n_rows=90, n_tasks=3)
    y = np.round(np.exp(problem.y / 5)) + (loss == "gamma")
    for contender in contenders_of(loss):
        if contender.needs:
            pytest.importorskip(contender.needs[0])
        params = dict(contender.params)
        if "rates" in params:
            params |= {"iterations": 5, "rates": [0.1], "leaf_nodes": [4]}
        model = contender.make(problem, 0, **params).fit(problem.X, y)
        predicted = model.predict(problem.X)
        assert predicted.shape == ((90, 3) if loss == "quantiles" else (90,))
        for metric in METRICS[loss]:
            assert metric.score(y, predicted, problem.task) >= 0
            assert not metric.greater_is_better


def test_pinball_losses_by_hand():
    y = np.array([1.0, 2.0])
    predicted = np.array([[0.0, 2.0, 2.0], [2.0, 0.0, 3.0]])
    mean, low, middle, high = (m.score(y, predicted, y) for m in METRICS["quantiles"])
    assert_allclose([low, middle, high], [0.05, 0.75, 0.1])
    assert_allclose(mean, 0.9 / 3)


def test_made_targets():
    counts = make_tasks("related", "counts", 0, curved=True)
    assert_allclose(counts.y, np.round(counts.y))
    assert counts.y.min() == 0
    assert make_tasks("related", "costs", 0, curved=True).y.min() > 0
    spread = make_tasks("related", "spread", 0)
    assert len(spread.y) == 360
    # the rows of the older kinds stay what they were
    number = make_tasks("related", "regression", 0, curved=True)
    assert_allclose(number.X, counts.X)


def test_every_problem_has_a_protocol():
    for name in (*TABLES, *MADE):
        protocol = PROTOCOLS[name]
        assert protocol.independent == (name in MADE)
        assert name.split("-")[0] in LOSSES


def test_a_group_of_the_table_is_the_task(tmp_path, monkeypatch):
    folder = tmp_path / "MASS"
    folder.mkdir()
    lines = ['"","y","trt","base","age","V4","subject","period","lbase","lage"']
    lines += [f'"{k}",{k},"placebo",11,31,0,{7 - k % 2},1,-0.7,0.1' for k in range(6)]
    (folder / "epil.csv").write_text("\n".join(lines))
    monkeypatch.setenv("KINLEARN_TABLES", str(tmp_path))
    problem = load("losses:poisson-seizures")
    assert_allclose(problem.y, np.arange(6))
    assert_allclose(problem.task, [1, 0] * 3)


@pytest.mark.parametrize("folder", [None, "empty"])
def test_missing_tables_are_one_line(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.delenv("KINLEARN_TABLES", raising=False)
    if folder:
        monkeypatch.setenv("KINLEARN_TABLES", str(tmp_path))
    assert main(["poisson-stay", "--results", str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("poisson-stay: ")
    assert "KINLEARN_TABLES" in line
