"""Output files: under their name stands a whole file or none."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["replacing"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary path beside `path`, which takes its name when all went well.

    The content is on the disk before the name changes, so an error, a full disk or a
    kill leaves the old file or none, never a half one. The temporary name has the same
    ending; the folder must be there.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.stem[:40]}-", suffix=path.suffix[:20]
    )
    os.close(handle)
    partial = Path(name)
    try:
        yield partial
        with open(partial, "r+b") as stream:  # Windows syncs only what may be written
            os.fsync(stream.fileno())
        mask = os.umask(0)
        os.umask(mask)
        partial.chmod(0o666 & ~mask)  # mkstemp lets nobody else read
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable too, where the system lets us."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
