"""Do features that were dropped still teach?

``python -m benchmarks.quality.privileged_selection digits`` repeats chapter 3 of Cai
2011: features are ranked on the training rows, the best are kept, and SVM+ gets the
others as privileged columns. A linear SVM on the kept features chooses C by validation
rows; SVM+ keeps that C and chooses the penalty and the width of its correcting kernel
by the same rows. Ties go to the smallest. Two controls tell where a gain comes from:
an SVM that tries as many values of C as SVM+ tries candidates in all, and SVM+ with
the dropped features of other rows, which teach nothing.

- digits: 5 against 8, 300 training and 300 validation rows, half of each digit, the
  rest for the test, as published.
- arcene, dorothea: the challenge's training rows. Its test labels are not public, so
  one half of its validation rows chooses, and the other half is the test.
- dexter: only its 300 training rows are at hand: half of them train, a quarter
  chooses, a quarter is the test.

Errors are in %: plain for digits, the mean over the two classes for the others.

A record is one line of JSON: the errors of one draw, and the ten features that come
first (counted from 1, row by row, as in figures 3.3 to 3.6). Records that the file has
are not made again.
"""

import argparse
import sys
from collections import Counter
from functools import cache, lru_cache
from itertools import product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import balanced_accuracy_score
from sklearn.svm import SVC

from benchmarks.commandline import print_line
from benchmarks.environment import commit_of_source, now
from benchmarks.jsonlines import JsonLines
from kinlearn.datasets import fetch_mnist, fetch_nips2003
from kinlearn.svm import PrivilegedFeatureSelectionClassifier, SVMPlusClassifier

RECORDS = Path(__file__).parents[1] / "records" / "privileged_selection.jsonl"
COSTS = tuple(10.0**k for k in range(-4, 3))
PENALTIES = (1e-3, 1e-2, 1e-1, 1.0, 10.0)
WIDTHS = (0.1, 1.0, 10.0)  # times 1 / (number of dropped features * their variance)
MORE_COSTS = tuple(np.geomspace(1e-4, 1e2, len(COSTS) + 15))
# data -> (ranking, kept features) -> published: SVM on those, SVM+, SVM on all
TABLES = {
    "digits": {
        ("fisher", 392): (6.37, 6.01, 6.39),
        ("fisher", 10): (13.39, 12.60, 6.39),
        ("information_gain", 392): (6.10, 5.81, 6.00),
        ("information_gain", 10): (12.78, 12.25, 6.00),
    },
    "arcene": {
        ("fisher", 100): (33.97, 33.97, 15.12),
        ("fisher", 1000): (23.33, 23.20, 15.12),
        ("fisher", 2000): (22.66, 22.82, 15.12),
        ("fisher", 4000): (18.83, 17.11, 15.12),
    },
    "dexter": {
        ("fisher", 100): (8.55, 7.55, 10.25),
        ("fisher", 1000): (10.20, 8.15, 10.25),
        ("fisher", 5000): (9.05, 7.65, 10.25),
        ("fisher", 10000): (10.25, 10.25, 10.25),
    },
    "dorothea": {
        ("fisher", 100): (26.61, 26.61, 39.38),
        ("fisher", 1000): (26.54, 26.54, 39.38),
        ("fisher", 10000): (38.60, 38.60, 39.38),
        ("fisher", 50000): (41.74, 41.74, 39.38),
    },
}


@cache
def load(name):
    """Features between 0 and about 1, labels, and the challenge's part of each row."""
    if name == "digits":
        data = fetch_mnist()
        labels = np.asarray(data.target).astype(int)
        rows = np.flatnonzero(np.isin(labels, [5, 8]))
        return data.data[rows] / 255.0, (labels[rows] == 8).astype(int), None
    data = fetch_nips2003(name)
    return data.data / abs(data.data).max(), data.target, np.asarray(data.split)


def divide(y, rows, sizes, rng):
    """Rows dealt out by class: so many of each class for each subset, then the rest."""
    by_class = []
    for c in (0, 1):
        of_class = rng.permutation(rows[y[rows] == c])
        counts = [s if s >= 1 else round(s * len(of_class)) for s in sizes]
        by_class.append(np.split(of_class, np.cumsum(counts)))
    return [np.concatenate(subset) for subset in zip(*by_class, strict=True)]


def split(name, seed):
    """Training, validation and test rows, as row numbers."""
    _, y, given = load(name)
    rng = np.random.default_rng(seed)
    rows = np.arange(len(y))
    if name == "digits":
        return divide(y, rows, (150, 150), rng)
    if name == "dexter":
        return divide(y, rows, (0.5, 0.25), rng)
    return [rows[given == "train"], *divide(y, rows[given == "valid"], (0.5,), rng)]


def error(name, model, rows):
    """Error in %."""
    X, y = rows
    if name == "digits":
        return 100 * (1 - model.score(X, y))
    return 100 * (1 - balanced_accuracy_score(y, model.predict(X)))


def best_of(name, models, valid):
    """The first of those that err least on the validation rows."""
    return min(models, key=lambda model: error(name, model, valid))


# Draws of arcene and dorothea have the same training rows, so models are kept; other
# draws' are not needed again, and soon forgotten.
@lru_cache(maxsize=4)
def plain_models(name, ranking, n_features, train, costs=COSTS):
    """A linear SVM for each C, on the kept features; on all without a ranking."""
    X, y = training(name, train)
    if ranking is not None:
        X = X[:, selection(name, ranking, n_features, train).selected_]
    return [SVC(C=C, kernel="linear").fit(X, y) for C in costs]


@lru_cache(maxsize=2)
def selection(name, ranking, n_features, train):
    """Features ranked on the training rows."""
    return PrivilegedFeatureSelectionClassifier(
        SVMPlusClassifier(kernel="linear", correction_kernel="rbf"),
        n_features=n_features,
        ranking=ranking,
    ).fit(*training(name, train))


@lru_cache(maxsize=2 * len(COSTS))
def plus_models(name, ranking, n_features, train, C, shuffled=False):
    """SVM+ for each penalty and width, perhaps with dropped features of other rows."""
    X, y = training(name, train)
    inner = selection(name, ranking, n_features, train).estimator_
    dropped = X[:, inner.privileged]
    mean, square = dropped.mean(), (dropped * dropped).mean()
    scale = float(1.0 / (dropped.shape[1] * (square - mean**2)))
    if shuffled:
        other = X[np.random.default_rng(0).permutation(len(y))]
        is_dropped = np.zeros(X.shape[1])
        is_dropped[inner.privileged] = 1.0
        if sp.issparse(X):
            X = sp.csr_array(
                X @ sp.diags_array(1 - is_dropped) + other @ sp.diags_array(is_dropped)
            )
        else:
            X = np.where(is_dropped == 1, other, X)
    models = []
    for penalty, width in product(PENALTIES, WIDTHS):
        model = SVMPlusClassifier(**inner.get_params()).set_params(
            C=C, correction_penalty=penalty, correction_gamma=width * scale
        )
        models.append(model.fit(X, y))
    return models


def training(name, train):
    """The training rows, by their numbers."""
    X, y, _ = load(name)
    return X[list(train)], y[list(train)]


def errors_of(name, ranking, n_features, seed):
    """Test errors by method, and the first ten features."""
    X, y, _ = load(name)
    train, valid, test = split(name, seed)
    train = tuple(train.tolist())
    first = selection(name, ranking, 10, train).selected_
    kept = selection(name, ranking, n_features, train).selected_
    wide = [(X[rows], y[rows]) for rows in (valid, test)]
    narrow = [(X[rows][:, kept], y[rows]) for rows in (valid, test)]
    key = (name, ranking, n_features, train)
    svm = best_of(name, plain_models(*key), narrow[0])
    found = {"SVM": error(name, svm, narrow[1])}
    for method, models in (
        ("SVM+", plus_models(*key, svm.C)),
        ("SVM, as many tries", plain_models(*key, MORE_COSTS)),
        ("SVM+, dropped features shuffled", plus_models(*key, svm.C, shuffled=True)),
    ):
        found[method] = error(name, best_of(name, models, narrow[0]), narrow[1])
    everything = best_of(name, plain_models(name, None, None, train), wide[0])
    found["SVM, all features"] = error(name, everything, wide[1])
    return found, (np.asarray(first)[:10] + 1).tolist()


METHODS = (
    "SVM",
    "SVM+",
    "SVM, as many tries",
    "SVM+, dropped features shuffled",
    "SVM, all features",
)


def table(records, *, data):
    """Means and deviations over the draws of one data set.

    Parameters
    ----------
    records : list of dict
        Of the file.
    data : str
        Which set.

    Returns
    -------
    list of list of str
        The heading first.
    """
    rows = [["ranking", "kept", "draws", *METHODS, "SVM+ better, worse",
             "published: SVM, SVM+, all"]]  # fmt: skip
    for (ranking, kept), published in TABLES[data].items():
        errors = drawn(records, data, ranking, kept)
        if len(errors) < 2:
            continue
        mean, spread = errors.mean(axis=0), errors.std(axis=0, ddof=1)
        cells = [f"{m:.2f} ± {s:.2f}" for m, s in zip(mean, spread, strict=True)]
        gain = errors[:, 0] - errors[:, 1]
        wins = f"{np.sum(gain > 0)}, {np.sum(gain < 0)}"
        theirs = ", ".join(f"{value:.2f}" for value in published)
        rows.append([ranking, str(kept), str(len(errors)), *cells, wins, theirs])
    return rows


def drawn(records, data, ranking, kept):
    """Errors by draw and method, as an array."""
    key = (data, ranking, kept)
    found = [r for r in records if (r["data"], r["ranking"], r["kept"]) == key]
    return np.array([[r["errors"][name] for name in METHODS] for r in found])


def features(records):
    """Features of digits that come among the first ten in every draw.

    Parameters
    ----------
    records : list of dict
        Of the file.

    Returns
    -------
    list of list of str
        The heading first.
    """
    rows = [["ranking", "draws", "in the first ten of every draw",
             "in the first ten of most draws", "published as high"]]  # fmt: skip
    for ranking, published in (
        ("fisher", "488, 489, 516"),
        ("information_gain", "406, 407, 408"),
    ):
        key = ("digits", ranking, 10)
        found = [r for r in records if (r["data"], r["ranking"], r["kept"]) == key]
        if not found:
            continue
        counts = Counter(feature for r in found for feature in r["first"])
        always = sorted(f for f, n in counts.items() if n == len(found))
        often = sorted(f for f, n in counts.items() if len(found) / 2 < n < len(found))
        cells = [", ".join(map(str, some)) or "-" for some in (always, often)]
        rows.append([ranking, str(len(found)), *cells, published])
    return rows


def main():
    """Fit what is missing, and print the table, in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", choices=TABLES)
    parser.add_argument("--draws", type=int, default=8)
    options = parser.parse_args()
    names = ("data", "ranking", "kept", "draw")
    with JsonLines(RECORDS) as store:
        done = {tuple(r[name] for name in names) for r in store.records}
        for draw, (ranking, kept) in product(
            range(options.draws), TABLES[options.data]
        ):
            key = (options.data, ranking, kept, draw)
            if key in done:
                continue
            errors, first = errors_of(options.data, ranking, kept, draw)
            made = {"first": first, "commit": commit_of_source(), "when": now()}
            errors = {name: round(value, 4) for name, value in errors.items()}
            store.append(dict(zip(names, key, strict=True)) | {"errors": errors} | made)
        heading, *rows = table(store.records, data=options.data)
    for row in (heading, ["---"] * len(heading), *rows):
        print_line(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    sys.exit(main())
