"""The file: a skops file with a manifest, checked before anything is built.

A skops file is a zip of JSON and arrays that runs no code on loading. Ours has one
entry more, ``kinlearn.json``, with what a user of the model must know, and a SHA-256
over everything. The checksum finds damage and careless edits, but whoever can change
the file can make a new one. A signature, by a key that only some people have, finds
that too. Against a file made to do harm stand the list of types that may be built, and
a limit to what it may unpack to, which is looked at before anything is unpacked.
"""

import hashlib
import hmac
import io
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import import_module, metadata
from os import PathLike
from pathlib import Path
from typing import Any

from kinlearn.persistence._packing import packed, unpack
from kinlearn.persistence._trusted import TRUSTED, is_trusted, name_today
from kinlearn.utils import import_optional, replacing
from kinlearn.utils._loaded import UnsoundModelError
from kinlearn.utils._loading import checked_together
from kinlearn.utils._values import show_values

__all__ = ["SavedModel", "open_model", "write_model"]

_ENTRY = "kinlearn.json"
_FORMAT, _VERSION = "kinlearn-model", 2
_PACKAGES = ("kinlearn", "scikit-learn", "numpy", "skops")
_REMEDY = "Save the model again."
_TEXT = (str, type(None))
# What a file unpacks to at most: in bytes, where it is small, and as a multiple of its
# own size. Deflate can reach 1,000 times; of models, 10 has been seen.
_SMALL, _MULTIPLE = 256 * 2**20, 100
_SHORTEST_KEY = 16
_FIELDS: dict[str, Any] = {
    "versions": dict,
    "created": str,
    "model": str,
    "kind": _TEXT,
    "target": _TEXT,
    "classes": (list, type(None)),
    "task": _TEXT,
    "tasks": list,
    "columns": list,
}


@dataclass(frozen=True, eq=False)
class SavedModel:
    """A model and what must be known to use it.

    Attributes
    ----------
    model : estimator
        Fitted.
    manifest : dict
        Format, versions, columns with their kinds, tasks, target and classes.
    """

    model: Any
    manifest: dict[str, Any]


def _skops(purpose: str) -> Any:
    return import_optional("skops.io", extra="report", purpose=purpose)


def write_model(
    path: str | PathLike[str],
    model: Any,
    manifest: dict[str, Any],
    *,
    key: bytes | None = None,
) -> list[str]:
    """Write a model file; an old one is replaced when the new one is complete.

    `manifest` has the fields of ``_FIELDS`` but versions and created, which are added
    here. Returns the types that must be trusted by name to load the file.
    """
    if key is not None:
        _check_key(key)
    skops = _skops("Saving a model")
    with packed(model) as slim:
        content = skops.dumps(slim)
    strange = _strange(skops.get_untrusted_types(data=content))
    _check_importable(strange)
    manifest = {
        "format": _FORMAT,
        "format_version": _VERSION,
        "versions": {name: metadata.version(name) for name in _PACKAGES},
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        **manifest,
    }
    with zipfile.ZipFile(io.BytesIO(content)) as inner:
        entries = {name: inner.read(name) for name in inner.namelist()}
    schema = json.loads(entries["schema.json"])  # without its blanks, half of it
    entries["schema.json"] = json.dumps(schema, separators=(",", ":")).encode()
    manifest["sha256"] = _checksum(manifest, entries)
    if key is not None:
        manifest["signature"] = _signature(manifest["sha256"], key)
    text = json.dumps(manifest, indent=1, ensure_ascii=False)
    with (
        replacing(path) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED) as out,
    ):
        out.writestr(_ENTRY, text)
        for name, entry in entries.items():
            out.writestr(name, entry)
    return strange


def _checksum(manifest: dict[str, Any], entries: dict[str, bytes]) -> str:
    """SHA-256 over the manifest without its last two fields, and all other entries."""
    last = ("sha256", "signature")
    rest = {key: value for key, value in manifest.items() if key not in last}
    digest = hashlib.sha256(json.dumps(rest, sort_keys=True).encode())
    for name in sorted(entries):
        inner = hashlib.sha256(entries[name]).hexdigest()
        digest.update(f"{name}\0{inner}\n".encode())
    return digest.hexdigest()


def _signature(checksum: str, key: bytes) -> str:
    """HMAC-SHA-256 of the checksum, which stands for all of the file."""
    return hmac.new(key, checksum.encode(), "sha256").hexdigest()


def _check_key(key: object) -> None:
    if not isinstance(key, bytes) or len(key) < _SHORTEST_KEY:
        found = f"{len(key)} bytes" if isinstance(key, bytes) else type(key).__name__
        raise ValueError(
            f"key must be at least {_SHORTEST_KEY} bytes that nobody can guess, such "
            f"as secrets.token_bytes(32); got {found}."
        )


def open_model(
    path: str | PathLike[str],
    *,
    trusted: Iterable[str] = (),
    key: bytes | None = None,
    max_bytes: int | None = None,
) -> SavedModel:
    """Read a model file with its manifest.

    Parameters
    ----------
    path : str or path-like
        The file.
    trusted : iterable of str, default=()
        Full names of types, beside those of kinlearn and scikit-learn, that the file
        may build.
    key : bytes, default=None
        The key that the file must be signed with. None does not look at signatures.
    max_bytes : int, default=None
        What the file may unpack to. None: 256 MiB, or a hundred times its size.

    Returns
    -------
    SavedModel
        Ready to predict.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kinlearn
    >>> from kinlearn.datasets import load_demo
    >>> from kinlearn.persistence import open_model
    >>> from kinlearn.trees import MultiTaskDecisionTreeClassifier
    >>> X, y = load_demo(return_X_y=True)
    >>> model = MultiTaskDecisionTreeClassifier(task="clinic").fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.skops"
    ...     kinlearn.save(model, path, target="readmitted")
    ...     manifest = open_model(path).manifest
    >>> manifest["task"], manifest["target"], manifest["classes"]
    ('clinic', 'readmitted', [0, 1])
    """
    path = Path(path)
    if key is not None:
        _check_key(key)
    entries = _open(path, max_bytes)
    if _ENTRY not in entries:
        what = "a skops file" if "schema.json" in entries else "a zip archive"
        raise ValueError(f"{path} is {what}, but no model of kin's. {_REMEDY}")
    manifest = _read_manifest(path, entries.pop(_ENTRY))
    if manifest.get("sha256") != _checksum(manifest, entries):
        raise ValueError(
            f"{path} was changed after it was saved (its checksum is wrong). {_REMEDY}"
        )
    if key is not None:
        _check_signature(path, manifest, key)
    wrong = [k for k, t in _FIELDS.items() if not isinstance(manifest.get(k, 0), t)]
    wrong = wrong or _odd_fields(manifest)
    if wrong:
        raise ValueError(
            f"{path} lacks {show_values(wrong, 3)} in its manifest, or has something "
            f"else there. {_REMEDY}"
        )
    return SavedModel(_build(path, entries, tuple(trusted)), manifest)


def _odd_fields(manifest: dict[str, Any]) -> list[str]:
    """Fields of a manifest that hold something else than they should."""

    def texts(values: Any) -> bool:
        return isinstance(values, list) and all(isinstance(v, str) for v in values)

    def plain(values: Any) -> bool:
        return isinstance(values, list) and all(
            isinstance(v, str | bool | int | float) for v in values
        )

    columns = manifest["columns"]
    named = all(
        isinstance(column, dict)
        and isinstance(column.get("name"), str)
        and isinstance(column.get("kind"), str)
        for column in columns
    )
    good = {
        "versions": all(isinstance(v, str) for v in manifest["versions"].values()),
        "classes": manifest["classes"] is None or plain(manifest["classes"]),
        "tasks": plain(manifest["tasks"]),
        "columns": named,
        "order": texts(manifest.get("order", [])),
        "privileged": texts(manifest.get("privileged", [])),
        "named": isinstance(manifest.get("named", True), bool),
        "kind": manifest["kind"] in (None, "classification", "regression"),
    }
    if named and "order" in manifest and good["order"]:
        found = {column["name"] for column in columns} | {manifest["task"]}
        good["order"] = set(manifest["order"]) <= found
    return [name for name, is_good in good.items() if not is_good]


def _check_signature(path: Path, manifest: dict[str, Any], key: bytes) -> None:
    found = manifest.get("signature")
    if not isinstance(found, str):
        raise ValueError(
            f"{path} is not signed. Sign it when it is saved: kinlearn.save(..., "
            "key=...), kin fit --sign KEYFILE."
        )
    if not hmac.compare_digest(found, _signature(manifest["sha256"], key)):
        raise ValueError(
            f"{path} was not signed with this key: it is of somebody else, or was "
            "changed. Do not use it."
        )


def _check_size(path: Path, archive: zipfile.ZipFile, limit: int | None) -> None:
    """Refuse an archive that unpacks to more than a model would.

    No entry is read beyond the length that its header states, which is looked at.
    """
    size, stated = path.stat().st_size, [e.file_size for e in archive.infolist()]
    if limit is None:
        limit = max(_SMALL, _MULTIPLE * size)
    if sum(stated) > limit:
        raise ValueError(
            f"{path} has {size:,} bytes and would unpack to {sum(stated):,}, more than "
            f"{limit:,}: no model of kin's does. If you know who made it, allow it: "
            f"kinlearn.load(path, max_bytes={sum(stated)})."
        )


def _open(path: Path, max_bytes: int | None) -> dict[str, bytes]:
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder. Name a model file.")
    try:
        with zipfile.ZipFile(path) as archive:
            _check_size(path, archive, max_bytes)
            twice = len(archive.namelist()) != len(set(archive.namelist()))
            entries = {name: archive.read(name) for name in archive.namelist()}
    except FileNotFoundError as error:
        raise FileNotFoundError(
            f"There is no model file {path}. Make one by kinlearn.save(model, path), "
            f"or by `kin fit ... --save {path}`."
        ) from error
    except (
        zipfile.BadZipFile,
        zlib.error,
        EOFError,
        NotImplementedError,
        RuntimeError,
    ):
        with open(path, "rb") as stream:
            start = stream.read(4)
        if start.startswith(b"PK"):
            why = f"is cut short or damaged. {_REMEDY}"
        else:
            why = "is not a model of kin's. Name a file of kinlearn.save or `kin fit`."
        raise ValueError(f"{path} {why}") from None
    if twice:
        raise ValueError(f"{path} holds two entries of one name. {_REMEDY}")
    return entries


def _read_manifest(path: Path, text: bytes) -> dict[str, Any]:
    try:
        manifest = json.loads(text)
    except ValueError as error:
        raise ValueError(f"{path} has a damaged manifest. {_REMEDY}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != _FORMAT:
        raise ValueError(f"{path} is no model of kin's (unknown format). {_REMEDY}")
    version = manifest.get("format_version")
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"{path} has a damaged manifest. {_REMEDY}")
    if version < _VERSION:
        raise ValueError(
            f"{path} has format {version}, of an older kinlearn; this one reads "
            f"{_VERSION}. Fit the model again, or load it with the older one."
        )
    if version > _VERSION:
        raise ValueError(
            f"{path} has format {version}; this kinlearn reads {_VERSION}. "
            "Install a newer kinlearn."
        )
    return manifest


def _strange(types: Iterable[str]) -> list[str]:
    """Those that not every file may build."""
    return sorted(name for name in types if not is_trusted(name))


def _check_importable(names: Iterable[str]) -> None:
    """Refuse what loading could not find again, however it is trusted."""
    for name in names:
        module, _, last = name.rpartition(".")
        try:
            found = hasattr(import_module(module), last)
        except (ImportError, ValueError):
            found = False
        if not found:
            raise ValueError(
                f"The model holds {name}, which cannot be imported by that name, so no "
                "file could be loaded again. Define it at the top of a module: a "
                "function by def instead of lambda, outside of functions and classes."
            )


def _named_types(node: Any) -> Iterator[dict[str, Any]]:
    """The nodes of a schema that name a type."""
    if isinstance(node, dict):
        if isinstance(node.get("__module__"), str):
            yield node
        node = list(node.values())
    for child in node if isinstance(node, list) else ():
        yield from _named_types(child)


def _read_schema(entries: dict[str, bytes]) -> set[str]:
    """The types that a file names; those of an older kinlearn get today's names."""
    schema = json.loads(entries["schema.json"])
    found = set()
    for node in _named_types(schema):
        name = name_today(f"{node['__module__']}.{node.get('__class__')}")
        node["__module__"], _, node["__class__"] = name.rpartition(".")
        found.add(name)
    entries["schema.json"] = json.dumps(schema).encode()
    return found


def _build(path: Path, entries: dict[str, bytes], trusted: tuple[str, ...]) -> Any:
    skops = _skops("Loading a model")
    try:
        named = _read_schema(entries)
    except (KeyError, ValueError) as error:
        raise _unreadable(path, error) from error
    together = io.BytesIO()
    with zipfile.ZipFile(together, "w") as out:
        for name, entry in entries.items():
            out.writestr(name, entry)
    content = together.getvalue()
    # Skops judges all types by itself; these are the estimators among them.
    allowed = {*TRUSTED, *trusted, *filter(is_trusted, named)}
    try:
        with checked_together():
            return unpack(skops.loads(content, trusted=sorted(allowed)))
    except skops.exceptions.UntrustedTypesFoundException:
        strange = _strange(skops.get_untrusted_types(data=content))
        strange = [name for name in strange if name not in trusted]
        raise ValueError(
            f"{path} wants to build {show_values(strange, 3)}, which no model of kin's "
            "needs. Do not use it, unless you know who made it; then allow it: "
            f"kinlearn.load(path, trusted={strange}), or kin predict --trust NAME."
        ) from None
    except UnsoundModelError as error:
        raise ValueError(f"{path}: {error}") from error
    except (
        AttributeError,
        ImportError,
        LookupError,
        MemoryError,
        OverflowError,
        TypeError,
        ValueError,
    ) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> ValueError:
    why = " ".join(str(error).split())[:120]
    return ValueError(f"{path} cannot be read by this version ({why}). {_REMEDY}")
