"""Texts as features: as they are, or as counts of their terms."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from kinlearn.datasets._checks import as_count, as_option
from kinlearn.datasets.loaded._store import cached_arrays, sha256_of

__all__ = ["codes_of", "text_features"]

# Raise it when the way that texts become counts changes: older caches are then
# passed by.
_COUNTS_VERSION = 1


def codes_of(values: Iterable[Any], names: Sequence[str]) -> np.ndarray:
    """Position of every value in a list of names."""
    place = {name: i for i, name in enumerate(names)}
    return np.array([place[value] for value in values], dtype=np.int64)


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
