"""Problems on which settings of the transfer models are chosen: none is reported on.

Three pairs of newsgroups that no protocol has, and small public tables. All have two
tasks, 0 the source and 1 the target, and class 1 is the rare one.
"""

from functools import cache, partial

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

import kinlearn
from benchmarks.problems import load, problem

__all__ = ["APART", "load_once"]

# subgroups of the source, and of the target
_GROUPS = {
    "comp": (
        ("comp.graphics", "comp.sys.mac.hardware", "comp.windows.x"),
        ("comp.os.ms-windows.misc", "comp.sys.ibm.pc.hardware"),
    ),
    "rec": (
        ("rec.autos", "rec.sport.baseball"),
        ("rec.motorcycles", "rec.sport.hockey"),
    ),
    "sci": (("sci.med", "sci.electronics"), ("sci.space", "sci.crypt")),
    "talk": (
        ("talk.politics.guns", "talk.politics.misc"),
        ("talk.politics.mideast", "talk.religion.misc"),
    ),
}


@cache
def _counts():
    """Counts of the 1,500 most frequent terms, and the group of each message."""
    data = kinlearn.datasets.fetch_20newsgroups_tasks()
    texts = np.asarray(data.data, dtype=object).ravel()
    X = CountVectorizer(max_features=1_500).fit_transform(texts)
    return sp.csr_array(X), np.asarray(data.group)


def _news(other):
    """Computers (class 0) against another category; the 500 terms of most messages."""
    X, group = _counts()
    sides = [np.isin(group, _GROUPS["comp"][k] + _GROUPS[other][k]) for k in (0, 1)]
    rows = np.flatnonzero(sides[0] | sides[1])
    y = np.char.startswith(group[rows].astype(str), other).astype(np.int64)
    X = X[rows].tocsc()
    frequency = np.diff(X.indptr)
    X = X[:, np.sort(np.argsort(-frequency, kind="stable")[:500])]
    task = sides[1][rows].astype(np.int64)
    return "classification", sp.csr_array(kinlearn.with_task(X, task)), y


for _name in ("rec", "sci", "talk"):
    problem(f"apart:comp-{_name}")(partial(_news, _name))


def _table(name, is_source, is_rare, **options):
    data = kinlearn.datasets.fetch_uci(name, **options)
    X, y = np.nan_to_num(np.asarray(data.data, dtype=float)), data.target
    task = 1 - is_source(X[:, -1]).astype(np.int64)
    X = kinlearn.with_task(X[:, :-1], task)
    return "classification", X, is_rare(y).astype(np.int64)


problem("apart:wine-best")(
    # grade 7 and better, white the source; the protocol has grades 5 and 6 alone
    partial(_table, "wine_quality", lambda t: t == 1, lambda y: y >= 7)
)
problem("apart:abalone-old")(
    # 13 rings and more; the protocol has seven
    partial(_table, "abalone", lambda t: t == 0, lambda y: y >= 13)
)

APART = tuple(
    f"apart:{name}"
    for name in ("comp-rec", "comp-sci", "comp-talk", "wine-best", "abalone-old")
)


@cache
def load_once(name):
    """A problem, loaded once in a process."""
    return load(name)
