"""Loader of the web pages of four universities."""

import re
from typing import Literal

import numpy as np

from kinlearn.datasets._assemble import Loaded, to_bunch
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import describe
from kinlearn.datasets.loaded._store import DataHome, locate, read_jsonl
from kinlearn.datasets.loaded._text_features import codes_of, text_features

__all__ = ["fetch_webkb"]

WEBKB4 = ("student", "faculty", "course", "project")
UNIVERSITIES = ("cornell", "texas", "washington", "wisconsin")


def _page_text(html: str) -> str:
    """A page without its server's header and its tags."""
    body = re.split(r"\r?\n\r?\n", html, maxsplit=1)[-1]
    return re.sub(r"<[^>]*>", " ", body)


def fetch_webkb(
    problem: Literal["webkb4", "personal-project", "all"] = "webkb4",
    *,
    misc: bool = False,
    features: Literal["text", "counts"] = "text",
    min_df: int = 5,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Loaded:
    """Load web pages of computer science departments; universities are tasks.

    Nothing is downloaded: the file ``webkb/webkb_raw.jsonl.gz`` must lie in the
    data folder. Original source:
    http://www.cs.cmu.edu/afs/cs.cmu.edu/project/theo-20/www/data/

    Parameters
    ----------
    problem : {"webkb4", "personal-project", "all"}, default="webkb4"
        - ``"webkb4"``: pages of students, faculty, courses and projects;
        - ``"personal-project"``: the same with two labels, 0 for students and
          faculty, 1 for courses and projects (Al-Stouhi 2013, chapter 6);
        - ``"all"``: all seven categories.
    misc : bool, default=False
        Take also the pages of other universities, as a fifth task.
    features : {"text", "counts"}, default="text"
        Pages as they are, header and tags included, or a sparse matrix of term
        counts without both; the counts are kept in the cache folder (environment
        variable ``KINLEARN_CACHE``, else ``~/.cache/kinlearn``).
    min_df : int, default=5
        For counts, leave out terms of fewer of the loaded pages.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, columns ``"text"`` and ``"university"``; not for
        counts.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.

    Returns
    -------
    Bunch
        ``data`` (an object array of texts, or counts, with the university as
        the last column), ``target`` (position in ``target_names``),
        ``category`` and ``url`` by row, ``frame``, ``feature_names``,
        ``target_names``, ``task`` (what to pass as ``task=``), ``task_names``
        and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_webkb
    >>> pages = fetch_webkb("personal-project")  # doctest: +SKIP
    >>> pages.task_names  # doctest: +SKIP
    ['cornell', 'texas', 'washington', 'wisconsin']
    """
    as_option(problem, "problem", ("webkb4", "personal-project", "all"))
    path = locate("webkb", "webkb/webkb_raw.jsonl.gz", data_home, verify=verify)
    stored = read_jsonl(path, ["id", "category", "university", "html"])
    pages = stored["html"]
    if features == "counts":
        pages = [_page_text(page) for page in pages]
    category = np.array(stored["category"])
    university = np.array(stored["university"])
    task_names = [*UNIVERSITIES, "misc"] if misc else list(UNIVERSITIES)
    rows = np.isin(university, task_names)
    if problem == "all":
        target_names = sorted(set(stored["category"]))
    else:
        target_names = list(WEBKB4)
        rows &= np.isin(category, target_names)
    y = codes_of(category[rows], target_names)
    if problem == "personal-project":
        y, target_names = (y >= 2).astype(np.int64), ["personal", "project"]
    X, names = text_features(pages, rows, features, min_df, path)
    return to_bunch(
        X,
        y,
        descr=describe("webkb"),
        feature_names=names,
        target_name="category",
        target_names=target_names,
        task=codes_of(university[rows], task_names),
        task_names=task_names,
        task_name="university",
        as_frame=as_frame,
        return_X_y=return_X_y,
        category=category[rows],
        url=np.array(stored["id"], dtype=object)[rows],
    )
