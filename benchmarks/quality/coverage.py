"""Do intervals and sets of level 0.9 hold nine of ten rows, task by task?

    KINLEARN_DATA=... python -m benchmarks.quality.coverage 'kin-*' landmine-75

fits Kin (``effort="fast"``) and the conformal wrappers over multi-task gradient
boosting and multi-task extra trees to the training rows of protocols, and looks at the
test rows:

- ``same``: those of the protocol's split, so rows like those of fit;
- ``fewer``: the same test rows, after a fit to a fifth of each task's training rows
  (five at least);
- ``shifted``: a third of the test rows, drawn with odds that grow by a factor of e with
  each standard deviation along the features' first principal component;
- ``new``: test rows of tasks that fit had no rows of, a fifth of the tasks; where there
  are ten tasks or more.

A record is one line of JSON for each split, contender and condition; those that the
file has are not made again. ``size`` is the mean width of intervals in standard
deviations of the training targets, or the mean number of classes in a set. ``chance``
is what a contender that covers each row with probability 0.9 has for the worst tenth
of tasks, with as many test rows. The tables of the documentation are drawn by
``python -m benchmarks.quality.pages``.
"""

import argparse
import time
import warnings

import numpy as np
from scipy.stats import beta

import benchmarks.quality.protocols  # noqa: F401 - declares the protocols
from benchmarks.commandline import count, print_line
from benchmarks.environment import RECORDS, commit_of_source
from benchmarks.jsonlines import JsonLines
from benchmarks.problems import load
from benchmarks.quality.ours import EXTRA_TREES, GRADIENT_BOOSTING
from benchmarks.quality.protocol import PROTOCOLS
from kinlearn import KinClassifier, KinRegressor
from kinlearn.sharing import ConformalClassifier, ConformalRegressor

__all__ = ["CONDITIONS", "LEVEL", "MODELS", "measure", "shifted_rows", "worst_tenth"]

LEVEL = 0.9
CONDITIONS = ("same", "fewer", "shifted", "new")
_FEWEST_TASKS = 10  # of which some can be new: nine others are enough for the level
_DRAWS = 2_000


def _kin(problem, seed):
    estimator = KinClassifier if problem.kind == "classification" else KinRegressor
    return estimator(task=-1, effort="fast", unknown_task="share", random_state=seed)


def _wrapped(contender):
    def make(problem, seed):
        classes = problem.kind == "classification"
        wrapper = ConformalClassifier if classes else ConformalRegressor
        model = contender.make(problem, seed)
        return wrapper(model, task=-1, unknown_task="share", random_state=seed)

    return make


MODELS = {
    "Kin": _kin,
    "boosting": _wrapped(GRADIENT_BOOSTING),
    "extra trees": _wrapped(EXTRA_TREES),
}


def worst_tenth(coverage):
    """Mean coverage of the tenth of tasks that have the least, of one task at least."""
    n = max(len(coverage) // 10, 1)
    return float(np.sort(coverage)[:n].mean())


def _worst_by_chance(n_rows, level, rng):
    hits = rng.binomial(n_rows.astype(int), level, (_DRAWS, len(n_rows)))
    return float(np.mean([worst_tenth(each) for each in hits / n_rows]))


def measure(model, X, y, unit, rng):
    """Coverage of a fitted model on new rows, as a record has it.

    Parameters
    ----------
    model : estimator
        With ``coverage`` and ``predict_interval`` or ``predict_set``.
    X, y : arrays
        New rows.
    unit : float
        What widths are divided by.
    rng : Generator
        For what chance alone would give.

    Returns
    -------
    dict
        Coverage over rows, mean of tasks, of the worst tenth of tasks and what chance
        gives for it, tasks that are clearly below the level, mean size, and fraction of
        rows with endless intervals.
    """
    found = model.coverage(X, y, level=LEVEL)
    if hasattr(model, "predict_interval"):
        low, high = model.predict_interval(X, LEVEL).T
        size = (high - low) / unit
    else:
        size = model.predict_set(X, LEVEL).sum(axis=1)
    finite = np.isfinite(size)
    covered = found.coverage * found.n_rows
    top = beta.ppf(0.975, covered + 1, np.maximum(found.n_rows - covered, 1e-9))
    return {
        "rows": round(found.overall, 4),
        "tasks": round(found.mean_of_tasks, 4),
        "worst": round(worst_tenth(found.coverage), 4),
        "chance": round(_worst_by_chance(found.n_rows, LEVEL, rng), 4),
        "below": int((top < LEVEL).sum()),
        "n_tasks": len(found.tasks),
        "n_test": len(y),
        "size": round(float(size[finite].mean()), 4) if finite.any() else None,
        "endless": round(float(1 - finite.mean()), 4),
    }


def shifted_rows(X, rng):
    """A third of the rows, those further along the first component likelier."""
    Z = X[:, :-1] - X[:, :-1].mean(axis=0)
    spread = Z.std(axis=0)
    Z = Z[:, spread > 0] / spread[spread > 0]
    along = Z @ np.linalg.svd(Z, full_matrices=False)[2][0]
    key = along / along.std() + rng.gumbel(size=len(X))
    return np.sort(np.argsort(-key)[: len(X) // 3])


def _some_of_each_task(task, train, rng):
    """A fifth of the training rows of each task, five at least."""
    kept = []
    for t in np.unique(task[train]):
        own = rng.permutation(train[task[train] == t])
        kept.append(own[: max(len(own) // 5, 5)])
    return np.concatenate(kept)


def _fits(problem, train, test, rng):
    """Training rows, and what is tested after the fit to them."""
    yield train, {"same": test, "shifted": test[shifted_rows(problem.X[test], rng)]}
    yield _some_of_each_task(problem.task, train, rng), {"fewer": test}
    tasks = np.unique(problem.task)
    if len(tasks) >= _FEWEST_TASKS:
        new = rng.permutation(tasks)[: len(tasks) // 5]
        if len(tasks) - len(new) < LEVEL / (1 - LEVEL):
            new = new[:1]
        is_new = np.isin(problem.task, new)
        yield train[~is_new[train]], {"new": test[is_new[test]]}


def _play(protocol, number, contender, done):
    problem = load(protocol.problem)
    X, y = problem.X, problem.y
    for train, tested in _fits(
        problem, *protocol.split(problem, number), np.random.default_rng(number)
    ):
        if all((protocol.name, number, contender, each) in done for each in tested):
            continue
        start = time.process_time()
        model = MODELS[contender](problem, number).fit(X[train], y[train])
        seconds = time.process_time() - start
        for condition, rows in tested.items():
            rng = np.random.default_rng(number)
            yield {
                "problem": protocol.name,
                "kind": problem.kind,
                "split": number,
                "contender": contender,
                "condition": condition,
                "n_train": len(train),
                **measure(model, X[rows], y[rows], float(y[train].std()), rng),
                "seconds": round(seconds, 1),
                "commit": commit_of_source(),
            }


def key_of(record):
    """What tells records apart."""
    return tuple(record[k] for k in ("problem", "split", "contender", "condition"))


def main(arguments=None):
    """Run what the file of records has not."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality.coverage")
    parser.add_argument("names", nargs="+", help="protocols, or patterns")
    parser.add_argument("--splits", type=count, default=1, help="of each protocol")
    parser.add_argument("--out", default=RECORDS / "coverage.jsonl", help="records")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with JsonLines(options.out) as file:
        done = {key_of(record) for record in file.records}
        for protocol in PROTOCOLS.select(options.names):
            for number in range(min(options.splits, protocol.n_splits)):
                for contender in MODELS:
                    for record in _play(protocol, number, contender, done):
                        if key_of(record) not in done:
                            file.append(record)
                            done.add(key_of(record))
                    print_line(f"{protocol.name}, split {number}: {contender}")


if __name__ == "__main__":
    main()
