"""Ways to cluster related collections of texts: ours, and those that people use.

All get counts of terms with the task as the last column, drop terms of fewer than
four documents, weigh the rest by TF-IDF, and give a cluster for each row. Those that
are not ours are scikit-learn's, or written out here, so that a fault of ours cannot
weaken them.
"""

import numpy as np
import scipy.sparse as sp

from benchmarks.quality.protocol import Contender

__all__ = ["CONTENDERS", "text_affinity", "text_rows"]

_MIN_DOCUMENTS = 4
_STARTS = 5
_LAMBDA = 0.25


class _TextClusters:
    """``fit_predict`` of counts with the task behind them, by a function."""

    def __init__(self, cluster, seed):
        self.cluster = cluster
        self.seed = seed

    def fit_predict(self, X):
        """A cluster for each row."""
        return self.cluster(*text_rows(X), self.seed)


def text_rows(X):
    """TF-IDF of the terms that enough documents have, and the tasks."""
    from sklearn.feature_extraction.text import TfidfTransformer

    task = X[:, [-1]].toarray().ravel().astype(int)
    counts = sp.csc_array(X[:, :-1])
    common = np.flatnonzero(np.diff(counts.indptr) >= _MIN_DOCUMENTS)
    return sp.csr_array(TfidfTransformer().fit_transform(counts[:, common])), task


def _each_task_alone(cluster):
    def clusters(X, task, seed):
        labels = np.empty(len(task), dtype=int)
        for t in np.unique(task):
            mine = np.flatnonzero(task == t)
            labels[mine] = cluster(X[mine], np.zeros(len(mine), dtype=int), seed)
        return labels

    return clusters


def _ours(options, X, task, seed):
    from kinlearn import with_task
    from kinlearn.cluster import MultiTaskSymmetricNMF

    model = MultiTaskSymmetricNMF(task=-1, random_state=seed, max_iter=2000, **options)
    return model.fit_predict(with_task(X, task))


def _k_means(X, task, seed):
    from sklearn.cluster import KMeans

    return KMeans(2, n_init=10, random_state=seed).fit_predict(X)


def _normalised_cut(X, task, seed):
    from sklearn.cluster import SpectralClustering

    # a document without a common term is joined to all a little, else the graph
    # falls apart and the cut is meaningless
    affinity = (X @ X.T).toarray() + 1e-6
    cut = SpectralClustering(2, affinity="precomputed", random_state=seed)
    return cut.fit_predict(affinity)


def text_affinity(X, task, lambda_inter):
    """The thesis's affinity, divided by the roots of the degrees."""
    E = sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    W = (X @ E.T).toarray()
    W = (W + W.T) * np.where(task[:, None] == task, 1.0, lambda_inter)
    np.fill_diagonal(W, 0)
    degrees = np.maximum(W.sum(axis=1), 1e-12)
    return W / np.sqrt(degrees[:, None] * degrees)


def _multiplicative(W, task, seed, *, penalty):
    """Symmetric NMF by the thesis's updates, the best of several starts."""
    H = np.eye(task.max() + 1)[task]
    best, labels = np.inf, None
    for start in range(_STARTS):
        rng = np.random.default_rng([seed, start])
        V = 2 * np.sqrt(W.mean() / 2) * rng.random((len(W), 2))
        for _ in range(300):
            push, alpha = np.zeros_like(V), 0.0
            WV = W @ V
            if penalty:
                push = (H @ (H.T @ V)) @ np.array([[1.0, -1], [-1, 1]])
                up = push > 0
                alpha = np.min(WV[up] / push[up]) if up.any() else 0.0
            ratio = (WV - alpha * push) / np.maximum(V @ (V.T @ V), 1e-300)
            new = np.maximum(0.5 * V * (1 + ratio), 0)
            done = np.abs(new - V).max() < 1e-5 * V.max()
            V = new
            if done:
                break
        # alpha changes all the time, so starts are compared by the loss alone
        value = np.sum((W - V @ V.T) ** 2)
        if value < best:
            best, labels = value, V.argmax(axis=1)
    return labels


def _plain_nmf(X, task, seed):
    return _multiplicative(text_affinity(X, task, 1.0), task, seed, penalty=False)


def _thesis(X, task, seed):
    return _multiplicative(text_affinity(X, task, _LAMBDA), task, seed, penalty=True)


def _contender(name, cluster, kind="peer", **params):
    def make(problem, seed, **params):
        if params:
            return _TextClusters(lambda X, t, s: cluster(params, X, t, s), seed)
        return _TextClusters(cluster, seed)

    return Contender(name, make, params, kind)


CONTENDERS = (
    _contender("kinlearn", _ours, "ours", n_init=_STARTS),
    _contender("kinlearn, cosine", _ours, "ours", affinity="cosine"),
    _contender(
        "kinlearn, cosine, each task alone",
        _ours,
        "ours",
        affinity="cosine",
        lambda_inter=0.0,
    ),
    _contender("kinlearn, each task alone", _ours, "ours", lambda_inter=0.0),
    _contender("thesis updates, lambda 0.25", _thesis),
    _contender("single-task NMF", _each_task_alone(_plain_nmf)),
    _contender("all-task NMF", _plain_nmf),
    _contender("single-task k-means", _each_task_alone(_k_means)),
    _contender("all-task k-means", _k_means),
    _contender("single-task N-cut", _each_task_alone(_normalised_cut)),
    _contender("all-task N-cut", _normalised_cut),
)
