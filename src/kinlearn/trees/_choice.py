"""What is left to the data: settings of a forest, chosen by its pilot forests."""

from dataclasses import dataclass, replace

import numpy as np

from kinlearn.trees._growth import Settings
from kinlearn.trees._pilot import Candidate, Pilot
from kinlearn.utils import told_to_stop

__all__ = ["Space", "choose"]

LEAVES = (1, 2, 3, 5, 7, 10, 15, 20, 30, 40)
_COARSE = (3, 10, 30)
_STEPS = 2  # along LEAVES, from the best of _COARSE


@dataclass(frozen=True)
class Space:
    """The values that may be taken; what is fixed has one.

    Attributes
    ----------
    leaves : tuple of float
        Weights that a split must leave on each side, ascending.
    draws : tuple of (int, int)
        Numbers of features and of cuts of each that a node draws.
    probs : tuple of float
        Probabilities of task splits. The first is taken while others are compared.
    offsets : tuple of bool
        Whether the tasks have offsets.
    lines : tuple of bool
        Whether trees grow on what a line through the features leaves.
    """

    leaves: tuple
    draws: tuple
    probs: tuple
    offsets: tuple = (False,)
    lines: tuple = (False,)

    @staticmethod
    def leaves_for(total_weight: float) -> tuple[float, ...]:
        """The sizes of leaves to compare, for data of this weight."""
        return tuple(n for n in LEAVES if n == 1 or 8 * n <= total_weight)


def choose(
    pilot: Pilot, settings: Settings, space: Space
) -> tuple[Candidate, np.ndarray | None]:
    """The settings that do best on rows held out.

    Leaves, draws and lines are compared together, a few of each, because few features
    want smaller leaves, and what a line leaves wants larger ones; then task splits and
    offsets; then leaves more closely.

    Parameters
    ----------
    pilot : Pilot
        Compares.
    settings : Settings
        What is not in the space.
    space : Space
        What to choose from.

    Returns
    -------
    best : Candidate
        The best one found.
    offsets : float64 array of shape (n_tasks,), or None
        Of the tasks, if these do better with offsets.
    """
    leaves = space.leaves
    coarse = [n for n in leaves if n in _COARSE] or leaves[-1:]
    start = replace(settings, task_split_prob=space.probs[0])
    best = pilot.best(
        [
            Candidate(
                replace(start, min_weight_leaf=n, max_features=k, n_cuts=c), line=line
            )
            for line in space.lines
            for k, c in space.draws
            for n in coarse
        ]
    )
    offsets = None
    if True in space.offsets and not (False in space.offsets and told_to_stop()):
        offsets = pilot.learn_offsets(best)
    best = pilot.best(
        [
            Candidate(replace(best.settings, task_split_prob=p), offset, best.line)
            for offset in space.offsets
            for p in space.probs
        ]
    )
    for _ in range(_STEPS):
        if told_to_stop():
            break
        at = leaves.index(best.settings.min_weight_leaf)
        best = pilot.best(
            [
                replace(best, settings=replace(best.settings, min_weight_leaf=n))
                for n in leaves[max(0, at - 1) : at + 2]
            ]
        )
    return best, offsets if best.offset else None
