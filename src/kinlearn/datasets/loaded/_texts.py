"""Loaders of texts: 20 Newsgroups, Reuters-21578, sentiment, WebKB."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from kinlearn.datasets._assemble import Loaded, numbered
from kinlearn.datasets._checks import as_count, as_option
from kinlearn.datasets.loaded._catalogue import DataHome
from kinlearn.datasets.loaded._store import (
    Request,
    cached_arrays,
    read_csr,
    read_jsonl,
    read_lines,
    read_npz,
    sha256_of,
)

__all__ = [
    "fetch_20newsgroups_tasks",
    "fetch_reuters21578",
    "fetch_sentiment",
    "fetch_webkb",
]

# Raise it when the way that texts become counts changes: older caches are then
# passed by.
_COUNTS_VERSION = 1


def codes_of(values: Iterable[Any], names: Sequence[str]) -> np.ndarray:
    """Position of every value in a list of names."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[value] for value in values], dtype=np.int64)


def in_subset(split: np.ndarray, subset: str) -> np.ndarray:
    """Which rows are in a part of the split."""
    return np.ones(len(split), dtype=bool) if subset == "all" else split == subset


def text_features(
    texts: list[str], rows: np.ndarray, features: str, min_df: int, path: Path
) -> tuple[Any, list[str]]:
    """Texts of the wanted rows as one column, or as term counts; and column names.

    All texts of the file are counted, so that one cache serves every selection. Terms
    of fewer than `min_df` of the wanted texts are left out.
    """
    as_option(features, "features", ("text", "counts"))
    min_df = as_count(min_df, "min_df")
    if features == "text":
        column = np.empty((len(texts), 1), dtype=object)
        column[:, 0] = texts
        return column[rows], ["text"]
    key = f"{path.name} counts {_COUNTS_VERSION} {sha256_of(path)}"
    names = ("data", "indices", "indptr", "shape", "terms")
    stored = cached_arrays(key, names, lambda: _count_terms(texts))
    parts = (stored["data"], stored["indices"], stored["indptr"])
    X = sp.csr_array(parts, shape=tuple(stored["shape"]))[rows].tocsc()
    frequent = np.diff(X.indptr) >= min_df
    if not frequent.any():
        raise ValueError(f"No term occurs in min_df={min_df} texts. Lower min_df.")
    terms = stored["terms"].tobytes().decode().split("\n")
    return X[:, frequent].tocsr(), [terms[j] for j in np.flatnonzero(frequent)]


def _count_terms(texts: list[str]) -> dict[str, np.ndarray]:
    """Counts of all terms, as arrays that a cache can hold without pickling."""
    vectorizer = CountVectorizer(dtype=np.float64)
    counts = vectorizer.fit_transform(texts)
    terms = "\n".join(vectorizer.get_feature_names_out())
    return {
        "data": counts.data,
        "indices": counts.indices,
        "indptr": counts.indptr,
        "shape": np.array(counts.shape),
        "terms": np.frombuffer(terms.encode(), dtype=np.uint8),
    }


# Groups of the source and of the target: Al-Stouhi (2013), table 4.1. The
# first category is label 0 (the common class there), the second label 1.
NEWS_PROBLEMS = {
    "rec-talk": (
        ("rec.autos", "rec.motorcycles", "talk.politics.guns", "talk.politics.misc"),
        (
            "rec.sport.baseball",
            "rec.sport.hockey",
            "talk.politics.mideast",
            "talk.religion.misc",
        ),
    ),
    "rec-sci": (
        ("rec.autos", "rec.sport.baseball", "sci.crypt", "sci.space"),
        ("rec.motorcycles", "rec.sport.hockey", "sci.electronics", "sci.med"),
    ),
    "sci-talk": (
        ("sci.med", "sci.electronics", "talk.politics.misc", "talk.religion.misc"),
        ("sci.crypt", "sci.space", "talk.politics.guns", "talk.politics.mideast"),
    ),
}


def fetch_20newsgroups_tasks(
    problem: Literal["rec-talk", "rec-sci", "sci-talk"] | None = None,
    *,
    subset: Literal["all", "train", "test"] = "all",
    features: Literal["text", "counts"] = "text",
    min_df: int = 5,
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load 20 Newsgroups, whole or as a source and a target.

    The file ``20newsgroups/20news_bydate.jsonl.gz`` is fetched into the data folder
    if it does not lie there. Original source:
    http://people.csail.mit.edu/jrennie/20Newsgroups/

    Parameters
    ----------
    problem : {"rec-talk", "rec-sci", "sci-talk"}, default=None
        Separate two top categories; some groups of each are the task
        ``"source"``, others ``"target"`` (Al-Stouhi 2013, table 4.1). None loads
        all 20 groups, with the group as target and no tasks.
    subset : {"all", "train", "test"}, default="all"
        Part of the bydate split.
    features : {"text", "counts"}, default="text"
        Messages as they are, headers included, or a sparse matrix of term
        counts; the counts are kept in the cache folder (environment variable
        ``KINLEARN_CACHE``, else ``~/.cache/kinlearn``).
    min_df : int, default=5
        For counts, leave out terms of fewer of the loaded messages. The papers
        keep about 500 terms.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, columns ``"text"`` and ``"task"``; not for counts.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the file's checksum with the known one.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        ``data`` (an object array of one column of texts, or counts; and the task
        as the last column if there are tasks: 0 source, 1 target), ``target``
        (position in ``target_names``), ``group``, ``split`` and ``id`` by row,
        ``frame``, ``feature_names``, ``target_names``, ``task`` (what to pass as
        ``task=``), ``task_names`` and ``DESCR``.
    (data, target) : tuple
        If ``return_X_y=True``.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_20newsgroups_tasks
    >>> news = fetch_20newsgroups_tasks(
    ...     "rec-talk", features="counts", min_df=188
    ... )  # doctest: +SKIP
    >>> news.task_names  # doctest: +SKIP
    ['source', 'target']
    """
    as_option(problem, "problem", (None, *NEWS_PROBLEMS))
    as_option(subset, "subset", ("all", "train", "test"))
    request = Request(
        "20newsgroups", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    path = request.path()
    stored = read_jsonl(path, ["id", "split", "group", "text"])
    group, split = np.array(stored["group"]), np.array(stored["split"])
    rows = in_subset(split, subset)
    task, task_names = None, []
    if problem is None:
        target_names = sorted(set(stored["group"]))
        y = codes_of(group, target_names)
    else:
        source, target = NEWS_PROBLEMS[problem]
        rows &= np.isin(group, [*source, *target])
        target_names = problem.split("-")
        y = np.char.startswith(group, f"{target_names[1]}.").astype(np.int64)
        task_names = ["source", "target"]
        task = np.isin(group[rows], target).astype(np.int64)
    X, names = text_features(stored["text"], rows, features, min_df, path)
    return request.bunch(
        X,
        y[rows],
        feature_names=names,
        target_name="category" if problem else "group",
        target_names=target_names,
        task=task,
        task_names=task_names,
        task_name="task",
        group=group[rows],
        split=split[rows],
        id=np.array(stored["id"])[rows],
    )


REUTERS_PROBLEMS = ("orgs-people", "orgs-places", "people-places")


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
    download_if_missing: bool = True,
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
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

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
    as_option(problem, "problem", (None, *REUTERS_PROBLEMS))
    as_option(subset, "subset", ("all", "train", "test"))
    request = Request(
        "reuters21578", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    path = request.path()
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

    rows = in_subset(split, subset)
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
    return request.bunch(
        X,
        y[rows],
        feature_names=names,
        target_name=problem or "topics",
        target_names=target_names,
        split=split[rows],
        **{key: cells[rows] for key, cells in labels.items()},
        date=np.array(stored["date"], dtype=object)[rows],
        id=np.array(stored["newid"], dtype=np.int64)[rows],
    )


def fetch_sentiment(
    version: Literal["terms5000", "bigrams", "text"] = "terms5000",
    *,
    subset: Literal["all", "train", "test"] = "all",
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
    download_if_missing: bool = True,
) -> Loaded:
    """Load reviews of four domains, positive or negative.

    Nothing is downloaded: the files, such as ``sentiment/sentiment_5000.npz``,
    must lie in the data folder. Original source:
    http://www.cs.jhu.edu/~mdredze/datasets/sentiment/

    Parameters
    ----------
    version : {"terms5000", "bigrams", "text"}, default="terms5000"
        - ``"terms5000"``: counts of 5,000 terms that are not named, 27,677
          reviews in a training and a test part;
        - ``"bigrams"``: counts of 115,700 words and pairs of words, 8,000
          reviews;
        - ``"text"``: the texts of 8,000 reviews.
    subset : {"all", "train", "test"}, default="all"
        Part of the 5,000 terms version: 2,000 reviews of each domain for
        training, the rest for test.
    data_home : path-like, default=None
        Data folder; None is the environment variable ``KINLEARN_DATA``, else
        ``~/kinlearn_data``.
    as_frame : bool, default=False
        Return pandas objects, columns ``"text"`` and ``"domain"``; only for
        texts.
    return_X_y : bool, default=False
        Return ``(data, target)`` only.
    verify : bool, default=True
        Compare the files' checksums with the known ones.
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

    Returns
    -------
    Bunch
        ``data`` (sparse counts or an object array of texts, with the domain as
        the last column), ``target`` (1 is positive), ``frame``,
        ``feature_names``, ``target_names``, ``task`` (what to pass as
        ``task=``), ``task_names`` (books, dvd, electronics, kitchen) and
        ``DESCR``; ``split`` by row for the 5,000 terms; ``rating``, ``title``
        and ``id`` by row for texts.
    (data, target) : tuple
        If ``return_X_y=True``.

    References
    ----------
    J. Blitzer, M. Dredze, F. Pereira (2007), Biographies, Bollywood, Boom-boxes
    and Blenders, ACL.

    Examples
    --------
    >>> from kinlearn.datasets import fetch_sentiment
    >>> X, y = fetch_sentiment(return_X_y=True)  # doctest: +SKIP
    >>> X.shape  # doctest: +SKIP
    (27677, 5001)
    """
    as_option(version, "version", ("terms5000", "bigrams", "text"))
    as_option(subset, "subset", ("all", "train", "test"))
    if subset != "all" and version != "terms5000":
        raise ValueError(f"version={version!r} has no training and test part.")
    request = Request(
        "sentiment", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    extra: dict[str, np.ndarray] = {}
    stored: Any
    if version == "text":
        path = request.path("sorted_data_acl_labelled.jsonl.gz")
        fields = ["domain", "label", "rating", "unique_id", "title", "text"]
        stored = read_jsonl(path, fields)
        domains = sorted(set(stored["domain"]))
        task = codes_of(stored["domain"], domains)
        y = codes_of(stored["label"], ["negative", "positive"])
        rows = np.ones(len(y), dtype=bool)
        X, names = text_features(stored["text"], rows, "text", 1, path)
        extra = {
            "rating": np.array(stored["rating"], dtype=np.float64),
            "title": np.array(stored["title"], dtype=object),
            "id": np.array(stored["unique_id"], dtype=object),
        }
    else:
        bigrams = version == "bigrams"
        path = request.path(
            "processed_acl_labelled_df2.npz" if bigrams else "sentiment_5000.npz"
        )
        X = read_csr(path).astype(np.float64)
        stored = read_npz(path, ["y", "task", "domains"])
        domains = [str(domain) for domain in stored["domains"]]
        task = stored["task"].astype(np.int64)
        y = (stored["y"] > 0).astype(np.int64)
        if bigrams:
            names = read_lines(request.path("processed_acl_vocab_df2.txt.gz"))
        else:
            names = numbered(X.shape[1], "term")
            split = read_npz(path, ["split"])["split"]
            rows = in_subset(split, subset)
            X, y, task = X[rows], y[rows], task[rows]
            extra = {"split": split[rows]}
    return request.bunch(
        X,
        y,
        feature_names=names,
        target_name="positive",
        target_names=["negative", "positive"],
        task=task,
        task_names=domains,
        task_name="domain",
        **extra,
    )


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
    download_if_missing: bool = True,
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
    download_if_missing : bool, default=True
        Fetch files that are not in the data folder, where a public address is known.

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
    request = Request(
        "webkb", data_home, verify, as_frame, return_X_y, download_if_missing
    )
    path = request.path()
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
    return request.bunch(
        X,
        y,
        feature_names=names,
        target_name="category",
        target_names=target_names,
        task=codes_of(university[rows], task_names),
        task_names=task_names,
        task_name="university",
        category=category[rows],
        url=np.array(stored["id"], dtype=object)[rows],
    )
