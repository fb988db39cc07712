"""Problems and contenders of the MTBoost protocols (Zhang and Yeung 2012).

`benchmarks.quality.protocols.mtboost` quotes the paper. In a search boosters make one
fit in each of their 100 rounds, to be done in time, and go from a penalty of 0.1 to
neighbours for as long as these are better; the model that is scored makes up to ten
fits. (A search over fewer rounds would favour small penalties, which learn faster and
fit too closely in the end.)
"""

from functools import cache, partial

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality.protocol import Contender, Metric

__all__ = [
    "AUTO",
    "CONTENDERS",
    "FIXED",
    "PRINTED",
    "WIDE",
    "error_metrics",
    "fraction_of_each_class",
    "lowest_nearby",
]

PENALTIES = (0.01, 0.1, 1.0, 10.0, 100.0)
FIRST = 1  # where the search begins: 0.1
IN_SEARCH = {"n_inner": 1}
FOLDS = 5
# the printed form: outputs of -1 and 1, one intercept, rounds that begin at random
PRINTED = {"output": "sign", "task_levels": False, "start": "random"}

# ------------------------------------------------------------------ the problems


@problem("mtboost:sentiment")
def sentiment():
    """Counts of 115,700 words and pairs of words, 2,000 reviews of each domain."""
    data = kinlearn.datasets.fetch_sentiment("bigrams")
    return "classification", sp.csr_array(data.data), data.target


@problem("mtboost:letters")
def letters():
    """Seven pairs of letters, 2,000 rows of each pair whatever the letter."""
    data = kinlearn.datasets.fetch_ocr_letters(
        tasks="published", n_samples_per_task=2_000, random_state=0
    )
    return "classification", data.data, data.target


@problem("mtboost:letters-balanced")
def balanced_letters():
    """Seven pairs of letters, 1,000 rows of each letter (921 of f, 861 of h)."""
    data = kinlearn.datasets.fetch_ocr_letters(tasks="published")
    X, y = data.data, data.target
    rng = np.random.default_rng(0)
    kept = [
        rng.permutation(np.flatnonzero((X[:, -1] == t) & (y == c)))[:1_000]
        for t in range(len(data.task_names))
        for c in (1, 0)
    ]
    rows = np.sort(np.concatenate(kept))
    return "classification", X[rows], y[rows]


@problem("mtboost:usps")
def usps():
    """Nine pairs of digits among the 7,291 training images."""
    data = kinlearn.datasets.fetch_usps(subset="train", tasks="published")
    return "classification", data.data, data.target


def fraction_of_each_class(problem, number, fraction=0.2):
    """A fraction of the rows of each task and class trains.

    Parameters
    ----------
    problem : Problem
        What to divide.
    number : int
        Number of the split, which seeds it.
    fraction : float, default=0.2
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
            train.append(rng.permutation(rows)[: round(fraction * len(rows))])
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
        folds = list(folds.split(task, 2 * task + y))

        @cache
        def error(number):
            found = 0.0
            for train, test in folds:
                model = self.make(PENALTIES[number], False).fit(X[train], y[train])
                found += _error(y[test], model.predict(X[test]), task[test])
            return found

        best = lowest_nearby(error, FIRST, len(PENALTIES))
        return self.make(PENALTIES[best], True).fit(X, y)


def lowest_nearby(value, first, n_values):
    """Go from one number to the lower neighbour until both are higher.

    Parameters
    ----------
    value : callable
        Of a number; asked again for the same numbers.
    first : int
        Where to begin.
    n_values : int
        Numbers are below it.

    Returns
    -------
    int
        A number whose neighbours are not lower.
    """
    here = first
    while True:
        near = [n for n in (here - 1, here, here + 1) if 0 <= n < n_values]
        best = min(near, key=lambda n: (value(n), n != here))
        if best == here:
            return here
        here = best


def _shared(booster):
    return booster.set_params(task=-1)


def _alone(booster):
    from kinlearn.sharing import PerTask

    return PerTask(booster, task=-1)


def _pooled(booster):
    from kinlearn.sharing import Pooled

    return Pooled(booster, task=-1)


_FORMS = {"shared": _shared, "alone": _alone, "pooled": _pooled}


def booster(problem, seed, *, form, search, **params):
    """Our booster over all tasks, for each task alone (AnyBoost), or blind to tasks.

    With a search for the penalty, or with the default one.
    """
    from kinlearn.boosting import MTBoostClassifier

    plain = MTBoostClassifier(random_state=seed, **params)
    if not search:
        return _FORMS[form](plain)

    def make(penalty, final):
        rounds = {} if final else IN_SEARCH
        return _FORMS[form](clone(plain).set_params(sharing_penalty=penalty, **rounds))

    return Search(make, seed)


class MTRL:
    """Linear multi-task relationship learning (Zhang and Yeung 2010), squared loss.

    `MultiTaskLinearRegressor` of labels -1 and 1, with both terms of the penalty.

    Parameters
    ----------
    penalty : float
        In units of the rows' mean squared norm.
    """

    def __init__(self, penalty):
        self.penalty = penalty

    def fit(self, X, y):
        """Fit; X has the task as its last column."""
        from kinlearn.linear import MultiTaskLinearRegressor

        features = X[:, :-1].astype(np.float64)
        square = features.multiply(features) if sp.issparse(X) else features**2
        n_tasks = int(X[:, [-1]].max()) + 1
        # the paper sums over rows, the regressor takes the mean of each task
        alpha = self.penalty * square.sum() / len(y) * n_tasks / len(y)
        self.model = MultiTaskLinearRegressor(
            "covariance", float(alpha), ridge=1.0, scale=False, task=-1
        ).fit(X, 2.0 * y - 1)
        return self

    def predict(self, X):
        """Classes."""
        return (self.model.predict(X) > 0).astype(np.int64)


def mtrl(problem, seed):
    """MTRL, which learns the same kind of covariance without boosting."""
    return Search(lambda penalty, final: MTRL(penalty), seed)


def logistic(problem, seed, *, form):
    """Logistic regression with its defaults, each task alone or blind to tasks."""
    from sklearn.linear_model import LogisticRegression

    return _FORMS[form](LogisticRegression(max_iter=1000))


def _booster(name, form, search=False, kind="ours", **params):
    params = {"form": form, "search": search, **params}
    return Contender(name, booster, params, kind=kind)


def _printed(ridge, search=True):
    params = {**PRINTED, "base_penalty": ridge}
    what = f"printed form, ridge {ridge:g}"
    return (
        _booster(f"MTBoost, {what}", "shared", search, **params),
        _booster(f"alone, {what}", "alone", kind="peer", **params),
    )


_DEFAULTS = (
    _booster("MTBoost, defaults", "shared"),
    _booster("alone, defaults", "alone", kind="peer"),
    _booster("pooled, defaults", "pooled", kind="peer"),
    Contender("MTRL", mtrl),
    Contender("logistic, alone", logistic, {"form": "alone"}),
    Contender("logistic, pooled", logistic, {"form": "pooled"}),
)
CONTENDERS = (*_printed(1e-3), *_printed(10.0), *_DEFAULTS)
# wide rows: a search would take minutes
WIDE = (*_printed(1e-3, search=False), *_DEFAULTS)
AUTO = (
    _booster("MTBoost, auto", "shared", penalties="auto"),
    _booster("alone, auto", "alone", kind="peer", penalties="auto"),
)
FIXED = (
    *(
        _booster(
            f"MTBoost, printed form, penalty {penalty:g}",
            "shared",
            base_penalty=1e-3,
            sharing_penalty=penalty,
            **PRINTED,
        )
        for penalty in PENALTIES
    ),
    _booster(
        "MTBoost, printed form and step",
        "shared",
        True,
        base_penalty=1e-3,
        step="paper",
        **PRINTED,
    ),
)
