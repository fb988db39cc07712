"""Transfer by boosting: 30 rounds against 30 bare tree fits, and against adapt.

One thread each, timed by the processor time of the process, so that other programs
on the machine disturb the figures less.
"""

from functools import partial

import numpy as np
import scipy.sparse as sp

from benchmarks.problems import load
from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.transfer",)
ROUNDS = 30


def _texts(n_target):
    """2,300 source rows and some of the target, 500 features, a tenth not zero."""
    n = 2_300 + n_target
    problem = load(
        "sparse-classification", n_rows=n, n_features=500, n_tasks=2, density=0.15
    )
    features = sp.csr_array(problem.X[:, :-1])
    task = (np.arange(n) >= 2_300).astype(float)
    return features, task, problem.y


def _packed(features, task):
    return sp.csr_array(sp.hstack([features, sp.csr_array(task[:, None])]))


def _bare_fits(estimator, X, y):
    """What 30 fits cost without any boosting: weights as in the rounds."""
    from sklearn.base import clone

    for seed in range(ROUNDS):
        weight = np.random.default_rng(seed).random(len(y))
        clone(estimator).fit(X, y, sample_weight=weight)


def _adapt(X, task, y):
    from adapt.instance_based import TrAdaBoost
    from sklearn.tree import DecisionTreeClassifier

    source, target = task == 0, task == 1
    TrAdaBoost(
        DecisionTreeClassifier(random_state=0),
        n_estimators=ROUNDS,
        Xt=X[target],
        yt=y[target],
        random_state=0,
        verbose=0,
    ).fit(X[source], y[source])


def _texts_work(n_target, *, trim, adapt=False):
    from sklearn.tree import DecisionTreeClassifier

    from kinlearn.transfer import TrAdaBoostClassifier

    features, task, y = _texts(n_target)
    model = TrAdaBoostClassifier(task=-1, target=1, n_estimators=ROUNDS, trim=trim)
    dense = features.toarray()
    tree = DecisionTreeClassifier(random_state=0)
    peers = {"30 bare fits": cpu_timed(partial(_bare_fits, tree, dense, y))}
    if adapt:
        peers = {"adapt": cpu_timed(partial(_adapt, dense, task, y))}
    return Work(
        ours=cpu_timed(partial(model.fit, _packed(features, task), y)), peers=peers
    )


@case(
    "transfer-texts",
    limit=Limit(times_faster=3),
    needs=NEEDS,
    sizes=(12, 230),
    repeats=2,
)
def texts(n_target):
    """TrAdaBoost, full trees, against 30 bare fits, by number of target rows."""
    return _texts_work(n_target, trim=False)


@case("transfer-texts-trimmed", limit=Limit(times_faster=3), needs=NEEDS, repeats=2)
def texts_trimmed():
    """TrAdaBoost with its default, trimmed trees against 30 bare full fits."""
    return _texts_work(230, trim=True)


@case(
    "transfer-adapt",
    limit=Limit(times_faster=3),
    needs=(*NEEDS, "adapt", "tensorflow"),
    repeats=2,
)
def texts_adapt():
    """TrAdaBoost, full trees, against adapt's over scikit-learn's trees."""
    return _texts_work(230, trim=False, adapt=True)


@case("transfer-overhead", limit=Limit(times_as_long=1.05), needs=NEEDS, repeats=3)
def overhead():
    """TrAdaBoost over scikit-learn's trees against the bare fits of the same rounds."""
    from sklearn.base import clone
    from sklearn.tree import DecisionTreeClassifier

    from kinlearn.transfer import TrAdaBoostClassifier

    features, task, y = _texts(230)
    dense = features.toarray().astype(np.float32)
    tree = DecisionTreeClassifier(random_state=0)
    seen = []

    class Recorder(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            seen.append(np.array(sample_weight))
            return super().fit(X, y, sample_weight=sample_weight)

    X = np.column_stack([dense, task.astype(np.float32)])
    model = TrAdaBoostClassifier(tree, task=-1, target=1, n_estimators=ROUNDS)
    clone(model).set_params(estimator=Recorder(random_state=0)).fit(X, y)

    def bare():
        for weight in seen:
            clone(tree).fit(dense, y, sample_weight=weight)

    return Work(
        ours=cpu_timed(partial(model.fit, X, y)), peers={"bare fits": cpu_timed(bare)}
    )


@case("transfer-million", limit=Limit(seconds=300), needs=NEEDS, repeats=1)
def million():
    """TrAdaBoost on 1,000,000 source rows x 50 and 1,000 target rows, 30 rounds."""
    from kinlearn.transfer import TrAdaBoostClassifier

    n = 1_001_000
    problem = load("dense-classification", n_rows=n, n_features=50, n_tasks=2)
    X = np.array(problem.X)
    X[:, -1] = np.arange(n) >= 1_000_000
    model = TrAdaBoostClassifier(task=-1, target=1, n_estimators=ROUNDS)
    return Work(ours=cpu_timed(partial(model.fit, X, problem.y)))
