"""Where finished work is kept: in memory, or durably in a file.

A record is plain data under a key. The file is an SQLite database; a record is
on the disk when `append` returns, so a run that is killed at any moment finds
everything that it had finished. It has a checksum: a damaged record is computed again.
Both stores keep records as JSON text, so that a result is the same whether it was
computed in one go or not.
"""

import json
import sqlite3
import time
import warnings
import zlib
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import Any, Self

from kinlearn.exceptions import KinlearnWarning

__all__ = ["FileStore", "LevelRecords", "MemoryStore", "open_store"]

_FORMAT = "kinlearn-audit-store/2"
_FILE_IN_FOLDER = "sharing.sqlite"


class MemoryStore:
    """Records of a run that ends with its process."""

    def __init__(self, identity: dict[str, Any]) -> None:
        self.started = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        self._begin = time.perf_counter()
        self._texts: dict[str, str] = {}
        self._elapsed: dict[int, float] = {}  # session -> seconds up to its last record
        self._session = 0

    def __contains__(self, key: str) -> bool:
        return key in self._texts

    def __getitem__(self, key: str) -> dict[str, Any]:
        return json.loads(self._texts[key])

    def append(self, key: str, record: dict[str, Any]) -> None:
        """Keep a record."""
        text = json.dumps(record, allow_nan=False)
        elapsed = time.perf_counter() - self._begin
        self._write(key, text, elapsed)
        self._texts[key] = text
        self._elapsed[self._session] = elapsed

    def _write(self, key: str, text: str, elapsed: float) -> None:
        pass

    @property
    def seconds(self) -> float:
        """Time that the work took, over all sessions, up to the last record."""
        return sum(self._elapsed.values())

    def close(self) -> None:
        """Let go of the file."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()


class LevelRecords:
    """Records of a run, with the scores by the groups of a level."""

    def __init__(self, records: MemoryStore, level: str) -> None:
        self.records, self.level = records, level

    def __getitem__(self, key: str) -> dict[str, Any]:
        record = self.records[key]
        return record | record.get("levels", {}).get(self.level, {})


class FileStore(MemoryStore):
    """Records in a file, which one process at a time may use."""

    def __init__(self, path: str | PathLike[str], identity: dict[str, Any]) -> None:
        super().__init__(identity)
        self.path = Path(path)
        try:
            if self.path.is_dir():
                self.path /= _FILE_IN_FOLDER
            self._check_header()
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            why = error.strerror or str(error)
            raise ValueError(
                f"store={_short(self.path)!r} cannot be opened: {why}. Name another "
                "file, in a folder that you may write to."
            ) from error
        self._connection: Any = None
        try:
            self._connection = sqlite3.connect(
                self.path, timeout=1, isolation_level=None
            )
            # damage may leave bytes that are no text: the checksum tells
            self._connection.text_factory = _text
            self._open(identity)
        except sqlite3.Error as error:
            self.close()
            raise self._explain(error) from error
        except (KeyError, TypeError, json.JSONDecodeError) as error:
            self.close()
            raise self._explain(sqlite3.DatabaseError("malformed")) from error
        except BaseException:
            self.close()
            raise

    def _check_header(self) -> None:
        """Refuse a file that is something else before SQLite writes to it."""
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            head = file.read(16)
            if head and head != b"SQLite format 3\x00":
                raise ValueError(
                    f"store={str(self.path)!r} is a file of another kind. Name a new "
                    "file, or a folder."
                )

    def _explain(self, error: sqlite3.Error) -> Exception:
        if "locked" in str(error):
            return RuntimeError(
                f"Another run is writing to {str(self.path)!r}. Wait for it, stop it, "
                "or name another store."
            )
        text = str(error)
        kept = "What was finished is kept: repeat the call to go on."
        ways = {
            "full": f"the disk is full. Free some space. {kept}",
            "disk I/O error": f"the disk cannot be read or written. {kept}",
            "readonly": "it may only be read. Check the rights of the file and its "
            "folder, or name another store.",
            "unable to open": "its folder cannot be written to. Check the rights, or "
            "name another store.",
            "malformed": "it is damaged. Delete it, or name another store.",
            "not a database": "it is damaged. Delete it, or name another store.",
        }
        why = next((way for word, way in ways.items() if word in text), f"{text}.")
        return ValueError(f"store={_short(self.path)!r} cannot be used: {why}")

    def _open(self, identity: dict[str, Any]) -> None:
        run = self._connection.execute
        # The lock is held until the process ends, however it ends.
        run("PRAGMA locking_mode = EXCLUSIVE")
        run("PRAGMA synchronous = FULL")
        run("BEGIN EXCLUSIVE")
        names = run("SELECT name FROM sqlite_master WHERE type = 'table'")
        tables = {name for (name,) in names}
        if not tables:
            run("CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT)")
            run(
                "CREATE TABLE records (key TEXT PRIMARY KEY, value TEXT, "
                "session INTEGER, elapsed REAL, checksum INTEGER)"
            )
            about: dict[str, Any] = {
                "format": _FORMAT,
                "started": self.started,
                "identity": identity,
            }
            run_many = self._connection.executemany
            rows = [(name, json.dumps(value)) for name, value in about.items()]
            run_many("INSERT INTO about VALUES (?, ?)", rows)
        elif tables != {"about", "records"}:
            raise ValueError(
                f"store={str(self.path)!r} is a database of something else. Name a new "
                "file, or a folder."
            )
        run("COMMIT")
        about = {name: json.loads(v) for name, v in run("SELECT * FROM about")}
        if about.get("format") != _FORMAT:
            raise ValueError(
                f"store={str(self.path)!r} has the format {about.get('format')!r}; "
                f"this version reads {_FORMAT!r}. Name a new file."
            )
        self._compare(about["identity"], json.loads(json.dumps(identity)))
        self.started = about["started"]
        self._read_records()

    def _read_records(self) -> None:
        n_damaged = 0
        read = self._connection.execute("SELECT * FROM records ORDER BY rowid")
        for key, text, session, elapsed, checksum in read:
            if _checksum(key, text, session, elapsed) != checksum:
                n_damaged += 1
                continue
            self._texts[key] = text
            self._elapsed[session] = max(elapsed, self._elapsed.get(session, 0.0))
        self._session = 1 + max(self._elapsed, default=-1)
        if n_damaged:
            warnings.warn(
                f"store={_short(self.path)!r} holds {n_damaged} damaged records, which "
                f"are computed again; {len(self._texts)} are as they were.",
                KinlearnWarning,
                stacklevel=2,
            )

    def _compare(self, stored: dict[str, Any], now: dict[str, Any]) -> None:
        changes = list(_differences(stored, now))
        if changes:
            raise ValueError(
                f"store={str(self.path)!r} holds another run; different now: "
                + "; ".join(changes)
                + ". Name another store, or go back to what it was made with."
            )

    def _write(self, key: str, text: str, elapsed: float) -> None:
        row = (key, text, self._session, elapsed)
        try:
            self._connection.execute(
                "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)",
                (*row, _checksum(*row)),
            )
        except sqlite3.Error as error:
            raise self._explain(error) from error

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()


def _short(path: Path) -> str:
    """A path for a message, the end of it where it is very long."""
    text = str(path)
    return text if len(text) <= 100 else f"...{text[-97:]}"


def _text(stored: bytes) -> str:
    return stored.decode(errors="replace")


def _checksum(*row: Any) -> int:
    return zlib.crc32(json.dumps(row, default=repr).encode())


def _differences(
    stored: dict[str, Any], now: dict[str, Any], where: str = ""
) -> Iterator[str]:
    """Describe what is not the same in two dicts of plain data."""
    for name in dict.fromkeys([*stored, *now]):
        label = f"{where}{name}"
        if name not in stored or name not in now:
            yield f"{label} ({'gone' if name in stored else 'new'})"
        elif isinstance(stored[name], dict) and isinstance(now[name], dict):
            yield from _differences(stored[name], now[name], f"{label} ")
        elif stored[name] != now[name]:
            both = json.dumps(stored[name]), json.dumps(now[name])
            short = all(len(text) <= 40 for text in both)
            yield f"{label} ({both[0]} then, {both[1]} now)" if short else label


def open_store(
    store: str | PathLike[str] | None, identity: dict[str, Any]
) -> MemoryStore:
    """The store of a run."""
    return MemoryStore(identity) if store is None else FileStore(store, identity)
