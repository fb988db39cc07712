"""Every form of file gives the same table."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from kinlearn.cli._errors import UserError
from kinlearn.cli._files import as_text, read_table

FRAME = pd.DataFrame(
    {
        "town": ["Köln", "a, b", 'say "x"', None],
        "code": ["007", "1", "2", "3"],
        "x": [1.5, None, -3.0, 4.25],
    }
)


def _text(frame):
    return {name: as_text(frame[name]).tolist() for name in frame}


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".csv.gz"])
def test_text_in_any_dress(separator, encoding, ending, tmp_path):
    path = tmp_path / f"a{ending}"
    content = FRAME.to_csv(sep=separator, index=False).encode(encoding)
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    source = read_table(path)
    assert _text(source.frame) == _text(FRAME)
    assert bool(source.remarks) == (encoding == "cp1252")


@pytest.mark.parametrize("ending", ["parquet", "feather", "arrow"])
def test_typed_files(ending, tmp_path):
    path = tmp_path / f"a.{ending}"
    FRAME.to_parquet(path) if ending == "parquet" else FRAME.to_feather(path)
    assert _text(read_table(path).frame) == _text(FRAME)


def test_the_ending_tsv_says_tab(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a,b\tc\n1,2\t3\n")
    assert read_table(path).frame.columns.tolist() == ["a,b", "c"]


def test_names_are_trimmed_and_an_index_of_parquet_is_kept(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a , b\n1, 2\n")
    assert read_table(path).frame.to_dict("list") == {"a": ["1"], "b": ["2"]}
    path = tmp_path / "a.parquet"
    FRAME.set_index("code").to_parquet(path)
    assert set(read_table(path).frame) == set(FRAME)


def test_a_quoted_separator_does_not_mislead(tmp_path):
    path = tmp_path / "a.csv"
    rows = "".join(f'"x; y; z",{i}\n' for i in range(9))
    path.write_text("name,n\n" + rows)
    assert read_table(path).frame.shape == (9, 2)


def test_a_file_longer_than_the_sample(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("a;b\n" + "1;2\n" * 200_000)
    assert read_table(path).frame.shape == (200_000, 2)


def test_umlauts_behind_the_sample_are_noticed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n" + b"1,2\n" * 200_000 + "1,ä\n".encode("latin-1"))
    source = read_table(path)
    assert source.frame["b"].iloc[-1] == "ä"
    assert "cp1252" in source.remarks[0]


def test_options_of_text_are_refused_elsewhere(tmp_path):
    path = tmp_path / "a.parquet"
    FRAME.to_parquet(path)
    with pytest.raises(UserError, match="are for text files"):
        read_table(path, separator=",")


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n")

    def refuse(*args):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("kinlearn.cli._files._first_bytes", refuse)
    with pytest.raises(UserError, match=r"Cannot read .*: no permission"):
        read_table(Path(path))
