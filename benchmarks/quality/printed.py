"""Problems, splits and contenders of protocols in the documents' own words.

The other protocols of a family treat all contenders alike, with grids and scales of
our own. Here the grid, the scaling, the order of the rows and the fixed parameters
are those that are printed; what is not printed is said where it is chosen. The
quotations stand in `benchmarks.quality.protocols.cai_printed`.
"""

from functools import partial

import numpy as np

import kinlearn
from benchmarks.problems import problem
from benchmarks.quality import svm
from benchmarks.quality.protocol import Contender

__all__ = [
    "fixed",
    "in_file_order",
    "validated",
    "with_validation",
]

N_VALIDATION = 300

# ------------------------------------------------------------ support vector machines


def in_file_order(problem, number, size, clutter):
    """Five folds of a sample: the first mines of each field, and clutter.

    Parameters
    ----------
    problem : Problem
        Landmine; its files have the mines of a field first.
    number : int
        Of the fold: every fifth row of each class of a field.
    size : int
        Rows of each field, a quarter of them mines.
    clutter : {"first", "last"}
        Which rows that are no mines.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    rows = []
    for t in np.unique(problem.task):
        of_task = np.flatnonzero(problem.task == t)
        mine = of_task[problem.y[of_task] == 1][: size // 4]
        others = of_task[problem.y[of_task] == 0]
        wanted = size - len(mine)
        rows += [mine, others[:wanted] if clutter == "first" else others[-wanted:]]
    return svm._fold_of(problem, np.concatenate(rows), number, 5)


_NINE_ONES = [
    [1, 1, 1, 1, 1, 1, 1, 1, 1],
    [1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1],
    [1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1],
]
_SEVEN = [1, 1, 1, 1, 1, 1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 1]  # the text's first seven


def _nine_ones(third):
    coef = np.zeros((3, 20))
    for row, values in zip(coef, [*_NINE_ONES[:2], third], strict=True):
        row[: len(values)] = values
    X, y = kinlearn.datasets.make_linear_classification(
        svm._POOL + 10 * N_VALIDATION + svm._TEST,
        design="d20",
        coef=coef,
        random_state=0,
    )
    return "classification", X, y


problem("svm:nine-ones")(partial(_nine_ones, _NINE_ONES[2]))
problem("svm:nine-ones-seven")(partial(_nine_ones, _SEVEN))


@problem("svm:chapter-6")
def chapter_6():
    """The regression of chapter 5 with noise 1, 50 rows of each task in a trial."""
    X, y = kinlearn.datasets.make_linear_regression(
        svm._POOL + svm._TEST, design="d30_n50", random_state=0
    )
    return "regression", X, y


def with_validation(problem, number, size):
    """Rows of each task to fit, then those to validate by, in the training rows."""
    train, test = [], []
    for t in np.unique(problem.task):
        rows = np.flatnonzero(problem.task == t)
        begin = svm._POOL + number * N_VALIDATION
        train.append(rows[number * size : (number + 1) * size])
        train.append(rows[begin : begin + N_VALIDATION])
        test.append(rows[-svm._TEST :])
    return np.concatenate(train), np.concatenate(test)


class Validated:
    """Fit by the first rows of each task, choose parameters by its last 300.

    All forms search in two stages, as the thesis does: C (and the width) of a plain
    machine, then the penalty and the width of the corrections, or rMTL's penalty.
    """

    def __init__(self, form):
        self.form = form

    def fit(self, X, y):
        """Search; the model is fitted to the rows that do not validate."""
        task = X[:, -1].astype(int)
        validate = np.zeros(len(y), dtype=bool)
        for t in np.unique(task):
            validate[np.flatnonzero(task == t)[-N_VALIDATION:]] = True
        rows, other = np.flatnonzero(~validate), np.flatnonzero(validate)
        Z, linear = X[:, :-1], {"kernel": ["linear"]}
        if self.form == "each":
            models = [
                self._plain(
                    Z, y, rows[task[rows] == t], other[task[other] == t], linear
                )
                for t in np.unique(task)
            ]
            self._predict = partial(_by_task, models)
        elif self.form == "one":
            model = self._plain(Z, y, rows, other, linear)
            self._predict = lambda Z, task: model.predict(Z)
        else:
            self._predict = self._shared(X, y, rows, other)
        return self

    def _plain(self, Z, y, rows, other, grid):
        from sklearn.svm import SVC

        grid = {"C": list(svm._COSTS), **grid}
        return _best(SVC(), grid, Z, y, rows, other)

    def _shared(self, X, y, rows, other):
        from kinlearn.svm import MultiTaskSVC

        Z = X[:, :-1]
        widths = svm._gammas(Z[rows])
        grid = {"correction_penalty": list(svm._PENALTIES)}
        if self.form == "mtl":
            C = self._plain(Z, y, rows, other, {"kernel": ["linear"]}).C
            model = MultiTaskSVC(C=C, kernel="linear", correction_kernel="rbf", task=-1)
            grid["correction_gamma"] = widths
        else:
            first = self._plain(Z, y, rows, other, {"kernel": ["rbf"], "gamma": widths})
            model = MultiTaskSVC(
                C=first.C, gamma=first.gamma, fit_intercept=False, task=-1
            )
        best = _best(model, grid, X, y, rows, other)
        return lambda Z, task: best.predict(kinlearn.with_task(Z, task))

    def predict(self, X):
        """Labels."""
        return self._predict(X[:, :-1], X[:, -1].astype(int))


def _by_task(models, Z, task):
    out = np.empty(len(Z), dtype=int)
    for t, model in enumerate(models):
        out[task == t] = model.predict(Z[task == t])
    return out


def _best(model, grid, X, y, rows, other):
    """The best of a grid by the validation rows, fitted to the others alone."""
    from sklearn.base import clone
    from sklearn.model_selection import ParameterGrid

    found = [
        clone(model).set_params(**options).fit(X[rows], y[rows])
        for options in ParameterGrid(grid)
    ]
    return max(found, key=lambda each: np.mean(each.predict(X[other]) == y[other]))


def validated(name, form):
    """A contender of a form that validates by rows of its own."""
    kind = "ours" if form in ("mtl", "rmtl") else "peer"
    return Contender(name, _validated, {"form": form}, kind=kind)


def _validated(problem, seed, *, form):
    return Validated(form)


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
