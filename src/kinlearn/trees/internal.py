"""What other packages of kinlearn use of this one, and users do not need."""

from kinlearn.trees.decision import TreeRounds
from kinlearn.trees.extra import Forest, RunTree, TreeSource

__all__ = [
    "Forest",
    "RunTree",
    "TreeRounds",
    "TreeSource",
]
