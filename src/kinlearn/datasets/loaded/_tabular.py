"""Loaders of the two classics of multi-task learning: landmine and school."""

import numpy as np

from kinlearn.datasets._assemble import Loaded, numbered, to_bunch
from kinlearn.datasets.loaded._catalogue import describe
from kinlearn.datasets.loaded._store import DataHome, locate, read_npz

__all__ = ["fetch_landmine", "fetch_school"]


def fetch_landmine(
    *,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
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
    path = locate("landmine", "landmine/landmine.npz", data_home, verify=verify)
    stored = read_npz(path, ["X", "y", "task"])
    task = stored["task"].astype(np.int64)
    n_tasks = int(task.max()) + 1
    return to_bunch(
        stored["X"].astype(np.float64),
        stored["y"].astype(np.int64),
        descr=describe("landmine"),
        feature_names=numbered(stored["X"].shape[1]),
        target_name="mine",
        target_names=["clutter", "mine"],
        task=task,
        task_names=range(n_tasks),
        task_name="field",
        as_frame=as_frame,
        return_X_y=return_X_y,
        terrain=np.where(np.arange(n_tasks) < 15, "foliated", "bare"),
    )


def fetch_school(
    *,
    bias: bool = False,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
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
    path = locate("school", "school/school.npz", data_home, verify=verify)
    stored = read_npz(path, ["X", "y", "task", "test_mask", "feature_names"])
    X = stored["X"].astype(np.float64)
    names = [str(name) for name in stored["feature_names"]]
    if not bias:
        X, names = X[:, :-1], names[:-1]
    task = stored["task"].astype(np.int64)
    splits = [
        (np.flatnonzero(~test), np.flatnonzero(test)) for test in stored["test_mask"]
    ]
    return to_bunch(
        X,
        stored["y"].astype(np.float64),
        descr=describe("school"),
        feature_names=names,
        target_name="score",
        task=task,
        task_names=range(int(task.max()) + 1),
        task_name="school",
        as_frame=as_frame,
        return_X_y=return_X_y,
        splits=splits,
    )
