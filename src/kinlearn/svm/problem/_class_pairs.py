"""Several classes by machines of two: one against one, or one against the rest."""

from itertools import combinations

import numpy as np

__all__ = ["class_pairs", "class_scores", "signs_of_pair"]


def class_pairs(n_classes: int, multi_class: str) -> list[tuple[int, int]]:
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


def signs_of_pair(y: np.ndarray, pair: tuple[int, int]) -> np.ndarray:
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


def class_scores(
    values: np.ndarray,
    n_classes: int,
    multi_class: str,
    allowed: np.ndarray | None = None,
) -> np.ndarray:
    """A score of each class, from the values of the machines.

    Parameters
    ----------
    values : array of shape (n, n_machines)
        Decision values, in the order of :func:`class_pairs`.
    n_classes, multi_class : int, str
        As there.
    allowed : bool array of shape (n, n_classes), default=None
        Classes that the row's task has; None is all.

    Returns
    -------
    array of shape (n,) for two classes, or (n, n_classes)
        Votes and a fraction of the summed values ("ovo"), or the values; of classes
        that are not allowed, one less than the least of the others.
    """
    if n_classes == 2:
        return values[:, 0]
    scores = values
    if multi_class == "ovo":
        votes, sums = np.zeros((2, len(values), n_classes))
        pairs = class_pairs(n_classes, "ovo")
        for value, (one, two) in zip(values.T, pairs, strict=True):
            if allowed is not None:
                value = np.where(allowed[:, one] & allowed[:, two], value, 0.0)
            sums[:, one] -= value
            sums[:, two] += value
            votes[:, one] += value < 0
            votes[:, two] += value > 0
        scores = votes + sums / (3 * (np.abs(sums) + 1))  # less than a third of a vote
    if allowed is None:
        return scores
    least = np.where(allowed, scores, np.inf).min(axis=1)
    return np.where(allowed, scores, least[:, None] - 1)
