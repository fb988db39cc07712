"""What data sets there are, and which of them are on this machine."""

from importlib import import_module
from typing import Any, NamedTuple

from kinlearn.datasets._assemble import Loaded
from kinlearn.datasets.loaded._catalogue import CATALOGUE
from kinlearn.datasets.loaded._store import DataHome, file_path

__all__ = ["DatasetSummary", "fetch_dataset", "list_datasets"]


class DatasetSummary(NamedTuple):
    """One line of :func:`list_datasets`.

    Parameters
    ----------
    name : str
        What :func:`fetch_dataset` takes.
    rows, features, tasks : int or None
        Size as loaded by default; None: texts have no fixed features, and some
        sets no tasks of their own.
    kind : str
        What is to be predicted.
    available : bool
        Whether all its files lie in the data folder.
    loader : str
        The call that loads it.
    home : str or None
        The original public address, if known.
    """

    name: str
    rows: int
    features: int | None
    tasks: int | None
    kind: str
    available: bool
    loader: str
    home: str | None


_DEMO = DatasetSummary("demo", 2060, 9, 10, "binary", True, "load_demo()", None)


def list_datasets(data_home: DataHome = None) -> list[DatasetSummary]:
    """List the real data sets that kinlearn can load, and the demonstration.

    Parameters
    ----------
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.

    Returns
    -------
    list of DatasetSummary
        Name, rows, features, tasks, kind, available, loader and home of each;
        ``pandas.DataFrame(list_datasets())`` makes a table of it. Files are
        looked for, not read: a checksum is compared when a set is loaded.

    Examples
    --------
    >>> from kinlearn.datasets import list_datasets
    >>> [entry.name for entry in list_datasets()][:3]
    ['demo', 'landmine', 'school']
    """
    out = [_DEMO]
    for name, entry in CATALOGUE.items():
        argument = "" if entry.argument is None else repr(entry.argument)
        out.append(
            DatasetSummary(
                name,
                entry.rows,
                entry.features,
                entry.tasks,
                entry.kind,
                all(file_path(file, data_home).is_file() for file in entry.files),
                f"{entry.loader}({argument})",
                entry.home,
            )
        )
    return out


def fetch_dataset(name: str, **options: Any) -> Loaded:
    """Load a data set by its name in :func:`list_datasets`.

    Parameters
    ----------
    name : str
        Such as ``"demo"``, ``"school"`` or ``"uci:heart"``.
    **options
        Passed on to its loader, such as ``data_home`` and ``as_frame``.

    Returns
    -------
    Bunch or (data, target)
        What the loader returns.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_dataset
    >>> fetch_dataset("demo", as_frame=False).data.shape
    (2060, 10)
    """
    known = ["demo", *CATALOGUE]
    if name not in known:
        raise ValueError(f"There is no data set {name!r}. Known: {', '.join(known)}.")
    package = import_module("kinlearn.datasets")
    if name == "demo":
        for needless in ("data_home", "verify"):  # it has no file
            options.pop(needless, None)
        return package.load_demo(**options)
    entry = CATALOGUE[name]
    arguments = () if entry.argument is None else (entry.argument,)
    return getattr(package, entry.loader)(*arguments, **options)
