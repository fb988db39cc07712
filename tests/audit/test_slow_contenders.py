"""Contenders that take long are played when all else is known."""

import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from kinlearn.audit import compare_sharing, default_contenders
from kinlearn.audit._compare import _code, _is_default
from kinlearn.audit._contenders import Entry
from kinlearn.audit._problem import open_problem
from kinlearn.audit.statistics._scores import Contender
from kinlearn.report import write_page
from kinlearn.sharing import PerTask, Pooled
from tests.reference.known_models import Failing, Knower, TaskKnower, known_data

# the known models are told the target by a column
pytestmark = pytest.mark.filterwarnings(
    "ignore::kinlearn.exceptions.SuspectColumnWarning"
)

X, Y = known_data((60, 50, 40, 30))
RIGHT = dict.fromkeys(["t0", "t1", "t2", "t3"], 0.95)


class Slow(TaskKnower):
    """Taken for one of those that take long."""


@pytest.fixture(autouse=True)
def slow(monkeypatch):
    monkeypatch.setattr("kinlearn.audit._contenders._SLOW", (Slow,))


def quick():
    return {
        "alone": PerTask(Knower(0.6), task="task"),
        "pooled": Pooled(Knower(0.8), task="task"),
    }


def play(estimators=None, **options):
    """The result as a dict, and what happened in which order."""
    happened = []
    if estimators is None:
        estimators = {"slow": Slow(RIGHT, task="task"), **quick()}
    options = {
        "scoring": "accuracy",
        "n_splits": 3,
        "n_repeats": 2,
        "curve": False,
        "progress": lambda *step: happened.append(step),
        "so_far": happened.append,
    } | options
    result = compare_sharing(X, Y, task="task", estimators=estimators, **options)
    return result.to_dict(), happened


def test_they_come_last_and_before_them_the_scores_of_the_others():
    data, happened = play()
    others, _ = play(quick())
    # one verdict only, at the end; there the scores of the others come again
    assert happened[12].startswith("Mean accuracy over 4 tasks is ")
    figures = happened[12].partition(" is ")[2]
    details = data["verdict"]["details"]
    assert any(f"Without it, mean accuracy is {figures}" in text for text in details)
    assert not any("Without it" in text for text in others["verdict"]["details"])
    assert [h if isinstance(h, str) else h[2] for h in happened] == [
        *["alone", "pooled"] * 6,
        happened[12],
        *["slow"] * 6,
        "relatedness",
    ]
    assert [h[:2] for h in happened if not isinstance(h, str)] == [
        (done, 19) for done in range(1, 20)
    ]
    assert data["headline"]["sharing"] == "slow"


def test_the_curve_is_that_of_the_others_and_the_page_says_so(tmp_path):
    data, happened = play(curve=True)
    names = [line["contender"] for line in data["curve"]["lines"]]
    assert names == ["pooled", "alone"]
    labels = [h[2] for h in happened if not isinstance(h, str)]
    assert labels.count("slow") == 6
    assert len(labels) == happened[0][1]
    write_page(data, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "slow takes too long for this; the best of the others stands in." in page
    others, _ = play(quick(), curve=True)
    assert data["curve"] == others["curve"]
    write_page(others, tmp_path / "page.html")
    assert "takes too long" not in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "others",
    [
        {"alone": PerTask(Knower(0.6), task="task")},
        {
            "alone": PerTask(Knower(0.6), task="task"),
            "broken": Pooled(Failing(), task="task"),
        },
    ],
    ids=["nobody else shares", "who else shares fails"],
)
def test_without_others_to_speak_of_there_is_no_word_before(others):
    models = {"slow": Slow(RIGHT, task="task"), **others}
    data, happened = play(models, curve=True)
    assert all(isinstance(h, tuple) for h in happened)
    assert data["curve"] is None  # it would take 54 fits of the slow one
    assert happened[-1][0] == happened[-1][1]


def test_a_stored_run_goes_on_among_the_slow_ones(tmp_path):
    whole, _ = play()

    def stop(sentence):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play(store=tmp_path, so_far=stop)
    data, happened = play(store=tmp_path)
    assert happened[0] == (12, 19, "12 fits found in the store")
    assert [g["gain"] for g in data["gains"]] == [g["gain"] for g in whole["gains"]]


def test_kin_is_slow_and_its_code_asks_for_it(monkeypatch):
    monkeypatch.undo()
    known = default_contenders(X, Y, task="task", on_request=True)
    entries = {n: Entry(Contender(n, n, "multi-task"), e) for n, e in known.items()}
    assert [name for name, entry in entries.items() if entry.slow] == ["Kin"]
    code = _code(entries["Kin"], {"task": "task"}, given=False, default=True)
    assert "default_contenders(X, y, task='task', on_request=True)['Kin']" in code
    changed = clone(known["Kin"]).set_params(n_folds=2)
    problem = open_problem(X, Y, "task", None)
    assert _is_default(entries["Kin"], problem, 0)
    assert not _is_default(Entry(entries["Kin"].contender, changed), problem, 0)


def test_the_code_of_a_default_that_was_passed():
    known = default_contenders(X, Y, task="task", random_state=3)
    chosen = {n: m for n, m in known.items() if n.startswith("logistic")}
    result = compare_sharing(
        X,
        Y,
        task="task",
        estimators=chosen,
        random_state=3,
        n_splits=2,
        n_repeats=1,
        curve=False,
    )
    scope = {"X": X, "y": Y}
    exec(result.to_dict()["run"]["code"], scope)
    best = result.best_estimator_.predict_proba(X)
    assert_allclose(scope["model"].predict_proba(X), best)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="so_far must be a function of a sentence"):
        compare_sharing(X, Y, task="task", so_far=5)
