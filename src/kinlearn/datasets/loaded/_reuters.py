"""Loader of Reuters-21578."""

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from kinlearn.datasets._assemble import Loaded, to_bunch
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import describe
from kinlearn.datasets.loaded._store import DataHome, locate, read_jsonl
from kinlearn.datasets.loaded._text_features import text_features

__all__ = ["fetch_reuters21578"]

PROBLEMS = ("orgs-people", "orgs-places", "people-places")


def _as_objects(cells: Sequence[Any]) -> np.ndarray:
    """A column of lists, which numpy would take for a table."""
    out = np.empty(len(cells), dtype=object)
    for i, cell in enumerate(cells):
        out[i] = cell
    return out


def fetch_reuters21578(
    problem: Literal["orgs-people", "orgs-places", "people-places"] | None = None,
    *,
    subset: Literal["all", "train", "test"] = "all",
    features: Literal["text", "counts"] = "text",
    min_df: int = 5,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
) -> Loaded:
    """Load Reuters-21578: news with topics, places, people and organisations.

    Nothing is downloaded: the file ``reuters21578/reuters21578.jsonl.gz`` must
    lie in the data folder. Original source:
    http://kdd.ics.uci.edu/databases/reuters21578/reuters21578.html

    Parameters
    ----------
    problem : {"orgs-people", "orgs-places", "people-places"}, default=None
        Documents that have a label of one kind and none of the other; the target
        is 1 for the second kind. The papers split these further into source and
        target by lists that they do not give, so there are no tasks. None loads
        all documents; the target is then the list of topics of each.
    subset : {"all", "train", "test"}, default="all"
        Part of the ModApte split; some documents are in neither part.
    features : {"text", "counts"}, default="text"
        Title and body, or a sparse matrix of term counts; the counts are kept in
        the cache folder (environment variable ``KINLEARN_CACHE``, else
        ``~/.cache/kinlearn``).
    min_df : int, default=5
        For counts, leave out terms of fewer of the loaded documents.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, with the column ``"text"``; not for counts.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.

    Returns
    -------
    Bunch
        ``data`` (an object array of one column of texts, or counts),
        ``target``, ``frame``, ``feature_names``, ``target_names``, ``task``
        (None), ``DESCR``; by row ``split`` (``"train"``, ``"test"`` or
        ``"unused"``), ``topics``, ``places``, ``people``, ``orgs`` and
        ``exchanges`` (lists of labels), ``date`` and ``id``.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_reuters21578
    >>> news = fetch_reuters21578("orgs-people")  # doctest: +SKIP
    >>> news.target_names  # doctest: +SKIP
    ['orgs', 'people']
    """
    as_option(problem, "problem", (None, *PROBLEMS))
    as_option(subset, "subset", ("all", "train", "test"))
    name = "reuters21578"
    path = locate(name, "reuters21578/reuters21578.jsonl.gz", data_home, verify=verify)
    lists = ["topics", "places", "people", "orgs", "exchanges"]
    other = ["newid", "lewissplit", "has_topics", "date", "title", "body"]
    stored = read_jsonl(path, lists + other)
    texts = [
        f"{title or ''}\n{body or ''}".strip()
        for title, body in zip(stored["title"], stored["body"], strict=True)
    ]
    labels = {key: _as_objects(stored[key]) for key in lists}
    # ModApte: Lewis's split of the documents that were given topics at all
    usable = np.array(stored["has_topics"]) == "YES"
    lewis = np.array(stored["lewissplit"])
    split = np.full(len(lewis), "unused")
    split[usable & (lewis == "TRAIN")] = "train"
    split[usable & (lewis == "TEST")] = "test"

    rows = np.ones(len(split), dtype=bool) if subset == "all" else split == subset
    target_names = None
    y = labels["topics"]
    if problem is not None:
        target_names = problem.split("-")
        first, second = (
            np.array([len(cell) > 0 for cell in labels[key]]) for key in target_names
        )
        rows &= first != second
        y = second.astype(np.int64)
    X, names = text_features(texts, rows, features, min_df, path)
    return to_bunch(
        X,
        y[rows],
        descr=describe(name),
        feature_names=names,
        target_name=problem or "topics",
        target_names=target_names,
        as_frame=as_frame,
        return_X_y=return_X_y,
        split=split[rows],
        **{key: cells[rows] for key, cells in labels.items()},
        date=np.array(stored["date"], dtype=object)[rows],
        id=np.array(stored["newid"], dtype=np.int64)[rows],
    )
