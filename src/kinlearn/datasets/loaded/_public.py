"""Files that have a public address: fetched by pooch, checked, brought into our form.

The catalogue names the address and the SHA-256 of what lies there; nothing else is
accepted. What is written into the data folder has its own checksum beside it.
"""

import csv
import gzip
import io
import json
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from kinlearn.datasets.loaded._catalogue import Public
from kinlearn.utils import import_optional, replacing

__all__ = ["CHECKSUM_SUFFIX", "fetch_public"]

# Of the file beside a fetched one, which has its checksum.
CHECKSUM_SUFFIX = ".sha256"


def fetch_public(public: Public, path: Path, sha256_of: Callable[[Path], str]) -> None:
    """Fetch what the catalogue names and write it as `path`, with its checksum beside.

    Raises
    ------
    ImportError
        If pooch is not installed.
    OSError, ValueError
        If the address cannot be reached, or has something else than expected.
    """
    pooch = import_optional("pooch", extra="fetch", purpose="Fetching data")
    with tempfile.TemporaryDirectory(prefix="kinlearn-") as folder:
        fetched = Path(
            pooch.retrieve(
                public.url,
                known_hash=f"sha256:{public.sha256}",
                fname="fetched",
                path=folder,
            )
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as partial:
            _FORMS[public.form](fetched, Path(partial), **public.options)
            digest = sha256_of(Path(partial))
            beside = path.with_name(path.name + CHECKSUM_SUFFIX)
            beside.write_text(f"{digest}\n", encoding="ascii")


def _write_table(
    source: Path,
    path: Path,
    *,
    separator: str = ",",
    header: str = "",
    missing: str = "?",
    last: dict[str, str] | None = None,
) -> None:
    """Cells between separators become a csv file with a header, empty where missing.

    Without `header` the first line is it. `last` renames the values of the last column.
    """
    text = source.read_text(encoding="utf-8")
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if row]
    names = header.split(",") if header else rows.pop(0)
    last = last or {}
    with open(path, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        for *cells, end in rows:
            full = [*cells, last.get(end, end)]
            writer.writerow("" if cell == missing else cell for cell in full)


def _write_mnist(source: Path, path: Path) -> None:
    """Digits as Keras keeps them: images as rows of pixels."""
    with np.load(source, allow_pickle=False) as stored:
        arrays = {
            f"{kind}_{part}": stored[f"{kind.lower()}_{part}"]
            for part in ("train", "test")
            for kind in ("X", "y")
        }
    for part in ("train", "test"):
        X = arrays[f"X_{part}"]
        arrays[f"X_{part}"] = X.reshape(len(X), -1)
    with open(path, "wb") as stream:
        np.savez_compressed(stream, **arrays)


def _messages(archive: tarfile.TarFile) -> Iterator[dict[str, Any]]:
    for member in archive:
        parts = member.name.split("/")
        content = archive.extractfile(member) if member.isfile() else None
        if content is None or len(parts) < 3:
            continue
        folder, group, name = parts[-3:]
        yield {
            "id": name,
            "split": folder.rpartition("-")[2],
            "group": group,
            "text": content.read().decode("latin-1"),
        }


def _write_newsgroups(source: Path, path: Path) -> None:
    """One line for each message of the archive, by part, group and number."""
    with tarfile.open(source, "r:gz") as archive:
        rows = sorted(
            _messages(archive), key=lambda row: (row["split"], row["group"], row["id"])
        )
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(json.dumps(row) + "\n" for row in rows)


def _write_member(source: Path, path: Path, *, inner: str, member: str) -> None:
    """A file of an archive that lies in another one."""
    with tarfile.open(source, "r:gz") as outer:
        stream = outer.extractfile(inner)
        if stream is None:
            raise KeyError(inner)
        with tarfile.open(fileobj=stream, mode="r:gz") as archive:
            content = archive.extractfile(member)
            if content is None:
                raise KeyError(member)
            path.write_bytes(content.read())


_FORMS: dict[str, Callable[..., None]] = {
    "table": _write_table,
    "mnist": _write_mnist,
    "newsgroups": _write_newsgroups,
    "member": _write_member,
}
