"""Two-task stumps and abstaining boosting, slowly and plainly, from the formulas.

The twin of ``kinlearn.boosting``'s stumps: every test of every feature is tried, and
every row is walked for each. `codes` is a list of rows of bins; 255 is a missing value.
"""

import itertools
import math

MISSING = 255


def goes_left(code, cut, missing_left):
    return bool(missing_left) if code == MISSING else code <= cut


def sides(codes, feature, cut, missing_left, rows):
    left = [i for i in rows if goes_left(codes[i][feature], cut, missing_left)]
    return left, [i for i in rows if i not in set(left)]


def sign_edge(weight, y, left, right):
    """Right less wrong weight, if each side answers with its heavier label."""
    return sum(abs(sum(weight[i] * y[i] for i in part)) for part in (left, right))


def score_edge(weight, y, labels, left, right):
    """What the best scores take away; `weight[i]` has a number for each label."""
    out = 0.0
    for part, k in itertools.product((left, right), range(labels)):
        plus = sum(weight[i][k] for i in part if y[i] == k)
        minus = sum(weight[i][k] for i in part if y[i] != k)
        out += (math.sqrt(plus) - math.sqrt(minus)) ** 2
    return out


def tests_of(codes, feature, rows, n_bins):
    """Tests that divide some rows, in the middle of their gaps, as a root has them."""
    present = sorted({codes[i][feature] for i in rows} - {MISSING})
    missing = any(codes[i][feature] == MISSING for i in rows)
    cuts = [(a + b) >> 1 for a, b in itertools.pairwise(present)]
    if not missing:
        return [(cut, -1) for cut in cuts]
    out = [(cut, side) for cut in cuts for side in (0, 1)]
    return [*out, (n_bins[feature] - 1, 0)] if present else out


def all_roots(codes, n_bins, task, edge):
    """(edge, task, feature, cut, missing_left) of every candidate."""
    out = []
    for t, f in itertools.product(range(max(task) + 1), range(len(codes[0]))):
        rows = [i for i in range(len(task)) if task[i] == t]
        for cut, missing_left in tests_of(codes, f, rows, n_bins):
            value = edge(t, *sides(codes, f, cut, missing_left > 0, rows))
            out.append((value, t, f, cut, missing_left))
    return out


def best_child(codes, n_bins, task, edge, rows, banned):
    """Largest edge of any stump, of any other task, among some rows."""
    best = 0.0
    for t in range(max(task) + 1):
        if t == banned:
            continue
        mine = [i for i in rows if task[i] == t]
        for f in range(len(codes[0])):
            for cut, side in itertools.product(range(n_bins[f]), (0, 1)):
                best = max(best, edge(t, *sides(codes, f, cut, side, mine)))
    return best


def best_of_root(codes, n_bins, task, edge, root, size_of_row):
    """Largest edge of any two-task stump with this root."""
    value, t, f, cut, missing_left = root
    one_task = max(task) == 0
    if missing_left < 0:  # the heavier side of the task
        mine = [i for i in range(len(task)) if task[i] == t]
        left, right = sides(codes, f, cut, 0, mine)
        missing_left = sum(map(size_of_row, left)) >= sum(map(size_of_row, right))
    branches = sides(codes, f, cut, missing_left, range(len(task)))
    banned = -1 if one_task else t
    children = [best_child(codes, n_bins, task, edge, b, banned) for b in branches]
    return sum(children) + (0.0 if one_task else value)


def adaboost_of_small_trees(x, y, weight, n_rounds, n_roots, levels=2):
    """AdaBoost (Freund & Schapire) over trees of one or two levels, of numbers.

    The root is one of the `n_roots` stumps with the largest edge; below it each branch
    has its best stump. Returns the scores of the rows after all rounds.
    """
    n, d = len(x), len(x[0])
    total = sum(weight)
    dist = [w / total for w in weight]
    score = [0.0] * n

    def stump(rows):
        """(edge, predictions) of the best stump on rows."""
        best = (-1.0, {})
        for f in range(d):
            values = sorted({x[i][f] for i in rows})
            cuts = [math.inf, *((a + b) / 2 for a, b in itertools.pairwise(values))]
            for cut in cuts:
                parts = (
                    [i for i in rows if x[i][f] <= cut],
                    [i for i in rows if x[i][f] > cut],
                )
                sums = [sum(dist[i] * y[i] for i in part) for part in parts]
                value = abs(sums[0]) + abs(sums[1])
                if value > best[0] + 1e-12:
                    answer = {
                        i: (s > 0) - (s < 0)
                        for part, s in zip(parts, sums, strict=True)
                        for i in part
                    }
                    best = (value, answer)
        return best

    for _ in range(n_rounds):
        roots = []
        for f in range(d):
            for a, b in itertools.pairwise(sorted({line[f] for line in x})):
                cut = (a + b) / 2
                parts = [
                    [i for i in range(n) if (x[i][f] <= cut) == left]
                    for left in (True, False)
                ]
                edge = sum(abs(sum(dist[i] * y[i] for i in part)) for part in parts)
                roots.append((-edge, f, cut, parts))
        best = (-1.0, {})
        if levels == 1:
            best = stump(range(n))
            roots = []
        for *_, parts in sorted(roots, key=lambda r: r[:3])[:n_roots]:
            (one, left), (two, right) = map(stump, parts)
            if one + two > best[0] + 1e-12:
                best = (one + two, left | right)
        answer = best[1]
        right = sum(dist[i] for i in range(n) if answer[i] == y[i])
        wrong = sum(dist[i] for i in range(n) if answer[i] == -y[i])
        if right <= wrong:
            break
        alpha = 0.5 * math.log(right / wrong)
        for i in range(n):
            score[i] += alpha * answer[i]
            dist[i] *= math.exp(-alpha * y[i] * answer[i])
        total = sum(dist)
        dist = [w / total for w in dist]
    return score
