"""A multi-task tree from nodes that were split one by one and from whole subtrees."""

from typing import Any

import numpy as np

from kinlearn._binning import Bins
from kinlearn._kernels.trees.decision._model import DECISION, NODE, VALUE
from kinlearn._partitions import entries
from kinlearn.trees.decision._model import MultiTaskTree, tree_of

__all__ = ["GrowingTree"]

_COUNTED = ("n_rows", "weight", "impurity")
_SPLIT = ("left", "feature", "bin", "missing_left", "gain", "decrease")


class GrowingTree:
    """A tree while it grows, level by level.

    Its nodes are numbered as they come; `finish` numbers them as the kernel `grow_tree`
    does, which grows the left side of a node to the end before the right one.
    """

    def __init__(self) -> None:
        self.nodes: list[dict[str, Any]] = []
        # node, task, number of rows, labels, weights
        self.decisions: list[tuple[int, int, int, np.ndarray, np.ndarray]] = []
        self.subtrees: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]] = {}
        self.new_node()

    def new_node(self) -> int:
        """Add a node, which is a leaf as yet; its number."""
        self.nodes.append({"left": -1, "feature": -1, "bin": -1, "missing_left": 0})
        return len(self.nodes) - 1

    def count(self, node: int, n_rows: int, weight: int, impurity: float) -> None:
        """Set what has arrived at a node."""
        counted = zip(_COUNTED, (n_rows, weight, impurity), strict=True)
        self.nodes[node].update(counted)

    def split(
        self,
        node: int,
        feature: int,
        bin: int,
        missing_left: bool,
        gain: float,
        decrease: float,
    ) -> int:
        """Split a node; the number of its left child, which the right one follows."""
        left = self.new_node()
        self.new_node()
        values = (left, feature, bin, missing_left, gain, decrease)
        self.nodes[node].update(zip(_SPLIT, values, strict=True))
        return left

    def decide(
        self, node: int, task: int, n_rows: int, labels: np.ndarray, weights: np.ndarray
    ) -> None:
        """Decide a task at a node."""
        self.decisions.append((node, task, n_rows, labels, weights))

    def graft(
        self, node: int, grown: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        """Replace a node by what `grow_tree` gave for its rows."""
        self.subtrees[node] = grown

    def finish(self, bins: Bins, unit: float) -> MultiTaskTree:
        """The tree."""
        number, below, n_nodes = self._numbers()
        nodes = np.zeros(n_nodes, dtype=NODE)
        for i, values in enumerate(self.nodes):
            if i in self.subtrees:
                grown, place = self.subtrees[i][0], below[i]
                grown = grown.copy()
                inner = grown["left"] >= 0
                grown["left"][inner] = place[grown["left"][inner]]
                nodes[place] = grown
                continue
            for name, value in values.items():
                nodes[name][number[i]] = value
            if values["left"] >= 0:
                nodes["left"][number[i]] = number[values["left"]]
        return tree_of(nodes, *self._decisions(number, below), bins, unit)

    def _numbers(self) -> tuple[dict[int, int], dict[int, np.ndarray], int]:
        """Final number of each node, and of the nodes of each subtree."""
        number, below = {0: 0}, {}
        stack, n_nodes = [0], 1
        while stack:
            node = stack.pop()
            left = self.nodes[node]["left"]
            if node in self.subtrees:
                n_new = len(self.subtrees[node][0]) - 1
                place = np.arange(n_nodes - 1, n_nodes + n_new)
                place[0] = number[node]
                below[node] = place
                n_nodes += n_new
            elif left >= 0:
                number[left], number[left + 1] = n_nodes, n_nodes + 1
                n_nodes += 2
                stack += [left + 1, left]
        return number, below, n_nodes

    def _decisions(
        self, number: dict[int, int], below: dict[int, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """All decisions in the order of node and task, and their values."""
        own = np.zeros(len(self.decisions), dtype=DECISION)
        labels = [np.zeros(0, np.int32)]
        weights = [np.zeros(0, np.int64)]
        for i, (node, task, n_rows, label, weight) in enumerate(self.decisions):
            own[i] = (number[node], task, n_rows, len(label))
            labels.append(label)
            weights.append(weight)
        values = np.zeros(sum(map(len, labels)), dtype=VALUE)
        values["label"], values["weight"] = (
            np.concatenate(labels),
            np.concatenate(weights),
        )
        found, found_values = [own], [values]
        for node, (_, decisions, values) in self.subtrees.items():
            decisions = decisions.copy()
            decisions["node"] = below[node][decisions["node"]]
            decisions["first_value"] = np.diff([*decisions["first_value"], len(values)])
            found.append(decisions)
            found_values.append(values)
        decisions, values = np.concatenate(found), np.concatenate(found_values)
        # `first_value` has been the number of values as yet
        start = np.concatenate([[0], np.cumsum(decisions["first_value"])])
        order = np.lexsort([decisions["task"], decisions["node"]])
        values = values[entries(start, order)]
        decisions = decisions[order]
        sizes = decisions["first_value"]
        decisions["first_value"] = np.cumsum(sizes) - sizes
        return decisions, values
