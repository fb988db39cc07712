"""Which defaults? Settings of the extra trees over many problems.

``python -m benchmarks.quality.suite`` prints a Markdown table for each kind of
target. Of landmine and school it only sees the training rows of the first split
of their protocols; rows are held out of these again. Classification is scored by
AUC (each class against the rest), the mean of that over all held-out rows and of
that by task; regression by explained variance.
"""

import argparse
import warnings
from functools import partial

import numpy as np
from sklearn.metrics import r2_score, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

from benchmarks.commandline import print_line
from benchmarks.problems import load
from benchmarks.quality.splits import first_fraction_of_each_task
from kinlearn import datasets
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor

_MOST_TEST_ROWS = 3_000
_FIXED = {"min_samples_leaf": 5, "task_split_prob": 0.5}


def _landmine():
    problem = load("landmine")
    train, _ = first_fraction_of_each_task(problem, 0, 0.75)
    return problem.X[train], problem.y[train]


def _school():
    problem = load("school")
    train, _ = problem.splits[0]
    return problem.X[train], problem.y[train]


def _demo(kind):
    return datasets.load_demo(kind, as_frame=False, return_X_y=True)


def _made(make, **options):
    return make(random_state=0, **options)[:2]


def _uci(name, **options):
    return datasets.fetch_uci(name, return_X_y=True, **options)


_LARGE = {"n_tasks": 20, "n_samples_per_task": 400}
# name: (rows and labels, fraction of them that trains, number of random splits)
CLASSIFICATION = {
    "landmine": (_landmine, 0.75, 4),
    "landmine, 3,000 rows": (_landmine, 0.27, 4),
    "landmine, 1,000 rows": (_landmine, 0.09, 4),
    "demo": (partial(_demo, "classification"), 0.75, 4),
    "clustered": (partial(_made, datasets.make_clustered_classification), 0.75, 4),
    "clustered, large": (
        partial(_made, datasets.make_clustered_classification, **_LARGE),
        0.75,
        2,
    ),
    "linear d20": (partial(_made, datasets.make_linear_classification), 0.75, 4),
    "bayesnet DS1": (partial(_made, datasets.make_bayesnet_tasks), 0.75, 4),
    "heart": (partial(_uci, "heart"), 0.75, 8),
    "breast cancer Ljubljana": (partial(_uci, "breast_cancer_ljubljana"), 0.75, 8),
    "breast cancer Wisconsin": (partial(_uci, "breast_cancer_wisconsin"), 0.75, 4),
    "hepatitis": (partial(_uci, "hepatitis"), 0.75, 8),
    "solar flare": (partial(_uci, "solar_flare"), 0.75, 4),
    "cmc": (partial(_uci, "cmc"), 0.75, 4),
}
REGRESSION = {
    "school": (_school, 0.75, 3),
    "school, 3,000 rows": (_school, 0.27, 4),
    "school, 1,100 rows": (_school, 0.1, 4),
    "demo": (partial(_demo, "regression"), 0.75, 4),
    "clustered": (partial(_made, datasets.make_clustered_regression), 0.75, 4),
    "clustered, large": (
        partial(_made, datasets.make_clustered_regression, **_LARGE),
        0.75,
        2,
    ),
    "linear d30": (partial(_made, datasets.make_linear_regression), 0.75, 8),
    "abalone": (partial(_uci, "abalone"), 0.75, 4),
    "auto mpg": (partial(_uci, "auto_mpg"), 0.75, 6),
    "auto mpg, origin": (partial(_uci, "auto_mpg", group="origin"), 0.75, 6),
    "boston": (partial(_uci, "boston"), 0.75, 6),
    "wine": (partial(_uci, "wine_quality"), 0.75, 2),
}
KINDS = {
    "classification": (
        MultiTaskExtraTreesClassifier,
        CLASSIFICATION,
        {
            "defaults": {},
            "leaf 5, prob 0.5, sqrt": _FIXED,
            "all features, 1 cut": {"max_features": None, "n_cuts": 1},
            "gini": {"criterion": "gini"},
        },
    ),
    "regression": (
        MultiTaskExtraTreesRegressor,
        REGRESSION,
        {
            "defaults": {},
            "leaf 5, prob 0.5": _FIXED,
            "no offset": {"task_offset": False},
            "offset": {"task_offset": True},
            "no line": {"linear_part": False},
            "line": {"linear_part": True},
            "all features": {"max_features": None},
        },
    ),
}


def _auc(y, proba, classes):
    """Mean over classes, each against the rest; NaN if none can be told."""
    pairs = [(y == c, proba[:, k]) for k, c in enumerate(classes)]
    pairs = pairs[1:] if len(classes) == 2 else pairs
    values = [roc_auc_score(is_c, p) for is_c, p in pairs if 0 < is_c.mean() < 1]
    return np.mean(values) if values else np.nan


def _score(model, X, y):
    if not hasattr(model, "predict_proba"):
        return r2_score(y, model.predict(X))
    proba, task = model.predict_proba(X), X[:, -1]
    by_task = [
        _auc(y[task == t], proba[task == t], model.classes_) for t in np.unique(task)
    ]
    return (_auc(y, proba, model.classes_) + np.nanmean(by_task)) / 2


def _chosen(model):
    """Leaf, probability; if there is a choice, cuts, or + for offsets, l for a line."""
    text = f"{model.min_samples_leaf_:g}/{model.task_split_prob_:g}"
    if hasattr(model, "task_offsets_"):
        marks = {"+": model.task_offsets_, "l": model.linear_coef_}
        return text + "".join(mark for mark, values in marks.items() if values.any())
    return f"{text}/{model.n_cuts_}"


def _line(name, make, fraction, n_splits, estimator, settings, n_trees):
    X, y = make()
    splitter = StratifiedShuffleSplit(n_splits, train_size=fraction, random_state=0)
    scores, chosen = {each: [] for each in settings}, []
    for number, (train, test) in enumerate(splitter.split(X, X[:, -1])):
        test = test[:_MOST_TEST_ROWS]
        for each, options in settings.items():
            model = estimator(n_trees, task=-1, random_state=number, **options)
            model.fit(X[train], y[train])
            scores[each].append(_score(model, X[test], y[test]))
            if not options:
                chosen.append(_chosen(model))
    cells = [name, str(len(train)), *(f"{np.mean(s):.3f}" for s in scores.values())]
    return [*cells, " ".join(chosen)], [np.mean(s) for s in scores.values()]


def main():
    """Run the suite."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.suite")
    parser.add_argument("kinds", nargs="*", default=list(KINDS), help="of the target")
    parser.add_argument("--trees", type=int, default=100, help="of each forest")
    options = parser.parse_args()
    warnings.filterwarnings("ignore", message="Mean of empty slice")
    for kind in options.kinds:
        estimator, problems, settings = KINDS[kind]
        heading = ["problem", "training rows", *settings, "chosen by split"]
        print_line(f"## {kind}\n\n| {' | '.join(heading)} |")
        print_line("|" + " --- |" * len(heading))
        means = []
        for name, problem in problems.items():
            cells, scores = _line(name, *problem, estimator, settings, options.trees)
            means.append(scores)
            print_line(f"| {' | '.join(cells)} |")
        mean = " | ".join(f"{m:.3f}" for m in np.mean(means, axis=0))
        print_line(f"| mean |  | {mean} |  |\n")


if __name__ == "__main__":
    main()
