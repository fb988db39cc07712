"""One multi-task extremely randomised tree, grown slowly and plainly.

The twin of ``kinlearn._kernels.trees.extra._grow_forest``: the same random numbers, the
same choices, none of the speed. A node is a pure function of its rows and of its
key, so the order in which nodes are grown never matters:

- the root's key is ``stream_state(seed, 0)``, a left child's is
  ``stream_state(key, 1)`` and a right child's ``stream_state(key, 2)``;
- the key is the state of the node's own stream, which is drawn from in this order:
  one ``below`` a visited feature, then its cuts' uniforms, feature after feature;
  one uniform that decides about the task split; with more than two classes one
  ``below`` for the class; one uniform for the task cut.

Categories are codes, put in the order of their mean labels at the node; the means are
cut as numbers are. With more than two classes the label is whether a row has one of
the classes present, which a number of the node's key and the feature decides.
"""

import math
from dataclasses import dataclass

import numpy as np

from kinlearn._kernels._random import fill_below, fill_uniform, stream_state

LEAF, TASK_SPLIT = -1, -2


class Stream:
    """A stream of the kernels' random numbers."""

    def __init__(self, state):
        self.state = state

    def uniform(self):
        out = np.empty(1)
        self.state = fill_uniform(self.state, out)
        return float(out[0])

    def below(self, n):
        out = np.empty(1, dtype=np.int64)
        self.state = fill_below(self.state, n, out)
        return int(out[0])


@dataclass
class Problem:
    """Rows and settings. `y` holds class codes, or numbers if `n_classes` is 0."""

    X: np.ndarray
    y: np.ndarray
    n_classes: int = 0
    weight: np.ndarray | None = None
    task: np.ndarray | None = None
    criterion: str = "gini"  # "entropy"; regression always uses the variance
    max_features: int = 1
    n_cuts: int = 1
    task_split_prob: float = 0.0
    task_smoothing: float = 1.0
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    max_depth: int = 2**31 - 1
    min_impurity_decrease: float = 0.0
    seed: int = 0
    categorical: np.ndarray | None = None  # by feature

    def __post_init__(self):
        self.X = np.asarray(self.X, dtype=np.float32)
        if self.weight is None:
            self.weight = np.ones(len(self.X))
        if self.task is None:
            self.task = np.zeros(len(self.X), dtype=np.int32)
        if self.categorical is None:
            self.categorical = np.zeros(self.X.shape[1], dtype=bool)


@dataclass
class Candidate:
    """A possible split; `left` marks the node's rows that go left."""

    left: np.ndarray
    feature: int
    threshold: float
    default_left: bool  # side of NaN, or of a task that has no rows here
    exceptions: tuple = ()  # tasks against the default side
    task_cut: tuple = ()  # where means were cut, the mean of all, the class counted


def xlogx(x):
    return x * math.log2(x) if x > 0 else 0.0


def purity(p, rows):
    """Sum of weights times minus the impurity, up to what all splits share."""
    w, y = p.weight[rows], p.y[rows]
    if p.n_classes == 0:
        return (w * y).sum() ** 2 / w.sum()
    counts = np.bincount(y, weights=w, minlength=p.n_classes)
    if p.criterion == "entropy":
        return sum(xlogx(c) for c in counts) - xlogx(w.sum())
    if p.n_classes == 2:  # half the Gini decrease, without the other class's terms
        return counts[1] ** 2 / w.sum()
    return (counts**2).sum() / w.sum()


def decrease(p, rows, split):
    """Impurity decrease of a split, weighted by the node's share of all rows."""
    factor = 2.0 if p.n_classes == 2 and p.criterion == "gini" else 1.0
    gain = score(p, rows, split) - purity(p, rows)
    return factor * gain / p.weight.sum()


def score(p, rows, split):
    return purity(p, rows[split.left]) + purity(p, rows[~split.left])


def impurity(p, rows):
    w, y = p.weight[rows], p.y[rows]
    if p.n_classes == 0:
        return np.average((y - np.average(y, weights=w)) ** 2, weights=w)
    share = np.bincount(y, weights=w, minlength=p.n_classes) / w.sum()
    if p.criterion == "entropy":
        return -sum(xlogx(s) for s in share)
    return 1.0 - (share**2).sum()


def value(p, rows):
    """What a leaf of these rows answers: class frequencies, or the mean."""
    w, y = p.weight[rows], p.y[rows]
    if p.n_classes == 0:
        return np.array([(w * y).sum() / w.sum()])
    counts = np.bincount(y, weights=w, minlength=p.n_classes)
    return counts[1:2] / w.sum() if p.n_classes == 2 else counts / w.sum()


def category_means(p, rows, feature, key):
    """The mean label of each code, drawn towards the node's; rare ones are average."""
    w, y, code = p.weight[rows], p.y[rows], p.X[rows, feature]
    if p.n_classes > 2:
        present = np.unique(y)
        draw = stream_state(key, 4 + feature) >> 32
        y = y == present[draw * len(present) >> 32]
    mean = (w * y).sum() / w.sum()
    out = np.full(256, mean)
    for c in np.unique(code[~np.isnan(code)]):
        own = code == c
        if w[own].sum() >= (3 if p.n_classes == 0 else 4):
            out[int(c)] = ((w[own] * y[own]).sum() + mean) / (w[own].sum() + 1)
    return out.astype(np.float32)


def random_cut(low, high, stream):
    """A float32 with low <= cut < high, so that neither side is empty."""
    cut = np.float32(float(low) + stream.uniform() * (float(high) - float(low)))
    return cut if cut < high else low


def feature_candidates(p, rows, feature, stream, key):
    """The cuts of one feature; none when it is constant here."""
    x = p.X[rows, feature]
    missing = np.isnan(x)
    if p.categorical[feature]:
        means = category_means(p, rows, feature, key)
        x = np.where(missing, x, means[np.where(missing, 0, x).astype(int)])
    if missing.all():
        return
    low, high = np.float32(x[~missing].min()), np.float32(x[~missing].max())
    if low < high:
        for _ in range(p.n_cuts):
            cut = random_cut(low, high, stream)
            left = x <= cut
            if missing.any():
                yield Candidate(left, feature, cut, False)
                yield Candidate(left | missing, feature, cut, True)
            else:  # the side that most of the weight goes to
                heavier = p.weight[rows[left]].sum() > p.weight[rows[~left]].sum()
                yield Candidate(left, feature, cut, bool(heavier))
    if missing.any():
        yield Candidate(~missing, feature, np.float32(np.inf), False)


def task_candidate(p, rows, stream):
    """The task split of the spec, or None when all tasks have the same phi."""
    w, y, task = p.weight[rows], p.y[rows], p.task[rows]
    target, counted = y, 1
    if p.n_classes > 2:
        present = np.unique(y)
        counted = present[stream.below(len(present))]
        target = (y == counted).astype(float)
    gamma = (w * target).sum() / w.sum()
    phi = {}
    for t in np.unique(task):
        own = task == t
        total, n = (w[own] * target[own]).sum(), w[own].sum()
        phi[int(t)] = (total + p.task_smoothing * gamma) / (n + p.task_smoothing)
    low, high = min(phi.values()), max(phi.values())
    if not low < high:
        return None
    cut = low + stream.uniform() * (high - low)
    if not cut > low:
        cut = high
    default_left = bool(gamma < cut)
    exceptions = tuple(t for t, v in phi.items() if (v < cut) != default_left)
    left = np.array([phi[t] < cut for t in task])
    return Candidate(
        left, TASK_SPLIT, np.nan, default_left, exceptions, (cut, gamma, counted)
    )


def best_split(p, rows, stream):
    """Draw the node's candidates and take the best; the first of equals."""
    candidates = []
    key = stream.state
    order = list(range(p.X.shape[1]))
    n_varying = 0
    for i in range(len(order)):
        if n_varying == p.max_features:
            break
        j = i + stream.below(len(order) - i)
        order[i], order[j] = order[j], order[i]
        found = list(feature_candidates(p, rows, order[i], stream, key))
        n_varying += bool(found)
        candidates += found
    if p.task_split_prob > 0 and len(np.unique(p.task)) > 1:
        # Where no feature varies the task split is the only way on.
        wanted = stream.uniform() < p.task_split_prob or n_varying == 0
        split = task_candidate(p, rows, stream) if wanted else None
        if split is not None:
            candidates.append(split)

    best, best_score = None, -math.inf
    for split in candidates:
        w_left = p.weight[rows[split.left]].sum()
        w_right = p.weight[rows[~split.left]].sum()
        if min(w_left, w_right) < p.min_samples_leaf:
            continue
        if score(p, rows, split) > best_score:
            best, best_score = split, score(p, rows, split)
    return best


def grow_tree(p):
    """Nodes in depth-first order, the left child right behind its parent."""
    nodes = []

    def grow(rows, depth, key):
        number = len(nodes)
        node = {
            "rows": rows,
            "feature": LEAF,
            "threshold": np.nan,
            "left_codes": None,
            "default_left": False,
            "exceptions": (),
            "right": number,  # a leaf is its own right child
            "weight": p.weight[rows].sum(),
            "impurity": impurity(p, rows),
            "value": value(p, rows),
        }
        nodes.append(node)
        small = node["weight"] < max(p.min_samples_split, 2 * p.min_samples_leaf)
        if small or depth >= p.max_depth or len(np.unique(p.y[rows])) == 1:
            return
        split = best_split(p, rows, Stream(key))
        if split is None:
            return
        eps = np.finfo(float).eps
        if decrease(p, rows, split) + eps < p.min_impurity_decrease:
            return
        node["feature"] = split.feature
        if split.feature >= 0 and p.categorical[split.feature]:
            means = category_means(p, rows, split.feature, key)
            node["left_codes"] = np.flatnonzero(means <= split.threshold)
        node["threshold"] = split.threshold
        node["default_left"] = split.default_left
        node["exceptions"] = split.exceptions
        node["task_cut"] = split.task_cut
        grow(rows[split.left], depth + 1, stream_state(key, 1))
        node["right"] = len(nodes)
        grow(rows[~split.left], depth + 1, stream_state(key, 2))

    grow(np.flatnonzero(p.weight > 0), 0, stream_state(p.seed, 0))
    return nodes


def find_leaf(nodes, x, task):
    """Walk one row down to its leaf; return the leaf's number and the path."""
    path = [0]
    while nodes[path[-1]]["feature"] != LEAF:
        node = nodes[path[-1]]
        if node["feature"] == TASK_SPLIT:
            left = node["default_left"] != (task in node["exceptions"])
        elif np.isnan(x[node["feature"]]):
            left = node["default_left"]
        elif node["left_codes"] is not None:
            left = x[node["feature"]] in node["left_codes"]
        else:
            left = x[node["feature"]] <= node["threshold"]
        path.append(path[-1] + 1 if left else node["right"])
    return path[-1], path
