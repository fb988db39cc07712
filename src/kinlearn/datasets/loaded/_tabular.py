"""Loaders of landmine and school, and of the NIPS 2003 feature selection challenge."""

from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from kinlearn.datasets._assemble import Loaded, numbered
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import DataHome
from kinlearn.datasets.loaded._store import Request, read_csr, read_npz

__all__ = ["fetch_landmine", "fetch_nips2003", "fetch_school"]


def fetch_landmine(
    *,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load the landmine data: 29 minefields, 14,820 objects, 6% mines.

    Nothing is downloaded: the file ``landmine/landmine.npz`` must lie in the
    data folder. Original source:
    http://www.ee.duke.edu/~lcarin/LandmineData.zip

    Parameters
    ----------
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, with the task in the column ``"field"``.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        ``data`` (14820, 10) float64 with the field as the last column,
        ``target`` (1 is a mine), ``frame``, ``feature_names``,
        ``target_names``, ``task`` (what to pass as ``task=``), ``task_names``,
        ``terrain`` (``"foliated"`` or ``"bare"``, by field) and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    References
    ----------
    Y. Xue, X. Liao, L. Carin, B. Krishnapuram (2007), Multi-Task Learning for
    Classification with Dirichlet Process Priors, JMLR 8.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_landmine
    >>> X, y = fetch_landmine(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (14820, 10)
    """
    request = Request(
        "landmine", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    stored = read_npz(request.path(), ["X", "y", "task"])
    task = stored["task"].astype(np.int64)
    n_tasks = int(task.max()) + 1
    return request.bunch(
        stored["X"].astype(np.float64),
        stored["y"].astype(np.int64),
        feature_names=numbered(stored["X"].shape[1]),
        target_name="mine",
        target_names=["clutter", "mine"],
        task=task,
        task_names=range(n_tasks),
        task_name="field",
        terrain=np.where(np.arange(n_tasks) < 15, "foliated", "bare"),
    )


def fetch_school(
    *,
    bias: bool = False,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load the school data: exam scores of 15,362 students of 139 schools.

    Nothing is downloaded: the file ``school/school.npz`` must lie in the data
    folder. Original source, before coding and splitting:
    http://www.bristol.ac.uk/cmm/learning/support/datasets/ilea567.zip

    Parameters
    ----------
    bias : bool, default=False
        Keep the constant last feature of the published coding.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, with the task in the column ``"school"``.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        ``data`` (15362, 28) float64 with the school as the last column,
        ``target`` (the score, 1 to 70), ``frame``, ``feature_names``,
        ``task`` (what to pass as ``task=``), ``task_names``, ``splits``
        (the 10 published splits as pairs of training and test rows, which
        scikit-learn takes as ``cv=``) and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    References
    ----------
    A. Argyriou, T. Evgeniou, M. Pontil (2008), Convex Multi-Task Feature
    Learning, Machine Learning 73.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_school
    >>> school = fetch_school()  # doctest: +SKIP
    >>> train, test = school.splits[0]  # doctest: +SKIP
    >>> len(train), len(test)  # doctest: +SKIP
    (11472, 3890)
    """
    request = Request(
        "school", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    stored = read_npz(request.path(), ["X", "y", "task", "test_mask", "feature_names"])
    X = stored["X"].astype(np.float64)
    names = [str(name) for name in stored["feature_names"]]
    if not bias:
        X, names = X[:, :-1], names[:-1]
    task = stored["task"].astype(np.int64)
    splits = [
        (np.flatnonzero(~test), np.flatnonzero(test)) for test in stored["test_mask"]
    ]
    return request.bunch(
        X,
        stored["y"].astype(np.float64),
        feature_names=names,
        target_name="score",
        task=task,
        task_names=range(int(task.max()) + 1),
        task_name="school",
        splits=splits,
    )


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
    download_if_missing: bool = True,
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
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

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
    request = Request(key, data_home, verify, as_frame, return_X_y, download_if_missing)
    X, labels = _READERS[name](request.path())
    split = np.repeat(["train", "valid"][: len(labels)], [len(y) for y in labels])
    return request.bunch(
        X,
        (np.concatenate(labels) > 0).astype(np.int64),
        feature_names=numbered(X.shape[1]),
        target_names=["-1", "+1"],
        split=split,
    )
