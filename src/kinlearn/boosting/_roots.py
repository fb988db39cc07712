"""What a two-task stump is made of, and how candidates for its root are chosen."""

from dataclasses import dataclass
from typing import Any

from kinlearn._kernels.boosting._stumps import Roots

__all__ = ["CHOOSERS", "Node", "RootChoice"]

CHOOSERS = ("best", "best_per_task", "stochastic")


@dataclass(frozen=True)
class Node:
    """A stump of one task inside a two-task stump.

    Attributes
    ----------
    task : int
        The task that it predicts; -1 is none.
    feature, cut : int
        The test: the feature's bin is at most `cut`.
    missing_left : bool
        Where missing values go.
    answers : tuple of two float arrays
        What the left and the right branch predict.
    """

    task: int
    feature: int
    cut: int
    missing_left: bool
    answers: tuple


@dataclass(frozen=True)
class RootChoice:
    """How the candidates for the root are chosen.

    Attributes
    ----------
    chooser : {"best", "best_per_task", "stochastic"}
        The way.
    n_roots : int
        How many; for each task with "best_per_task".
    seed : int
        Of the draw.
    """

    chooser: str
    n_roots: int
    seed: int

    def roots(self, table: Any, number: int, all_weight: float) -> Roots:
        """An empty collection for the candidates of a round."""
        per_task = self.chooser == "best_per_task"
        return Roots(
            min(self.n_roots, table.most_tests(per_task)),
            table.n_tasks,
            per_task,
            self.chooser == "stochastic",
            self.seed + number,
            all_weight,
        )
