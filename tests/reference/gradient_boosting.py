"""Multi-task gradient boosting as docs/models/gradient-boosting.md has it, row by row.

Sums are of floats, splits are sought by trying every cut, and trees are nested records.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

MARGIN = 1e-10
LEAST_CURVATURE = 1e-3
LEAST_FRACTION = 0.02
ROWS_OF_QUANTILES = 100
PRIOR = 10


@dataclass
class Settings:
    """As in `kinlearn.boosting.gradient._rounds`, and what bins are."""

    n_bins: list
    categorical: list
    learning_rate: float = 0.1
    max_leaves: int = 8
    max_depth: int = 0
    least_count: int = 1
    l2: float = 0.0
    task_splits: bool = True
    task_values: bool = True
    direction: Any = None
    groups: Any = None


@dataclass(eq=False)
class Node:
    rows: np.ndarray
    depth: int
    bounds: tuple
    groups: list
    split: Any = None
    left: Any = None
    right: Any = None
    departures: dict = field(default_factory=dict)
    value: float = 0.0


def derivatives(loss, y, F, weight, q=0.5):
    if loss == "squared_error":
        return weight * (F - y), weight * np.ones_like(F)
    if loss == "logistic":
        p = 1 / (1 + np.exp(-F))
        return weight * (p - y), weight * p * (1 - p)
    if loss == "poisson":
        return weight * (np.exp(F) - y), weight * np.exp(F)
    if loss == "gamma":
        return weight * (1 - y * np.exp(-F)), weight * np.ones_like(F)
    return weight * np.where(y < F, 1 - q, np.where(y > F, -q, 0)), weight


def softmax_derivatives(y, F, allowed, task, weight):
    g, h = np.zeros_like(F), np.zeros_like(F)
    for i in range(len(y)):
        has = np.flatnonzero(allowed[task[i]])
        p = np.exp(F[i, has] - F[i, has].max())
        p /= p.sum()
        g[i, has] = weight[i] * (p - (has == y[i]))
        h[i, has] = weight[i] * p * (1 - p)
    return g, h


def quantile(values, weight, q):
    """The middle of all numbers for which the loss of the quantile is least."""

    def loss(c):
        left = values - c
        return (weight * np.where(left < 0, q - 1, q) * left).sum()

    losses = np.array([loss(c) for c in values])
    best = values[losses <= losses.min() + 1e-10 * np.abs(weight * values).sum()]
    return (best.min() + best.max()) / 2


class Boosting:
    """Trees for one output.

    ``n_rows`` says how many rows each row stands for; 0 is none.
    """

    def __init__(self, settings, bins, task, weight, n_rows, loss):
        self.loss = loss
        self.s, self.bins, self.task = settings, bins, task
        self.weight, self.n_rows = weight, n_rows
        there = n_rows > 0
        self.mean_weight = weight[there].sum() / n_rows.sum()
        self.least_h = LEAST_CURVATURE * self.mean_weight

    def noise(self, rows):
        g, h = self.g[rows], self.h[rows]
        return (g**2 / self.n_rows[rows]).sum() / h.sum()

    def value(self, G, H, bounds):
        raw = -G / (H + self.s.l2) if H + self.s.l2 > 0 else 0.0
        return min(max(raw, bounds[0]), bounds[1])

    def side(self, G, H, bounds):
        v = self.value(G, H, bounds)
        return -v * (2 * G + (H + self.s.l2) * v)

    def sums(self, rows):
        return self.g[rows].sum(), self.h[rows].sum(), self.n_rows[rows].sum()

    def enough(self, rows):
        _, H, n = self.sums(rows)
        return n >= self.s.least_count and self.least_h * (1 - 1e-12) <= H

    def grow(self, g, h, rows, left=None, q=None):
        """The root of a tree for given derivatives.

        Of quantiles, `left` is what scores leave of the targets.
        """
        self.g, self.h = g, h
        self.phi = self.noise(rows)
        n_groups = 0 if self.s.groups is None else len(self.s.groups)
        root = Node(rows, 0, (-np.inf, np.inf), list(range(n_groups)))
        leaves = [root]
        self.find_split(root)
        while len(leaves) < self.s.max_leaves:
            best = leaves[0]
            for leaf in leaves[1:]:
                if leaf.split and (
                    not best.split or leaf.split[0] > best.split[0] * (1 + MARGIN)
                ):
                    best = leaf
            if not best.split:
                break
            self.open(best)
            leaves[leaves.index(best)] = best.left
            leaves.append(best.right)
            self.find_split(best.left)
            self.find_split(best.right)
        for leaf in leaves:
            leaf.split = None
            G, H, _ = self.sums(leaf.rows)
            leaf.value = self.value(G, H, leaf.bounds)
        self.depart(leaves, 0 if left is None else ROWS_OF_QUANTILES)
        if left is not None:
            self.take_quantiles(leaves, left, q)
        return root

    def take_quantiles(self, leaves, left, q):
        """Values of leaves and tasks as quantiles of what is left."""
        for leaf in leaves:
            rows = leaf.rows
            leaf.value = quantile(left[rows], self.weight[rows], q)
            for t in leaf.departures:
                own = rows[self.task[rows] == t]
                H = self.sums(own)[1]
                apart = quantile(left[own], self.weight[own], q) - leaf.value
                leaf.departures[t] = apart * H / (H + self.penalty)

    def open(self, node):
        _, kind, what, left, _ = node.split
        bounds = [node.bounds, node.bounds]
        groups = node.groups
        if kind != "task":
            f = what[0]
            groups = [i for i in groups if self.s.groups[i][f]]
            direction = 0 if self.s.direction is None else self.s.direction[f]
            if direction:
                values = [
                    self.value(*self.sums(rows)[:2], node.bounds)
                    for rows in (node.rows[left], node.rows[~left])
                ]
                middle = sum(values) / 2
                low, high = node.bounds
                bounds = [(low, middle), (middle, high)]
                if direction < 0:
                    bounds = [(middle, high), (low, middle)]
        node.left = Node(node.rows[left], node.depth + 1, bounds[0], groups)
        node.right = Node(node.rows[~left], node.depth + 1, bounds[1], groups)

    def find_split(self, node):
        G, H, n = self.sums(node.rows)
        if self.s.max_depth and node.depth >= self.s.max_depth:
            return
        if n < 2 * self.s.least_count or len(node.rows) < 2 or H <= 0:
            return
        parent = self.side(G, H, node.bounds)
        best = [parent + MARGIN * abs(parent), None, None, None, None]
        for f in range(self.bins.shape[1]):
            if self.s.groups is not None and not any(
                self.s.groups[i][f] for i in node.groups
            ):
                continue
            if self.s.categorical[f]:
                self.split_groups(node, "set", f, self.bins[:, f], parent, best)
            else:
                self.split_feature(node, f, best)
        if self.s.task_splits:
            self.split_groups(node, "task", None, self.task, parent, best)
        if best[1] is not None:
            gain = (best[0] - parent) / 2
            node.split = (gain, *best[1:])

    def split_feature(self, node, f, best):
        rows, b = node.rows, self.bins[node.rows, f]
        last = self.s.n_bins[f]
        missing = b == last
        direction = 0 if self.s.direction is None else self.s.direction[f]
        for missing_left in [False, True] if missing.any() else [False]:
            top = last if missing.any() and not missing_left else last - 1
            for cut in range(top):
                left = (b <= cut) & ~missing | missing & missing_left
                if not (self.enough(rows[left]) and self.enough(rows[~left])):
                    continue
                (GL, HL, nl), (GR, HR, nr) = (
                    self.sums(rows[left]),
                    self.sums(rows[~left]),
                )
                values = [self.value(*s, node.bounds) for s in ((GL, HL), (GR, HR))]
                if direction * (values[1] - values[0]) < 0:
                    continue
                score = self.side(GL, HL, node.bounds) + self.side(GR, HR, node.bounds)
                if score > best[0] + MARGIN * abs(best[0]):
                    default = missing_left if missing.any() else nl >= nr
                    best[:] = [score, "cut", (f, cut), left, default]

    def split_groups(self, node, kind, f, codes, parent, best):
        rows = node.rows
        G, H, _ = self.sums(rows)
        names = np.unique(codes[rows])
        if len(names) < 2:
            return
        mine = {k: rows[codes[rows] == k] for k in names}
        sums = {k: self.sums(r)[:2] for k, r in mine.items()}
        mu = G / H
        excess = sum((g - mu * h) ** 2 / h for g, h in sums.values() if h > 0)
        n_there = sum(h > 0 for _, h in sums.values())
        prior = PRIOR if kind == "task" else 0
        excess += (prior - (n_there - 1)) * self.phi
        free = H - sum(h**2 for _, h in sums.values()) / H
        if excess <= 0 or free <= 0:
            return
        penalty = self.phi * free / excess
        rate = {k: (g - mu * h) / (h + penalty) for k, (g, h) in sums.items()}
        hat = {k: h * (mu + rate[k]) for k, (_, h) in sums.items()}
        order = sorted(names, key=lambda k: (rate[k], k))

        def score(chosen):
            got = np.concatenate([mine[k] for k in chosen])
            Gs, Hs, _ = self.sums(got)
            product = max(Gs * sum(hat[k] for k in chosen), 0)
            return self.side(np.sign(Gs) * np.sqrt(product), Hs, node.bounds)

        for i in range(1, len(order)):
            left = np.isin(codes[rows], order[:i])
            if not (self.enough(rows[left]) and self.enough(rows[~left])):
                continue
            found = parent - score(order) + score(order[:i]) + score(order[i:])
            if found > best[0] + MARGIN * abs(best[0]):
                n_left, n_right = (self.n_rows[rows[x]].sum() for x in (left, ~left))
                larger = bool(n_left >= n_right)
                sides = {int(k): k in order[:i] for k in names}
                default = larger
                if kind == "set":
                    default = sides.get(self.s.n_bins[f], larger)
                best[:] = [found, kind, (f, sides, larger), left, default]

    def depart(self, leaves, n_rows):
        """Departures of the tasks in the leaves, clipped to the leaves' bounds.

        The penalty is larger by so many rows.
        """
        if not self.s.task_values or len(np.unique(self.task)) == 1:
            return
        spread = free = n_pairs = 0.0
        per_leaf = []
        for leaf in leaves:
            G, H, _ = self.sums(leaf.rows)
            of_task = {}
            for t in np.unique(self.task[leaf.rows]):
                g, h, _ = self.sums(leaf.rows[self.task[leaf.rows] == t])
                if h > 0:
                    of_task[int(t)] = (g - h * G / H, h)
            per_leaf.append(of_task)
            spread += sum(r**2 / h for r, h in of_task.values())
            free += H - sum(h**2 for _, h in of_task.values()) / H
            n_pairs += len(of_task)
        excess = spread - (n_pairs - len(leaves)) * self.phi
        self.penalty = np.inf
        if excess <= 0 or free <= 0:
            return
        self.penalty = self.phi * free / excess + n_rows * self.mean_weight
        for leaf, of_task in zip(leaves, per_leaf, strict=True):
            for t, (r, h) in of_task.items():
                if h / (h + self.penalty) <= LEAST_FRACTION:
                    continue
                both = leaf.value - r / (h + self.penalty)
                both = min(max(both, leaf.bounds[0]), leaf.bounds[1])
                leaf.departures[t] = both - leaf.value

    def find(self, root, bins, task):
        """The leaf that a row falls into."""
        node = root
        while node.split:
            _, kind, what, _, default_left = node.split
            if kind == "task":
                _, sides, larger = what
                left = sides.get(int(task), larger)
            elif kind == "set":
                f, sides, larger = what
                missing = bins[f] >= self.s.n_bins[f]
                left = default_left if missing else sides.get(int(bins[f]), larger)
            else:
                f, cut = what
                missing = bins[f] >= self.s.n_bins[f]
                left = default_left if missing else bins[f] <= cut
            node = node.left if left else node.right
        return node

    def predict(self, root, bins, task):
        """What the tree adds to the scores of rows."""
        out = np.empty(len(bins))
        for i in range(len(bins)):
            leaf = self.find(root, bins[i], task[i])
            step = leaf.value + leaf.departures.get(int(task[i]), 0.0)
            if self.loss in ("poisson", "gamma") and step > 0:
                step = np.log(1 + step)
            out[i] = step
        return self.s.learning_rate * out
