"""Tables of the documentation are those of the records; pairs with the better peer."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.environment import RECORDS
from benchmarks.jsonlines import read_records
from benchmarks.quality.metrics import AUC
from benchmarks.quality.page_figures import FIGURES, Figure, is_drawn
from benchmarks.quality.pages import KINDS, LIGHTGBM, OURS, PAGES, main, redrawn
from benchmarks.quality.protocol import PROTOCOLS, Metric
from benchmarks.quality.ranks import Results, against_better, paired_table
from benchmarks.quality.statistics import corrected_interval

ERROR = Metric("error", "error", None, greater_is_better=False, digits=2)
MOST_BYTES_OF_A_RECORD = 1_000  # with a score for each of ten tasks
DOCS = Path(__file__).parents[2] / "docs"
STATIC = DOCS / "_static"
BENCHMARKS = sorted((DOCS / "benchmarks").glob("*.md"))
MARKED = re.DOTALL | re.MULTILINE
# Sections of times and memory: these are measured by hand on a quiet machine.
TIMES = re.compile(r"^(Speed|How fast|How long|Time and memory|What is slow)")
# Tables that describe data, not results.
DESCRIPTIONS = ("| protocol | rows, columns, groups | target |",)
# Tables of quality from before there were records: there may be fewer, not more.
TYPED = {"boosting": 1, "extra_trees": 3, "kin": 3, "mtboost": 1, "svm_tables": 1}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_what_the_records_have(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- table: ") == text.count("<!-- end -->") > 0
    assert redrawn(text) == text, "run python -m benchmarks.quality.pages"


def test_another_table_is_found(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    drawn = next(each for each in PAGES if each.stem == "gradient_boosting")
    before = redrawn(drawn.read_text(encoding="utf-8"))
    page.write_text(before.replace("| ours |", "| ours | 1 |", 1), encoding="utf-8")
    monkeypatch.setattr("benchmarks.quality.pages.PAGES", (page,))
    monkeypatch.setattr("benchmarks.quality.pages.FIGURES", {})
    assert main(["--check"]) == 1
    assert "not as the records" in capsys.readouterr().out
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert page.read_text(encoding="utf-8") == before


def test_another_picture_is_found(tmp_path, monkeypatch, capsys):
    figures = {"bars": [1, 2]}

    def draw(data, path):
        path.write_text(f"<svg>{data['bars']}</svg>\n")

    figure = Figure(lambda folder: figures, draw)
    monkeypatch.setattr("benchmarks.quality.pages.PAGES", ())
    monkeypatch.setattr("benchmarks.quality.pages.FIGURES", {"bars.svg": figure})
    monkeypatch.setattr("benchmarks.quality.pages._STATIC", tmp_path)
    assert main(["--check"]) == 1
    assert "bars.svg: not as the records" in capsys.readouterr().out
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert "[1, 2]" in (tmp_path / "bars.svg").read_text()
    figures["bars"].append(3)
    assert main(["--check"]) == 1


@pytest.mark.parametrize("name", FIGURES)
def test_pictures_show_what_the_records_have(name):
    assert is_drawn(STATIC / name, FIGURES[name]), (
        "run python -m benchmarks.quality.pages"
    )


def test_pictures_of_benchmarks_are_drawn_from_records():
    for page in BENCHMARKS:
        shown = re.findall(r"_static/([\w-]+\.svg)", page.read_text(encoding="utf-8"))
        assert set(shown) <= FIGURES.keys(), page.name


def typed_tables(text):
    """Section and heading of the tables of figures that are not drawn from records."""
    text = re.sub(r"<!-- table: .*?<!-- end -->|^```.*?^```", "", text, flags=MARKED)
    section, found = "", []
    for table in re.finditer(r"^#+ (.*)$|((?:^\|.*\|$\n?)+)", text, re.MULTILINE):
        section = table[1] or section
        lines = (table[2] or "").splitlines()
        cells = [cell for line in lines[2:] for cell in line[1:-1].split("|")[1:]]
        if any(re.search(r"\d", cell) for cell in cells):
            found.append((section, lines[0]))
    return found


def test_typed_tables_are_found_by_hand():
    table = "| model | error |\n| --- | --- |\n| a | 0.1 |\n"
    drawn = f"<!-- table: x -->\n{table}<!-- end -->\n"
    words = table.replace("0.1", "some")
    fenced = f"```text\n{table}```\n"
    text = f"# One\n{drawn}{words}{fenced}\n## Two\n\n{table}"
    assert typed_tables(text) == [("Two", "| model | error |")]


@pytest.mark.parametrize("page", BENCHMARKS, ids=lambda page: page.name)
def test_tables_of_quality_are_drawn_from_records(page):
    found = typed_tables(page.read_text(encoding="utf-8"))
    quality = [
        f"{section}: {heading}"
        for section, heading in found
        if not TIMES.search(section) and heading not in DESCRIPTIONS
    ]
    assert len(quality) <= TYPED.get(page.stem, 0), "\n".join(
        ["mark them, and draw them by python -m benchmarks.quality.pages:", *quality]
    )


def test_records_of_protocols_are_small_and_known():
    for path in RECORDS.glob("*.jsonl"):
        if path.stem not in PROTOCOLS:
            continue
        for record in read_records(path):
            if "forget" in record:
                continue
            assert record["protocol"] == path.stem
            assert len(json.dumps(record)) < MOST_BYTES_OF_A_RECORD
            assert bool(record.get("commit")) == (record["build"] is not None)


def write(folder, contender, scores, **changes):
    protocol = PROTOCOLS["school-published"]
    params = dict(protocol.contender(contender).params)
    with (folder / f"{protocol.name}.jsonl").open("a") as file:
        for split, score in enumerate(scores):
            record = {
                "key": f"{contender} {split}",
                "contender": contender,
                "params": params,
                "split": split,
                "error": None,
                "scores": {"explained_variance": score},
                "n_train": 300,
                "n_test": 100,
                "processor_seconds": split,
                "versions": {"numpy": "2.0"},
                "machine": "abacus",
                "commit": "abc" if contender == OURS else None,
            } | changes
            file.write(json.dumps(record) + "\n")


def page_of(kind):
    return f"before\n<!-- table: {kind} school-p* -->\nold\n<!-- end -->\nafter\n"


def test_tables_by_hand(tmp_path):
    write(tmp_path, OURS, [0.5, 0.6, 0.7])
    write(tmp_path, "lightgbm", [0.4, 0.4, 0.7])
    write(tmp_path, "lightgbm-pooled", [0.3, 0.3, 0.3])
    write(tmp_path, "gpboost", [0.9], error="No result")
    text = redrawn(page_of("scores"), tmp_path)
    assert text.startswith("before\n<!-- table: scores school-p* -->\n\n| contender |")
    assert text.endswith("\n<!-- end -->\nafter\n")
    rows = [line[2:-2].split(" | ") for line in text.splitlines() if line[:2] == "| "]
    assert [row[0] for row in rows[2:]] == ["ours", "lightgbm", "lightgbm-pooled"]
    # half width of 0.4, 0.4, 0.7: 4.3027 * sqrt((1/3 + 1/3) * 0.03)
    assert rows[3][1:3] == ["3", "0.5000 [-0.1085, 1.1085]"]
    assert rows[3][3].startswith("+0.1000 [-0.25")
    assert rows[3][4] == "1.0"
    assert "- gpboost: 1 failed. No result" in text
    assert "old" not in text
    assert "of commit abc; numpy 2.0; on abacus." in redrawn(
        page_of("measured"), tmp_path
    )
    assert "Fewer than two" not in redrawn(page_of("ranks"), tmp_path)
    ranks = redrawn(page_of("mean-ranks"), tmp_path)
    assert "- Mean rank: ours 1.00, lightgbm 2.00, lightgbm-pooled 3.00." in ranks
    assert "nowhere" in redrawn(page_of("paired"), tmp_path)
    assert "explained variance: ours 0.6000, LightGBM 0.5000." in redrawn(
        page_of("means"), tmp_path
    )
    verdicts = redrawn(page_of("verdicts"), tmp_path)
    assert "better on 0 of 1 protocols and significantly worse on 0." in verdicts


def test_a_worse_protocol_is_named(tmp_path):
    write(tmp_path, OURS, [0.30, 0.31, 0.32])
    write(tmp_path, "lightgbm", [0.40, 0.41, 0.42])
    write(tmp_path, "lightgbm-pooled", [0.3, 0.3, 0.3])
    verdicts = redrawn(page_of("verdicts"), tmp_path)
    assert "significantly worse on 1: school-published." in verdicts


def test_a_wrong_kind_of_table_is_an_error(tmp_path):
    with pytest.raises(KeyError, match="nonsense"):
        redrawn(page_of("nonsense"), tmp_path)
    assert "scores" in KINDS


def results(name, metric, test_ratio=0.0, **scores):
    by_split = {key: dict(enumerate(values)) for key, values in scores.items()}
    return Results(name, metric, by_split, test_ratio)


def test_the_better_is_by_means_on_common_splits():
    some = results(
        "p", AUC, 0.5, ours=[0.5, 0.6, 0.8], a=[0.4, 0.4, 0.5], b=[0.45, 0.3, 0.45, 9.0]
    )
    name, interval = against_better(some, "ours", ["a", "b"])
    assert name == "a"
    expected = corrected_interval([0.1, 0.2, 0.3], 0.5)
    assert_allclose([interval.mean, interval.low], [expected.mean, expected.low])
    assert against_better(some, "ours", ["a", "absent"]) == (None, None)
    apart = results("p", AUC, ours=[0.5], a=[])
    assert against_better(apart, "ours", ["a"]) == (None, None)


def test_worse_is_where_the_interval_says_so():
    ours = np.array([0.5, 0.6, 0.7, 0.5])
    gains = {"better": 0.1, "worse": -0.1}
    jitter = np.array([0.01, -0.01, 0.0, 0.0])
    some = [
        results(name, AUC, ours=ours, a=ours - gain + jitter, b=ours - 5)
        for name, gain in gains.items()
    ]
    some.append(results("noise", AUC, ours=ours, a=ours + 10 * jitter, b=ours - 5))
    some.append(results("error", ERROR, ours=ours, a=ours - 0.1 + jitter, b=ours + 5))
    some.append(results("lacking", AUC, ours=ours, a=ours))
    table, worse = paired_table(some, "ours", ["a", "b"])
    assert worse == ["worse", "error"]
    rows = {line.split(" | ")[0][2:]: line for line in table.splitlines()}
    assert rows["better"].endswith("| better |")
    assert rows["noise"].endswith("|  |")
    assert rows["error"].split(" | ")[5].startswith("-0.10")
    assert "lacking" not in rows


def test_pairs_are_with_lightgbm_in_both_forms():
    for protocol in PROTOCOLS.select(["kin-*", "landmine-75", "school-published"]):
        names = {each.name for each in protocol.contenders}
        assert {OURS, *LIGHTGBM, "catboost", "gpboost"} <= names


def test_kin_now_is_of_the_protocol_or_the_last_version(tmp_path):
    def record(which, split, score):
        scores = {"explained_variance": score}
        where = {"protocol": "school-published", "split": split, "scores": scores}
        return {**where, "which": which}

    some = [record("before", 0, 0.1), record("own", 0, 0.2), record("own", 1, 0.6)]
    some.append(record("later", 0, 0.4))
    lines = "".join(json.dumps(each) + "\n" for each in some)
    (tmp_path / "kin_candidates.jsonl").write_text(lines)
    (tmp_path / "school-published.jsonl").write_text("")
    drawn = redrawn(page_of("kin-now"), tmp_path)
    assert "| school-published | explained_variance | 2 | 0.5000 | - |" in drawn
    write(tmp_path, "kinlearn Kin (defaults)", [0.7, 0.8, 0.9])
    drawn = redrawn(page_of("kin-now"), tmp_path)
    assert "| school-published | explained_variance | 3 | 0.8000 | - |" in drawn


def test_headlines_are_on_the_splits_of_all(tmp_path):
    write(tmp_path, OURS, [0.1] * 10)
    write(tmp_path, "lightgbm", [0.2] * 9 + [0.4])
    write(tmp_path, "catboost", [0.3] * 10)
    write(tmp_path, "merf", [0.9] * 9)  # too few
    kin = [
        {"protocol": "school-published", "split": split, "which": "now"}
        | {"scores": {"explained_variance": 0.5}}
        for split in range(1, 10)
    ]
    lines = "".join(json.dumps(each) + "\n" for each in kin)
    (tmp_path / "kin_candidates.jsonl").write_text(lines)
    row = KINDS["headlines"](["school-published"], tmp_path).splitlines()[2]
    assert row == (
        "| school-published, explained variance | 9 | 0.5000 | 0.1000 | "
        "catboost 0.3000 | lightgbm 0.2222 | +0.2000 [+0.2000, +0.2000] |"
    )


def test_coverage_in_short_is_a_mean_over_problems(tmp_path):
    def line(problem, tasks, kind="regression", condition="same"):
        record = {"problem": problem, "kind": kind, "condition": condition}
        figures = {"tasks": tasks, "worst": 0.5, "chance": 0.8, "contender": "Kin"}
        return json.dumps(record | figures) + "\n"

    lines = [line("a", 0.8), line("a", 0.9), line("b", 0.95)]
    lines += [line("a", 0.7, condition="fewer"), line("a", 0.6, "classification")]
    lines.append(line("a", 0.6, "classification", "fewer"))
    (tmp_path / "coverage.jsonl").write_text("".join(lines))
    text = KINDS["coverage-short"]([], tmp_path)
    assert (
        "intervals of Kin hold 90.0 % of new rows in the mean of tasks, over 2" in text
    )
    assert "least it is 0.500, where chance alone would give 0.800" in text
