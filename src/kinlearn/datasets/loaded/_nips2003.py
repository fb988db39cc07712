"""Loaders of the NIPS 2003 feature selection challenge: no tasks, many features."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from kinlearn.datasets._assemble import Loaded, numbered, to_bunch
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import CATALOGUE, describe
from kinlearn.datasets.loaded._store import DataHome, locate, read_csr, read_npz

__all__ = ["fetch_nips2003"]


def _read_dense(path: Path) -> tuple[Any, list[np.ndarray]]:
    parts = read_npz(path, ["X_train", "y_train", "X_valid", "y_valid"])
    X = np.vstack([parts["X_train"], parts["X_valid"]]).astype(np.float64)
    return X, [parts["y_train"], parts["y_valid"]]


def _read_dexter(path: Path) -> tuple[Any, list[np.ndarray]]:
    X = read_csr(path).astype(np.float64)
    return X, [read_npz(path, ["y_train"])["y_train"]]


def _read_dorothea(path: Path) -> tuple[Any, list[np.ndarray]]:
    keys = [
        f"{k}_{part}" for part in ("train", "valid") for k in ("indices", "indptr", "y")
    ]
    stored = read_npz(path, [*keys, "n_features"])
    parts = []
    for part in ("train", "valid"):
        indices, indptr = stored[f"indices_{part}"], stored[f"indptr_{part}"]
        shape = (len(indptr) - 1, int(stored["n_features"]))
        parts.append(
            sp.csr_array((np.ones(len(indices)), indices, indptr), shape=shape)
        )
    return sp.vstack(parts, format="csr"), [stored["y_train"], stored["y_valid"]]


_READERS = {
    "arcene": _read_dense,
    "madelon": _read_dense,
    "dexter": _read_dexter,
    "dorothea": _read_dorothea,
}


def fetch_nips2003(
    name: Literal["arcene", "madelon", "dexter", "dorothea"],
    *,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Loaded:
    """Load a data set of the NIPS 2003 feature selection challenge.

    There are no tasks; these serve feature selection with privileged columns.
    Nothing is downloaded: the file, such as ``nips2003/arcene.npz``, must lie in
    the data folder. Original source: https://archive.ics.uci.edu/

    Parameters
    ----------
    name : {"arcene", "madelon", "dexter", "dorothea"}
        Which one.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects; only for arcene and madelon, the others are sparse.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.

    Returns
    -------
    Bunch
        ``data``, float64, training rows first: (200, 10000), (2600, 500), and
        sparse (300, 20000), (1150, 100000); ``target`` (0 and 1 for the
        challenge's -1 and +1), ``split`` (``"train"`` or ``"valid"``, by row),
        ``frame``, ``feature_names``, ``target_names``, ``task`` (None) and
        ``DESCR``. Dexter has its training part only.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_nips2003
    >>> X, y = fetch_nips2003("madelon", return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (2600, 500)
    """
    as_option(name, "name", tuple(_READERS))
    key = f"nips2003:{name}"
    path = locate(key, CATALOGUE[key].files[0], data_home, verify=verify)
    X, labels = _READERS[name](path)
    parts = np.repeat(["train", "valid"][: len(labels)], [len(y) for y in labels])
    return to_bunch(
        X,
        (np.concatenate(labels) > 0).astype(np.int64),
        descr=describe(key),
        feature_names=numbered(X.shape[1]),
        target_names=["-1", "+1"],
        as_frame=as_frame,
        return_X_y=return_X_y,
        split=parts,
    )
