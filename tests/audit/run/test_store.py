"""Records survive; runs are not mixed."""

import json
import multiprocessing
import sqlite3

import pytest

from kinlearn.audit.run._store import open_store
from kinlearn.exceptions import KinlearnWarning

IDENTITY = {
    "data": "d" * 64,
    "folds": "f" * 64,
    "contender": {"a": {"alpha": 1.0}, "b": {}},
    "version": {"numpy": "2.0"},
}


def test_records_come_back_as_they_were(tmp_path):
    path = tmp_path / "run.sqlite"
    record = {"values": [0.1 + 0.2, None, 1e-300], "error": "ü"}
    with open_store(path, IDENTITY) as store:
        store.append("first", record)
        started = store.started
    with open_store(path, IDENTITY) as store:
        assert "first" in store
        assert "second" not in store
        assert store["first"] == record
        assert store.started == started


def test_memory_and_file_give_the_same(tmp_path):
    record = {"values": (1.0, 2.5), "n": 3}
    with open_store(None, IDENTITY) as one, open_store(tmp_path, IDENTITY) as two:
        one.append("k", record)
        two.append("k", record)
        assert one["k"] == two["k"] == {"values": [1.0, 2.5], "n": 3}


def test_a_folder_and_missing_parents_will_do(tmp_path):
    with open_store(tmp_path, IDENTITY):
        assert (tmp_path / "sharing.sqlite").is_file()
    with open_store(tmp_path / "new" / "deep.db", IDENTITY):
        assert (tmp_path / "new" / "deep.db").is_file()


def test_seconds_add_up_over_sessions_and_reading_adds_nothing(tmp_path):
    totals = []
    for key in "ab":
        with open_store(tmp_path, IDENTITY) as store:
            before = store.seconds
            store.append(key, {})
            totals.append(store.seconds)
            assert store.seconds > before
    with open_store(tmp_path, IDENTITY) as store:
        assert store.seconds == totals[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": "e" * 64}, "different now: data"),
        (
            {"contender": {"a": {"alpha": 2.0}, "b": {}}},
            r"a alpha \(1.0 then, 2.0 now\)",
        ),
        ({"contender": {"a": {"alpha": 1.0}}}, r"contender b \(gone\)"),
        ({"version": {"numpy": "2.1"}}, r'version numpy \("2.0" then, "2.1" now\)'),
        ({"more": 1}, r"more \(new\)"),
    ],
)
def test_another_run_is_refused_with_what_differs(tmp_path, change, message):
    with open_store(tmp_path, IDENTITY) as store:
        store.append("k", {})
    with pytest.raises(ValueError, match=message):
        open_store(tmp_path, IDENTITY | change)
    with open_store(tmp_path, IDENTITY) as store:
        assert "k" in store


def test_files_of_another_kind_are_refused_and_left_alone(tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("mine")
    with pytest.raises(ValueError, match="is a file of another kind"):
        open_store(text, IDENTITY)
    assert text.read_text() == "mine"
    base = tmp_path / "other.sqlite"
    with sqlite3.connect(base) as connection:
        connection.execute("CREATE TABLE mine (x)")
    connection.close()
    with pytest.raises(ValueError, match="a database of something else"):
        open_store(base, IDENTITY)


def test_a_later_format_is_refused(tmp_path):
    with open_store(tmp_path / "s", IDENTITY):
        pass
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute(
            "UPDATE about SET value = ? WHERE name = 'format'", (json.dumps("x/9"),)
        )
    connection.close()
    with pytest.raises(ValueError, match="has the format 'x/9'"):
        open_store(tmp_path / "s", IDENTITY)


def test_a_damaged_file_is_one_clear_error(tmp_path):
    path = tmp_path / "s"
    path.write_bytes(b"SQLite format 3\x00" + b"rubbish" * 50)
    with pytest.raises(ValueError, match="cannot be used"):
        open_store(path, IDENTITY)


def _try(path, answers):
    try:
        open_store(path, IDENTITY).close()
        answers.put("opened")
    except RuntimeError as error:
        answers.put(str(error))


def test_two_processes_cannot_write_at_a_time(tmp_path):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    path = str(tmp_path / "s")
    with open_store(path, IDENTITY):
        other = context.Process(target=_try, args=(path, answers))
        other.start()
        assert "Another run is writing to" in answers.get(timeout=60)
        other.join()


def test_nan_never_gets_in(tmp_path):
    with (
        open_store(tmp_path, IDENTITY) as store,
        pytest.raises(ValueError, match="not JSON compliant"),
    ):
        store.append("k", {"x": float("nan")})


def test_a_full_disk_keeps_what_was_finished(tmp_path):
    with open_store(tmp_path, IDENTITY) as store:
        store.append("first", {"x": 1})
        store._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(ValueError, match=r"the disk is full.*finished is kept"):
            store.append("second", {"x": "long" * 10_000})
    with open_store(tmp_path, IDENTITY) as store:
        assert store["first"] == {"x": 1}
        assert "second" not in store


def test_damaged_records_are_computed_again(tmp_path):
    with open_store(tmp_path / "s", IDENTITY) as store:
        for key in "abc":
            store.append(key, {"x": 1})
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute("UPDATE records SET value = '{\"x\": 7}' WHERE key = 'a'")
        # one byte that is no text
        connection.execute(
            "UPDATE records SET value = CAST(x'ff00fe' AS TEXT) WHERE key = 'b'"
        )
    connection.close()
    with pytest.warns(KinlearnWarning, match="2 damaged records.*; 1 are as they"):
        store = open_store(tmp_path / "s", IDENTITY)
    with store:
        assert "a" not in store
        assert "c" in store
        store.append("a", {"x": 2})
    with (
        pytest.warns(KinlearnWarning, match="1 damaged"),
        open_store(tmp_path / "s", IDENTITY) as store,
    ):
        assert store["a"] == {"x": 2}


@pytest.mark.parametrize("name", ["identity", "started"])
@pytest.mark.parametrize("change", ["DELETE FROM about", "UPDATE about SET value='{'"])
def test_a_damaged_head_is_one_clear_error(tmp_path, name, change):
    with open_store(tmp_path / "s", IDENTITY):
        pass
    with sqlite3.connect(tmp_path / "s") as connection:
        connection.execute(f"{change} WHERE name = '{name}'")
    connection.close()
    with pytest.raises(ValueError, match=r"it is damaged\. Delete it, or name another"):
        open_store(tmp_path / "s", IDENTITY)


@pytest.mark.parametrize("name", ["n" * 300, "file/below", "deep/" * 900 + "s"])
def test_names_that_cannot_be_are_one_clear_error(tmp_path, name):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"cannot be opened: .* Name another") as error:
        open_store(tmp_path / name, IDENTITY)
    assert len(str(error.value)) < 250


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("attempt to write a readonly database", "it may only be read"),
        ("unable to open database file", "its folder cannot be written to"),
        ("disk I/O error", "cannot be read or written. What was finished is kept"),
    ],
)
def test_errors_of_the_disk_are_told_in_our_words(tmp_path, theirs, ours):
    with open_store(tmp_path, IDENTITY) as store:
        error = store._explain(sqlite3.OperationalError(theirs))
    assert ours in str(error)
    assert theirs not in str(error).replace("disk I/O error", "")
