"""Problems, splits and contenders of the support vector protocols (Cai 2011).

Every contender standardises the features by the training rows and chooses its
parameters by cross-validation within them. Plain machines are scikit-learn's, one for
all rows or one for each task; SVM+MTL, rMTL and SVM+ are ours, and tuned in two stages,
as in the thesis and by `tune_in_two_stages`: first C, epsilon and the kernel as for one
plain machine of all rows, then the penalty and the kernel of the corrections (rMTL: the
penalty alone).
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality.protocol import Contender, Metric

__all__ = [
    "ERROR",
    "MSE",
    "chunk_of_each_task",
    "contender",
    "every_nth",
    "folds",
    "mines",
    "weighted_error",
]

_COSTS = (0.1, 1.0, 10.0, 100.0)
_WIDTHS = (0.03, 0.1, 0.3, 1.0, 3.0)  # times 1 / (number of features * variance)
_TUBES = (0.02, 0.1, 0.3)  # times the deviation of y
_PENALTIES = (100.0, 10.0, 1.0, 0.1, 0.01)
_LANDMINE_TASKS = (1, 2, 11, 20, 22, 24)
_POOL = 2_000  # rows of each task from which the trials of made data are cut
_TEST = 1_000

# ------------------------------------------------------------------ the problems


def _numbers(column):
    """A column as numbers: ranges by their lower end, other texts as indicators."""
    if column.dtype.kind in "fiu":
        return [np.asarray(column, dtype=float)]
    texts = np.array([None if text != text else text for text in column], dtype=object)
    missing = np.array([text is None for text in texts])
    known = np.where(missing, "", texts).astype(str)
    if np.char.isnumeric(np.char.partition(known[~missing], "-")[:, 0]).all():
        lower = np.char.partition(known, "-")[:, 0]
        return [np.where(missing, np.nan, np.where(missing, "0", lower).astype(float))]
    values = np.unique(known[~missing])
    values = values[1:] if len(values) == 2 else values
    return [np.where(missing, np.nan, known == value) for value in values]


def _uci(name, kind, group, cuts=None):
    """Complete rows: the other features, the group's variable, the task.

    The tasks are those of the data set, or are made by cuts of the variable.
    """
    table = kinlearn.datasets.fetch_uci(name, group=None, as_frame=True).data
    grouped = kinlearn.datasets.fetch_uci(name, group=group)
    names = [*(column for column in table if column != group), group]
    columns = [part for column in names for part in _numbers(table[column])]
    task = grouped.data[:, -1] if cuts is None else np.digitize(columns[-1], cuts)
    X = np.column_stack([*columns, task])
    complete = np.isfinite(X).all(axis=1)
    return kind, X[complete], grouped.target[complete]


for _name, _set, _kind, _group in (
    ("heart", "heart", "classification", "sex"),
    ("ljubljana", "breast_cancer_ljubljana", "classification", "age"),
    ("wisconsin", "breast_cancer_wisconsin", "classification", "clump_thickness"),
    ("hepatitis", "hepatitis", "classification", "histology"),
    ("boston-rad", "boston", "regression", "RAD"),
    ("boston-dis", "boston", "regression", "DIS"),
    ("auto-mpg", "auto_mpg", "regression", "cylinders"),
):
    problem(f"svm:{_name}")(partial(_uci, _set, _kind, _group))
for _name, _group, _cuts in (
    ("deg-malig", "deg-malig", None),
    ("inv-nodes", "inv-nodes", (3,)),
    ("breast", "breast", None),
):
    problem(f"svm:ljubljana-{_name}")(
        partial(_uci, "breast_cancer_ljubljana", "classification", _group, _cuts)
    )


@problem("svm:landmine")
def landmine():
    """Six of the 29 fields."""
    data = kinlearn.datasets.fetch_landmine()
    field = data.data[:, -1]
    chosen = np.array(_LANDMINE_TASKS) - 1
    rows = np.isin(field, chosen)
    task = np.searchsorted(chosen, field[rows])
    X = kinlearn.with_task(data.data[rows, :-1], task)
    return "classification", X, data.target[rows]


def _made(make, kind, design):
    """Rows enough for all trials, and the test rows behind them, of each task."""
    X, y = make(_POOL + _TEST, design=design, random_state=0)
    return kind, X, y


for _design in ("d20", "d30_costs"):
    problem(f"svm:{_design}")(
        partial(
            _made,
            kinlearn.datasets.make_linear_classification,
            "classification",
            _design,
        )
    )
for _design in ("d30_n20", "d20_n100"):
    problem(f"svm:{_design}")(
        partial(_made, kinlearn.datasets.make_linear_regression, "regression", _design)
    )

# -------------------------------------------------------------------- the splits


def every_nth(strata, n_folds):
    """Folds of every n-th row, counted through the strata one after another.

    Parameters
    ----------
    strata : ndarray of int
        What every fold must have its fraction of.
    n_folds : int
        How many.

    Returns
    -------
    list of (train, test)
        Row numbers.
    """
    order = np.argsort(strata, kind="stable")
    fold = np.empty(len(strata), dtype=int)
    fold[order] = np.arange(len(strata)) % n_folds
    return [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)
    ]


def _strata(kind, task, y):
    return 2 * task + y if kind == "classification" else task


def _fold_of(problem, rows, number, n_folds):
    strata = _strata(problem.kind, problem.task[rows], problem.y[rows])
    train, test = every_nth(strata, n_folds)[number]
    return rows[train], rows[test]


def folds(problem, number, n_folds=5):
    """Cross-validation as in the thesis, then again with the rows permuted.

    Parameters
    ----------
    problem : Problem
        Made by `_uci`: its group's variable is the last feature.
    number : int
        The first `n_folds` splits are the thesis's: every n-th row of the file, or,
        for numbers, of the rows ordered by the group's variable.
    n_folds : int, default=5
        Folds of one repetition.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    repetition, fold = divmod(number, n_folds)
    rows = np.arange(len(problem.y))
    if repetition:
        rows = np.random.default_rng(repetition).permutation(rows)
    elif problem.kind == "regression":
        rows = np.argsort(problem.X[:, -2], kind="stable")
    return _fold_of(problem, rows, fold, n_folds)


def mines(problem, number, size):
    """Five folds of a sample: `size` rows of each field, a quarter of them mines.

    Fields that have fewer mines give all, and clutter to fill up the size.
    """
    repetition, fold = divmod(number, 5)
    rng = np.random.default_rng(repetition)
    rows = []
    for t in np.unique(problem.task):
        of_task = rng.permutation(np.flatnonzero(problem.task == t))
        is_mine = problem.y[of_task] == 1
        mine, clutter = of_task[is_mine][: size // 4], of_task[~is_mine]
        rows += [mine, clutter[: size - len(mine)]]
    return _fold_of(problem, np.concatenate(rows), fold, 5)


def chunk_of_each_task(problem, number, size):
    """The next `size` rows of each task train; the last thousand are the test."""
    train, test = [], []
    for t in np.unique(problem.task):
        rows = np.flatnonzero(problem.task == t)
        train.append(rows[number * size : (number + 1) * size])
        test.append(rows[_POOL:])
    return np.concatenate(train), np.concatenate(test)


# ------------------------------------------------------------------- the metrics


def _weighted(y, prediction, false_positive, false_negative):
    """Cost of the errors, in % of the cost if every row were an error."""
    cost = np.where(y == 1, false_negative, false_positive)
    return 100 * np.sum(cost * (y != prediction)) / np.sum(cost)


def weighted_error(costs):
    """The metric for costs of a false positive and of a false negative."""
    return Metric(
        "weighted_error",
        "weighted error %",
        lambda y, p, t: _weighted(y, p, *costs),
        greater_is_better=False,
        digits=1,
    )


ERROR = Metric(
    "error", "error %", lambda y, p, t: 100 * np.mean(y != p), False, digits=2
)
MSE = Metric("mse", "MSE", lambda y, p, t: np.mean((y - p) ** 2), False, digits=2)

# ---------------------------------------------------------------- the contenders


@dataclass(frozen=True)
class Plan:
    """What a contender is given to fit: kernels, costs and inner folds."""

    kind: str
    kernel: str
    correction: str | None
    costs: tuple[float, float] | None
    retune: bool
    n_folds: int

    @property
    def weights(self):
        """Class weights for the costs, as a keyword of classifiers."""
        if self.kind == "regression" or self.costs is None:
            return {}
        return {"class_weight": dict(enumerate(self.costs))}

    @property
    def scoring(self):
        """What searches maximise."""
        from sklearn.metrics import make_scorer

        if self.costs is not None:
            false_positive, false_negative = self.costs
            return make_scorer(
                _weighted,
                greater_is_better=False,
                false_positive=false_positive,
                false_negative=false_negative,
            )
        return "accuracy" if self.kind == "classification" else "neg_mean_squared_error"

    def folds(self, y, task):
        """The folds whose training rows have all classes."""
        splits = every_nth(_strata(self.kind, task, y), self.n_folds)
        if self.kind == "classification":
            splits = [s for s in splits if len(np.unique(y[s[0]])) == 2]
        return splits

    def search(self, model, grid, X, y, task):
        """A fitted search over these folds."""
        from sklearn.model_selection import GridSearchCV

        folds = self.folds(y, task)
        return GridSearchCV(model, grid, scoring=self.scoring, cv=folds).fit(X, y)

    def grid(self, Z, y):
        """What a plain machine tunes; small costs and wide kernels come first."""
        grid = {"C": list(_COSTS)}
        if self.kind == "regression":
            mean, deviation = y.mean(), y.std()
            grid["C"] = [max(abs(mean + 3 * deviation), abs(mean - 3 * deviation))]
            grid["epsilon"] = [tube * deviation for tube in _TUBES]
        if self.kernel == "rbf":
            grid["gamma"] = _gammas(Z)
        return grid

    def correction_grid(self, Z):
        """What the second stage tunes; small corrections come first."""
        grid = {"correction_penalty": list(_PENALTIES)}
        if self.correction == "rbf":
            grid["correction_gamma"] = _gammas(Z)
        return grid


def _gammas(Z):
    return [width / (Z.shape[1] * Z.var()) for width in _WIDTHS]


def _plain(plan, Z, task, y):
    from sklearn.svm import SVC, SVR

    machine = SVC if plan.kind == "classification" else SVR
    model = machine(kernel=plan.kernel, **plan.weights)
    return plan.search(model, plan.grid(Z, y), Z, y, task)


def _one(plan, Z, task, y):
    """One machine of all rows."""
    model = _plain(plan, Z, task, y)
    return lambda Z, task: model.predict(Z)


def _each(plan, Z, task, y):
    """A machine for each task, with parameters of its own."""
    models = {}
    for t in np.unique(task):
        rows = task == t
        if len(np.unique(y[rows])) > 1:
            models[t] = _plain(plan, Z[rows], task[rows], y[rows]).predict
        else:  # of one class
            models[t] = lambda Z, only=y[rows][0]: np.full(len(Z), only)

    def predict(Z, task):
        out = np.empty(len(Z), dtype=y.dtype)
        for t, model in models.items():
            out[task == t] = model(Z[task == t])
        return out

    return predict


def _two_stages(machine, plan, Z, task, y):
    """A machine with corrections, after the plain one."""
    from kinlearn.svm import tune_in_two_stages

    model = machine(
        kernel=plan.kernel, correction_kernel=plan.correction, **plan.weights
    )
    X, correction_grid = kinlearn.with_task(Z, task), plan.correction_grid(Z)
    best = tune_in_two_stages(
        model,
        X,
        y,
        plain_grid=plan.grid(Z, y),
        correction_grid=correction_grid,
        cv=plan.folds(y, task),
        scoring=plan.scoring,
    ).best_estimator
    if plan.retune:
        grid = {**correction_grid, "C": list(_COSTS)}
        best = plan.search(best, grid, X, y, task)
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
    """rMTL: one space, no biases; linear functions get a feature that is always 1.

    Its plain machine has a bias all the same, so that it is tuned by itself.
    """

    def with_one(Z):
        return Z if plan.kernel == "rbf" else np.column_stack([Z, np.ones(len(Z))])

    best = _plain(plan, with_one(Z), task, y).best_params_
    machine = _multi_task(plan, fit_intercept=False)
    model = machine(kernel=plan.kernel, **best, **plan.weights)
    X = kinlearn.with_task(with_one(Z), task)
    search = plan.search(model, plan.correction_grid(Z), X, y, task)
    return lambda Z, task: search.predict(kinlearn.with_task(with_one(Z), task))


FORMS = {"one": _one, "each": _each, "mtl": _mtl, "rmtl": _rmtl, "plus": _plus}


class Machine:
    """Standardise, tune and predict, for X with the task as its last column."""

    def __init__(self, plan, form, hide_group):
        self.plan = plan
        self.form = form
        self.end = -2 if hide_group else -1

    def fit(self, X, y):
        """Tune on these rows, and fit to all of them."""
        from sklearn.preprocessing import StandardScaler

        features, task = X[:, : self.end], X[:, -1].astype(int)
        self.scaler = StandardScaler().fit(features)
        fit = FORMS[self.form]
        self._predict = fit(self.plan, self.scaler.transform(features), task, y)
        return self

    def predict(self, X):
        """Labels or numbers."""
        Z = self.scaler.transform(X[:, : self.end])
        return self._predict(Z, X[:, -1].astype(int))


def _make(
    problem,
    seed,
    *,
    form,
    kernel,
    correction=None,
    costs=None,
    retune=False,
    hide_group=False,
    n_folds=5,
):
    costs = None if costs is None else tuple(costs)
    plan = Plan(problem.kind, kernel, correction, costs, retune, n_folds)
    return Machine(plan, form, hide_group)


def contender(name, form, kernel, correction=None, **params):
    """A contender of one of the `FORMS`.

    Parameters
    ----------
    name : str
        What it is called in tables.
    form : {"one", "each", "mtl", "rmtl", "plus"}
        How rows of different tasks are used.
    kernel, correction : {"linear", "rbf"}
        Kernels of the decision and of the corrections.
    **params
        ``costs`` of a false positive and a false negative, ``retune`` to choose C
        anew in the second stage, ``hide_group`` to drop the last feature, ``n_folds``
        within the training rows.

    Returns
    -------
    Contender
        Ours or a peer, by its form.
    """
    params = {"form": form, "kernel": kernel, "correction": correction, **params}
    return Contender(
        name,
        _make,
        params,
        kind="peer" if form in ("one", "each") else "ours",
        needs=("kinlearn.svm",) if form == "plus" else (),
    )
