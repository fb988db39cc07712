"""Model cards, and what notebooks show of fitted Kin estimators and comparisons."""

import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline

from kinlearn import KinClassifier, KinRegressor
from kinlearn.audit import SharingResult
from kinlearn.report import write_card
from kinlearn.sharing import ConformalRegressor, Pooled
from tests.report.sharing_dicts import make_result

HOSTILE = "<script>alert('x')</script>&\"'"
HOSTILE_NAMES = ["<script>alert(1)</script>", "red \x1b[31m shop", "left \u202e tfel"]
OPTIONS = {"task": "shop", "families": "linear", "n_folds": 3, "random_state": 0}


def make_tasks(n_tasks=5, n=30):
    rng = np.random.default_rng(0)
    task = np.repeat(np.arange(n_tasks), n)
    x = rng.normal(size=len(task))
    names = [HOSTILE if t == 0 else f"shop {t}" for t in task]
    return pd.DataFrame({"<i>x</i>": x, "shop": names}), x + 0.5 * task


@pytest.fixture(scope="module")
def regressor():
    X, y = make_tasks()
    return KinRegressor(**OPTIONS).fit(X, y)


@pytest.fixture(scope="module")
def classifier():
    X, y = make_tasks()
    labels = np.where(y > 1, HOSTILE, "no")
    return KinClassifier(**OPTIONS).fit(X, labels)


class Reader(HTMLParser):
    """Collects the tags, and checks that each one ends."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.open = [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in {"br", "col", "hr", "link", "meta", "input"}:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_card_of_a_classifier(classifier, tmp_path):
    text = write_card(classifier, tmp_path / "card.html").read_text(encoding="utf-8")
    reader = Reader(text)
    assert reader.open == []
    assert reader.tags.count("script") == 1  # the page's own
    assert HOSTILE not in text
    assert "&lt;script&gt;alert" in text
    for title in (
        "Who shares how much?",
        "How good is it?",
        "What is in it?",
        "Do its sets hold the truth?",
        "Is it right in the mean of each task?",
        "What was fitted?",
    ):
        assert text.count(title) == 2  # in the contents, and above its section
    assert f"{classifier.seen_score_:.3f}" in text
    assert "log loss" in text


def test_the_card_of_a_regressor_says_what_it_is_told(regressor, tmp_path):
    about = {"target": HOSTILE, "model": "kin", "rows": 150, "file": "m.skops"}
    path = write_card(regressor, tmp_path / "card.html", about=about)
    text = path.read_text(encoding="utf-8")
    assert Reader(text).open == []
    assert HOSTILE not in text
    assert "150 rows" in text
    assert "m.skops" in text
    assert "Do its intervals hold the truth?" in text
    for name in regressor.candidates_:
        assert name in text


def test_dropped_candidates_and_many_tasks_are_told(regressor, tmp_path):
    X, y = make_tasks(n_tasks=80, n=4)
    model = KinRegressor(**OPTIONS).fit(X, y)
    model.dropped_ = {"a <b> forest": "the time was over"}
    text = write_card(model, tmp_path / "card.html").read_text(encoding="utf-8")
    assert "a &lt;b&gt; forest: the time was over" in text
    assert "60 of 80 tasks" in text
    html = model._repr_html_()
    assert "20 of 80 tasks" in html
    assert "a &lt;b&gt; forest" in html


def test_other_models_have_a_card_too(tmp_path):
    X, y = make_tasks()
    wrapper = ConformalRegressor(Pooled(Ridge()), task="shop", random_state=0).fit(X, y)
    text = write_card(wrapper, tmp_path / "a.html").read_text(encoding="utf-8")
    assert "Do its intervals" in text
    assert "Who shares" not in text
    pooled = Pooled(Ridge(), task="shop").fit(X, y)
    text = write_card(pooled, tmp_path / "b.html").read_text(encoding="utf-8")
    assert "What was fitted?" in text
    with pytest.raises(NotFittedError):
        write_card(Pooled(Ridge()), tmp_path / "c.html")


@pytest.mark.parametrize("which", ["regressor", "classifier"])
def test_notebooks_show_what_was_found(which, request):
    model = request.getfixturevalue(which)
    html = model._repr_html_()
    bundle = model._repr_mimebundle_()["text/html"]
    assert (
        html.partition("<summary>Parameters")[0]
        == (bundle.partition("<summary>Parameters")[0])
    )
    assert HOSTILE not in html
    assert "&lt;script&gt;alert" in html
    assert f"{model.seen_score_:.3f}" in html
    assert "sk-estimator" in html  # scikit-learn's own, below
    fragment = html[: html.index('<div class="kinlearn-parameters">')]
    assert Reader(fragment).open == []
    assert len(re.findall("<tr>", fragment)) == 2 + 5 + len(model.candidates_)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_hostile_names_do_not_act_on_the_page(name, tmp_path):
    X, y = make_tasks()
    X = X.rename(columns={"<i>x</i>": name})
    X["shop"] = X["shop"].replace("shop 1", name)
    labels = np.where(y > 1, name, "no")
    given = {name: LogisticRegression()}
    model = KinClassifier(**OPTIONS, estimators=given).fit(X, labels)
    model.dropped_ = {name: name}
    about = {"target": name, "model": name, "task": name, "file": name}
    card = write_card(model, tmp_path / "card.html", about=about)
    fragment = model._repr_html_().partition('<div class="kinlearn-parameters">')[0]
    for text in (card.read_text(encoding="utf-8"), fragment):
        assert Reader(text).open == []
        assert name not in text
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
        assert text.count(ascii(name)[1:-1].replace("<", "&lt;").replace(">", "&gt;"))


def test_the_card_names_tasks_that_are_off(regressor, tmp_path):
    X, y = make_tasks()
    pooled = ConformalRegressor(Pooled(Ridge()), task="shop", random_state=0)
    path = write_card(pooled.fit(X, y), tmp_path / "card.html")
    text = path.read_text(encoding="utf-8")
    found = re.search(r"In (\d) of 5 tasks the mean target is off[^.]*\.", text)
    assert int(found[1]) >= 2
    assert "shop 4" in found[0]
    assert re.search(r"<circle[^>]*><title>shop 4: ", text)


def test_the_card_says_that_intervals_of_new_tasks_are_endless(regressor, tmp_path):
    text = write_card(regressor, tmp_path / "card.html").read_text(encoding="utf-8")
    assert "Rows of new tasks have endless intervals: 5 tasks are too few" in text


def test_notebooks_show_scikit_learns_diagram_of_others(regressor):
    html = KinRegressor()._repr_html_()
    assert "sk-estimator" in html
    assert (
        "kinlearn" not in re.sub("<style>.*?</style>", "", html, flags=re.DOTALL)[:50]
    )
    assert "sk-estimator" in make_pipeline(regressor)._repr_html_()
    with config_context(display="text"):
        assert not hasattr(regressor, "_repr_html_")
        assert list(regressor._repr_mimebundle_()) == ["text/plain"]


def test_notebooks_show_comparisons():
    data = make_result()
    data["gains"][0]["task"] = HOSTILE
    result = SharingResult.from_dict(data)
    html = result._repr_html_()
    assert Reader(html).open == []
    assert HOSTILE not in html
    assert "&lt;script&gt;" in html
    assert data["contenders"][0]["name"] in html
