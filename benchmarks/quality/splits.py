"""How rows are divided.

Written out here, and not taken from `kinlearn.model_selection`: the splits of a
protocol must stay the same when the library's splitters change.
"""

import numpy as np

__all__ = ["first_fraction_of_each_task"]


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
