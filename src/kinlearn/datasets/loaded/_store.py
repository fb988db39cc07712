"""From files on disk to what a loader returns: found, checked, read, cached.

A loader makes a request, which finds a file of the catalogue, or has it fetched if it
has a public address, and checks its SHA-256; or raises an error that names what is
missing.
"""

import csv
import gzip
import hashlib
import json
import os
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from kinlearn.datasets._assemble import Loaded, to_bunch
from kinlearn.datasets.loaded._catalogue import (
    CATALOGUE,
    SHA256,
    DataHome,
    describe,
    file_path,
)
from kinlearn.datasets.loaded._public import CHECKSUM_SUFFIX, fetch_public
from kinlearn.utils import replacing
from kinlearn.utils._typing import Table

__all__ = [
    "Request",
    "cached_arrays",
    "read_csr",
    "read_csv",
    "read_jsonl",
    "read_lines",
    "read_npz",
    "sha256_of",
]

# What a damaged or foreign file makes the readers raise.
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    KeyError,
    RuntimeError,
    ValueError,
)


def cache_home() -> Path:
    """Folder of parsed forms: KINLEARN_CACHE, else the user's cache folder."""
    chosen = os.environ.get("KINLEARN_CACHE")
    if chosen:
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "kinlearn"


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@dataclass(frozen=True)
class Request:
    """Which data set is to be loaded, from where, and as what it is returned."""

    name: str
    data_home: DataHome
    verify: bool
    as_frame: bool
    return_X_y: bool
    download: bool = True

    def path(self, file: str = "") -> Path:
        """Path of its file of this name, or of its only one: there, and checked."""
        entry = CATALOGUE[self.name]
        file = next(known for known in entry.files if known.endswith(file))
        path = file_path(file, self.data_home)
        if not path.is_file():
            self._obtain(file, path)
        if self.verify:
            self._check(file, path)
        return path

    def _obtain(self, file: str, path: Path) -> None:
        """Fetch a file that is not there, or say where it can be had."""
        entry = CATALOGUE[self.name]
        public = entry.public.get(file)
        if public is None:
            why = "It has no public address that kinlearn knows: put the file there"
        elif not self.download:
            why = (
                f"download_if_missing=False: put the file there, or fetch {public.url}"
            )
        else:
            try:
                fetch_public(public, path, sha256_of)
            except (ImportError, OSError, ValueError, KeyError) as error:
                raise self._missing(
                    path,
                    f"Fetching it from {public.url} failed ({_brief(error)}). Try "
                    "again, or put the file there",
                ) from error
            return
        raise self._missing(path, why)

    def _missing(self, path: Path, why: str) -> FileNotFoundError:
        entry = CATALOGUE[self.name]
        return FileNotFoundError(
            f"The data set {self.name!r} needs the file {path}, which is not there. "
            f"{why}, or pass the folder of the data by data_home= or the environment "
            f"variable KINLEARN_DATA. Original source: {entry.home}. The checked files "
            f"were made from: {entry.copies}. "
            "The guide page 'Data sets' describes the form of the file."
        )

    def _check(self, file: str, path: Path) -> None:
        """Compare the checksum with that of the catalogue, or of the fetched file."""
        expected = SHA256[file]
        if not expected:  # of tables that each program writes in its own way
            return
        found = sha256_of(path)
        beside = path.with_name(path.name + CHECKSUM_SUFFIX)
        fetched = (
            beside.read_text(encoding="ascii", errors="replace").strip()
            if beside.is_file()
            else ""
        )
        if found not in (expected, fetched):
            raise OSError(
                f"The file {path} of the data set {self.name!r} has the SHA-256 "
                f"checksum {found}, but {fetched or expected} is expected: it is "
                "damaged or another version. Replace it, or pass verify=False to read "
                "it all the same."
            )

    def bunch(self, X: Table, y: Any, **entries: Any) -> Loaded:
        """What the loader returns; see :func:`to_bunch`."""
        return to_bunch(
            X,
            y,
            descr=describe(self.name),
            as_frame=self.as_frame,
            return_X_y=self.return_X_y,
            **entries,
        )


def _brief(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}"


def _unreadable(path: Path, why: object) -> OSError:
    detail = str(why) or type(why).__name__
    return OSError(f"The file {path} cannot be read as expected: {detail}.")


def _load_arrays(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    # opened here: numpy leaves a file open that turns out to be damaged
    with (
        open(path, "rb") as stream,
        np.load(stream, allow_pickle=False) as stored,
    ):
        missing = [name for name in names if name not in stored.files]
        if missing:
            raise ValueError(f"no array named {', '.join(missing)}")
        return {name: stored[name] for name in names}


def read_npz(path: Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Arrays of an .npz file by name; pickled objects are refused."""
    try:
        return _load_arrays(path, names)
    except _BROKEN as error:
        raise _unreadable(path, error) from error


def read_csr(path: Path, *, suffix: str = "") -> Any:
    """A sparse matrix stored as data, indices, indptr and shape."""
    names = [f"{part}{suffix}" for part in ("data", "indices", "indptr", "shape")]
    parts = read_npz(path, names)
    data, indices, indptr, shape = (parts[name] for name in names)
    try:
        return sp.csr_array((data, indices, indptr), shape=tuple(shape))
    except ValueError as error:
        raise _unreadable(path, error) from error


def read_lines(path: Path) -> list[str]:
    """Lines of a gzipped text file."""
    try:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
            return stream.read().removesuffix("\n").split("\n")
    except _BROKEN as error:
        raise _unreadable(path, error) from error


def read_jsonl(path: Path, fields: Sequence[str]) -> dict[str, list]:
    """Columns of a gzipped file with one JSON object on each line."""
    columns: dict[str, list] = {field: [] for field in fields}
    try:
        with gzip.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                row = json.loads(line)
                for field, column in columns.items():
                    column.append(row[field])
    except (*_BROKEN, TypeError) as error:
        raise OSError(
            f"The file {path} cannot be read as expected at line "
            f"{len(columns[fields[0]]) + 1}: {type(error).__name__}: {error}."
        ) from error
    if not columns[fields[0]]:
        raise _unreadable(path, "it holds no rows")
    return columns


def read_csv(path: Path, *, missing: str = "") -> dict[str, np.ndarray]:
    """Columns of a csv file with a header; an empty cell, or `missing`, is missing.

    float64 where every cell is a number or missing (NaN), else object, with None.
    """
    try:
        with open(path, encoding="utf-8", newline="") as stream:
            header, *rows = csv.reader(stream)
    except (*_BROKEN, csv.Error) as error:
        raise _unreadable(path, error) from error
    uneven = [i for i, row in enumerate(rows, 2) if len(row) != len(header)]
    if uneven:
        raise OSError(
            f"The file {path} cannot be read as expected: line {uneven[0]} has "
            f"{len(rows[uneven[0] - 2])} cells, the header {len(header)}."
        )
    return {
        name: _column(cells, missing)
        for name, *cells in zip(header, *rows, strict=True)
    }


def _column(cells: Sequence[str], missing: str) -> np.ndarray:
    cells = ["" if cell == missing else cell for cell in cells]
    try:
        return np.array([cell or "nan" for cell in cells], dtype=np.float64)
    except ValueError:
        return np.array([cell or None for cell in cells], dtype=object)


def cached_arrays(
    key: str, names: Sequence[str], make: Callable[[], dict[str, np.ndarray]]
) -> dict[str, np.ndarray]:
    """Arrays from the cache, or made and put there.

    The file is written under a temporary name and renamed, so that a reader never sees
    half of one; one that cannot be read, or lacks one of `names`, is made again. Where
    the cache cannot be written, the arrays are made each time. `key` is everything that
    they depend on, such as the source's checksum.
    """
    digest = hashlib.sha256(key.encode()).hexdigest()[:32]
    path = cache_home() / f"{digest}.npz"
    try:
        return _load_arrays(path, names)
    except _BROKEN:
        pass  # none yet, or a damaged one
    arrays = make()
    _write_atomically(path, arrays)
    return arrays


def _write_atomically(path: Path, arrays: dict[str, Any]) -> None:
    # a cache that cannot be written costs time, nothing else
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            np.savez_compressed(partial, **arrays)
