"""Named, seeded problems that benchmarks and tests share.

A problem is handed over as the library takes it: the task is the last column
of X. Generated problems take their sizes as keywords, so that a test can ask
for a small one of the same kind; the real sets come through the loaders of
`kinlearn.datasets` and need ``KINLEARN_DATA``.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp

import kinlearn
from benchmarks.registry import Registry
from kinlearn.utils import group_rows

__all__ = ["PROBLEMS", "REAL", "TEXTS", "Problem", "load", "problem", "real"]

PROBLEMS = Registry("problem")
# Sizes of "sparse-classification" as of the sentiment set: 145 terms a text.
TEXTS = {
    "n_rows": 1_600,
    "n_features": 115_700,
    "n_tasks": 4,
    "density": 145 / 115_700,
}


@dataclass(frozen=True)
class Problem:
    """Rows, labels and tasks, and the splits that were published with them.

    Parameters
    ----------
    name : str
        What it is called in tables.
    kind : {"classification", "regression"}
        What y holds: class codes from 0, or numbers.
    X : ndarray or CSR array of shape (n_rows, n_features + 1)
        Features, then the task.
    y : ndarray of shape (n_rows,)
        Classes or numbers.
    splits : list of (train, test)
        Row numbers of the published splits, if there are any.
    """

    name: str
    kind: str
    X: np.ndarray | sp.csr_array
    y: np.ndarray
    splits: Sequence[tuple[np.ndarray, np.ndarray]] = ()

    @property
    def n_features(self):
        """Columns of X before the task."""
        return self.X.shape[1] - 1

    @property
    def task(self):
        """The task of each row."""
        column = self.X[:, [-1]]
        column = column.toarray() if sp.issparse(column) else column
        return np.asarray(column).ravel().astype(np.int64)

    @property
    def n_bytes(self):
        """Memory that X takes."""
        if sp.issparse(self.X):
            return sum(a.nbytes for a in (self.X.data, self.X.indices, self.X.indptr))
        return self.X.nbytes

    def fingerprint(self):
        """Short hash of the values: the version of the data."""
        digest = hashlib.sha256()
        parts = [self.X, self.y]
        if sp.issparse(self.X):
            parts[:1] = [self.X.data, self.X.indices, self.X.indptr]
        for part in parts:
            digest.update(f"{part.dtype} {part.shape}".encode())
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:12]


def problem(name):
    """Declare the decorated function as the problem `name`."""

    def declare(make):
        PROBLEMS.add(name, make)
        return make

    return declare


def load(name, **sizes):
    """Make or load a problem.

    Parameters
    ----------
    name : str
        One of `PROBLEMS`.
    **sizes
        What the problem's function takes, such as ``n_rows=200``.

    Returns
    -------
    Problem
        The same for the same arguments, on any machine.

    Examples
    --------
    >>> from benchmarks.problems import load
    >>> load("dense-classification", n_rows=50, n_tasks=3).X.shape
    (50, 21)
    """
    return Problem(name, *PROBLEMS[name](**sizes))


def _related_weights(rng, n_tasks, shape, distance):
    """A common linear rule and, `distance` away from it, one for each task."""
    common = rng.standard_normal(shape)
    own = rng.standard_normal((n_tasks, *shape))
    return common + distance * own


def _linear(rng, X, task, weights):
    """Row i's features times the weights of its task, for dense and sparse X."""
    scores = np.empty((X.shape[0], weights.shape[2]))
    indptr, order = group_rows(task, weights.shape[0])
    for t in range(weights.shape[0]):
        rows = order[indptr[t] : indptr[t + 1]]
        scores[rows] = X[rows] @ weights[t]
    spread = scores.std(axis=0, keepdims=True)
    return scores + 0.5 * spread * rng.standard_normal(scores.shape)


def _linear_tasks(rng, X, n_tasks, n_classes=None):
    """Targets of related linear tasks: the class of the highest score, or a score."""
    task = rng.integers(n_tasks, size=X.shape[0])
    weights = _related_weights(rng, n_tasks, (X.shape[1], n_classes or 1), 0.5)
    scores = _linear(rng, X, task, weights)
    X = kinlearn.with_task(X, task)
    if n_classes is None:
        return "regression", X, scores.ravel()
    return "classification", X, scores.argmax(axis=1)


@problem("dense-classification")
def dense_classification(
    n_rows=2_000, n_features=20, n_tasks=10, n_classes=2, dtype=np.float32, seed=0
):
    """Related linear tasks on normal features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32).astype(dtype)
    return _linear_tasks(rng, X, n_tasks, n_classes)


@problem("dense-regression")
def dense_regression(n_rows=2_000, n_features=20, n_tasks=10, dtype=np.float32, seed=0):
    """Related linear tasks on normal features."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32).astype(dtype)
    return _linear_tasks(rng, X, n_tasks)


def _counts(rng, n_rows, n_features, density):
    """Sparse rows like those of texts: few terms, frequent ones first."""
    per_row = rng.poisson(density * n_features, size=n_rows) + 1
    rank = rng.random(per_row.sum()) ** 3  # most mass on the first columns
    columns = (rank * n_features).astype(np.int32)
    rows = np.repeat(np.arange(n_rows), per_row)
    X = sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=(n_rows, n_features))
    X.sum_duplicates()
    return X


@problem("sparse-classification")
def sparse_classification(
    n_rows=2_000, n_features=2_000, n_tasks=4, n_classes=2, density=0.02, seed=0
):
    """Related linear tasks on counts, as of texts."""
    rng = np.random.default_rng(seed)
    X = _counts(rng, n_rows, n_features, density)
    return _linear_tasks(rng, X, n_tasks, n_classes)


@problem("sparse-regression")
def sparse_regression(n_rows=2_000, n_features=2_000, n_tasks=4, density=0.02, seed=0):
    """Related linear tasks on counts, as of texts."""
    rng = np.random.default_rng(seed)
    X = _counts(rng, n_rows, n_features, density)
    return _linear_tasks(rng, X, n_tasks)


@problem("many-tasks")
def many_tasks(n_rows=1_000_000, n_features=10, n_tasks=100_000, seed=0):
    """Few rows for each of very many tasks: a common rule and a task's own level."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, n_features), dtype=np.float32)
    task = rng.integers(n_tasks, size=n_rows)
    task[: min(n_rows, n_tasks)] = np.arange(min(n_rows, n_tasks))  # each occurs
    level = rng.standard_normal(n_tasks)
    score = X @ rng.standard_normal(n_features) + level[task]
    y = (score + rng.standard_normal(n_rows) > 0).astype(np.int64)
    return "classification", kinlearn.with_task(X, task), y


def _task_of_rows(rng, n_rows, n_tasks, low, high):
    """Tasks one after another, of uneven sizes in about the ratio low : high."""
    shares = rng.uniform(low, high, size=n_tasks)
    ends = np.round(np.cumsum(shares) / shares.sum() * n_rows).astype(int)
    return np.repeat(np.arange(n_tasks), np.diff(ends, prepend=0))


@problem("landmine-like")
def landmine_like(n_rows=14_820, seed=0):
    """A stand-in for landmine: 29 tasks in two kinds, 9 features, 6% positive."""
    rng = np.random.default_rng(seed)
    task = _task_of_rows(rng, n_rows, 29, 445, 690)
    mixing = rng.standard_normal((9, 9))  # radar features are correlated
    X = rng.standard_normal((n_rows, 9)) @ mixing
    terrain = (task >= 15).astype(int)
    rules = rng.standard_normal((2, 9)) + rng.standard_normal(9)
    own = 0.3 * rng.standard_normal((29, 9))
    score = np.einsum("ij,ij->i", X, rules[terrain] + own[task])
    score /= score.std()
    score += np.array([0.0, 0.2])[terrain] + rng.standard_normal(n_rows)
    y = (score > np.quantile(score, 0.94)).astype(np.int64)
    return "classification", kinlearn.with_task(X, task), y


@problem("school-like")
def school_like(n_rows=15_362, n_tasks=139, seed=0):
    """A stand-in for school: 139 tasks, 27 mostly binary features, scores 1 to 70."""
    rng = np.random.default_rng(seed)
    task = _task_of_rows(rng, n_rows, n_tasks, 22, 251)
    X = np.empty((n_rows, 27))
    # Three columns describe the school, the rest the pupil, as in the real set.
    X[:, :2] = rng.integers(0, 70, size=(n_tasks, 2))[task]
    X[:, 2] = rng.integers(2, size=n_tasks)[task]
    X[:, 3:] = rng.random((n_rows, 24)) < rng.uniform(0.05, 0.5, size=24)
    effect = rng.standard_normal(27) * np.r_[0.05, 0.05, np.full(25, 3.0)]
    level = 2.0 * rng.standard_normal(n_tasks)
    score = 22 + (X - X.mean(axis=0)) @ effect + level[task]
    y = np.clip(np.round(score + 9 * rng.standard_normal(n_rows)), 1, 70)
    return "regression", kinlearn.with_task(X, task), y


# The real sets that have tasks as they are. Where a protocol wants another form
# (images one against the rest, a sample, reduced texts), it declares a problem of
# its own with the loader's options.
REAL = {
    "landmine": "classification",
    "school": "regression",
    "sentiment": "classification",
    "uci:abalone": "regression",
    "uci:auto_mpg": "regression",
    "uci:boston": "regression",
    "uci:breast_cancer_ljubljana": "classification",
    "uci:breast_cancer_wisconsin": "classification",
    "uci:cmc": "classification",
    "uci:heart": "classification",
    "uci:hepatitis": "classification",
    "uci:solar_flare": "classification",
    "uci:wine_quality": "regression",
}


def real(name, kind, **options):
    """A set of `kinlearn.datasets`, with the options of its loader."""
    data = kinlearn.datasets.fetch_dataset(name, **options)
    return kind, data.data, data.target, data.get("splits", ())


for _name, _kind in REAL.items():
    PROBLEMS.add(_name, partial(real, _name, _kind))
