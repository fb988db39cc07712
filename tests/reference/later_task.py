"""A task after gradient boosting, as docs/models/gradient-boosting.md has it.

One new task, squared error, one score; trees are walked row by row.
"""

import numpy as np

LEAF, TASK = -1, -2
LEAST_FRACTION = 0.02


def goes_left(tree, node, bins):
    code = int(bins[node["feature"]])
    if code >= node["n_bins"]:
        return bool(node["default_left"])
    if node["first_byte"] < 0:
        return code <= node["bin"]
    return bool(tree.sets[node["first_byte"] + code // 8] >> (code % 8) & 1)


def descend(tree, at, rows, bins, g, sides):
    """Loss of the rows below a node, and their leaves; sides of splits are kept."""
    node = tree.nodes[at]
    left = int(node["left"])
    if node["feature"] == LEAF:
        v = tree.value[at]
        return sum(g[i] * v + v**2 / 2 for i in rows), dict.fromkeys(rows, (left, at))
    if node["feature"] == TASK:
        found = [descend(tree, left + k, rows, bins, g, sides) for k in range(2)]
        scores = [
            np.log(tree.weight[left + k]) * tree.noise - found[k][0] for k in range(2)
        ]
        goes = scores[0] > scores[1] if rows else bool(node["default_left"])
        sides[at] = goes
        return found[0 if goes else 1]
    parts = [
        [i for i in rows if goes_left(tree, node, bins[i]) == (not k)] for k in (0, 1)
    ]
    found = [descend(tree, left + k, parts[k], bins, g, sides) for k in range(2)]
    return found[0][0] + found[1][0], {**found[0][1], **found[1][1]}


def add_task(trees, scores, y, bins):
    """Sides and departures of the task in each tree: two dicts for each."""
    out, scores = [], scores.copy()
    for tree in trees:
        g, sides = scores - y, {}
        _, leaves = descend(tree, 0, list(range(len(y))), bins, g, sides)
        left, count, value = {}, {}, {}
        for i, (leaf, at) in leaves.items():
            value[leaf] = tree.value[at]
            left[leaf] = left.get(leaf, 0.0) + g[i] + value[leaf]
            count[leaf] = count.get(leaf, 0) + 1
        phi, penalty = tree.noise, tree.penalty
        spread = sum(left[k] ** 2 / count[k] for k in left)
        wanted = [phi + count[k] * phi / penalty for k in left]
        if spread > sum(wanted) + 3 * np.sqrt(2 * sum(w**2 for w in wanted)):
            excess = sum(left[k] ** 2 / count[k] - phi for k in left)
            penalty = phi * sum(count.values()) / excess if excess > 0 else np.inf
        departures = {}
        for k in left:
            if count[k] / (count[k] + penalty) > LEAST_FRACTION:
                departures[k] = -tree.rate * left[k] / (count[k] + penalty)
        for i, (leaf, _) in leaves.items():
            scores[i] += tree.rate * value[leaf] + departures.get(leaf, 0.0)
        out.append((sides, departures))
    return out
