"""Support vector machines of several tasks: the tables of Cai 2011."""

from functools import partial

from benchmarks.quality.protocol import Published, protocol
from benchmarks.quality.svm import (
    ERROR,
    MSE,
    chunk_of_each_task,
    contender,
    folds,
    mines,
    weighted_error,
)

_THESIS = "Cai 2011"


def _declare(
    name,
    problem,
    split,
    n_splits,
    title,
    metric,
    contenders,
    table,
    figures,
    independent=False,
):
    """One table; the machines of each task are the baseline."""

    def rows_of(problem, number):
        return split(problem, number)

    rows_of.__doc__ = title
    baseline = next(each.name for each in contenders if each.params["form"] == "each")
    protocol(
        f"svm-{name}",
        problem=f"svm:{problem}",
        n_splits=n_splits,
        metrics=(metric,),
        contenders=contenders,
        baseline=baseline,
        independent=independent,
        published=tuple(
            Published(method, {metric.name: value}, f"{_THESIS}, {table}")
            for method, value in figures.items()
        ),
    )(rows_of)


# ------------------------------------------------------- table 4.1: landmine

_LANDMINE = (
    contender("one SVM", "one", "rbf"),
    contender("SVM per task", "each", "rbf"),
    contender("kinlearn SVM+MTL", "mtl", "rbf", "rbf"),
    contender("kinlearn SVM+MTL, C anew", "mtl", "rbf", "rbf", retune=True),
    contender("kinlearn rMTL", "rmtl", "rbf"),
    contender("kinlearn SVM+ with groups", "plus", "rbf", "rbf"),
)
for _size, _figures in {
    40: (38.33, 18.33, 35.00, 15.00),
    80: (45.00, 11.46, 35.42, 10.00),
    160: (53.02, 14.90, 51.35, 9.69),
}.items():
    _declare(
        f"landmine-{_size}",
        "landmine",
        partial(mines, size=_size),
        25,
        f"Landmine, 6 fields, {_size} rows of each, a quarter mines",
        ERROR,
        _LANDMINE,
        "table 4.1, 5 folds",
        dict(
            zip(("one SVM", "SVM per task", "SVM+", "SVM+MTL"), _figures, strict=True)
        ),
    )

# ----------------------------------------- tables 4.2 and 4.6: medical records

_hidden = partial(contender, hide_group=True)  # the group's variable is no feature
_MEDICAL = (
    contender("one SVM, linear", "one", "linear"),
    contender("one SVM, rbf", "one", "rbf"),
    _hidden("SVM per task, linear", "each", "linear"),
    _hidden("SVM per task, rbf", "each", "rbf"),
    _hidden("kinlearn SVM+MTL", "mtl", "linear", "rbf"),
    _hidden("kinlearn SVM+MTL, C anew", "mtl", "linear", "rbf", retune=True),
    _hidden("kinlearn SVM+MTL, linear corrections", "mtl", "linear", "linear"),
    _hidden("kinlearn rMTL", "rmtl", "rbf"),
    _hidden("kinlearn SVM+ with groups", "plus", "linear", "rbf"),
)
_METHODS = (
    "one SVM, linear",
    "one SVM, rbf",
    "SVM+",
    "SVM per task, linear",
    "SVM per task, rbf",
    "SVM+MTL",
    "SVM+MTL (table 4.6)",
    "rMTL (table 4.6)",
)
for _name, _title, _figures in (
    (
        "heart",
        "Statlog heart by sex",
        (19.3, 18.2, 16.3, 16.6, 21.5, 15.2, 17.0, 19.3),
    ),
    (
        "ljubljana",
        "Ljubljana breast cancer by age, under 50, under 60 and older",
        (29.3, 25.7, 24.9, 29.6, 24.2, 23.5, 23.5, 26.0),
    ),
    (
        "wisconsin",
        "Wisconsin breast cancer by clump thickness, under 4, under 6 and above",
        (3.4, 3.8, 3.1, 3.4, 3.1, 2.9, 2.9, 2.8),
    ),
    (
        "hepatitis",
        "Hepatitis by histology",
        (16.3, 17.5, 16.3, 16.3, 16.3, 15.0, 15.0, 17.5),
    ),
):
    _declare(
        _name,
        _name,
        folds,
        25,
        _title,
        ERROR,
        _MEDICAL,
        "tables 4.2 and 4.6, 5 folds",
        dict(zip(_METHODS, _figures, strict=True)),
    )

# ------------------------- table 4.4: other variables that make the groups

for _name, _title, _figures in (
    (
        "deg-malig",
        "Ljubljana breast cancer by degree of malignancy",
        (29.61, 27.07, 27.79, 24.53, 26.34, 24.90),
    ),
    (
        "inv-nodes",
        "Ljubljana breast cancer by involved nodes, under 3 and more",
        (29.63, 26.20, 25.62, 26.70, 25.28, 25.61),
    ),
    (
        "breast",
        "Ljubljana breast cancer by side",
        (30.33, 24.57, 27.07, 26.73, 26.02, 26.03),
    ),
):
    _declare(
        f"ljubljana-{_name}",
        f"ljubljana-{_name}",
        folds,
        25,
        _title,
        ERROR,
        _MEDICAL,
        "table 4.4, 5 folds",
        dict(zip(_METHODS[:6], _figures, strict=True)),
    )

# -------------------------------------------- table 4.5: made classes, d = 20

_LINEAR = (
    contender("one SVM", "one", "linear"),
    contender("SVM per task", "each", "linear"),
    contender("kinlearn SVM+MTL", "mtl", "linear", "rbf"),
    contender("kinlearn SVM+MTL, linear corrections", "mtl", "linear", "linear"),
    contender("kinlearn rMTL", "rmtl", "rbf"),
    contender("kinlearn rMTL, linear", "rmtl", "linear"),
    contender("kinlearn SVM+ with groups", "plus", "linear", "rbf"),
)
_LINEAR_CLASSES = (
    *_LINEAR,
    contender("kinlearn SVM+MTL, C anew", "mtl", "linear", "rbf", retune=True),
)
for _size, _figures in {
    100: (8.86, 13.52),
    50: (12.70, 18.99),
    15: (21.15, 31.68),
}.items():
    _declare(
        f"d20-{_size}",
        "d20",
        partial(chunk_of_each_task, size=_size),
        20,
        f"Three linear tasks of 20 features, {_size} rows each",
        ERROR,
        _LINEAR_CLASSES,
        "table 4.5, 10 trials",
        dict(zip(("SVM+MTL", "rMTL"), _figures, strict=True)),
        independent=True,
    )

# -------------------------------------------- tables 4.7 and 4.9: unequal costs


def _with_costs(costs, **params):
    make = partial(contender, costs=costs, **params)
    equal = partial(contender, **params)
    return (
        make("one SVM, costs", "one", "linear"),
        make("SVM per task, costs", "each", "linear"),
        equal("kinlearn SVM+MTL, equal costs", "mtl", "linear", "rbf"),
        make("kinlearn SVM+MTL, costs", "mtl", "linear", "rbf"),
        make("kinlearn SVM+MTL, costs, linear corrections", "mtl", "linear", "linear"),
    )


_COST_METHODS = ("one SVM, costs", "SVM+MTL, equal costs", "SVM+MTL, costs")
_declare(
    "heart-costs",
    "heart",
    partial(folds, n_folds=9),
    27,
    "Statlog heart by sex, a missed patient costs five false alarms",
    weighted_error((1, 5)),
    _with_costs((1, 5), hide_group=True, n_folds=9),
    "table 4.9, 9 folds",
    dict(zip(_COST_METHODS, (23.0, 18.0, 16.0), strict=True)),
)
_declare(
    "d30-costs",
    "d30_costs",
    partial(chunk_of_each_task, size=200),
    10,
    "Three linear tasks of 30 features, 200 rows each, false positives cost five",
    weighted_error((5, 1)),
    _with_costs((5, 1)),
    "table 4.7, 10 trials",
    dict(zip(_COST_METHODS, (28.6, 34.6, 17.9), strict=True)),
    independent=True,
)

# ----------------------------------------------- tables 5.1 to 5.6: regression

_REGRESSION_METHODS = ("one SVM", "SVM per task", "SVM+", "SVM+MTL")
_RBF = (
    contender("one SVM", "one", "rbf"),
    contender("SVM per task", "each", "rbf"),
    contender("kinlearn SVM+MTL", "mtl", "rbf", "rbf"),
    contender("kinlearn rMTL", "rmtl", "rbf"),
    contender("kinlearn SVM+ with groups", "plus", "rbf", "rbf"),
)
for _name, _title, _table, _figures in (
    ("boston-rad", "Boston housing by RAD, 3 tasks", "5.1", (12.1, 14.2, 11.4, 9.0)),
    ("boston-dis", "Boston housing by DIS, 3 tasks", "5.2", (11.1, 12.1, 10.4, 9.9)),
    ("auto-mpg", "Auto MPG by cylinders, 3 tasks", "5.3", (7.3, 7.8, 7.3, 6.6)),
):
    _declare(
        _name,
        _name,
        folds,
        10,
        _title,
        MSE,
        _RBF,
        f"table {_table}, 5 folds",
        dict(zip(_REGRESSION_METHODS, _figures, strict=True)),
    )

for _name, _problem, _size, _title, _table, _figures in (
    ("d30-n20", "d30_n20", 20, "30 features, noise 1", "5.4", (4.0, 4.9, 3.8, 3.0)),
    ("d30-n50", "d30_n20", 50, "30 features, noise 1", "5.5", (2.5, 2.3, 2.7, 1.8)),
    (
        "d20-n100",
        "d20_n100",
        100,
        "20 features, noise 0.5",
        "5.6",
        (7.8, 0.3, 7.7, 1.1),
    ),
):
    _declare(
        _name,
        _problem,
        partial(chunk_of_each_task, size=_size),
        20,
        f"Three linear functions of {_title}, {_size} rows each",
        MSE,
        _LINEAR,
        f"table {_table}, 5 trials",
        dict(zip(_REGRESSION_METHODS, _figures, strict=True)),
        independent=True,
    )
