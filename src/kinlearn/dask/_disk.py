"""One process and a folder: rows that are larger than memory."""

import os
import shutil
import tempfile
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np

from kinlearn._partitions import LocalPartitions

__all__ = ["DiskPartitions", "OnDisk"]

_SMALL_BYTES = 2**16  # arrays below stay in memory


class OnDisk:
    """Grow trees in this process alone, with the rows in files.

    To be given as `client` to the estimators of :mod:`kinlearn.dask`. Partitions are
    read one after the other and kept as memory-mapped files; memory holds one of them
    at a time, or as many rows of nodes that are grown to the end (and copies of them),
    and the sums of a portion of nodes.

    Parameters
    ----------
    folder : str, path or None, default=None
        Where a folder for the time of the fit is made; None is the system's place for
        temporary files. It takes about the size of X in float32.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from kinlearn.dask import MultiTaskExtraTreesClassifier, OnDisk
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=400), np.arange(400) % 4])
    >>> y = (X[:, 0] > 0) ^ (X[:, 1] == 3)
    >>> forest = MultiTaskExtraTreesClassifier(
    ...     10, task=-1, task_split_prob=1, min_samples_leaf=5, client=OnDisk()
    ... )
    >>> _ = forest.fit(da.from_array(X, chunks=(100, 2)), da.from_array(y, chunks=100))
    >>> forest.predict([[1, 0], [1, 3]])
    array([ True, False])
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self.folder = folder


class DiskPartitions(LocalPartitions):
    """Partitions in files; see ``LocalPartitions``. To be used as a context."""

    def __init__(self, place: OnDisk) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="kinlearn-", dir=place.folder))
        self._n_files = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self.partitions, self.places = [], []
        # Windows keeps files that an array is mapped to until its own cleaning
        shutil.rmtree(self.folder, ignore_errors=os.name == "nt")

    def read(self, partitions: list[Any]) -> list[Any]:
        """Compute delayed partitions, each into files."""
        return [self._kept(p.compute(scheduler="synchronous")) for p in partitions]

    def _kept(self, thing: Any) -> Any:
        """The same thing with its large arrays in files."""
        if thing is None or not hasattr(thing, "__dataclass_fields__"):
            return thing
        return replace(
            thing,
            **{
                field.name: self._file(value)
                for field in fields(thing)
                if isinstance(value := getattr(thing, field.name), np.ndarray)
                and value.nbytes > _SMALL_BYTES
                and not value.dtype.hasobject  # names of tasks, which cannot be mapped
                and not isinstance(value, np.memmap)
            },
        )

    def _file(self, array: np.ndarray) -> np.ndarray:
        path = self.folder / f"{self._n_files}.npy"
        self._n_files += 1
        np.save(path, array)
        kept = np.load(path, mmap_mode="r")
        path.unlink()  # the space is given back when nobody maps it any more
        return kept
