"""Several classes by machines of two: one against one, or one against the rest."""

from itertools import combinations

import numpy as np

__all__ = ["class_pairs", "class_scores", "signs_of_pair"]


def class_pairs(n_classes, multi_class):
    """The two classes of each machine.

    Parameters
    ----------
    n_classes : int
        Number of classes, two or more.
    multi_class : {"ovo", "ovr"}
        A machine for each pair of classes, or for each class against the rest.

    Returns
    -------
    list of tuple
        (negative class, positive class); -1 is the rest.
    """
    if n_classes > 2 and multi_class == "ovr":
        return [(-1, c) for c in range(n_classes)]
    return list(combinations(range(n_classes), 2))


def signs_of_pair(y, pair):
    """The rows of one machine as 1, -1, and 0 for those that it does not see.

    Parameters
    ----------
    y : int array of shape (n,)
        Class codes.
    pair : tuple
        As from :func:`class_pairs`.

    Returns
    -------
    int array of shape (n,)
        Signs.
    """
    negative = y != pair[1] if pair[0] < 0 else y == pair[0]
    return np.where(y == pair[1], 1, np.where(negative, -1, 0))


def class_scores(values, n_classes, multi_class):
    """A score of each class, from what the machines say.

    Parameters
    ----------
    values : array of shape (n, n_machines)
        Decision values, in the order of :func:`class_pairs`.
    n_classes, multi_class : int, str
        As there.

    Returns
    -------
    array of shape (n,) for two classes, or (n, n_classes)
        Votes and a fraction of the summed values ("ovo"), or the values.
    """
    if n_classes == 2:
        return values[:, 0]
    if multi_class == "ovr":
        return values
    votes, sums = np.zeros((2, len(values), n_classes))
    for value, (one, two) in zip(values.T, class_pairs(n_classes, "ovo"), strict=True):
        sums[:, one] -= value
        sums[:, two] += value
        votes[:, one] += value <= 0
        votes[:, two] += value > 0
    return votes + sums / (3 * (np.abs(sums) + 1))  # less than a third of a vote
