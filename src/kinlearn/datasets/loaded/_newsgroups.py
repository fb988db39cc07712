"""Loader of 20 Newsgroups, with the papers' source and target problems."""

from typing import Literal

import numpy as np

from kinlearn.datasets._assemble import Loaded, to_bunch
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import describe
from kinlearn.datasets.loaded._store import DataHome, locate, read_jsonl
from kinlearn.datasets.loaded._text_features import codes_of, text_features

__all__ = ["fetch_20newsgroups_tasks"]

# Groups of the source and of the target: Al-Stouhi (2013), table 4.1. The
# first category is label 0 (the common class there), the second label 1.
PROBLEMS = {
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
) -> Loaded:
    """Load 20 Newsgroups, whole or as a source and a target.

    Nothing is downloaded: the file ``20newsgroups/20news_bydate.jsonl.gz`` must
    lie in the data folder. Original source:
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
    as_option(problem, "problem", (None, *PROBLEMS))
    as_option(subset, "subset", ("all", "train", "test"))
    name = "20newsgroups"
    path = locate(name, "20newsgroups/20news_bydate.jsonl.gz", data_home, verify=verify)
    stored = read_jsonl(path, ["id", "split", "group", "text"])
    group, split = np.array(stored["group"]), np.array(stored["split"])
    rows = np.ones(len(group), dtype=bool) if subset == "all" else split == subset
    task, task_names = None, []
    if problem is None:
        target_names = sorted(set(stored["group"]))
        y = codes_of(group, target_names)
    else:
        source, target = PROBLEMS[problem]
        rows &= np.isin(group, [*source, *target])
        target_names = problem.split("-")
        y = np.char.startswith(group, f"{target_names[1]}.").astype(np.int64)
        task_names = ["source", "target"]
        task = np.isin(group[rows], target).astype(np.int64)
    X, names = text_features(stored["text"], rows, features, min_df, path)
    return to_bunch(
        X,
        y[rows],
        descr=describe(name),
        feature_names=names,
        target_name="category" if problem else "group",
        target_names=target_names,
        task=task,
        task_names=task_names,
        task_name="task",
        as_frame=as_frame,
        return_X_y=return_X_y,
        group=group[rows],
        split=split[rows],
        id=np.array(stored["id"])[rows],
    )
