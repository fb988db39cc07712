"""Which affinity, scaled or not? Measured on collections that no protocol reports.

    KINLEARN_DATA=... python -m benchmarks.quality.clustering_defaults

clusters draws of other tasks than those of the protocols: 20 Newsgroups in other pairs
and the four groups that no pair has, other pairs of WebKB's categories, product reviews
(the domain from praise and from blame), and made terms; some of them again with counts
instead of TF-IDF, and with one class of a third of the size. It prints the accuracy
within tasks, and with one naming of the clusters for all of them.

A record is one line of JSON: both accuracies of one setting on one draw. Records that
the file has are not made again.
"""

from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import kinlearn
from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.quality.clustering import text_rows
from benchmarks.quality.metrics import ONE_NAMING_ACCURACY, TASK_CLUSTERING_ACCURACY
from benchmarks.quality.protocols.clustering import _words
from kinlearn.cluster import MultiTaskSymmetricNMF

RECORDS = Path(__file__).parents[1] / "records" / "clustering_defaults.jsonl"
SETTINGS = tuple(product(("shared", "cosine"), (True, False), (0.0, 0.1, 0.25)))
_DRAWS = 6
_SIZES = (20, 40, 80)  # rows of a class in a task; they take turns
_NEWS = {
    "electronics with autos": (
        ("sci.electronics", "rec.autos"),
        ("sci.space", "rec.motorcycles"),
        ("sci.med", "rec.sport.baseball"),
        ("sci.crypt", "rec.sport.hockey"),
    ),
    "guns with graphics": (
        ("talk.politics.guns", "comp.graphics"),
        ("talk.politics.misc", "comp.windows.x"),
        ("talk.religion.misc", "comp.sys.mac.hardware"),
        ("talk.politics.mideast", "comp.os.ms-windows.misc"),
    ),
    "faith with sale": (
        ("alt.atheism", "misc.forsale"),
        ("soc.religion.christian", "comp.sys.ibm.pc.hardware"),
    ),
}
_PAGES = (("student", "course"), ("faculty", "course"), ("student", "project"))


@cache
def _news():
    return kinlearn.datasets.fetch_20newsgroups_tasks(features="counts")


def _newsgroups(pairs):
    news = _news()
    rows, task, y = [], [], []
    for t, pair in enumerate(pairs):
        for label, group in enumerate(pair):
            found = np.flatnonzero(news.group == group)
            rows.append(found)
            task += [t] * len(found)
            y += [label] * len(found)
    counts = _words(news.data, news.feature_names)[np.concatenate(rows)]
    return counts, np.array(task), np.array(y)


def _webkb(pair):
    pages = kinlearn.datasets.fetch_webkb("webkb4", features="counts")
    task = pages.data[:, [-1]].toarray().ravel().astype(int)
    names = [str(name) for name in pages.target_names]
    label = np.array(names)[pages.target]
    rows = np.flatnonzero(np.isin(label, pair))
    counts = _words(pages.data[:, :-1], pages.feature_names)
    return counts[rows], task[rows], (label[rows] == pair[1]).astype(int)


def _reviews():
    reviews = kinlearn.datasets.fetch_sentiment()
    domain = reviews.data[:, [-1]].toarray().ravel().astype(int)
    counts = sp.csr_array(reviews.data[:, :-1])
    rows = np.flatnonzero(domain < 2)
    return counts[rows], np.asarray(reviews.target)[rows], domain[rows]


def _made(shared, focus, seed=0):
    X, y = kinlearn.datasets.make_term_tasks(
        4, n_samples_per_class=80, shared=shared, focus=focus, random_state=seed
    )
    X = sp.csr_array(X)
    return X[:, :-1], X[:, [-1]].toarray().ravel().astype(int), y


PROBLEMS = {
    **{f"news: {name}": partial(_newsgroups, pairs) for name, pairs in _NEWS.items()},
    **{f"webkb: {a} and {b}": partial(_webkb, (a, b)) for a, b in _PAGES},
    "reviews": _reviews,
    "made: alike": partial(_made, 0.8, 0.3),
    "made: unlike": partial(_made, 0.2, 0.3),
}
_AGAIN = ("news: electronics with autos", "webkb: faculty and course", "reviews")
for _name in _AGAIN:
    PROBLEMS[f"{_name}, counts"] = PROBLEMS[_name]
    PROBLEMS[f"{_name}, uneven"] = PROBLEMS[_name]


@cache
def _load(name):
    return PROBLEMS[name]()


def draw(name, number):
    """Counts with the task behind them, and labels, of some rows of each class."""
    counts, task, y = _load(name)
    rng = np.random.default_rng([number, 7])
    most = _SIZES[number % len(_SIZES)]
    drawn = []
    for t, label in product(np.unique(task), np.unique(y)):
        rows = np.flatnonzero((task == t) & (y == label))
        size = most // 3 if name.endswith(", uneven") and label else most
        drawn.append(rng.choice(rows, min(size, len(rows)), replace=False))
    rows = np.sort(np.concatenate(drawn))
    return kinlearn.with_task(counts[rows], task[rows]), y[rows]


def run(name, number, settings):
    """Accuracies of some settings on one draw."""
    data, y = draw(name, number)
    X, task = text_rows(data)
    if name.endswith(", counts"):
        X = sp.csr_array(data[:, :-1], dtype=np.float64)
    for affinity, normalize, lambda_inter in settings:
        model = MultiTaskSymmetricNMF(
            task=-1,
            affinity=affinity,
            normalize=normalize,
            lambda_inter=lambda_inter,
            max_iter=2000,
            random_state=number,
        )
        found = model.fit_predict(kinlearn.with_task(X, task))
        yield {
            "problem": name,
            "draw": number,
            "setting": [affinity, normalize, lambda_inter],
            "within": float(TASK_CLUSTERING_ACCURACY.score(y, found, task)),
            "one_naming": float(ONE_NAMING_ACCURACY.score(y, found, task)),
        }


def table(records, *, measure="within", settings=SETTINGS):
    """Means of each setting, a row for each problem and the mean of all.

    Parameters
    ----------
    records : list of dict
        Of the file.
    measure : {"within", "one_naming"}, default="within"
        Accuracy within tasks, or with one naming for all.
    settings : sequence of tuple, default=SETTINGS
        The columns.

    Returns
    -------
    list of list of str
        The heading first.
    """
    found = {}
    for r in records:
        found.setdefault((r["problem"], tuple(r["setting"])), []).append(r[measure])
    means = [[np.mean(found[name, s]) for s in settings] for name in PROBLEMS]
    rows = [["", *map(_label, settings)]]
    for name, row in zip((*PROBLEMS, "mean"), (*means, np.mean(means, 0)), strict=True):
        rows.append([name, *(f"{v:.1f}" for v in row)])
    return rows


def main():
    """Cluster what is missing, and print a line for each problem and the means."""
    with JsonLines(RECORDS) as store:
        done = {(r["problem"], r["draw"], *r["setting"]) for r in store.records}
        for number, name in product(range(_DRAWS), PROBLEMS):
            missing = [s for s in SETTINGS if (name, number, *s) not in done]
            if missing:
                for record in run(name, number, missing):
                    store.append(record)
        for measure in ("within", "one_naming"):
            print_line(f"\n{measure}")
            for row in table(store.records, measure=measure):
                print_line(" | ".join(row))


def _label(setting):
    affinity, normalize, lambda_inter = setting
    return f"{affinity}, {'scaled' if normalize else 'as it is'}, {lambda_inter:g}"


if __name__ == "__main__":
    main()
