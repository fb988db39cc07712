"""Problems, splits and contenders of protocols in the documents' own words.

The other protocols of a family treat all contenders alike, with grids and scales of
our own. Here the grid, the scaling, the order of the rows and the fixed parameters
are those that are printed; what is not printed is said where it is chosen. The
quotations stand in `benchmarks.quality.protocols.al_stouhi_printed`.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality import clustering, transfer
from benchmarks.quality.protocol import Contender

__all__ = [
    "CLUSTERS",
    "CONTROLS",
]

# --------------------------------------------------------------------------- transfer


def _bodies(name):
    """Bodies of messages: words of three letters and more, no stop words, df >= 188."""
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    data = kinlearn.datasets.fetch_20newsgroups_tasks(name)
    bodies = [text.partition("\n\n")[2] for text in data.data[:, 0]]
    counts = CountVectorizer(
        min_df=188,
        token_pattern=r"(?u)\b[a-zA-Z]{3,}\b",
        stop_words=list(ENGLISH_STOP_WORDS),
    ).fit_transform(bodies)
    X = kinlearn.with_task(sp.csr_array(counts), data.data[:, -1].astype(int))
    return "classification", sp.csr_array(X), data.target


for _name in ("rec-talk", "rec-sci", "sci-talk"):
    problem(f"news-bodies:{_name}")(partial(_bodies, _name))


class _SecondHalf:
    """AdaBoost of the target rows whose second half of rounds votes alone."""

    def __init__(self, seed):
        self.seed = seed

    def fit(self, X, y):
        from sklearn.ensemble import AdaBoostClassifier

        rows = np.flatnonzero(transfer._task_of(X) == 1)
        model = AdaBoostClassifier(n_estimators=transfer.ROUNDS, random_state=self.seed)
        model.fit(X[rows][:, :-1], y[rows])
        if len(model.estimators_) > 1:
            half = len(model.estimators_) // 2
            model.estimators_ = model.estimators_[half:]
            model.estimator_weights_ = model.estimator_weights_[half:]
        self.model = model
        return self

    def predict(self, X):
        return self.model.predict(X[:, :-1])


def _second_half(problem, seed):
    return _SecondHalf(seed)


def _logistic(problem, seed, *, source):
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import MaxAbsScaler

    model = make_pipeline(MaxAbsScaler(), LogisticRegression(max_iter=1000))
    return transfer._Peer(model, source=source)


class _RandomSource:
    """TrAdaBoost with source rows whose labels were shuffled: nothing to transfer."""

    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def fit(self, X, y):
        source = np.flatnonzero(transfer._task_of(X) == 0)
        y = y.copy()
        y[source] = np.random.default_rng(self.seed).permutation(y[source])
        return self.model.fit(X, y)


def _random_source(problem, seed, *, correction):
    return _RandomSource(transfer.ours(problem, seed, correction=correction), seed)


CONTROLS = (
    Contender("AdaBoost, target, second half votes", _second_half),
    Contender("logistic regression, target", _logistic, {"source": False}),
    Contender("logistic regression, all rows", _logistic, {"source": True}),
    Contender(
        "kinlearn dynamic, source labels shuffled",
        _random_source,
        {"correction": "dynamic"},
        kind="ours",
    ),
)

# ------------------------------------------------------------------------- clustering


def _bare_affinity(X, task, lambda_inter):
    """The thesis's affinity as it is: algorithm 4 does not divide by degrees."""
    E = sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    W = (X @ E.T).toarray()
    W = (W + W.T) * np.where(task[:, None] == task, 1.0, lambda_inter)
    np.fill_diagonal(W, 0)
    return W


def _bare_nmf(X, task, seed):
    W = _bare_affinity(X, task, 1.0)
    return clustering._multiplicative(W, task, seed, penalty=False)


def _bare_thesis(X, task, seed):
    W = _bare_affinity(X, task, clustering._LAMBDA)
    return clustering._multiplicative(W, task, seed, penalty=True)


CLUSTERS = (
    clustering._contender("single-task NMF", clustering._each_task_alone(_bare_nmf)),
    clustering._contender("all-task NMF", _bare_nmf),
    clustering._contender("thesis updates, lambda 0.25", _bare_thesis),
)
