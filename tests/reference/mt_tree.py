"""Slow, obvious twin of the multi-task decision tree's growth.

Written from Faddoul (2012), section 4.10, algorithm 4, with the corrections of
the specification. It shares only the random numbers with the kernel. Gains are
computed from the definition of the entropy for every candidate cut anew.

The bins of a categorical feature are put in order first: by the share of the label that
is the most frequent at the node, among the rows of tasks that have it there. Bins of
little weight count as average and stay together. A cut of more than two has to gain
more than noise would, and half of that is taken off when features are compared.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from math import log, pi, sqrt

import numpy as np

from kinlearn._kernels import _random

MISSING = 255
# A later candidate must be better by more than this, so that rounding and the
# order of the rows cannot decide between equal splits.
TIE = 1e-10


@dataclass
class Node:
    n_rows: int
    weight: int
    impurity: float
    decisions: dict = field(default_factory=dict)  # task -> {class: weight}
    inherited: set = field(default_factory=set)  # tasks without a row here
    feature: int = -1
    bin: int = -1
    missing_left: bool = False
    gain: float = 0.0
    decrease: float = 0.0
    left_set: set | None = None  # of bins, for categories
    left: "Node | None" = None
    right: "Node | None" = None


def entropy(weights):
    """Shannon entropy, in nats, of weights that need not sum to one."""
    total = sum(weights)
    return -sum(w / total * log(w / total) for w in weights if w > 0)


def class_weights(label, weight):
    """Weight of every label that occurs."""
    return {int(c): int(weight[label == c].sum()) for c in np.unique(label)}


def information_gain(label, weight, left):
    """H(Y) - H(Y | side), for one label variable."""

    def h(rows):
        return entropy(class_weights(label[rows], weight[rows]).values())

    everything = np.ones(len(label), dtype=bool)
    gain = h(everything)
    for side in (left, ~left):
        if side.any():
            gain -= weight[side].sum() / weight.sum() * h(side)
    return gain


def gains(task, label, weight, left):
    """Information gain of each task on its own rows, and the tasks' weights."""
    each = {}
    for t in np.unique(task):
        rows = task == t
        each[int(t)] = (
            information_gain(label[rows], weight[rows], left[rows]),
            int(weight[rows].sum()),
        )
    return each


def score(criterion, task, label, weight, left):
    """The criterion, and what decides between cuts that are equal in it."""
    each = gains(task, label, weight, left)
    within = sum(w * g for g, w in each.values()) / weight.sum()
    if criterion == "joint":
        concatenated = task.astype(np.int64) * (label.max() + 1) + label
        gain = information_gain(concatenated, weight, left)
        return gain, gain
    if criterion == "sum":
        return sum(g for g, _ in each.values()), within
    return max(g for g, _ in each.values()), within


def drawn_features(n_features, max_features, state):
    """All features in the order in which the node would draw them."""
    if max_features >= n_features:
        yield from range(n_features)
        return
    order = list(range(n_features))
    draw = np.empty(1, dtype=np.int64)
    for k in range(n_features):
        state = _random.fill_below(state, n_features - k, draw)
        j = k + int(draw[0])
        order[k], order[j] = order[j], order[k]
        yield order[k]


def candidates(column, n_bins):
    """Every cut of one feature as (bin, missing_left, left rows), in order."""
    missing = column == MISSING
    values = np.unique(column[~missing]).astype(int)
    for low, high in pairwise(values):
        yield (low + high - 1) // 2, False, ~missing & (column <= low)
    if missing.any() and len(values):
        yield n_bins - 1, False, ~missing
        for low, high in pairwise(values):
            yield (low + high - 1) // 2, True, missing | (column <= low)


def order_of(column, task, label, weight, options):
    """Groups of bins in the order of their shares of a label; how many are apart."""
    weights = class_weights(label, weight)
    counted = min(weights, key=lambda c: (-weights[c], c))
    concerned = np.isin(task, task[label == counted])
    is_counted = label == counted
    row_weight = options.get("row_weight", 1.0)
    average = int(weight[is_counted].sum()) / int(weight[concerned].sum())
    groups, n_apart, some_average = {}, 0, False
    for b in np.unique(column[column != MISSING]).astype(int):
        rows = concerned & (column == b)
        w, share = int(weight[rows].sum()), average
        if w >= 2 * row_weight:
            of_label = int(weight[rows & is_counted].sum())
            share = (of_label + average * row_weight) / (w + row_weight)
            n_apart += 1
        else:
            some_average = True
        groups.setdefault(share, []).append(int(b))
    return [groups[share] for share in sorted(groups)], n_apart + some_average


def noise(n, weight, task, options):
    """What a cut of n categories without any information hardly ever gains."""
    if n <= 2:
        return 0.0
    gain = ((n - 2) / pi + 1.5 * sqrt(n - 2)) / weight.sum()
    gain *= options.get("row_weight", 1.0)
    return gain * len(np.unique(task)) if options["criterion"] == "sum" else gain


def better(cut, best):
    return (
        best is None
        or cut[0] > best[0] + TIE
        or (cut[0] > best[0] - TIE and cut[1] > best[1] + TIE)
    )


def best_split(bins, n_bins, task, label, weight, options, state):
    """Gain, what decides ties, feature, bin, missing_left, rows, order, handicap."""
    best = None
    n_evaluated = 0
    for feature in drawn_features(bins.shape[1], options["max_features"], state):
        column = bins[:, feature]
        if len(np.unique(column)) < 2:
            continue
        order, least = None, 0.0
        if feature in options.get("categorical", ()):
            order, n = order_of(column, task, label, weight, options)
            rank = np.full(256, MISSING)
            for k, group in enumerate(order):
                rank[group] = k
            column = rank[column]
            least = noise(n, weight, task, options)
        found = None if order else best
        for cut, missing_left, left in candidates(column, n_bins[feature]):
            n_left = int(left.sum())
            if min(n_left, len(left) - n_left) < options["min_samples_leaf"]:
                continue
            left_weight = int(weight[left].sum())
            lighter = min(left_weight, int(weight.sum()) - left_weight)
            if lighter < options["min_weight_leaf"]:
                continue
            gain, second = score(options["criterion"], task, label, weight, left)
            if least > 0 and gain <= least + TIE:
                continue
            this = gain - least / 2, second, feature, cut, missing_left, left, order
            if better(this, found):
                found = *this, least / 2
        if order and found is None:
            continue
        if not order or better(found, best):
            best = found
        n_evaluated += 1
        if n_evaluated == options["max_features"]:
            break
    return best


def grow(bins, n_bins, task, label, weight, *, seed=0, **options):
    """Grow the tree; rows of weight zero are not there."""
    rows = weight > 0
    return _grow(
        bins[rows], n_bins, task[rows], label[rows], weight[rows].astype(np.int64),
        options, _random.stream_state(seed, 0), 0, {},
    )  # fmt: skip


def _grow(bins, n_bins, task, label, weight, options, state, depth, parent):
    """`parent`: class weights, in the parent, of the tasks that were open there."""
    counts = {
        int(t): class_weights(label[task == t], weight[task == t])
        for t in np.unique(task)
    }
    node = Node(
        n_rows=len(task),
        weight=int(weight.sum()),
        impurity=sum(entropy(c.values()) * sum(c.values()) for c in counts.values())
        / weight.sum(),
    )
    for t, weights in parent.items():
        if t not in counts:
            node.decisions[t] = weights
            node.inherited.add(t)
    for t, weights in counts.items():
        pure = max(weights.values()) >= options["purity"] * sum(weights.values())
        if pure or len(weights) == 1:
            node.decisions[t] = weights

    rows = ~np.isin(task, list(node.decisions))
    bins, task, label, weight = bins[rows], task[rows], label[rows], weight[rows]
    still_open = {t: c for t, c in counts.items() if t not in node.decisions}
    best = None
    if (
        still_open
        and depth < options["max_depth"]
        and len(task) >= options["min_samples_split"]
    ):
        best = best_split(bins, n_bins, task, label, weight, options, state)
    if best is None:
        node.decisions.update(still_open)
        return node

    gain, _, node.feature, node.bin, node.missing_left, left, order, handicap = best
    node.gain = gain + handicap
    if not (bins[:, node.feature] == MISSING).any():
        node.missing_left = bool(weight[left].sum() > weight[~left].sum())
    if order is not None:  # bins that are not here go the way of missing values
        absent = set(range(MISSING)).difference(*order)
        node.left_set = set().union(*order[: node.bin + 1])
        node.left_set |= absent if node.missing_left else set()
    each = gains(task, label, weight, left).values()
    node.decrease = sum(w * g for g, w in each)
    children = [
        _grow(
            bins[side], n_bins, task[side], label[side], weight[side],
            options, _random.stream_state(state, 1 + k), depth + 1, still_open,
        )
        for k, side in enumerate((left, ~left))
    ]  # fmt: skip
    node.left, node.right = children
    return node


def decide(node, row, task):
    """Class weights for one binned row of a task: walk until it is decided."""
    while task not in node.decisions:
        value = row[node.feature]
        if value == MISSING:
            left = node.missing_left
        elif node.left_set is not None:
            left = value in node.left_set
        else:
            left = value <= node.bin
        node = node.left if left else node.right
    return node.decisions[task]
