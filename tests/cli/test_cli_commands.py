"""Every documented command, as a stranger would call it."""

import json
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from numpy.testing import assert_allclose

import kinlearn
from kinlearn import KinClassifier, KinRegressor
from kinlearn.cli._console import Steps
from kinlearn.cli._models import FORMS, MODELS
from kinlearn.datasets import load_demo
from kinlearn.persistence import open_model
from kinlearn.relatedness import task_distances
from tests.cli.conftest import pupils
from tests.versions import needs_callbacks

KIN = [sys.executable, "-c", "from kinlearn.cli import main; main()"]
FIT = ("fit", "pupils.csv", "--task", "school", "--save", "model.skops")
CLASSES = (*FIT, "--target", "passed", "--drop", "score")
TREES = (*CLASSES, "--model", "extra-trees")
NUMBERS = (*FIT, "--target", "score", "--drop", "passed")


def _options(model):
    if model == "kin":
        few = ("families=['linear','trees']", "n_estimators=5", "n_folds=2")
        return tuple(word for text in few for word in ("--set", text))
    few = "max_iter=5" if model == "boosting" else "n_estimators=5"
    return () if model in ("linear", "decision-tree", "svm") else ("--set", few)


_NAMED = [
    (name, form)
    for name, model in MODELS.items()
    for form in ([None] if model.shares else FORMS)
    if form != "shared-plus-own" or name == "linear"
]


@pytest.mark.parametrize(("name", "form"), _NAMED)
@pytest.mark.parametrize("kind", [CLASSES, NUMBERS])
def test_fit_and_predict(name, form, kind, table, kin):
    if kind is NUMBERS and MODELS[name].regressor is None:
        pytest.skip("for classes only")
    words = () if form is None else ("--form", form)
    result = kin(*kind, "--model", name, *words, *_options(name))
    assert result.code == 0, result.err
    assert "Saved as model.skops" in result.out
    result = kin("predict", "model.skops", "pupils.csv", "--out", "out.csv")
    assert result.code == 0, result.err
    found = pd.read_csv("out.csv")
    assert found.columns.tolist() == ["school", "prediction"]
    saved = open_model(Path("model.skops"))
    frame = pd.read_csv("pupils.csv", dtype=str)
    expected = saved.model.predict(frame)  # the target and what was left out included
    if kind is CLASSES:
        assert found["prediction"].tolist() == expected.tolist()
        assert (found["prediction"] == table["passed"]).mean() > 0.6
    else:
        assert_allclose(found["prediction"], expected)
        assert np.corrcoef(found["prediction"], table["score"])[0, 1] > 0.5


@pytest.mark.parametrize("name", ["kin", "linear"])
def test_fit_writes_a_model_card(name, table, kin):
    call = (*CLASSES, "--model", name, *_options(name), "--card", "card.html")
    result = kin(*call)
    assert result.code == 0, result.err
    assert "The model card: card.html" in result.out
    text = Path("card.html").read_text(encoding="utf-8")
    for words in ("Model card", "passed", "school", "model.skops", "240 rows"):
        assert words in text
    assert ("Who shares how much?" in text) == (name == "kin")
    assert json.loads(kin(*call, "--json").out)["card"] == "card.html"
    wrong = kin(*CLASSES, "--card", "card.txt")
    assert wrong.code != 0
    assert "must end in .html" in wrong.err


def test_remarks_say_what_was_done_with_the_columns(table, kin):
    table.loc[:2, "passed"] = None
    table.loc[5, "school"] = None
    table.to_csv("pupils.csv", index=False)
    result = kin(*CLASSES, "--model", "decision-tree")
    for words in (
        "Rows without a target (passed) are left out: 3.",
        "Rows without a task (school) are left out: 1.",
        "'pupil' is not used: another text in every row",
        "'nothing' is not used: no value in any row",
        "'country' is not used: the same value in every row",
        "'postcode': codes with leading zeros",
        "passed: classes no",
        "so classification",
    ):
        assert words in result.err
    assert "236 rows, 4 tasks (school), 7 columns (2 numbers" in result.out


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["yes", "no"], "classification"),
        ([0, 1], "classification"),
        ([0.5, 1.5], "classification"),
        (range(10), "classification"),
        (range(11), "regression"),
        ([0.5, 1.5, 2.0], "regression"),
        (["True", "False"], "classification"),
        (["1,5", "2,5", "7,25"], "regression"),
    ],
)
def test_the_kind_of_target_is_guessed_and_said(values, kind, table, kin):
    values = list(values)
    table["passed"] = [values[i % len(values)] for i in range(len(table))]
    table.to_csv("pupils.csv", index=False)
    result = kin(*CLASSES, "--model", "linear", "--json")
    assert json.loads(result.out)["kind"] == kind
    assert f"so {kind}" in result.err


def test_the_user_decides_the_kind(table, kin):
    table["passed"] = np.arange(len(table)) % 5
    table.to_csv("pupils.csv", index=False)
    result = kin(*CLASSES, "--model", "linear", "--regression", "--json")
    assert json.loads(result.out)["kind"] == "regression"
    assert "as requested" in result.err


def test_settings_and_seed_reach_the_model(table, kin):
    kin(*TREES, "--set", "n_estimators=7", "--set", "max_features=sqrt", "--seed", 3)
    model = open_model(Path("model.skops")).model[-1]
    assert model.n_estimators == len(model.forest_.tree_start) - 1 == 7
    assert (model.max_features, model.random_state) == ("sqrt", 3)


@pytest.mark.parametrize(
    ("words", "estimator"), [(CLASSES, KinClassifier), (NUMBERS, KinRegressor)]
)
def test_kin_is_what_is_fitted_unless_another_is_named(words, estimator, table, kin):
    result = kin(*words, "--set", "families=['linear']", "--set", "time_limit=60")
    assert "Fitted kin (" in result.out
    model = open_model(Path("model.skops")).model[-1]
    assert isinstance(model, estimator)
    assert (model.time_limit, model.unknown_task) == (60, "share")
    assert sorted(model.sharing_) == ["east", "north", "south", "west"]


def test_candidates_of_kin_can_be_named_and_added(table, kin):
    mine = "bayes=sklearn.naive_bayes.GaussianNB"
    result = kin(
        *CLASSES, "--set", "effort=fast", "--set", "families=linear,trees",
        "--set", "n_folds=3", "--estimator", mine,
    )  # fmt: skip
    assert result.code == 0, result.err
    model = open_model(Path("model.skops")).model[-1]
    assert (model.effort, model.families) == ("fast", ["linear", "trees"])
    assert {"bayes, pooled", "bayes, task as feature"} <= set(model.candidates_)
    assert len(model.candidates_) > 2
    alone = kin(*CLASSES, "--set", "families=[]", "--estimator", mine)
    assert alone.code == 0, alone.err
    model = open_model(Path("model.skops")).model[-1]
    assert list(model.candidates_) == ["bayes, pooled", "bayes, task as feature"]
    predicted = kin("predict", "model.skops", "pupils.csv")
    assert predicted.code == 0, predicted.err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "families=linear,nonsense"), "found 'nonsense'"),
        (("--estimator", "mine=sklearn.linear_model.Ridge"), "must be a classifier"),
    ],
)
def test_candidates_that_cannot_be_are_told(words, says, table, kin):
    result = kin(*CLASSES, *words)
    assert result.code == 2
    assert says in result.err.splitlines()[-1]
    assert not Path("model.skops").exists()


def test_models_have_the_names_of_kins_candidates_too(table, kin):
    result = kin(*CLASSES, "--model", "extra trees, multi-task")
    assert result.code == 0, result.err
    model = open_model(Path("model.skops")).model[-1]
    assert type(model).__name__ == "MultiTaskExtraTreesClassifier"


def test_what_kin_found_is_said(table, kin):
    table.to_csv("pupils.csv", index=False)
    few = ("--set", "families=linear", "--set", "n_folds=2")
    result = kin(*CLASSES, *few)
    model = open_model(Path("model.skops")).model[-1]
    assert f"had not seen: {model.seen_score_:.2f}" in result.out
    assert f"the school is new: {model.unseen_score_:.2f}" in result.out
    own = np.mean([parts["own"] for parts in model.sharing_.values()])
    assert f"{own:.0%} own models" in result.out
    assert "Left out" not in result.out
    found = json.loads(kin(*CLASSES, *few, "--json").out)
    assert_allclose(found["seen_score"], model.seen_score_)
    assert found["sharing"].keys() == {"east", "north", "south", "west"}
    assert found["dropped"] == {}


def test_what_the_time_limit_left_out_is_said(table, kin):
    few = ("--set", "families=linear", "--set", "time_limit=0.000001")
    out = kin(*NUMBERS, *few).out
    assert "R2 on rows" in out
    assert "is new" not in out  # there was no time to find out
    assert "Left out: mixed linear regression" in out
    assert "(the time was over)." in out
    assert "Left out" not in kin(*TREES, "--set", "n_estimators=3").out


@needs_callbacks
def test_a_bar_is_told_of_every_step():
    seen = []
    X, y = load_demo(return_X_y=True, as_frame=True)
    model = KinClassifier(task="clinic", families=["linear"], n_folds=2, random_state=0)
    model.set_callbacks(Steps(lambda *step: seen.append(step))).fit(X, y)
    n_steps = len(model.candidates_) + 1  # the last is the fit to all rows
    assert [done for done, _, _ in seen] == [
        number for step in range(n_steps) for number in (step, step + 1)
    ]
    assert {total for _, total, _ in seen} == {n_steps}
    assert [label for _, _, label in seen[::2]][:-1] == list(model.candidates_)


def test_nothing_of_the_bar_is_saved(table, kin):
    assert kin(*TREES, "--set", "n_estimators=3").code == 0
    model = open_model(Path("model.skops")).model[-1]
    assert not hasattr(model, "_skl_callbacks")


def test_manifest_tells_what_the_model_needs(table, kin):
    kin(*CLASSES, "--model", "decision-tree")
    with zipfile.ZipFile("model.skops") as archive:
        manifest = json.loads(archive.read("kinlearn.json"))
    assert manifest["classes"] == ["no", "yes"]
    assert manifest["tasks"] == ["east", "north", "south", "west"]
    assert (manifest["task"], manifest["target"]) == ("school", "passed")
    assert manifest["versions"]["kinlearn"] == kinlearn.__version__
    kinds = {column["name"]: column["kind"] for column in manifest["columns"]}
    assert kinds["entered"] == "date"
    assert kinds["meals"] == "yes/no"
    # and skops itself still reads the file
    unknown = skops.io.get_untrusted_types(file="model.skops")
    assert skops.io.load("model.skops", trusted=unknown)


@pytest.fixture
def model(table, kin):
    assert kin(*CLASSES, "--model", "linear").code == 0
    return table


def test_columns_in_any_order_and_more_of_them(model, kin):
    kin("predict", "model.skops", "pupils.csv", "--out", "a.csv")
    mixed = model[model.columns[::-1]].assign(extra=1).drop(columns="nothing")
    mixed.to_parquet("mixed.parquet")
    result = kin("predict", "model.skops", "mixed.parquet", "--out", "b.csv")
    assert result.code == 0, result.err
    assert "ignored: 'extra'" in result.err.replace("'score', ", "")
    assert Path("a.csv").read_text() == Path("b.csv").read_text()


def test_probabilities_and_ids(model, kin):
    words = ("predict", "model.skops", "pupils.csv", "--proba", "--id", "pupil")
    assert kin(*words, "--out", "out.parquet").code == 0
    found = pd.read_parquet("out.parquet")
    names = ["pupil", "school", "prediction", "probability_no", "probability_yes"]
    assert found.columns.tolist() == names
    assert found["pupil"].tolist() == model["pupil"].tolist()
    assert_allclose(found["probability_no"] + found["probability_yes"], 1)
    likely = np.where(found["probability_yes"] > 0.5, "yes", "no")
    assert (found["prediction"] == likely).all()
    # without --out the same table is printed
    printed = kin(*words, "-q").out.splitlines()
    assert printed[0] == ",".join(names)
    assert len(printed) == len(model) + 1
    records = json.loads(kin(*words, "--json").out)
    assert [r["prediction"] for r in records] == found["prediction"].tolist()


def test_unknown_tasks_are_predicted_and_named_once(model, kin):
    new = model.head(4).assign(school=["mars", None, "east", "mars"])
    new.to_csv("new.csv", index=False)
    words = ("predict", "model.skops", "new.csv")
    result = kin(*words)
    assert result.code == 0
    remark = "3 rows have an unknown school ('mars') or no school: predicted from"
    assert result.err.count(remark) == result.err.count("mars") == 1
    assert result.out.splitlines()[1].startswith("mars,")
    silent = kin(*words, "--unknown-task", "share")
    assert (silent.code, silent.out) == (0, result.out)
    assert "school" not in silent.err


def test_numbered_tasks_survive_text_floats_and_strangers(table, kin):
    table["school"] = table["school"].map(
        {"east": 1, "north": 2, "south": 3, "west": 4}
    )
    table.to_csv("pupils.csv", index=False)
    assert kin(*CLASSES, "--model", "linear").code == 0
    table.assign(school=table["school"].astype(float)).to_csv("new.csv", index=False)
    assert kin("predict", "model.skops", "new.csv").code == 0
    table.assign(school="x").to_csv("new.csv", index=False)
    assert kin("predict", "model.skops", "new.csv").code == 0


def test_cells_that_cannot_be_read_are_told(model, kin):
    model.astype({"age": object}).assign(age="old").to_csv("new.csv", index=False)
    result = kin("predict", "model.skops", "new.csv")
    assert result.code == 0
    assert "'age': 240 cells are no number (first: 'old')" in result.err


def test_relate_gives_the_distances_of_the_library(tmp_path, kin, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = load_demo(as_frame=True)
    data.frame.to_csv("demo.csv", index=False)
    words = ("relate", "demo.csv", "--task", "clinic", "--target", "readmitted")
    result = kin(*words, "--method", "ks,label-shift", "--out", "pairs.csv")
    assert result.code == 0, result.err
    pairs = pd.read_csv("pairs.csv")
    assert len(pairs) == 10 * 9 / 2
    expected = task_distances(data.data, task="clinic", method="ks")
    found = [expected[a, b] for a, b in zip(pairs["task"], pairs["other"], strict=True)]
    assert_allclose(pairs["ks"], found)
    expected = task_distances(
        data.data, data.target, task="clinic", method="label_shift"
    )
    found = [expected[a, b] for a, b in zip(pairs["task"], pairs["other"], strict=True)]
    assert_allclose(pairs["label_shift"], found)
    for clinic in data.task_names:
        assert clinic in result.out


def test_relate_as_json(table, kin):
    result = kin("relate", "pupils.csv", "--task", "school", "--json")
    document = json.loads(result.out)
    values = np.array(document["distances"]["mmd"])
    assert values.shape == (4, 4)
    assert_allclose(values, values.T)
    assert sum(document["rows"].values()) == len(table)


def test_datasets(tmp_path, kin, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "landmine" in kin("datasets", "list").out
    entries = json.loads(kin("datasets", "list", "--json").out)
    assert entries[0]["name"] == "demo"
    result = kin("datasets", "get", "demo")
    assert "kin compare demo.csv --target readmitted --task clinic" in result.out
    frame = load_demo(as_frame=True).frame
    pd.testing.assert_frame_equal(pd.read_csv("demo.csv"), frame)
    kin("datasets", "get", "demo", "--out", "d.feather")
    pd.testing.assert_frame_equal(pd.read_feather("d.feather"), frame)


@pytest.mark.parametrize("words", [TREES, ("datasets", "get", "demo")])
def test_quiet_prints_nothing(words, table, kin):
    result = kin(*words, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")


def test_version_and_help(kin):
    assert kin("--version").out == f"kinlearn {kinlearn.__version__}\n"
    assert "compare" in kin("--help").out
    for command in ("demo", "compare", "fit", "predict", "relate", "datasets"):
        assert kin(command, "--help").code == 0


def _run(*words, **options):
    return subprocess.run(
        [*KIN, *words], capture_output=True, text=True, check=False, **options
    )


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


def test_help_needs_nothing_heavy():
    code = (
        "import sys; from kinlearn.cli import run; run(['--help'])\n"
        "heavy = {'numpy', 'pandas', 'sklearn', 'scipy', 'pyarrow', 'matplotlib'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


COMPLETE = """
import os, sys
from kinlearn.cli import main

os.environ["_KIN_COMPLETE"] = "complete_bash"
sys.argv = ["kin"]
for line in sys.stdin.read().splitlines():
    os.environ |= {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    try:
        main()
    except SystemExit:
        print("---", flush=True)
"""


def test_completion_in_bash():
    """All in one process; each call ends it as far as it can."""
    answers = {
        "kin ": "compare",
        "kin fit --mo": "--model",
        "kin fit a.csv --model extra": "extra-trees",
        "kin datasets get uci:h": "uci:heart",
    }
    result = subprocess.run(
        [sys.executable, "-c", COMPLETE],
        input="\n".join(answers),
        capture_output=True,
        text=True,
        check=True,
    )
    *found, rest = result.stdout.split("---\n")
    assert rest == ""
    for answer, offered in zip(answers.values(), found, strict=True):
        assert answer in offered.split()


def test_no_colour_into_a_pipe(table):
    plain = _run("relate", "pupils.csv", "--task", "school")
    assert "\x1b[" not in plain.stdout + plain.stderr


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_a_run_that_is_stopped_leaves_no_half_file(number, tmp_path):
    pupils(3000).to_csv(tmp_path / "pupils.csv", index=False)
    words = [*TREES, "--set", "n_estimators=200000"]
    with subprocess.Popen(
        [*KIN, *words], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        for line in run.stderr:  # the last remark before the fit
            if line.startswith("passed:"):
                break
        time.sleep(0.5)
        run.send_signal(number)
        rest = run.stderr.read()
    assert [path.name for path in tmp_path.iterdir()] == ["pupils.csv"]
    if number == signal.SIGINT:
        assert run.returncode == 130
        assert rest == "kin: Stopped. Files that were not complete are not kept.\n"
    elif number == signal.SIGTERM:
        assert (run.returncode, rest) == (143, "")
