"""Made data DS1 to DS3 and the contenders of tables 5.5 to 5.7 of Faddoul 2012.

`benchmarks.quality.protocols.bayesnet` quotes the thesis.
"""

from functools import partial

import numpy as np

from benchmarks.problems import problem
from benchmarks.quality.metrics import Metric
from benchmarks.quality.protocol import Contender
from kinlearn.datasets import make_bayesnet_tasks

__all__ = ["CONTENDERS", "DESIGNS", "GENERATORS", "N_SETS", "accuracies", "rows_of_set"]

# tasks, and training rows of a class: four folds of five
DESIGNS = {"DS1": (2, 80), "DS2": (2, 80), "DS3": (5, 20)}
GENERATORS = {"default": {}, "apart": {"n_patterns": 6, "class_sep": 6.0}}
N_SETS = 20
_N_TEST = (
    300  # rows of a class: made rows cost nothing, so that the test is a large one
)

# ------------------------------------------------------------------ the problems


def _sets(design, generator):
    """All sets, one after another; in each the training rows first."""
    _, n_train = DESIGNS[design]
    n = n_train + _N_TEST
    parts = []
    for seed in range(N_SETS):
        X, y = make_bayesnet_tasks(
            design,
            n_samples_per_class=n,
            shuffle=False,
            random_state=seed,
            **GENERATORS[generator],
        )
        # rows of a class lie one after another, by the label before the noise
        place = np.arange(len(y)) % n
        order = np.argsort(place >= n_train, kind="stable")
        parts.append((X[order], y[order]))
    X, y = (np.concatenate(part) for part in zip(*parts, strict=True))
    return "classification", X, y


for _design in DESIGNS:
    for _generator in GENERATORS:
        problem(f"bayesnet:{_design}-{_generator}")(partial(_sets, _design, _generator))


def rows_of_set(problem, number, design):
    """Training and test rows of one set.

    Parameters
    ----------
    problem : Problem
        All sets.
    number : int
        Of the set.
    design : str
        A key of `DESIGNS`.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    n_train = DESIGNS[design][1]
    rows = np.arange(len(problem.y)).reshape(N_SETS, -1)[number]
    cut = round(len(rows) * n_train / (n_train + _N_TEST))
    return rows[:cut], rows[cut:]


def _accuracy(y, prediction, task, one=None):
    if one is not None:
        return 100 * np.mean((y == prediction)[task == one])
    return np.mean([_accuracy(y, prediction, task, t) for t in np.unique(task)])


def accuracies(design):
    """The mean accuracy of the tasks, and that of each."""
    return (
        Metric("accuracy", "accuracy %, mean of tasks", _accuracy, digits=2),
        *(
            Metric(f"T{t + 1}", f"T{t + 1}", partial(_accuracy, one=t), digits=2)
            for t in range(DESIGNS[design][0])
        ),
    )


# ---------------------------------------------------------------- the contenders


def boosted(problem, seed, *, alone, levels, rounds, root, roots):
    """AdaBoost.MH over stumps or two-task stumps, together or for each task alone."""
    from kinlearn.boosting import AbstainingAdaBoostClassifier
    from kinlearn.sharing import PerTask

    n_tasks = len(np.unique(problem.task))
    model = AbstainingAdaBoostClassifier(
        rounds,
        algorithm="mh",
        levels=levels,
        root=root,
        n_roots=2 * n_tasks if roots is None else roots,
        random_state=seed,
    )
    return PerTask(model, task=-1) if alone else model.set_params(task=-1)


def tree(problem, seed, *, criterion):
    """One tree; without a criterion, for each task alone."""
    from kinlearn.sharing import PerTask
    from kinlearn.trees import MultiTaskDecisionTreeClassifier

    model = MultiTaskDecisionTreeClassifier(purity=0.8, random_state=seed)
    if criterion is None:
        return PerTask(model, task=-1)
    return model.set_params(task=-1, criterion=criterion)


def forest(problem, seed, *, criterion):
    """A forest of 20 trees; without a criterion, for each task alone."""
    from kinlearn.sharing import PerTask
    from kinlearn.trees import MultiTaskRandomForestClassifier

    model = MultiTaskRandomForestClassifier(20, random_state=seed)
    if criterion is None:
        return PerTask(model, task=-1)
    return model.set_params(task=-1, criterion=criterion)


def random_forest(problem, seed):
    """scikit-learn's, for each task alone."""
    from sklearn.ensemble import RandomForestClassifier

    from kinlearn.sharing import PerTask

    return PerTask(RandomForestClassifier(20, random_state=seed), task=-1)


def _boosted(name, kind="ours", **changes):
    params = {"alone": False, "levels": 2, "rounds": 10, "root": "best", "roots": None}
    return Contender(name, boosted, params | changes, kind=kind)


_CRITERIA = {"IG_J": "joint", "IG_U": "sum", "IG_M": "max"}
CONTENDERS = (
    _boosted("AMH", alone=True, levels=1),
    Contender("C4.5", tree, {"criterion": None}, kind="ours"),
    Contender("RF", random_forest),
    _boosted("MTMH NB"),
    _boosted("MTMH NBPT", root="best_per_task", roots=2),
    *(
        Contender(f"MT-DT {name}", tree, {"criterion": criterion}, kind="ours")
        for name, criterion in _CRITERIA.items()
    ),
    *(
        Contender(f"MTRF {name}", forest, {"criterion": criterion}, kind="ours")
        for name, criterion in _CRITERIA.items()
    ),
    _boosted("two levels, each task alone", alone=True),
    _boosted("AMH, 30 rounds", alone=True, levels=1, rounds=30),
    Contender("MTRF, each task alone", forest, {"criterion": None}, kind="ours"),
)
