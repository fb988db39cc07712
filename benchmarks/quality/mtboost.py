"""Problems and contenders of the MTBoost protocols (Zhang and Yeung 2012).

The penalty is chosen by 5-fold cross-validation among 0.01 to 100 for everybody, and
stays at the default of 1 for those who say so. The search of the boosters makes one fit
in each of the 100 rounds, to be done in time; the model that is scored makes up to 10.
(A search over fewer rounds would favour small penalties, which learn faster and fit too
closely in the end.)
"""

from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.linalg import solve

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality.protocol import Contender, Metric

__all__ = ["CONTENDERS", "error_metrics", "share_of_each_class"]

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
FINAL = {"n_estimators": 100, "n_inner": 10}
IN_SEARCH = {"n_estimators": 100, "n_inner": 1}
FOLDS = 5

# ------------------------------------------------------------------ the problems


@problem("mtboost:sentiment")
def sentiment():
    """Counts of 115,700 words and pairs of words, 2,000 reviews of each domain."""
    data = kinlearn.datasets.fetch_sentiment("bigrams")
    return "classification", sp.csr_array(data.data), data.target


@problem("mtboost:letters")
def letters():
    """Seven pairs of letters, 2,000 of each, as many as the paper had."""
    data = kinlearn.datasets.fetch_ocr_letters(
        tasks="published", n_samples_per_task=2_000, random_state=0
    )
    return "classification", data.data, data.target


@problem("mtboost:usps")
def usps():
    """Nine pairs of digits among the 7,291 training images."""
    data = kinlearn.datasets.fetch_usps(subset="train", tasks="published")
    return "classification", data.data, data.target


def share_of_each_class(problem, number, share=0.2):
    """A share of the rows of each task and class trains.

    Parameters
    ----------
    problem : Problem
        What to divide.
    number : int
        Number of the split, which seeds it.
    share : float, default=0.2
        Rounded to whole rows.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    # not the draws on which the defaults of the booster were chosen
    rng = np.random.default_rng(100 + number)
    train = []
    for t in np.unique(problem.task):
        for c in np.unique(problem.y):
            rows = np.flatnonzero((problem.task == t) & (problem.y == c))
            train.append(rng.permutation(rows)[: round(share * len(rows))])
    train = np.sort(np.concatenate(train))
    return train, np.setdiff1d(np.arange(len(problem.y)), train)


def _error(y, prediction, task, one=None):
    if one is not None:
        return np.mean(prediction[task == one] != y[task == one])
    return np.mean([_error(y, prediction, task, t) for t in np.unique(task)])


def error_metrics(names):
    """The mean error of tasks, and the error of each.

    Parameters
    ----------
    names : sequence of str
        What the tasks are called.

    Returns
    -------
    tuple of Metric
        The mean first.
    """
    options = {"greater_is_better": False}
    mean = Metric("error", "error, mean of tasks", _error, **options)
    return mean, *(
        Metric(name, name, partial(_error, one=t), **options)
        for t, name in enumerate(names)
    )


# ---------------------------------------------------------------- the contenders


class Search:
    """A model with the penalty that is best in cross-validation.

    `fit` gives the fitted model back, which is what predicts.

    Parameters
    ----------
    make : callable
        ``make(penalty, final)`` gives an estimator.
    seed : int
        Deals the folds.
    """

    def __init__(self, make, seed):
        self.make = make
        self.seed = seed

    def fit(self, X, y):
        """Search, then fit all rows."""
        from sklearn.model_selection import StratifiedKFold

        column = X[:, [-1]]
        task = (column.toarray() if sp.issparse(X) else column).ravel()
        folds = StratifiedKFold(FOLDS, shuffle=True, random_state=self.seed)
        errors = np.zeros(len(PENALTIES))
        for train, test in folds.split(task, 2 * task + y):
            for k, penalty in enumerate(PENALTIES):
                model = self.make(penalty, False).fit(X[train], y[train])
                errors[k] += _error(y[test], model.predict(X[test]), task[test])
        best = PENALTIES[int(np.argmin(errors))]
        model = self.make(best, True).fit(X, y)
        model.penalty_of_search_ = best
        return model


def _booster(penalty, final, seed, params, task=-1):
    from kinlearn.boosting import MTBoostClassifier

    return MTBoostClassifier(
        task=task,
        sharing_penalty=penalty,
        random_state=seed,
        **(FINAL if final else IN_SEARCH),
        **params,
    )


def _shared(penalty, final, seed, params):
    return _booster(penalty, final, seed, params)


def _alone(penalty, final, seed, params):
    from kinlearn.sharing import PerTask

    return PerTask(_booster(penalty, final, seed, params, task=None), task=-1)


def _pooled(penalty, final, seed, params):
    from kinlearn.sharing import Pooled

    return Pooled(_booster(penalty, final, seed, params, task=None), task=-1)


_FORMS = {"shared": _shared, "alone": _alone, "pooled": _pooled}


def booster(problem, seed, *, form, search, **params):
    """Our booster over all tasks, for each task alone (AnyBoost), or blind to tasks.

    With a search for the penalty, or with the default one.
    """
    make = _FORMS[form]
    if not search:
        return make(1.0, True, seed, params)
    return Search(lambda penalty, final: make(penalty, final, seed, params), seed)


class MTRL:
    """Linear multi-task relationship learning (Zhang and Yeung 2010), squared loss.

    Minimises the sum of squared errors and of ``penalty (tr WW' + tr W Omega^-1 W')``
    over coefficients W, a column for each task, with an intercept each, and the
    covariance Omega of trace 1, in turn.

    Parameters
    ----------
    penalty : float
        In units of the rows' mean squared norm.
    n_iter : int, default=3
        How often coefficients and covariance are found in turn.
    """

    def __init__(self, penalty, n_iter=3):
        self.penalty = penalty
        self.n_iter = n_iter

    def fit(self, X, y):
        """Fit; X has the task as its last column."""
        self.X, task = self._parts(X)
        m = task.max() + 1
        K = self.X @ self.X.T
        K = K.toarray() if sp.issparse(K) else K
        self.scale = np.trace(K) / len(K)
        K = K / self.scale
        one = np.eye(m)[task]
        omega = np.eye(m) / m
        for _ in range(self.n_iter):
            G = np.linalg.inv(np.eye(m) + np.linalg.inv(omega)) / self.penalty
            A = K * G[np.ix_(task, task)] + np.eye(len(K))
            right = np.column_stack([2.0 * y - 1, one])
            solved = solve(A, right, assume_a="pos", check_finite=False)
            self.intercept = np.linalg.solve(
                one.T @ solved[:, 1:], one.T @ solved[:, 0]
            )
            alpha = solved[:, 0] - solved[:, 1:] @ self.intercept
            self.alpha = (one * alpha[:, None]) @ G  # coefficients are X' alpha
            values, vectors = np.linalg.eigh(
                self.alpha.T @ K @ self.alpha + 1e-8 * np.eye(m)
            )
            root = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
            omega = root / np.trace(root)
        self.coef = self.X.T @ self.alpha / self.scale
        self.task_covariance_ = omega
        return self

    @staticmethod
    def _parts(X):
        task = X[:, [-1]]
        task = task.toarray() if sp.issparse(X) else task
        return X[:, :-1].astype(np.float64), np.asarray(task).ravel().astype(int)

    def predict(self, X):
        """Classes."""
        X, task = self._parts(X)
        scores = (X @ self.coef)[np.arange(len(task)), task] + self.intercept[task]
        return (scores > 0).astype(np.int64)


def mtrl(problem, seed):
    """MTRL, which learns the same kind of covariance without boosting."""
    return Search(lambda penalty, final: MTRL(penalty), seed)


def _boosters(form, name, kind):
    return (
        Contender(name, booster, {"form": form, "search": True}, kind=kind),
        Contender(
            f"{name}, penalty 1", booster, {"form": form, "search": False}, kind=kind
        ),
    )


CONTENDERS = (
    *_boosters("shared", "kinlearn MTBoost", "ours"),
    Contender(
        "kinlearn MTBoost, signs",
        booster,
        {"form": "shared", "search": True, "output": "sign"},
        kind="ours",
    ),
    *_boosters("alone", "AnyBoost, each task alone", "peer"),
    *_boosters("pooled", "AnyBoost, pooled", "peer"),
    Contender("MTRL, linear", mtrl),
)
