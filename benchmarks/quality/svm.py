"""Problems, splits and metrics of the support vector protocols (Cai 2011).

The quotations stand in `benchmarks.quality.protocols.cai_printed`, the contenders in
`benchmarks.quality.svm_search`.
"""

from functools import partial

import numpy as np

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality.protocol import Metric

__all__ = [
    "ERROR",
    "MSE",
    "every_ninth_by_age",
    "every_nth",
    "folds",
    "in_file_order",
    "mines",
    "strata",
    "trial",
    "weighted",
    "weighted_error",
]

_LANDMINE_TASKS = (1, 2, 11, 20, 22, 24)
_POOL = 20_000  # rows of each task from which the trials of made data are cut
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


_THIRD = (
    [1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1],  # as printed
    [1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1],  # the text's first seven alike
)


def _nine_ones(third):
    """The coefficients of table 4.5, with one of the readings of the third task."""
    coef = np.zeros((3, 20))
    coef[0, :9] = 1
    coef[1, [0, 1, 2, 3, 4, 5, 6, 8, 10]] = 1
    coef[2, : len(third)] = third
    return coef


def _made(make, kind, **options):
    """Rows enough for all trials, and the test rows behind them, of each task."""
    X, y = make(_POOL + _TEST, random_state=0, **options)
    return kind, X, y


_classes = partial(
    _made, kinlearn.datasets.make_linear_classification, "classification"
)
_numbers_of = partial(_made, kinlearn.datasets.make_linear_regression, "regression")
problem("svm:nine-ones")(partial(_classes, design="d20", coef=_nine_ones(_THIRD[0])))
problem("svm:nine-ones-seven")(
    partial(_classes, design="d20", coef=_nine_ones(_THIRD[1]))
)
for _design in ("d30_costs", "d30_noise", "d2"):
    problem(f"svm:{_design}")(partial(_classes, design=_design))
for _design in ("d30_n20", "d30_n50", "d20_n100"):
    problem(f"svm:{_design}")(partial(_numbers_of, design=_design))

# -------------------------------------------------------------------- the splits


def every_nth(cells, n_folds):
    """Folds of every n-th row, counted through the cells one after another.

    Parameters
    ----------
    cells : ndarray of int
        What every fold must have its fraction of.
    n_folds : int
        How many.

    Returns
    -------
    list of (train, test)
        Row numbers.
    """
    order = np.argsort(cells, kind="stable")
    fold = np.empty(len(cells), dtype=int)
    fold[order] = np.arange(len(cells)) % n_folds
    return [
        (np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(n_folds)
    ]


def strata(kind, task, y):
    """What every fold has its fraction of: tasks, and their classes."""
    return 2 * task + y if kind == "classification" else task


def _fold_of(problem, rows, number, n_folds):
    cells = strata(problem.kind, problem.task[rows], problem.y[rows])
    train, test = every_nth(cells, n_folds)[number]
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


def every_ninth_by_age(problem, number):
    """Samples 1, 10, 19, ... by age are the test, then 2, 11, 20, ... (table 4.9)."""
    order = np.argsort(problem.X[:, 0], kind="stable")
    test = np.arange(len(order)) % 9 == number
    return order[~test], order[test]


def _sample(problem, size, fraction, clutter, rng=None):
    """`size` rows of each field, of which a fraction are mines."""
    found = []
    for t in np.unique(problem.task):
        of_task = np.flatnonzero(problem.task == t)
        of_task = of_task if rng is None else rng.permutation(of_task)
        is_mine = problem.y[of_task] == 1
        mine, others = of_task[is_mine][: round(size * fraction)], of_task[~is_mine]
        wanted = size - len(mine)
        found += [mine, others[:wanted] if clutter == "first" else others[-wanted:]]
    return np.concatenate(found)


def mines(problem, number, size, fraction=0.25):
    """Five folds of a sample at random, then of another one.

    Fields that have fewer mines give all, and clutter to fill up the size.

    Parameters
    ----------
    problem : Problem
        Landmine.
    number : int
        Of the split: five for each sample.
    size : int
        Rows of each field.
    fraction : float, default=0.25
        Of the rows that are mines.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    repetition, fold = divmod(number, 5)
    rng = np.random.default_rng(repetition)
    rows = _sample(problem, size, fraction, "first", rng)
    return _fold_of(problem, rows, fold, 5)


def in_file_order(problem, number, size, clutter, fraction=0.25):
    """Five folds of a sample: the first mines of each field, and clutter.

    Parameters
    ----------
    problem : Problem
        Landmine; its files have most of the mines of a field first.
    number : int
        Of the fold: every fifth row of each class of a field.
    size : int
        Rows of each field.
    clutter : {"first", "last"}
        Which rows that are no mines.
    fraction : float, default=0.25
        Of the rows that are mines.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    rows = _sample(problem, size, fraction, clutter)
    return _fold_of(problem, rows, number, 5)


def trial(problem, number, size, n_validation=0):
    """The next rows of each task train; the last thousand are the test.

    Parameters
    ----------
    problem : Problem
        Made.
    number : int
        Of the trial.
    size : int
        Rows of each task to fit.
    n_validation : int, default=0
        Further rows of each task, to choose parameters by: they come behind the
        others of the task in `train`.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    train, test = [], []
    rows_of_one = size + n_validation
    for t in np.unique(problem.task):
        rows = np.flatnonzero(problem.task == t)
        pool = rows[:-_TEST]
        begin = number * rows_of_one
        if begin + rows_of_one > len(pool):
            raise ValueError(f"Trial {number} needs more than {len(pool)} rows.")
        train.append(pool[begin : begin + rows_of_one])
        test.append(rows[-_TEST:])
    return np.concatenate(train), np.concatenate(test)


# ------------------------------------------------------------------- the metrics


def weighted(y, prediction, false_positive, false_negative):
    """Cost of the errors, in % of the cost if every row were an error."""
    cost = np.where(y == 1, false_negative, false_positive)
    return 100 * np.sum(cost * (y != prediction)) / np.sum(cost)


def weighted_error(costs):
    """The metric for costs of a false positive and of a false negative."""
    return Metric(
        "weighted_error",
        "weighted error %",
        lambda y, p, t: weighted(y, p, *costs),
        greater_is_better=False,
        digits=1,
    )


ERROR = Metric(
    "error", "error %", lambda y, p, t: 100 * np.mean(y != p), False, digits=2
)
MSE = Metric("mse", "MSE", lambda y, p, t: np.mean((y - p) ** 2), False, digits=2)
