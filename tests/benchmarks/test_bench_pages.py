"""Tables of the documentation are those of the records; pairs with the better peer."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks.environment import RECORDS
from benchmarks.jsonlines import read_records
from benchmarks.quality.metrics import AUC
from benchmarks.quality.pages import KINDS, LIGHTGBM, OURS, PAGES, main, redrawn
from benchmarks.quality.protocol import PROTOCOLS, Metric
from benchmarks.quality.ranks import Results, against_better, paired_table
from benchmarks.quality.statistics import corrected_interval

ERROR = Metric("error", "error", None, greater_is_better=False, digits=2)
MOST_BYTES_OF_A_RECORD = 1_000  # with a score for each of ten tasks


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_show_what_the_records_have(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("<!-- table: ") == text.count("<!-- end -->") > 0
    assert redrawn(text) == text, "run python -m benchmarks.quality.pages"


def test_another_table_is_found(tmp_path, monkeypatch, capsys):
    page = tmp_path / "page.md"
    before = redrawn(PAGES[0].read_text(encoding="utf-8"))
    page.write_text(before.replace("| ours |", "| ours | 1 |", 1), encoding="utf-8")
    monkeypatch.setattr("benchmarks.quality.pages.PAGES", (page,))
    assert main(["--check"]) == 1
    assert "not as the records" in capsys.readouterr().out
    assert main([]) == 0
    assert main(["--check"]) == 0
    assert page.read_text(encoding="utf-8") == before


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


def test_kin_now_is_the_last_version_beside_the_first(tmp_path):
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
    row = "| school-published | explained_variance | 2 | 0.5000 | 0.1000 (1) | - |"
    assert row in drawn
