"""A model saved in Python is the same in Python and at the command line."""

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import get_tags

import kinlearn
from kinlearn import KinClassifier, KinRegressor, keep_task, with_task
from kinlearn.boosting import (
    AbstainingAdaBoostClassifier,
    MTBoostClassifier,
    MultiTaskAdaBoostClassifier,
)
from kinlearn.exceptions import KinlearnWarning
from kinlearn.persistence import open_model
from kinlearn.persistence._trusted import (
    FORMER_ATTRIBUTES,
    FORMER_NAMES,
    TRUSTED,
    name_today,
)
from kinlearn.sharing import PerTask, Pooled, TaskAsFeature
from kinlearn.svm import MultiTaskSVC, SVMPlusClassifier
from kinlearn.transfer import TrAdaBoostClassifier
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor
from tests.registry import ESTIMATORS


def _problem(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n_rows, 3)).round(3), columns=["a", "b", "c"])
    X.insert(1, "school", rng.choice(["east", "north", "west"], n_rows))
    score = X["a"] - X["b"] * (X["school"] == "east")
    return X, score


def _target(model, score):
    if is_classifier(model) or hasattr(model, "fit_resample"):
        return np.where(score > 0, "yes", "no")
    if get_tags(model).target_tags.positive_only:
        score = np.exp(score)
    return score.round(3)


@pytest.fixture
def kin(capsys, tmp_path, monkeypatch):
    """``kin predict`` on a frame, through a file of text: its predictions."""
    monkeypatch.chdir(tmp_path)
    from kinlearn.cli import run

    def predict(frame, *words):
        frame.to_csv("new.csv", index=False)
        code = run(["predict", "model.skops", "new.csv", "--out", "out.csv", *words])
        assert code == 0, capsys.readouterr().err
        return pd.read_csv("out.csv")

    return predict


@pytest.mark.parametrize(
    "estimator", [e for e in ESTIMATORS if hasattr(e, "task")], ids=repr
)
# the schools of this problem do not differ
@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SingularFitWarning")
def test_every_estimator_comes_back_without_trust(estimator, tmp_path):
    X, score = _problem()
    model = clone(estimator).set_params(task="school")
    if "target" in model.get_params():
        model.set_params(target="east")
    y = _target(model, score)
    model.fit(X, y)
    kinlearn.save(model, tmp_path / "m.skops")
    again = kinlearn.load(tmp_path / "m.skops")
    assert type(again) is type(model)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if hasattr(model, method):
            assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    manifest = open_model(tmp_path / "m.skops").manifest
    assert manifest["task"] == "school"
    assert manifest["order"] == ["a", "school", "b", "c"]


def _frames():
    encode = ColumnTransformer(
        [("colour", OneHotEncoder(sparse_output=False), ["colour"])],
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    trees = MultiTaskExtraTreesClassifier(10, task="school", random_state=0)
    yield "trees", trees
    yield "form", PerTask(LogisticRegression(), task="school")
    yield (
        "form over a pipeline",
        Pooled(make_pipeline(StandardScaler(), Ridge()), task="school"),
    )
    forest = RandomForestClassifier(5, random_state=0)
    yield "trees of scikit-learn", TaskAsFeature(forest, task="school")
    yield (
        "booster",
        TaskAsFeature(HistGradientBoostingClassifier(max_iter=5), task="school"),
    )
    yield (
        "pipeline",
        make_pipeline(keep_task(StandardScaler(), task="school"), clone(trees)),
    )
    yield "strings", make_pipeline(keep_task(encode, task="school"), clone(trees))
    search = {"min_samples_leaf": [1, 5]}
    yield "search", GridSearchCV(clone(trees), search, cv=2)


@pytest.mark.parametrize(
    ("name", "model"), list(_frames()), ids=[name for name, _ in _frames()]
)
def test_the_command_line_predicts_the_same(name, model, kin):
    X, score = _problem()
    if name == "strings":
        X["colour"] = np.where(X["c"] > 0, "red", "blue")
    model.fit(X, _target(model, score))
    kinlearn.save(model, "model.skops", target="passed")
    new = X.assign(passed="?", other=1)[["other", *X.columns[::-1], "passed"]]
    out = kin(new)
    assert list(out) == ["school", "prediction"]
    # pandas before 3.0 reads some numbers of a file as their neighbours
    if is_classifier(model):
        assert_array_equal(out["prediction"], model.predict(X))
    else:
        assert_allclose(out["prediction"], model.predict(X), rtol=1e-12)
    if hasattr(model, "predict_proba"):
        out = kin(new, "--proba")
        expected = model.predict_proba(X)[:, 1]
        assert_allclose(out["probability_yes"], expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("form", [None, PerTask, Pooled])
def test_a_table_of_mixed_columns(form, kin):
    X, score = _problem(300)
    X["colour"] = np.where(X["c"] > 0, "red", "blue")
    X["code"] = [f"{i % 7:03d}" for i in range(len(X))]
    X["when"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)), "D")
    X["member"] = (X["c"] > 1).to_numpy()
    X.iloc[::9, 3] = np.nan
    score = score + X["code"].isin(["001", "004"])  # read as text, or lost
    if form is None:
        model = MultiTaskExtraTreesClassifier(10, task="school", random_state=0)
    else:
        model = form(LogisticRegression(max_iter=1000), task="school")
    model.fit(X, _target(model, score))
    kinlearn.save(model, "model.skops")
    assert_array_equal(kin(X)["prediction"], model.predict(X))
    text = X.astype(str).where(X.notna(), None)
    assert_array_equal(kinlearn.load("model.skops").predict(text), model.predict(X))


def test_integer_tasks_an_array_and_its_names(kin):
    X, score = _problem()
    codes = X.pop("school").map({"east": 3, "north": 5, "west": 9})
    array = with_task(X.to_numpy(), codes)
    model = make_pipeline(
        keep_task(StandardScaler(), task=-1), PerTask(Ridge(), task=-1)
    ).fit(array, score)
    names = ["a", "b", "c", "school"]
    kinlearn.save(model, "model.skops", columns=names)
    assert open_model("model.skops").manifest["tasks"] == [3, 5, 9]
    frame = pd.DataFrame(array, columns=names).astype({"school": int})
    np.testing.assert_allclose(
        kin(frame[names[::-1]])["prediction"], model.predict(array), rtol=1e-12
    )
    kinlearn.save(model, "model.skops")
    frame.columns = ["x0", "x1", "x2", "x3"]
    assert len(kin(frame)) == len(frame)
    with pytest.raises(ValueError, match="4 different names"):
        kinlearn.save(model, "model.skops", columns=names[:2])
    with pytest.raises(ValueError, match="knows its columns"):
        kinlearn.save(Pooled(Ridge()).fit(X, score), "model.skops", columns=names)


def test_a_model_without_tasks(kin):
    X, score = _problem()
    X = X.drop(columns="school")
    model = MultiTaskExtraTreesRegressor(5, random_state=0).fit(X, score)
    kinlearn.save(model, "model.skops")
    out = kin(X)
    assert list(out) == ["prediction"]
    np.testing.assert_allclose(out["prediction"], model.predict(X), rtol=1e-12)


def test_privileged_columns_may_be_absent_at_the_command_line(kin):
    X, score = _problem()
    y = _target(SVMPlusClassifier(), score)
    model = SVMPlusClassifier(privileged=["b"]).fit(X.drop(columns="school"), y)
    kinlearn.save(model, "model.skops")
    assert_array_equal(kin(X[["c", "a"]])["prediction"], model.predict(X[["a", "c"]]))


@pytest.mark.parametrize("unknown_task", ["warn", "error"])
def test_the_command_line_names_unknown_tasks_of_a_model_from_python(
    unknown_task, kin, capsys
):
    X, score = _problem()
    model = PerTask(Ridge(), task="school", unknown_task=unknown_task)
    model.fit(X[["a", "school"]], score)
    kinlearn.save(model, "model.skops")
    new = X[["a", "school"]].assign(school="mars")
    if unknown_task == "warn":  # no warning of Python's beside the remark
        found = kin(new)["prediction"]
        shared = model.set_params(unknown_task="share").predict(new)
        assert_allclose(found, shared, rtol=1e-6)
        return
    from kinlearn.cli import run

    new.to_csv("new.csv", index=False)
    assert run(["predict", "model.skops", "new.csv"]) == 2
    assert "did not see in fit: 'mars'" in capsys.readouterr().err


def test_a_model_of_the_command_line_in_python(tmp_path, monkeypatch):
    from kinlearn.cli import run
    from tests.cli.conftest import pupils

    monkeypatch.chdir(tmp_path)
    pupils().to_csv("pupils.csv", index=False)
    words = "--target passed --task school --drop score --model extra-trees"
    assert run(f"fit pupils.csv {words} --save model.skops".split()) == 0
    assert run(["predict", "model.skops", "pupils.csv", "--out", "out.csv"]) == 0
    model = kinlearn.load("model.skops")
    for options in ({}, {"dtype": str}, {"dtype": {"postcode": str}}):
        frame = pd.read_csv("pupils.csv", **options)
        got = model.predict(frame[model.feature_names_in_])
        if options:  # a code such as 01003 is text only where it was read as such
            assert_array_equal(got, pd.read_csv("out.csv")["prediction"])


def _kin_like(n_rows=300, n_tasks=4):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=list("abcd"))
    X.iloc[::17, 0] = np.nan
    X["e"] = rng.integers(0, 2, n_rows)
    X["task"] = rng.integers(0, n_tasks, n_rows)
    y = X["b"] * (1 + X["task"]) + X["c"] ** 2 + rng.normal(size=n_rows)
    return X, y


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_kin_predicts_the_same_bits(kind, tmp_path):
    X, y = _kin_like()
    options = {"task": "task", "n_folds": 2, "n_estimators": 20, "random_state": 0}
    options["unknown_task"] = "share"
    options["families"] = ["linear", "trees", "boosting"]
    if kind == "classes":
        model = KinClassifier(**options).fit(X, y > 1)
    else:
        model = KinRegressor(**options).fit(X, y)
    before = {key: id(value) for key, value in vars(model).items()}
    expected = model.predict(X)
    kinlearn.save(model, tmp_path / "m.skops")
    assert {key: id(value) for key, value in vars(model).items()} == before
    assert_array_equal(model.predict(X), expected)
    again = kinlearn.load(tmp_path / "m.skops")
    assert_array_equal(again.predict(X), expected)
    unknown = X.assign(task=99)
    assert_array_equal(again.predict(unknown), model.predict(unknown))
    assert_array_equal(again.task_affinity_, model.task_affinity_)
    # and a second time round
    kinlearn.save(again, tmp_path / "n.skops")
    assert_array_equal(kinlearn.load(tmp_path / "n.skops").predict(X), expected)


def test_a_forest_by_itself_keeps_all_that_it_knows(tmp_path):
    X, y = _kin_like()
    model = MultiTaskExtraTreesRegressor(10, task="task", random_state=0).fit(X, y)
    kinlearn.save(model, tmp_path / "m.skops")
    again = kinlearn.load(tmp_path / "m.skops")
    assert_array_equal(again.feature_importances_, model.feature_importances_)
    for name, array in vars(model.forest_).items():
        assert_array_equal(vars(again.forest_)[name], array)
        assert getattr(vars(again.forest_)[name], "dtype", 0) == getattr(
            array, "dtype", 0
        )
    more = X.assign(task=77), y
    assert_array_equal(
        again.add_task(*more).predict(X), model.add_task(*more).predict(X)
    )


class Foreign(ClassifierMixin, BaseEstimator):
    """An estimator of somebody else."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.repeat(self.classes_[:1], len(X))


def test_types_of_others_are_named_and_can_be_trusted(tmp_path, kin):
    X, score = _problem()
    y = _target(Foreign(), score)
    name = f"{Foreign.__module__}.Foreign"
    model = PerTask(Foreign(), task="school").fit(X, y)
    with pytest.warns(KinlearnWarning, match="trusted=") as caught:
        kinlearn.save(model, "model.skops")
    assert name in str(caught[0].message)
    with pytest.raises(ValueError, match=r"wants to build .*Foreign") as refused:
        kinlearn.load("model.skops")
    assert f"trusted=['{name}']" in str(refused.value)
    again = kinlearn.load("model.skops", trusted=[name])
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(kin(X, "--trust", name)["prediction"], model.predict(X))


def test_what_cannot_be_loaded_has_a_remedy(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = _kin_like()
    model = MultiTaskExtraTreesRegressor(5, task="task").fit(X, y)
    with pytest.raises(NotFittedError):
        kinlearn.save(clone(model), "m.skops")
    assert not Path("m.skops").exists()
    kinlearn.save(model, "m.skops")
    content = Path("m.skops").read_bytes()
    Path("cut.skops").write_bytes(content[:-300])
    Path("text.skops").write_text("hello")
    with pytest.raises(FileNotFoundError, match=r"Make one by kinlearn\.save"):
        kinlearn.load("nothing.skops")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        kinlearn.load(tmp_path)
    with pytest.raises(ValueError, match="cut short or damaged"):
        kinlearn.load("cut.skops")
    with pytest.raises(ValueError, match="is not a model of kin's"):
        kinlearn.load("text.skops")

    def absent(name):
        raise ModuleNotFoundError(f"No module named {name!r}", name="skops")

    monkeypatch.setattr("kinlearn.utils._packages.import_module", absent)
    with pytest.raises(ImportError, match=r"kinlearn\[report\]"):
        kinlearn.load("m.skops")


def _rewrite(path, change):
    """Change a file's schema and entries in place, with a right checksum."""
    from kinlearn.persistence import _model_file as file

    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(parts.pop("kinlearn.json"))
    schema = json.loads(parts["schema.json"])
    change(schema, parts)
    parts["schema.json"] = json.dumps(schema).encode()
    manifest["sha256"] = file._checksum(manifest, parts)
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("kinlearn.json", json.dumps(manifest))
        for name, part in parts.items():
            out.writestr(name, part)


def _as_of_version_0_1(schema, parts):
    """Types lay in other modules, and some had other names or attributes."""
    from kinlearn.persistence._model_file import _named_types

    former = {today: old.partition(".")[2] for old, today in FORMER_NAMES.items()}
    for node in _named_types(schema):
        name = f"{node['__module__']}.{node['__class__']}"
        if not name.startswith("kinlearn."):
            continue
        for old, new in FORMER_ATTRIBUTES.get(name, {}).items():
            state = node["content"]["content"]
            state[old] = state.pop(new)
        top, package, *_ = name.split(".")
        node["__module__"] = f"{top}.{package}._elsewhere"
        node["__class__"] = former.get(name, node["__class__"])


@pytest.mark.parametrize(
    "model",
    [
        AbstainingAdaBoostClassifier(5, random_state=0),
        MTBoostClassifier(n_estimators=5, random_state=0),
        MultiTaskAdaBoostClassifier(n_estimators=5, random_state=0),
        TrAdaBoostClassifier(n_estimators=5, target="east", random_state=0),
        MultiTaskExtraTreesRegressor(5, random_state=0),
        MultiTaskSVC(),
        TaskAsFeature(LogisticRegression()),
        KinRegressor(families=["linear"], n_folds=2, random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_older_versions_can_be_loaded(model, tmp_path):
    X, score = _problem()
    X["colour"] = np.where(X["c"] > 0, "red", "blue")
    model = clone(model).set_params(task="school").fit(X, _target(model, score))
    kinlearn.save(model, tmp_path / "m.skops")
    _rewrite(tmp_path / "m.skops", _as_of_version_0_1)
    again = kinlearn.load(tmp_path / "m.skops")
    assert_array_equal(again.predict(X), model.predict(X))


def test_a_machine_that_can_go_on_can_be_loaded(tmp_path):
    X, score = _problem()
    model = SVMPlusClassifier(privileged=["b"], warm_start=True)
    model.fit(X[["a", "b", "c"]], score > 0)
    kinlearn.save(model, tmp_path / "m.skops")
    again = kinlearn.load(tmp_path / "m.skops")
    X = X[["a", "c"]]
    assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_types_can_be_found_by_package_and_name():
    ours = [n.split(".") for n in TRUSTED if n.startswith("kinlearn.")]
    assert len({(package, last) for _, package, *_, last in ours}) == len(ours)
    assert set(FORMER_ATTRIBUTES) <= TRUSTED
    assert set(FORMER_NAMES.values()) <= TRUSTED
    assert name_today("kinlearn.trees._forest.Evil") == "kinlearn.trees._forest.Evil"
    assert name_today("os.system") == "os.system"


@pytest.mark.parametrize("where", ["right", "leaf_start", "exceptions", "feature"])
def test_a_forest_made_to_read_elsewhere_is_refused(where, tmp_path):
    # with a right checksum, as somebody would who means harm
    from kinlearn.persistence._packing import Blob

    def harm(schema, parts):
        blob = schema["content"]["content"]["forest_"]["content"]["content"]["blob"]
        fields = blob["content"]["content"]
        entry = fields["data"]["file"]
        arrays = Blob(
            json.loads(fields["header"]["content"]), np.load(io.BytesIO(parts[entry]))
        ).arrays()
        feature = arrays["nodes.feature"]
        if where == "right":
            arrays["nodes.right"] = np.full(len(feature), 10**6, np.int32)
        elif where == "feature":
            arrays["nodes.feature"] = np.where(feature > 0, 10**6, feature)
        elif where == "exceptions":
            arrays["exceptions"] = arrays["exceptions"][:0]
            arrays["exception_start"] = arrays["exception_start"] + 5
        else:
            arrays["leaf_start"] = arrays["leaf_start"] * 2
        evil = Blob.of(arrays)
        stream = io.BytesIO()
        np.save(stream, evil.data)
        parts[entry] = stream.getvalue()
        fields["header"]["content"] = json.dumps(evil.header)

    X, y = _kin_like()
    model = MultiTaskExtraTreesRegressor(5, task="task").fit(X, y)
    kinlearn.save(model, tmp_path / "evil.skops")
    _rewrite(tmp_path / "evil.skops", harm)
    with pytest.raises(ValueError, match="no fit leaves behind"):
        kinlearn.load(tmp_path / "evil.skops")
