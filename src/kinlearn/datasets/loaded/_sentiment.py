"""Loader of the multi-domain sentiment reviews, in three versions."""

from pathlib import Path
from typing import Any, Literal

import numpy as np

from kinlearn.datasets._assemble import Loaded, numbered, to_bunch
from kinlearn.datasets._checks import as_option
from kinlearn.datasets.loaded._catalogue import describe
from kinlearn.datasets.loaded._store import (
    DataHome,
    locate,
    read_csr,
    read_jsonl,
    read_lines,
    read_npz,
)
from kinlearn.datasets.loaded._text_features import codes_of, text_features

__all__ = ["fetch_sentiment"]


def fetch_sentiment(
    version: Literal["terms5000", "bigrams", "text"] = "terms5000",
    *,
    subset: Literal["all", "train", "test"] = "all",
    data_home: DataHome = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    verify: bool = True,
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

    def find(file: str) -> Path:
        return locate("sentiment", f"sentiment/{file}", data_home, verify=verify)

    extra: dict[str, np.ndarray] = {}
    stored: Any
    if version == "text":
        path = find("sorted_data_acl_labelled.jsonl.gz")
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
        path = find(
            "processed_acl_labelled_df2.npz" if bigrams else "sentiment_5000.npz"
        )
        X = read_csr(path).astype(np.float64)
        stored = read_npz(path, ["y", "task", "domains"])
        domains = [str(domain) for domain in stored["domains"]]
        task = stored["task"].astype(np.int64)
        y = (stored["y"] > 0).astype(np.int64)
        if bigrams:
            names = read_lines(find("processed_acl_vocab_df2.txt.gz"))
        else:
            names = numbered(X.shape[1], "term")
            split = read_npz(path, ["split"])["split"]
            rows = np.ones(len(y), dtype=bool) if subset == "all" else split == subset
            X, y, task = X[rows], y[rows], task[rows]
            extra = {"split": split[rows]}
    return to_bunch(
        X,
        y,
        descr=describe("sentiment"),
        feature_names=names,
        target_name="positive",
        target_names=["negative", "positive"],
        task=task,
        task_names=domains,
        task_name="domain",
        as_frame=as_frame,
        return_X_y=return_X_y,
        **extra,
    )
