"""Growth of multi-task trees level by level, from sums over partitions of the rows.

The driver keeps the cells of each open node, with their weights and rows. It requests
the sums of the features that a node draws, finds the best cut, and knows the cells of
both children from it. A node whose rows fit in one place is grown to the end there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kinlearn._kernels._random import stream_state
from kinlearn._kernels.trees.decision._model import TreeArrays
from kinlearn._kernels.trees.decision._partitions import SumGrower
from kinlearn._partitions import remember_common
from kinlearn.trees.decision._forest import MultiTaskRandomForestClassifier
from kinlearn.trees.decision._growth import Scheme, Settings
from kinlearn.trees.decision._model import MultiTaskTree
from kinlearn.trees.decision.partitions._rows import (
    N_BINS,
    Branches,
    CellRequest,
    Plan,
    Roots,
    grow_branches,
    prepare_binned,
)

__all__ = ["fit_partitions"]

# Rows of a node that may come together in one place, and no more than an average place
# has: below it a tree is grown there to the end. The fewer, the more messages.
_MOST_TOGETHER = 2**22

# Places and counts of rows in the trees that grow together: a quarter of the memory
# that X has in float32, or what is not worth a thought.
_PLACES_FRACTION = 8
_FREE_PLACES = 2**22

# Sums that are requested at a time, of more than one feature: some 50 MB for each
# partition, with those that wait to be put in order.
_MOST_SUMS = 1_000_000


def fit_partitions(
    forest: MultiTaskRandomForestClassifier,
    engine: Any,
    tables: list[Any],
    *,
    trees_at_once: int | None = None,
    finished: Callable[[int], object] | None = None,
) -> None:
    """Fit a forest to partitions; the same trees as of all rows in one place."""
    common, scheme, n_rows = prepare_binned(
        engine,
        tables,
        forest.class_weight,
        forest.label_sets,
        bootstrap=forest.bootstrap,
    )
    remember_common(forest, common)
    n_features = len(common.table.features)
    level = LevelTrees(
        engine,
        scheme,
        forest._growth_settings(n_features),
        bootstrap=forest.bootstrap,
        most_together=min(_MOST_TOGETHER, common.n_rows // engine.n_places),
    )
    forest._draw_seed()
    seeds = [forest._tree_seed(i) for i in range(forest.n_estimators)]
    free = _FREE_PLACES // max(n_rows)
    at_once = trees_at_once or max(1, n_features // _PLACES_FRACTION, free)
    grown: list = []
    for i in range(0, len(seeds), at_once):
        grown += level.grow(seeds[i : i + at_once])
        if finished is not None:
            finished(len(grown) - i)
    forest._keep(grown, len(forest.classes_))
    forest._bags = (forest.bootstrap, common.n_rows)


@dataclass(eq=False)
class _Node:
    """An open node: cells that have rows there, ascending, with weight and rows."""

    tree: int
    number: int
    depth: int
    stream: int
    cells: np.ndarray
    weight: np.ndarray
    rows: np.ndarray
    decided: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int32))
    is_small: bool = False

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum())

    @property
    def most_sums(self) -> int:
        """Sums of one feature, at the most."""
        return min(self.n_rows, N_BINS * len(self.cells))

    @property
    def counted(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.cells, self.weight, self.rows

    def keep(self, which: np.ndarray) -> None:
        self.cells, self.weight, self.rows = (a[which] for a in self.counted)


@dataclass(eq=False)
class _Search:
    """The features that a node has requested, and their sums."""

    node: _Node
    order: np.ndarray  # features as the node draws them
    n_next: int
    sums: list = field(default_factory=list)


class LevelTrees:
    """Grows trees with the help of an engine."""

    def __init__(
        self,
        engine: Any,
        scheme: Scheme,
        settings: Settings,
        *,
        bootstrap: bool,
        most_together: int,
    ) -> None:
        self.engine = engine
        self.scheme = scheme
        self.settings = settings
        self.bootstrap = bootstrap
        self.most_together = most_together
        self.grower = SumGrower(
            scheme.bins.n_bins,
            scheme.cell_task,
            scheme.cell_label,
            scheme.n_tasks,
            settings,
            scheme.categorical,
            scheme.row_weight,
        )

    def grow(self, seeds: list[int]) -> list[MultiTaskTree]:
        """Grow trees together."""
        scheme = self.scheme
        self.trees = [TreeArrays() for _ in seeds]
        self.engine.begin(Roots(seeds, self.bootstrap))
        opened = self._roots(seeds)
        while opened:
            there = {i: node for i, node in enumerate(opened) if node is not None}
            self._grow_small({i: node for i, node in there.items() if node.is_small})
            large = {i: node for i, node in there.items() if not node.is_small}
            opened = self._move(opened, self._split(large))
        return [
            scheme.tree(tree.finish(scheme.n_tasks, scheme.categorical))
            for tree in self.trees
        ]

    def _roots(self, seeds: Sequence[int]) -> Sequence[_Node | None]:
        nothing = np.zeros(0, np.int64)
        roots = [
            _Node(i, 0, 0, stream_state(seed, 0), nothing, nothing, nothing)
            for i, seed in enumerate(seeds)
        ]
        sums = self._request(range(len(seeds)), roots, [np.array([-1])] * len(seeds))
        fraction = self.settings.min_weight_fraction_leaf
        self.min_weight_leaf = []
        for node, (key, weight, rows) in zip(roots, sums, strict=True):
            node.cells = key % len(self.scheme.cell_task)
            node.weight, node.rows = weight, rows
            self.min_weight_leaf.append(int(np.ceil(fraction * weight.sum())))
        return [node if self._stays_open(node) else None for node in roots]

    def _stays_open(self, node: _Node) -> bool:
        """Whether the growth goes on below a node; if not, it is decided."""
        node.is_small = node.n_rows <= self.most_together
        if node.is_small:
            return True
        tree = self.trees[node.tree]
        is_open = self.grower.arrive(tree, node.number, node.depth, *node.counted)
        node.decided = np.unique(self.scheme.cell_task[node.cells[~is_open]])
        node.keep(is_open)
        return bool(is_open.any())

    # ---------------------------------------------------------------- small nodes

    def _grow_small(self, small: dict[int, _Node]) -> None:
        """Grow nodes to the end, as many at a time as may come together."""
        lots: list[dict[int, _Node]] = []
        n_rows = 0
        for number, node in small.items():
            n_rows += node.n_rows
            if not lots or n_rows > self.most_together:
                lots.append({})
                n_rows = node.n_rows
            lots[-1][number] = node
        sent = [
            Branches(
                nodes=np.array([*lot]),
                tree=np.array([node.tree for node in lot.values()]),
                depth=np.array([node.depth for node in lot.values()]),
                stream=np.array([n.stream for n in lot.values()], dtype=np.uint64),
                min_weight_leaf=np.array(
                    [self.min_weight_leaf[node.tree] for node in lot.values()]
                ),
            )
            for lot in lots
        ]
        grown = self.engine.assemble(grow_branches, sent, self.scheme, self.settings)
        for lot, branches in zip(lots, grown, strict=True):
            for node, branch in zip(lot.values(), branches, strict=True):
                tree = self.trees[node.tree]
                tree.graft(node.number, branch, self.scheme.categorical)

    # ---------------------------------------------------------------- large nodes

    def _split(self, large: dict[int, _Node]) -> dict[int, tuple]:
        """Splits by node: feature, sides and children; none where all is decided.

        More features are requested where some are constant.
        """
        waiting = {
            i: _Search(node, self.grower.order(node.stream), self.settings.max_features)
            for i, node in large.items()
        }
        splits = {}
        while waiting:
            for portion in [*_portions(waiting)]:
                features = [
                    s.order[len(s.sums) :][: s.n_next] for s in portion.values()
                ]
                nodes = [search.node for search in portion.values()]
                found = self._request_in_lots([*portion], nodes, features)
                for (i, search), requested in zip(
                    portion.items(), features, strict=True
                ):
                    search.sums += [next(found) for _ in requested]
                    search.n_next *= 2
                    split = self._split_node(search)
                    if split is not None:
                        del waiting[i]
                        if split:
                            splits[i] = split
        return splits

    def _split_node(self, search: _Search) -> tuple | None:
        """None if more features are needed; nothing if the node is a leaf."""
        node = search.node
        split = self.grower.split(
            self.trees[node.tree],
            node.number,
            *node.counted,
            search.order[: len(search.sums)],
            np.cumsum([0, *(len(key) for key, _, _ in search.sums)]),
            *map(np.concatenate, zip(*search.sums, strict=True)),
            self.min_weight_leaf[node.tree],
        )
        if split is None:
            return None
        number, feature, sides, weight, rows = split
        if number < 0:
            return ()
        children = []
        for side, (w, r) in enumerate(
            [(weight, rows), (node.weight - weight, node.rows - rows)]
        ):
            stream = stream_state(node.stream, 1 + side)
            child = _Node(
                node.tree, number + side, node.depth + 1, stream, node.cells, w, r
            )
            child.keep(r > 0)
            children.append(child)
        return feature, sides, children

    def _move(
        self, opened: Sequence[_Node | None], splits: dict[int, tuple]
    ) -> list[_Node]:
        """Send the splits to the partitions; the open nodes of the next level."""
        n = len(opened)
        feature, tree = np.zeros((2, n), dtype=np.int32)
        sides = np.zeros((n, 4), dtype=np.uint64)
        child = np.full((2, n), -1, dtype=np.int32)
        children: list[_Node] = []
        gone: list[np.ndarray] = []
        for i, (*split, nodes) in splits.items():
            parent: Any = opened[i]
            tree[i] = parent.tree
            feature[i], sides[i] = split
            for side, node in enumerate(nodes):
                if self._stays_open(node):
                    child[side, i] = len(children)
                    children.append(node)
                    # what was decided at a root: its rows are still there
                    gone.append(np.concatenate([parent.decided, node.decided]))
                    node.decided = node.decided[:0]
        if not children:
            return []
        plan = Plan(
            tree=tree,
            feature=feature,
            sides=sides,
            child=child,
            gone_start=np.cumsum([0, *map(len, gone)]),
            gone=np.concatenate(gone).astype(np.int32),
        )
        self.engine.move(plan)
        return children

    # ------------------------------------------------------------------- the sums

    def _request(
        self,
        numbers: Sequence[int],
        nodes: Sequence[_Node],
        features: Sequence[np.ndarray],
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """Of each feature at each node, the merged sums: keys, weights and rows."""
        start = np.cumsum([0, *map(len, features)])
        request = CellRequest(
            nodes=np.array(numbers, dtype=np.intp),
            tree=np.array([node.tree for node in nodes], dtype=np.int32),
            start=start,
            feature=np.concatenate(features).astype(np.int32),
        )
        sums = self.engine.statistics(request).by_group
        n_each = N_BINS * len(self.scheme.cell_task)
        at = np.searchsorted(sums["key"], np.arange(start[-1] + 1) * n_each)
        for r in range(start[-1]):
            yield tuple(
                sums[name][at[r] : at[r + 1]] for name in ("key", "weight", "rows")
            )

    def _request_in_lots(
        self,
        numbers: Sequence[int],
        nodes: Sequence[_Node],
        features: Sequence[np.ndarray],
    ) -> Iterator[tuple[np.ndarray, ...]]:
        """The same for nodes of a portion.

        If one node alone is too much, some of its features are requested at a time:
        at a root with many cells, sums are as many as rows, and larger.
        """
        size = max(_MOST_SUMS // nodes[0].most_sums, 1)
        if len(nodes) > 1 or len(features[0]) <= size:
            yield from self._request(numbers, nodes, features)
            return
        for first in range(0, len(features[0]), size):
            yield from self._request(
                numbers, nodes, [features[0][first : first + size]]
            )


def _portions(waiting: dict[int, _Search]) -> Iterator[dict[int, _Search]]:
    """Nodes that request sums together."""
    portion: dict[int, _Search] = {}
    n_sums = 0
    for i, search in waiting.items():
        n_here = search.n_next * search.node.most_sums
        if portion and n_sums + n_here > _MOST_SUMS:
            yield portion
            portion, n_sums = {}, 0
        portion[i] = search
        n_sums += n_here
    yield portion
