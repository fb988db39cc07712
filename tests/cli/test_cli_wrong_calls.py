"""Wrong calls end with code 2, one line that helps, and no file left behind."""

import errno
import gzip
import json
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from kinlearn.cli import run
from kinlearn.persistence import _model_file
from tests.cli.conftest import pupils

FIT = "fit pupils.csv --target passed --task school --save new.skops"
PREDICT = "predict model.skops pupils.csv --out new.csv"
RELATE = "relate pupils.csv --task school"
COMPARE = "compare pupils.csv --target passed --task school --out new.html"


def _write_files():
    """Everything that the calls below read, in the current folder."""
    frame = pupils(80)
    frame.to_csv("pupils.csv", index=False)
    frame.to_csv("bars.csv", index=False, sep="|")
    Path("empty.csv").write_text("")
    Path("header.csv").write_text("a,school,score\n")
    Path("nonames.csv").write_text("1,2,3\n4,5,6\n")
    Path("one.csv").write_text("a\n1\n2\n")
    Path("twice.csv").write_text("a,a,school\n1,2,x\n3,4,y\n")
    Path("ragged.csv").write_text("a,school,y\n1,x,0\n1,x,0,9,9\n")
    Path("wide.csv").write_text("a,school\n1,x,0\n2,x,0\n")
    Path("binary.csv").write_bytes(bytes(range(256)) * 20)
    Path("photo.csv").write_bytes(b"PK\x03\x04" + bytes(100))
    Path("text.parquet").write_text("a,b\n1,2\n")
    frame.to_parquet("cut.parquet")
    Path("cut.parquet").write_bytes(Path("cut.parquet").read_bytes()[:3000])
    frame.to_parquet("parquet.csv")
    Path("cut.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:60])
    Path("latin.csv").write_bytes("a,näme,y\n1,x,0\n".encode("latin-1"))
    Path("folder").mkdir()
    frame.assign(school="x").to_csv("onetask.csv", index=False)
    frame.assign(passed="yes").to_csv("oneclass.csv", index=False)
    holes = frame["school"].where(frame["passed"] == "yes")
    frame.assign(school=holes).to_csv("oneleft.csv", index=False)
    frame.assign(score=3).to_csv("onescore.csv", index=False)
    frame.assign(passed=np.nan).to_csv("notarget.csv", index=False)
    frame.assign(school=np.nan).to_csv("notask.csv", index=False)
    frame[["school", "passed", "country"]].to_csv("nofeature.csv", index=False)
    frame.drop(columns=["age", "sex"]).to_csv("lacking.csv", index=False)
    frame.assign(school="x").to_csv("stranger.csv", index=False)
    frame.assign(school=[None, *frame["school"][1:]]).to_csv("hole.csv", index=False)
    frame.rename(columns={"pupil": "prediction"}).to_csv("clash.csv", index=False)


def _change(out, edit, name="kinlearn.json"):
    """A copy of the model in which one entry was edited."""
    with zipfile.ZipFile("model.skops") as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.namelist():
            content = old.read(entry)
            new.writestr(entry, edit(content) if entry == name else content)


def _write_models():
    words = ["fit", "pupils.csv", "--target", "passed", "--task", "school", "--drop"]
    words += ["score", "--model", "decision-tree", "-q", "--save", "model.skops"]
    assert run(words) == 0
    words[words.index("passed")] = "score"
    words[words.index("score", 6)] = "passed"
    words[words.index("decision-tree")] = "linear"
    words[-1] = "numbers.skops"
    assert run(words) == 0
    content = Path("model.skops").read_bytes()
    Path("cut.skops").write_bytes(content[: len(content) // 2])
    _change("edited.skops", lambda text: text.replace(b'"yes"', b'"YES"'))
    _change("newer.skops", lambda text: text.replace(b'version": 2', b'version": 9'))
    _change("format.skops", lambda text: text.replace(b"kinlearn-model", b"other"))
    _change("garbled.skops", lambda text: b"{")
    _change("tree.skops", lambda text: text.replace(b"1", b"2"), "schema.json")
    skops.io.dump(LogisticRegression(), "plain.skops")
    with zipfile.ZipFile("archive.skops", "w") as archive:
        archive.writestr("hello.txt", "hello")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("wrong")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        _write_files()
        _write_models()
    return path


MINE = "mine=sklearn.linear_model.RidgeClassifier"
# call -> what the line must say
CALLS = [
    # words
    ("nonsense", "No such command 'nonsense'"),
    ("fit", "Missing argument"),
    ("fit pupils.csv --task school --save new.skops", "--target"),
    (f"{FIT} --nonsense", "No such option: --nonsense"),
    (f"{FIT} extra.csv", "extra argument"),
    (f"{FIT} --seed -1", "--seed"),
    (f"{FIT} --seed x", "valid integer"),
    (f"{FIT} --jobs 0", "--jobs 0"),
    (f"{FIT} --classification --regression", "exclude each other"),
    ("demo --out page.pdf", "must end in .html"),
    # files that are no tables
    (FIT.replace("pupils.csv", "pupil.csv"), "Did you mean 'pupils.csv'?"),
    (FIT.replace("pupils.csv", "nowhere/a.csv"), "There is no folder nowhere"),
    (FIT.replace("pupils.csv", "folder"), "folder is a folder"),
    (FIT.replace("pupils.csv", "empty.csv"), "0 bytes"),
    (FIT.replace("pupils.csv", "header.csv"), "no rows"),
    (FIT.replace("pupils.csv", "nonames.csv"), "not names of columns"),
    (FIT.replace("pupils.csv", "one.csv"), "only one column"),
    (FIT.replace("pupils.csv", "twice.csv"), "two columns of one name: 'a'"),
    (FIT.replace("pupils.csv", "ragged.csv"), "line 3, saw 5"),
    (FIT.replace("pupils.csv", "wide.csv"), "more fields than"),
    (FIT.replace("pupils.csv", "binary.csv"), "binary file"),
    (FIT.replace("pupils.csv", "photo.csv"), "Excel workbook or a zip"),
    (FIT.replace("pupils.csv", "text.parquet"), "Rename it to .csv"),
    (FIT.replace("pupils.csv", "cut.parquet"), "damaged or cut short"),
    (FIT.replace("pupils.csv", "parquet.csv"), "Rename it to parquet.parquet"),
    (FIT.replace("pupils.csv", "cut.csv.gz"), "cut.csv.gz"),
    (f"{FIT} --separator ;", "--separator comma"),
    (f"{FIT} --separator ab", "not one character"),
    (f"{FIT} --encoding klingon", "no encoding 'klingon'"),
    (FIT.replace("pupils.csv", "latin.csv --encoding utf-8"), "not utf-8 text"),
    # columns
    (FIT.replace("passed", "pased"), "Did you mean 'passed'?"),
    (FIT.replace("--task school", "--task School"), "Did you mean 'school'?"),
    (FIT.replace("--target passed", "--target school"), "both name 'school'"),
    (FIT.replace("--task school", "--task pupil"), "a task of its own"),
    (FIT.replace("pupils.csv", "onetask.csv"), "one task only ('x')"),
    (FIT.replace("pupils.csv", "oneclass.csv"), "one class only ('yes')"),
    (FIT.replace("pupils.csv", "oneleft.csv"), "in the 40 rows that have a task"),
    (FIT.replace("pupils.csv", "onescore.csv").replace("passed", "score"), "one class"),
    (FIT.replace("pupils.csv", "notarget.csv"), "missing in every row"),
    (FIT.replace("pupils.csv", "notask.csv"), "missing in every row"),
    (FIT.replace("pupils.csv", "nofeature.csv"), "left to learn from"),
    (f"{FIT} --regression", "needs numbers"),
    (f"{FIT} --drop nowhere", "no column 'nowhere' (--drop)"),
    (f"{FIT} --keep nowhere", "no column 'nowhere' (--keep)"),
    (f"{FIT} --drop school", "that is the task"),
    (f"{FIT} --categorical passed", "that is the target"),
    (f"{FIT} --drop age --categorical age", "to be dropped and to be used"),
    # models
    (f"{FIT} --model extra-tree", "Did you mean 'extra-trees'?"),
    (f"{FIT} --form alone", "shares by itself"),
    (f"{FIT} --model linear --form together", "There is no form 'together'"),
    (f"{FIT} --model boosting --form shared-plus-own", "is for --model linear"),
    (f"{FIT} --set n_estimator=5", "Did you mean 'n_estimators'?"),
    (f"{FIT} --set n_estimators=-5", "range [1, inf)"),
    (f"{FIT} --set n_estimators=many", "Got 'many' instead"),
    (f"{FIT} --set n_estimators", "name=value"),
    (f"{FIT} --set task=age", "no parameter 'task'"),
    (f"{FIT} --model extra-trees --estimator {MINE}", "is for --model kin"),
    (f"{FIT} --estimator sklearn.linear_model.Ridge", "name=package.module.Class"),
    (f"{FIT} --estimator a=Ridge", "name=package.module.Class"),
    (f"{FIT} --estimator a=nowhere.at.all.Ridge", "No module named 'nowhere'"),
    (f"{FIT} --estimator a=sklearn.linear_model.Rigde", "Did you mean 'Ridge'?"),
    (f"{FIT} --estimator a=os.path.join", "has no estimator 'join'"),
    (f"{FIT} --estimator a=sklearn.ensemble.VotingClassifier", "without arguments"),
    (f"{FIT} --estimator {MINE} --estimator {MINE}", "given twice"),
    (f"{FIT} --set estimators=5", "no parameter 'estimators'"),
    (
        f"{FIT} --model decision-tree".replace("passed", "score"),
        "predicts classes, not numbers",
    ),
    # outputs
    (FIT.replace("new.skops", "new.pkl"), "must end in .skops"),
    (FIT.replace("new.skops", "nowhere/new.skops"), "There is no folder nowhere"),
    (f"{RELATE} --out pupils.csv", "is the input, too"),
    (f"{RELATE} --out new.xlsx", ".csv, .tsv, .parquet"),
    (f"{RELATE} --out folder/x/new.csv", "There is no folder folder/x"),
    (f"{COMPARE} --no-kin --store {'n' * 300}", "File name too long. Name another"),
    (f"{COMPARE} --no-kin --store {'n' * 300}/x", "the name is too long"),
    # model files
    (PREDICT.replace("model.skops", "nowhere.skops"), "kin fit ... --save"),
    (PREDICT.replace("model.skops", "folder"), "is a folder"),
    ("predict pupils.csv model.skops", "The model comes first"),
    (PREDICT.replace("model", "cut"), "cut short or damaged"),
    (PREDICT.replace("model", "edited"), "checksum is wrong"),
    (PREDICT.replace("model", "tree"), "checksum is wrong"),
    (PREDICT.replace("model", "newer"), "Install a newer kinlearn"),
    (PREDICT.replace("model", "format"), "unknown format"),
    (PREDICT.replace("model", "garbled"), "damaged manifest"),
    (PREDICT.replace("model", "plain"), "a skops file, but no model"),
    (PREDICT.replace("model", "archive"), "a zip archive, but no model"),
    # new rows
    (PREDICT.replace("pupils", "lacking"), "lacks 'age', 'sex'"),
    (
        PREDICT.replace("pupils", "stranger") + " --unknown-task error",
        "does not know school 'x'",
    ),
    (PREDICT.replace("pupils", "hole") + " --unknown-task error", "first: row 1"),
    (f"{PREDICT} --id nowhere", "no column 'nowhere' (--id)"),
    (PREDICT.replace("pupils", "clash") + " --id prediction", "name of an output"),
    (f"{PREDICT} --unknown-task guess", "warn, share or error"),
    (f"{PREDICT} --proba".replace("model", "numbers"), "predicts numbers"),
    # distances and data sets
    (f"{RELATE} --method mmmd", "Did you mean 'mmd'?"),
    (f"{RELATE} --method label_shift", "--target"),
    ("datasets get nonsense", "no data set 'nonsense'"),
    ("datasets get school --data-home folder", "no public address"),
]


@pytest.mark.parametrize(("words", "says"), CALLS, ids=[words for words, _ in CALLS])
def test_wrong_call_is_one_line(words, says, folder, kin, monkeypatch):
    monkeypatch.chdir(folder)
    before = sorted(folder.rglob("*"))
    result = kin(*words.split(" "))
    assert result.code == 2, result.err
    assert result.err.count("\n") == 1, result.err
    assert result.err.startswith("kin: ")
    assert len(result.err) < 300
    assert says in result.err
    assert result.out == ""
    assert sorted(folder.rglob("*")) == before


def test_there_are_enough_wrong_calls():
    assert len(CALLS) >= 40
    assert len({words for words, _ in CALLS}) == len(CALLS)


@pytest.mark.parametrize(
    ("code", "says"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EDQUOT, "quota"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "no permission"),
        (errno.EIO, "Input/output error"),
    ],
)
@pytest.mark.parametrize(
    "words", [f"{FIT} --model linear", f"{PREDICT} -q", f"{RELATE} --out new.csv"]
)
def test_a_failing_write_leaves_the_old_file(
    words, code, says, folder, kin, monkeypatch
):
    # on a real full disk, fsync or write fails: both end here
    monkeypatch.chdir(folder)
    target = Path(words.split(" ")[words.split(" ").index("new.csv")]
                  if "new.csv" in words else "new.skops")  # fmt: skip
    target.write_text("the old one")

    def fail(handle):
        raise OSError(code, "Input/output error")

    monkeypatch.setattr(os, "fsync", fail)
    before = sorted(folder.rglob("*"))
    result = kin(*words.split(" "))
    assert result.code == 2
    assert says in result.err.splitlines()[-1]
    assert target.read_text() == "the old one"
    assert sorted(folder.rglob("*")) == before
    target.unlink()


def test_a_folder_that_refuses_new_files(folder, kin, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)
    result = kin(*FIT.split(" "))
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "cannot be written to" in result.err


def test_a_folder_that_refuses_later(folder, kin, monkeypatch):
    monkeypatch.chdir(folder)

    def refuse(*args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(tempfile, "mkstemp", refuse)
    result = kin(*f"{RELATE} --out new.csv -q".split(" "))
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert "Cannot write new.csv: no permission" in result.err


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, RuntimeError("odd")])
def test_an_interrupted_write_leaves_nothing(error, folder, kin, monkeypatch):
    monkeypatch.chdir(folder)

    def stop(self, path, **options):
        Path(path).write_text("half a ta")
        raise error

    monkeypatch.setattr(pd.DataFrame, "to_csv", stop)
    before = sorted(folder.rglob("*"))
    result = kin(*f"{RELATE} --out new.csv -q".split(" "))
    assert result.code == {KeyboardInterrupt: 130}.get(error, 1)
    assert result.err.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


def test_a_model_with_other_types_is_refused(folder, kin, monkeypatch):
    # made with a right checksum, as an attacker would
    monkeypatch.chdir(folder)
    with zipfile.ZipFile("model.skops") as archive:
        manifest = json.loads(archive.read("kinlearn.json"))
    parts = {}
    with zipfile.ZipFile(Path("plain.skops")) as archive:
        for name in archive.namelist():
            parts[name] = archive.read(name)
    parts["schema.json"] = parts["schema.json"].replace(
        b'"sklearn.linear_model._logistic"', b'"subprocess"'
    ).replace(b'"LogisticRegression"', b'"Popen"')  # fmt: skip
    assert b"Popen" in parts["schema.json"]
    manifest["sha256"] = _model_file._checksum(manifest, parts)
    with zipfile.ZipFile("evil.skops", "w") as out:
        out.writestr("kinlearn.json", json.dumps(manifest))
        for name, part in parts.items():
            out.writestr(name, part)
    result = kin("predict", "evil.skops", "pupils.csv")
    Path("evil.skops").unlink()
    assert result.code == 2
    assert "wants to build 'subprocess.Popen'" in result.err


def test_debug_shows_the_traceback(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(Exception, match="0 bytes"):
        run([*FIT.replace("pupils.csv", "empty.csv").split(" "), "--debug"])
