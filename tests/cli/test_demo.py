"""The command, as a stranger would call it."""

import io
import json
import subprocess
import sys

import pytest
from rich.console import Console
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from typer.testing import CliRunner

import kinlearn
from kinlearn.cli._app import app
from kinlearn.cli._demo import DemoScores, run_demo, show_demo
from kinlearn.datasets import load_demo


@pytest.fixture(scope="module")
def scores():
    return run_demo()


def _printed(scores):
    console = Console(file=io.StringIO(), width=110)
    show_demo(scores, console)
    return console.file.getvalue()


def test_table_has_every_clinic_and_contender(scores):
    text = _printed(scores)
    data = load_demo()
    for clinic, n in data.data["clinic"].value_counts().items():
        assert f"{clinic}" in text
        assert f" {n} " in text
    assert len(scores.by_task) == len(scores.macro) >= 4


def test_scores_are_those_of_held_out_rows(scores):
    # a model that has seen its test rows would score higher in every clinic
    data = load_demo()
    model = LogisticRegression(max_iter=1000)
    features = data.data.drop(columns="clinic")
    seen, found = [], []
    for clinic, rows in features.groupby(data.data["clinic"]):
        y = data.target[rows.index]
        proba = model.fit(rows, y).predict_proba(rows)[:, 1]
        seen.append(roc_auc_score(y, proba))
        found.append(scores.by_task["alone"][clinic])
    assert sum(found) < sum(seen)


def test_json_holds_the_same_numbers():
    result = CliRunner().invoke(app, ["demo", "--json"])
    assert result.exit_code == 0
    out = json.loads(result.stdout)
    assert set(out["by_task"]["alone"]) == set(out["rows"])


@pytest.mark.parametrize("pooled", [{"a": 0.7, "b": 0.9}, {"a": 0.6, "b": 0.5}])
def test_summary_is_true_of_what_the_table_holds(pooled):
    alone = {"a": 0.6, "b": 0.8}
    scores = DemoScores(
        question="?",
        rows={"a": 10, "b": 20},
        by_task={"alone": alone, "pooled": pooled},
        macro={"alone": 0.7, "pooled": sum(pooled.values()) / 2},
        seconds=1.0,
    )
    text = " ".join(_printed(scores).split())
    if pooled["b"] > 0.8:
        assert "in 2 of 2 clinics, lower in 0. On average" in text
        assert "'pooled' leads" in text
    else:
        assert "in 0 of 2 clinics, lower in 1" in text
        assert "b (0.80 to 0.50)" in text
        assert "'alone' leads" in text


def test_version():
    result = CliRunner().invoke(app, ["--version"])
    assert result.stdout == f"kinlearn {kinlearn.__version__}\n"


@pytest.mark.parametrize("words", [["nonsense"], ["demo", "--nonsense"], ["demo", "x"]])
def test_wrong_words_end_with_code_2(words):
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert "Traceback" not in result.output


def test_without_typer_it_says_what_to_install():
    code = (
        "import sys; sys.modules['typer'] = None\n"
        "from kinlearn.cli import main; sys.argv = ['kin', 'demo']; main()"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 2
    assert result.stderr.strip() == (
        "kin needs typer, which is not installed. Install it with: "
        "pip install 'kinlearn[report]'"
    )
