"""How boosted trees vote on tasks, when some tasks came later than others."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from kinlearn.utils._loaded import (
    check_below,
    check_finite,
    check_numbers,
    demand,
)

__all__ = ["TreeVotes"]


@dataclass(frozen=True, eq=False)
class TreeVotes:
    """The votes of each tree by task; the last column is for tasks that are not known.

    Attributes
    ----------
    votes : float64 array of shape (n_trees, n_tasks + 1)
        Votes; 0 if the tree is not used.
    task_codes : int32 array of shape (n_trees, n_tasks + 1)
        What the tree knows the task as; -1 if it does not know it, and predicts by
        what it shares.
    classes : tuple of int32 arrays
        For each tree, what the classes that it knows as 0, 1, and so on are among all.
    """

    votes: np.ndarray
    task_codes: np.ndarray
    classes: tuple[np.ndarray, ...]

    def check(self, n_trees: int, n_tasks: int, n_classes: int) -> None:
        """Refuse arrays that do not fit the model."""
        shape = (n_trees, n_tasks + 1)
        check_numbers("votes", self.votes, np.float64, shape)
        check_finite("votes", self.votes)
        check_numbers("task_codes", self.task_codes, np.int32, shape)
        check_below("task_codes", self.task_codes, n_tasks, -1)
        demand(len(self.classes) == n_trees, "classes")
        for classes in self.classes:
            check_numbers("classes", classes, "i", (None,))
            check_below("classes", classes, n_classes)

    @classmethod
    def of_fit(cls, votes: np.ndarray, n_classes: int) -> Self:
        """Trees that were fitted to all tasks, and vote on unknown ones as well.

        Votes are of shape (n_trees, n_tasks); on unknown tasks, their mean.
        """
        n_tasks = votes.shape[1]
        found = cls.of_tasks(votes, np.arange(n_tasks), n_tasks, n_classes)
        found.votes[:, -1] = votes.mean(axis=1)
        return found

    @classmethod
    def of_tasks(
        cls, votes: np.ndarray, known: np.ndarray, n_tasks: int, n_classes: int
    ) -> Self:
        """Trees that vote on some tasks only, which they know as 0, 1, and so on."""
        every = np.zeros((len(votes), n_tasks + 1))
        every[:, known] = votes
        codes = np.full((len(votes), n_tasks + 1), -1, dtype=np.int32)
        codes[:, known] = np.arange(len(known))
        classes = (np.arange(n_classes, dtype=np.int32),) * len(votes)
        return cls(every, codes, classes)

    def with_tasks(
        self, place: np.ndarray, n_tasks: int, class_place: np.ndarray
    ) -> "TreeVotes":
        """A copy with new codes of tasks and classes; others, no tree knows."""
        place = np.append(place, n_tasks)
        votes = np.zeros((len(self.votes), n_tasks + 1))
        codes = np.full((len(self.votes), n_tasks + 1), -1, dtype=np.int32)
        votes[:, place], codes[:, place] = self.votes, self.task_codes
        classes = tuple(class_place[of_tree] for of_tree in self.classes)
        return TreeVotes(votes, codes, classes)

    def followed_by(self, other: "TreeVotes") -> "TreeVotes":
        """These trees and then others."""
        return TreeVotes(
            np.concatenate([self.votes, other.votes]),
            np.concatenate([self.task_codes, other.task_codes]),
            self.classes + other.classes,
        )
