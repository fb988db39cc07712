"""The weak learners: the two-task stump of a round, from statistics of the rows.

A round requests them three times: sums by cell, to find candidates for the root; the
same on the left of each candidate, to find its children; and sums by bin, to cut the
children of the best.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kinlearn._binning import Bins
from kinlearn._kernels.boosting.stumps._search_binary import (
    HAS_AVX2,
    N_LANES,
    find_children,
    find_roots,
)
from kinlearn._kernels.boosting.stumps._search_multiclass import (
    find_children as find_label_children,
)
from kinlearn._kernels.boosting.stumps._search_multiclass import (
    find_roots as find_label_roots,
)
from kinlearn._kernels.boosting.stumps._stumps import (
    ROOT,
    Roots,
    best_cut,
    heavier_sides,
)
from kinlearn.boosting.stumps._model import Node, TwoTaskStumps
from kinlearn.boosting.stumps._rows import Sums
from kinlearn.boosting.stumps._table import SortedCells

__all__ = [
    "CHOOSERS",
    "BinarySearch",
    "Found",
    "MulticlassSearch",
    "RootChoice",
    "RootTests",
    "StumpSearch",
    "vote",
]

CHOOSERS = ("best", "best_per_task", "stochastic")

_MOST = 250  # tests of a model; the bins of a feature must hold them all

_BINS = np.arange(256)

# Below this the logarithm of a weight ratio is meaningless.
_LEAST = 1e-10


def vote(
    right: float, wrong: float, abstained: float, weighting: str, smoothing: float
) -> float:
    """The vote alpha of a stump.

    Examples
    --------
    >>> from kinlearn.boosting.stumps._search import vote
    >>> round(vote(0.4, 0.1, 0.5, "optimal", 0.0), 4)
    0.6931
    >>> round(vote(0.4, 0.1, 0.5, "conservative", 0.0), 4)
    0.3095
    """
    more = smoothing if weighting == "optimal" else abstained / 2
    return 0.5 * float(
        np.log(max(right + more, _LEAST)) - np.log(max(wrong + more, _LEAST))
    )


@dataclass(frozen=True)
class RootChoice:
    """How the candidates for the root are chosen."""

    chooser: str  # one of CHOOSERS
    n_roots: int  # how many; for each task with "best_per_task"
    seed: int  # of the draw

    def roots(self, table: Any, number: int, all_weight: float) -> Roots:
        """An empty collection for the candidates of a round."""
        per_task = self.chooser == "best_per_task"
        return Roots(
            min(self.n_roots, table.most_tests[per_task]),
            table.n_tasks,
            per_task,
            self.chooser == "stochastic",
            self.seed + number,
            all_weight,
        )


@dataclass(frozen=True, eq=False)
class RootTests:
    """Tests at roots."""

    feature: np.ndarray  # (n,) features
    threshold: np.ndarray  # (n,) finite numbers; at most that is left
    missing_left: np.ndarray  # (n,) whether missing values go to the left

    @classmethod
    def of(cls, stumps: TwoTaskStumps, normalizers: np.ndarray, most: int) -> Self:
        """The tests at the roots of the rounds that mattered most.

        A test counts by the sum of -ln Z, what its rounds took off the logarithm of
        the bound on the error.
        """
        root = stumps.nodes[:, 0]
        real = np.isfinite(root["threshold"])
        names = ["feature", "threshold", "missing_left"]
        tests, place = np.unique(root[names][real], return_inverse=True)
        gain = -np.log(np.maximum(normalizers[real], np.finfo(float).tiny))
        worth = np.bincount(place.ravel(), gain, minlength=len(tests))
        best = np.argsort(-worth, kind="stable")[: min(most, _MOST)]
        return cls(*(np.ascontiguousarray(tests[name][best]) for name in names))

    def cuts(self, n_features: int) -> list[np.ndarray]:
        """Thresholds of each feature, ascending."""
        return [np.unique(self.threshold[self.feature == f]) for f in range(n_features)]

    def roots(self, bins: Bins) -> np.ndarray:
        """The tests as roots that predict no task; each threshold is an edge."""
        out = np.zeros(len(self.feature), dtype=ROOT)
        out["task"] = -1
        out["feature"], out["missing_left"] = self.feature, self.missing_left
        for at, (f, threshold) in enumerate(
            zip(self.feature, self.threshold, strict=True)
        ):
            edges = bins.edges[bins.indptr[f] : bins.indptr[f + 1]]
            out["cut"][at] = np.searchsorted(edges, threshold)
        return out


@dataclass(frozen=True, eq=False)
class Found:
    """The stump of a round, and what its rows weigh."""

    nodes: list[Node | None]  # root, left child and right child
    sides: list[np.ndarray]  # sums of each branch that predicts a task
    all_weight: float  # of all rows


@dataclass(eq=False, kw_only=True)
class StumpSearch(ABC):
    """Finds the two-task stump of a round."""

    table: SortedCells
    choice: RootChoice  # how roots are chosen
    # calls a search for ranges of groups
    run: Callable[[Callable[[int, int], Any]], list[Any]]
    at_once: int  # roots that statistics are requested for together
    smoothing: float  # fraction of all weight that is added in votes
    levels: int = 2  # 1: roots without children
    given: np.ndarray | None = None  # roots in the place of those of the rows

    n_lanes = 1  # roots that are searched together
    edge_type: Any = np.float64
    # a larger normaliser shows that no stump does any good
    most_normalizer = np.inf

    def __post_init__(self) -> None:
        self._n_bins = self.table.bins.n_bins

    @abstractmethod
    def _offer_roots(self, sums: Sums, first: int, last: int, roots: Roots) -> None:
        """Offer the stumps of a range of groups as roots."""

    @abstractmethod
    def _children(
        self, sums: Sums, left: Sums, at: int, closed: np.ndarray
    ) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
        """What finds edges and groups of the best children in a range of groups."""

    @abstractmethod
    def _values(self, task: int, side: np.ndarray, all_weight: float) -> np.ndarray:
        """What a branch predicts, by its sums."""

    @abstractmethod
    def _n_labels(self, task: int) -> int:
        """Labels of a task in histograms; 0 if weights are signed."""

    @abstractmethod
    def vote(self, found: Found) -> tuple[list[Node | None], float, float] | None:
        """Nodes with votes, the vote, and what is added where the stump abstains."""

    def find(self, request: Callable[..., Any], number: int) -> Found | None:
        """The stump with the largest edge among those of the chosen roots."""
        table, roots = self.table, self.given
        sums = request("cell_sums")
        all_weight = float(sums.task_size.sum())
        if roots is None or not len(roots):
            roots = self._find_roots(sums, number, all_weight)
        if not len(roots):
            return None
        if self.levels == 1:
            best = int(np.argmax(roots["edge"]))
            no_children = np.full(2, -1, dtype=np.int32)
            return self._stump(request, roots[best : best + 1], no_children, all_weight)
        edges, groups = self._find_children(request, sums, roots)
        worth = np.maximum(edges, 0).sum(axis=0, dtype=np.float64)
        if table.n_tasks > 1:
            worth += roots["edge"]
        best = int(np.argmax(worth))
        return self._stump(request, roots[best : best + 1], groups[:, best], all_weight)

    def _find_roots(self, sums: Sums, number: int, all_weight: float) -> np.ndarray:
        """Candidates for the root, with the sides that missing values go to."""

        def search(first: int, last: int) -> Roots:
            roots = self.choice.roots(self.table, number, all_weight)
            self._offer_roots(sums, first, last, roots)
            return roots

        found, *others = self.run(search) or [None]
        if found is None:
            return np.empty(0, dtype=ROOT)
        for other in others:
            found.merge(other)
        roots = found.best()
        heavier_sides(self.table.cells, roots, sums.size, sums.task_size)
        return roots

    def _find_children(
        self, request: Callable[..., Any], sums: Sums, roots: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Edges and groups of the best children, (2, n_roots) each."""
        edges = np.empty((2, len(roots)), dtype=self.edge_type)
        groups = np.empty((2, len(roots)), dtype=np.int32)
        for begin in range(0, len(roots), self.at_once):
            left = request("left_sums", roots[begin : begin + self.at_once])
            for at in range(len(left.tasks)):
                start = begin + at * self.n_lanes
                some = slice(start, min(start + self.n_lanes, len(roots)))
                closed = np.full(self.n_lanes, -1, dtype=np.int32)
                n = some.stop - start
                if self.table.n_tasks > 1:
                    closed[:n] = roots["task"][some]
                (edge, group), *others = self.run(
                    self._children(sums, left, at, closed)
                )
                for other_edge, other_group in others:
                    better = other_edge > edge  # the first among equals
                    edge = np.where(better, other_edge, edge)
                    group = np.where(better, other_group, group)
                edges[:, some], groups[:, some] = edge[:, :n], group[:, :n]
        return edges, groups

    def _stump(
        self,
        request: Callable[..., Any],
        root: np.ndarray,
        groups: np.ndarray,
        all_weight: float,
    ) -> Found:
        """The root and its children with cuts, sides and predictions."""
        table = self.table
        task, feature, cut = (int(root[name][0]) for name in ("task", "feature", "cut"))
        test = feature, cut, bool(root["missing_left"][0])
        owner = task if table.n_tasks > 1 or self.levels == 1 else -1
        wanted = [(owner, feature, -1)] if owner >= 0 else []
        places = [0] if owner >= 0 else []
        for branch, group in enumerate(groups.tolist()):
            if group >= 0:
                of_group = int(table.group_task[group]), int(table.group_feature[group])
                wanted.append((*of_group, 1 - branch))
                places.append(1 + branch)
        empty = (np.zeros(0),) * 2
        nodes: list[Node | None] = [Node(owner, *test, empty), None, None]
        sides: list[np.ndarray] = []
        by_bin = request("histograms", root, wanted) if wanted else []
        for at, (task, feature, _), sums in zip(places, wanted, by_bin, strict=True):
            if at:
                n_bins = int(self._n_bins[feature])
                test = feature, *best_cut(sums, n_bins, self._n_labels(task))
            goes = np.empty((2, 256))
            goes[0] = test[1] >= _BINS
            goes[0, -1] = test[2]
            np.subtract(1.0, goes[0], out=goes[1])
            both = goes @ sums
            values = tuple(self._values(task, side, all_weight) for side in both)
            nodes[at] = Node(task, *test, values)
            sides += [*both]
        return Found(nodes, sides, all_weight)


@dataclass(eq=False, kw_only=True)
class BinarySearch(StumpSearch):
    """The weak learner of MTAA, by signed weights."""

    weighting: str  # how votes are computed
    avx2: bool = HAS_AVX2

    n_lanes = N_LANES
    edge_type = np.int32

    def _offer_roots(self, sums: Sums, first: int, last: int, roots: Roots) -> None:
        find_roots(self.table.cells, first, last, sums.cells, sums.tasks, roots)

    def _children(
        self, sums: Sums, left: Sums, at: int, closed: np.ndarray
    ) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
        def search(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
            edge, group = np.empty((2, 2, self.n_lanes), dtype=np.int32)
            find_children(
                self.table.cells, first, last, sums.cells, sums.tasks, left.cells[at],
                left.tasks[at], closed, self.avx2, edge, group,
            )  # fmt: skip
            return edge, group

        return search

    def _n_labels(self, task: int) -> int:
        return 0

    def _values(self, task: int, side: np.ndarray, all_weight: float) -> np.ndarray:
        return np.sign(side[:1])

    def vote(self, found: Found) -> tuple[list[Node | None], float, float] | None:
        """See `StumpSearch`; None if the stump is no better than a guess."""
        right = wrong = 0.0
        for signed, size, _ in map(np.ndarray.tolist, found.sides):
            if signed:
                right += (size + abs(signed)) / 2
                wrong += (size - abs(signed)) / 2
        abstained = found.all_weight - right - wrong
        if right <= wrong:
            return None
        right, wrong, abstained = (
            float(w / found.all_weight) for w in (right, wrong, abstained)
        )
        alpha = vote(right, wrong, abstained, self.weighting, self.smoothing)
        idle = np.log(np.cosh(alpha)) if self.weighting == "conservative" else 0.0
        voted = [
            node and replace(node, values=tuple(alpha * v for v in node.values))
            for node in found.nodes
        ]
        return voted, alpha, float(idle)


@dataclass(eq=False, kw_only=True)
class MulticlassSearch(StumpSearch):
    """The weak learner of MH, by weights of labels."""

    labels: Any  # a LabelTable
    n_labels: np.ndarray  # (n_tasks,) labels of each task

    most_normalizer = 1 - 1e-12

    def _offer_roots(self, sums: Sums, first: int, last: int, roots: Roots) -> None:
        weights = self.labels.weights(sums)
        find_label_roots(self.table.cells, first, last, weights, sums.tasks, roots)

    def _children(
        self, sums: Sums, left: Sums, at: int, closed: np.ndarray
    ) -> Callable[[int, int], tuple[np.ndarray, np.ndarray]]:
        both = np.stack([left.tasks[at], sums.tasks - left.tasks[at]])
        cells, weights, side = self.labels.divided(sums, left.cells[at])

        def search(first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
            edge, group = np.empty(2), np.empty(2, dtype=np.int32)
            find_label_children(
                cells, first, last, weights, side, both, closed[0], edge, group
            )
            return edge[:, None], group[:, None]

        return search

    def _n_labels(self, task: int) -> int:
        return int(self.n_labels[task])

    def _values(self, task: int, side: np.ndarray, all_weight: float) -> np.ndarray:
        """Scores of the labels."""
        K = self._n_labels(task)
        eps = max(self.smoothing, _LEAST) * all_weight
        return 0.5 * np.log((side[:K] + eps) / (side[K : 2 * K] + eps))

    def vote(self, found: Found) -> tuple[list[Node | None], float, float] | None:
        """See `StumpSearch`; scores weigh themselves."""
        return found.nodes, 1.0, 0.0
