"""Trees that split by task and by category, as trees of thresholds alone.

A task split sends a *set* of tasks left. Where tasks are numbered, the set is a few
runs of neighbouring codes; each run gets a copy of the subtree on its side, and a
threshold parts it from the next run. A copy holds only what its run can reach: inside
a run, a later task split concerns the run's codes only. So the runs that come to a
node are those which the codes that can reach it form, and a leaf has a copy for each.
Categories are parted likewise, each feature's by codes of its own; -1 is missing.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kinlearn.trees._forest import LEAF, TASK_SPLIT, Forest

__all__ = ["RunTree", "TreeSource"]

# Rows' worth of weight that a tree has besides the rows it is weighed by. SHAP divides
# by the weights of nodes, so a node that no row reaches must not weigh nothing.
_UNSEEN_WEIGHT = 1e-6


class TreeSource:
    """A tree of a forest, read node by node.

    A *target* is a node of the tree or, from ``n_nodes`` on, a value: of a leaf, of
    a leaf for one of its tasks, or of a class that is certain.

    Parameters
    ----------
    forest : Forest
        The forest.
    number : int
        Which tree.
    certain : float array of shape (n_classes, n_values)
        The values for tasks that have one class.
    scale : float array of shape (n_tasks + 1,)
        What the values of a task's rows are multiplied by; the last is for code -1.
    codes : dict of int to list of int, default=None
        By feature that is a category: its codes, ascending, the first is -1.
    """

    def __init__(
        self,
        forest: Forest,
        number: int,
        certain: np.ndarray,
        scale: np.ndarray,
        codes: dict[int, list[int]] | None = None,
    ) -> None:
        nodes = slice(*forest.tree_start[number : number + 2])
        leaves = slice(*forest.leaf_start[number : number + 2])
        # Lists, because single elements of arrays are slow to read.
        self.feature = forest.nodes["feature"][nodes].tolist()
        self.threshold = forest.nodes["threshold"][nodes].tolist()
        self.right = forest.nodes["right"][nodes].tolist()
        self.slot = forest.nodes["slot"][nodes].tolist()
        self.default_left = forest.default_left[nodes].tolist()
        self.weight = forest.weight[nodes].tolist()
        self.n_nodes = len(self.feature)
        self.n_leaves = leaves.stop - leaves.start
        self.codes = codes or {}
        self._sets: Any = None
        if forest.category_sets is not None:
            sets = forest.category_sets[slice(*forest.set_start[number : number + 2])]
            self._sets = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")

        splits = range(*forest.split_start[number : number + 2])
        self._changes = [
            _changes(forest.exceptions[slice(*forest.exception_start[k : k + 2])])
            for k in splits
        ]
        values = [forest.values[leaves]]
        self._own_start = [0] * (self.n_leaves + 1)
        self._own_task: list[int] = []
        if forest.own_start is not None:
            start = forest.own_start[leaves.start : leaves.stop + 1]
            own = slice(start[0], start[-1])
            values.append(forest.own_values[own])
            self._own_start = (start - start[0]).tolist()
            self._own_task = forest.own_task[own].tolist()
        self.scale = scale
        # codes whose factor is not that of the code before
        self._breaks = np.flatnonzero(np.diff(np.roll(scale, 1))).tolist()
        self._first_certain = self.n_nodes + sum(map(len, values))
        self.values = np.concatenate([*values, certain])

    def start(self, only_class: int) -> int:
        """The target of all rows, or of those whose class is certain."""
        return 0 if only_class < 0 else self._first_certain + int(only_class)

    def category_runs(self, node: int, low: int, high: int) -> list[tuple[int, bool]]:
        """Where the codes of places ``low .. high - 1`` go from a split of categories.

        Parameters
        ----------
        node : int
            The split.
        low, high : int
            Places in the list of the feature's codes.

        Returns
        -------
        list of (int, bool)
            Of each run of neighbours: its first place, and whether it goes left.
        """
        in_set, codes = self._sets[self.slot[node]], self.codes[self.feature[node]]
        runs: list[tuple[int, bool]] = []
        for place in range(low, high):
            code = codes[place]
            left = bool(self.default_left[node] if code < 0 else in_set[code])
            if not runs or runs[-1][1] != left:
                runs.append((place, left))
        return runs

    def runs(self, node: int, low: int, high: int) -> tuple[list[int], list[int]]:
        """Where the codes ``low .. high - 1`` go from a leaf or a task split.

        Parameters
        ----------
        node : int
            A leaf or a task split.
        low, high : int
            The first code, and the one behind the last.

        Returns
        -------
        cuts : list of int
            From `low` to `high`: the first code of each run, and the end.
        targets : list of int
            Of each run.
        """
        if self.feature[node] == LEAF:
            return self._answer_runs(self.slot[node], low, high)
        changes = self._changes[self.slot[node]]
        i, j = bisect_right(changes, low), bisect_left(changes, high)
        left = bool(self.default_left[node]) ^ (i % 2 == 1)
        sides = [node + 1, self.right[node]] if left else [self.right[node], node + 1]
        targets = [sides[k % 2] for k in range(j - i + 1)]
        return [low, *changes[i:j], high], targets

    def _answer_runs(
        self, leaf: int, low: int, high: int
    ) -> tuple[list[int], list[int]]:
        cuts, targets, shared = [low], [], self.n_nodes + leaf
        tasks, ends = self._own_task, self._own_start[leaf : leaf + 2]
        own = bisect_left(tasks, low, *ends), bisect_left(tasks, high, *ends)
        for k in range(*own):
            if tasks[k] > cuts[-1]:
                cuts.append(tasks[k])
                targets.append(shared)
            cuts.append(tasks[k] + 1)
            targets.append(self.n_nodes + self.n_leaves + k)
        if cuts[-1] < high:
            cuts.append(high)
            targets.append(shared)
        breaks = self._breaks
        for code in breaks[bisect_right(breaks, low) : bisect_left(breaks, high)]:
            at = bisect_left(cuts, code)
            if cuts[at] != code:
                cuts.insert(at, code)
                targets.insert(at, targets[at - 1])
        return cuts, targets


def _changes(codes: np.ndarray) -> list[int]:
    """The codes at which being in a set changes, ascending, from outside."""
    return np.setxor1d(codes, codes + 1, assume_unique=True).tolist()


@dataclass(frozen=True, eq=False)
class RunTree:
    """A tree whose nodes test a feature or a task code, ``x <= threshold``.

    Attributes
    ----------
    feature : int array of shape (n_nodes,)
        The feature, TASK_SPLIT for the code of the task, LEAF for none.
    threshold : float64 array of shape (n_nodes,)
        Where to go right.
    left, right : int arrays of shape (n_nodes,)
        Children, always behind their parent; -1 for leaves.
    default_left : bool array of shape (n_nodes,)
        Whether a missing value goes left.
    values : float64 array of shape (n_nodes, n_values)
        Values of the leaves, 0 elsewhere.
    unseen : float64 array of shape (n_nodes,)
        Share of the rows that are expected here if none is known.
    depth : int array of shape (n_nodes,)
        Steps from the root.
    """

    feature: np.ndarray
    threshold: np.ndarray
    left: np.ndarray
    right: np.ndarray
    default_left: np.ndarray
    values: np.ndarray
    unseen: np.ndarray
    depth: np.ndarray

    @classmethod
    def grow(cls, source: TreeSource, first: int, only_class: np.ndarray) -> Self:
        """Copy a tree, run by run.

        Parameters
        ----------
        source : TreeSource
            The tree.
        first : {-1, 0}
            The least code: -1 if there shall be a prediction for unknown tasks.
        only_class : int array of shape (n_tasks + 1,)
            By code, the class that is certain, -1 for none; the last is that of -1.

        Returns
        -------
        RunTree
            It predicts as the source does.
        """
        end = len(only_class) - 1
        only_class = only_class[np.arange(first, end)]
        new = np.flatnonzero(np.diff(only_class)) + 1
        cuts = [first, *(first + new).tolist(), end]
        targets = [source.start(c) for c in only_class[[0, *new]]]
        made: list[tuple] = []
        left: list[int] = []
        right: list[int] = []
        places = {feature: (0, len(codes)) for feature, codes in source.codes.items()}
        waiting = [((cuts, targets, places), [0], 0, 1.0, 0)]
        while waiting:
            (cuts, targets, places), siblings, parent, share, depth = waiting.pop()
            cuts, targets = _descend(source, cuts, targets, places)
            node = siblings[parent] = len(made)
            left.append(-1)
            right.append(-1)
            if len(targets) == 1 and targets[0] >= source.n_nodes:
                answer, test = targets[0] - source.n_nodes, (LEAF, 0.0, False)
            else:
                answer = -1
                test, sides, shares = _part(source, cuts, targets, places)
                for side, of_side, children in zip(
                    sides, shares, (left, right), strict=True
                ):
                    waiting.append((side, children, node, share * of_side, depth + 1))
            made.append((*test, answer, cuts[0], share, depth))
        columns = [np.array(column) for column in zip(*made, strict=True)]
        feature, threshold, default_left, place, first_code, unseen, depths = columns
        return cls(
            feature=feature,
            threshold=threshold,
            left=np.array(left),
            right=np.array(right),
            default_left=default_left.astype(bool),
            values=np.where(
                (place >= 0)[:, None],
                source.values[place] * source.scale[first_code][:, None],
                0.0,
            ),
            unseen=unseen,
            depth=depths,
        )

    def cover(self, X: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Weights of the nodes, each the sum of its children's, none 0.

        Parameters
        ----------
        X : float32 array of shape (n_samples, n_features + 1)
            Rows, the codes of their tasks behind the features.
        weight : float64 array of shape (n_samples,)
            Their weights.

        Returns
        -------
        float64 array of shape (n_nodes,)
            Weights of the rows that pass, and a little more.
        """
        at = np.zeros(len(X), dtype=np.intp)
        column = np.where(self.feature == TASK_SPLIT, X.shape[1] - 1, self.feature)
        moving = np.flatnonzero(self.left[at] >= 0)
        while len(moving):
            node = at[moving]
            x = X[moving, column[node]]
            goes_left = np.where(
                np.isnan(x), self.default_left[node], x <= self.threshold[node]
            )
            at[moving] = np.where(goes_left, self.left[node], self.right[node])
            moving = moving[self.left[at[moving]] >= 0]
        leaves = np.flatnonzero(self.left < 0)
        cover = np.bincount(at, weights=weight, minlength=len(self.left))
        cover[leaves] += _UNSEEN_WEIGHT * weight.mean() * self.unseen[leaves]
        for depth in range(self.depth.max() - 1, -1, -1):
            nodes = np.flatnonzero((self.depth == depth) & (self.left >= 0))
            cover[nodes] = cover[self.left[nodes]] + cover[self.right[nodes]]
        return cover


def _descend(
    source: TreeSource,
    cuts: list[int],
    targets: list[int],
    places: dict[int, tuple[int, int]],
) -> tuple[list[int], list[int]]:
    """Follow one target to where its rows part, or to its value."""
    while len(targets) == 1 and targets[0] < source.n_nodes:
        node = targets[0]
        if source.feature[node] < 0:
            cuts, targets = source.runs(node, cuts[0], cuts[1])
        elif source.feature[node] in places:
            runs = source.category_runs(node, *places[source.feature[node]])
            if len(runs) > 1:
                break
            targets = [node + 1 if runs[0][1] else source.right[node]]
        else:
            break
    return cuts, targets


def _part(
    source: TreeSource,
    cuts: list[int],
    targets: list[int],
    places: dict[int, tuple[int, int]],
) -> tuple[tuple, tuple, list[float]]:
    """The test of a node, its sides (cuts, targets, places), and shares of the rows."""
    node = targets[0]
    if len(targets) > 1:
        k = len(targets) // 2
        sides = (cuts[: k + 1], targets[:k], places), (cuts[k:], targets[k:], places)
        test = TASK_SPLIT, cuts[k] - 0.5, False
        weights = [ends[-1] - ends[0] for ends, _, _ in sides]
    elif source.feature[node] in places:
        feature = source.feature[node]
        low, high = places[feature]
        runs = source.category_runs(node, low, high)
        middle = runs[len(runs) // 2][0]
        halves = (low, middle), (middle, high)
        below, above = ((cuts, targets, {**places, feature: half}) for half in halves)
        sides = below, above
        test = feature, source.codes[feature][middle] - 0.5, False
        weights = [stop - start for start, stop in halves]
    else:
        children = node + 1, source.right[node]
        sides = (cuts, [children[0]], places), (cuts, [children[1]], places)
        test = source.feature[node], source.threshold[node], source.default_left[node]
        weights = [source.weight[child] for child in children]
    return test, sides, [w / sum(weights) for w in weights]
