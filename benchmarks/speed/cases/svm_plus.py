"""SVM+ against scikit-learn's SVC on the same rows, without the privileged columns.

Nothing installable solves SVM+, so the peer does less: a plain machine. Timed by the
processor time of the process, so that other programs on the machine disturb less.
"""

from functools import partial

import numpy as np

from benchmarks.speed.case import Limit, Work, case, cpu_timed

NEEDS = ("kinlearn.svm",)


def _rows(n_rows, n_features=30, n_privileged=10):
    """Classes in clusters, standardised; privileged columns are the last ones."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        n_rows,
        n_features + n_privileged,
        n_informative=15,
        flip_y=0.05,
        class_sep=0.8,
        random_state=0,
    )
    return (X - X.mean(axis=0)) / X.std(axis=0), y, list(range(n_features, X.shape[1]))


def _privileged(n_rows):
    from sklearn.svm import SVC

    from kinlearn.svm import SVMPlusClassifier

    X, y, privileged = _rows(n_rows)
    ours = SVMPlusClassifier(privileged=privileged)
    return Work(
        ours=cpu_timed(partial(ours.fit, X, y)),
        peers={"SVC": cpu_timed(partial(SVC().fit, X[:, :30], y))},
    )


@case("svm-plus-5000", limit=Limit(times_as_long=10), needs=NEEDS, repeats=2)
def privileged_5000():
    """SVM+, 5,000 x 30 and 10 privileged columns, rbf + rbf, against SVC"""
    return _privileged(5_000)


@case("svm-plus-10000", needs=NEEDS, repeats=1)
def privileged_10000():
    """SVM+, 10,000 x 30 and 10 privileged columns, rbf + rbf, against SVC"""
    return _privileged(10_000)


@case("svm-plus-groups-5000", limit=Limit(times_as_long=10), needs=NEEDS, repeats=2)
def groups_5000():
    """SVM+ with 4 groups, 5,000 x 30, rbf + rbf, against SVC"""
    from sklearn.svm import SVC

    from kinlearn.svm import SVMPlusClassifier

    X, y, _ = _rows(5_000)
    grouped = np.column_stack([X[:, :30], np.arange(5_000) % 4])
    return Work(
        ours=cpu_timed(partial(SVMPlusClassifier(group=-1).fit, grouped, y)),
        peers={"SVC": cpu_timed(partial(SVC().fit, X[:, :30], y))},
    )


@case("svm-plus-regression-2500", needs=NEEDS, repeats=2)
def regression_2500():
    """SVM+ regression, 2,500 x 30 and 10 privileged columns, against SVR"""
    from sklearn.svm import SVR

    from kinlearn.svm import SVMPlusRegressor

    X, _, privileged = _rows(2_500)
    y = X[:, 0] + np.sin(2 * X[:, 1]) + 0.3 * X[:, 30]
    return Work(
        ours=cpu_timed(partial(SVMPlusRegressor(privileged=privileged).fit, X, y)),
        peers={"SVR": cpu_timed(partial(SVR().fit, X[:, :30], y))},
    )
