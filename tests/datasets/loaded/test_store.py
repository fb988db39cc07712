"""Finding files, checksums, reading damaged files, and the cache."""

import gzip
import os

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from kinlearn.datasets import (
    fetch_20newsgroups_tasks,
    fetch_dataset,
    fetch_landmine,
    list_datasets,
)
from kinlearn.datasets.loaded import _catalogue, _store, _texts
from kinlearn.datasets.loaded._catalogue import CATALOGUE, SHA256


def test_every_file_of_the_catalogue_has_a_checksum():
    files = [file for entry in CATALOGUE.values() for file in entry.files]
    assert sorted(files) == sorted(SHA256)
    without = {file.split("/")[0] for file, digest in SHA256.items() if not digest}
    assert without == {"multilevel"}  # tables that each program writes in its own way
    assert {len(digest) for digest in SHA256.values()} == {0, 64}


def test_a_missing_file_says_where_it_should_be_and_where_it_comes_from(home):
    with pytest.raises(FileNotFoundError) as caught:
        fetch_landmine()
    message = str(caught.value)
    assert str(home / "landmine" / "landmine.npz") in message
    assert "KINLEARN_DATA" in message
    assert "http://www.ee.duke.edu/~lcarin/LandmineData.zip" in message


def test_every_public_file_is_one_of_its_set_and_has_a_checksum():
    for entry in CATALOGUE.values():
        assert set(entry.public) <= set(entry.files)
        for public in entry.public.values():
            assert public.url.startswith("https://")
            assert len(public.sha256) == 64


@pytest.mark.parametrize("name", CATALOGUE)
def test_every_loader_names_its_missing_file(home, name):
    with pytest.raises(FileNotFoundError, match="KINLEARN_DATA"):
        fetch_dataset(name)


def test_data_home_goes_before_the_environment(landmine, tmp_path, monkeypatch):
    path, arrays = landmine
    monkeypatch.setenv("KINLEARN_DATA", str(tmp_path / "elsewhere"))
    with pytest.raises(FileNotFoundError, match="elsewhere"):
        fetch_landmine()
    X, _ = fetch_landmine(data_home=path.parent.parent, return_X_y=True)
    assert_array_equal(X[:, :-1], arrays["X"])


def test_without_both_it_is_a_folder_of_the_user(monkeypatch, tmp_path):
    monkeypatch.delenv("KINLEARN_DATA", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "kinlearn_data")):
        fetch_landmine()
    with pytest.raises(FileNotFoundError, match=str(tmp_path / "mine")):
        fetch_landmine(data_home="~/mine")


def test_a_wrong_checksum_is_an_error_unless_told_otherwise(landmine):
    path, arrays = landmine
    arrays["X"][0, 0] = 123.0
    np.savez(path, **arrays)
    with pytest.raises(OSError, match=r"checksum .* is expected.*verify=False"):
        fetch_landmine()
    assert fetch_landmine(verify=False).data[0, 0] == 123.0


@pytest.mark.parametrize("damage", ["empty", "cut", "text", "other arrays", "pickle"])
def test_a_damaged_array_file_is_an_error_that_names_it(landmine, damage):
    path, arrays = landmine
    if damage == "other arrays":
        np.savez(path, X=arrays["X"])
    elif damage == "pickle":
        np.savez(path, **{**arrays, "X": np.array([{}], dtype=object)})
    else:
        content = {"empty": b"", "cut": path.read_bytes()[:-200], "text": b"X,y\n1,2"}
        path.write_bytes(content[damage])
    with pytest.raises(OSError, match=r"landmine\.npz cannot be read as expected"):
        fetch_landmine(verify=False)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        gzip.compress(b'{"id": "1"}\n'),
        gzip.compress(b"[1]\n"),
        gzip.compress(b'{"id": '),
        gzip.compress(b'{"id": "1"}\n' * 1000)[:-20],
        gzip.compress(b"\xff\xfe"),
    ],
    ids=["empty", "no gzip", "fields", "list", "half line", "cut", "encoding"],
)
def test_a_damaged_text_file_is_an_error_that_names_it(newsgroups, content):
    path, _ = newsgroups
    path.write_bytes(content)
    with pytest.raises(OSError, match=r"20news_bydate\.jsonl\.gz cannot be read"):
        fetch_20newsgroups_tasks(verify=False)


def test_a_table_with_a_short_line_is_an_error(put):
    path = put("uci/cmc.csv", ["a", "b"], [["1", "2"], ["3"]])
    with pytest.raises(OSError, match=r"line 3 has 1 cells, the header 2"):
        _store.read_csv(path)


def test_tables_keep_numbers_texts_and_missing_cells(put):
    rows = [["1", "x", ""], ["", "", "2.5"]]
    columns = _store.read_csv(put("uci/cmc.csv", ["a", "b", "c"], rows))
    assert_array_equal(columns["a"], [1.0, np.nan])
    assert_array_equal(columns["b"], np.array(["x", None], dtype=object))
    assert_array_equal(columns["c"], [np.nan, 2.5])


def cache_files():
    folder = _store.cache_home()
    return sorted(folder.iterdir()) if folder.is_dir() else []


def counts():
    bunch = fetch_20newsgroups_tasks("rec-talk", features="counts", min_df=1)
    return bunch.data.toarray(), bunch.feature_names


def forbid_counting(monkeypatch):
    def fail(texts):
        raise AssertionError("counted again")

    monkeypatch.setattr(_texts, "_count_terms", fail)


def test_counts_are_made_once(newsgroups, monkeypatch):
    first, names = counts()
    assert [file.suffix for file in cache_files()] == [".npz"]
    forbid_counting(monkeypatch)
    second, names_again = counts()
    assert_array_equal(first, second)
    assert names == names_again


def test_another_file_is_counted_anew(newsgroups, put):
    counts()
    _, rows = newsgroups
    put("20newsgroups/20news_bydate.jsonl.gz", [dict(r, text="new term") for r in rows])
    assert counts()[1] == ["new", "term"]
    assert len(cache_files()) == 2


def test_a_damaged_cache_is_made_again(newsgroups):
    expected, names = counts()
    (file,) = cache_files()
    whole = file.read_bytes()
    rng = np.random.RandomState(0)
    damaged = [b"", b"text", whole[: len(whole) // 2], whole[:-1]]
    for _ in range(60):
        place = rng.randint(len(whole))
        flipped = bytes([whole[place] ^ (1 << rng.randint(8))])
        damaged.append(whole[:place] + flipped + whole[place + 1 :])
    for content in damaged:
        file.write_bytes(content)
        found, found_names = counts()
        assert_array_equal(found, expected)
        assert found_names == names


def test_a_cache_of_other_arrays_is_made_again(newsgroups, monkeypatch):
    expected, _ = counts()
    (file,) = cache_files()
    np.savez(file, data=np.ones(3))
    assert_array_equal(counts()[0], expected)
    forbid_counting(monkeypatch)
    assert_array_equal(counts()[0], expected)


def test_a_cache_that_cannot_be_written_is_done_without(newsgroups, monkeypatch):
    expected, _ = counts()
    blocked = _store.cache_home().parent / "a file"
    blocked.write_text("")
    monkeypatch.setenv("KINLEARN_CACHE", str(blocked))
    assert_array_equal(counts()[0], expected)
    assert blocked.read_text() == ""


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_write_leaves_nothing_behind(newsgroups, monkeypatch, error):
    def stop(*args):
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", stop)
        if error is OSError:
            counts()  # a full disk, say
        else:
            with pytest.raises(KeyboardInterrupt):
                counts()
    assert cache_files() == []


def test_the_cache_lies_where_caches_do(monkeypatch, tmp_path):
    monkeypatch.delenv("KINLEARN_CACHE", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _store.cache_home() == tmp_path / "kinlearn"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert _store.cache_home() == tmp_path / ".cache" / "kinlearn"


def test_the_list_says_what_is_there(landmine):
    listed = {entry.name: entry for entry in list_datasets()}
    assert list(listed) == ["demo", *CATALOGUE]
    there = [name for name, entry in listed.items() if entry.available]
    assert there == ["demo", "landmine"]
    assert listed["uci:heart"].loader == "fetch_uci('heart')"
    assert listed["landmine"].loader == "fetch_landmine()"
    assert listed["landmine"][:5] == ("landmine", 14820, 9, 29, "binary")


def test_the_list_of_another_folder(landmine, tmp_path):
    there = [e.name for e in list_datasets(tmp_path / "nothing") if e.available]
    assert there == ["demo"]


def test_datasets_are_loaded_by_name(landmine):
    X, y = fetch_dataset("landmine", return_X_y=True)
    assert X.shape == (12, 10)
    assert y.shape == (12,)
    demo = fetch_dataset("demo", data_home="anywhere", verify=True, as_frame=False)
    listed = _catalogue._DEMO
    assert demo.data.shape == (listed.rows, listed.features + 1)
    assert len(demo.task_names) == listed.tasks
    with pytest.raises(ValueError, match=r"no data set 'mars'. Known: demo, landmine"):
        fetch_dataset("mars")
