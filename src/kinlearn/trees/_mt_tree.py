"""A grown multi-task decision tree as arrays, and the data one is grown from."""

from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array

from kinlearn._kernels.trees._mt_tree import grow_tree
from kinlearn._kernels.trees._mt_tree_model import (
    STEP,
    add_shares,
    find_decisions,
    find_leaves,
    share_of_leaves,
)
from kinlearn.tasks import TaskData, check_total_weight
from kinlearn.trees._binning import Bins, bin_features
from kinlearn.trees._mt_weights import (
    cell_factors,
    check_tasks_weigh,
    in_units,
    is_whole,
    weighed_by_class,
    weight_unit,
)

__all__ = ["CRITERIA", "GrowthData", "MultiTaskTree", "tree_of"]

CRITERIA = ("joint", "sum", "max")  # in the order of the kernel's numbers


@dataclass(frozen=True, eq=False)
class MultiTaskTree:
    """A tree in which tasks are decided at leaves and at inner nodes.

    A *decision* belongs to a node and a task, and holds label frequencies. On
    each way from the root to a leaf, every task is decided once.

    Attributes
    ----------
    steps : structured array of shape (n_nodes,)
        Fields ``threshold``, ``left`` (the right child is the next number; a
        leaf is its own left child), ``feature``, ``missing_left`` (for a split of
        categories plus 2 and twice the number of its set), and
        ``decided``: a bit for each task, modulo 64, that is decided at the node.
    stats : structured array of shape (n_nodes,)
        Fields ``n_rows`` and ``weight`` that arrived at the node, ``impurity``
        (mean entropy of the label within tasks, in nats), ``gain`` (of the
        criterion) and ``decrease`` (weight times information gained within
        tasks).
    decision_indptr : int32 array of shape (n_nodes + 1,)
        Decisions of each node.
    decision_task : int32 array of shape (n_decisions,)
        Task codes, ascending at each node.
    decision_rows : int64 array of shape (n_decisions,)
        Rows of the task at the node; 0 if its rows in the parent decide.
    decision_weight : float64 array of shape (n_decisions,)
        Weight of the rows that decide.
    value_indptr : int32 array of shape (n_decisions + 1,)
        Values of each decision.
    value_label : int32 array of shape (n_values,)
        Class codes, ascending in each decision.
    value_share : float64 array of shape (n_values,)
        Frequencies, which sum to one in each decision.
    category_sets : uint64 array of shape (n_sets, 4), or None
        By split of categories, 256 bits: which codes go left. None if no feature is
        categorical.
    """

    steps: np.ndarray
    stats: np.ndarray
    decision_indptr: np.ndarray
    decision_task: np.ndarray
    decision_rows: np.ndarray
    decision_weight: np.ndarray
    value_indptr: np.ndarray
    value_label: np.ndarray
    value_share: np.ndarray
    category_sets: np.ndarray | None = None

    @property
    def node_count(self) -> int:
        """Number of nodes."""
        return len(self.steps)

    @property
    def is_leaf(self) -> np.ndarray:
        """Whether each node is a leaf."""
        return self.steps["left"] == np.arange(len(self.steps))

    @property
    def parent(self) -> np.ndarray:
        """Parent of each node; -1 at the root."""
        inner = np.flatnonzero(~self.is_leaf)
        left = self.steps["left"][inner]
        parent = np.full(len(self.steps), -1, dtype=np.int32)
        parent[left] = parent[left + 1] = inner
        return parent

    @property
    def depth(self) -> np.ndarray:
        """Depth of each node; 0 at the root."""
        depth = np.zeros(len(self.steps), dtype=np.int32)
        for node, parent in enumerate(self.parent.tolist()):
            if parent >= 0:  # parents are numbered before their children
                depth[node] = depth[parent] + 1
        return depth

    def importances(self, n_features: int) -> np.ndarray:
        """Information gained within tasks by each feature, summing to one.

        Parameters
        ----------
        n_features : int
            Number of features.

        Returns
        -------
        float64 array of shape (n_features,)
            Shares; all zero in a tree without a split.
        """
        total = np.bincount(
            self.steps["feature"], self.stats["decrease"], minlength=n_features
        )
        return total / total.sum() if total.sum() > 0 else total

    def decisions(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Number of the decision that each row reaches; -1 if there is none."""
        if not self.decision_task.any():  # one task is decided at leaves only
            found = self.decision_indptr[self.leaves(X)]
            return np.where(task == 0, found, np.int32(-1))
        out = np.empty(len(task), dtype=np.int32)
        find_decisions(
            X,
            task,
            self.steps,
            self.decision_indptr,
            self.decision_task,
            out,
            self.category_sets,
        )
        return out

    def leaves(self, X: np.ndarray) -> np.ndarray:
        """Leaf of each row."""
        out = np.empty(X.shape[0], dtype=np.int32)
        find_leaves(X, self.steps, out, self.category_sets)
        return out

    def nodes(self, X: np.ndarray, task: np.ndarray) -> np.ndarray:
        """Node at which each row is decided; the leaf if its task is unknown."""
        found = self.decisions(X, task)
        node = np.searchsorted(self.decision_indptr, found, side="right") - 1
        unknown = found < 0
        if unknown.any():
            node[unknown] = self.leaves(X[unknown])
        return node

    def paths(self, ends: np.ndarray) -> csr_array:
        """Nodes on the ways from the root.

        Parameters
        ----------
        ends : int array of shape (n,)
            Node where each way ends.

        Returns
        -------
        csr_array of shape (n, n_nodes)
            1 at the nodes of each way, its end included.
        """
        parent, depth = self.parent, self.depth
        indptr = np.concatenate([[0], np.cumsum(depth[ends] + 1)])
        nodes = np.empty(indptr[-1], dtype=np.int32)
        at, node = indptr[1:].copy(), ends.copy()
        walking = np.arange(len(ends))
        while len(walking):
            at[walking] -= 1
            nodes[at[walking]] = node[walking]
            node[walking] = parent[node[walking]]
            walking = walking[node[walking] >= 0]
        shape = (len(ends), self.node_count)
        return csr_array((np.ones(len(nodes), dtype=np.int64), nodes, indptr), shape)

    def add_proba(self, X: np.ndarray, task: np.ndarray, out: np.ndarray) -> None:
        """Add the label frequencies of each row to `out`.

        Parameters
        ----------
        X : float array of shape (n, n_features), row-major
            Features.
        task : int32 array of shape (n,)
            Task codes; for -1 the tasks' predictions are averaged.
        out : float64 array of shape (n, n_classes)
            Added to.
        """
        found = self.decisions(X, task)
        add_shares(found, self.value_indptr, self.value_label, self.value_share, out)
        unknown = np.flatnonzero(found < 0)
        if len(unknown):
            shared = np.zeros((self.node_count, out.shape[1]))
            share_of_leaves(
                self.steps,
                self.decision_indptr,
                self.value_indptr,
                self.value_label,
                self.value_share,
                shared,
            )
            out[unknown] += shared[self.leaves(X[unknown])]


@dataclass(frozen=True, eq=False)
class GrowthData:
    """Training rows in the form in which trees are grown.

    Attributes
    ----------
    bins : Bins
        Edges of the bins.
    columns, lines : uint8 arrays of shape (n, n_features)
        Bins, column-major and row-major.
    cells : int32 array of shape (n,)
        Pair of task and label of each row.
    cell_task, cell_label : int32 arrays of shape (n_cells,)
        What the pairs are.
    weight : int64 array of shape (n,)
        Whole weights.
    unit : float
        What a whole weight of 1 stands for.
    n_tasks : int
        Number of tasks.
    categorical : uint8 array of shape (n_features,), or None
        Which features are categories.
    """

    bins: Bins
    columns: np.ndarray
    lines: np.ndarray
    cells: np.ndarray
    cell_task: np.ndarray
    cell_label: np.ndarray
    weight: np.ndarray
    unit: float
    n_tasks: int
    categorical: np.ndarray | None = None

    @classmethod
    def of(
        cls, data: TaskData, class_weight: dict[Any, float] | Literal["balanced"] | None
    ) -> Self:
        """Bin the features and encode the rest.

        Parameters
        ----------
        data : TaskData
            Checked training data.
        class_weight : dict, "balanced" or None
            Weights of the classes.

        Returns
        -------
        GrowthData
            What every tree of a model is grown from.
        """
        cells = (data.task_class_indptr[data.task] + data.y_in_task).astype(np.int32)
        given, unit = _whole(data.sample_weight)
        bins, columns = bin_features(data.X, given)
        n_cells = len(data.task_class_codes)
        factor = cell_factors(
            class_weight,
            data.classes,
            data.label_sets.observed,
            lambda: np.bincount(cells, given, minlength=n_cells),
        )
        weight = given
        if factor is not None:
            weight, unit = _whole(weighed_by_class(data.sample_weight, factor, cells))
        if weight is None:
            weight = np.ones(data.n_samples, dtype=np.int64)
        else:
            of_task = np.bincount(data.task, weight, minlength=data.n_tasks)
            check_tasks_weigh(data.tasks, of_task)
        sizes = np.diff(data.task_class_indptr)
        return cls(
            bins=bins,
            columns=columns,
            lines=np.ascontiguousarray(columns),
            cells=cells,
            cell_task=np.repeat(np.arange(data.n_tasks, dtype=np.int32), sizes),
            cell_label=data.task_class_codes.astype(np.int32),
            weight=weight,
            unit=unit,
            n_tasks=data.n_tasks,
            categorical=None
            if data.categorical is None
            else data.categorical.astype(np.uint8),
        )

    def cell_weight(self) -> np.ndarray:
        """Weight of each pair of task and label; exact, as weights are whole."""
        n_cells = len(self.cell_task)
        return np.bincount(self.cells, self.weight, minlength=n_cells) * self.unit

    def grow(
        self,
        seed: int,
        counts: np.ndarray | None = None,
        *,
        criterion: str,
        purity: float,
        max_depth: int | None,
        min_samples_split: int,
        min_samples_leaf: int,
        min_weight_fraction_leaf: float,
        max_features: int,
    ) -> MultiTaskTree:
        """Grow one tree.

        Parameters
        ----------
        seed : int
            Decides the features drawn at the nodes.
        counts : int64 array of shape (n,), default=None
            How often each row is in the sample.
        criterion, purity, max_depth, min_samples_split, min_samples_leaf
            The settings of the estimators; `max_depth` may be None.
        min_weight_fraction_leaf, max_features
            The others; `max_features` is a number here.

        Returns
        -------
        MultiTaskTree
            The tree.
        """
        weight = self.weight if counts is None else self.weight * counts
        nodes, decisions, values, sets = grow_tree(
            self.columns,
            self.lines,
            self.bins.n_bins,
            self.cells,
            weight,
            self.cell_task,
            self.cell_label,
            self.n_tasks,
            CRITERIA.index(criterion),
            purity,
            len(self.cells) if max_depth is None else max_depth,
            min_samples_split,
            min_samples_leaf,
            int(np.ceil(min_weight_fraction_leaf * weight.sum())),
            max_features,
            seed,
            categorical=self.categorical,
            # a row of a bootstrap sample is there 1.6 times on average
            row_weight=(1.0 if counts is None else 1.5) / self.unit,
        )
        tree = tree_of(nodes, decisions, values, self.bins, self.unit)
        if self.categorical is None:
            return tree
        return _with_categories(tree, nodes, sets, self.bins, self.categorical)


def _with_categories(
    tree: MultiTaskTree,
    nodes: np.ndarray,
    sets: np.ndarray,
    bins: Bins,
    categorical: np.ndarray,
) -> MultiTaskTree:
    """The tree with the sets of its splits of categories: of codes, not of bins."""
    split = np.flatnonzero((nodes["left"] >= 0) & (categorical[nodes["feature"]] > 0))
    by_bin = np.unpackbits(sets.view(np.uint8), axis=1, bitorder="little")
    bin_of = bins.assign(np.repeat(np.arange(256.0)[:, None], len(categorical), axis=1))
    number = nodes["bin"][split]
    by_code = np.empty_like(by_bin)
    by_code[number] = np.take_along_axis(
        by_bin[number], bin_of[:, nodes["feature"][split]].T.astype(np.intp), axis=1
    )
    tree.steps["threshold"][split] = np.nan
    tree.steps["missing_left"][split] += 2 * (1 + number)
    packed = np.packbits(by_code, axis=1, bitorder="little").view(np.uint64)
    return replace(tree, category_sets=packed)


def _whole(weight: np.ndarray | None) -> tuple[np.ndarray | None, float]:
    """Weights as whole numbers, and what one of them stands for."""
    check_total_weight(weight)
    if weight is None:
        return None, 1.0
    unit = weight_unit(weight.sum(), is_whole(weight))
    return in_units(weight, unit), unit


def tree_of(
    nodes: np.ndarray,
    decisions: np.ndarray,
    values: np.ndarray,
    bins: Bins,
    unit: float,
) -> MultiTaskTree:
    """The kernel's result as a tree with real thresholds and weights.

    Parameters
    ----------
    nodes, decisions, values : structured arrays
        Of the kernel `grow_tree`.
    bins : Bins
        Edges of the bins.
    unit : float
        What a whole weight of 1 stands for.

    Returns
    -------
    MultiTaskTree
        The tree.
    """
    n_nodes, n_decisions = len(nodes), len(decisions)
    number = np.arange(n_nodes, dtype=np.int32)
    leaf = nodes["left"] < 0
    steps = np.empty(n_nodes, dtype=STEP)
    steps["left"] = np.where(leaf, number, nodes["left"])
    steps["feature"] = np.where(leaf, 0, nodes["feature"])
    steps["threshold"] = bins.thresholds(steps["feature"], nodes["bin"])
    steps["threshold"][leaf] = np.inf
    steps["missing_left"] = np.where(leaf, 1, nodes["missing_left"])
    decision_indptr = np.searchsorted(decisions["node"], np.arange(n_nodes + 1))
    steps["decided"] = 0
    np.bitwise_or.at(
        steps["decided"],
        decisions["node"],
        np.uint64(1) << (decisions["task"] & 63).astype(np.uint64),
    )

    names = ["n_rows", "weight", "impurity", "gain", "decrease"]
    stats = np.empty(
        n_nodes, dtype=[(k, np.int64 if k == "n_rows" else np.float64) for k in names]
    )
    for name in names:
        stats[name] = nodes[name] * (unit if name in ("weight", "decrease") else 1)

    value_indptr = np.append(decisions["first_value"], len(values))
    sizes = np.diff(value_indptr)
    weight = np.add.reduceat(values["weight"], decisions["first_value"])
    return MultiTaskTree(
        steps=steps,
        stats=stats,
        decision_indptr=decision_indptr.astype(np.int32),
        decision_task=np.ascontiguousarray(decisions["task"]),
        decision_rows=np.ascontiguousarray(decisions["n_rows"]),
        decision_weight=weight * unit,
        value_indptr=value_indptr.astype(np.int32),
        value_label=np.ascontiguousarray(values["label"]),
        value_share=values["weight"] / weight[np.repeat(np.arange(n_decisions), sizes)],
    )
