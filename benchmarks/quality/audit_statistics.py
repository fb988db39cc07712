"""Do the audit's intervals and verdicts keep what they promise?

Problems with many tasks are drawn again and again; real folds are dealt, real
(closed-form) models fitted on them, and the audit's statistics taken each time::

    .venv/bin/python -m benchmarks.quality.audit_statistics --runs 1000

The expected gain need not be known: the mean over folds is unbiased for it, so
its mean over all runs stands in. Tests run a short version.
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import stdtrit

from kinlearn.audit.statistics._scores import Contender, Scores, task_gains
from kinlearn.audit.statistics._selection import nested_selection
from kinlearn.audit.statistics._summary import overall_tests
from kinlearn.model_selection import (
    RepeatedTaskStratifiedKFold,
    TaskStratifiedKFold,
)

__all__ = [
    "PROBLEMS",
    "RARE",
    "TWINS",
    "Problem",
    "coverage",
    "false_verdicts",
    "naive_interval",
    "noise_scores",
    "optimism",
    "play",
    "published_interval",
    "twins",
]


@dataclass(frozen=True)
class Problem:
    """A population to draw data sets from.

    Attributes
    ----------
    name : str
        For the table.
    sizes : tuple of int
        Rows of each task.
    spread : float
        Standard deviation of the tasks' own coefficients around the common ones.
    metric : {"mse", "mae", "auc"}
        Regression by ridge, or two classes by the difference of their means.
    positives : float
        Share of the positive class, for "auc".
    n_splits, n_repeats : int
        Of the cross-validation.
    """

    name: str
    sizes: tuple[int, ...]
    spread: float
    metric: str = "mse"
    positives: float = 0.2
    n_splits: int = 5
    n_repeats: int = 3


N_FEATURES = 5
PROBLEMS = (
    Problem("ridge, MSE, 20 rows", (20,) * 10, 0.2),
    Problem("ridge, MSE, 20 rows, one repeat", (20,) * 10, 0.2, n_repeats=1),
    Problem("ridge, MSE, 20 rows, ten repeats", (20,) * 10, 0.2, n_repeats=10),
    Problem("ridge, MSE, 20 rows, tasks far apart", (20,) * 10, 0.6),
    Problem("ridge, MAE, 20 rows", (20,) * 10, 0.2, "mae"),
    Problem("ridge, MSE, 100 rows", (100,) * 10, 0.2),
    Problem("ridge, MSE, 12 to 200 rows", (12, 16, 25, 40, 60, 80, 120, 200), 0.3),
    Problem("ridge, MSE, 40 tasks", (30,) * 40, 0.3),
    Problem("ridge, MSE, ten folds", (40,) * 10, 0.3, n_splits=10),
    Problem("means, AUC, 8 of 40 rows positive", (40,) * 10, 0.4, "auc"),
    Problem("means, AUC, 5 of 100 rows positive", (100,) * 10, 0.4, "auc", 0.05),
    Problem("means, AUC, 24 of 400 rows positive", (400,) * 10, 0.4, "auc", 0.06),
)
TWINS = Problem("twins", (40,) * 10, 0.0)
RARE = Problem("twins, 5 of 100 rows positive", (100,) * 10, 0.0, "auc", 0.05)


def _draw(problem, weights, rng):
    """X, y and task codes of a new data set; `weights` are of the population."""
    task = np.repeat(np.arange(len(problem.sizes)), problem.sizes)
    X = rng.standard_normal((len(task), weights.shape[1]))
    if problem.metric != "auc":
        return X, (X * weights[task]).sum(axis=1) + rng.standard_normal(len(task)), task
    place = np.concatenate([np.arange(size) for size in problem.sizes])
    y = (place < problem.positives * np.asarray(problem.sizes)[task]).astype(int)
    return X + y[:, np.newaxis] * weights[task], y, task


def _moments(X, y, metric):
    """Sums over rows that a fit needs: rows x (moments of one row)."""
    if metric == "auc":
        return np.c_[X * y[:, np.newaxis], y, X * (1 - y)[:, np.newaxis], 1 - y]
    products = X[:, :, np.newaxis] * X[:, np.newaxis, :]
    return np.c_[products.reshape(len(X), -1), X * y[:, np.newaxis]]


def _fit(moments, n_features, metric):
    """Coefficients from summed moments: difference of means, or ridge."""
    if metric == "auc":
        p = n_features
        means = moments[:, :p] / moments[:, p : p + 1]
        return means - moments[:, p + 1 : -1] / moments[:, -1:]
    squares = moments[:, : n_features**2].reshape(-1, n_features, n_features)
    products = moments[:, n_features**2 :, np.newaxis]
    return np.linalg.solve(squares + np.eye(n_features), products)[..., 0]


def _score(y, guess, task, n_tasks, metric):
    """Score by task, greater is better; NaN without rows or with one class."""
    if metric == "auc":
        return np.array([_auc(y[task == t], guess[task == t]) for t in range(n_tasks)])
    loss = np.abs(y - guess) if metric == "mae" else (y - guess) ** 2
    rows = np.bincount(task, minlength=n_tasks)
    with np.errstate(invalid="ignore"):
        return -np.bincount(task, weights=loss, minlength=n_tasks) / rows


def _auc(y, guess):
    above = guess[y == 1][:, np.newaxis] - guess[y == 0]
    return (np.sign(above).mean() + 1) / 2 if above.size else np.nan


def _cube(problem, contenders, fits, X, y, task, seed):
    """Scores of closed-form models on real folds.

    Each of `fits` is (columns, pooled): the features that a model uses, and
    whether one set of coefficients serves all tasks.
    """
    n_tasks = len(problem.sizes)
    shape = (problem.n_repeats, problem.n_splits)
    member = (task == np.arange(n_tasks)[:, np.newaxis]).astype(float)
    moments = [_moments(X[:, columns], y, problem.metric) for columns, _ in fits]
    values = np.empty((len(fits), *shape, n_tasks))
    n_train, n_test = np.empty((2, *shape, n_tasks), dtype=int)
    folds = RepeatedTaskStratifiedKFold(
        n_splits=problem.n_splits, n_repeats=problem.n_repeats, random_state=seed
    )
    for i, (train, test) in enumerate(folds.split(X, y, groups=task)):
        cell = np.unravel_index(i, shape)
        n_train[cell] = np.bincount(task[train], minlength=n_tasks)
        n_test[cell] = np.bincount(task[test], minlength=n_tasks)
        for c, (columns, pooled) in enumerate(fits):
            sums = member[:, train] @ moments[c][train]
            if pooled:
                sums = np.broadcast_to(sums.sum(axis=0), sums.shape)
            coefficients = _fit(sums, X[:, columns].shape[1], problem.metric)
            guess = (X[test][:, columns] * coefficients[task[test]]).sum(axis=1)
            values[(c, *cell)] = _score(
                y[test], guess, task[test], n_tasks, problem.metric
            )
    return Scores(
        contenders,
        np.arange(n_tasks),
        problem.sizes,
        values,
        values.mean(axis=-1),
        n_train,
        n_test,
        _units(y, member) if problem.metric == "auc" else None,
    )


def _units(y, member):
    positives = member @ y
    return np.minimum(positives, member.sum(axis=1) - positives)


PAIR = (Contender("alone", "ridge", "alone"), Contender("pooled", "ridge", "pooled"))


def play(problem, n_runs, seed=0):
    """Cubes of scores of one model a task against one for all.

    Parameters
    ----------
    problem : Problem
        The population: its tasks are the same in every run.
    n_runs : int
        Data sets to draw.
    seed : int
        Decides everything.

    Yields
    ------
    scores : Scores
        Contenders "alone" and "pooled".
    """
    rng = np.random.default_rng(seed)
    own = rng.standard_normal((len(problem.sizes), N_FEATURES))
    weights = 0.45 + problem.spread * own
    everything = slice(None)
    for run in range(n_runs):
        data = _draw(problem, weights, rng)
        fits = [(everything, False), (everything, True)]
        yield _cube(problem, PAIR, fits, *data, seed=run)


def twins(n_runs, n_sharing, n_alone, problem=TWINS, pooled=False, seed=0):
    """Cubes in which no contender is better than another, on any task.

    Every contender is the same model on two features of its own, and all
    features are alike. Which ones share is a label.

    Parameters
    ----------
    n_runs : int
        Data sets to draw.
    n_sharing, n_alone : int
        Contenders of each label.
    problem : Problem
        Its sizes, metric and folds.
    pooled : bool
        Whether each is fitted once for all tasks; otherwise task by task.
    seed : int
        Decides everything.

    Yields
    ------
    scores : Scores
        The sharing ones first.
    """
    rng = np.random.default_rng(seed)
    n = n_sharing + n_alone
    contenders = [
        Contender(f"twin {i}", "ridge", "pooled" if i < n_sharing else "alone")
        for i in range(n)
    ]
    fits = [(slice(2 * i, 2 * i + 2), pooled) for i in range(n)]
    weights = np.full((len(problem.sizes), 2 * n), 0.3)
    for run in range(n_runs):
        yield _cube(problem, contenders, fits, *_draw(problem, weights, rng), seed=run)


@dataclass(frozen=True)
class Share:
    """How often something happened, with the standard error over runs."""

    mean: float
    se: float

    @classmethod
    def of(cls, by_run):
        """Mean and standard error of one figure a run."""
        by_run = np.asarray(by_run, dtype=float)
        return cls(by_run.mean(), by_run.std(ddof=1) / np.sqrt(len(by_run)))

    def __str__(self):
        return f"{100 * self.mean:.1f}% ± {100 * self.se:.1f}"


def coverage(cubes, interval: Callable | None = None):
    """How often the intervals hold the expected gain.

    Parameters
    ----------
    cubes : iterable of Scores
        Of two contenders, one of which shares.
    interval : callable, optional
        ``interval(scores, differences) -> low, high`` by task, instead of the
        audit's.

    Returns
    -------
    by_task, overall : Share
        Of the tasks' intervals (those that exist), and of the mean's.
    width : float
        Mean width of the tasks' intervals over the narrowest one possible, the
        middle 95% of the gains themselves (taken as normal).
    """
    tasks, means = [], []
    for scores in cubes:
        headline = nested_selection(scores)
        limits = [(gain.low, gain.high) for gain in headline.gains]
        if interval is not None:
            shared, alone = map(scores.index, (headline.sharing, headline.alone))
            change = scores.values[shared] - scores.values[alone]
            limits = list(zip(*interval(scores, change), strict=True))
        gains = [gain.gain for gain in headline.gains]
        tasks.append(np.c_[gains, limits])
        means.append((headline.gain, headline.low, headline.high))
    tasks, means = np.array(tasks), np.array(means)
    known = ~np.isnan(tasks).any(axis=-1)
    inside = _holds(tasks) & known
    by_task = Share.of(inside.sum(axis=1) / known.sum(axis=1))
    spread = 2 * 1.96 * tasks[..., 0].std(axis=0, ddof=1)
    width = np.nanmean((tasks[..., 2] - tasks[..., 1]) / spread)
    return by_task, Share.of(_holds(means)), float(width)


def published_interval(scores, differences):
    """Bouckaert and Frank's: repeats count in the variance and the degrees."""
    test_ratio = scores.n_test.sum(axis=(0, 1)) / scores.n_train.sum(axis=(0, 1))
    return _t_interval(differences, test_ratio)


def naive_interval(scores, differences):
    """As if folds were independent."""
    return _t_interval(differences, 0)


def _t_interval(differences, test_ratio):
    values = differences.reshape(-1, differences.shape[-1])
    n = len(values)
    half = stdtrit(n - 1, 0.975) * np.sqrt(values.var(0, ddof=1) * (1 / n + test_ratio))
    return values.mean(axis=0) - half, values.mean(axis=0) + half


def _holds(figures):
    gain, low, high = np.moveaxis(figures, -1, 0)
    truth = gain.mean(axis=0)
    return (low <= truth) & (truth <= high)


def false_verdicts(cubes, *, nested):
    """Share of runs with a wrong word, where no task gains or loses anything.

    Parameters
    ----------
    cubes : iterable of Scores
        As :func:`twins` makes them.
    nested : bool
        Whether the audit's nested choice is judged; otherwise the pair that is
        best on all folds.

    Returns
    -------
    any_task : Share
        Runs with a task "helped" or "hurt".
    overall : Share
        Runs whose interval of the mean gain lies off zero.
    """
    any_task, overall = [], []
    for scores in cubes:
        headline = nested_selection(scores)
        gains = headline.gains
        if not nested:
            gains = task_gains(scores, headline.sharing, headline.alone)
            headline = nested_selection(_only(scores, headline.sharing, headline.alone))
        any_task.append(any(gain.verdict in {"helped", "hurt"} for gain in gains))
        overall.append(headline.low > 0 or headline.high < 0)
    return Share.of(any_task), Share.of(overall)


def _only(scores, *names):
    keep = [scores.index(name) for name in names]
    return Scores(
        [scores.contenders[i] for i in keep],
        scores.tasks,
        scores.n_rows,
        scores.values[keep],
        scores.micro[keep],
        scores.n_train,
        scores.n_test,
    )


def optimism(cubes):
    """Mean gain that a headline claims where there is none.

    Parameters
    ----------
    cubes : iterable of Scores
        As :func:`twins` makes them.

    Returns
    -------
    naive, nested : Share
        Of the pair that is best on the folds that score it, and of the audit.
    scale : float
        Standard deviation of the nested gain over runs.
    """
    pairs = [(h.naive_gain, h.gain) for h in map(nested_selection, cubes)]
    naive, nested = np.array(pairs).T
    return Share.of(naive), Share.of(nested), float(nested.std(ddof=1))


def _coverage_table(runs):
    _row("problem", "a task", "mean gain", "width", head=True)
    for problem in PROBLEMS:
        by_task, overall, width = coverage(play(problem, runs))
        _row(problem.name, by_task, overall, f"{width:.2f}")


def _unstable_table(runs):
    _row("unstable twins", "the audit", "as published", "independent", head=True)
    for n_repeats in (1, 3, 10):
        cubes = list(twins(runs, 1, 1, replace(RARE, n_repeats=n_repeats)))
        ways = (None, published_interval, naive_interval)
        _row(f"{n_repeats} x 5 folds", *(coverage(cubes, way)[0] for way in ways))


def _verdict_table(runs):
    _row("no contender is better", "any task", "mean gain", head=True)
    for name, problem in (
        ("40 rows", TWINS),
        ("15 rows", replace(TWINS, sizes=(15,) * 10)),
        ("unstable: 5 of 100 rows positive", RARE),
        ("unstable, one repeat", replace(RARE, n_repeats=1)),
    ):
        _row(name, *false_verdicts(twins(runs, 1, 1, problem), nested=True))
    for nested in (True, False):
        found = false_verdicts(twins(runs, 8, 2), nested=nested)
        _row(f"best of 8 against best of 2, {'nested' if nested else 'naive'}", *found)


def _wilcoxon_table(runs):
    _row("no contender is better", "Wilcoxon's p below 5%", head=True)
    for pooled in (False, True):
        for size in (40, 15):
            problem = replace(TWINS, sizes=(size,) * 10)
            cubes = twins(runs, 1, 1, problem, pooled=pooled)
            rejected = Share.of([overall_tests(c).wilcoxon_p < 0.05 for c in cubes])
            _row(f"{size} rows, {'pooled' if pooled else 'task by task'}", rejected)


def _optimism_table(runs):
    _row("contenders", "naive gain", "nested gain", "sd of a gain", head=True)
    for sides in ((1, 1), (4, 2), (8, 2)):
        naive, nested, sd = optimism(twins(runs, *sides))
        cells = [f"{found.mean:+.4f} ± {found.se:.4f}" for found in (naive, nested)]
        _row(f"{sides[0]} sharing, {sides[1]} alone", *cells, f"{sd:.4f}")


def noise_scores(n_runs, stratify, n_tasks=20, n_rows=10, seed=0):
    """Scores of constants on folds, where targets are noise.

    Parameters
    ----------
    n_runs : int
        Data sets to draw.
    stratify : {"auto", None}
        Of the folds: by task and target, or by task.
    n_tasks, n_rows : int
        Tasks, and rows of each.
    seed : int
        Decides everything.

    Returns
    -------
    accuracy, log_loss, explained_variance : Share
        Of the most common class, of the fraction of each class (a row of each added),
        and of the mean, all of the training rows of the task.
    """
    rng = np.random.default_rng(seed)
    task = np.repeat(np.arange(n_tasks), n_rows)
    found = []
    for run in range(n_runs):
        labels, numbers = rng.integers(2, size=len(task)), rng.normal(size=len(task))
        coin = rng.random(n_tasks) < 0.5  # which class, where both are as common
        options = {"shuffle": True, "random_state": run, "stratify": stratify}
        sums = np.zeros(3)
        for y in (labels, numbers):
            for train, test in TaskStratifiedKFold(5, **options).split(y, y, task):
                n = np.bincount(task[train], minlength=n_tasks)
                total = np.bincount(task[train], y[train], n_tasks)
                own, new = task[test], y[test]
                if y is numbers:
                    sums[2] += (1 - (new - (total / n)[own]) ** 2).sum()
                    continue
                common = np.where(2 * total == n, coin, 2 * total > n)
                p = ((total + 1) / (n + 2))[own]
                sums[0] += (new == common[own]).sum()
                sums[1] -= np.log(np.where(new == 1, p, 1 - p)).sum()
        found.append(sums / len(task))
    return [Share.of(column) for column in np.transpose(found)]


def _folds_table(runs):
    _row("targets of noise", "accuracy", "log loss", "explained variance", head=True)
    for name, stratify in (("by task and class", "auto"), ("by task", None)):
        found = noise_scores(runs, stratify)
        _row(f"folds {name}", *(f"{f.mean:.3f} ± {f.se:.3f}" for f in found))


def _row(*cells, head=False):
    if head:
        print()
    print("|", " | ".join(map(str, cells)), "|", flush=True)
    if head:
        print("|---" * len(cells) + "|")


TABLES = {
    "coverage": _coverage_table,
    "unstable": _unstable_table,
    "verdicts": _verdict_table,
    "wilcoxon": _wilcoxon_table,
    "optimism": _optimism_table,
    "folds": _folds_table,
}


def main(arguments=None):
    """Run the simulations and print the tables of the guide."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("tables", nargs="*", default=[], help=", ".join(TABLES))
    parser.add_argument("--runs", type=int, default=1000)
    options = parser.parse_args(arguments)
    unknown = sorted({*options.tables} - {*TABLES})
    if unknown:
        parser.error(f"no table {unknown[0]!r}; there are {', '.join(TABLES)}")
    for name in options.tables or TABLES:
        TABLES[name](options.runs)


if __name__ == "__main__":
    main()
