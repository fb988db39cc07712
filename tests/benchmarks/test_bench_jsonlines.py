"""Records survive a kill at any byte."""

import json

import pytest

from benchmarks.jsonlines import JsonLines, read_records
from benchmarks.registry import BenchmarkError

RECORDS = [{"key": "a", "score": 0.5}, {"key": "b", "error": "naïve | text\n"}]


def write(path, records):
    with JsonLines(path) as store:
        for record in records:
            store.append(record)
    return path.read_bytes()


def test_records_come_back_in_order(tmp_path):
    path = tmp_path / "folder" / "runs.jsonl"
    content = write(path, RECORDS)
    assert read_records(path) == RECORDS
    assert content.count(b"\n") == 2
    with JsonLines(path) as store:
        assert (store.records, store.dropped_bytes) == (RECORDS, 0)


def test_a_last_line_cut_at_any_byte_is_dropped(tmp_path):
    path = tmp_path / "runs.jsonl"
    content = write(path, RECORDS)
    first = content.index(b"\n") + 1
    for cut in range(first, len(content)):
        path.write_bytes(content[:cut])
        assert read_records(path) == RECORDS[:1]
        with JsonLines(path) as store:
            assert store.records == RECORDS[:1]
            assert store.dropped_bytes == cut - first
            store.append({"key": "c"})
        assert read_records(path) == [RECORDS[0], {"key": "c"}]


def test_a_line_that_the_disk_lost_is_not_a_record(tmp_path):
    path = tmp_path / "runs.jsonl"
    write(path, RECORDS)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\0" * 20 + b"\n" + lines[1])
    assert read_records(path) == RECORDS[1:]


def test_a_second_writer_is_refused(tmp_path):
    path = tmp_path / "runs.jsonl"
    with JsonLines(path), pytest.raises(BenchmarkError, match="Another run is writing"):
        JsonLines(path)
    with JsonLines(path) as store:
        store.append({"key": "a"})


def test_an_absent_file_has_no_records(tmp_path):
    assert read_records(tmp_path / "none.jsonl") == []


def test_nan_is_not_written(tmp_path):
    path = tmp_path / "runs.jsonl"
    with JsonLines(path) as store, pytest.raises(ValueError, match="JSON compliant"):
        store.append({"score": float("nan")})
    assert path.read_bytes() == b""
    assert json.dumps(read_records(path)) == "[]"
