"""Growth of multi-task trees level by level, from sums over parts of the rows.

The driver keeps the cells of each open node, with their weights and rows. It requests
the sums of the features that a node draws, finds the best cut, and knows the cells of
both children from it. A node whose rows fit in one place is grown to the end there.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.special import xlogy

from kinlearn._kernels._random import stream_state
from kinlearn._kernels.trees.decision._level import best_cut, drawn_features
from kinlearn._partitions import remember_common
from kinlearn.trees.decision._forest import MultiTaskRandomForestClassifier
from kinlearn.trees.decision._growth import CRITERIA
from kinlearn.trees.decision._model import MultiTaskTree
from kinlearn.trees.decision.partitions._model import GrowingTree
from kinlearn.trees.decision.partitions._rows import (
    N_BINS,
    BinPlan,
    CellRequest,
    Job,
    Roots,
    Scheme,
    grow_pieces,
    prepare_binned,
)

__all__ = ["fit_partitions"]

# Rows of a node that may come together in one place, and no more than an average place
# has: below it a tree is grown there to the end. The fewer, the more messages.
_MOST_TOGETHER = 2**22

# Places and counts of rows in the trees that grow together: a quarter of the memory
# that X has in float32, or what is not worth a thought.
_PLACES_SHARE = 8
_FREE_PLACES = 2**22

# Sums that are requested at a time, of more than one feature: some 50 MB for each part,
# with those that wait to be put in order.
_MOST_SUMS = 1_000_000


def fit_partitions(
    forest: MultiTaskRandomForestClassifier,
    engine: Any,
    parts: list[Any],
    *,
    trees_at_once: int | None = None,
    finished: Callable[[int], object] | None = None,
) -> None:
    """Fit a forest to parts; the same trees as of all rows in one place."""
    common, scheme, n_rows = prepare_binned(
        engine, parts, forest.class_weight, forest.label_sets
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
    seeds = [stream_state(forest._seed, i) for i in range(forest.n_estimators)]
    free = _FREE_PLACES // max(n_rows)
    at_once = trees_at_once or max(1, n_features // _PLACES_SHARE, free)
    grown: list = []
    for i in range(0, len(seeds), at_once):
        grown += level.grow(seeds[i : i + at_once])
        if finished is not None:
            finished(len(grown) - i)
    forest.trees_ = grown
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

    def keep(self, which: np.ndarray) -> None:
        self.cells, self.weight = self.cells[which], self.weight[which]
        self.rows = self.rows[which]


@dataclass(eq=False)
class _Search:
    """The features that a node has requested, and their sums."""

    node: _Node
    order: np.ndarray  # features as the node draws them
    n_requested: int = 0
    n_next: int = 0
    sums: list = field(default_factory=list)
    found: tuple | None = None


@dataclass(frozen=True, eq=False)
class _Sums:
    """Sums of one feature at a node: by bin, ascending, and cell of the node."""

    bin: np.ndarray
    cell: np.ndarray
    weight: np.ndarray
    rows: np.ndarray


class LevelTrees:
    """Grows trees with the help of an engine."""

    def __init__(
        self,
        engine: Any,
        scheme: Scheme,
        settings: dict[str, Any],
        *,
        bootstrap: bool,
        most_together: int,
    ) -> None:
        self.engine = engine
        self.scheme = scheme
        self.settings = settings
        self.bootstrap = bootstrap
        self.most_together = most_together
        self.criterion = CRITERIA.index(settings["criterion"])

    def grow(self, seeds: list[int]) -> list[MultiTaskTree]:
        """Grow trees together."""
        self.trees = [GrowingTree() for _ in seeds]
        self.engine.begin(Roots(seeds, self.bootstrap))
        opened = self._roots(seeds)
        while opened:
            there = {i: node for i, node in enumerate(opened) if node is not None}
            small = {i: node for i, node in there.items() if node.is_small}
            self._grow_small(small)
            opened = self._split(opened, small)
        scheme = self.scheme
        return [tree.finish(scheme.bins, scheme.unit) for tree in self.trees]

    # ------------------------------------------------------------------ the rows

    def _request(
        self,
        numbers: Sequence[int],
        nodes: Sequence[_Node],
        features: Sequence[np.ndarray],
    ) -> list[_Sums]:
        """The merged sums of features at nodes, by request."""
        start = np.cumsum([0, *map(len, features)])
        request = CellRequest(
            nodes=np.array(numbers, dtype=np.intp),
            tree=np.array([node.tree for node in nodes], dtype=np.int32),
            start=start,
            feature=np.concatenate(features).astype(np.int32),
        )
        sums = self.engine.ask(request).by_group
        n_cells = len(self.scheme.cell_task)
        at = np.searchsorted(sums["key"], np.arange(start[-1] + 1) * (N_BINS * n_cells))
        bin, cell = np.divmod(sums["key"] % (N_BINS * n_cells), n_cells)
        every = _Sums(bin.astype(np.int32), cell, sums["weight"], sums["rows"])
        return [_slice(every, at[r], at[r + 1]) for r in range(start[-1])]

    def _request_in_lots(
        self,
        numbers: Sequence[int],
        nodes: Sequence[_Node],
        features: Sequence[np.ndarray],
    ) -> Iterator[_Sums]:
        """The same for nodes of a portion, request by request.

        If one node alone is too much, some of its features are requested at a time:
        at a root with many cells, sums are as many as rows, and larger.
        """
        size = max(_MOST_SUMS // self._n_sums(nodes[0]), 1)
        if len(nodes) > 1 or len(features[0]) <= size:
            yield from self._request(numbers, nodes, features)
            return
        for first in range(0, len(features[0]), size):
            yield from self._request(
                numbers, nodes, [features[0][first : first + size]]
            )

    def _n_sums(self, node: _Node) -> int:
        """Sums of one feature at a node, at the most."""
        return min(node.n_rows, N_BINS * len(node.cells))

    def _roots(self, seeds: Sequence[int]) -> Sequence[_Node | None]:
        nothing = np.zeros(0, np.int64)
        roots = [
            _Node(i, 0, 0, stream_state(seed, 0), nothing, nothing, nothing)
            for i, seed in enumerate(seeds)
        ]
        sums = self._request(range(len(seeds)), roots, [np.array([-1])] * len(seeds))
        fraction = self.settings["min_weight_fraction_leaf"]
        self.min_weight_leaf = []
        for node, found in zip(roots, sums, strict=True):
            node.cells, node.weight, node.rows = found.cell, found.weight, found.rows
            self.min_weight_leaf.append(int(np.ceil(fraction * found.weight.sum())))
        return [node if self._stays_open(node) else None for node in roots]

    def _stays_open(self, node: _Node) -> bool:
        """Whether the growth goes on below a node; if not, it is decided."""
        node.is_small = node.n_rows <= self.most_together
        return node.is_small or self._arrive(node)

    def _grow_small(self, small: dict[int, _Node]) -> None:
        """Grow nodes to the end, as many at a time as may come together."""
        jobs: list = []
        n_rows = 0
        for number, node in small.items():
            n_rows += node.n_rows
            if not jobs or n_rows > self.most_together:
                jobs.append({})
                n_rows = node.n_rows
            jobs[-1][number] = node
        sent = [
            Job(
                nodes=np.array([*job]),
                tree=np.array([node.tree for node in job.values()]),
                depth=np.array([node.depth for node in job.values()]),
                stream=np.array([n.stream for n in job.values()], dtype=np.uint64),
                min_weight_leaf=np.array(
                    [self.min_weight_leaf[node.tree] for node in job.values()]
                ),
            )
            for job in jobs
        ]
        grown = self.engine.assemble(grow_pieces, sent, self.scheme, self.settings)
        for job, subtrees in zip(jobs, grown, strict=True):
            for node, subtree in zip(job.values(), subtrees, strict=True):
                self.trees[node.tree].graft(node.number, subtree)

    def _move(self, opened: Sequence[Any], splits: dict[int, tuple]) -> list[_Node]:
        """Send the splits to the partitions; the open nodes of the next level."""
        n = len(opened)
        feature, cut, tree = np.zeros((3, n), dtype=np.int32)
        missing_left = np.zeros(n, dtype=np.uint8)
        child = np.full((2, n), -1, dtype=np.int32)
        children: list[_Node] = []
        gone: list[np.ndarray] = []
        for i, (split, nodes) in splits.items():
            tree[i] = opened[i].tree
            feature[i], cut[i], missing_left[i] = split
            for side, node in enumerate(nodes):
                lingering = opened[i].decided  # of a root: its rows are still there
                if self._stays_open(node):
                    child[side, i] = len(children)
                    children.append(node)
                    gone.append(np.concatenate([lingering, node.decided]))
                    node.decided = node.decided[:0]
        if not children:
            return []
        plan = BinPlan(
            tree=tree,
            feature=feature,
            cut=cut,
            missing_left=missing_left,
            child=child,
            gone_start=np.cumsum([0, *map(len, gone)]),
            gone=np.concatenate(gone).astype(np.int32),
        )
        self.engine.move(plan)
        return children

    # ------------------------------------------------------------------ the nodes

    def _arrive(self, node: _Node) -> bool:
        """Decide tasks at a node; whether there is something to split."""
        settings, tree = self.settings, self.trees[node.tree]
        task = self.scheme.cell_task[node.cells]
        first = _firsts(task)
        of_task = np.add.reduceat(node.weight, first)
        top = np.maximum.reduceat(node.weight, first)
        n_labels = np.diff([*first, len(task)])
        total = of_task.sum()
        impurity = xlogy(of_task, of_task).sum() - xlogy(node.weight, node.weight).sum()
        tree.count(node.number, node.n_rows, total, max(impurity / total, 0.0))
        pure = (n_labels == 1) | (top >= settings["purity"] * of_task)
        stays = np.repeat(~pure, n_labels)
        n_open = node.rows[stays].sum()
        depth = settings["max_depth"]
        if depth is not None and node.depth >= depth:
            n_open = 0
        if n_open < settings["min_samples_split"]:
            stays[:] = False
        self._decide(node, ~stays)
        node.decided = task[first][~stays[first]]
        node.keep(stays)
        return bool(stays.any())

    def _decide(self, node: _Node, which: np.ndarray | slice) -> None:
        """Decide the tasks of some cells at a node."""
        self._decisions(
            node.tree, node.number, node.cells[which], node.weight[which],
            node.rows[which]
        )  # fmt: skip

    def _decisions(
        self,
        tree: int,
        number: int,
        cells: np.ndarray,
        weight: np.ndarray,
        rows: np.ndarray,
    ) -> None:
        if not len(cells):
            return
        task = self.scheme.cell_task[cells]
        ends = [*_firsts(task), len(task)]
        label = self.scheme.cell_label[cells]
        for a, b in pairwise(ends):
            self.trees[tree].decide(
                number, task[a], rows[a:b].sum(), label[a:b], weight[a:b]
            )

    def _split(
        self, opened: Sequence[_Node | None], small: dict[int, _Node]
    ) -> list[_Node]:
        """Split the open nodes that are not small; the next level."""
        searches = {}
        n_features = len(self.scheme.bins.n_bins)
        for i, node in enumerate(opened):
            if node is not None and i not in small:
                order = np.arange(n_features, dtype=np.int32)
                if self.settings["max_features"] < n_features:
                    drawn_features(node.stream, order)
                searches[i] = _Search(node, order, n_next=self.settings["max_features"])
        self._search(searches)
        splits = {}
        for i, search in searches.items():
            if search.found is None:
                self._decide(search.node, slice(None))
            else:
                splits[i] = self._children(search)
        return self._move(opened, splits)

    def _search(self, searches: dict[int, _Search]) -> None:
        """Find the best cuts, requesting more features where some are constant."""
        n_features = len(self.scheme.bins.n_bins)
        waiting = dict(searches)
        while waiting:
            for portion in [*self._portions(waiting)]:
                features = [
                    s.order[s.n_requested :][: s.n_next] for s in portion.values()
                ]
                nodes = [search.node for search in portion.values()]
                found = self._request_in_lots([*portion], nodes, features)
                for (i, search), requested in zip(
                    portion.items(), features, strict=True
                ):
                    node = search.node
                    search.sums += [
                        _in_node(next(found), node.cells) for _ in requested
                    ]
                    search.n_requested += len(requested)
                    n_tried, search.found = self._best_cut(search)
                    search.n_next *= 2
                    enough = n_tried == self.settings["max_features"]
                    if enough or search.n_requested == n_features:
                        del waiting[i]

    def _portions(self, waiting: dict[int, _Search]) -> Iterator[dict[int, _Search]]:
        portion: dict[int, _Search] = {}
        n_sums = 0
        for i, search in waiting.items():
            n_here = search.n_next * self._n_sums(search.node)
            if portion and n_sums + n_here > _MOST_SUMS:
                yield portion
                portion, n_sums = {}, 0
            portion[i] = search
            n_sums += n_here
        yield portion

    def _best_cut(self, search: _Search) -> tuple[int, tuple | None]:
        node, settings = search.node, self.settings
        start = np.cumsum([0, *(len(s.bin) for s in search.sums)])
        task = self.scheme.cell_task[node.cells]
        group = np.zeros(len(task), dtype=np.int32)
        if settings["criterion"] != "joint":
            group = np.searchsorted(task[_firsts(task)], task).astype(np.int32)
        total = np.zeros(group.max() + 1, dtype=np.int64)
        np.add.at(total, group, node.weight)
        return best_cut(
            start,
            search.order[: search.n_requested],
            self.scheme.bins.n_bins,
            *(
                np.concatenate([getattr(s, name) for s in search.sums])
                for name in ("bin", "cell", "weight", "rows")
            ),
            cell_total=node.weight,
            cell_group=group,
            group_total=total,
            n_rows=node.n_rows,
            criterion=self.criterion,
            min_samples_leaf=settings["min_samples_leaf"],
            min_weight_leaf=self.min_weight_leaf[node.tree],
            max_features=settings["max_features"],
        )

    def _children(self, search: Any) -> tuple[tuple, list[_Node]]:
        """Carry out the split in the tree; what parts must know, and the children."""
        node, tree = search.node, self.trees[search.node.tree]
        request, cut, missing_left, has_missing, gain = search.found
        feature, sums = search.order[request], search.sums[request]
        if not has_missing:
            # where a value that is missing later should go: to the heavier side
            below = sums.weight[sums.bin <= cut].sum()
            missing_left = 2 * below > node.weight.sum()
        missing = sums.bin == N_BINS - 1
        goes_left = np.where(missing, missing_left, sums.bin <= cut)
        left = {}
        for name in ("weight", "rows"):
            left[name] = np.zeros(len(node.cells), dtype=np.int64)
            np.add.at(left[name], sums.cell[goes_left], getattr(sums, name)[goes_left])
        task = self.scheme.cell_task[node.cells]
        first = _firsts(task)
        whole, below = node.weight, left["weight"]
        of_task, below_of_task = (np.add.reduceat(w, first) for w in (whole, below))
        decrease = _gain(whole, below).sum() - _gain(of_task, below_of_task).sum()
        number = tree.split(
            node.number, feature, cut, missing_left, gain, max(decrease, 0.0)
        )
        n_labels = np.diff([*first, len(task)])
        for side, absent in enumerate([below_of_task == 0, below_of_task == of_task]):
            where = np.repeat(absent, n_labels)
            self._decisions(
                node.tree, number + side, node.cells[where], whole[where],
                np.zeros(where.sum(), dtype=np.int64),
            )  # fmt: skip
        children = []
        for side in range(2):
            rows = left["rows"] if side == 0 else node.rows - left["rows"]
            weight = below if side == 0 else whole - below
            child = _Node(
                node.tree,
                number + side,
                node.depth + 1,
                stream_state(node.stream, 1 + side),
                node.cells,
                weight,
                rows,
            )
            child.keep(rows > 0)
            children.append(child)
        return (feature, cut, missing_left), children


def _gain(whole: np.ndarray, left: np.ndarray) -> np.ndarray:
    right = whole - left
    return xlogy(left, left) + xlogy(right, right) - xlogy(whole, whole)


def _firsts(task: np.ndarray) -> np.ndarray:
    """Where each task begins, of ascending ones."""
    return np.flatnonzero(np.diff(task, prepend=-1))


def _slice(sums: _Sums, first: int, last: int) -> _Sums:
    names = ("bin", "cell", "weight", "rows")
    return _Sums(*(getattr(sums, name)[first:last] for name in names))


def _in_node(sums: _Sums, cells: np.ndarray) -> _Sums:
    """Sums by cell as numbered within a node; without those of decided tasks."""
    place = np.searchsorted(cells, sums.cell)
    there = cells[np.minimum(place, len(cells) - 1)] == sums.cell
    return _Sums(
        sums.bin[there],
        place[there].astype(np.int32),
        sums.weight[there],
        sums.rows[there],
    )
