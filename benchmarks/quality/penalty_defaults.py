"""Is `alpha="auto"` of the multi-task penalties a good default? Against the best alpha.

    KINLEARN_DATA=... python -m benchmarks.quality.penalty_defaults

fits every penalty to training rows of landmine and made tasks (those of
`boosting_defaults`, which no protocol reports), and prints how much larger the loss of
rows held out is than that of the best alpha of the same path, which nobody can know.

A record is one line of JSON: losses of one penalty on one split (log loss, or one less
the explained variance), by the choice on held-out rows and by the best alpha, and these
alphas relative to the largest. Records that the file has are not made again.
"""

import time
from pathlib import Path

import numpy as np
from scipy.special import expit

from benchmarks.commandline import print_line
from benchmarks.jsonlines import JsonLines
from benchmarks.quality.boosting_defaults import PROBLEMS, losses_of
from benchmarks.quality.kin_suite import KINDS
from kinlearn.linear import MultiTaskLinearClassifier, MultiTaskLinearRegressor

RECORDS = Path(__file__).parents[1] / "records" / "penalty_defaults.jsonl"
PENALTIES = ("l21", "trace", "covariance", "clustered", "shared_sparse")
_N_SPLITS = {
    "landmine": 2,
    **{f"{name}, regression": 2 for name in KINDS},
    **{f"{name}, classification": 2 for name in KINDS},
}


def _loss(kind, y, task, scores):
    if kind == "regression":
        return losses_of(kind, y, task, scores)["unexplained"]
    proba = np.column_stack([expit(-scores), expit(scores)])
    return float(losses_of(kind, y, task, proba)["log_loss"])


def run(penalty, name, number):
    """Losses of the chosen and of the best alpha on one split."""
    kind, X, y, X_held, y_held = PROBLEMS[name][0](number)
    estimator = MultiTaskLinearRegressor
    if kind == "classification":
        estimator = MultiTaskLinearClassifier
    start = time.process_time()
    auto = estimator(penalty, task=-1).fit(X, y)
    seconds = time.process_time() - start
    path = estimator(penalty, task=-1).coefficient_path(X, y)
    place = np.searchsorted(auto.tasks_, X_held[:, -1])
    losses = []
    for coef, intercept in [
        (auto.coef_, auto.intercept_),
        *zip(path.coefs, path.intercepts, strict=True),
    ]:
        scores = np.einsum("ij,ij->i", X_held[:, :-1], coef[place]) + intercept[place]
        losses.append(_loss(kind, y_held, X_held[:, -1], scores))
    best = int(np.argmin(losses[1:]))
    most = path.alphas[0]
    return {
        "chosen": losses[0],
        "best": losses[1 + best],
        "chosen_alpha": auto.alpha_ / most,
        "best_alpha": path.alphas[best] / most,
        "last_alpha": path.alphas[-1] / most,
        "seconds": seconds,
    }


def main():
    """Fit what is missing, and print a line for each penalty."""
    with JsonLines(RECORDS) as store:
        done = {(r["penalty"], r["problem"], r["split"]) for r in store.records}
        for name, n_splits in _N_SPLITS.items():
            for split in range(n_splits):
                for penalty in PENALTIES:
                    if (penalty, name, split) in done:
                        continue
                    key = {"penalty": penalty, "problem": name, "split": split}
                    store.append({**key, **run(penalty, name, split)})
        for penalty in PENALTIES:
            mine = [r for r in store.records if r["penalty"] == penalty]
            excess = np.array([r["chosen"] / r["best"] - 1 for r in mine])
            at_end = np.mean([r["best_alpha"] <= r["last_alpha"] * 1.001 for r in mine])
            print_line(
                f"{penalty}: {100 * np.median(excess):.2f} % more loss in the median, "
                f"{100 * excess.max():.1f} % at most, of {len(mine)} splits; the best "
                f"alpha is the least of the path in {100 * at_end:.0f} %"
            )


if __name__ == "__main__":
    main()
