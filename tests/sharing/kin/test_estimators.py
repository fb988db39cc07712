"""KinClassifier and KinRegressor: candidates, answers, budget, unseen tasks."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

import kinlearn
from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.boosting import MultiTaskGradientBoostingClassifier
from kinlearn.exceptions import UnknownTaskWarning
from kinlearn.sharing import Pooled
from kinlearn.sharing.kin import _base, _levels
from kinlearn.sharing.kin._candidates import Size, choose_candidates
from kinlearn.sharing.kin._combine import Evidence
from kinlearn.sharing.kin._features import Standardisation
from kinlearn.sharing.kin._training import staged_predictions
from kinlearn.tasks import find_label_sets
from tests.interrupt import seconds_to_stop
from tests.versions import needs_callbacks

QUICK = {"n_estimators": 10, "n_folds": 3, "random_state": 0}


def make_tasks(classes, sizes=(60, 40, 25, 12), seed=0, noise=0.5):
    """Linear tasks: a common slope, and another one in the last task."""
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(len(sizes)), sizes)
    X = rng.normal(size=(len(task), 3))
    slope = np.tile([1.0, -1.0, 0.0], (len(sizes), 1))
    slope[-1] = [-1.0, 1.0, 1.0]
    y = (X * slope[task]).sum(axis=1) + noise * rng.normal(size=len(task))
    X = with_task(X, task)
    return (X, (y > 0).astype(int)) if classes else (X, y)


def make_kin(classes, **options):
    estimator = KinClassifier if classes else KinRegressor
    return estimator(task=-1, **{**QUICK, **options})


@pytest.fixture(scope="module", params=[True, False], ids=["classes", "numbers"])
def fitted(request):
    """All families, with boosting: 137 rows."""
    X, y = make_tasks(request.param)
    return make_kin(request.param).fit(X, y), X, y


def test_ctrl_c_stops_a_fit():
    rng = np.random.default_rng(0)
    X = with_task(rng.normal(size=(8_000, 10)), rng.integers(20, size=8_000))
    y = (X[:, 0] + rng.normal(size=8_000) > 0).astype(int)
    model = KinClassifier(task=-1, families="boosting")
    assert seconds_to_stop(lambda: model.fit(X, y), after=0.8) < 1


def test_top_level_names_are_those_of_the_package():
    assert kinlearn.KinClassifier is kinlearn.sharing.KinClassifier
    assert kinlearn.KinRegressor is kinlearn.sharing.KinRegressor


def test_predictions_are_the_weighted_sum_of_the_models(fitted):
    model, X, _ = fitted
    classes = hasattr(model, "classes_")
    scale = Standardisation.of(X[:, :-1], np.ones(len(X)))
    scaled = with_task(scale.apply(X[:, :-1]), X[:, -1].astype(int))
    of_scaled = ("logistic", "ridge", "mixed", "support")
    expected = 0.0
    for k, (name, part) in enumerate(
        zip(model.candidates_, model.models_, strict=True)
    ):
        if part is None:
            assert_array_equal(model.weights_[:, k], 0)
            continue
        wants_scaled = name.startswith(of_scaled) or name.endswith("like tasks")
        rows = scaled if wants_scaled else X
        if not classes:
            answer = part.predict(rows)
        else:
            if name.startswith("support"):
                odds = np.exp(2 * part.decision_function(rows))
                answer = np.column_stack([1 / (1 + odds), odds / (1 + odds)])
            else:
                answer = part.predict_proba(rows)
            right = model._corrections[k]
            answer = np.where(answer > 0, np.maximum(answer, 1e-6), 1e-4)
            answer = answer**right.power * np.exp(right.shift)
            answer /= answer.sum(axis=1, keepdims=True)
        weight = model.weights_[X[:, -1].astype(int), k]
        expected = expected + (weight[:, None] if classes else weight) * answer
    if classes:
        expected = expected**model.temperature_
        expected /= expected.sum(axis=1, keepdims=True)
        assert_allclose(model.predict_proba(X), expected)
        assert_array_equal(model.predict(X), expected.argmax(axis=1))
    else:
        assert_allclose(model.predict(X), expected)


def test_every_family_and_role_takes_part(fitted):
    model, _, _ = fitted
    assert set(model.roles_) == {"own", "pooled", "shared"}
    words = " ".join(model.candidates_)
    families = ("regression", "machine", "trees", "boosting")
    assert all(word in words for word in families)
    assert set(model.settings_) == set(model.seconds_) == set(model.candidates_)
    assert model.dropped_ == {}
    assert model.refit_seconds_ > 0


def test_weights_are_convex_and_sharing_sums_them(fitted):
    model, _, _ = fitted
    assert (model.weights_ >= 0).all()
    assert_allclose(model.weights_.sum(axis=1), 1)
    assert_allclose(sum(model.scale_shares_.values()), 1)
    for t, task in enumerate(model.tasks_.tolist()):
        parts = model.sharing_[task]
        assert_allclose(sum(parts.values()), 1)
        own = model.weights_[t, model.roles_ == "own"].sum()
        assert_allclose(parts["own"], own)


def test_traces_of_candidates_are_dropped(fitted):
    model, _, _ = fitted
    positive = model.weights_[model.weights_ > 0]
    assert positive.min() >= 0.01
    for k, part in enumerate(model.models_):
        used = model.weights_[:, k].any() or model.unseen_weights_[k] > 0
        assert (part is not None) == used


@pytest.mark.parametrize("options", [{"unknown_task": "error"}, {"task": None}])
def test_traces_are_dropped_where_nothing_is_known_of_unseen_tasks(options):
    X, _ = make_tasks(classes=False)
    options = {"task": -1, "families": ["linear", "trees"], **QUICK, **options}
    model = KinRegressor(**options).fit(X, X[:, 0])
    assert (model.crowd_weights_ < 0.01).any()  # else this test would test nothing
    positive = model.unseen_weights_[model.unseen_weights_ > 0]
    assert positive.min() >= 0.01
    assert_allclose(positive.sum(), 1)


def test_unseen_tasks_have_weights_of_their_own(fitted):
    model, X, _ = fitted
    assert_allclose(model.unseen_weights_.sum(), 1)
    assert_array_equal(model.unseen_weights_[model.roles_ == "own"], 0)
    assert set(model.unseen_task_scores_) == {0, 1, 2, 3}
    strange = X.copy()
    strange[:, -1] = 9
    with pytest.warns(UnknownTaskWarning, match="9"):
        answer = model.predict(strange)
    assert len(answer) == len(X)
    # nothing of a task is known, so rows of two strange tasks get the same
    strange[:, -1] = 17
    with pytest.warns(UnknownTaskWarning, match="17"):
        assert_array_equal(model.predict(strange), answer)


@pytest.mark.filterwarnings("ignore::kinlearn.exceptions.SingularFitWarning")
def test_unseen_score_is_that_of_tasks_left_out_one_by_one():
    X, y = make_tasks(classes=False, sizes=(40, 40, 40))
    model = make_kin(False, families=["linear"]).fit(X, y)
    Z = Standardisation.of(X[:, :-1], np.ones(len(y))).apply(X[:, :-1])
    task = X[:, -1]
    candidates = choose_candidates(
        "regression",
        Size(np.array([40] * 3), 3),
        families=["linear"],
        n_estimators=1,
        seed=0,
    )
    rows = with_task(Z, task.astype(int))
    answers = []
    for candidate in candidates:
        if not candidate.for_unseen:
            continue
        out = np.empty(len(y))
        part = candidate.estimator.set_params(**model.settings_[candidate.name])
        for t in range(3):
            test = task == t
            out[test] = part.fit(rows[~test], y[~test]).predict(rows[test])
        answers.append(out)
    evidence = Evidence(np.stack(answers), y, np.ones(120), task.astype(int), 3)
    honest = np.empty(len(y))
    for t in range(3):  # nor have the weights seen the task
        weights = evidence.only(task != t).crowd()
        honest[task == t] = weights @ np.stack(answers)[:, task == t]
    assert_allclose(model.unseen_score_, r2_score(y, honest), rtol=1e-6)
    for t in range(3):
        expected = r2_score(y[task == t], honest[task == t])
        assert_allclose(model.unseen_task_scores_[t], expected, rtol=1e-6)
    assert model.unseen_task_scores_[2] < 0  # its slope is the others' negative
    assert model.seen_score_ > model.unseen_score_
    able = [
        list(model.candidates_).index(each.name)
        for each in candidates
        if each.for_unseen
    ]
    assert_allclose(model.unseen_weights_[able], evidence.crowd(), atol=0.02)


def test_unknown_task_error_learns_nothing_about_unseen_tasks():
    X, y = make_tasks(classes=False)
    model = make_kin(False, families=["linear"], unknown_task="error").fit(X, y)
    assert model.unseen_score_ is None
    assert model.unseen_task_scores_ == {}
    with pytest.raises(ValueError, match="9"):
        model.predict([[0, 0, 0, 9]])


@pytest.mark.parametrize("classes", [True, False])
def test_a_task_against_the_crowd_gets_its_own_model(classes):
    """Pooled is worst for the task of the other sign, own or shared answers."""
    X, y = make_tasks(classes, sizes=(150, 150, 150, 150))
    model = make_kin(classes, families=["linear"]).fit(X, y)
    assert model.sharing_[3]["pooled"] < 0.1
    X_new, y_new = make_tasks(classes, sizes=(1, 1, 1, 500), seed=1)
    rows = X_new[:, -1] == 3
    pooled = Pooled(
        model.models_[0].estimator if model.models_[0] else Ridge(), task=-1
    )
    if not classes:
        wrong = pooled.fit(X, y).score(X_new[rows], y_new[rows])
        assert model.score(X_new[rows], y_new[rows]) > max(0.7, wrong)


def test_permutation_importance_knows_the_task_and_the_noise():
    X, y = make_tasks(classes=False, sizes=(100, 100, 100, 100))
    model = make_kin(False, families=["linear"]).fit(X, y)
    found = model.permutation_importance(X, y, random_state=0).importances_mean
    assert found.shape == (4,)
    assert found[:2].min() > found[2]
    assert found[3] > 0.05


def test_permutation_importance_of_every_kind_of_table():
    X, y = make_tasks(classes=False, sizes=(40, 40, 40, 40))
    names = np.array(["a", "b", "c", "site"])
    pandas = pd.DataFrame(X, columns=names).assign(
        site=np.array(list("nesw"))[X[:, -1].astype(int)]
    )
    polars = pl.DataFrame({name: pandas[name].tolist() for name in names})
    options = {"families": ["linear"], **QUICK}
    frame_model = KinRegressor(task="site", **options).fit(pandas, y)
    model = KinRegressor(task=-1, **options).fit(X, y)
    weight = np.arange(len(y)) % 3
    calls = {"n_repeats": 20, "random_state": 0, "sample_weight": weight}
    pairs = [
        (model, X, sp.csr_array(X)),  # of the same model, shuffled otherwise
        (frame_model, pandas, polars),
    ]
    for fitted_model, one, two in pairs:
        first, second = (
            fitted_model.permutation_importance(rows, y, **calls) for rows in (one, two)
        )
        assert second.importances.shape == (4, 20)
        assert_allclose(second.importances.mean(axis=1), second.importances_mean)
        noise = np.hypot(first.importances_std, second.importances_std) / np.sqrt(20)
        gap = np.abs(first.importances_mean - second.importances_mean)
        assert (gap <= 4 * noise).all()


def test_affinity_is_that_of_the_forest_even_without_weight(monkeypatch):
    """Tasks of two kinds: the forest keeps those of one kind together."""
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(4), 40)
    X = rng.normal(size=(160, 2))
    y = 3.0 * (task >= 2) + X[:, 0] + 0.3 * rng.normal(size=160)
    options = {"families": ["linear", "trees"], "n_estimators": 30}
    model = make_kin(False, **options).fit(with_task(X, task), y)
    found = model.task_affinity_
    assert found.shape == (4, 4)
    assert found[0, 1] > found[0, 2]
    for module in (_base, _levels):
        monkeypatch.setattr(
            module, "without_traces", lambda w: np.eye(w.shape[1])[[0] * len(w)]
        )
    bare = make_kin(False, **options).fit(with_task(X, task), y)
    assert [m is not None for m in bare.models_].index(True) == 0
    assert sum(m is not None for m in bare.models_) == 1
    assert_array_equal(bare.task_affinity_, found)


def test_no_forest_no_affinity():
    linear = make_kin(False, families=["linear"]).fit(*make_tasks(False))
    with pytest.raises(AttributeError, match="no multi-task forest"):
        _ = linear.task_affinity_
    assert not hasattr(linear, "task_affinity_")


@pytest.mark.parametrize("classes", [True, False])
def test_order_of_rows_and_repeated_rows_do_not_matter(classes):
    # no task near the eight rows from which it gets a model of its own
    X, y = make_tasks(classes, sizes=(60, 60, 60))
    rng = np.random.default_rng(1)
    weight = rng.integers(0, 3, size=len(y))
    times = rng.permutation(np.repeat(np.arange(len(y)), weight))
    options = {"families": ["linear", "trees"], "n_folds": 2}
    one = make_kin(classes, **options).fit(X, y, sample_weight=weight)
    two = make_kin(classes, **options).fit(X[times], y[times])
    # as near as the solvers' tolerance
    assert_allclose(one.weights_, two.weights_, atol=0.01)
    method = "predict_proba" if classes else "predict"
    assert_allclose(getattr(one, method)(X), getattr(two, method)(X), atol=0.01)


@pytest.mark.parametrize("classes", [True, False])
def test_any_number_of_jobs_gives_the_same_model(classes):
    X, y = make_tasks(classes)
    options = {"families": ["linear", "trees"], "n_folds": 2}
    one, two = (make_kin(classes, n_jobs=n, **options).fit(X, y) for n in (1, 2))
    assert_array_equal(one.weights_, two.weights_)
    assert_array_equal(one.predict(X), two.predict(X))
    again = pickle.loads(pickle.dumps(one))
    assert_array_equal(again.predict(X), one.predict(X))


def test_model_files_may_build_all_its_parts(fitted, tmp_path):
    model, X, _ = fitted
    kinlearn.save(model, tmp_path / "model.skops")
    again = kinlearn.load(tmp_path / "model.skops")
    assert_array_equal(again.predict(X), model.predict(X))


def test_missing_values_and_frames_are_welcome():
    X, y = make_tasks(classes=True)
    X[::5, 0] = np.nan
    frame = pd.DataFrame(X[:, :3], columns=list("abc"))
    frame["site"] = np.array(["n", "e", "s", "w"])[X[:, -1].astype(int)]
    families = ["linear", "trees"]
    model = KinClassifier(task="site", families=families, **QUICK).fit(frame, y)
    assert model.score(frame, y) > 0.8
    assert set(model.sharing_) == {"n", "e", "s", "w"}


def test_tasks_with_labels_of_their_own():
    X, y = make_tasks(classes=True, sizes=(60, 60, 60))
    labels = np.array([["a", "b"], ["b", "c"], ["d", "e"]])[X[:, -1].astype(int), y]
    model = make_kin(True, n_folds=2).fit(X, labels)
    assert_array_equal(model.classes_, list("abcde"))
    proba = model.predict_proba(X)
    assert_array_equal(proba[X[:, -1] == 2][:, :3], 0)
    assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, labels) > 0.8


def test_one_task_is_a_plain_ensemble():
    X, y = make_classification(200, random_state=0)
    model = KinClassifier(**QUICK).fit(X, y)
    assert set(model.roles_) == {"pooled"}
    assert model.unseen_score_ is None
    assert model.score(X, y) > 0.8


def test_the_only_row_of_a_class_stays_in_training():
    X, y = make_tasks(classes=True)
    y = y.copy()
    y[5] = 7
    model = make_kin(True, families=["linear"]).fit(X, y)
    assert_array_equal(model.classes_, [0, 1, 7])


@needs_callbacks
def test_callbacks_see_every_candidate_and_what_the_last_step_will_take():
    from sklearn.callback import ProgressBar

    steps, expected = [], []

    class Recorder(ProgressBar):
        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context, **kwargs):
            if context.task_name == "fit of all rows":
                expected.append(estimator.refit_seconds_)

        def on_fit_task_end(self, estimator, context, **kwargs):
            steps.append(context.task_name)

    X, y = make_tasks(classes=False)
    model = make_kin(False, families=["linear", "trees"])
    model.set_callbacks(Recorder()).fit(X, y)
    assert [*model.candidates_, "fit of all rows"] == steps[:-1]
    # the forest that chose its settings with all rows is not fitted again
    todo = [
        model.seconds_[name]["rows"]
        for name, part in zip(model.candidates_, model.models_, strict=True)
        if part is not None and name != "extra trees, multi-task"
    ]
    assert_allclose(expected, [sum(todo)])
    assert model.refit_seconds_ == expected[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"families": ["forest"]}, "'forest'"),
        ({"families": "forest"}, "'forest'"),
        ({"families": []}, "nothing"),
        ({"n_folds": 1}, "n_folds"),
        ({"time_limit": 0}, "time_limit"),
    ],
)
def test_wrong_parameters(options, message):
    X, y = make_tasks(classes=False)
    with pytest.raises(ValueError, match=message):
        make_kin(False, **options).fit(X, y)


def test_wrong_data():
    X, y = make_tasks(classes=False)
    with pytest.raises(ValueError, match="n_samples=3"):
        make_kin(False).fit(X[[0, 0, 0]], y[[0, 0, 0]])
    with pytest.raises(ValueError, match="only row of a class"):
        make_kin(True).fit(X[:2], [0, 1])


def test_one_family_by_its_name():
    X, y = make_tasks(classes=False)
    one, two = (make_kin(False, families=f).fit(X, y) for f in ("linear", ["linear"]))
    assert_array_equal(one.candidates_, two.candidates_)
    assert_array_equal(one.predict(X), two.predict(X))


def test_few_rows_for_boosting_alone_get_a_linear_model():
    X, y = make_tasks(classes=False, sizes=(20, 20))
    model = make_kin(False, families=["boosting"]).fit(X, y)
    assert list(model.candidates_) == ["ridge regression, pooled"]


def test_stages_are_shorter_fits():
    X, y = make_tasks(classes=True)
    booster = MultiTaskGradientBoostingClassifier(
        task=-1, n_estimators=20, random_state=0
    )
    model = clone(booster).fit(X, y)
    task = X[:, -1].astype(np.int32)
    labels = find_label_sets(task, y, np.arange(4), np.arange(2))
    for n, answer in zip(
        (5, 20), staged_predictions(model, X, task, labels, (5, 20)), strict=True
    ):
        short = clone(booster).set_params(n_estimators=n)
        assert_allclose(answer, short.fit(X, y).predict_proba(X))


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_candidates_by_size(kind):
    def names(sizes, families=("linear", "trees", "boosting")):
        sizes = np.array(sizes)
        found = choose_candidates(
            kind,
            Size(sizes, 5),
            families=families,
            effort="best",
            n_estimators=5,
            seed=0,
        )
        return [candidate.name for candidate in found]

    assert all("alone" not in name for name in names([7, 7, 7]))
    assert all("boosting" not in name for name in names([25, 25]))
    assert "gradient boosting, alone" in names([300, 300])
    assert "gradient boosting, alone" not in names([30] * 60)
    alone = [name for name in names([20] * 5_000) if "alone" in name]
    assert all("regression" in name for name in alone)  # in one go for all
    assert len(alone) == 1
    assert not any("alone" in name for name in names([20] * 10_001))
    assert names([50], ["trees"]) == ["extra trees, pooled"]


def test_standardisation_takes_missing_for_the_mean():
    X = np.array([[1.0, np.nan, 2.0], [3.0, np.nan, 2.0], [np.nan, np.nan, 2.0]])
    scale = Standardisation.of(X, np.array([1.0, 3.0, 1.0]))
    assert_allclose(scale.centre, [2.5, 0, 2])
    Z = scale.apply(X)
    assert_allclose(Z[:, 0], [-1.5 / np.sqrt(0.75), 0.5 / np.sqrt(0.75), 0])
    assert_array_equal(Z[:, 1:], 0)
    assert scale.apply(X.astype(np.float32)).dtype == np.float32


def test_least_weight_keeps_rows_that_sum_to_one():
    out = _base.without_traces(np.array([[0.005, 0.495, 0.5], [1.0, 0.0, 0.0]]))
    assert_allclose(out, [[0, 0.495 / 0.995, 0.5 / 0.995], [1, 0, 0]])
