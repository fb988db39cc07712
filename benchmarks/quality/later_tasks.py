"""What is lost if tasks are added to a fitted model instead of fitting anew?

    KINLEARN_DATA=... python -m benchmarks.quality.later_tasks --repeats 5

Five tasks are held back and added one by one (`add_task`). Scored are their test rows:
AUC (landmine) or explained variance (school), the mean over the five tasks. `unknown`
is the model without these tasks, which answers for them by what is common
(``unknown_task="share"``); `added` is the same model after `add_task`; `refit` was
fitted to the training rows of all tasks. The difference to it comes with its standard
error over the repetitions.

    KINLEARN_DATA=... python -m benchmarks.quality.later_tasks --what rows

Five tasks have half of their training rows when the model is fitted (`before`), and get
the others by `partial_fit`, task by task (`added`).
"""

import argparse
import time

import numpy as np
from sklearn.base import clone
from sklearn.metrics import roc_auc_score

from benchmarks.commandline import print_line
from benchmarks.problems import load
from kinlearn.boosting import (
    AbstainingAdaBoostClassifier,
    MTBoostClassifier,
    MTBoostRegressor,
    MultiTaskAdaBoostClassifier,
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)
from kinlearn.svm import MultiTaskSVC, MultiTaskSVR
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor

N_HELD = 5
# problem: (fraction of rows that trains, models)
CASES = {
    "landmine": {
        "forest": (0.75, MultiTaskExtraTreesClassifier(100, task=-1)),
        "SVM+MTL, rbf": (
            0.25,
            MultiTaskSVC(task=-1, class_weight={0: 1.0, 1: 10.0}, gamma="median"),
        ),
        "two-task stumps": (0.75, AbstainingAdaBoostClassifier(300, task=-1)),
        "boosted trees": (
            0.75,
            MultiTaskAdaBoostClassifier(task=-1, n_estimators=20),
        ),
        "gradient boosting": (0.75, MultiTaskGradientBoostingClassifier(task=-1)),
        "MTBoost": (0.75, MTBoostClassifier(task=-1, n_estimators=30)),
    },
    "school": {
        "forest": (0.75, MultiTaskExtraTreesRegressor(100, task=-1)),
        "SVM+MTL, linear": (
            0.75,
            MultiTaskSVR(
                0.02, task=-1, kernel="linear", correction_penalty=10.0, epsilon=1.0
            ),
        ),
        "gradient boosting": (0.75, MultiTaskGradientBoostingRegressor(task=-1)),
        "MTBoost": (0.75, MTBoostRegressor(task=-1, n_estimators=30)),
    },
}

# Models that cut features, whatever their scale.
_RAW = (
    MultiTaskExtraTreesClassifier,
    MultiTaskExtraTreesRegressor,
    AbstainingAdaBoostClassifier,
    MultiTaskAdaBoostClassifier,
    MultiTaskGradientBoostingClassifier,
    MultiTaskGradientBoostingRegressor,
)


def _scores(model, X, y, tasks):
    out = []
    for t in tasks:
        own = X[:, -1] == t
        if hasattr(model, "classes_"):
            ask = getattr(model, "predict_proba", None)
            value = ask(X[own])[:, 1] if ask else model.decision_function(X[own])
            out.append(roc_auc_score(y[own], value))
        else:
            rest = y[own] - model.predict(X[own])
            out.append(100 * (1 - np.mean(rest**2) / np.var(y)))
    return np.mean(out)


def _standardised(X, train):
    """Features of unit variance on training rows, for machines and MTBoost."""
    X = X.astype(np.float64)
    mean, scale = X[train].mean(axis=0), X[train].std(axis=0)
    scale[scale == 0] = 1.0
    X[:, :-1] = (X[:, :-1] - mean[:-1]) / scale[:-1]
    return X


def repetition(problem, fraction, model, seed, what):
    """Scores of one draw of tasks and rows, and seconds of adding and refitting."""
    rng = np.random.default_rng(seed)
    X, y = problem.X, problem.y
    held = rng.choice(np.unique(X[:, -1]), N_HELD, replace=False)
    train = rng.random(len(y)) < fraction
    if not isinstance(model, _RAW):
        X = _standardised(X, train)
    test = ~train & np.isin(X[:, -1], held)
    model = clone(model).set_params(unknown_task="share")
    if "random_state" in model.get_params():
        model.set_params(random_state=seed)
    late = train & np.isin(X[:, -1], held)
    if what == "rows":
        late &= rng.random(len(y)) < 0.5
    first = train & ~late
    fitted = clone(model).fit(X[first], y[first])
    before = _scores(fitted, X[test], y[test], held)
    add = fitted.add_task if what == "tasks" else fitted.partial_fit
    start = time.perf_counter()
    for t in held:
        own = late & (X[:, -1] == t)
        add(X[own], y[own])
    added_in = time.perf_counter() - start
    added = _scores(fitted, X[test], y[test], held)
    start = time.perf_counter()
    refit = clone(model).fit(X[train], y[train])
    refit_in = time.perf_counter() - start
    return before, added, _scores(refit, X[test], y[test], held), added_in, refit_in


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--models", nargs="*", help="labels; all by default")
    parser.add_argument("--what", choices=["tasks", "rows"], default="tasks")
    args = parser.parse_args()
    without = "unknown" if args.what == "tasks" else "before"
    print_line(
        f"| data | model | {without} | added | refit | added - refit | seconds |"
    )
    print_line("|---|---|---|---|---|---|---|")
    for name, models in CASES.items():
        problem = load(name)
        for label, (fraction, model) in models.items():
            if args.models and label not in args.models:
                continue
            runs = np.array(
                [
                    repetition(problem, fraction, model, seed, args.what)
                    for seed in range(args.repeats)
                ]
            )
            mean = runs.mean(axis=0)
            gap = runs[:, 1] - runs[:, 2]
            error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
            print_line(
                f"| {name} | {label} | {mean[0]:.3f} | {mean[1]:.3f} | {mean[2]:.3f} | "
                f"{gap.mean():+.3f} ± {error:.3f} | {mean[3]:.2f} / {mean[4]:.2f} |"
            )


if __name__ == "__main__":
    main()
