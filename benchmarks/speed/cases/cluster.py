"""Multi-task symmetric NMF against scikit-learn's spectral clustering.

Both get the same precomputed affinity, and we make one start. From texts as they
are, the affinity is never made; that has no peer.
"""

from functools import partial

import numpy as np

from benchmarks.problems import load
from benchmarks.speed.case import Limit, Work, case

NEEDS = ("kinlearn.cluster",)


def _documents(n_rows, n_terms=3_000, length=60):
    return load(
        "sparse-classification",
        n_rows=n_rows,
        n_features=n_terms,
        n_tasks=4,
        density=length / n_terms,
    )


def _model(affinity, **options):
    from kinlearn.cluster import MultiTaskSymmetricNMF

    return MultiTaskSymmetricNMF(
        task=-1, affinity=affinity, n_init=1, random_state=0, **options
    )


def _same_affinity(n_rows):
    """One start of ours, and the peer, on the thesis's affinity of texts."""
    from sklearn.cluster import SpectralClustering

    import kinlearn

    problem = _documents(n_rows)
    X = problem.X[:, :-1]
    E = X.copy()
    E.data = np.ones_like(E.data)
    A = (X @ E.T).toarray()
    A += A.T
    np.fill_diagonal(A, 0)
    packed = kinlearn.with_task(A, problem.task)
    peer = SpectralClustering(2, affinity="precomputed", random_state=0)
    return Work(
        ours=partial(_model("precomputed").fit, packed),
        peers={"SpectralClustering": partial(peer.fit, A)},
    )


@case("cluster-640", limit=Limit(times_as_long=3), needs=NEEDS)
def precomputed_640():
    """One start on a precomputed affinity of 640 rows, against spectral clustering"""
    return _same_affinity(640)


@case("cluster-5000", limit=Limit(times_as_long=1), needs=NEEDS, repeats=2)
def precomputed_5000():
    """One start on a precomputed affinity of 5,000 rows, against spectral clustering"""
    return _same_affinity(5_000)


@case("cluster-texts-640", needs=NEEDS)
def texts_640():
    """One start from 640 x 3,000 sparse counts, no affinity matrix, no peer"""
    return Work(ours=partial(_model("shared").fit, _documents(640).X))


@case(
    "cluster-texts-20000",
    limit=Limit(seconds=180, gibibytes=4),
    needs=NEEDS,
    repeats=1,
    memory=True,
)
def texts_20000():
    """Affinity and 5 starts from 20,000 x 20,000 sparse counts of 100 terms, 4 tasks"""
    problem = _documents(20_000, n_terms=20_000, length=100)
    model = _model("shared").set_params(n_init=5)
    return Work(ours=partial(model.fit, problem.X), data_bytes=problem.n_bytes)


@case("cluster-stored", needs=NEEDS, repeats=1, memory=True)
def stored_affinity():
    """The affinity of 8,000 x 20,000 sparse counts as a matrix; memory in its units"""
    from kinlearn.cluster._affinity import explicit_affinity

    problem = _documents(8_000, n_terms=20_000, length=100)
    X, task = problem.X[:, :-1].tocsr(), problem.task.astype(np.int32)
    lambdas = np.where(np.eye(4) > 0, 1.0, 0.1)
    make = partial(explicit_affinity, X, "shared", 1.0, task, lambdas)
    W = make()
    size = W.data.nbytes + W.indices.nbytes + W.indptr.nbytes
    return Work(ours=make, data_bytes=size)


@case(
    "cluster-growth",
    needs=NEEDS,
    sizes=(1_250, 2_500, 5_000, 10_000, 20_000),
    repeats=2,
)
def texts_growing(n_rows):
    """One start from sparse counts of 60 terms, 4 tasks, by number of rows"""
    return Work(ours=partial(_model("shared").fit, _documents(n_rows).X))
