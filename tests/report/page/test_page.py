"""The page as a file: what it says, what it escapes, how it is written."""

import base64
import csv
import hashlib
import io
import json
import os
import re
import stat
from html.parser import HTMLParser
from urllib.parse import unquote

import pytest
from numpy.testing import assert_allclose

from kinlearn.report import write_page
from tests.report.sharing_dicts import ALONE, CLINICS, SHARING, SITUATIONS, make_result

MOST_BYTES = 1_500_000
MINUS = "\N{MINUS SIGN}"
VOID = {"br", "col", "hr", "link", "meta"}


class Tree(HTMLParser):
    """Elements of a page, and whether every one of them was closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.words, self.faults = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        if len(attributes) < len(attrs):
            self.faults.append(f"<{tag}> has an attribute twice")
        self.elements.append((tag, attributes, list(self.open)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(f"</{tag}> closes something else")

    def handle_data(self, data):
        if "script" not in self.open and "style" not in self.open:
            self.words.append(data)

    def of(self, tag):
        return [attributes for name, attributes, _ in self.elements if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module", params=SITUATIONS)
def situation(request, tmp_path_factory):
    result = SITUATIONS[request.param]()
    path = write_page(result, tmp_path_factory.mktemp("page") / "page.html")
    return result, path.read_text(encoding="utf-8")


def _page(tmp_path, result):
    return write_page(result, tmp_path / "page.html").read_text(encoding="utf-8")


def test_page_is_small_and_well_formed(situation):
    _, text = situation
    assert len(text.encode()) < MOST_BYTES
    tree = Tree(text)
    assert tree.open == []
    assert tree.faults == []
    ids = [a["id"] for _, a, _ in tree.elements if "id" in a]
    assert len(set(ids)) == len(ids)


def test_every_reference_leads_somewhere_inside(situation):
    _, text = situation
    tree = Tree(text)
    ids = {a["id"] for _, a, _ in tree.elements if "id" in a}
    for name, attributes, _ in tree.elements:
        for key in ("aria-labelledby", "aria-describedby"):
            assert set(attributes.get(key, "").split()) <= ids, (name, attributes)
        target = attributes.get("href", "#report")
        assert target.startswith(("#", "data:")), target
        assert not target.startswith("#") or target[1:] in ids, target
        assert "src" not in attributes
    assert "url(" not in text
    assert "@import" not in text


def test_verdict_is_the_heading_and_comes_first(situation):
    result, text = situation
    start = text.index("<h1>")
    heading = Tree(text[start : text.index("</h1>") + len("</h1>")])
    # a page cannot hold half a surrogate pair
    said = result["verdict"]["sentence"].encode(errors="replace").decode()
    assert heading.text == " ".join(said.split())
    assert text.count("<h1>") == 1
    assert start < text.index("<h2")
    for detail in result["verdict"]["details"]:
        assert detail in Tree(text).text


def test_no_number_is_missing_or_not_a_number(situation):
    _, text = situation
    words = Tree(text[text.index("<body>") :]).text
    for bad in ("None ", "nan", "inf ", "Infinity"):
        assert f" {bad}" not in words
    drawn = re.findall(r'(?: d| x| y|x1|x2|y1|y2|viewBox)="([^"]*)"', text)
    assert not any("nan" in part or "inf" in part for part in drawn)


def test_markup_in_names_stays_text(situation):
    _, text = situation
    tree = Tree(text)
    assert len(tree.of("script")) == 1
    assert len(tree.of("img")) == 0
    assert not any(k.startswith("on") for _, a, _ in tree.elements for k in a)


def test_only_our_own_script_may_run(situation):
    _, text = situation
    policy = next(a for a in Tree(text).of("meta") if "http-equiv" in a)["content"]
    assert "default-src 'none'" in policy
    script = text[text.index("<script>") + len("<script>") : text.rindex("</script>")]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def _csv(text):
    link = next(a for a in Tree(text).of("a") if a.get("download"))
    head, _, body = link["href"].partition(",")
    assert head == "data:text/csv;charset=utf-8"
    return list(csv.DictReader(io.StringIO(unquote(body))))


def test_all_numbers_travel_with_the_page(situation):
    result, text = situation
    rows = _csv(text)
    assert len(rows) == len(result["gains"])
    mean = {(s["task"], s["contender"]): s["mean"] for s in result["scores"]}
    for row, gain in zip(rows, result["gains"], strict=True):
        assert row["task"] == str(gain["task"]).encode(errors="replace").decode()
        assert row["verdict"] == gain["verdict"]
        if gain["gain"] is None:
            assert row["gain"] == ""
        else:
            assert_allclose(float(row["gain"]), gain["gain"], rtol=1e-4)
            for name in (SHARING, ALONE):
                assert_allclose(float(row[name]), mean[gain["task"], name], rtol=1e-4)


def test_lists_hold_the_tasks_of_each_verdict(tmp_path):
    result = make_result()
    text = _page(tmp_path, result)
    found = {}
    for kind in ("helped", "hurt", "unclear"):
        start = text.index(f'<div class="group {kind}">')
        end = text.index("</div>", start)
        found[kind] = set(re.findall(r"<bdi>(.*?)</bdi>", text[start:end]))
    expected = {
        kind: {g["task"] for g in result["gains"] if g["verdict"] == kind}
        for kind in found
    }
    assert found == expected
    assert all(expected.values())  # else the test tells nothing


def test_long_lists_are_cut_and_say_so(tmp_path):
    text = _page(tmp_path, SITUATIONS["3000 tasks"]())
    assert "2,970 tasks between these" in text
    assert "The map shows 60 of 3,000 tasks" in text
    assert re.search(r"and [\d,]+ more", text)


def test_errors_are_shown_as_people_know_them(tmp_path):
    result = make_result(error_metric=True)
    best = max(result["contenders"], key=lambda contender: contender["macro"])
    assert best["macro"] < 0
    text = _page(tmp_path, result)
    words = Tree(text).text
    assert f"{-best['macro']:.2f}" in words
    assert f"{MINUS}{-best['macro']:.2f}" not in words
    assert "lower is better" in words
    gain = max(gain["gain"] for gain in result["gains"])
    assert f"+{gain:.2f}" in words


def test_failed_contenders_are_named_with_their_errors(tmp_path):
    result = make_result(failed=["boosting, alone"])
    result["contenders"][3]["error"] = "ValueError: <b>no</b> class 'x'"
    section = _section(_page(tmp_path, result), "failed")
    assert "boosting, alone" in section.text
    assert "ValueError: <b>no</b> class 'x'" in section.text
    assert "1 of 7 contenders" in section.text


def test_unscored_and_half_scored_tasks_are_listed(tmp_path):
    result = make_result(unscored=["Pine"])
    result["tasks"][0]["reason"] = "no score in 2 of 15 folds: one class"
    section = _section(_page(tmp_path, result), "unscored")
    assert "3 rows of class 1: too few for 5 folds Pine" in section.text
    assert f"Scored in part: no score in 2 of 15 folds: one class {CLINICS[0]}" in (
        section.text
    )


def _section(text, key):
    start = text.index(f'<section id="{key}"')
    return Tree(text[start : text.index("</section>", start)])


def test_what_is_not_there_has_no_section(tmp_path):
    text = _page(tmp_path, SITUATIONS["no curve, no affinity"]())
    for key in ("affinity", "distances", "rows", "failed", "unscored"):
        assert f'id="{key}"' not in text
        assert f'href="#{key}"' not in text


def test_warnings_notes_and_parameters_are_shown(tmp_path):
    result = make_result()
    result["contenders"][0]["warnings"] = ["did not converge"]
    result["relatedness"]["note"] = "ks was not measured"
    result["run"]["parameters"]["contenders"] = {"a": "PerTask(<x>)"}
    words = Tree(_page(tmp_path, result)).text
    assert "did not converge" in words
    assert "ks was not measured" in words
    assert "PerTask(<x>)" in words
    assert result["run"]["code"].splitlines()[0] in words


def test_matrices_with_holes_signs_and_equal_values(tmp_path):
    result = make_result(["a", "b", "c"])
    square = result["relatedness"]["affinity"]
    square["matrix"] = [[1, -0.5, None], [-0.5, 1, 0.25], [None, 0.25, 1]]
    for part in result["relatedness"]["distances"].values():
        part["matrix"] = [[0.0] * 3] * 3
    text = _page(tmp_path, result)
    assert 'class="picture heat diverging wide"' in text
    assert f"{MINUS}0.50" in Tree(text).text


def test_a_result_object_is_read_by_its_dict(tmp_path):
    class Result:
        def to_dict(self):
            return make_result()

    assert _page(tmp_path, Result()) == _page(tmp_path, make_result())


def test_the_same_result_gives_the_same_bytes(tmp_path):
    first = write_page(make_result(), tmp_path / "a.html").read_bytes()
    assert write_page(make_result(), tmp_path / "b.html").read_bytes() == first
    through_json = json.loads(json.dumps(make_result()))
    assert write_page(through_json, tmp_path / "c.html").read_bytes() == first


def test_what_is_no_result_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"compare_sharing\(\) returned.*got list"):
        write_page([1], tmp_path / "page.html")
    with pytest.raises(ValueError, match=r"'format' is 'other/2'"):
        write_page({"format": "other/2"}, tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_written_file_is_absolute_readable_and_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = write_page(make_result(), "page.html")
    assert path == tmp_path / "page.html"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


def test_missing_folder_and_folder_as_file_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no folder .*nowhere"):
        write_page(make_result(), tmp_path / "nowhere" / "page.html")
    with pytest.raises(IsADirectoryError, match=r"is a folder\. Name a file"):
        write_page(make_result(), tmp_path)


@pytest.mark.parametrize("error", [PermissionError, OSError])
def test_a_failed_write_keeps_the_old_page(tmp_path, monkeypatch, error):
    path = tmp_path / "page.html"
    path.write_text("old")

    def fail(*_):
        raise error(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(
        error, match=r"cannot be written to .*page\.html: No space left"
    ):
        write_page(make_result(), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]


def test_read_only_folder_is_refused(tmp_path, monkeypatch):
    if os.geteuid() == 0:  # root may write anywhere

        def refuse(*_, **__):
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr("tempfile.mkstemp", refuse)
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match=r"cannot be written to .*Permission"):
        write_page(make_result(), tmp_path / "page.html")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_write_keeps_the_old_page(tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("old")

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_page(make_result(), path)
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["page.html"]
