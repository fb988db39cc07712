"""Ways to cluster related collections of texts: ours, and those that people use.

All get counts of terms with the task as the last column, drop terms of few documents,
weigh the rest by TF-IDF, and give a cluster for each row. Those that are not ours are
scikit-learn's, or written out here, so that a fault of ours cannot weaken them. The
thesis's own updates are those of its algorithm 4, which divides nothing by degrees;
*normalised* forms do.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.quality.protocol import Contender

__all__ = ["LAMBDAS", "contenders", "text_affinity", "text_rows"]

_STARTS = 5
LAMBDAS = (0.1, 0.25, 0.5, 1.0)


class _TextClusters:
    """``fit_predict`` of counts with the task behind them, by a function."""

    def __init__(self, cluster, min_documents, seed):
        self.cluster = cluster
        self.min_documents = min_documents
        self.seed = seed

    def fit_predict(self, X):
        """A cluster for each row."""
        return self.cluster(*text_rows(X, self.min_documents), self.seed)


def text_rows(X, min_documents=4):
    """TF-IDF of the terms that enough documents have, and the tasks."""
    from sklearn.feature_extraction.text import TfidfTransformer

    task = X[:, [-1]].toarray().ravel().astype(int)
    counts = sp.csc_array(X[:, :-1])
    common = np.flatnonzero(np.diff(counts.indptr) >= min_documents)
    return sp.csr_array(TfidfTransformer().fit_transform(counts[:, common])), task


def _each_task_alone(cluster):
    def clusters(X, task, seed):
        labels = np.empty(len(task), dtype=int)
        for t in np.unique(task):
            mine = np.flatnonzero(task == t)
            labels[mine] = cluster(X[mine], np.zeros(len(mine), dtype=int), seed)
        return labels

    return clusters


def _ours(X, task, seed, **options):
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


def text_affinity(X, task, lambda_inter, *, normalise=True):
    """The thesis's affinity, divided by the roots of the degrees or as it is."""
    E = sp.csr_array((np.ones_like(X.data), X.indices, X.indptr), shape=X.shape)
    W = (X @ E.T).toarray()
    W = (W + W.T) * np.where(task[:, None] == task, 1.0, lambda_inter)
    np.fill_diagonal(W, 0)
    if not normalise:
        return W
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


def _plain_nmf(X, task, seed, *, normalise=False):
    W = text_affinity(X, task, 1.0, normalise=normalise)
    return _multiplicative(W, task, seed, penalty=False)


def _thesis(X, task, seed, *, weight, normalise=False):
    W = text_affinity(X, task, weight, normalise=normalise)
    return _multiplicative(W, task, seed, penalty=True)


_CLUSTER = {
    "ours": _ours,
    "thesis": _thesis,
    "nmf": _plain_nmf,
    "k-means": _k_means,
    "n-cut": _normalised_cut,
}


def _make(problem, seed, *, method, min_documents, alone=False, **options):
    cluster = partial(_CLUSTER[method], **options)
    if alone:
        cluster = _each_task_alone(cluster)
    return _TextClusters(cluster, min_documents, seed)


def contenders(min_documents):
    """All of them, with the terms of so many documents of a sample.

    Parameters
    ----------
    min_documents : int
        Terms of fewer documents are dropped.

    Returns
    -------
    tuple of Contender
        Ours with nothing set but the task, the seed and ``max_iter``, and changed in
        the affinity or the weight between tasks; then the others.
    """
    ours = {
        "kinlearn": {},
        "kinlearn, each task alone": {"lambda_inter": 0.0},
        "kinlearn, cosine": {"affinity": "cosine"},
        "kinlearn, cosine, each task alone": {
            "affinity": "cosine",
            "lambda_inter": 0.0,
        },
        "kinlearn, lambda 0.25": {"lambda_inter": 0.25},
        "kinlearn, lambda 0.5": {"lambda_inter": 0.5},
    }
    others = {
        f"thesis updates, lambda {weight:g}": {"method": "thesis", "weight": weight}
        for weight in LAMBDAS
    } | {
        "thesis updates, lambda 0.25, normalised": {
            "method": "thesis",
            "weight": 0.25,
            "normalise": True,
        },
        "single-task NMF": {"method": "nmf", "alone": True},
        "single-task NMF, normalised": {
            "method": "nmf",
            "alone": True,
            "normalise": True,
        },
        "all-task NMF": {"method": "nmf"},
        "single-task k-means": {"method": "k-means", "alone": True},
        "all-task k-means": {"method": "k-means"},
        "single-task N-cut": {"method": "n-cut", "alone": True},
        "all-task N-cut": {"method": "n-cut"},
    }
    fixed = {"min_documents": min_documents}
    return (
        *(
            Contender(name, _make, fixed | {"method": "ours"} | options, kind="ours")
            for name, options in ours.items()
        ),
        *(Contender(name, _make, fixed | options) for name, options in others.items()),
    )
