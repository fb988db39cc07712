"""What data sets there are, and which of them are on this machine.

``catalogue.toml`` has what is known of each.
"""

import os
import tomllib
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from kinlearn.datasets._assemble import Loaded

__all__ = [
    "CATALOGUE",
    "SHA256",
    "DataHome",
    "DatasetSummary",
    "Public",
    "data_home",
    "describe",
    "fetch_dataset",
    "file_path",
    "list_datasets",
]

# The data folder; None looks into the environment.
DataHome: TypeAlias = str | os.PathLike[str] | None


class Public(NamedTuple):
    """Where a file can be fetched: what lies there, and how it becomes ours."""

    url: str
    sha256: str
    form: str
    options: dict[str, Any] = {}


class Entry(NamedTuple):
    """A data set of the catalogue; `files` are their checksums, by path.

    Files that each program writes in its own way have an empty one. `public` has the
    addresses of those files that can be fetched.
    """

    title: str
    kind: str
    rows: int
    loader: str
    home: str
    copies: str
    about: str
    files: dict[str, str]
    features: int | None = None
    tasks: int | None = None
    public: dict[str, Public] = {}


def _entry(public: dict[str, dict[str, Any]] | None = None, **fields: Any) -> Entry:
    found = {file: Public(**each) for file, each in (public or {}).items()}
    return Entry(public=found, **fields)


_TEXT = files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8")
CATALOGUE = {name: _entry(**entry) for name, entry in tomllib.loads(_TEXT).items()}
# Of the known files, by path under the data folder.
SHA256 = {
    file: digest for entry in CATALOGUE.values() for file, digest in entry.files.items()
}


def describe(name: str) -> str:
    """The text that a loader returns as DESCR."""
    entry = CATALOGUE[name]
    return "\n".join(
        [
            entry.title,
            "-" * len(entry.title),
            entry.about,
            "",
            f"Original source: {entry.home}",
            f"The checked files were made from: {entry.copies}",
            *(f"Fetched from: {public.url}" for public in entry.public.values()),
            "Check the set's own terms before passing it on.",
        ]
    )


def data_home(path: DataHome = None) -> Path:
    """Folder of the data files: `path`, else KINLEARN_DATA, else ~/kinlearn_data."""
    if path is None:
        path = os.environ.get("KINLEARN_DATA") or Path.home() / "kinlearn_data"
    return Path(path).expanduser()


def file_path(file: str, home: DataHome = None) -> Path:
    """Path of a file of the catalogue, there or not."""
    return data_home(home).joinpath(*file.split("/"))


def _argument(name: str) -> list[str]:
    """What the loader of several data sets is called with: ``uci:heart``."""
    return name.split(":")[1:]


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
    public : bool
        Whether its loader fetches files that do not lie there.
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
    public: bool
    loader: str
    home: str | None


_DEMO = DatasetSummary("demo", 2060, 9, 10, "binary", True, False, "load_demo()", None)


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
        Name, rows, features, tasks, kind, available, public, loader and home of each;
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
        out.append(
            DatasetSummary(
                name,
                entry.rows,
                entry.features,
                entry.tasks,
                entry.kind,
                all(file_path(file, data_home).is_file() for file in entry.files),
                set(entry.public) == set(entry.files),
                f"{entry.loader}({', '.join(map(repr, _argument(name)))})",
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
        for needless in (
            "data_home",
            "verify",
            "download_if_missing",
        ):  # it has no file
            options.pop(needless, None)
        return package.load_demo(**options)
    entry = CATALOGUE[name]
    return getattr(package, entry.loader)(*_argument(name), **options)
