"""How rows are divided.

Written out here, and not taken from `kinlearn.model_selection`: the splits of a
protocol must stay the same when the library's splitters change.
"""

import numpy as np

from benchmarks.quality.kin_suite import KINDS

__all__ = ["draw_of_made_tasks", "first_fraction_of_each_task"]


def first_fraction_of_each_task(problem, number, fraction):
    """Permute the rows of each task; the first `fraction` of them train.

    Parameters
    ----------
    problem : Problem
        What to divide.
    number : int
        Number of the split; it seeds the permutations.
    fraction : float
        Of each task, rounded down to whole rows.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    rng = np.random.default_rng(number)
    task = problem.task
    train, test = [], []
    for t in np.unique(task):
        rows = rng.permutation(np.flatnonzero(task == t))
        cut = int(fraction * len(rows))
        train.append(rows[:cut])
        test.append(rows[cut:])
    return np.concatenate(train), np.concatenate(test)


def draw_of_made_tasks(problem, number, name, n_draws):
    """The rows of one draw of made tasks, which no other split has.

    Parameters
    ----------
    problem : Problem
        Draws of equal size one after another, in each the training rows first.
    number : int
        Of the draw.
    name : str
        A key of `benchmarks.quality.kin_suite.KINDS`.
    n_draws : int
        How many draws there are.

    Returns
    -------
    train, test : int arrays
        Row numbers.
    """
    n_train = sum(KINDS[name][0])
    rows = np.arange(len(problem.y)).reshape(n_draws, -1)[number]
    return rows[:n_train], rows[n_train:]
