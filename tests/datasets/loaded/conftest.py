"""Small generated files in the formats of the real data sets."""

import csv
import gzip
import hashlib
import json

import numpy as np
import pytest

from kinlearn.datasets.loaded import _public, _store

RNG = np.random.RandomState(0)


def write_jsonl(path, rows):
    path.parent.mkdir(exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def write_npz(path, **arrays):
    path.parent.mkdir(exist_ok=True)
    np.savez(path, **arrays)


def write_csv(path, header, rows):
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])


def register(monkeypatch, home, *files):
    """Make the checksums those of the files below `home`."""
    for file in files:
        digest = hashlib.sha256((home / file).read_bytes()).hexdigest()
        monkeypatch.setitem(_store.SHA256, file, digest)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """An empty data folder and an empty cache folder, known by environment."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setenv("KINLEARN_DATA", str(folder))
    monkeypatch.setenv("KINLEARN_CACHE", str(tmp_path / "cache"))

    def unreachable(*args, **options):
        raise ConnectionError("no network in tests")

    monkeypatch.setattr(_public, "import_optional", unreachable)
    return folder


@pytest.fixture
def put(home, monkeypatch):
    """A function that writes a file into the data folder and registers it.

    ``put("a/b.npz", x=...)`` stores arrays, ``put("a/b.jsonl.gz", [...])``
    objects, ``put("a/b.csv", header, rows)`` a table, ``put("a/b.txt.gz", text)``
    a text.
    """

    def write(file, *content, **arrays):
        path = home / file
        if file.endswith(".npz"):
            write_npz(path, **arrays)
        elif file.endswith(".jsonl.gz"):
            write_jsonl(path, *content)
        elif file.endswith(".csv"):
            write_csv(path, *content)
        else:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(gzip.compress(content[0].encode()))
        register(monkeypatch, home, file)
        return path

    return write


@pytest.fixture
def landmine(put):
    """A landmine file of 3 fields with 4 rows each."""
    arrays = {
        "X": RNG.standard_normal((12, 9)),
        "y": np.tile([0, 0, 0, 1], 3).astype(np.int8),
        "task": np.repeat([0, 1, 2], 4).astype(np.int16),
    }
    return put("landmine/landmine.npz", **arrays), arrays


@pytest.fixture
def newsgroups(put):
    """Two messages of each group of "rec-talk", one of another."""
    groups = [
        "rec.autos",
        "rec.motorcycles",
        "talk.politics.guns",
        "talk.politics.misc",
        "rec.sport.baseball",
        "rec.sport.hockey",
        "talk.politics.mideast",
        "talk.religion.misc",
    ]
    rows = [
        {
            "id": f"{i}{part}",
            "split": part,
            "group": group,
            "text": f"From: a@b\n\n{group.split('.')[0]} word{i} grüße common",
        }
        for i, group in enumerate([*groups, "comp.graphics"])
        for part in ("train", "test")
    ]
    return put("20newsgroups/20news_bydate.jsonl.gz", rows), rows
