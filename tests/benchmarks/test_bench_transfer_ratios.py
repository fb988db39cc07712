"""The table and picture of accuracy by target ratio."""

import json

import pytest
from numpy.testing import assert_allclose

from benchmarks.quality import transfer_ratios
from benchmarks.registry import BenchmarkError


def _record(key, contender, accuracy, error=None):
    scores = {"accuracy": accuracy}
    return {"key": key, "contender": contender, "scores": scores, "error": error}


def _write(folder, records):
    for problem in transfer_ratios.PROBLEMS:
        for ratio in transfer_ratios.RATIOS:
            lines = [json.dumps(record) for record in records]
            path = folder / f"transfer-{problem}-{ratio}.jsonl"
            path.write_text("\n".join(lines) + "\n")


RECORDS = [
    _record("a", "kinlearn none", 0.1),
    {"forget": "a"},
    _record("b", "kinlearn none", 0.6),
    _record("c", "kinlearn none", 0.8),
    _record("d", "kinlearn none", 0.0, error="it fell"),
    _record("e", "another", 0.9),
]


def test_means_are_of_finished_runs(tmp_path):
    _write(tmp_path, RECORDS)
    found = transfer_ratios.accuracies(tmp_path, "rec-sci", "2")
    assert list(found) == ["kinlearn none"]
    assert_allclose(found["kinlearn none"], (0.7, 0.1, 2))


def test_the_command_prints_a_row_for_each_problem_and_ratio(
    tmp_path, capsys, monkeypatch
):
    _write(tmp_path, RECORDS)
    monkeypatch.setattr(transfer_ratios, "PICTURE", tmp_path / "out.svg")
    assert transfer_ratios.main(["--results", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 12
    assert lines[2] == "| rec-sci | 0.5% | 2 | - | 0.700 | - | - | - |"
    assert (tmp_path / "out.svg").stat().st_size > 1000


def test_missing_records_are_named(tmp_path):
    with pytest.raises(BenchmarkError, match="is not there: run the protocol"):
        transfer_ratios.accuracies(tmp_path, "rec-sci", "0.5")
