"""Related collections of texts, clustered (Al-Stouhi 2013, chapter 6).

The thesis does not say which groups form a task (but for two of Rec-Talk), how texts
were made into terms, nor how Reuters was split; see `docs/benchmarks/clustering.md`
for what is done here.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

import kinlearn
from benchmarks.problems import PROBLEMS
from benchmarks.quality.clustering import CONTENDERS
from benchmarks.quality.metrics import (
    ONE_NAMING_ACCURACY,
    TASK_CLUSTERING_ACCURACY,
    TASK_NMI,
)
from benchmarks.quality.protocol import Published, protocol

_RUNS = 30
_SIZES = (40, 80, 120, 160)  # rows of a task; half of each class

_GROUPS = {
    "rec": (
        "rec.sport.hockey",
        "rec.sport.baseball",
        "rec.autos",
        "rec.motorcycles",
    ),
    "talk": (
        "talk.religion.misc",
        "talk.politics.mideast",
        "talk.politics.guns",
        "talk.politics.misc",
    ),
    "sci": ("sci.electronics", "sci.space", "sci.med", "sci.crypt"),
    "comp": (
        "comp.graphics",
        "comp.windows.x",
        "comp.sys.mac.hardware",
        "comp.os.ms-windows.misc",
    ),
}
# Tables 6.3 to 6.5: the mean over the tasks of SMT-NMF, the best single-task and the
# best all-task method.
_PUBLISHED = {
    "rec-talk": (92.7, 88.4, 81.6),
    "rec-sci": (91.6, 88.1, 78.8),
    "rec-comp": (94.5, 90.2, 87.4),
    "talk-sci": (88.6, 84.4, 76.4),
    "talk-comp": (97.4, 89.9, 93.5),
    "sci-comp": (88.6, 83.9, 78.0),
    "webkb4": (90.2, 84.8, 84.2),
    "reuters:orgs-people": (82.8, 72.4, 74.2),
    "reuters:orgs-places": (79.4, 71.7, 71.4),
    "reuters:people-places": (74.4, 68.2, 66.4),
}
# Tables 6.6 and 6.7, problem by problem: SMT-NMF and the best other (all-task) method.
_PUBLISHED_MIXED = (
    (77.8, 66.6),
    (80.3, 70.8),
    (79.4, 68.9),
    (83.6, 68.8),
    (85.3, 70.8),
    (80.4, 69.8),
)


def _words(counts, names):
    """Terms of letters that are no stop words."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS

    kept = [
        j
        for j, name in enumerate(names)
        if len(name) > 2 and name.isalpha() and name not in ENGLISH_STOP_WORDS
    ]
    return sp.csr_array(counts)[:, kept]


def _assemble(counts, task, y):
    return "classification", kinlearn.with_task(counts, np.asarray(task)), np.asarray(y)


def _newsgroups(tasks):
    """Tasks of 20 Newsgroups, each a pair of groups."""
    news = kinlearn.datasets.fetch_20newsgroups_tasks(features="counts")
    counts = _words(news.data, news.feature_names)
    rows, task, y = [], [], []
    for t, pair in enumerate(tasks):
        for label, group in enumerate(pair):
            found = np.flatnonzero(news.group == group)
            rows.append(found)
            task += [t] * len(found)
            y += [label] * len(found)
    return _assemble(counts[np.concatenate(rows)], task, y)


def _mixed_tasks(seed):
    """Four tasks of two of four categories, each category in two tasks."""
    rng = np.random.default_rng(seed)
    ring = rng.permutation(["talk", "sci", "rec", "comp"])
    left = {name: list(rng.permutation(groups)) for name, groups in _GROUPS.items()}
    return [(left[ring[i]].pop(), left[ring[(i + 1) % 4]].pop()) for i in range(4)]


def _webkb():
    pages = kinlearn.datasets.fetch_webkb("personal-project", features="counts")
    task = pages.data[:, [-1]].toarray().ravel().astype(int)
    return _assemble(
        _words(pages.data[:, :-1], pages.feature_names), task, pages.target
    )


def _reuters(name):
    """The labels of a kind go to the two tasks in turn, most frequent first."""
    news = kinlearn.datasets.fetch_reuters21578(name, features="counts")
    task = np.empty(len(news.target), dtype=int)
    for label, kind in enumerate(name.split("-")):
        mine = np.flatnonzero(news.target == label)
        first = np.array([news[kind][i][0] for i in mine])
        values, counts = np.unique(first, return_counts=True)
        ranked = values[np.argsort(-counts, kind="stable")]
        task[mine] = [np.flatnonzero(ranked == value)[0] % 2 for value in first]
    return _assemble(_words(news.data, news.feature_names), task, news.target)


def _sample(problem, number, sizes):
    """Rows that are clustered (test), the others (train); sizes take turns."""
    rng = np.random.default_rng(number)
    half = sizes[number % len(sizes)] // 2
    task, y = problem.task, problem.y
    drawn = []
    for t in np.unique(task):
        for label in np.unique(y):
            rows = np.flatnonzero((task == t) & (y == label))
            drawn.append(rng.choice(rows, min(half, len(rows)), replace=False))
    test = np.sort(np.concatenate(drawn))
    return np.setdiff1d(np.arange(len(y)), test), test


def _declare(name, title, make, figures, sizes=_SIZES):
    PROBLEMS.add(f"clustering:{name}", make)
    labels = ("SMT-NMF", "best single-task method", "best all-task method")
    if len(figures) == 2:
        labels = ("SMT-NMF", "best all-task method")
    source = "Al-Stouhi 2013, tables 6.3 to 6.7, mean over tasks and 120 runs"

    def split(problem, number):
        return _sample(problem, number, sizes)

    split.__doc__ = title
    protocol(
        f"clustering-{name.replace(':', '-')}",
        problem=f"clustering:{name}",
        n_splits=_RUNS * len(sizes),
        metrics=(TASK_CLUSTERING_ACCURACY, ONE_NAMING_ACCURACY, TASK_NMI),
        contenders=CONTENDERS,
        baseline="single-task NMF",
        methods=("fit_predict",),
        published=tuple(
            Published(label, {"accuracy": value}, source)
            for label, value in zip(labels, figures, strict=True)
        ),
    )(split)


for _name in ("rec-talk", "rec-sci", "rec-comp", "talk-sci", "talk-comp", "sci-comp"):
    _one, _two = (_GROUPS[part] for part in _name.split("-"))
    _declare(
        _name,
        f"20 Newsgroups {_name}, 4 tasks of 2 groups, 40 to 160 rows each",
        partial(_newsgroups, list(zip(_one, _two, strict=True))),
        _PUBLISHED[_name],
    )
for _number, _figures in enumerate(_PUBLISHED_MIXED):
    _declare(
        f"mixed-{_number + 1}",
        "20 Newsgroups, 4 tasks of 2 of 4 categories, 40 to 160 rows each",
        partial(_newsgroups, _mixed_tasks(_number)),
        _figures,
    )
_declare(
    "webkb4",
    "WebKB4, 4 universities, personal against project, 20 to 80 rows each",
    _webkb,
    _PUBLISHED["webkb4"],
    sizes=(20, 40, 60, 80),
)
for _name in ("orgs-people", "orgs-places", "people-places"):
    _declare(
        f"reuters:{_name}",
        f"Reuters {_name}, 2 tasks, 40 to 160 rows each",
        partial(_reuters, _name),
        _PUBLISHED[f"reuters:{_name}"],
    )
