"""The rounds so far, as rows that come later see them."""

from typing import Any

import numpy as np

from kinlearn.boosting._calibration import log_fractions
from kinlearn.boosting.adaboost._rounds import VoteRule, reweighted, take
from kinlearn.boosting.adaboost._votes import TreeVotes
from kinlearn.tasks import with_task

__all__ = ["offsets_with_later", "replay"]


def replay(
    booster: Any,
    votes: TreeVotes,
    X: Any,
    task: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
    round_weight: np.ndarray,
    is_new: np.ndarray,
    n_labels: np.ndarray,
) -> np.ndarray:
    """Weights after the rounds so far; their votes on new tasks are filled in.

    Parameters
    ----------
    booster : MultiTaskAdaBoostClassifier
        What was fitted.
    votes : TreeVotes
        Of its trees, by all tasks; those on new tasks are set.
    X : array of shape (n, n_features)
        Features.
    task, labels : int arrays of shape (n,)
        Task and class codes.
    weight, round_weight : float64 arrays of shape (n,)
        Weights of the rows, and those to begin with, which sum to one.
    is_new : bool array of shape (n_tasks,)
        Which tasks fit did not see.
    n_labels : int array of shape (n_tasks,)
        Number of classes of each task.

    Returns
    -------
    float64 array of shape (n,)
        Weights that sum to one.
    """
    trees = booster.estimators_
    takes_unknown = "unknown_task" in trees[0].get_params(deep=False)
    rule: VoteRule = booster._rule
    known = ~is_new[task]
    n_rows = max(weight.sum(), len(weight))
    for number, tree in enumerate(trees):
        votes_here = votes.votes[number, task] > 0
        if takes_unknown and votes.votes[number, -1] > 0:
            votes_here |= is_new[task]
        at = np.flatnonzero(votes_here)
        if len(at) == 0:
            continue
        codes = votes.task_codes[number][task[at]]
        prediction = tree.predict(with_task(take(X, at), codes))
        right = np.zeros(len(task), dtype=bool)
        right[at] = votes.classes[number][prediction] == labels[at]
        wrong = votes_here & ~right
        factors = np.zeros(len(task))
        error = float(booster.estimator_errors_[number])
        if known.any() and error > 0.0:
            of_all = rule.log_factors(right, wrong, task, error, n_labels, n_rows)
            factors[known] = of_all[known]
        for t in np.unique(task[at][is_new[task[at]]]):
            mine = task == t
            missed = mine & ~right
            error = float(round_weight[missed].sum() / round_weight[mine].sum())
            here = max(weight[mine].sum(), np.count_nonzero(mine))
            least = 0.5 / max(here, 2.0)
            votes.votes[number, t] = rule.gains(error, n_labels[[t]], least)[0]
            if error > 0.0:
                own = rule.log_factors(right, wrong, task, error, n_labels, here)
                factors[mine] = own[mine]
        round_weight = reweighted(round_weight, factors)[0]
    return round_weight


def offsets_with_later(
    offsets: np.ndarray,
    later: Any,
    task: np.ndarray,
    labels: np.ndarray,
    weight: np.ndarray,
) -> np.ndarray:
    """Logarithms of the classes' fractions, with later rows; known tasks keep theirs.

    Parameters
    ----------
    offsets : ndarray of shape (n_tasks + 1, n_classes)
        Before; the last row is of all tasks. All zero if offsets are not used.
    later : LaterData
        Tasks and classes then and now.
    task, labels : ndarray of shape (n_rows,)
        Codes of the later rows.
    weight : ndarray of shape (n_rows,)
        Their weights.

    Returns
    -------
    ndarray of shape (later.n_tasks + 1, n_classes_now)
        After.
    """
    # a class that was not there is as rare as the rarest
    after = np.zeros((later.n_tasks + 1, len(later.classes)))
    known = np.append(later.place, later.n_tasks)
    after[known] = offsets.min(axis=1, keepdims=True)
    after[np.ix_(known, later.class_place)] = offsets
    if offsets[-1].any():
        mass = np.zeros((later.n_tasks, len(later.classes)))
        np.add.at(mass, (task, labels), weight)
        after[:-1][later.is_new] = log_fractions(mass[later.is_new])
    return after
