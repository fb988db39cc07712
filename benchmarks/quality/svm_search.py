"""Contenders of the support vector protocols: what is searched, by which rows.

Plain machines are scikit-learn's, of all rows or one for each task; SVM+MTL, rMTL and
SVM+ are ours, and tuned in two stages, as in the thesis: C, epsilon and the kernel as
for one plain machine of all rows, then the penalty and the kernel of the corrections
(rMTL: the penalty alone). The controls are linear models of scikit-learn, a constant
for each task, and plain machines that try as many candidates as SVM+MTL does.

Candidates are scored by folds of the training rows, or by validation rows; of the best
ones the first wins, with small costs and wide kernels in front. A candidate is given up
as soon as its errors so far are those of the best one, which changes no result.
"""

from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

import kinlearn
from benchmarks.quality.protocol import Contender
from benchmarks.quality.svm import every_nth, strata, weighted

__all__ = ["FORMS", "GRIDS", "contender", "fixed"]

_COSTS = (0.1, 1.0, 10.0, 100.0)
_TUBES = (0.3, 0.1, 0.02)  # times the deviation of y
# penalties (the thesis's gamma) and widths of kernels (its sigma)
GRIDS = {
    "real": ((10, 1, 0.1, 0.01, 0.001), (4, 3, 1, 0.5, 0.25)),  # 5.1 to 5.3
    "made": ((100, 10, 1, 0.1, 0.01), (8, 6, 4, 1, 0.5, 0.25)),  # 5.4 to 5.6
    "chapter 6": ((10, 1, 0.1), (2, 1, 0.5)),  # with C = 0.1, 1, 10
    "standardised": ((100, 10, 1, 0.1, 0.01), ()),  # a variant of ours
}
_WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0)  # times 1 / (number of features * variance)


@dataclass(frozen=True)
class Plan:
    """What a contender is given to fit, and how it searches."""

    kind: str
    kernel: str = "linear"
    correction: str = "rbf"
    grid: str = "real"
    costs: tuple[float, float] | None = None
    effort: bool = False
    indicators: bool = False
    n_folds: int = 5
    validation: int = 0
    ordered: bool = False

    @property
    def weights(self):
        """Class weights for the costs, as a keyword of classifiers."""
        if self.kind == "regression" or self.costs is None:
            return {}
        return {"class_weight": dict(enumerate(self.costs))}

    def loss(self, y, prediction):
        """What the search makes small, at least 0."""
        if self.kind == "regression":
            return np.mean((y - prediction) ** 2)
        return weighted(y, prediction, *(self.costs or (1, 1)))

    def folds(self, Z, task, y):
        """Rows to fit and rows to score by; folds whose training rows have all classes.

        Validation rows are the last ones of each task.
        """
        if self.validation:
            last = np.zeros(len(y), dtype=bool)
            for t in np.unique(task):
                last[np.flatnonzero(task == t)[-self.validation :]] = True
            return [(np.flatnonzero(~last), np.flatnonzero(last))]
        order = (
            np.argsort(Z[:, 0], kind="stable") if self.ordered else np.arange(len(y))
        )
        cells = np.zeros(len(y), int) if self.ordered else strata(self.kind, task, y)
        splits = [
            (order[a], order[b]) for a, b in every_nth(cells[order], self.n_folds)
        ]
        if self.kind == "classification":
            splits = [s for s in splits if len(np.unique(y[s[0]])) == 2]
        return splits

    def gammas(self, Z):
        """Exponents of the kernels, the widest first: 1 / (2 sigma squared)."""
        widths = GRIDS[self.grid][1]
        if not widths:
            return [width / (Z.shape[1] * Z.var()) for width in _WIDTHS]
        return [1 / (2 * width**2) for width in widths]

    def plain(self, Z, y):
        """Candidates of a plain machine, as many as SVM+MTL has if effort says so."""
        grid = {"C": _COSTS[:3] if self.grid == "chapter 6" else _COSTS}
        if self.kind == "regression":
            mean, deviation = y.mean(), y.std()
            C = max(abs(mean + 3 * deviation), abs(mean - 3 * deviation))
            grid = {"C": (C,), "epsilon": [tube * deviation for tube in _TUBES]}
        if self.kernel == "rbf":
            grid["gamma"] = self.gammas(Z)
        if self.effort:
            others = np.prod([len(v) for k, v in grid.items() if k != "C"], dtype=int)
            wanted = others * len(grid["C"]) + len(self.corrections(Z))
            n = -(-wanted // others)  # at least as many
            ends = (0.01, 100) if self.kind == "classification" else (C / 100, 10 * C)
            grid["C"] = np.geomspace(*ends, n)
        return _all_of(grid)

    def corrections(self, Z):
        """Candidates of the second stage."""
        grid = {"correction_penalty": GRIDS[self.grid][0]}
        if self.correction == "rbf":
            grid["correction_gamma"] = self.gammas(Z)
        return _all_of(grid)


def _all_of(grid):
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _search(plan, build, candidates, X, y, folds):
    """The best candidate, and its model of the rows that are there to be fitted."""
    best, least = candidates[0], np.inf
    for params in candidates if len(candidates) > 1 else ():
        total = 0.0
        for train, valid in folds:
            model = build(**params).fit(X[train], y[train])
            total += plan.loss(y[valid], model.predict(X[valid]))
            if total >= least:
                break
        else:
            best, least = params, total
    rows = folds[0][0] if plan.validation else slice(None)
    return best, build(**best).fit(X[rows], y[rows])


# --------------------------------------------------------------------- the forms


def _plain_machine(plan):
    from sklearn.svm import SVC, SVR

    machine = SVC if plan.kind == "classification" else SVR
    return partial(machine, kernel=plan.kernel, **plan.weights)


def _plain(plan, Z, task, y):
    folds = plan.folds(Z, task, y)
    return _search(plan, _plain_machine(plan), plan.plain(Z, y), Z, y, folds)


def _one(plan, Z, task, y):
    """One machine of all rows."""
    _, model = _plain(plan, Z, task, y)
    return lambda Z, task: model.predict(Z)


def _each(plan, Z, task, y):
    """A machine for each task, with parameters of its own."""
    models = {}
    for t in np.unique(task):
        rows = task == t
        if len(np.unique(y[rows])) > 1:
            models[t] = _plain(plan, Z[rows], task[rows], y[rows])[1].predict
        else:  # of one class
            models[t] = lambda Z, only=y[rows][0]: np.full(len(Z), only)

    def predict(Z, task):
        out = np.empty(len(Z), dtype=y.dtype)
        for t, model in models.items():
            if np.any(task == t):
                out[task == t] = model(Z[task == t])
        return out

    return predict


def _linear(plan, Z, task, y):
    """Logistic or ridge regression of all rows."""
    from sklearn.linear_model import LogisticRegression, Ridge

    folds = plan.folds(Z, task, y)
    if plan.kind == "regression":
        candidates = _all_of({"alpha": np.geomspace(1e3, 1e-4, 40)})
        _, model = _search(plan, Ridge, candidates, Z, y, folds)
    else:
        build = partial(LogisticRegression, max_iter=1000, **plan.weights)
        candidates = _all_of({"C": np.geomspace(1e-2, 1e3, 30)})
        _, model = _search(plan, build, candidates, Z, y, folds)
    return lambda Z, task: model.predict(Z)


def _two_stages(machine, plan, Z, task, y):
    """A machine with corrections, after the plain one."""
    folds = plan.folds(Z, task, y)
    machine = partial(
        machine,
        kernel=plan.kernel,
        correction_kernel=plan.correction,
        **plan.weights,
    )
    candidates = plan.corrections(Z)
    if plan.grid == "chapter 6":  # all three at once
        plain = plan.plain(Z, y)
        candidates = [{**a, **b} for a, b in product(plain, candidates)]
    else:
        machine = partial(machine, **_plain(plan, Z, task, y)[0])
    X = kinlearn.with_task(Z, task)
    _, best = _search(plan, machine, candidates, X, y, folds)
    return lambda Z, task: best.predict(kinlearn.with_task(Z, task))


def _multi_task(plan, **options):
    """Our machine of several tasks."""
    from kinlearn.svm import MultiTaskSVC, MultiTaskSVR

    machine = MultiTaskSVC if plan.kind == "classification" else MultiTaskSVR
    return partial(machine, task=-1, **options)


def _mtl(plan, Z, task, y):
    """SVM+MTL."""
    return _two_stages(_multi_task(plan), plan, Z, task, y)


def _plus(plan, Z, task, y):
    """SVM+ with groups: one machine, which does not know them in prediction."""
    from kinlearn.svm import SVMPlusClassifier, SVMPlusRegressor

    machine = SVMPlusClassifier if plan.kind == "classification" else SVMPlusRegressor
    return _two_stages(partial(machine, group=-1), plan, Z, task, y)


def _rmtl(plan, Z, task, y):
    """rMTL: one space, no biases; its plain machine has a bias all the same."""
    best, _ = _plain(plan, Z, task, y)
    build = _multi_task(
        plan, fit_intercept=False, kernel=plan.kernel, **best, **plan.weights
    )
    candidates = _all_of({"correction_penalty": GRIDS[plan.grid][0]})
    folds = plan.folds(Z, task, y)
    _, model = _search(plan, build, candidates, kinlearn.with_task(Z, task), y, folds)
    return lambda Z, task: model.predict(kinlearn.with_task(Z, task))


FORMS = {
    "one": _one,
    "each": _each,
    "linear": _linear,
    "mtl": _mtl,
    "rmtl": _rmtl,
    "plus": _plus,
}


class Machine:
    """Scale, tune and predict, for X with the task as its last column."""

    def __init__(self, plan, form, scale, hide_group):
        self.plan = plan
        self.form = form
        self.scale = scale
        self.end = -2 if hide_group else -1

    def fit(self, X, y):
        """Tune on these rows, and fit to those that do not validate."""
        from sklearn.preprocessing import (
            FunctionTransformer,
            MinMaxScaler,
            StandardScaler,
        )

        scalers = {"unit": MinMaxScaler, "standard": StandardScaler}
        self.scaler = scalers.get(self.scale, FunctionTransformer)()
        task = X[:, -1].astype(int)
        self.tasks = np.unique(task)
        self.scaler.fit(X[:, : self.end])
        self._predict = FORMS[self.form](self.plan, self._features(X), task, y)
        return self

    def _features(self, X):
        Z = self.scaler.transform(X[:, : self.end])
        if not self.plan.indicators:
            return Z
        return np.column_stack([Z, X[:, [-1]] == self.tasks])

    def predict(self, X):
        """Labels or numbers."""
        return self._predict(self._features(X), X[:, -1].astype(int))


def _make(problem, seed, *, form, scale="unit", hide_group=False, costs=None, **plan):
    costs = None if costs is None else tuple(costs)
    return Machine(Plan(problem.kind, costs=costs, **plan), form, scale, hide_group)


def contender(name, form, kernel="linear", **params):
    """A contender of one of the `FORMS`.

    Parameters
    ----------
    name : str
        What it is called in tables.
    form : {"one", "each", "linear", "mtl", "rmtl", "plus"}
        How rows of different tasks are used.
    kernel : {"linear", "rbf"}, default="linear"
        Of the decision.
    **params
        ``scale`` ("unit", to [0, 1] by the training rows, if not given; "standard" or
        "none"), ``hide_group`` to drop the last feature, and the fields of `Plan`:
        ``correction``, ``grid``, ``costs`` of a false positive and a false negative,
        ``effort`` for as many candidates as SVM+MTL, ``indicators`` of the tasks among
        the features, ``n_folds``, ``validation`` rows of each task, ``ordered`` for
        folds by the first feature.

    Returns
    -------
    Contender
        Ours or a peer, by its form.
    """
    return Contender(
        name,
        _make,
        {"form": form, "kernel": kernel, **params},
        kind="ours" if form in ("mtl", "rmtl", "plus") else "peer",
        needs=("kinlearn.svm",) if form == "plus" else (),
    )


def _fixed(problem, seed, *, penalty, sigma, halved):
    """SVM+MTL for numbers with the printed C, gamma, sigma and epsilon."""
    from kinlearn.svm import MultiTaskSVR

    return MultiTaskSVR(
        C=1.0,
        epsilon=1e-4,
        kernel="linear",
        correction_kernel="rbf",
        correction_gamma=1 / ((2 if halved else 1) * sigma**2),
        correction_penalty=penalty,
        task=-1,
    )


def fixed(penalty, sigma):
    """Two contenders: the kernel's exponent divided by 2 sigma squared, and by one."""
    params = {"penalty": penalty, "sigma": sigma}
    return (
        Contender("kinlearn SVM+MTL", _fixed, {**params, "halved": True}, kind="ours"),
        Contender(
            "kinlearn SVM+MTL, exponent not halved",
            _fixed,
            {**params, "halved": False},
            kind="ours",
        ),
    )
