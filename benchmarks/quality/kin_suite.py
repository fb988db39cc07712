"""Nobody is hurt: the Kin estimators on made tasks of all kinds.

``python -m benchmarks.quality.kin_suite`` fits the Kin estimators, and models of each
task alone and of all tasks pooled of the same families, to made tasks, scores them on
new rows of every task, and prints a table by kind of tasks. A task is hurt if its mean
loss is higher than that of the better of alone and pooled, and the difference over the
seeds is significant (one-sided paired t-test, Holm's correction over the tasks of a
problem). Records are JSON lines; those that the file has are not made again.
"""

import argparse
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.stats import ttest_1samp
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.commandline import print_line
from benchmarks.environment import RECORDS as _FOLDER
from benchmarks.environment import commit_of_source
from benchmarks.jsonlines import JsonLines
from kinlearn import KinClassifier, KinRegressor, with_task
from kinlearn.sharing import PerTask, Pooled
from kinlearn.trees import MultiTaskExtraTreesClassifier, MultiTaskExtraTreesRegressor

__all__ = ["KINDS", "RECORDS", "Made", "hurt_tasks", "make_tasks", "play", "table"]

RECORDS = _FOLDER / "kin_suite.jsonl"
_FEATURES = 6
_TEST_ROWS = 1_000
# sizes of the tasks, and how their slopes lie around a common one
KINDS = {
    "related": ((60,) * 6, "near"),
    "unrelated": ((60,) * 6, "apart"),
    "opposed": ((60,) * 6, "opposed"),
    "one stranger": ((60,) * 6, "stranger"),
    "tiny": ((8, 8, 8, 8, 150, 150), "near"),
    "huge and unrelated": ((1_500, 40, 40, 40, 40, 40), "stranger"),
}


@dataclass(frozen=True, eq=False)
class Made:
    """Rows to train on and to test on, the task as the last column of X."""

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def _slopes(how, n_tasks, rng):
    common = rng.standard_normal(_FEATURES)
    own = rng.standard_normal((n_tasks, _FEATURES))
    if how == "near":
        return common + 0.3 * own
    if how == "apart":
        return own
    slopes = common + 0.1 * own
    if how == "opposed":
        slopes[::2] *= -1
    else:  # the first is another
        slopes[0] = -common + own[0]
    return slopes


def _of_mean(mean, target, rng):
    if target == "counts":
        return rng.poisson(mean).astype(float)
    return rng.gamma(2.0, mean / 2.0)


def make_tasks(name, target, seed, *, curved=False):
    """Tasks of one kind.

    Parameters
    ----------
    name : str
        A key of ``KINDS``.
    target : {"classification", "regression", "counts", "costs", "spread"}
        What y holds. Counts are of a Poisson distribution and costs of a gamma
        distribution with shape 2; of spread tasks the noise grows with the first
        feature.
    seed : int
        Decides the rows and the tasks' slopes.
    curved : bool, default=False
        Whether y bends and interacts in the features.

    Returns
    -------
    Made
        The rows.
    """
    rng = np.random.default_rng(seed)
    sizes, how = KINDS[name]
    slopes = _slopes(how, len(sizes), rng)

    def draw(sizes):
        task = np.repeat(np.arange(len(sizes)), sizes)
        X = rng.standard_normal((len(task), _FEATURES))
        Z = X
        if curved:
            Z = np.sin(2 * X) + np.roll(X, 1, axis=1) * (X > 0)
        score = (Z * slopes[task]).sum(axis=1)
        if target == "classification":
            y = (score + rng.logistic(size=len(task)) > 0).astype(int)
        elif target == "regression":
            y = score + 1.5 * rng.standard_normal(len(task))
        elif target == "spread":
            y = score + np.exp(X[:, 0] / 2) * rng.standard_normal(len(task))
        else:
            y = _of_mean(np.exp(0.3 * score + 0.5), target, rng)
        return with_task(X, task), y

    return Made(*draw(sizes), *draw((_TEST_ROWS,) * len(sizes)))


def _forms(target, family, seed):
    """One model for each task, and one for all, of one family."""
    if family == "trees":
        forest = (
            MultiTaskExtraTreesClassifier
            if target == "classification"
            else MultiTaskExtraTreesRegressor
        )
        model = forest(100, random_state=seed)
    elif target == "classification":
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.3))
    else:
        model = make_pipeline(StandardScaler(), RidgeCV(10.0 ** np.arange(-1, 4)))
    return PerTask(model, task=-1), Pooled(model, task=-1)


def _losses(model, made):
    """Log loss, or squared error, on new rows of each task."""
    task = made.X_test[:, -1].astype(int)
    if hasattr(model, "predict_proba"):
        proba = model.predict_proba(made.X_test)
        truth = proba[np.arange(len(task)), made.y_test]
        loss = -np.log(np.maximum(truth, 1e-3))
    else:
        loss = (model.predict(made.X_test) - made.y_test) ** 2
    return np.bincount(task, weights=loss) / np.bincount(task)


def play(name, target, families, seeds, *, curved=False, **options):
    """Losses of Kin, alone and pooled, by seed and task.

    Parameters
    ----------
    name, target : str
        What tasks; see :func:`make_tasks`.
    families : list of {"linear", "trees"}
        Of Kin, and of the models alone and pooled.
    seeds : iterable of int
        One problem each.
    curved : bool, default=False
        See :func:`make_tasks`.
    **options
        Of the Kin estimator.

    Returns
    -------
    dict of str to float64 array of shape (n_seeds, n_tasks)
        "kin", and "alone" and "pooled" of each family.
    """
    estimator = KinClassifier if target == "classification" else KinRegressor
    found: dict[str, list] = {}
    for seed in seeds:
        made = make_tasks(name, target, seed, curved=curved)
        models = {
            "kin": estimator(
                task=-1,
                families=families,
                unknown_task="error",
                random_state=seed,
                **options,
            )
        }
        for family in families:
            alone, pooled = _forms(target, family, seed)
            models |= {f"{family}, alone": alone, f"{family}, pooled": pooled}
        for key, model in models.items():
            loss = _losses(model.fit(made.X, made.y), made)
            found.setdefault(key, []).append(loss)
    return {key: np.array(values) for key, values in found.items()}


def hurt_tasks(losses, level=0.05):
    """Tasks for which Kin is worse than the better of all forms.

    Parameters
    ----------
    losses : dict
        As :func:`play` gives them.
    level : float, default=0.05
        Of the test, for all tasks together (Holm).

    Returns
    -------
    excess : float64 array of shape (n_tasks,)
        Loss of Kin over that of the better form, less 1, in the mean of the seeds.
    hurt : list of int
        Tasks whose excess is significant.
    """
    kin = losses["kin"]
    others = np.stack([v for key, v in losses.items() if key != "kin"])
    best = others.mean(axis=1).argmin(axis=0)  # by task, in the mean of the seeds
    better = others[best, :, np.arange(kin.shape[1])].T
    excess = kin.mean(axis=0) / better.mean(axis=0) - 1
    p = ttest_1samp(kin - better, 0.0, axis=0, alternative="greater").pvalue
    order, hurt = np.argsort(p), []
    for rank, t in enumerate(order):
        if p[t] > level / (len(p) - rank):
            break
        hurt.append(int(t))
    return excess, sorted(hurt)


def record(name, target, curved, families, seed, effort="standard"):
    """One problem's losses by model and task, as a record."""
    found = play(name, target, families, [seed], curved=curved, effort=effort)
    losses = {key: np.round(each[0], 6).tolist() for key, each in found.items()}
    return {
        "tasks": name,
        "target": target,
        "shape": "curved" if curved else "linear",
        "families": ",".join(families),
        "effort": effort,
        "seed": seed,
        "commit": commit_of_source(),
        "losses": losses,
    }


def table(records, families):
    """Worst and mean excess, and who is hurt, by kind of tasks.

    Parameters
    ----------
    records : iterable of dict
        As :func:`record` makes them.
    families : str
        Those of the records that count, with commas.

    Returns
    -------
    rows : list of list of str
        The heading first.
    n_hurt, n_tasks : int
        Tasks that are hurt, and all.
    """
    kinds = {}
    for found in records:
        if found["families"] == families:
            key = found["tasks"], found["target"], found["shape"]
            kinds.setdefault(key, {})[found["seed"]] = found["losses"]
    rows = [
        ["tasks", "target", "shape", "seeds", "worst excess", "mean excess", "hurt"]
    ]
    n_hurt, n_tasks = 0, 0
    for key, by_seed in kinds.items():
        models = next(iter(by_seed.values()))
        losses = {
            model: np.array([each[model] for each in by_seed.values()])
            for model in models
        }
        if len(by_seed) < 2:
            continue
        excess, hurt = hurt_tasks(losses)
        n_hurt, n_tasks = n_hurt + len(hurt), n_tasks + len(excess)
        figures = [f"{100 * each:+.1f}%" for each in (excess.max(), excess.mean())]
        names = ", ".join(map(str, hurt)) or "none"
        rows.append([*key, str(len(by_seed)), *figures, names])
    return rows, n_hurt, n_tasks


def main():
    """Play what is missing, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.kin_suite")
    parser.add_argument("--seeds", type=int, default=10, help="problems of each kind")
    parser.add_argument("--families", default="linear,trees", help="of the candidates")
    parser.add_argument("--effort", default="standard", help="of Kin")
    parser.add_argument("--out", default=RECORDS, help="file of the records")
    options = parser.parse_args()
    keys = ("tasks", "target", "shape", "families", "effort", "seed")
    with JsonLines(options.out) as store:
        done = {tuple(found[key] for key in keys) for found in store.records}
        for seed in range(options.seeds):  # all kinds have as many, when it is cut
            for target in ("classification", "regression"):
                for curved, name in product((False, True), KINDS):
                    shape = "curved" if curved else "linear"
                    key = (name, target, shape, options.families, options.effort, seed)
                    if key not in done:
                        families = options.families.split(",")
                        store.append(
                            record(name, target, curved, families, seed, options.effort)
                        )
        rows, n_hurt, n_tasks = table(store.records, options.families)
    for row in rows:
        print_line(f"| {' | '.join(row)} |")
    print_line(f"{n_hurt} of {n_tasks} tasks are hurt.")


if __name__ == "__main__":
    main()
